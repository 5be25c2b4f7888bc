"""How fast partitions are written and read, from sizes of logs and offsets at several moments.

Between two moments,

- *records in* are how far the next offset went, and *records out* how far the groups' offsets did;
- *bytes in* are how much the log grew. That holds if nothing was deleted meanwhile and it is the
  log of the same replica: where the first offset moved, now or one moment earlier (sizes are read
  before offsets), where the log shrank or is another replica's, or no size is known, bytes are
  records times bytes per record;
- *bytes out* are records out times bytes per record.

Bytes per record are those of the growth that was measured, else the log's size over its records.
Offsets count for records: those of transaction markers too, and those that compaction removed, on
both sides alike. Where a next offset went back (topic created again, or truncated), or a group's
was reset to an earlier one, the interval does not count.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

Key = tuple[str, int]
"""Topic and partition number."""


@dataclass(frozen=True)
class PartitionRates:
    """Bytes and records per second that producers write to a partition (in) and consumers read from
    it (out); None where unknown."""

    bytes_in: float | None = None
    bytes_out: float | None = None
    records_in: float | None = None
    records_out: float | None = None

    def to_json(self) -> dict[str, float]:
        """The known rates as fields of a CLUSTER's partition."""
        rates = (
            ("bytes_in_per_second", self.bytes_in),
            ("bytes_out_per_second", self.bytes_out),
            ("records_in_per_second", self.records_in),
            ("records_out_per_second", self.records_out),
        )
        return {name: round(rate, 3) for name, rate in rates if rate is not None}


@dataclass(frozen=True)
class MeasuredRates:
    """Rates by partition, from so many ``samples`` in so many ``seconds``. ``warnings``: what could
    not be measured."""

    seconds: float
    samples: int
    of: Mapping[Key, PartitionRates]
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True)
class LogReading:
    """A partition at a moment: when and how large the log of a replica was, when and which offsets
    were its first and its next one. ``size``, or both offsets, are None where unknown."""

    replica: object
    size_at: float
    size: int | None
    offsets_at: float
    first: int | None
    next: int | None


@dataclass
class LogGrowth:
    """What is known of a partition: its last reading, and sums over the intervals that count.

    ``grown``, ``grown_records``: where bytes were measured; ``other_records``: elsewhere.
    """

    last: LogReading
    deleted: bool = False
    grown: float = 0.0
    grown_records: int = 0
    other_records: int = 0
    seconds: float = 0.0

    def add(self, now: LogReading) -> None:
        """The same reading twice changes nothing."""
        before, self.last = self.last, now
        size_seconds = now.size_at - before.size_at
        grown = None
        if now.replica == before.replica and size_seconds > 0:
            grown = _difference(before.size, now.size)
        records = _difference(before.next, now.next)
        if records is None:
            if grown is not None and grown >= 0:
                self.seconds += size_seconds
                self.grown += grown
            return
        seconds = now.offsets_at - before.offsets_at
        deleted, self.deleted = self.deleted, now.first != before.first
        if seconds <= 0 or records < 0:
            return
        self.seconds += seconds
        if deleted or self.deleted or grown is None or grown < 0:
            self.other_records += records
        else:
            self.grown_records += records
            self.grown += grown * seconds / size_seconds  # in the time of the records

    def bytes_per_record(self, size: int | None = None) -> float | None:
        """``size``: of the log, if no reading has it. None for an empty log."""
        if self.grown_records:
            return self.grown / self.grown_records
        kept = _difference(self.last.first, self.last.next)
        known = size if self.last.size is None else self.last.size
        return known / kept if kept and kept > 0 and known is not None else None


def _difference(before: int | None, now: int | None) -> int | None:
    return None if before is None or now is None else now - before


@dataclass
class GroupReads:
    """The committed offset of a group on a partition, and what it read since the first."""

    offset: int
    at: float
    records: int = 0
    seconds: float = 0.0

    def add(self, offset: int, at: float) -> None:
        """The same offset twice changes nothing."""
        if offset >= self.offset:
            self.records += offset - self.offset
            self.seconds += at - self.at
        self.offset, self.at = offset, at


def combined(
    logs: Mapping[Key, LogGrowth],
    reads: Mapping[tuple[str, Key], GroupReads],
    sizes: Mapping[Key, int | None] | None = None,
) -> dict[Key, PartitionRates]:
    """The rates of the partitions that were measured. ``reads``: by group and partition; without
    any, what consumers read is unknown. ``sizes``: bytes of logs of which no reading has a size."""
    read: dict[Key, float] = {}
    for (_, key), one in reads.items():
        if one.seconds > 0:
            read[key] = read.get(key, 0.0) + one.records / one.seconds
    found = {}
    for key, log in sorted(logs.items()):
        if log.seconds <= 0:
            continue
        size = log.bytes_per_record((sizes or {}).get(key))
        out = read.get(key, 0.0) if reads else None
        records = log.grown_records + log.other_records
        found[key] = PartitionRates(
            bytes_in=None
            if size is None and log.other_records
            else (log.grown + log.other_records * (size or 0)) / log.seconds,
            bytes_out=None if out is None or (size is None and out) else out * (size or 0),
            records_in=None if log.last.next is None else records / log.seconds,
            records_out=out,
        )
    return found
