"""Plans, snapshots and clocks for tests of single modules."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from partage.live.admin.states import BrokerState, Key, LogDir, PartitionState, Snapshot, Throttles
from partage.live.execution.changes import Change
from partage.live.execution.execution_plan import ExecutionPlan
from partage.live.execution.preflight import preflight

MB = 10**6


class Clock:
    """A clock that moves only while something sleeps."""

    def __init__(self) -> None:
        self.moment = 0.0

    def __call__(self) -> float:
        return self.moment

    def sleep(self, seconds: float) -> None:
        self.moment += seconds
        assert self.moment < 3600, "it never ends"


def snapshot(
    replicas: dict[Key, tuple[int, ...]], dead: tuple[int, ...] = (), free: int | None = None
) -> Snapshot:
    """Brokers 1 to 6 and these partitions of 10 MB each, in sync except on dead brokers."""
    disk = (LogDir("/data", None, free, cordoned=False),)
    brokers = tuple(
        BrokerState(b, None, "h", 9, alive=b not in dead, log_dirs=disk) for b in range(1, 7)
    )
    states = []
    for (topic, number), listed in sorted(replicas.items()):
        isr = tuple(sorted(b for b in listed if b not in dead))
        leader = next((b for b in listed if b not in dead), None)
        sizes = dict.fromkeys(isr, 10 * MB)
        states.append(PartitionState(topic, number, listed, leader, isr, sizes=sizes))
    return Snapshot("id", datetime(2026, 1, 1, tzinfo=UTC), 1, brokers, tuple(states), Throttles())


def plan_of(changes: list[Change], directory: str = "plan", **more: Any) -> ExecutionPlan:
    """A plan of these changes, all in one wave."""
    keyed = {change.key: change for change in changes}
    original = {change.key: change.origin for change in changes}
    return ExecutionPlan(directory, "id", keyed, (tuple(keyed),), original, **more)


def three_brokers() -> Snapshot:
    """Partitions t-0, t-1 and t-2 on brokers 1 and 2; broker 3 is empty."""
    disk = (LogDir("/data", 100 * MB, 20 * MB, cordoned=False),)
    brokers = tuple(BrokerState(b, None, "h", 9, alive=True, log_dirs=disk) for b in (1, 2, 3))
    partitions = tuple(
        PartitionState("t", number, (1, 2), 1, (1, 2), sizes={1: 10 * MB, 2: 9 * MB})
        for number in range(3)
    )
    return Snapshot("id", datetime(2026, 1, 1, tzinfo=UTC), 1, brokers, partitions, Throttles())


def errors(
    plan: ExecutionPlan, cluster: Snapshot, throttle: int | None = None, resumed: bool = False
) -> list[str]:
    submitted = plan.changes if resumed else ()
    return preflight(plan, cluster, throttle=throttle, submitted=submitted).errors


def with_partition(number: int, **changed: object) -> Snapshot:
    cluster = three_brokers()
    states = list(cluster.partitions)
    states[number] = replace(states[number], **changed)  # type: ignore[arg-type]
    return replace(cluster, partitions=tuple(states))


def with_broker(number: int, **changed: object) -> Snapshot:
    cluster = three_brokers()
    brokers = [
        replace(broker, **changed) if broker.id == number else broker  # type: ignore[arg-type]
        for broker in cluster.brokers
    ]
    return replace(cluster, brokers=tuple(brokers))
