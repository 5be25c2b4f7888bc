"""The figures of ``broker_assignors.py`` as Markdown, by shape, assignor and job."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tables.markdown import judged, table

Json = dict[str, Any]

OURS = "partage"
JOBS = ("fresh", "one left", "one joined")
HEAD = [
    "partitions",
    "assignor",
    *("everyone joins, ms", "one left", "one joined", "first call"),
    *("loads", "moves of the last two", "near"),
]
TARGETS = ("100k", "100k-different")
"""Shapes of which partage should answer every call within a second."""


def blocks(figures: Mapping[str, Json]) -> dict[str, str]:
    """The table and the targets by name."""
    lines = [
        _line(name, tool, jobs) for name, tools in figures.items() for tool, jobs in tools.items()
    ]
    if not lines:
        return {}
    bad = [name for name, tools in figures.items() if wrong(tools)]
    targets = [
        judged(
            "partage's answers are valid, no less fair than the others' and near their members as "
            "often",
            not bad,
            ", ".join(bad) or f"{len(figures)} groups, {len(JOBS)} joins",
        )
    ]
    if slow := {
        name: max(job["first"] for job in figures[name][OURS].values())
        for name in TARGETS
        if figures.get(name, {}).get(OURS)
    }:
        shown = ", ".join(f"{name} {seconds:.2f} s" for name, seconds in slow.items())
        targets.append(
            judged("partage within 1 s, first calls too", max(slow.values()) <= 1, shown)
        )
    return {
        "broker assignors": table(HEAD, lines, 2),
        "broker assignors, targets": "\n".join(targets),
    }


def _line(name: str, tool: str, jobs: Json) -> list[str]:
    if not jobs:
        return [name, tool, "no answer", *[""] * (len(HEAD) - 3)]
    fresh = jobs["fresh"]
    lowest, highest = fresh["loads"]
    return [
        name,
        tool,
        *(milliseconds(jobs[job]["seconds"]) for job in JOBS),
        milliseconds(fresh["first"]),
        f"{lowest:,}" if lowest == highest else f"{lowest:,}–{highest:,}",
        "/".join(f"{jobs[job]['moves']:,}" for job in JOBS[1:]),
        f"{100 * fresh['near'] // fresh['partitions']} %",
    ]


def milliseconds(seconds: float) -> str:
    value = 1000 * seconds
    return f"{value:.2f}" if value < 10 else f"{value:,.0f}"


def wrong(tools: Json) -> bool:
    """Whether an answer of partage is missing, invalid, less fair than a peer's to the same join of
    everyone, or has fewer partitions near their member."""
    ours = tools.get(OURS)
    if not ours:
        return True
    fresh = ours["fresh"]
    others = [jobs["fresh"] for tool, jobs in tools.items() if tool != OURS and jobs]
    return not all(job["valid"] for job in ours.values()) or any(
        (other["squares"], -other["near"]) < (fresh["squares"], -fresh["near"]) for other in others
    )
