"""The figures of ``pipeline.py`` as Markdown: tables, slopes, targets, an extrapolation."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from tables.markdown import judged, table

Json = dict[str, Any]

LEAST_HASHING = 0.85
"""Target: share of the rate of a no-op function."""

MOST_PROFILE, MOST_APPROXIMATE = 1.3, 1.1
"""Targets: multiples of a plain scan, in seconds of processors, or in seconds where these are not
known."""

FEWEST = 10_000_000
"""Fewest records by which that target is judged: with fewer, start-up takes most of the time."""

MOST_MEMORY = 1.25
"""Target: multiple of the peak memory with equally likely keys."""

PASSES = 2
"""How often a profile reads the Parquet files: by window and by key; once more if rows are
rejected."""

TRILLION = 10**12
CORES = 1000

HASHING_HEAD = ["hash", "M rows/s", "no-op, M rows/s", "share"]
PROCESSOR_HEAD = "share of processor time"
"""A column that is shown where processor time was measured."""
SKEW_HEAD = ["keys", "profile s", "keys s", "distinct keys", "keys hashed", "peak MB", "÷ even"]
PROFILE_HEAD = [
    "records",
    "executors",
    "profile s",
    "s per M records",
    "plain scan s",
    "profile ÷ plain",
    "peak MB",
]
APPROXIMATE_HEAD = ["approximate s", "÷ plain"]
"""Columns that are shown where an approximate profile was measured."""
COMPARED_HEAD = [
    "records",
    "executors",
    "profile",
    "approximate",
    "plain scan",
    "profile ÷ plain",
    "approximate ÷ plain",
]
SLOPE_HEAD = ["executors", "records", "slope"]


def blocks(results: Json) -> dict[str, str]:
    """All blocks by name; ``results`` as ``pipeline.latest`` returns them."""
    found = slopes(results["profile"])
    lines = [_slope_line(results["profile"], *row) for row in found.items()]
    processor = results["hashing"].get("rows_per_processor_second", {})
    hashing = [_hashing_line(*row) for row in _hashes(results).items()]
    head = HASHING_HEAD
    if processor:
        head = [*head, PROCESSOR_HEAD]
        hashing = [[*line, _share(processor[line[0]])] for line in hashing]
    skew = _skew_lines(results["skewed"]["kinds"])
    timed = [_profile_line(run) for run in results["profile"]]
    profile_head = PROFILE_HEAD
    if any("approximate_seconds" in run for run in results["profile"]):
        profile_head = [*profile_head, *APPROXIMATE_HEAD]
        timed = [
            [*line, *_approximate(run)] for line, run in zip(timed, results["profile"], strict=True)
        ]
    return {
        "pipeline, hashing": (f"{results['hashing']['rows']:,} keys:\n\n{table(head, hashing, 1)}"),
        "pipeline, skew": (
            f"{results['skewed']['records']:,} records:\n\n{table(SKEW_HEAD, skew, 1)}"
        ),
        "pipeline, time": table(profile_head, timed, 0),
        "pipeline, processor": (
            table(COMPARED_HEAD, [_compared_line(run) for run in results["processor"]], 0)
            if results.get("processor")
            else ""
        ),
        "pipeline, slopes": table(SLOPE_HEAD, lines, 0) if lines else "",
        "pipeline, extrapolation": extrapolation(results),
        "pipeline, targets": "\n".join(judged(*promise) for promise in targets(results)),
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
    """The slope by executors, for those with two numbers of records or more."""
    points: dict[int, list[tuple[float, float]]] = {}
    for run in runs:
        points.setdefault(run["executors"], []).append((run["records"], run["profile_seconds"]))
    return {executors: slope(own) for executors, own in points.items() if len(own) > 1}


def targets(results: Json) -> list[tuple[str, bool | None, str]]:
    """Each target, whether it is met (None: cannot be judged here), and its figures."""
    rates = results["hashing"].get("rows_per_processor_second") or _hashes(results)
    share = {name: own["hashing"] / own["nothing"] for name, own in rates.items()}
    kinds = results["skewed"]["kinds"]
    hashed = sum(kind["hashed_keys"] for kind in kinds.values())
    distinct = sum(kind["distinct_keys"] for kind in kinds.values())
    keyed = sum(kind["keyed_records"] for kind in kinds.values())
    compared = results.get("processor") or [
        {
            "records": run["records"],
            "executors": run["executors"],
            "profile": run["profile_seconds"],
            "plain": run["plain_seconds"],
        }
        for run in results["profile"]
        if "plain_seconds" in run
    ]
    largest = max(compared, key=lambda run: (run["records"], run["executors"]))
    ratio = largest["profile"] / largest["plain"]
    enough = largest["records"] >= FEWEST
    estimated = []
    if "approximate" in largest:
        multiple = largest["approximate"] / largest["plain"]
        text = f"an approximate one takes at most {MOST_APPROXIMATE:g} times as long as that scan"
        reached = multiple <= MOST_APPROXIMATE if enough else None
        estimated.append((text, reached, f"{multiple:.2f}"))
    hot, even = kinds["hot"]["peak_bytes"], kinds["even"]["peak_bytes"]
    memory = hot / even if hot and even else None
    return [
        (
            f"murmur2 reaches at least {LEAST_HASHING:.0%} of the rate of a no-op function",
            share["murmur2"] >= LEAST_HASHING,
            f"{share['murmur2']:.0%}; all hashes at once {share['all']:.0%}",
        ),
        (
            "what-ifs hash only distinct keys",
            hashed == distinct,
            f"{hashed:,} of {distinct:,}, of {keyed:,} records with a key",
        ),
        (
            f"a profile takes at most {MOST_PROFILE:g} times a plain scan with the same groupings",
            ratio <= MOST_PROFILE if enough else None,
            f"{ratio:.2f} at {largest['records']:,} records",
        ),
        *estimated,
        (
            f"with half of the records on one key, memory is at most {MOST_MEMORY:g} times as high",
            None if memory is None else memory <= MOST_MEMORY,
            "no figure" if memory is None else f"{memory:.2f}",
        ),
    ]


def extrapolation(results: Json) -> str:
    """The largest run extrapolated to a trillion records."""
    run = max(results["profile"], key=lambda run: (run["records"], run["executors"]))
    records, seconds, executors = run["records"], run["profile_seconds"], run["executors"]
    exponent = max(1.0, slopes(results["profile"]).get(executors, 1.0))
    per_core = records / executors
    linear = TRILLION / (records / seconds) * executors / CORES
    more = (TRILLION / CORES / per_core) ** (exponent - 1)
    read = PASSES * run["file_bytes"] / records * TRILLION
    shuffled = run["placements"] / records * TRILLION
    return (
        f"Extrapolated from {records:,} records on {executors} executors "
        f"({per_core / seconds / 1e6:.2f} M records/s each) to 10¹² records on {CORES:,} cores:\n\n"
        f"- If time is proportional to records: {_duration(linear)}.\n"
        f"- With the measured slope of {exponent:.2f} from {per_core:,.0f} to "
        f"{TRILLION // CORES:,} records per core: {_duration(linear * more)}. (A slope below 1 is "
        "start-up cost and counts as 1.)\n"
        f"- {PASSES} passes (windows, keys) read {read / 1e12:,.0f} TB of Parquet, "
        f"{read / linear / 1e9:,.1f} GB/s.\n"
        f"- Grouping by key shuffles at least {shuffled:,.0f} rows at this ratio of keys to "
        "records.\n\n"
        "This assumes that storage and network keep up, that cores are as fast as these, and that "
        "there are no stragglers. Shuffles over a real network or larger than memory were not "
        "measured."
    )


def _hashes(results: Json) -> dict[str, dict[str, float]]:
    return results["hashing"]["rows_per_second"]


def _hashing_line(name: str, rates: dict[str, float]) -> list[str]:
    own, nothing = rates["hashing"], rates["nothing"]
    return [name, f"{own / 1e6:.2f}", f"{nothing / 1e6:.2f}", _share(rates)]


def _share(rates: dict[str, float]) -> str:
    """The share of the rate of a no-op function."""
    return f"{rates['hashing'] / rates['nothing']:.0%}"


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


def _compared_line(run: Json) -> list[str]:
    return [
        f"{run['records']:,}",
        str(run["executors"]),
        *(f"{run[what]:.1f}" for what in ("profile", "approximate", "plain")),
        *(f"{run[what] / run['plain']:.2f}" for what in ("profile", "approximate")),
    ]


def _approximate(run: Json) -> list[str]:
    seconds, plain = run.get("approximate_seconds"), run.get("plain_seconds")
    return [
        f"{seconds:.1f}" if seconds else "–",
        f"{seconds / plain:.2f}" if seconds and plain else "–",
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
