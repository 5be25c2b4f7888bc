"""A profile whose tables are as long as its input, with little memory for the driver.

    python benchmarks/driver_memory.py [--records 10000000] [--kind windows] [--driver 1g]

A profile of each kind of records (``records/extremes.py``) is written by a local Spark with two
threads, 1 GB of memory for its only Java process and a limit of 256 MB for results, as a user sets
them. Prints the rows of each table, the seconds, and the peak memory of all processes. The exit
code is 1 if a run fails.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
from pathlib import Path

from harness import run

MEASURES = Path(__file__).resolve().parent / "records" / "measures.py"
KINDS = ("windows", "rejected", "keys")


def main() -> int:
    parser = argparse.ArgumentParser(description="Profile with little memory for the driver.")
    parser.add_argument("--records", type=int, default=10_000_000)
    parser.add_argument("--kind", choices=KINDS, action="append", help="only this kind")
    parser.add_argument("--driver", default="1g", help="memory of Spark's Java process")
    parser.add_argument("--result", default="256m", help="limit for results")
    given = parser.parse_args()
    failed = False
    for kind in given.kind or KINDS:
        with tempfile.TemporaryDirectory() as folder:
            asked = {
                "job": "extreme",
                "data": folder,
                "seed": 0,
                "executors": 2,
                "config": {
                    "spark.driver.memory": given.driver,
                    "spark.driver.maxResultSize": given.result,
                },
                "kind": kind,
                "records": given.records,
            }
            done = run([sys.executable, str(MEASURES), json.dumps(asked)], Path(folder))
            shutil.rmtree(Path(folder) / "records", ignore_errors=True)
        failed |= bool(done.code)
        text = done.err.strip().splitlines()[-1:] if done.code else [done.out.strip()]
        print(kind, *text, flush=True)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
