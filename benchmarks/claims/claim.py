"""A claim of the survey, the figures that judge it, and their wording."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from partage.report import units

Row = Mapping[str, Any]
Verdict = Literal["confirmed", "in part", "corrected"]

TESTED = True
"""For claims that no figure here decides: ``tests/brokers/test_open_problems.py`` and
``tests/brokers/strategies/test_three_flows.py`` check them."""


@dataclass(frozen=True)
class Claim:
    """One claim of the survey.

    ``text`` is the claim; ``holds`` is whether the figures support the verdict.
    """

    text: str
    measured: str
    verdict: Verdict
    holds: bool


@dataclass(frozen=True)
class Tool:
    """A tool of the survey, the strategy that implements it, and their differences."""

    name: str
    strategy: str
    differs: str
    claims: tuple[Claim, ...]


@dataclass(frozen=True)
class Figures:
    """All figures: ``jobs[size, job][strategy]``, ``trials[strategy]`` (an
    ``tables.article.Tally``), ``growth[brokers][strategy]``, ``storage``: bin-packing by bytes."""

    jobs: Mapping[tuple[str, str], Mapping[str, Row]]
    trials: Mapping[str, Any]
    growth: Mapping[int, Mapping[str, Row]]
    storage: Row

    @property
    def grown(self) -> Mapping[str, Row]:
        """The middle cluster with new brokers, by strategy."""
        return self.jobs["middle", "grown"]

    @property
    def shrunk(self) -> Mapping[str, Row]:
        """The middle cluster without one of its brokers, by strategy."""
        return self.jobs["middle", "shrunk"]

    @property
    def scattered(self) -> Mapping[str, Row]:
        """The middle cluster with random placement, by strategy."""
        return self.jobs["middle", "scattered"]

    @property
    def large(self) -> Mapping[str, Row]:
        """The large cluster with new brokers, by strategy."""
        return self.jobs["large", "grown"]

    @property
    def exact(self) -> Row:
        """The row of ``exact`` for the middle cluster with new brokers."""
        return self.grown["exact"]

    @property
    def answers(self) -> int:
        """The number of trials, all of which the exact strategy solves."""
        return int(self.trials["exact"].answers)


def replicas(row: Row) -> str:
    return units.span(row["replicas_per_broker"])


def leaders(row: Row) -> str:
    return units.span(row["leaders_per_broker"])


def moves(row: Row) -> str:
    return f"{units.count(row['moves'])}/{units.count(row['moves_lower_bound'])}"


def worst(row: Row) -> int:
    return int(row["leaders_after_failure"]["max"])


def width(row: Row, key: str) -> int:
    low, high = row[f"{key}_per_broker"]
    return int(high - low)


def deterministic(figures: Figures, strategy: str, verdict: Verdict = "confirmed") -> Claim:
    """The claim that the same input gives the same output."""
    rows = [rows[strategy] for rows in figures.jobs.values() if "moves" in rows[strategy]]
    tally = figures.trials[strategy]
    return Claim(
        "Is deterministic.",
        f"stable in {tally.settled} of {tally.answers} trials",
        verdict,
        all(row["deterministic"] for row in rows),
    )


def failure(figures: Figures, strategy: str, job: str) -> Claim:
    """The claim that leaders are uneven after a broker failure."""
    rows = figures.jobs["middle", job]
    return Claim(
        "Ignores broker failures.",
        f"middle, {job}: {worst(rows[strategy])} on the worst survivor; `exact`: "
        f"{worst(rows['exact'])}",
        "confirmed",
        worst(rows[strategy]) > worst(rows["exact"]),
    )
