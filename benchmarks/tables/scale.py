"""The figures of ``scale.py`` as Markdown: a table, and an estimate for a trillion records."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tables.markdown import table

Json = Mapping[str, Any]

TRILLION, CORES = 10**12, 1000
MEMORY = 4 * 10**9
"""Bytes of memory per core that the estimate compares with."""

ENOUGH = 10_000_000
"""With fewer records, start-up takes most of the time."""

HEAD = [
    "keys",
    "records",
    "files",
    "executors",
    "s",
    "processor s per M records",
    "shuffled bytes per record",
    "most rows of a task ÷ median",
]


def blocks(runs: Mapping[str, Json]) -> dict[str, str]:
    """The blocks ``scale`` and ``scale, estimate``; ``runs`` by name."""
    ordered = sorted(
        runs.values(),
        key=lambda run: (run["files"], run["kind"] != "zipf", run["records"], run["executors"]),
    )
    return {
        "scale": table(HEAD, [_line(run) for run in ordered], 1),
        "scale, estimate": estimate(ordered),
    }


def estimate(runs: list[Json]) -> str:
    """The largest run with as many executors as there were, multiplied."""
    grown = [run for run in runs if run["kind"] == "zipf" and not run["files"]]
    run = max(grown, key=lambda run: (run["records"], run["executors"]))
    per_record = run["processor_seconds"] / run["records"]
    shuffled = run["shuffled_bytes"] / run["records"]
    per_core = shuffled * TRILLION / CORES
    lines = [
        f"From {run['records']:,} records on {run['executors']} executors to 10¹² records on "
        f"{CORES:,} cores, if every figure grows with the records:",
        "",
        f"- {per_record * 1e6:.2f} s of a processor per million records: "
        f"{per_record * TRILLION / CORES / 60:,.0f} minutes.",
        f"- {shuffled:.2f} bytes shuffled per record: {shuffled * TRILLION / 1e12:,.1f} TB, "
        f"{per_core / 1e9:,.1f} GB per core.",
        f"- {run['placements'] / run['records'] * TRILLION:,.0f} distinct keys of partitions are "
        "grouped and cached.",
    ]
    alone = [one for one in grown if one["records"] == run["records"] and one["executors"] == 1]
    if alone and run["executors"] > 1:
        faster = alone[0]["profile_seconds"] / run["profile_seconds"]
        lines.append(f"- {run['executors']} executors had {faster:.2f} times the speed of one.")
    for small in (one for one in runs if one["files"]):
        each = small["processor_seconds"] / small["files"]
        lines.append(
            f"- {small['files']:,} small files: {each * 1000:,.0f} ms of a processor each."
        )
    if run["records"] < ENOUGH:
        lines.append("- Start-up takes most of the time with so few records: an upper bound.")
    breaks = (
        f"With 4 GB of memory per core the first to break is memory: {per_core / 1e9:,.1f} GB "
        "of shuffled rows per core do not fit, so they and the cached keys go to local disks, "
        "which need as much space."
        if per_core > MEMORY
        else f"Shuffled rows, {per_core / 1e9:,.1f} GB per core, fit into 4 GB of memory per core."
    )
    return "\n".join([*lines, "", breaks])


def _line(run: Json) -> list[str]:
    per = run["processor_seconds"] / run["records"] * 1e6 if run["processor_seconds"] else None
    return [
        run["kind"],
        f"{run['records']:,}",
        f"{run['files']:,}" if run["files"] else "large",
        str(run["executors"]),
        f"{run['profile_seconds']:.1f}",
        f"{per:.2f}" if per else "–",
        f"{run['shuffled_bytes'] / run['records']:.2f}",
        f"{run['skew']:.2f}",
    ]
