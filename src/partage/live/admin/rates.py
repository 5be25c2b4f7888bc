"""Measures how fast producers write to partitions and consumers read them: ``snapshot --watch``.

At several moments it reads, of each partition, the size of its leader's log and its first and next
offset, and the offsets that groups have committed. ``measured_loads/rates.py`` has the arithmetic.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from kafka import KafkaAdminClient
from kafka import errors as kafka_errors
from kafka.admin import OffsetSpec

from partage.live.admin.connection import describe_error
from partage.live.admin.partition_offsets import partition_offsets
from partage.live.admin.replica_sizes import read_sizes
from partage.measured_loads.rates import (
    GroupReads,
    Key,
    LogGrowth,
    LogReading,
    MeasuredRates,
    PartitionRates,
    combined,
)
from partage.units import listed

LEAST_SECONDS = 1.0
"""A shorter time measures nothing."""

_INTERVAL_SECONDS = 10.0
_MOST_INTERVALS = 60
_STEP_SECONDS = 1.0

_NO_COMMITS = (
    "no group has committed offsets: bytes out are not known, plans count them as if one consumer "
    "read everything"
)


@dataclass
class _Meter:
    """The sums over all moments so far."""

    admin: KafkaAdminClient
    clock: Callable[[], float]
    logs: dict[Key, LogGrowth] = field(default_factory=dict)
    reads: dict[tuple[str, Key], GroupReads] = field(default_factory=dict)
    listed: set[Key] = field(default_factory=set)
    unreadable: dict[str, str] = field(default_factory=dict)

    def add_sample(self) -> None:
        leaders: dict[Key, int] = {}
        self.listed.clear()
        for topic in self.admin.describe_topics():
            for one in topic["partitions"] if not topic["error_code"] else ():
                key = (topic["name"], one["partition_index"])
                self.listed.add(key)
                if one["leader_id"] >= 0:
                    leaders[key] = one["leader_id"]
        self._add_logs(leaders)
        self._add_commits()

    def _add_logs(self, leaders: Mapping[Key, int]) -> None:
        sizes: dict[Key, tuple[float, int]] = {}
        led: dict[int, list[Key]] = defaultdict(list)
        for key, leader in leaders.items():
            led[leader].append(key)
        for broker, keys in led.items():
            own = read_sizes(self.admin, {broker: keys}).get(broker, {})
            now = self.clock()
            sizes |= {key: (now, size) for key, size in own.items()}
        first = partition_offsets(self.admin, OffsetSpec.EARLIEST, sizes, self.clock)
        following = partition_offsets(self.admin, OffsetSpec.LATEST, sizes, self.clock)
        for key in sizes.keys() & first.keys() & following.keys():
            at, offset = following[key]
            reading = LogReading(leaders[key], *sizes[key], at, first[key][1], offset)
            self.logs.setdefault(key, LogGrowth(reading)).add(reading)

    def _add_commits(self) -> None:
        for group in sorted(str(one["group_id"]) for one in self.admin.list_groups()):
            try:
                committed = self.admin.list_group_offsets(group)[group]
            except kafka_errors.KafkaError as error:
                self.unreadable[group] = describe_error(error)
                continue
            now = self.clock()
            for at, one in committed.items():
                if one.offset < 0:
                    continue
                key = (group, (at.topic, at.partition))
                self.reads.setdefault(key, GroupReads(one.offset, now)).add(one.offset, now)

    def warnings(self, measured: Mapping[Key, PartitionRates]) -> list[str]:
        found = [
            f"group {group}: what it reads is not measured: {problem}"
            for group, problem in self.unreadable.items()
        ]
        missing = [f"{topic}-{number}" for topic, number in sorted(self.listed - measured.keys())]
        if missing:
            found.append(f"rates not measured: {listed(missing, 3)}")
        return found if self.reads else [*found, _NO_COMMITS]


def measure_rates(
    admin: KafkaAdminClient,
    seconds: float,
    *,
    progress: Callable[[str], None] = lambda _: None,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
    stopped: Callable[[], bool] = lambda: False,
) -> MeasuredRates:
    """Rates of all partitions over so many seconds, or until it is ``stopped``; none at all if that
    is earlier than ``LEAST_SECONDS``. Raises what kafka-python raises."""
    meter = _Meter(admin, clock)
    progress("measuring rates")
    meter.add_sample()
    start, samples = clock(), 1
    intervals = min(_MOST_INTERVALS, max(1, round(seconds / _INTERVAL_SECONDS)))
    due = [start + seconds * (number + 1) / intervals for number in range(intervals)]
    while due and not stopped():
        rest = due[0] - clock()
        if rest > 0:
            progress(f"measuring rates: {clock() - start:.0f} of {seconds:.0f} s")
            sleep(min(rest, _STEP_SECONDS))
            continue
        due = [moment for moment in due if moment > clock()]
        meter.add_sample()
        samples += 1
    if stopped() and due and clock() - start >= LEAST_SECONDS:
        progress("measuring rates: stopping")
        meter.add_sample()
        samples += 1
    rates = combined(meter.logs, meter.reads)
    return MeasuredRates(clock() - start, samples, rates, tuple(meter.warnings(rates)))
