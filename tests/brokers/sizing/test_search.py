"""The fewest brokers, compared with integer programs, and measured again from the plain form."""

from __future__ import annotations

import random
from fractions import Fraction
from typing import Any

import pytest

from partage.brokers.sizing import ClusterSize, Requirement, fewest_brokers, size
from partage.cluster import Cluster
from partage.errors import CannotError
from tests.brokers.sizing.test_bounds import cluster
from tests.oracles import size_mip
from tests.profiles import seeds

Json = dict[str, Any]


def random_cluster(chance: random.Random) -> Json:
    """Two to five brokers in up to three racks; sometimes of two kinds."""
    count, zones = chance.randint(2, 5), chance.randint(1, 3)
    kinds = [
        {
            "disk_bytes": chance.randint(30, 80),
            "network_in_bytes_per_second": chance.randint(30, 80),
            "network_out_bytes_per_second": chance.randint(40, 120),
        }
        for _ in range(chance.choice([1, 1, 2]))
    ]
    brokers = [
        {"id": k, "rack": None if zones == 1 else f"r{k % zones}"} | chance.choice(kinds)
        for k in range(1, count + 1)
    ]
    parts = [
        {
            "topic": "t",
            "partition": p,
            "replicas": chance.sample(range(1, count + 1), chance.randint(1, min(3, count))),
            "size_bytes": chance.randint(0, 20),
            "bytes_in_per_second": chance.randint(0, 12),
            "bytes_out_per_second": chance.randint(0, 20),
        }
        for p in range(chance.randint(1, 6))
    ]
    parts[0]["size_bytes"] += 1
    parts[0]["bytes_in_per_second"] += 1
    return {"brokers": brokers, "partitions": parts}


def check(found: ClusterSize, value: Json) -> None:
    """The placement fits when it is counted again, partition by partition."""
    assert found.found.after is not None
    kept = {one.id: one for one in found.usage.brokers}
    lists = found.found.after.replica_lists()
    share = 1 - found.asked.headroom
    rack = {one.id: one.rack for one in kept.values()}
    failures: list[set[int]] = [set()]
    if found.asked.failures:
        failures += [{one} for one in kept]
    if found.asked.racks_fail:
        failures += [{one for one in kept if rack[one] == zone} for zone in set(rack.values())]
    for down in failures:
        disk, received, sent = (dict.fromkeys(kept, 0) for _ in range(3))
        for part, row in zip(value["partitions"], lists, strict=True):
            assert len(row) == len(part["replicas"]) == len(set(row))
            for one in row:
                disk[one] += part["size_bytes"]
                received[one] += part["bytes_in_per_second"]
            up = [one for one in row if one not in down]
            copies = (len(row) - 1) * part["bytes_in_per_second"]
            if up:
                sent[up[0]] += part["bytes_out_per_second"] + copies
        for one, broker in kept.items():
            assert disk[one] <= share * (broker.disk_bytes or 0)
            assert received[one] <= share * (broker.network_in or 0)
            assert one in down or sent[one] <= share * (broker.network_out or 0)


def answer(value: Json, asked: Requirement) -> ClusterSize | str:
    try:
        return fewest_brokers(Cluster.from_json(value), asked)
    except CannotError as error:
        return str(error)


@pytest.mark.parametrize("seed", seeds(300))
def test_against_integer_programs(seed: int) -> None:
    """The bound is never above the fewest, a number found never below; a proven one is it."""
    chance = random.Random(seed)
    value = random_cluster(chance)
    racks = len({one["rack"] for one in value["brokers"]})
    survive = chance.choice(["broker", "rack", "none"] if racks > 1 else ["broker", "none"])
    headroom = chance.choice([Fraction(0), Fraction(1, 4)])
    asked = Requirement(headroom, survive)
    found = answer(value, asked)
    if isinstance(found, str):
        if "no number of brokers suffices" in found:
            assert size_mip.fewest(value, float(headroom), survive, 6) == 7
        else:
            assert "no placement was found" in found
        return
    check(found, value)
    most = min(found.brokers, 6)
    fewest = size_mip.fewest(value, float(headroom), survive, most)
    if fewest <= most:
        assert found.bound.brokers <= fewest <= found.brokers
    if found.proven and found.brokers <= 6:
        assert fewest == found.brokers


def sized(chance: random.Random, brokers: int, survive: str) -> tuple[Json, ClusterSize]:
    """Of 90 partitions in three racks."""
    loads = [
        (3, chance.randint(1, 90), chance.randint(1, 9), chance.randint(1, 30)) for _ in range(90)
    ]
    limits = [sum(3 * load[k] for load in loads) // brokers for k in (1, 2)]
    sent = sum(o + 2 * i for _, _, i, o in loads) // brokers
    value = cluster(9, loads, 3, (limits[0], limits[1], sent))
    return value, fewest_brokers(Cluster.from_json(value), Requirement(Fraction(1, 5), survive))


@pytest.mark.parametrize("survive", ["broker", "rack", "none"])
@pytest.mark.parametrize("brokers", [5, 8])
def test_fewer_and_more_brokers(brokers: int, survive: str) -> None:
    """The plan of the options is the placement that was measured, and keeps the limits."""
    value, found = sized(random.Random(brokers), brokers, survive)
    check(found, value)
    assert found.bound.brokers <= found.brokers <= 2 * found.bound.brokers
    assert found.bound.brokers >= brokers / 0.8
    plan = found.plan()
    assert found.found.after is not None
    assert plan.after.replica_lists() == found.found.after.replica_lists()
    used = {one.id for one in found.usage.brokers}
    assert {b for row in plan.after.replica_lists() for b in row} <= used
    assert len(used) == found.brokers
    assert len(found.found.options.remove_broker) == max(0, 9 - found.brokers)
    assert len(found.found.options.add_broker) == max(0, found.brokers - 9)


def test_dead_brokers_do_not_count() -> None:
    value = cluster(4, [(2, 10, 1, 1)] * 8, capacity=(60, 60, 60))
    value["brokers"][0]["alive"] = False
    found = fewest_brokers(Cluster.from_json(value), Requirement(Fraction(0), "none"))
    assert (found.today, found.brokers, found.proven) == (3, 3, True)
    assert not found.found.options.add_broker


def test_the_answer_as_a_table() -> None:
    value = cluster(4, [(2, 10, 1, 2)] * 8, racks=2, capacity=(60, 60, 60))
    found = size(Cluster.from_json(value), headroom=0.1, survive="rack")
    assert found.asked == Requirement(Fraction(1, 10), "rack")
    table = found.to_pandas()
    assert table["broker"].tolist() == [one.id for one in found.usage.brokers]
    assert table["disk_load"].sum() == 2 * 8 * 10
    assert table["in_load"].sum() == 2 * 8
    assert (table["out_after_failure"] >= table["out_load"]).all()
    assert set(table["disk_capacity"]) == {60}
    assert found.to_arrow().column_names == list(table.columns)
    assert repr(found) == f"<ClusterSize: {found.brokers} brokers, proven: no fewer; today 4>"
    assert repr(found)[len("<ClusterSize: ") : -1] in found._repr_html_()


def test_the_gap_is_in_the_answer() -> None:
    """Three partitions of 40 do not fit on two disks of 75, which the sum does not show."""
    chance = random.Random(0)
    for _ in range(200):
        value = random_cluster(chance)
        try:
            found = size(Cluster.from_json(value), headroom="0%", survive="none")
        except CannotError:
            continue
        if not found.proven:
            least = found.bound.brokers
            assert f"proven: at least {least}; today {found.today}>" in repr(found)
            assert least < found.brokers
            return
    pytest.fail("no gap among these")
