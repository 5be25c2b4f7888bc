"""The figures of ``load.py`` as Markdown: plans, Cruise Control's figures, targets.

``results`` has by job the figures of the current placement (``before``) and of each tool, as
``load.measure`` returns them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tables.markdown import judged, table

Figures = dict[str, Any]

TOLERANCES = ("10%", "2%")
OURS = "partage --balance load"

HEAD = [
    "job",
    "tool",
    "moves",
    "TB",
    "÷ bound",
    "replicas",
    "leaders",
    "disk",
    "in",
    "out",
    "leader in",
    "outside, %",
    "racks",
    "survivor",
    "survivor out",
    "CPU s",
    "peak MB",
]

MOST = {"30": 5, "100": 30, "900": 300}
"""Target seconds of CPU by job; shapes of the same cluster have the same."""

MOST_BYTES, MOST_RATIO = 4e9, 1.02

CRUISE_CONTROL = {
    "30": {"moves": 2522, "bytes": 4.97e12, "default": 5.38e12, "disk": "0.82–1.07"},
    "100": {"moves": 14539, "bytes": 69.3e12, "default": None, "disk": "0.87–1.05"},
}
"""Its analyzer with default goals on clusters with as many brokers, partitions and topics, but
other sizes; ``default``: the bytes of partage's default plan there. Measured once, not here."""

_CRUISE_HEAD = ["job", "tool", "moves", "TB", "TB ÷ partage's default", "disk"]


def named(tool: str, tolerance: str) -> str:
    """The name of a tool with a tolerance."""
    return f"{tool}, {tolerance.replace('%', ' %')}"


def blocks(results: dict[str, Figures]) -> dict[str, str]:
    """The tables and the targets by name."""
    lines = [line for job, tools in results.items() for line in _lines(job, tools)]
    return {
        "load, plans": table(HEAD, lines, 2),
        "load, cruise control": _cruise_control(results),
        "load, targets": "\n".join(targets(results)),
    }


def _bound(tool: str, tools: Figures) -> int | None:
    """The bound on bytes for the bands that the tool's answer is judged by."""
    tolerance = next((t for t in TOLERANCES if tool == named(tool.rpartition(", ")[0], t)), None)
    ours = tools.get(named(OURS, tolerance or TOLERANCES[0]), {})
    bound: int | None = ours.get("bytes_lower_bound")
    return bound


def _avoidable(figures: Figures) -> float:
    """How far a broker is outside a band that its largest partition fits into."""
    return float(figures.get("avoidable", figures["outside"]))


def _ratio(tool: str, tools: Figures) -> float | None:
    """The bytes moved divided by the bound, if the answer keeps the bands that this is for."""
    figures, bound = tools[tool], _bound(tool, tools)
    if _avoidable(figures) or not bound:
        return None
    return float(figures["bytes_moved"] / bound)


def _lines(job: str, tools: Figures) -> Iterator[list[str]]:
    for tool, figures in tools.items():
        if "loads" not in figures:
            yield ["", tool, *[""] * 14, figures["problem"]]
            continue
        loads = ["–".join(f"{end:.2f}" for end in ends) for ends in figures["loads"].values()]
        after = [f"{figures['survivor']:,.0f}", f"{figures['survivor_out']:.2f}"]
        outside = f"{100 * figures['outside']:.1f}" if figures["outside"] else ""
        if tool == "before":
            yield [job, "(current)", "", "", "", *loads, outside, "", *after, "", ""]
            continue
        ratio = _ratio(tool, tools)
        yield [
            "",
            tool,
            f"{figures['moves']:,}",
            f"{figures['bytes_moved'] / 1e12:.2f}",
            f"{ratio:.3f}" if ratio else "",
            *loads,
            outside,
            f"{figures['rack_violations']:,}" if figures["rack_violations"] else "",
            *after,
            f"{figures['process_cpu_seconds']:.1f}",
            f"{figures['peak_bytes'] / 1e6:,.0f}",
        ]


def _cruise_control(results: dict[str, Figures]) -> str:
    """Its figures, and below them partage's within the ranges that its plans leave."""
    lines = []
    for job, theirs in CRUISE_CONTROL.items():
        share = f"{theirs['bytes'] / theirs['default']:.2f}" if theirs["default"] else ""
        terabytes = f"{theirs['bytes'] / 1e12:.2f}"
        lines.append(
            [job, "Cruise Control", f"{theirs['moves']:,}", terabytes, share, theirs["disk"]]
        )
        tools = results.get(job, {})
        default = tools.get("partage", {}).get("bytes_moved")
        for tool in ("partage, as even as Cruise Control", named(OURS, TOLERANCES[0])):
            figures = tools.get(tool, {})
            if "loads" not in figures:
                continue
            lines.append(
                [
                    "",
                    tool,
                    f"{figures['moves']:,}",
                    f"{figures['bytes_moved'] / 1e12:.2f}",
                    f"{figures['bytes_moved'] / default:.2f}" if default else "",
                    "–".join(f"{end:.2f}" for end in figures["loads"]["disk"]),
                ]
            )
    return table(_CRUISE_HEAD, lines, 2)


def targets(results: dict[str, Figures]) -> list[str]:
    """The targets of ``--balance load``."""
    found = []
    for tolerance in TOLERANCES:
        tool = named(OURS, tolerance)
        ours = {job: tools for job, tools in results.items() if "loads" in tools.get(tool, {})}
        if not ours:
            continue
        found.append(_in_bands(tool, {job: tools[tool] for job, tools in ours.items()}))
        ratios = {job: _ratio(tool, tools) for job, tools in ours.items()}
        known = {job: ratio for job, ratio in ratios.items() if ratio is not None}
        if known:
            worst = max(known, key=lambda job: known[job])
            found.append(
                judged(
                    f"{tool}: at most {MOST_RATIO} times the bound on bytes",
                    known[worst] <= MOST_RATIO,
                    f"{known[worst]:.3f} on {worst}",
                )
            )
        for base, seconds in MOST.items():
            of_base = {job: t[tool] for job, t in ours.items() if job.partition("-")[0] == base}
            if of_base:
                found.append(_cost(tool, base, seconds, of_base))
    return [*found, *_fewer_moves(results)]


def _in_bands(tool: str, ours: dict[str, Figures]) -> str:
    worst = max(ours, key=lambda job: _avoidable(ours[job]))
    outside = _avoidable(ours[worst])
    shown = f"{outside:.1%} outside on {worst}" if outside else f"all {len(ours)} jobs"
    forced = [job for job, figures in ours.items() if figures["outside"] > _avoidable(figures)]
    if forced:
        shown += f", but for brokers of partitions too large for a band on {', '.join(forced)}"
    return judged(f"{tool}: every load in its band", not outside, shown)


def _cost(tool: str, base: str, most: int, of_base: dict[str, Figures]) -> str:
    seconds = max(figures["process_cpu_seconds"] for figures in of_base.values())
    peak = max(figures["peak_bytes"] for figures in of_base.values())
    return judged(
        f"{tool}: the jobs {base} within {most} s of CPU and 4 GB",
        seconds <= most and peak <= MOST_BYTES,
        f"{seconds:.1f} s, {peak / 1e9:.2f} GB",
    )


def _fewer_moves(results: dict[str, Figures]) -> Iterator[str]:
    tool = named(OURS, TOLERANCES[0])
    for job, theirs in CRUISE_CONTROL.items():
        ours = results.get(job, {}).get(tool, {})
        if "loads" not in ours:
            continue
        moves = f"{ours['moves']:,}; Cruise Control {theirs['moves']:,}"
        yield judged(
            f"{job}: no more moves than Cruise Control", ours["moves"] <= theirs["moves"], moves
        )
        default = results[job].get("partage", {}).get("bytes_moved")
        if theirs["default"] and default:
            share, its_share = ours["bytes_moved"] / default, theirs["bytes"] / theirs["default"]
            yield judged(
                f"{job}: a smaller part of the default plan's bytes than Cruise Control",
                share < its_share,
                f"{share:.2f}; Cruise Control {its_share:.2f}",
            )
