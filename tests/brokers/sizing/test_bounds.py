"""Lower bounds, rule by rule, on clusters where one of them decides."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from partage.brokers.sizing import Requirement, fewest_brokers
from partage.brokers.sizing.bounds import Bound
from partage.cluster import Cluster
from partage.errors import CannotError, InputError

AMPLE = 10**6
KEYS = ("disk_bytes", "network_in_bytes_per_second", "network_out_bytes_per_second")


def cluster(
    brokers: int,
    partitions: list[tuple[int, int, int, int]],
    racks: int = 0,
    capacity: tuple[int, int, int] = (AMPLE, AMPLE, AMPLE),
) -> dict[str, Any]:
    """``partitions``: (replicas, bytes, bytes in, bytes out)."""
    return {
        "brokers": [
            {"id": k, "rack": f"r{k % racks}" if racks else None}
            | dict(zip(KEYS, capacity, strict=True))
            for k in range(brokers)
        ],
        "partitions": [
            {
                "topic": "t",
                "partition": p,
                "replicas": [(p + i) % brokers for i in range(factor)],
                "size_bytes": size,
                "bytes_in_per_second": bytes_in,
                "bytes_out_per_second": bytes_out,
            }
            for p, (factor, size, bytes_in, bytes_out) in enumerate(partitions)
        ],
    }


def bound_of(value: dict[str, Any], headroom: str = "0", survive: str = "none") -> Bound:
    asked = Requirement(Fraction(headroom), survive)
    return fewest_brokers(Cluster.from_json(value), asked).bound


@pytest.mark.parametrize(
    ("value", "headroom", "survive", "bound"),
    [
        (
            cluster(4, [(1, 50, 1, 0)] * 6, capacity=(100, AMPLE, AMPLE)),
            *("0", "none"),
            Bound(3, "disk", "total", 300.0, 200.0),
        ),
        (
            cluster(4, [(1, 50, 1, 0)] * 6, capacity=(100, AMPLE, AMPLE)),
            *("1/4", "none"),
            Bound(6, "disk", "large partitions"),
        ),
        (
            cluster(4, [(3, 1, 1, 0)]),
            *("0", "broker"),
            Bound(3, None, "replication factor"),
        ),
        (
            cluster(4, [(2, 1, 20, 0)] * 10, capacity=(AMPLE, 100, AMPLE)),
            *("0", "none"),
            Bound(4, "in", "total", 400.0, 300.0),
        ),
        (  # a broker can receive two of them
            cluster(4, [(2, 1, 40, 0)] * 5, capacity=(AMPLE, 100, AMPLE)),
            *("0", "none"),
            Bound(5, "in", "large partitions"),
        ),
        (  # each of 2 racks holds 250, 100 per broker: 3 in each, though 5 could hold all
            cluster(6, [(2, 25, 1, 0)] * 10, racks=2, capacity=(100, AMPLE, AMPLE)),
            *("0", "none"),
            Bound(6, "disk", "racks"),
        ),
        (  # 300 sent, 100 per broker: 3 brokers, and one more that may fail
            cluster(6, [(2, 1, 0, 10)] * 30, capacity=(AMPLE, AMPLE, 100)),
            *("0", "broker"),
            Bound(4, "out", "broker down", 300.0, 200.0),
        ),
        (  # 300 sent: 3 brokers outside a rack, of 3 racks
            cluster(6, [(2, 1, 0, 10)] * 30, racks=3, capacity=(AMPLE, AMPLE, 100)),
            *("0", "rack"),
            Bound(5, "out", "rack down"),
        ),
        (  # 1,000 sent: 11 with one of them down, if its own rack could take over
            cluster(6, [(2, 1, 0, 10)] * 100, racks=3, capacity=(AMPLE, AMPLE, 100)),
            *("0", "broker"),
            Bound(12, "out", "broker down"),
        ),
    ],
)
def test_what_decides(value: dict[str, Any], headroom: str, survive: str, bound: Bound) -> None:
    found = bound_of(value, headroom, survive)
    assert (found.brokers, found.resource, found.rule) == (
        bound.brokers,
        bound.resource,
        bound.rule,
    )
    if bound.needed is not None:
        assert (found.needed, found.available) == (bound.needed, bound.available)


def test_unequal_brokers() -> None:
    """The largest of today's count first; new ones are like most."""
    value = cluster(5, [(1, 10, 1, 0)] * 30, capacity=(60, AMPLE, AMPLE))
    value["brokers"][3]["disk_bytes"] = 200
    assert bound_of(value).brokers == 3  # 200 + 60 + 60
    value["partitions"] += [{**value["partitions"][0], "partition": 100 + p} for p in range(20)]
    assert bound_of(value).brokers == 6  # 200 + 4 × 60 are 440 of 500


@pytest.mark.parametrize("survive", ["broker", "none"])
def test_a_partition_too_large_for_every_broker(survive: str) -> None:
    value = cluster(3, [(2, 120, 1, 0)], capacity=(100, AMPLE, AMPLE))
    value["brokers"][1]["disk_bytes"] = 200
    with pytest.raises(CannotError, match=r"^t-0 alone takes 120 bytes of disk, a broker may use "):
        bound_of(value, survive=survive)
    value["brokers"][2]["disk_bytes"] = 200  # two brokers can hold it
    value["brokers"].append({**value["brokers"][0], "id": 9})
    assert bound_of(value, survive=survive).brokers == 2


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (
            lambda b: [one.pop(key) for one in b for key in KEYS],
            "none can be counted: list disk_bytes ",
        ),
        (lambda b: b[1].pop("disk_bytes"), "broker 1 has no disk_bytes but others have: "),
    ],
)
def test_capacities_that_are_not_known(change: Any, problem: str) -> None:
    value = cluster(3, [(2, 1, 1, 1)])
    change(value["brokers"])
    with pytest.raises(InputError) as caught:
        bound_of(value)
    assert str(caught.value).startswith(f"capacities: {problem}")


def test_rates_that_are_not_known() -> None:
    """The network is left out; where nothing is left, that is an error."""
    value = cluster(3, [(2, 1, 1, 1)])
    for part in value["partitions"]:
        del part["bytes_in_per_second"], part["bytes_out_per_second"]
    found = fewest_brokers(Cluster.from_json(value), Requirement(Fraction(0)))
    assert [one.name for one in found.resources] == ["disk"]
    assert found.left_out.keys() == {"in", "out"}
    assert found.notes == []
    for broker in value["brokers"]:
        del broker["disk_bytes"]
    with pytest.raises(InputError, match="none can be counted"):
        bound_of(value)


def test_a_rack_needs_another() -> None:
    with pytest.raises(InputError, match="needs live brokers in two racks or more"):
        bound_of(cluster(3, [(2, 1, 1, 1)], racks=1), survive="rack")
