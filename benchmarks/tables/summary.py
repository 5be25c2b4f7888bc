"""partage compared with its best peer, in two tables: plans and assignments.

The best peer by moves has the fewest moves among valid answers that satisfy the rack rule, however
uneven; the best by seconds is the fastest with a valid answer.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tables.markdown import table

Json = dict[str, Any]

OURS = "partage"
PLANS_HEAD = [
    "job",
    "moves",
    "best peer",
    "ratio",
    "replicas",
    "peer's replicas",
    "seconds",
    "fastest peer",
    "ratio",
]
JOINS_HEAD = ["shape", "seconds", "fastest peer", "ratio", "moves", "fewest by a peer"]


def blocks(plans: Mapping[str, Json], joins: Mapping[str, Json]) -> dict[str, str]:
    """``plans``: by job and tool, as ``peers.compared`` returns them. ``joins``: by shape, tool and
    job, as in ``assignors.latest()["seconds"]``."""
    return {
        "summary, plans": table(PLANS_HEAD, [_plan(*row) for row in plans.items()], 1),
        "summary, assignors": table(JOINS_HEAD, [_joins(*row) for row in joins.items()], 1),
    }


def _plan(job: str, tools: Json) -> list[str]:
    mine = tools[OURS]
    able = {
        tool: figures
        for tool, figures in tools.items()
        if tool not in ("before", OURS) and "moves" in figures and not figures["faults"]
    }
    kept = {tool: figures for tool, figures in able.items() if not figures["rack_violations"]}
    fewest = min(kept, key=lambda tool: kept[tool]["moves"], default=None)
    fastest = min(able, key=lambda tool: able[tool]["planner_seconds"], default=None)
    return [
        job,
        f"{mine['moves']:,}",
        f"{kept[fewest]['moves']:,} ({fewest})" if fewest else "–",
        _ratio(mine["moves"], kept[fewest]["moves"] if fewest else None),
        _span(mine["replicas_per_broker"]),
        _span(kept[fewest]["replicas_per_broker"]) if fewest else "–",
        f"{mine['planner_seconds']:.2f}",
        f"{able[fastest]['planner_seconds']:.2f} ({fastest})" if fastest else "–",
        _ratio(mine["planner_seconds"], able[fastest]["planner_seconds"] if fastest else None),
    ]


def _joins(shape: str, tools: Json) -> list[str]:
    """A row: the slowest of each tool's three joins, and the moves of the last two."""
    mine = _slowest(tools[OURS])
    peers = {tool: jobs for tool, jobs in tools.items() if tool != OURS}
    times = {tool: _slowest(jobs) for tool, jobs in peers.items()}
    moves = [_moves(jobs) for jobs in peers.values()]
    finished = {tool: seconds for tool, seconds in times.items() if seconds is not None}
    fastest = min(finished, key=lambda tool: finished[tool], default=None)
    limit = max(
        (f["limit"] for jobs in peers.values() for f in jobs.values() if "limit" in f), default=None
    )
    assert mine is not None
    if fastest:
        peer, ratio = f"{finished[fastest]:.3f} ({fastest})", _ratio(mine, finished[fastest])
    elif limit:
        peer, ratio = f"> {limit:g}", f"< {mine / limit:.3f}"
    else:
        peer, ratio = "–", "–"
    fewest = min((count for count in moves if count is not None), default=None)
    return [
        shape,
        f"{mine:.3f}",
        peer,
        ratio,
        *("–" if count is None else f"{count:,}" for count in (_moves(tools[OURS]), fewest)),
    ]


def _slowest(jobs: Json) -> float | None:
    """Seconds of the slowest join; None if any has no answer."""
    seconds = [figures.get("seconds") for figures in jobs.values()]
    return None if None in seconds else max(seconds)


def _moves(jobs: Json) -> int | None:
    """Moves of the joins after the first; None if any has no valid answer."""
    moves = [figures.get("moves") for job, figures in jobs.items() if job != "fresh"]
    return None if None in moves else sum(moves)


def _ratio(mine: float, theirs: float | None) -> str:
    if theirs is None:
        return "–"
    ratio = mine / theirs
    return f"{ratio:.3f}" if ratio < 1 else f"{ratio:.2f}"


def _span(counts: list[int]) -> str:
    return "–".join(f"{n:,}" for n in counts)
