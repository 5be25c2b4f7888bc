"""The speed and the memory of the measurements on Spark, on records made up from a seed.

    python benchmarks/pipeline.py [--records 1M,10M,50M] [--data DIR] [--json FILE]
    python benchmarks/pipeline.py --quick
    python benchmarks/pipeline.py --from FILE --page docs/benchmarks.md

*Hashing*: keys from Parquet through ``arrow_udf``, murmur2 alone and all hashes that ``partage
keys`` takes, each beside a function that gives as many zeros. *Skew*: a profile and the what-ifs of
``partage keys``, with even keys and with half of the records on one; how many keys were hashed, and
the highest memory of Java and Python together. *Time*: a profile of Zipf-like keys by numbers of
records and executors, beside a plain scan with the same two groupings, in SQL.

Every measurement is a process of its own (``records/measures.py``). An executor is one thread of a
Spark inside this machine (``local[1]``, ``local[2]``): one task at a time, no network between them.
Hashing and skew take the largest number of records up to 10 M, and two executors. ``--data`` keeps
the records for the next time. The tables go to stdout, or with ``--page`` into a page; progress
goes to stderr. The exit code is 1 if a promise does not hold.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from harness import run
from peer_tables import put
from pipeline_tables import BEGIN, promises, report

Json = dict[str, Any]

MEASURES = Path(__file__).resolve().parent / "records" / "measures.py"
EXECUTORS = (1, 2)
SKEWS = ("even", "hot")
TIMED = "zipf"
MOST_FOR_ONE = 10_000_000
"""Records of what is measured with one number of them."""
MOST_OFTEN = 1_000_000
"""Up to so many records a profile is timed three times, and else once."""


def measure(records: Sequence[int], data: Path, seed: int) -> Json:
    """All figures."""
    records = sorted(records)
    one = max((count for count in records if count <= MOST_FOR_ONE), default=records[0])
    wanted = [(TIMED, count) for count in records] + [(kind, one) for kind in SKEWS]
    file_bytes = measured("generate", data, seed, wanted=wanted)
    results: Json = {"seed": seed, "cores": os.cpu_count()}
    results["hashing"] = measured("hashing", data, seed, kind=TIMED, records=one)
    results["skewed"] = {
        "records": one,
        "kinds": {kind: measured("skewed", data, seed, kind=kind, records=one) for kind in SKEWS},
    }
    results["profile"] = []
    for count in records:
        for executors in EXECUTORS:
            figures = measured(
                "profile",
                data,
                seed,
                executors,
                kind=TIMED,
                records=count,
                repeat=3 if count <= MOST_OFTEN else 1,
                # the largest plain scan on one executor would take long and judge nothing
                beside=executors == EXECUTORS[-1] or count <= MOST_FOR_ONE,
            )
            about = {"records": count, "executors": executors}
            size = file_bytes[f"{TIMED}-{count}-seed-{seed}"]
            results["profile"].append({**about, "file_bytes": size, **figures})
    return results


def measured(job: str, data: Path, seed: int, executors: int = 2, **more: Any) -> Json:
    """One measurement. Ends the program where it fails."""
    what = " ".join(f"{value}" for value in more.values() if job != "generate")
    print(f"{job} {what} on {executors} ...", file=sys.stderr, flush=True)
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
        raise argparse.ArgumentTypeError(f"expected numbers as 100k,1M, got {text}")
    return sorted({int(one[1]) * {"": 1, "k": 10**3, "M": 10**6}[one[2]] for one in found if one})


def main() -> int:
    parser = argparse.ArgumentParser(description="Measure the measurements on Spark.")
    parser.add_argument("--records", type=numbers, default="1M,10M,50M", help="how many to profile")
    parser.add_argument("--quick", action="store_true", help="as --records 100k,1M")
    parser.add_argument("--data", type=Path, help="keep the records here for the next time")
    parser.add_argument("--seed", type=int, default=1, help="of the records")
    parser.add_argument("--json", type=Path, help="write all figures here too")
    parser.add_argument("--from", type=Path, dest="measured", help="measure nothing: that file")
    parser.add_argument("--page", type=Path, help="put the tables into this page, at its marks")
    given = parser.parse_args()
    if given.measured:
        results = json.loads(given.measured.read_text(encoding="utf-8"))
    else:
        with tempfile.TemporaryDirectory() as folder:
            data = given.data or Path(folder)
            data.mkdir(parents=True, exist_ok=True)
            records = numbers("100k,1M") if given.quick else given.records
            results = measure(records, data.absolute(), given.seed)
    if given.json:
        given.json.write_text(json.dumps(results, indent=2) + "\n", encoding="utf-8")
    if given.page:
        given.page.write_text(put(report(results), given.page, BEGIN), encoding="utf-8")
    else:
        print(report(results))
    return int(any(holds is False for _, holds, _ in promises(results)))


if __name__ == "__main__":
    sys.exit(main())
