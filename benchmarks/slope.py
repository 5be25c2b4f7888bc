"""What a plan, its files, their check and the report cost, from 10,000 partitions to a million.

    python benchmarks/slope.py [JOB...] [--size medium] [--keep]

Every job has 500 partitions per broker. One process reads the cluster, plans and proves, and writes
all files; ``partage check`` and ``partage report`` are processes of their own. Seconds are those of
a processor (of check and report without the system's), memory the highest resident set. The table
goes to stdout, progress to stderr; ``--keep`` saves the figures for the page.
"""

from __future__ import annotations

import argparse
import json
import resource
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import machine
import results
from harness import add_arguments, run, within
from tables.slope import report

HERE = Path(__file__).resolve().parent

Json = dict[str, Any]


@dataclass(frozen=True)
class Job:
    """A cluster (``arguments`` of ``clusters.py``) and the brokers to remove."""

    description: str
    arguments: str
    partitions: int
    remove: tuple[int, ...] = ()
    size: str = "large"


JOBS = {
    "10k": Job("18 → 20 brokers", "--brokers 18 --new 2 --topics 200", 10_000, size="small"),
    "100k": Job(
        "180 → 200 brokers", "--brokers 180 --new 20 --topics 2000", 100_000, size="medium"
    ),
    "1M": Job("1,800 → 2,000 brokers", "--brokers 1800 --new 200 --topics 20000", 1_000_000),
    "1M-removal": Job(
        "2,000 → 1,800 brokers",
        "--brokers 2000 --topics 20000",
        1_000_000,
        remove=tuple(range(1801, 2001)),
    ),
    "1M-racks": Job(
        "2,000 brokers, 10 % of the partitions break the rack rule",
        "--brokers 2000 --topics 20000 --misplaced 0.1",
        1_000_000,
    ),
}


def measure(job: Job, folder: Path, seed: int) -> Json:
    """The figures of a job. Exits the program if a process fails."""
    cluster, directory = folder / "cluster.json", folder / "plan"
    python, partage = sys.executable, str(Path(sys.executable).with_name("partage"))
    placed = f"{job.arguments} --racks 10 --partitions {job.partitions} --rf 3 --seed {seed}"
    _done([python, str(HERE / "clusters.py"), *placed.split(), "-o", str(cluster)], folder)
    removed = ",".join(map(str, job.remove))
    planned = _done([python, __file__, "--plan", str(cluster), str(directory), removed], folder)
    figures: Json = json.loads(planned.out) | {"partitions": job.partitions}
    for command in ("check", "report"):
        done = _done([partage, command, str(directory)], folder)
        figures |= {f"{command}_seconds": done.cpu_seconds, f"{command}_bytes": done.peak_bytes}
    files = [path for path in directory.rglob("*") if path.is_file()]
    page = directory / "report.html"
    return figures | {
        "file_bytes": sum(path.stat().st_size for path in files if path != page),
        "page_bytes": page.stat().st_size,
    }


def _done(command: list[str], folder: Path) -> Any:
    done = run(command, folder)
    if done.code:
        raise SystemExit(f"{' '.join(command)[:200]} failed: {done.err.strip()[-2000:]}")
    return done


def plan(path: str, directory: str, removed: str) -> Json:
    """Read, plan and write; the processor seconds of each step and the memory so far."""
    import partage

    cluster = partage.Cluster.read(path)
    figures = {"read_seconds": _cpu()}
    options: Any = {"remove_broker": [int(b) for b in removed.split(",")]} if removed else {}
    made = partage.plan(cluster, **options)
    figures["plan_seconds"] = _cpu() - figures["read_seconds"]
    made.write(directory)
    figures["write_seconds"] = _cpu() - figures["plan_seconds"] - figures["read_seconds"]
    gaps = {stage.name: stage.value / stage.bound - 1 for stage in made.stages if stage.bound}
    return figures | {
        "moves": made.moves,
        "moves_lower_bound": made.lower_bound,
        "optimal": made.optimal,
        "gap": max(gaps.values(), default=0.0),
        "peak_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
    }


def _cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def main() -> int:
    parser = argparse.ArgumentParser(description="Measure plans of up to a million partitions.")
    parser.add_argument("jobs", nargs="*", metavar="JOB", help=f"one of {', '.join(JOBS)}")
    parser.add_argument("--plan", nargs=3, help=argparse.SUPPRESS)
    add_arguments(parser)
    given = parser.parse_args()
    if given.plan:
        print(json.dumps(plan(*given.plan)))
        return 0
    if unknown := set(given.jobs) - set(JOBS):
        parser.error(f"no job {min(unknown)}")
    sized = [name for name, job in JOBS.items() if job.size in within(given.size)]
    found: Json = {}
    for name in given.jobs or sized:
        print(f"{name}: {JOBS[name].description} ...", end=" ", file=sys.stderr, flush=True)
        with tempfile.TemporaryDirectory() as folder:
            found[name] = {"partage": measure(JOBS[name], Path(folder), given.seed)}
        print(f"{found[name]['partage']['plan_seconds']:.1f} s", file=sys.stderr)
        if given.keep:
            kept = {name: found[name]}
            results.keep("slope", kept, machine.versions(*machine.PLANNER), {"seed": given.seed})
    print(report(found, {name: job.description for name, job in JOBS.items()}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
