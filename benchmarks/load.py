"""Every load of a broker balanced: partage, its other strategies, and Meta's rebalancer.

    python benchmarks/load.py [JOB...] [--size medium] [--tool partage] [--limit 60] [--keep]

The jobs are expansions of clusters that ``clusters.py`` generates from a seed: as they are, with
rates unlike the sizes, with uneven racks, and with unequal brokers. ``partage`` and ``rebalancer``
balance all loads, within 10 % and within 2 % of the fair share; rebalancer's solvers have
``--limit`` seconds. The others run once.

``peers.py`` runs the tools; ``evaluate.py`` and ``evaluate_loads.py``, which share no code with
partage, judge the answers. The tables go to stdout, progress to stderr; ``--keep`` saves the
figures for the page.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import environments
import machine
import results
from harness import add_arguments, run, within
from peers import HELPER_LIMIT, Tool, answer_of, done, generated
from tables.load import OURS, TOLERANCES, Figures, blocks, named

HERE = Path(__file__).resolve().parent


@dataclass(frozen=True)
class Job:
    """A cluster: ``arguments`` of ``clusters.py``."""

    size: str
    description: str
    arguments: str


_30 = "--brokers 30 --new 6 --partitions 5002 --topics 60 --rf 3"
_100 = "--brokers 100 --new 10 --partitions 50000 --topics 2000 --rf 3"
_200 = "--brokers 200 --new 10 --partitions 40000 --topics 1000 --rf 3"
_900 = "--brokers 900 --new 100 --partitions 200000 --topics 5000 --rf 3"

JOBS = {
    "30": Job("small", "30 → 36 brokers", f"{_30} --racks 3"),
    "30-rates": Job("small", "rates unlike sizes", f"{_30} --racks 3 --rates 1"),
    "30-racks": Job("small", "uneven racks", f"{_30} --racks 5 --uneven-racks"),
    "30-brokers": Job("small", "unequal brokers", f"{_30} --racks 3 --unequal-brokers"),
    "100": Job("medium", "100 → 110 brokers", f"{_100} --racks 5"),
    "100-rates": Job("medium", "rates unlike sizes", f"{_100} --racks 5 --rates 1"),
    "100-racks": Job("medium", "uneven racks", f"{_100} --racks 5 --uneven-racks"),
    "100-brokers": Job("medium", "unequal brokers", f"{_100} --racks 5 --unequal-brokers"),
    "200": Job("medium", "200 → 210 brokers", f"{_200} --racks 5"),
    "900": Job("large", "900 → 1,000 brokers", f"{_900} --racks 5"),
}

ONCE = {
    "partage": {},
    "partage --balance bytes": {"balance": "bytes", "tolerance": "10%"},
    "bin-packing": {"strategy": "bin-packing", "balance": "bytes"},
}
"""Options of ``partage.plan`` for the tools that do not aim at bands."""

BANDS = {
    "30": "replicas=9%,leaders=14%,disk=18%,in=18%,out=27%,leader_in=27%",
    "100": "replicas=13%,leaders=27%,disk=13%,in=13%,out=27%,leader_in=27%",
}
"""By job, bands as wide as what Cruise Control's plans leave."""

AS_EVEN = "partage, as even as Cruise Control"
SOLVERS = {"rebalancer, local search": "local-search", "rebalancer, MIP": "mip"}
MIP = ("30", TOLERANCES[0])
"""The only job and tolerance of the MIP: it has a variable for each replica and broker."""


def tools(job: str, limit: float) -> dict[str, tuple[Tool, str]]:
    """The tools for a job, each with the tolerance by which its answer is judged."""
    found = {
        name: (Tool(environments.partage, json.dumps(options)), TOLERANCES[0])
        for name, options in ONCE.items()
    }
    if job in BANDS:
        options = {"balance": "load", "tolerance": BANDS[job]}
        found[AS_EVEN] = (Tool(environments.partage, json.dumps(options)), TOLERANCES[0])
    for tolerance in TOLERANCES:
        options = {"balance": "load", "tolerance": tolerance}
        found[named(OURS, tolerance)] = (Tool(environments.partage, json.dumps(options)), tolerance)
        for solver, kind in SOLVERS.items():
            if kind == "mip" and (job, tolerance) != MIP:
                continue
            variant = f"{kind} {_part(tolerance):g} {limit:.0f}"
            found[named(solver, tolerance)] = (Tool(environments.rebalancer, variant), tolerance)
    return found


def _part(tolerance: str) -> float:
    return float(tolerance.rstrip("%")) / 100


def measure(name: str, job: Job, only: Iterable[str], seed: int, limit: float) -> Figures:
    """Figures of the current placement (``before``) and of the tools whose names begin with one of
    ``only``, as ``peers.answer_of`` and ``evaluate_loads.py`` return them."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        path = generated(job.arguments, seed, folder)
        found: Figures = {"before": _loads(path, None, TOLERANCES[0], folder)}
        for label, (tool, tolerance) in tools(name, limit).items():
            if not label.startswith(tuple(only)):
                continue
            print(f"  {label} ...", end=" ", file=sys.stderr, flush=True)
            # a solver may overrun its limit by what reading and posing take
            most = HELPER_LIMIT if tool.environment == environments.partage else 4 * limit
            figures = answer_of(tool, "", path, folder, most)
            if "moves" in figures:
                figures |= _loads(path, folder / "answer.json", tolerance, folder)
            print(figures.get("problem") or f"{figures['process_seconds']:.2f} s", file=sys.stderr)
            found[label] = figures
        return found


def _loads(path: Path, answer: Path | None, tolerance: str, folder: Path) -> Figures:
    command = [sys.executable, str(HERE / "evaluate_loads.py"), str(path)]
    command += [str(answer)] if answer else []
    command += ["--tolerance", f"{_part(tolerance):g}"]
    figures: Figures = json.loads(done(run(command, folder, HELPER_LIMIT)).out)
    return figures


def main() -> int:
    parser = argparse.ArgumentParser(description="Measure plans that balance every load.")
    parser.add_argument("jobs", nargs="*", metavar="JOB", help=f"one of {', '.join(JOBS)}")
    parser.add_argument(
        "--tool", action="append", help="only tools that begin with this (repeatable)"
    )
    parser.add_argument("--limit", type=float, default=60, help="seconds of rebalancer's solvers")
    add_arguments(parser)
    given = parser.parse_args()
    if unknown := set(given.jobs) - set(JOBS):
        parser.error(f"no job {min(unknown)}")
    sized = [name for name, job in JOBS.items() if job.size in within(given.size)]
    found: dict[str, Figures] = {}
    for name in given.jobs or sized:
        print(f"{name}: {JOBS[name].description}", file=sys.stderr)
        found[name] = measure(name, JOBS[name], given.tool or [""], given.seed, given.limit)
        if given.keep:
            options = {"limit": given.limit, "seed": given.seed}
            versions = machine.versions(*machine.PLANNER, "rebalancer")
            results.keep("load", {name: found[name]}, versions, options)
    print("\n\n".join(text for text in blocks(found).values() if text))
    ours = [found[name][tool] for name in found for tool in found[name] if tool.startswith(OURS)]
    return int(any("moves" not in figures for figures in ours))


def ordered(figures: results.Figures) -> dict[str, Figures]:
    """The figures with jobs and tools in the order of this file."""
    return {
        job: {
            tool: figures[job][tool]
            for tool in ("before", *tools(job, limit=0))
            if tool in figures[job]
        }
        for job in JOBS
        if job in figures
    }


if __name__ == "__main__":
    sys.exit(main())
