"""What ``article.py`` measured, as Markdown: a table per job, trials, permutation, the claims."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from claims import Figures, claims_block
from partage.report import units
from partage.report.comparison import COLUMNS, comparison_of
from tables.markdown import table

Row = Mapping[str, Any]
Rows = Mapping[str, Row]
"""What ``compare --json`` says of each strategy."""

SIZES = ("small", "middle", "large")
FACTOR, PER_BROKER = 3, 30
"""Replicas of a partition; partitions for each broker where permutation is measured."""


CRITERIA = (
    *("replicas per broker", "bytes, fullest / mean broker", "rack violations"),
    *("moves / lower bound", "leaders per broker", "broker down / lower bound", "stable"),
)
"""The columns of the comparison that the survey asks for. Determinism is "yes" everywhere."""


@dataclass
class Tally:
    """In how many trials a strategy had an answer, and how often it was as good as can be."""

    answers: int = 0
    replicas: int = 0
    moves: int = 0
    leaders: int = 0
    led: int = 0
    failure: int = 0
    settled: int = 0
    widest: int = 0


def blocks(figures: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    """Everything by name; the claims only where all that they rest on was measured."""
    found = {
        f"{size}, {job}": _criteria(rows)
        for size in SIZES
        for job, rows in figures.get(size, {}).items()
    }
    if "trials" not in figures:
        return found
    trials = {name: Tally(**row) for name, row in figures["trials"].items()}
    growth = {int(brokers): rows for brokers, rows in figures["permutation"].items()}
    found |= {"trials": _trials(trials), "permutation": _growth(growth)}
    if "large" in figures:
        jobs = {(size, job): rows for size in SIZES for job, rows in figures[size].items()}
        storage = figures["by storage"]["middle"]
        found["claims"] = claims_block(Figures(jobs, trials, growth, storage))
    return found


def _criteria(rows: Rows) -> str:
    """The table of one job, and below it the strategies that found no plan."""
    comparison = comparison_of({"strategies": rows})
    by_name = {column.name: column for column in COLUMNS}
    columns = [by_name[name] for name in CRITERIA]
    text = table(
        ["strategy", *(column.name for column in columns)],
        [
            [f"`{name}`", *(column.text(row) for column in columns)]
            for name, row in comparison.plans.items()
        ],
        1,
    )
    cannot = [f"`{name}`" for name in comparison.cannot]
    return f"{text}\n\nNo plan: {', '.join(cannot)}." if cannot else text


def _trials(trials: Mapping[str, Tally]) -> str:
    return table(
        (
            *("strategy", "answers", "replicas even", "and fewest moves", "leaders even"),
            *("as even as its sets allow", "even, and failure as `exact`", "settled"),
            "widest difference of replicas",
        ),
        [
            [
                f"`{name}`",
                *map(str, (t.answers, t.replicas, t.moves, t.leaders, t.led, t.failure)),
                *map(str, (t.settled, t.widest)),
            ]
            for name, t in trials.items()
        ],
        1,
    )


def _growth(growth: Mapping[int, Rows]) -> str:
    return table(
        ("brokers", "replicas", "lower bound", "`exact` moves", "`permutation` moves", "ratio"),
        [
            [
                f"{brokers} + 1",
                units.count(PER_BROKER * brokers * FACTOR),
                units.count(rows["exact"]["moves_lower_bound"]),
                units.count(rows["exact"]["moves"]),
                units.count(rows["permutation"]["moves"]),
                f"{rows['permutation']['moves'] / rows['exact']['moves']:.1f}",
            ]
            for brokers, rows in growth.items()
        ],
        1,
    )
