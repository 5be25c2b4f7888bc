"""The figures of ``peers.py`` as Markdown: plans with their costs, partage's stages, targets.

``results`` has by job the figures of the current placement (``before``) and of each tool, as
``peers.measure`` returns them.
"""

from __future__ import annotations

from typing import Any

from tables.markdown import judged, table

Figures = dict[str, Any]

PLAN_HEAD = [
    "job",
    "tool",
    "moves",
    "replicas",
    "leaders",
    "rack violations",
    "topic spread",
    "seconds",
    "",
]

STAGES = ["replicas", "leaders", "proofs", "waves", "the rest"]

STAGE_HEAD = ["job", *STAGES, "whole plan", "reading"]

MOST_SECONDS, MOST_LARGE_SECONDS, MOST_LARGE_BYTES = 10, 60, 4e9
"""Targets: planner time for 100 → 110 brokers; process time and memory for 1,000 brokers."""


def blocks(results: dict[str, Figures]) -> dict[str, str]:
    """The tables and the targets by name."""
    ours = [(job, found["partage"]) for job, found in results.items() if "partage" in found]
    stages = [_spent(job, figures) for job, figures in ours if "moves" in figures]
    return {
        "peers, plans": plans(results),
        "peers, left out": _left_out(results),
        "peers, stages": table(STAGE_HEAD, stages, 1) if stages else "",
        "peers, targets": "\n".join(targets(results)),
    }


def plans(results: dict[str, Figures]) -> str:
    """A row per job and tool."""
    every = [(job, tool, found[tool]) for job, found in results.items() for tool in found]
    return table(PLAN_HEAD, [_plan_line(*row) for row in every], 2)


def _left_out(results: dict[str, Figures]) -> str:
    """Jobs that were not run with some tools."""
    tools = dict.fromkeys(tool for found in results.values() for tool in found)
    missing = {tool: [job for job, found in results.items() if tool not in found] for tool in tools}
    pairs = [f"{tool} on {', '.join(jobs)}" for tool, jobs in missing.items() if jobs]
    return f"Not run: {'; '.join(pairs)}." if pairs else ""


def reads(stage: str) -> bool:
    """Whether the stage only reads input and so does not count as planning."""
    return stage.startswith("read ")


def _plan_line(job: str, tool: str, figures: Figures) -> list[str]:
    if "moves" not in figures:
        return ["", tool, *[""] * 6, figures["problem"]]
    worth = [
        "–".join(f"{n:,}" for n in figures["replicas_per_broker"]),
        "–".join(f"{n:,}" for n in figures["leaders_per_broker"]),
        f"{figures['rack_violations']:,}" if figures["rack_violations"] else "",
        str(figures["topic_spread"]),
    ]
    if tool == "before":
        return [job, "(current)", "", *worth, "", ""]
    note = {None: "", True: "proven", False: "not proven"}[figures.get("optimal")]
    if figures["faults"]:
        note = f"{figures['faults']:,} faulty lists"
    return ["", tool, f"{figures['moves']:,}", *worth, f"{figures['planner_seconds']:.2f}", note]


def _spent(job: str, figures: Figures) -> list[str]:
    """partage's wall seconds by stage."""
    spent = {stage: each["seconds"] for stage, each in figures["stages"].items()}
    reading = sum(seconds for stage, seconds in spent.items() if reads(stage))
    values = [*(spent.get(stage, 0.0) for stage in STAGES), sum(spent.values()) - reading]
    return [job, *(f"{value:.2f}" for value in [*values, reading])]


def targets(results: dict[str, Figures]) -> list[str]:
    """The targets for these jobs, judged by wall time."""
    found = []
    grown = results.get("expansion-110", {})
    ours = grown.get("partage", {})
    if "moves" in ours:
        part, whole = ours["stages"]["replicas"], ours["planner_seconds"]
        whole_cost = f"{whole:.2f} s"
        found.append(
            judged(
                f"100 → 110 brokers: whole plan, proven, within {MOST_SECONDS} s",
                whole <= MOST_SECONDS and ours["optimal"],
                whole_cost,
            )
        )
        for tool, figures in grown.items():
            if tool in ("before", "partage") or not figures.keys() & {"moves", "limit"}:
                continue
            theirs = figures.get("planner_seconds", figures.get("limit"))
            peer_cost = f"{tool} > {theirs:g} s"
            if "moves" in figures:
                peer_cost = f"{tool} {theirs:.2f} s"
            if tool.startswith("bubuku"):
                what = f"replica stage no slower than {tool}"
                holds = part["seconds"] <= theirs
                own_cost = f"{part['seconds']:.2f} s"
            else:
                what, holds, own_cost = f"all stages faster than {tool}", whole < theirs, whole_cost
            found.append(judged(f"100 → 110 brokers: {what}", holds, f"{own_cost}; {peer_cost}"))
    large = results.get("expansion-1000", {}).get("partage", {})
    if "moves" in large:
        seconds, peak = large["process_seconds"], large["peak_bytes"]
        proven = "proven" if large["optimal"] else "not proven"
        found.append(
            judged(
                f"1,000 brokers, 200,000 partitions: proven within {MOST_LARGE_SECONDS} s and 4 GB",
                large["optimal"] and seconds <= MOST_LARGE_SECONDS and peak <= MOST_LARGE_BYTES,
                f"{proven}, {seconds:.2f} s, {peak / 1e9:.2f} GB",
            )
        )
    return found
