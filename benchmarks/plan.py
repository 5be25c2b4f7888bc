"""Results and cost of ``partage plan``: one table with one row per cluster.

    python benchmarks/plan.py [ROW...] [--size medium] [--repeat 3] [--keep]

Every row is a whole process, ``partage plan FILE --json``: reading the file, planning, proving and
printing. Seconds are the wall time of the fastest run, memory the highest resident set of any.
A separate process of ``clusters.py`` generates the clusters, because memory of this process would
count as its children's peak. The table goes to stdout, progress to stderr; ``--keep`` saves the
figures for the page.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import machine
import results
from harness import add_arguments, run, within
from tables.plan import report

HERE = Path(__file__).resolve().parent
DATA = HERE.parent / "src" / "partage" / "data"


@dataclass(frozen=True)
class Row:
    """A cluster (a bundled ``file`` or ``arguments`` of ``clusters.py``) and ``plan``'s options."""

    description: str
    file: str = ""
    arguments: str = ""
    options: tuple[str, ...] = ()
    size: str = "small"


ROWS = {
    "demo": Row("9 brokers, 162 partitions (bundled)", file="cluster-grown.json"),
    "36": Row(
        "30 + 6 brokers, 5,002 partitions",
        arguments="--brokers 30 --new 6 --racks 3 --partitions 5002 --topics 60 --rf 3",
    ),
    "110": Row(
        "100 + 10 brokers, 50,000 partitions",
        arguments="--brokers 100 --new 10 --racks 5 --partitions 50000 --topics 2000 --rf 3",
        size="medium",
    ),
    "256": Row("256 partitions (bundled)", file="cluster-256.json"),
    "256-no-moves": Row(
        "256 partitions, `--no-moves`", file="cluster-256.json", options=("--no-moves",)
    ),
    "1000": Row(
        "900 + 100 brokers, 200,000 partitions",
        arguments="--brokers 900 --new 100 --racks 5 --partitions 200000 --topics 5000 --rf 3",
        size="large",
    ),
}

KEPT = (
    "moves",
    "moves_lower_bound",
    "replicas_per_broker",
    "leaders_per_broker",
    "leaders_after_failure",
    "topic_spread",
    "optimal",
)
"""Keys of ``partage plan --json`` that are kept."""


def measure(row: Row, folder: Path, seed: int, repeat: int) -> tuple[dict[str, Any] | None, str]:
    """The plan's figures with ``process_seconds`` and ``peak_bytes``, or None and the error."""
    path = DATA / row.file
    if row.arguments:
        path = folder / "cluster.json.gz"
        generator = [sys.executable, str(HERE / "clusters.py"), *row.arguments.split()]
        generated = run([*generator, "--seed", str(seed), "-o", str(path)], folder)
        if generated.code:
            return None, generated.err
    partage = str(Path(sys.executable).with_name("partage"))
    command = [partage, "plan", str(path), *row.options, "--json"]
    runs = []
    for _ in range(repeat):
        runs.append(run(command, folder))
        if runs[-1].code:
            return None, f"exit code {runs[-1].code}: {runs[-1].err}"
    printed = json.loads(runs[0].out)
    figures = {key: printed[key] for key in KEPT}
    figures["process_seconds"] = round(min(r.seconds for r in runs), 3)
    figures["peak_bytes"] = max(r.peak_bytes for r in runs)
    return figures, ""


def main() -> int:
    parser = argparse.ArgumentParser(
        description="Measure `partage plan` on clusters of different sizes."
    )
    parser.add_argument("rows", nargs="*", metavar="ROW", help=f"one of {', '.join(ROWS)}")
    parser.add_argument("--repeat", type=int, default=3, help="runs per row")
    add_arguments(parser)
    given = parser.parse_args()
    unknown = set(given.rows) - set(ROWS)
    if unknown or given.repeat < 1:
        parser.error(f"no row {min(unknown)}" if unknown else "--repeat: must be at least 1")
    sized = [name for name, row in ROWS.items() if row.size in within(given.size)]

    found, failed = {}, False
    for name in given.rows or sized:
        row = ROWS[name]
        print(f"{name}: {row.description} ...", end=" ", file=sys.stderr, flush=True)
        with tempfile.TemporaryDirectory() as folder:
            figures, problem = measure(row, Path(folder), given.seed, given.repeat)
        if figures is None:
            failed = True
            print(f"failed: {problem.strip()}", file=sys.stderr)
            continue
        print(f"{figures['process_seconds']:.2f} s", file=sys.stderr)
        found[name] = {"partage": figures}
    print(report(found, {name: row.description for name, row in ROWS.items()}))
    if given.keep:
        options = {"repeat": given.repeat, "seed": given.seed}
        results.keep("plan", found, machine.versions(*machine.PLANNER), options)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
