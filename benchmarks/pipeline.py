"""Speed and memory of the Spark pipeline on records generated from a seed.

    python benchmarks/pipeline.py [--size medium] [--records 1M,10M] [--data DIR] [--keep]

*Hashing*: keys from Parquet pass through ``arrow_udf``: murmur2 alone, all hashes of ``partage
keys``, and for each a no-op function that returns as many zeros. *Skew*: a profile and the what-ifs
of ``partage keys``, with equally likely keys and with half of the records on one key; the number of
keys hashed, and the peak memory of Java and Python together. *Time*: a profile of Zipf-like keys by
numbers of records and executors, an approximate one, and a plain SQL scan with the same two
groupings, each with its own code to compile.

Every measurement is a separate process (``records/measures.py``). An executor is one thread of a
local Spark (``local[1]``, ``local[2]``): one task at a time, no network. Hashing and skew use the
largest number of records up to 10 M and two executors. ``--data`` keeps the records for the next
time. The tables go to stdout, progress to stderr; ``--keep`` saves the figures for the page. The
exit code is 1 if a target is not met.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

import machine
import results
from harness import add_arguments, run
from tables.pipeline import blocks, targets

Json = dict[str, Any]

MEASURES = Path(__file__).resolve().parent / "records" / "measures.py"
SIZES = {"small": "100k,1M", "medium": "1M,10M", "large": "1M,10M,50M"}
"""Numbers of records to profile."""
EXECUTORS = (1, 2)
SKEWS = ("even", "hot")
TIMED = "zipf"
COMPARED, PROCESSOR = ("profile", "approximate", "plain"), "_processor_seconds"
"""What is compared by seconds of processors, which do not depend on what else the machine does."""
PEAK = "peak_bytes"
"""The most memory of a measurement."""
MOST_FOR_HASHING = 10_000_000
"""Most records for hashing and skew, which are measured with one number of records."""
MOST_REPEATED = 1_000_000
"""Up to this many records a profile is timed three times, otherwise once."""
ROUNDS = 3
"""How often what the targets judge is measured, in turn; the median counts."""


def measure(records: Sequence[int], data: Path, seed: int) -> Json:
    """All figures by measurement and number of records."""
    records = sorted(records)
    one = max((count for count in records if count <= MOST_FOR_HASHING), default=records[0])
    wanted = [(TIMED, count) for count in records] + [(kind, one) for kind in SKEWS]
    file_bytes = measured("generate", data, seed, wanted=wanted)
    hashing = measured("hashing", data, seed, kind=TIMED, records=one)
    kinds = {kind: measured("skewed", data, seed, kind=kind, records=one) for kind in SKEWS}
    profile, processor = {}, {}
    for count in records:
        for executors in EXECUTORS:
            judged = (count, executors) == (records[-1], EXECUTORS[-1])
            # no target needs the largest plain scan on one executor, which takes long
            largest = count > MOST_FOR_HASHING and executors < EXECUTORS[-1]
            more = {"kind": TIMED, "records": count, "repeat": 3 if count <= MOST_REPEATED else 1}
            rounds = [
                {
                    what: measured("profile", data, seed, executors, **more, what=what)
                    for what in COMPARED
                    if not (what == "plain" and largest)
                }
                for _ in range(ROUNDS if judged else 1)
            ]
            figures = medians(rounds)
            about = {"records": count, "executors": executors}
            size = file_bytes[f"{TIMED}-{count}-seed-{seed}"]
            name = f"{count} on {executors}"
            spent = {what: figures.pop(f"{what}{PROCESSOR}", None) for what in COMPARED}
            if all(spent.values()):
                processor[name] = {**about, **spent}
            profile[name] = {**about, "file_bytes": size, **figures}
    return {
        "hashing": {str(one): hashing},
        "skewed": {str(one): {"records": one, "kinds": kinds}},
        "profile": profile,
        "processor": processor,
    }


def medians(rounds: Sequence[Mapping[str, Json]]) -> Json:
    """The figures of all jobs together: of each the median of its rounds; of all, the peak."""
    found: Json = {}
    for what in rounds[0]:
        of_job = [each[what] for each in rounds]
        found |= {name: median(run[name] for run in of_job) for name in of_job[0].keys() - {PEAK}}
    peaks = [run[PEAK] or 0 for each in rounds for run in each.values()]
    return {**found, PEAK: max(peaks) or None}


def latest(figures: results.Figures) -> Json:
    """The figures for the tables: hashing and skew with most records, profiles in order."""
    return {
        "hashing": _most(figures["hashing"]),
        "skewed": _most(figures["skewed"]),
        "profile": sorted(
            figures["profile"].values(), key=lambda each: (each["records"], each["executors"])
        ),
        "processor": sorted(
            figures.get("processor", {}).values(),
            key=lambda each: (each["records"], each["executors"]),
        ),
    }


def _most(items: Mapping[str, Json]) -> Json:
    return items[max(items, key=int)]


def measured(job: str, data: Path, seed: int, executors: int = 2, **more: Any) -> Json:
    """One measurement. Exits the program if it fails."""
    values = " ".join(f"{value}" for value in more.values() if job != "generate")
    print(f"{job} {values} on {executors} ...", file=sys.stderr, flush=True)
    given = {"job": job, "data": str(data), "seed": seed, "executors": executors, **more}
    with tempfile.TemporaryDirectory() as folder:
        done = run([sys.executable, str(MEASURES), json.dumps(given)], Path(folder))
    if done.code:
        raise SystemExit(f"{job} failed: {done.err.strip()[-2000:]}")
    print(f"  {done.seconds:.0f} s", file=sys.stderr)
    return json.loads(done.out)


def numbers(text: str) -> list[int]:
    """``100k,1M`` → 100,000 and 1,000,000."""
    found = [re.fullmatch(r"([1-9]\d*)([kM]?)", part) for part in text.split(",")]
    if not all(found):
        raise argparse.ArgumentTypeError(f"expected numbers such as 100k,1M, got {text}")
    return sorted({int(one[1]) * {"": 1, "k": 10**3, "M": 10**6}[one[2]] for one in found if one})


def main() -> int:
    parser = argparse.ArgumentParser(description="Measure the Spark pipeline.")
    parser.add_argument(
        "--records", type=numbers, help="numbers of records to profile, such as 100k,1M"
    )
    parser.add_argument(
        "--data", type=Path, help="folder in which to keep the records for the next time"
    )
    add_arguments(parser)
    given = parser.parse_args()
    records = given.records or numbers(SIZES[given.size])
    with tempfile.TemporaryDirectory() as folder:
        data = given.data or Path(folder)
        data.mkdir(parents=True, exist_ok=True)
        figures = measure(records, data.absolute(), given.seed)
    if given.keep:
        versions = machine.versions("Python", "partage", "pyspark", "pyarrow", "pandas", "Java")
        results.keep("pipeline", figures, versions, {"seed": given.seed})
    print("\n\n".join(text for text in blocks(latest(figures)).values() if text))
    return int(any(met is False for _, met, _ in targets(latest(figures))))


if __name__ == "__main__":
    sys.exit(main())
