"""What ``assignors.py`` measured, as Markdown: what answers are worth, seconds, what was aimed at.

``results`` has ``worth``, by round and tool, of how many ``groups``, and ``seconds``, by shape,
tool and job.
"""

from __future__ import annotations

from typing import Any

from tables.markdown import judged, table

Json = dict[str, Any]

OURS = "partage"
ROUNDS = ("fresh", "own", "common")
JOBS = ("fresh", "one left", "one joined")

WORTH_HEAD = [
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
ROUND_NAMES = {"fresh": "fresh", "own": "then, from its own", "common": "then, from the same"}
TARGETS = {"1M": 1, "1M-odd": 1, "50k-never": 3, "50k-random": 3, "200k-classes": 3}
"""Seconds that partage may take for each of the jobs."""


def blocks(results: Json) -> dict[str, str]:
    """The tables by name, and what was aimed at."""
    found = {"assignors, targets": "\n".join(_targets(results))}
    if "worth" in results:
        lines = [
            _worth_line(when, tool, row)
            for when in ROUNDS
            for tool, row in results["worth"][when].items()
        ]
        found["assignors, worth"] = (
            f"Of {results['groups']} groups:\n\n{table(WORTH_HEAD, lines, 2)}"
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


def _worth_line(when: str, tool: str, row: Json) -> list[str]:
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
    if "worth" in results:
        rows = [results["worth"][when] for when in ROUNDS]
        lines.append(
            judged(
                "partage's answers have no fault, the fairest loads, and no more moves than any "
                "other that is as fair",
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
    """Whether some answer was not as good as it must be."""
    return any(row[what] for what in ("faults", "unfair", "more moves", "more even than partage"))
