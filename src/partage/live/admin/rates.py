"""Measures how fast producers write to partitions and consumers read them: ``snapshot --watch``.

At several moments it reads, of each partition, the size of its leader's log and its first and next
offset, and the offsets that groups have committed. Between two moments,

- *records in* are how far the next offset went, and *records out* how far the groups' offsets did;
- *bytes in* are how much the log grew. That holds if nothing was deleted meanwhile and the leader
  stayed: where the first offset moved, now or one moment earlier (sizes are read before offsets),
  where the log shrank, or another replica leads, bytes are records times bytes per record;
- *bytes out* are records out times bytes per record.

Bytes per record are those of the growth that was measured, else the log's size over its records.
Offsets count for records: those of transaction markers too, and those that compaction removed, on
both sides alike. Where a next offset went back (topic created again, or truncated), or a group's
was reset to an earlier one, the interval does not count.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from kafka import KafkaAdminClient, TopicPartition
from kafka import errors as kafka_errors
from kafka.admin import OffsetSpec

from partage.live.admin.connection import ask_together_or_singly, chunks, describe_error
from partage.live.admin.replica_sizes import read_sizes
from partage.live.admin.states import Key, MeasuredRates, PartitionRates
from partage.units import listed

LEAST_SECONDS = 1.0
"""A shorter time measures nothing."""

_INTERVAL_SECONDS = 10.0
_MOST_INTERVALS = 60
_TOPICS = 500
_STEP_SECONDS = 1.0
_TIMEOUT_MS = 10_000

_NO_COMMITS = (
    "no group has committed offsets: bytes out are not known, plans count them as if one consumer "
    "read everything"
)


@dataclass(frozen=True)
class _Reading:
    """A partition at a moment: when and how large its leader's log was, when and which offsets."""

    leader: int
    size_at: float
    size: int
    offsets_at: float
    first: int
    next: int


@dataclass
class _Log:
    """What is known of a partition: its last reading, and sums over the intervals that count.

    ``grown``, ``grown_records``: where bytes were measured; ``other_records``: elsewhere.
    """

    last: _Reading
    deleted: bool = False
    grown: float = 0.0
    grown_records: int = 0
    other_records: int = 0
    seconds: float = 0.0

    def add(self, now: _Reading) -> None:
        before, self.last = self.last, now
        seconds, records = now.offsets_at - before.offsets_at, now.next - before.next
        deleted, self.deleted = self.deleted, now.first != before.first
        if seconds <= 0 or records < 0:
            return
        self.seconds += seconds
        grown = now.size - before.size
        size_seconds = now.size_at - before.size_at
        if deleted or self.deleted or grown < 0 or now.leader != before.leader or size_seconds <= 0:
            self.other_records += records
            return
        self.grown_records += records
        self.grown += grown * seconds / size_seconds  # in the time of the records

    @property
    def bytes_per_record(self) -> float | None:
        if self.grown_records:
            return self.grown / self.grown_records
        kept = self.last.next - self.last.first
        return self.last.size / kept if kept > 0 else None


@dataclass
class _Reads:
    """The committed offset of a group on a partition, and what it read since the first."""

    offset: int
    at: float
    records: int = 0
    seconds: float = 0.0

    def add(self, offset: int, at: float) -> None:
        if offset >= self.offset:
            self.records += offset - self.offset
            self.seconds += at - self.at
        self.offset, self.at = offset, at


@dataclass
class _Meter:
    """The sums over all moments so far."""

    admin: KafkaAdminClient
    clock: Callable[[], float]
    logs: dict[Key, _Log] = field(default_factory=dict)
    reads: dict[tuple[str, Key], _Reads] = field(default_factory=dict)
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
        first = self._offsets(OffsetSpec.EARLIEST, sizes)
        following = self._offsets(OffsetSpec.LATEST, sizes)
        for key in sizes.keys() & first.keys() & following.keys():
            at, offset = following[key]
            reading = _Reading(leaders[key], *sizes[key], at, first[key][1], offset)
            if key in self.logs:
                self.logs[key].add(reading)
            else:
                self.logs[key] = _Log(reading)

    def _offsets(self, spec: OffsetSpec, keys: Iterable[Key]) -> dict[Key, tuple[float, int]]:
        """When it was read, and the offset; topics that cannot be read are left out."""
        numbers: dict[str, list[int]] = defaultdict(list)
        for topic, number in keys:
            numbers[topic].append(number)

        def ask(topics: Sequence[str]) -> dict[str, dict[Key, tuple[float, int]]]:
            wanted = [TopicPartition(topic, n) for topic in topics for n in numbers[topic]]
            offsets = self.admin.list_partition_offsets(
                dict.fromkeys(wanted, spec), timeout_ms=_TIMEOUT_MS
            )
            now = self.clock()
            found: dict[str, dict[Key, tuple[float, int]]] = {topic: {} for topic in topics}
            for at, offset in offsets.items():
                found[at.topic][at.topic, at.partition] = (now, offset.offset)
            return found

        found: dict[Key, tuple[float, int]] = {}
        for part in chunks(sorted(numbers), _TOPICS):
            answers = ask_together_or_singly(ask, part, (kafka_errors.KafkaError,))
            for own in answers.values():
                found |= own
        return found

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
                if key in self.reads:
                    self.reads[key].add(one.offset, now)
                else:
                    self.reads[key] = _Reads(one.offset, now)

    def rates(self) -> dict[Key, PartitionRates]:
        """Of the partitions that were measured."""
        read: dict[Key, float] = defaultdict(float)
        for (_, key), one in self.reads.items():
            if one.seconds > 0:
                read[key] += one.records / one.seconds
        found = {}
        for key, log in sorted(self.logs.items()):
            if log.seconds <= 0:
                continue
            size = log.bytes_per_record or 0.0
            found[key] = PartitionRates(
                bytes_in=(log.grown + log.other_records * size) / log.seconds,
                bytes_out=read[key] * size if self.reads else None,
                records_in=(log.grown_records + log.other_records) / log.seconds,
                records_out=read[key] if self.reads else None,
            )
        return found

    def warnings(self, measured: Mapping[Key, PartitionRates]) -> list[str]:
        found = [
            f"group {group}: what it reads is not measured: {problem}"
            for group, problem in self.unreadable.items()
        ]
        missing = [f"{topic}-{number}" for topic, number in sorted(self.listed - measured.keys())]
        if missing:
            found.append(f"rates of {len(missing)} partitions not measured: {listed(missing, 3)}")
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
    rates = meter.rates()
    return MeasuredRates(clock() - start, samples, rates, tuple(meter.warnings(rates)))
