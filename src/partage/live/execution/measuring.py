"""What replication needs anyway, out of log-dir sizes that are read more than once.

A partition's log grows by what producers write. Sizes are taken of replicas that are there, not of
those that are still fetching; where one fell, a segment was deleted, and nothing is counted for
that time. Older moments count less and less, so that a rate is about that of the last minute.

What a broker *needs* in a wave is what its throttled partitions bring along while nothing is copied
at all. A new replica fetches what its partition grows by. A leader sends as much to each follower,
and to those in sync too: Kafka never slows these down, but counts what they fetch (KIP-73; see
``sizeOfThrottledPartitions`` in Kafka's KafkaApis). A throttle at or below that never ends.
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

from partage.live.admin.states import Key, PartitionState
from partage.live.execution.job import Change, Job

Sizes = dict[int, dict[Key, int]]
"""By broker and partition: bytes of the replica there."""

MEASURED_SECONDS = 3.0
_SAMPLES = 4
_MEMORY_SECONDS = 60.0
_LAG = "replica.lag.time.max.ms"
_USUAL_LAG_SECONDS = 30.0


def read_sizes(admin: KafkaAdminClient, keys: Mapping[int, Iterable[Key]]) -> Sizes:
    """The sizes of replicas, by broker; a broker that does not answer is left out."""
    found: Sizes = {}
    for broker, wanted in sorted(keys.items()):
        partitions: dict[str, list[int]] = {}
        for topic, number in sorted(wanted):
            partitions.setdefault(topic, []).append(number)
        if not partitions:
            continue
        try:
            (described,) = admin.describe_log_dirs(partitions, brokers=[broker])
        except kafka_errors.KafkaError:
            continue
        found[broker] = {
            (topic["name"], entry["partition_index"]): entry["partition_size"]
            for log_dir in described["log_dirs"]
            for topic in log_dir["topics"]
            for entry in topic["partitions"]
            if not entry["is_future_key"]
        }
    return found


class Growth:
    """Bytes per second by which partitions grow, from moments at which they were looked at."""

    def __init__(self) -> None:
        self._seen: dict[tuple[int, Key], tuple[float, int]] = {}
        self._grown: dict[Key, float] = defaultdict(float)
        self._seconds: dict[Key, float] = defaultdict(float)

    def look(self, moment: float, sizes: Sizes) -> None:
        """Take in the sizes of replicas that are there already."""
        for broker, own in sizes.items():
            for key, size in own.items():
                before = self._seen.get((broker, key))
                self._seen[broker, key] = (moment, size)
                if before and size >= before[1] and moment > before[0]:
                    seconds = moment - before[0]
                    kept = math.exp(-seconds / _MEMORY_SECONDS)
                    self._grown[key] = kept * self._grown[key] + size - before[1]
                    self._seconds[key] = kept * self._seconds[key] + seconds

    def rates(self) -> dict[Key, float]:
        """Of all partitions that were looked at twice."""
        return {key: self._grown[key] / seconds for key, seconds in self._seconds.items()}


def needs(
    changes: Iterable[Change], rates: Mapping[Key, float], leaders: Mapping[Key, int | None]
) -> tuple[dict[int, float], dict[int, float]]:
    """What each broker sends, and what each fetches, in bytes per second, for these changes'
    partitions to stay as far as they are. Who does not lead is the first of the list."""
    sends: dict[int, float] = defaultdict(float)
    fetches: dict[int, float] = defaultdict(float)
    for change in changes:
        if not change.adding:
            continue
        rate = rates.get(change.key, 0.0)
        leader = leaders.get(change.key)
        followers = len({*change.origin, *change.goal}) - 1
        sends[change.origin[0] if leader is None else leader] += rate * followers
        for broker in change.adding:
            fetches[broker] += rate
    return dict(sends), dict(fetches)


def measured(
    job: Job,
    admin: KafkaAdminClient,
    now: Iterable[PartitionState],
    *,
    tell: Callable[[str], None] = lambda _: None,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> Job:
    """The job with rates of the partitions that it has to copy, measured for some seconds on their
    leaders; partitions whose rates the plan knows keep them."""
    keys: dict[int, list[Key]] = defaultdict(list)
    for one in now:
        change = job.changes.get(one.key)
        if change and change.adding and change.bytes_per_second is None and one.leader is not None:
            keys[one.leader].append(change.key)
    if not keys:
        return job
    growth = Growth()
    for sample in range(_SAMPLES):
        if sample:
            sleep(MEASURED_SECONDS / (_SAMPLES - 1))
        tell(f"measuring what comes in ({MEASURED_SECONDS:.0f} s)")
        growth.look(clock(), read_sizes(admin, keys))
    rates = growth.rates()
    changes = {
        key: replace(change, bytes_per_second=rates[key]) if key in rates else change
        for key, change in job.changes.items()
    }
    return replace(job, changes=changes)


def lag_seconds(admin: KafkaAdminClient, brokers: Iterable[int]) -> float:
    """How long a follower counts as in sync though it lags: as the first broker is set that says
    so, or as Kafka's default is."""
    for broker in sorted(brokers):
        resource = ConfigResource(ConfigResourceType.BROKER, str(broker), {_LAG: None})
        try:
            described = admin.describe_configs([resource], config_filter="all")
            return int(described["broker"][str(broker)][_LAG]["value"]) / 1000
        except (kafka_errors.KafkaError, LookupError):
            continue
    return _USUAL_LAG_SECONDS
