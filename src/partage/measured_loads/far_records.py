"""Records whose time is far from that of all others of their topic: what a profile has about them.

One producer with a wrong clock stretches the time from a topic's first record to its last, over
which its mean rate is taken: the topic looks idle.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from partage.errors import InputError
from partage.period import Period, shown, time_of
from partage.units import listed, plural

_SHOWN = 3
"""Most topics that a terminal names."""


@dataclass(frozen=True)
class FarRecords:
    """Of a topic. Its first and last record are at ``first`` and ``last``; all but so many
    ``records`` are from ``since`` until ``until``, exclusive. Times are milliseconds."""

    topic: str
    records: int
    first: int
    last: int
    since: int
    until: int

    @classmethod
    def from_json(cls, row: Mapping[str, Any]) -> FarRecords:
        """Raises ValueError for what is not a time."""
        times = [time_of(row[name]) for name in ("first", "last", "from", "to")]
        return cls(row["topic"], row["records"], *times)

    def to_json(self) -> dict[str, Any]:
        """As ``profile.json`` has it, under ``far_records``."""
        return {
            "topic": self.topic,
            "records": self.records,
            "first": shown(self.first),
            "last": shown(self.last),
            "from": shown(self.since),
            "to": shown(self.until),
        }

    def matters(self, period: Period) -> bool:
        """Whether such a record decides how long this period is: where it is open."""
        early = self.first < self.since and period.since is None
        return early or (self.last >= self.until and period.until is None)

    def __str__(self) -> str:
        ends = (
            f"its first record is of {shown(self.first)}" if self.first < self.since else "",
            f"its last record is of {shown(self.last)}" if self.last >= self.until else "",
        )
        are = f"{plural(self.records, 'record')} {'is' if self.records == 1 else 'are'}"
        return (
            f"topic {self.topic}: {are} far from all others in time "
            f"({', '.join(filter(None, ends))}), and its mean rate is over all that time"
        )


def read_far_records(about: Mapping[str, Any], where: str) -> tuple[FarRecords, ...]:
    """Those of a ``profile.json``; none of one that a watch or an older partage wrote. Raises
    InputError."""
    try:
        return tuple(FarRecords.from_json(row) for row in about.get("far_records", ()))
    except ValueError as error:
        raise InputError(where, f"far_records: {error}") from None


def far_lines(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """``far_records`` of a profile as warnings, with what to do."""
    for found in [FarRecords.from_json(row) for row in rows[:_SHOWN]]:
        period = f"--from {shown(found.since)} --to {shown(found.until)}"
        yield f"{found}: measure with {period}, or plan with --rate peak"
    if more := [row["topic"] for row in rows[_SHOWN:]]:
        yield f"likewise {plural(len(more), 'more topic')}: {listed(more, _SHOWN)}"
