"""Strategies against criteria: the columns that the terminal and the page both show.

There are more criteria than fit beside each other, so they come in two groups, each a table: who
holds what and what it costs to get there; who leads, what failures do, and what runs repeat.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from partage.report import units

Row = Mapping[str, Any]
"""One strategy's figures, or ``{"cannot": why}``."""


@dataclass(frozen=True)
class Column:
    """One criterion: its group, its name, a short one for the terminal, the text of a row, the
    rank, and what the short name means where that does not go without saying.

    ``rank`` (less is better) is None where less is no merit on its own: a plan that leaves the
    brokers uneven moves little.
    """

    group: str
    name: str
    short: str
    text: Callable[[Row], str]
    rank: Callable[[Row], float] | None = None
    means: str = ""

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


def columns(rows: Iterable[Row]) -> list[tuple[str, list[Column]]]:
    """The groups with the columns of which some row says something: without racks, say, there is
    nothing to show of them."""
    known = list(rows)
    shown = [c for c in COLUMNS if any(c.text(row) != units.MISSING for row in known)]
    found = ((group, [c for c in shown if c.group == group]) for group in GROUPS)
    return [(group, part) for group, part in found if part]


def legend(groups: Iterable[tuple[str, list[Column]]]) -> str:
    """What the names of these columns mean, in one sentence."""
    text = "; ".join(column.means for _, part in groups for column in part if column.means)
    return text and f"{text[:1].upper()}{text[1:]}."


def _over(value: Any, bound: Any) -> str:
    """``25/24``: what is reached over the least that can be, where that is known."""
    return units.count(value) if bound is None else f"{units.count(value)}/{units.count(bound)}"


def _moves(row: Row) -> str:
    return _over(row.get("moves"), row.get("moves_lower_bound"))


def _after(key: str) -> Callable[[Row], str]:
    def text(row: Row) -> str:
        after = row.get(key) or {}
        return _over(after.get("max"), after.get("ideal"))

    return text


def _worst(key: str, inner: str = "max") -> Callable[[Row], float]:
    return lambda row: float(row[key][inner])


def _number(key: str) -> Callable[[Row], float]:
    return lambda row: float(row[key])


def _width(key: str) -> Callable[[Row], float]:
    return lambda row: float(row[key][-1] - row[key][0])


def _denied(key: str) -> Callable[[Row], float]:
    return lambda row: float(not row[key])


def _said(key: str) -> Callable[[Row], str]:
    def text(row: Row) -> str:
        value = row.get(key)
        return units.MISSING if value is None else units.plain(value)

    return text


GROUPS = PLACEMENT, LEADERS = ("placement and moves", "leaders, failures and repeated runs")

_BROKER, _RACK = "leaders_after_failure", "leaders_after_rack_failure"

COLUMNS: tuple[Column, ...] = (
    Column(
        PLACEMENT,
        "replicas per broker",
        "replicas",
        lambda r: units.span(r.get("replicas_per_broker")),
        _width("replicas_per_broker"),
    ),
    Column(
        PLACEMENT,
        "bytes, fullest / mean broker",
        "bytes max\n/mean",
        lambda r: units.decimal(r.get("bytes_max_over_mean")),
        _number("bytes_max_over_mean"),
    ),
    Column(
        PLACEMENT,
        "topic spread",
        "topic\nspread",
        lambda r: units.count(r.get("topic_spread")),
        _number("topic_spread"),
    ),
    Column(
        PLACEMENT,
        "rack violations",
        "rack\nviolations",
        lambda r: units.count(r.get("rack_violations")),
        _number("rack_violations"),
    ),
    Column(
        PLACEMENT,
        "moves / lower bound",
        "moves\n/bound",
        _moves,
        means="bound: no plan as fair moves fewer, and these moves fit no fewer waves",
    ),
    Column(PLACEMENT, "bytes to copy", "to\ncopy", lambda r: units.size(r.get("bytes_moved"))),
    Column(
        PLACEMENT,
        "waves / lower bound",
        "waves\n/bound",
        lambda r: _over(r.get("waves"), r.get("waves_lower_bound")),
    ),
    Column(
        LEADERS,
        "leaders per broker",
        "leaders",
        lambda r: units.span(r.get("leaders_per_broker")),
        _width("leaders_per_broker"),
    ),
    Column(
        LEADERS,
        "leader changes",
        "leader\nchanges",
        lambda r: units.count(r.get("leader_changes")),
    ),
    Column(
        LEADERS,
        "broker down / ideal",
        "broker down\n/ideal",
        _after(_BROKER),
        _worst(_BROKER),
        means="broker down: most leaders on a survivor, whichever broker fails",
    ),
    Column(
        LEADERS,
        "rack down / ideal",
        "rack down\n/ideal",
        _after(_RACK),
        _worst(_RACK),
        means="rack down: the same for a rack",
    ),
    Column(
        LEADERS,
        "off-line",
        "off-\nline",
        lambda r: units.count((r.get(_RACK) or {}).get("offline")),
        _worst(_RACK, "offline"),
        means="off-line: partitions with no live replica left when one rack fails",
    ),
    Column(
        LEADERS,
        "deterministic",
        "determi-\nnistic",
        _said("deterministic"),
        _denied("deterministic"),
        means="deterministic: the same bytes from shuffled input",
    ),
    Column(
        LEADERS,
        "settled",
        "settled",
        _said("settled"),
        _denied("settled"),
        means="settled: a second run changes nothing",
    ),
    Column(
        LEADERS,
        "optimal",
        "optimal",
        _said("optimal"),
        _denied("optimal"),
        means="optimal: every exact stage meets its bound",
    ),
    Column(LEADERS, "time", "time", lambda r: units.duration(r.get("seconds"))),
)
