"""The comparison of strategies: the columns that terminal and page show.

A terminal shows one table, with the criteria that an operator decides by first, as many as fit. A
page shows all of them in groups, a table each: placement and moves; loads, where they are known;
leaders, failures and repeated runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from partage.brokers.directory import COMPARE
from partage.brokers.optimality import optimality
from partage.brokers.plan_file import FailureFigures, PlanFigures
from partage.brokers.stages import StageName
from partage.json_input import check_json
from partage.report import units


class StrategyFigures(PlanFigures, frozen=True):
    """The figures of a strategy's plan, or why the strategy found none (``cannot``)."""

    cannot: str | None = None
    leader_bytes_per_second: tuple[float, float] | None = None
    deterministic: bool | None = None
    gaps: dict[str, float] = msgspec.field(default_factory=dict)
    seconds: float | None = None


class _CompareFile(msgspec.Struct):
    strategies: dict[str, StrategyFigures]
    warnings: list[str] = []


@dataclass(frozen=True)
class Comparison:
    """Figures of the strategies that found a plan, the reasons of the others, and the warnings that
    concern all."""

    plans: dict[str, StrategyFigures]
    cannot: dict[str, str]
    warnings: list[str]


def comparison_of(compare: Mapping[str, Any], where: str = COMPARE) -> Comparison:
    """The output of ``partage compare --json``. Raises InputError for anything else."""
    file = check_json(compare, _CompareFile, where)
    strategies = file.strategies
    return Comparison(
        plans={name: row for name, row in strategies.items() if row.cannot is None},
        cannot={name: row.cannot for name, row in strategies.items() if row.cannot is not None},
        warnings=file.warnings,
    )


@dataclass(frozen=True)
class Column:
    """A criterion: its group, its name, a short name for the terminal, its place among those that
    a narrow table shows (1: the first), the text of a row, its rank, and what the short name means
    (empty if obvious).

    ``rank`` (less is better, None: unknown) is missing where less is not better in itself: a plan
    that leaves the brokers uneven needs few moves.
    """

    group: str
    name: str
    short: str
    place: int
    text: Callable[[StrategyFigures], str]
    rank: Callable[[StrategyFigures], float | None] = lambda row: None
    means: str = ""

    def best(self, rows: Iterable[StrategyFigures]) -> float | None:
        """The least rank; None where all ranks are equal, so that no row is the best."""
        known = {rank for row in rows if (rank := self.rank(row)) is not None}
        return min(known) if len(known) > 1 else None


def columns(rows: Iterable[StrategyFigures]) -> list[tuple[str, list[Column]]]:
    """The groups with those columns that have a value in some row."""
    known = list(rows)
    shown = [c for c in COLUMNS if any(c.text(row) != units.MISSING for row in known)]
    found = ((group, [c for c in shown if c.group == group]) for group in GROUPS)
    return [(group, part) for group, part in found if part]


def legend(shown: Iterable[Column]) -> str:
    """What the short names of these columns mean, in one sentence."""
    text = "; ".join(column.means for column in shown if column.means)
    return text and f"{text[:1].upper()}{text[1:]}."


def nearly_optimal(plans: Mapping[str, StrategyFigures]) -> list[str]:
    """For each plan that is optimal except some stages: its strategy, and which."""
    return [
        f"{name}: {optimality(row.optimal, row.gaps)}"
        for name, row in plans.items()
        if row.optimal and row.gaps
    ]


def _over(value: int | None, bound: int | None) -> str:
    """``25/24``: a value over its lower bound, if known."""
    return units.count(value) if bound is None else f"{units.count(value)}/{units.count(bound)}"


def _breaks_racks(row: StrategyFigures) -> bool:
    """Whether a plan leaves rack violations that a proven one does not have to."""
    return bool(row.rack_violations) and not row.optimal


def _moves_bound(row: StrategyFigures) -> int | None:
    """The fewest moves of any fairest placement; None for a plan with another placement."""
    is_other = _breaks_racks(row) or StageName.REPLICAS in row.gaps
    return None if is_other else row.moves_lower_bound


def _failure(figures: FailureFigures | None) -> str:
    return units.MISSING if figures is None else _over(figures.max, figures.ideal)


def _worst(figures: FailureFigures | None) -> int | None:
    return None if figures is None else figures.max


def _offline(row: StrategyFigures) -> int | None:
    figures = row.leaders_after_rack_failure
    return None if figures is None else figures.offline


def _led(row: StrategyFigures) -> str:
    """What the brokers lead: rates if the plans balance them, counts otherwise."""
    if row.leader_bytes_per_second is None:
        return units.span(row.leaders_per_broker)
    return units.scaled_span(*row.leader_bytes_per_second, units.common_rate)


def _unevenly_led(row: StrategyFigures) -> float | None:
    """The rate of the busiest broker; of counts the difference, as their sum is the same."""
    if row.leader_bytes_per_second is None:
        return _difference(row.leaders_per_broker)
    return row.leader_bytes_per_second[1]


def _difference(pair: tuple[int, int] | None) -> int | None:
    return None if pair is None else pair[1] - pair[0]


def _yes(value: bool | None) -> str:
    return units.MISSING if value is None else units.plain(value)


def _no_rank(value: bool | None) -> float | None:
    return None if value is None else float(not value)


def _span(name: str) -> Callable[[StrategyFigures], str]:
    """The lowest and the highest broker of a load, in % of the fair share."""

    def text(row: StrategyFigures) -> str:
        load = row.resources.get(name)
        if load is None or not load.fair:
            return units.MISSING
        return "–".join(units.of_fair(end, load.fair) for end in (load.min, load.max))

    return text


def _highest(name: str) -> Callable[[StrategyFigures], float | None]:
    return lambda row: row.resources[name].max if name in row.resources else None


def _load(name: str, words: str, short: str, means: str = "") -> Column:
    """Where all of its places are the same, the first loads are shown first."""
    return Column(LOADS, words, short, 5, _span(name), _highest(name), means)


def _survivor(row: StrategyFigures) -> str:
    load = row.resources.get("out")
    if load is None or load.after_failure is None or not load.fair:
        return units.MISSING
    ends = (load.after_failure.max, load.after_failure.bound)
    return "/".join(units.of_fair(end, load.fair) for end in ends)


def _worst_out(row: StrategyFigures) -> float | None:
    load = row.resources.get("out")
    return None if load is None or load.after_failure is None else load.after_failure.max


GROUPS = PLACEMENT, LOADS, LEADERS = (
    "placement and moves",
    "loads of the brokers, in % of the fair share",
    "leaders, failures and repeated runs",
)

COLUMNS: tuple[Column, ...] = (
    Column(
        PLACEMENT,
        "replicas per broker",
        "replicas",
        1,
        lambda row: units.span(row.replicas_per_broker),
        lambda row: _difference(row.replicas_per_broker),
    ),
    Column(
        PLACEMENT,
        "bytes, fullest / mean broker",
        "bytes\nmax/\nmean",
        11,
        lambda row: units.decimal(row.bytes_max_over_mean),
        lambda row: row.bytes_max_over_mean,
    ),
    Column(
        PLACEMENT,
        "topic spread",
        "topic\nspread",
        10,
        lambda row: units.count(row.topic_spread),
        lambda row: row.topic_spread,
        means="topic spread: the largest difference between two brokers in replicas of one topic",
    ),
    Column(
        PLACEMENT,
        "rack violations",
        "rack\nviola-\ntions",
        3,
        lambda row: f"{'✗ ' * _breaks_racks(row)}{units.count(row.rack_violations)}",
        lambda row: row.rack_violations,
    ),
    Column(
        PLACEMENT,
        "moves / lower bound",
        "moves\n/bound",
        4,
        lambda row: _over(row.moves, _moves_bound(row)),
        means="✗: breaks the rack rule; bound: proven lower bound on the moves to the "
        "fairest placement, not shown for other placements, and on the waves for these moves",
    ),
    Column(
        PLACEMENT,
        "replicas deleted",
        "deleted",
        8,
        lambda row: units.count(row.replicas_deleted),
        means="deleted: replicas that are not replaced",
    ),
    Column(PLACEMENT, "bytes to copy", "to\ncopy", 5, lambda row: units.size(row.bytes_moved)),
    Column(
        PLACEMENT,
        "waves / lower bound",
        "waves\n/bound",
        9,
        lambda row: _over(row.waves, row.waves_lower_bound),
    ),
    _load(
        "disk",
        "disk",
        "disk %",
        "disk, in, out, leader in: lowest and highest broker in % of the fair share",
    ),
    _load("out", "bytes out", "out %"),
    _load("in", "bytes in", "in %"),
    _load("leader_in", "leader bytes in", "leader\nin %"),
    Column(
        LOADS,
        "bytes out, broker down / lower bound",
        "out %\nbroker\ndown",
        7,
        _survivor,
        _worst_out,
    ),
    Column(
        LEADERS,
        "leaders per broker",
        "leaders",
        2,
        _led,
        _unevenly_led,
    ),
    Column(
        LEADERS,
        "leader changes",
        "leader\nchanges",
        12,
        lambda row: units.count(row.leader_changes),
    ),
    Column(
        LEADERS,
        "broker down / lower bound",
        "broker\ndown\n/bound",
        6,
        lambda row: _failure(row.leaders_after_failure),
        lambda row: _worst(row.leaders_after_failure),
        means="broker down: leaders of the worst survivor after any one broker fails",
    ),
    Column(
        LEADERS,
        "rack down / lower bound",
        "rack\ndown\n/bound",
        8,
        lambda row: _failure(row.leaders_after_rack_failure),
        lambda row: _worst(row.leaders_after_rack_failure),
        means="rack down: the same after any one rack fails",
    ),
    Column(
        LEADERS,
        "offline",
        "offline",
        15,
        lambda row: units.count(_offline(row)),
        _offline,
        means="offline: partitions without a live replica after a rack fails",
    ),
    Column(
        LEADERS,
        "deterministic",
        "deter-\nminis-\ntic",
        16,
        lambda row: _yes(row.deterministic),
        lambda row: _no_rank(row.deterministic),
        means="deterministic: the same bytes from shuffled input",
    ),
    Column(
        LEADERS,
        "stable",
        "stable",
        14,
        lambda row: _yes(row.settled),
        lambda row: _no_rank(row.settled),
        means="stable: a second run changes nothing",
    ),
    Column(
        LEADERS,
        "optimal",
        "opti-\nmal",
        7,
        lambda row: "nearly" if row.optimal and row.gaps else _yes(row.optimal),
        lambda row: _no_rank(row.optimal),
        means="optimal: every exact stage meets its bound",
    ),
    Column(LEADERS, "time", "time", 13, lambda row: units.duration(row.seconds)),
)
