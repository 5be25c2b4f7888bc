"""How fast producers write to partitions, measured by how their logs grow.

Replica sizes are read from log dirs more than once, of replicas that are in sync: a new replica
also grows by what it fetches. Where a size fell, a segment was deleted, and that interval does not
count. Older intervals weigh less and less, so that a rate is about that of the last minute.

A broker needs bandwidth for the throttled partitions even while nothing is copied. A new replica
must fetch what producers write. The leader sends as much to each follower, in-sync ones included:
Kafka never slows those down, but counts what they fetch against the throttle (KIP-73; see
``sizeOfThrottledPartitions`` in Kafka's KafkaApis). Under a throttle at or below that rate a
reassignment never finishes.
"""

from __future__ import annotations

import math
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

from kafka import KafkaAdminClient
from kafka import errors as kafka_errors
from kafka.admin import ConfigResource, ConfigResourceType

from partage.live.admin.replica_sizes import ReplicaSizes, read_sizes
from partage.live.admin.states import Key, PartitionState
from partage.live.execution.changes import Change
from partage.live.execution.execution_plan import ExecutionPlan

MEASUREMENT_SECONDS = 3.0
_SAMPLES = 4
_DECAY_SECONDS = 60.0
_LAG_TIME = "replica.lag.time.max.ms"
_DEFAULT_LAG_SECONDS = 30.0


class WriteRates:
    """Bytes per second by which partitions grow, from samples of their replicas' sizes."""

    def __init__(self) -> None:
        self._last: dict[tuple[int, Key], tuple[float, int]] = {}
        self._bytes: dict[Key, float] = defaultdict(float)
        self._seconds: dict[Key, float] = defaultdict(float)

    def add_sample(self, moment: float, sizes: ReplicaSizes) -> None:
        """Sizes of in-sync replicas at a moment, in seconds of any clock."""
        for broker, own in sizes.items():
            for key, size in own.items():
                before = self._last.get((broker, key))
                self._last[broker, key] = (moment, size)
                if before and size >= before[1] and moment > before[0]:
                    seconds = moment - before[0]
                    weight = math.exp(-seconds / _DECAY_SECONDS)
                    self._bytes[key] = weight * self._bytes[key] + size - before[1]
                    self._seconds[key] = weight * self._seconds[key] + seconds

    def rates(self) -> dict[Key, float]:
        """Of all partitions with at least two samples."""
        return {key: self._bytes[key] / seconds for key, seconds in self._seconds.items()}


def required_bandwidth(
    changes: Iterable[Change], rates: Mapping[Key, float], leaders: Mapping[Key, int | None]
) -> tuple[dict[int, float], dict[int, float]]:
    """Bytes per second that each broker sends, and that each receives, for these partitions while
    the copies make no progress. A partition without a leader counts for its first replica."""
    sent: dict[int, float] = defaultdict(float)
    received: dict[int, float] = defaultdict(float)
    for change in changes:
        if not change.adding:
            continue
        rate = rates.get(change.key, 0.0)
        leader = leaders.get(change.key)
        followers = len({*change.origin, *change.target}) - 1
        sent[change.origin[0] if leader is None else leader] += rate * followers
        for broker in change.adding:
            received[broker] += rate
    return dict(sent), dict(received)


def with_measured_rates(
    plan: ExecutionPlan,
    admin: KafkaAdminClient,
    states: Iterable[PartitionState],
    *,
    progress: Callable[[str], None] = lambda _: None,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> ExecutionPlan:
    """The plan with the write rates of the partitions to copy, measured on their leaders for
    ``MEASUREMENT_SECONDS``; rates that the plan already has are kept."""
    keys: dict[int, list[Key]] = defaultdict(list)
    for state in states:
        change = plan.changes.get(state.key)
        unknown = change and change.adding and change.bytes_per_second is None
        if unknown and state.leader is not None:
            keys[state.leader].append(state.key)
    if not keys:
        return plan
    growth = WriteRates()
    for sample in range(_SAMPLES):
        if sample:
            sleep(MEASUREMENT_SECONDS / (_SAMPLES - 1))
        progress(f"measuring write rates ({MEASUREMENT_SECONDS:.0f} s)")
        growth.add_sample(clock(), read_sizes(admin, keys))
    rates = growth.rates()
    changes = {
        key: replace(change, bytes_per_second=rates[key]) if key in rates else change
        for key, change in plan.changes.items()
    }
    return replace(plan, changes=changes)


def replica_lag_seconds(admin: KafkaAdminClient, brokers: Iterable[int]) -> float:
    """How long a follower may lag and still count as in sync (replica.lag.time.max.ms), from the
    first broker that answers; Kafka's default if none does."""
    for broker in sorted(brokers):
        resource = ConfigResource(ConfigResourceType.BROKER, str(broker), {_LAG_TIME: None})
        try:
            described = admin.describe_configs([resource], config_filter="all")
            return int(described["broker"][str(broker)][_LAG_TIME]["value"]) / 1000
        except (kafka_errors.KafkaError, LookupError):
            continue
    return _DEFAULT_LAG_SECONDS
