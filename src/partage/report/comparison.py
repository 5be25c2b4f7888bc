"""Strategies against criteria: the columns that the terminal and the page both show."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from partage.report import units

Row = Mapping[str, Any]
"""One strategy's figures, or ``{"cannot": why}``."""


@dataclass(frozen=True)
class Column:
    """One criterion: its name, a short one for the terminal, the text of a row, and the rank.

    ``rank`` (less is better) is None where less is no merit on its own: a plan that leaves the
    brokers uneven moves little.
    """

    name: str
    short: str
    text: Callable[[Row], str]
    rank: Callable[[Row], float] | None = None

    def value(self, row: Row) -> float | None:
        """The rank of a row, None where there is none or the row does not say."""
        if self.rank is None:
            return None
        try:
            return self.rank(row)
        except (KeyError, TypeError, IndexError):
            return None

    def best(self, rows: Iterable[Row]) -> float | None:
        """The least rank of all rows; None where all rank the same, so that nothing stands out."""
        known = {value for row in rows if (value := self.value(row)) is not None}
        return min(known) if len(known) > 1 else None


def _moves(row: Row) -> str:
    return f"{units.count(row.get('moves'))}/{units.count(row.get('moves_lower_bound'))}"


def _failure(row: Row) -> str:
    after = row.get("leaders_after_failure") or {}
    return f"{units.count(after.get('max'))}/{units.count(after.get('ideal'))}"


def _width(key: str) -> Callable[[Row], float]:
    return lambda row: float(row[key][-1] - row[key][0])


COLUMNS: tuple[Column, ...] = (
    Column("moves / lower bound", "moves/\nbound", _moves),
    Column("bytes to copy", "to\ncopy", lambda r: units.size(r.get("bytes_moved"))),
    Column(
        "replicas per broker",
        "replicas",
        lambda r: units.span(r.get("replicas_per_broker")),
        _width("replicas_per_broker"),
    ),
    Column(
        "leaders per broker",
        "leaders",
        lambda r: units.span(r.get("leaders_per_broker")),
        _width("leaders_per_broker"),
    ),
    Column(
        "after a failure / ideal",
        "after\nfailure",
        _failure,
        lambda r: float(r["leaders_after_failure"]["max"]),
    ),
    Column(
        "rack violations",
        "rack\nviol.",
        lambda r: units.count(r.get("rack_violations")),
        lambda r: float(r["rack_violations"]),
    ),
    Column(
        "topic spread",
        "topic\nspread",
        lambda r: units.count(r.get("topic_spread")),
        lambda r: float(r["topic_spread"]),
    ),
    Column("leader changes", "leader\nchanges", lambda r: units.count(r.get("leader_changes"))),
    Column(
        "settled",
        "set-\ntled",
        lambda r: units.plain(r.get("settled")),
        lambda r: float(not r["settled"]),
    ),
    Column(
        "optimal",
        "opti-\nmal",
        lambda r: units.plain(r.get("optimal")),
        lambda r: float(not r["optimal"]),
    ),
    Column("time", "time", lambda r: units.duration(r.get("seconds"))),
)
