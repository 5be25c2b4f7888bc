"""The figures of ``article.py`` as Markdown: a table per job, trials, permutation, claims."""

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
"""By strategy: its figures, as ``compare --json`` prints them."""

SIZES = ("small", "middle", "large")
FACTOR, PER_BROKER = 3, 30
"""Replication factor; partitions per broker in the measurement of permutation."""

CRITERIA = (
    *("replicas per broker", "bytes, fullest / mean broker", "rack violations"),
    *("moves / lower bound", "leaders per broker", "broker down / lower bound"),
)
"""Columns for the survey's criteria. Determinism is left out: it is "yes" everywhere. Plans that
are not stable are named below."""


@dataclass
class Tally:
    """Number of trials in which a strategy found a plan, and how often the plan was optimal.

    - ``answers``: trials with a plan
    - ``replicas``: replicas per broker differ by at most one
    - ``moves``: and the moves equal the lower bound
    - ``leaders``: leaders per broker differ by at most one
    - ``led``: leaders are the most even that the strategy's replica sets allow
    - ``failure``: even leaders, and the worst survivor is no worse than that of ``exact``
    - ``settled``: a second run changes nothing
    - ``widest``: the largest difference of replicas per broker in any trial
    """

    answers: int = 0
    replicas: int = 0
    moves: int = 0
    leaders: int = 0
    led: int = 0
    failure: int = 0
    settled: int = 0
    widest: int = 0


def blocks(figures: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    """All blocks by name; the claims only if everything they depend on was measured."""
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
    """The table of one job, and below it strategies without a plan or a stable one."""
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
    moving = [f"`{name}`" for name, row in comparison.plans.items() if not row.settled]
    found = [("No plan", cannot), ("Not stable", moving)]
    below = " ".join(f"{what}: {', '.join(names)}." for what, names in found if names)
    return f"{text}\n\n{below}" if below else text


def _trials(trials: Mapping[str, Tally]) -> str:
    return table(
        (
            *("strategy", "answers", "replicas even", "and fewest moves", "leaders even"),
            *("most even for its replica sets", "even, worst survivor as `exact`", "stable"),
            "largest difference of replicas",
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
