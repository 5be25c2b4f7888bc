"""A profile whose tables are as long as its input, with little memory for the driver.

    python benchmarks/limits.py [--size medium] [--kind windows] [--records 10000000] [--keep]

A profile of each kind of records (``records/extremes.py``) is written by a local Spark with two
threads, 1 GB of memory for its only Java process and a limit of 256 MB for results, as a user sets
them. Prints the rows of each table, the seconds, and the peak memory of all processes; ``--keep``
saves them for the page. The exit code is 1 if a run fails.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

import machine
import results
from harness import add_arguments, run

MEASURES = Path(__file__).resolve().parent / "records" / "measures.py"
RECORDS = {
    "windows": {"small": 500_000, "medium": 5_000_000, "large": 50_000_000},
    "rejected": {"small": 400_000, "medium": 4_000_000, "large": 40_000_000},
    "keys": {"small": 500_000, "medium": 5_000_000, "large": 50_000_000},
}
"""Records of each kind by size; half of ``rejected`` are."""


def measured(kind: str, records: int, seed: int, driver: str, result: str) -> dict[str, Any] | None:
    """The figures of a run; None if it failed, with the reason on stderr."""
    with tempfile.TemporaryDirectory() as folder:
        asked = {
            "job": "extreme",
            "data": folder,
            "seed": seed,
            "executors": 2,
            "config": {"spark.driver.memory": driver, "spark.driver.maxResultSize": result},
            "kind": kind,
            "records": records,
        }
        done = run([sys.executable, str(MEASURES), json.dumps(asked)], Path(folder))
        shutil.rmtree(Path(folder) / "records", ignore_errors=True)
    if done.code:
        print(kind, *done.err.strip().splitlines()[-1:], file=sys.stderr, flush=True)
        return None
    print(kind, done.out.strip(), flush=True)
    return {"kind": kind, "records": records, **json.loads(done.out)}


def main() -> int:
    parser = argparse.ArgumentParser(description="Profile with little memory for the driver.")
    parser.add_argument("--kind", choices=RECORDS, action="append", help="only this kind")
    parser.add_argument("--records", type=int, help="records of each kind")
    parser.add_argument("--driver", default="1g", help="memory of Spark's Java process")
    parser.add_argument("--result", default="256m", help="limit for results")
    add_arguments(parser)
    given = parser.parse_args()
    failed = False
    for kind in given.kind or RECORDS:
        records = given.records or RECORDS[kind][given.size]
        figures = measured(kind, records, given.seed, given.driver, given.result)
        failed |= figures is None
        if given.keep and figures is not None:
            versions = machine.versions("Python", "partage", "pyspark", "pyarrow", "Java")
            options = {"driver": given.driver, "result": given.result}
            results.keep("limits", {"limits": {f"{kind} {records}": figures}}, versions, options)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
