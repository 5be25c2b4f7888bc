"""The figures of ``assignors.py`` as Markdown: quality, seconds, targets.

``results`` has ``quality`` by round and tool, the number of ``groups`` in it, and ``seconds`` by
shape, tool and job.
"""

from __future__ import annotations

from typing import Any

from tables.markdown import judged, table

Json = dict[str, Any]

OURS = "partage"
ROUNDS = ("fresh", "own", "common")
JOBS = ("fresh", "one left", "one joined")

QUALITY_HEAD = [
    "round",
    "tool",
    "faulty",
    "unfair",
    "more moves",
    "moves ÷ least",
    "topic spread",
    "squares ÷ partage",
]
SECONDS_HEAD = [
    "shape",
    "tool",
    "everyone joins",
    "one left",
    "one joined",
    "moves of the last two",
    "topic spread",
]
ROUND_NAMES = {"fresh": "first join", "own": "change, own start", "common": "change, same start"}
TARGETS = {"1M": 1, "1M-odd": 1, "50k-never": 3, "50k-random": 3, "200k-classes": 3}
"""Most seconds that partage should take for any job of a shape."""


def blocks(results: Json) -> dict[str, str]:
    """The tables and the targets by name."""
    found = {"assignors, targets": "\n".join(_targets(results))}
    if "quality" in results:
        alike: dict[tuple[str, ...], list[str]] = {}
        for when in ROUNDS:
            for tool, row in results["quality"][when].items():
                alike.setdefault(tuple(_quality_line(when, row)), []).append(tool)
        lines = [[when, ", ".join(tools), *rest] for (when, *rest), tools in alike.items()]
        found["assignors, quality"] = (
            f"{results['groups']} random groups:\n\n{table(QUALITY_HEAD, lines, 2)}"
        )
    timed = [
        _seconds_line(name, tool, [figures[job] for job in JOBS])
        for name, tools in results["seconds"].items()
        for tool, figures in tools.items()
    ]
    if timed:
        found["assignors, seconds"] = table(SECONDS_HEAD, timed, 2)
    return found


def _quality_line(when: str, row: Json) -> list[str]:
    fair = row["answers"] - row["faults"] - row["unfair"]
    moves, least = row["moves"], row["least moves"]
    return [
        ROUND_NAMES[when],
        str(row["faults"]),
        str(row["unfair"]),
        str(row["more moves"]) if when != "fresh" else "",
        f"{moves / least:.3f}" if least and when != "fresh" else "",
        f"{row['spread'] / fair:.2f}" if fair else "–",
        f"{row['squares'] / row['least squares']:.3f}" if row["least squares"] else "–",
    ]


def _seconds_line(name: str, tool: str, jobs: list[Json]) -> list[str]:
    """Seconds of each join, or why there are none; moves and topic spread of valid answers."""
    seconds = [digits(job["seconds"]) if "seconds" in job else job["problem"] for job in jobs]
    moves = [f"{job['moves']:,}" if valid(job) else "–" for job in jobs[1:]]
    spread = [str(job["spread"]) if valid(job) else "–" for job in jobs]
    faults = sorted({job["problem"] for job in jobs if "seconds" in job and not valid(job)})
    return [name, tool, *seconds, "; ".join(faults) or "/".join(moves), "/".join(spread)]


def valid(job: Json) -> bool:
    """Whether there was an answer, without faults."""
    return "seconds" in job and "problem" not in job


def digits(seconds: float) -> str:
    return f"{seconds:.3f}" if seconds < 1 else f"{seconds:.2f}"


def _targets(results: Json) -> list[str]:
    lines = []
    if "quality" in results:
        rows = [results["quality"][when] for when in ROUNDS]
        lines.append(
            judged(
                "partage's answers are valid and as fair as possible, and no equally fair answer "
                "has fewer moves",
                not any(wrong(row[OURS]) for row in rows),
                f"{results['groups']} groups, {len(ROUNDS)} rounds",
            )
        )
    for limit in sorted(set(TARGETS.values())):
        most = {
            name: max(figures["seconds"] for figures in results["seconds"][name][OURS].values())
            for name, own in TARGETS.items()
            if own == limit and name in results["seconds"]
        }
        if most:
            shown = ", ".join(f"{name} {seconds:.2f} s" for name, seconds in most.items())
            lines.append(judged(f"partage within {limit} s", max(most.values()) <= limit, shown))
    return lines


def wrong(row: Json) -> bool:
    """Whether any of partage's answers is invalid or not optimal."""
    return any(row[what] for what in ("faults", "unfair", "more moves", "more even than partage"))
