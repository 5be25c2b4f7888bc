"""What ``pipeline.py`` measured, as Markdown: tables, slopes, promises, and a trillion on paper."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from tables.markdown import judged, table

Json = dict[str, Any]

LEAST_HASHING = 0.85
"""Of the rate of a function that does nothing."""

MOST_PROFILE = 3.0
"""Times the seconds of a plain scan."""

FEWEST = 10_000_000
"""Records by which that is judged, or more: with fewer, most of the time goes into starting."""

MOST_MEMORY = 1.25
"""Times the peak for records whose keys are even."""

PASSES = 3
"""So often a profile reads Parquet."""

TRILLION = 10**12
CORES = 1000

HASHING_HEAD = ["hash", "M rows a second", "doing nothing", "share"]
SKEW_HEAD = ["keys", "profile s", "keys s", "distinct keys", "keys hashed", "peak MB", "÷ even"]
PROFILE_HEAD = [
    "records",
    "executors",
    "profile s",
    "s per M",
    "plain scan s",
    "profile ÷ plain",
    "peak MB",
]
SLOPE_HEAD = ["executors", "records", "slope"]


def blocks(results: Json) -> dict[str, str]:
    """Everything by name. ``results`` is what ``pipeline.latest`` makes of the figures."""
    found = slopes(results["profile"])
    lines = [_slope_line(results["profile"], *row) for row in found.items()]
    hashing = [_hashing_line(*row) for row in _hashes(results).items()]
    skew = _skew_lines(results["skewed"]["kinds"])
    timed = [_profile_line(run) for run in results["profile"]]
    return {
        "pipeline, hashing": (
            f"{results['hashing']['rows']:,} keys:\n\n{table(HASHING_HEAD, hashing, 1)}"
        ),
        "pipeline, skew": (
            f"{results['skewed']['records']:,} records:\n\n{table(SKEW_HEAD, skew, 1)}"
        ),
        "pipeline, time": table(PROFILE_HEAD, timed, 0),
        "pipeline, slopes": table(SLOPE_HEAD, lines, 0) if lines else "",
        "pipeline, on paper": on_paper(results),
        "pipeline, targets": "\n".join(judged(*promise) for promise in promises(results)),
    }


def slope(points: Sequence[tuple[float, float]]) -> float:
    """The exponent e of seconds ≈ c·recordsᵉ: least squares through the logarithms of (records,
    seconds), of two numbers of records or more."""
    x = [math.log(records) for records, _ in points]
    y = [math.log(seconds) for _, seconds in points]
    mean_x, mean_y = sum(x) / len(x), sum(y) / len(y)
    across = sum((a - mean_x) * (b - mean_y) for a, b in zip(x, y, strict=True))
    return across / sum((a - mean_x) ** 2 for a in x)


def slopes(runs: Sequence[Json]) -> dict[int, float]:
    """By executors, where there are two numbers of records or more."""
    points: dict[int, list[tuple[float, float]]] = {}
    for run in runs:
        points.setdefault(run["executors"], []).append((run["records"], run["profile_seconds"]))
    return {executors: slope(own) for executors, own in points.items() if len(own) > 1}


def promises(results: Json) -> list[tuple[str, bool | None, str]]:
    """What was promised, whether it holds (None: not to be judged here), and the figures."""
    share = {name: rates["hashing"] / rates["nothing"] for name, rates in _hashes(results).items()}
    kinds = results["skewed"]["kinds"]
    hashed = sum(kind["hashed_keys"] for kind in kinds.values())
    distinct = sum(kind["distinct_keys"] for kind in kinds.values())
    keyed = sum(kind["keyed_records"] for kind in kinds.values())
    beside = [run for run in results["profile"] if "plain_seconds" in run]
    largest = max(beside, key=lambda run: (run["records"], run["executors"]))
    ratio = largest["profile_seconds"] / largest["plain_seconds"]
    hot, even = kinds["hot"]["peak_bytes"], kinds["even"]["peak_bytes"]
    memory = hot / even if hot and even else None
    return [
        (
            f"murmur2 at {LEAST_HASHING:.0%} of the rate of a function that does nothing, or more",
            share["murmur2"] >= LEAST_HASHING,
            f"{share['murmur2']:.0%}; all hashes at once {share['all']:.0%}",
        ),
        (
            "what-ifs hash distinct keys only",
            hashed == distinct,
            f"{hashed:,} of {distinct:,}, of {keyed:,} records with a key",
        ),
        (
            f"a profile within {MOST_PROFILE:g} times a plain scan with the same groupings",
            ratio <= MOST_PROFILE if largest["records"] >= FEWEST else None,
            f"{ratio:.2f} at {largest['records']:,} records",
        ),
        (
            f"with half of the records on one key, memory within {MOST_MEMORY:g} times",
            None if memory is None else memory <= MOST_MEMORY,
            "no figure" if memory is None else f"{memory:.2f}",
        ),
    ]


def on_paper(results: Json) -> str:
    """What the largest run means for a trillion records."""
    run = max(results["profile"], key=lambda run: (run["records"], run["executors"]))
    records, seconds, executors = run["records"], run["profile_seconds"], run["executors"]
    exponent = max(1.0, slopes(results["profile"]).get(executors, 1.0))
    per_core = records / executors
    linear = TRILLION / (records / seconds) * executors / CORES
    more = (TRILLION / CORES / per_core) ** (exponent - 1)
    read = PASSES * run["file_bytes"] / records * TRILLION
    shuffled = run["placements"] / records * TRILLION
    return (
        f"On paper, 10¹² records: of {records:,} records on {executors} executors, each profiles "
        f"{per_core / seconds / 1e6:.2f} M a second. {CORES:,} such cores would take "
        f"{_duration(linear)} if time grows as the records do. If it keeps the slope of "
        f"{exponent:.2f} (one below 1 is the cost of starting, and counts as 1) from "
        f"{per_core:,.0f} records a core to {TRILLION // CORES:,}, they take "
        f"{_duration(linear * more)}. In {PASSES} passes (windows, keys, rejected rows) that is "
        f"{read / 1e12:,.0f} TB of Parquet, {read / linear / 1e9:,.1f} GB a second. Grouping by "
        f"key shuffles at least {shuffled:,.0f} rows, if there are as many keys for each record as "
        "here. This assumes that storage and network keep up, that cores are as fast as these, and "
        "that none waits for a slow one. A shuffle over a real network, and one that does not fit "
        "into memory, were not measured."
    )


def _hashes(results: Json) -> dict[str, dict[str, float]]:
    return results["hashing"]["rows_per_second"]


def _hashing_line(name: str, rates: dict[str, float]) -> list[str]:
    own, nothing = rates["hashing"], rates["nothing"]
    return [name, f"{own / 1e6:.2f}", f"{nothing / 1e6:.2f}", f"{own / nothing:.0%}"]


def _skew_lines(kinds: dict[str, Json]) -> list[list[str]]:
    even = kinds["even"]["peak_bytes"]
    return [
        [
            name,
            f"{kind['profile_seconds']:.1f}",
            f"{kind['keys_seconds']:.1f}",
            f"{kind['distinct_keys']:,}",
            f"{kind['hashed_keys']:,}",
            _megabytes(kind["peak_bytes"]),
            f"{kind['peak_bytes'] / even:.2f}" if even and kind["peak_bytes"] else "–",
        ]
        for name, kind in kinds.items()
    ]


def _profile_line(run: Json) -> list[str]:
    seconds, plain = run["profile_seconds"], run.get("plain_seconds")
    return [
        f"{run['records']:,}",
        str(run["executors"]),
        f"{seconds:.1f}",
        f"{seconds / run['records'] * 1e6:.2f}",
        f"{plain:.1f}" if plain else "–",
        f"{seconds / plain:.2f}" if plain else "–",
        _megabytes(run["peak_bytes"]),
    ]


def _slope_line(runs: Sequence[Json], executors: int, exponent: float) -> list[str]:
    records = sorted(run["records"] for run in runs if run["executors"] == executors)
    return [str(executors), f"{records[0]:,}–{records[-1]:,}", f"{exponent:.2f}"]


def _megabytes(count: int | None) -> str:
    return f"{count / 1e6:,.0f}" if count else "–"


def _duration(seconds: float) -> str:
    if seconds < 5400:
        return f"{seconds / 60:.0f} minutes"
    return f"{seconds / 3600:.1f} hours" if seconds < 48 * 3600 else f"{seconds / 86400:.1f} days"
