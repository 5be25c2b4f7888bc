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
    "joins",
    "tool",
    "seconds",
    "÷ partage",
    "moves",
    "loads",
    "topic spread",
]
ROUND_NAMES = {"fresh": "first join", "own": "change, own start", "common": "change, same start"}
TARGETS = {"1M": 1, "1M-odd": 1, "50k-never": 3, "50k-random": 3, "200k-classes": 3}
"""Most seconds that partage should take for any job of a shape."""


def blocks(results: Json) -> dict[str, str]:
    """The tables and the targets by name."""
    found = {"assignors, targets": "\n".join(_targets(results))}
    if "quality" in results:
        lines = [
            _quality_line(when, tool, row)
            for when in ROUNDS
            for tool, row in results["quality"][when].items()
        ]
        found["assignors, quality"] = (
            f"{results['groups']} random groups:\n\n{table(QUALITY_HEAD, lines, 2)}"
        )
    timed = [
        _seconds_line(name, job, tool, figures[job], tools[OURS][job])
        for name, tools in results["seconds"].items()
        for job in JOBS
        for tool, figures in tools.items()
    ]
    if timed:
        found["assignors, seconds"] = table(SECONDS_HEAD, timed, 3)
    return found


def _quality_line(when: str, tool: str, row: Json) -> list[str]:
    fair = row["answers"] - row["faults"] - row["unfair"]
    moves, least = row["moves"], row["least moves"]
    return [
        ROUND_NAMES[when],
        tool,
        str(row["faults"]),
        str(row["unfair"]),
        str(row["more moves"]) if when != "fresh" else "",
        f"{moves / least:.3f}" if least and when != "fresh" else "",
        f"{row['spread'] / fair:.2f}" if fair else "–",
        f"{row['squares'] / row['least squares']:.3f}" if row["least squares"] else "–",
    ]


def _seconds_line(name: str, job: str, tool: str, figures: Json, mine: Json) -> list[str]:
    if "seconds" not in figures:
        over = f"> {figures['limit'] / mine['seconds']:,.0f}" if "limit" in figures else ""
        return [name, job, tool, figures["problem"], over, *[""] * 3]
    start = [name, job, tool, digits(figures["seconds"])]
    start += [f"{figures['seconds'] / mine['seconds']:,.1f}"]
    if "problem" in figures:
        return [*start, figures["problem"], "", ""]
    least, most = figures["loads"]
    return [*start, f"{figures['moves']:,}", f"{least}–{most}", str(figures["spread"])]


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
    for name, limit in TARGETS.items():
        if name in results["seconds"]:
            most = max(figures["seconds"] for figures in results["seconds"][name][OURS].values())
            lines.append(
                judged(f"{name}: partage within {limit} s", most <= limit, f"{most:.2f} s at most")
            )
    return lines


def wrong(row: Json) -> bool:
    """Whether any of partage's answers is invalid or not optimal."""
    return any(row[what] for what in ("faults", "unfair", "more moves", "more even than partage"))
