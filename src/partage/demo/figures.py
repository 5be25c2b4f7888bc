"""The results of a run in the form of ``live.json``."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from partage.brokers.plan import Plan
from partage.demo.delivery import Records, count_delivery, longest, pauses, per_second
from partage.demo.traffic import Traffic
from partage.live.admin.states import Snapshot

ReplicaLists = dict[tuple[str, int], list[int]]


def replica_lists(snapshot: Snapshot) -> ReplicaLists:
    """The replica list of each partition in a snapshot."""
    return {one.key: list(one.replicas) for one in snapshot.partitions}


def planned_lists(plan: Plan) -> ReplicaLists:
    """The replica list that a plan gives each partition."""
    cluster = plan.after
    names = [(cluster.topics[t], n) for t, n in zip(cluster.topic, cluster.partition, strict=True)]
    return dict(zip(names, cluster.replica_lists(), strict=True))


def of_plan(plan: Plan, expanded: Snapshot, after: Snapshot, added: int) -> dict[str, Any]:
    """The plan, and the brokers before and after it; the last ``added`` brokers are new."""
    brokers = [broker.id for broker in expanded.brokers]

    def counts(snapshot: Snapshot, leaders: bool) -> list[int]:
        held = [
            broker
            for one in snapshot.partitions
            for broker in ([one.leader] if leaders else one.replicas)
        ]
        return [held.count(broker) for broker in brokers]

    return {
        "plan": {
            "moves": plan.moves,
            "moves_lower_bound": plan.lower_bound,
            "bytes_moved": plan.bytes_moved,
            "waves": len(plan.waves),
        },
        "brokers": [
            {"id": broker.id, "rack": broker.rack, "added": number >= len(brokers) - added}
            for number, broker in enumerate(expanded.brokers)
        ],
        "replicas": {"before": counts(expanded, False), "after": counts(after, False)},
        "leaders": {"before": counts(expanded, True), "after": counts(after, True)},
    }


def of_traffic(traffic: Traffic, start: float, quiet_until: float, until: float) -> dict[str, Any]:
    """Records and pauses of both sides. ``start``: of the traffic, in seconds since 1970;
    ``quiet_until``, ``until``: of the first change and of the end, in seconds since ``start``."""
    sides = {"producing": "acknowledged", "consuming": "read"}
    records = {side: list(traffic.records(kind)) for side, kind in sides.items()}
    counts = count_delivery(records["producing"], records["consuming"])
    changed, end = start + quiet_until, start + until

    def longest_pause(of: Iterable[Records], since: float, to: float) -> dict[str, Any]:
        return longest(pauses(of, traffic.partitions, since, to)).to_json(start)

    return {
        "until": until,
        "records": vars(counts),
        "pauses": {
            side: {
                "before": longest_pause(ones, start, changed),
                "during": longest_pause(ones, changed, end),
            }
            for side, ones in records.items()
        },
        "per_second": {side: per_second(ones, start, end) for side, ones in records.items()},
    }
