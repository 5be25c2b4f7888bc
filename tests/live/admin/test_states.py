"""A snapshot as text."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from partage.cluster.clients import SHARE, TopicClients
from partage.live.admin.states import BrokerState, PartitionState, Snapshot, Throttles
from partage.measured_loads.rates import MeasuredRates, PartitionRates


def test_repr() -> None:
    snapshot = Snapshot("abc", datetime(2026, 1, 2, tzinfo=UTC), 1, (), (), Throttles({}, {}))
    assert repr(snapshot) == (
        "<Snapshot of cluster abc at 2026-01-02T00:00:00Z: "
        "0 brokers, 0 partitions, 0 being reassigned, 0 warnings>"
    )


def test_consumers_count_where_their_members_are() -> None:
    def member(rack: str | None, *owned: tuple[str, int]) -> dict[str, Any]:
        return {"rack": rack, "owned": [list(pair) for pair in owned]}

    groups: tuple[dict[str, Any], ...] = (
        {"members": [member("a", ("t", 0), ("t", 1), ("gone", 0)), member("b", ("t", 2))]},
        {"members": [member(None, ("t", 0), ("u", 0)), member("\x1b", ("u", 0))]},
        {"members": None},
    )
    brokers = tuple(BrokerState(b, "ab"[b], "h", 9, alive=True) for b in (0, 1))
    keys = (("t", 0), ("t", 1), ("t", 2), ("u", 0))
    states = tuple(PartitionState(topic, n, (0, 1), 0, (0, 1)) for topic, n in keys)
    taken = datetime(2026, 1, 2, tzinfo=UTC)
    snapshot = Snapshot("abc", taken, 1, brokers, states, Throttles(), groups)
    clients = snapshot.cluster().clients
    assert clients is not None
    assert clients.topics == {"t": TopicClients(consumers={"a": SHARE // 2, "b": SHARE // 4})}
    assert not clients.closest_replica
    closest = replace(snapshot, closest_replica=True).cluster().clients
    assert closest is not None
    assert closest.closest_replica
    rates = {key: PartitionRates(rate) for key, rate in zip(keys, (6, 1, 1, 5), strict=True)}
    by_rate = snapshot.with_rates(MeasuredRates(9, 2, rates)).cluster().clients
    assert by_rate is not None  # partition 0 is read twice, once by a member without a rack
    assert by_rate.topics == {
        "t": TopicClients(consumers={"a": SHARE // 2, "b": round(SHARE / 14)})
    }
    without = Snapshot("abc", taken, 1, brokers, states, Throttles())
    assert without.cluster().clients is None
