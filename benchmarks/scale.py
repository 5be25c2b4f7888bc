"""How a profile grows with records, with executors that are processes, and with small files.

    python benchmarks/scale.py [--size medium] [--executors 1,2] [--keep]

Spark's own standalone cluster runs in one Java process, its workers start an executor of one core
and 1 GB each (``local-cluster``): executors exchange rows through sockets and files, as on several
machines, but share the cores of this one. A profile of Zipf-like keys, of keys of which one has
half of the records, and of small files is written. Every run is a separate process. The tables go
to stdout, progress to stderr; ``--keep`` saves the figures for the page.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import machine
import results
from harness import add_arguments, run
from pipeline import MEASURES, numbers
from tables.scale import blocks

Json = dict[str, Any]

RECORDS = {"small": "100k", "medium": "1M,10M", "large": "1M,10M,100M"}
FILES = {"small": (10_000, 200), "medium": (200_000, 2_000), "large": (2_000_000, 20_000)}
"""Records, and the files that have them."""

MEMORY = 1024
"""MB of an executor."""


def measured(job: str, data: Path, seed: int, executors: int, **more: Any) -> Json:
    """One measurement in a process. Exits the program if it fails."""
    print(f"{job} {more} on {executors} ...", file=sys.stderr, flush=True)
    cluster = f"local-cluster[{executors},1,{MEMORY}]"
    given = {"job": job, "data": str(data), "seed": seed, "executors": 2, **more}
    if job == "scale":
        config = {"spark.executor.memory": f"{MEMORY}m"}
        given |= {"master": cluster, "config": config}
    with tempfile.TemporaryDirectory() as folder:
        done = run([sys.executable, str(MEASURES), json.dumps(given)], Path(folder))
    if done.code:
        raise SystemExit(f"{job} failed: {done.err.strip()[-2000:]}")
    print(f"  {done.seconds:.0f} s", file=sys.stderr)
    found: Json = json.loads(done.out)
    return found


def runs(records: list[int], files: tuple[int, int], executors: list[int]) -> list[Json]:
    """What is measured: by records and executors, with a hot key, and of small files."""
    most = max(executors)
    grown = [
        {"kind": "zipf", "records": count, "executors": at} for count in records for at in executors
    ]
    hot = {"kind": "hot", "records": min(records[-1], 10**7), "executors": most}
    small = {"kind": "zipf", "records": files[0], "executors": most, "files": files[1]}
    return [*grown, hot, small]


def main() -> int:
    parser = argparse.ArgumentParser(description="Measure how a profile grows.")
    parser.add_argument("--records", type=numbers, help="numbers of records, such as 1M,10M")
    parser.add_argument("--executors", type=numbers, default=[1, 2], help="such as 1,2")
    add_arguments(parser)
    given = parser.parse_args()
    found: dict[str, Json] = {}
    records = given.records or numbers(RECORDS[given.size])
    wanted = runs(records, FILES[given.size], given.executors)
    versions = machine.versions("Python", "partage", "pyspark", "pyarrow", "Java")
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder)
        kinds = sorted({(one["kind"], one["records"]) for one in wanted})
        sizes = measured("generate", data, given.seed, 2, wanted=kinds)
        for one in wanted:
            figures = measured("scale", data, given.seed, **one)
            size = sizes[f"{one['kind']}-{one['records']}-seed-{given.seed}"]
            name = " ".join(f"{key} {value}" for key, value in one.items())
            found[name] = {"files": 0, **one, **figures, "file_bytes": size}
            if given.keep:
                kept = {"scale": {name: found[name]}}
                results.keep("scale", kept, versions, {"seed": given.seed})
    print("\n\n".join(blocks(found).values()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
