"""partage's plans beside those of real peers, for the same clusters and jobs, in one run.

    python benchmarks/peers.py [JOB...] [--size medium] [--tool partage] [--limit 120] [--keep]

The jobs are an expansion, a removal and a rack repair, each on three sizes of cluster, made by
``clusters.py`` from a seed: 36 brokers with ``--size small``, with ``medium`` 110 too, with
``large`` also 1,000. The peers are the planners of Zalando's bubuku (its two ways), of
Yelp's kafka-utils and of Kafka itself: ``environments.py`` fetches them, ``peers/`` runs them.

Every run is a process of its own with a time limit: it reads the cluster, plans, and writes the
lists. Its planner is timed from inside as well, without the reading. ``evaluate.py`` counts what
each answer is worth, in a process of its own too, the same way for all. The tables go to stdout,
progress to stderr; ``--keep`` keeps the figures for the page.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

import environments
import machine
import results
from environments import UnavailableError
from harness import Run, add_arguments, run, within
from tables.peers import Figures, blocks, reads

HERE = Path(__file__).resolve().parent

OWN_LIMIT = 600
"""Seconds that making a cluster or counting an answer may take."""


@dataclass(frozen=True)
class Job:
    """A cluster (arguments for ``clusters.py``), and how many of its last brokers are to go."""

    size: str
    what: str
    made: str
    brokers: int
    removed: int = 0

    @property
    def removed_ids(self) -> str:
        """The brokers to empty, as the runners take them."""
        return ",".join(str(self.brokers - i) for i in reversed(range(self.removed)))


@dataclass(frozen=True)
class Clusters:
    """What the three jobs of one size have in common."""

    size: str
    before: int
    after: int
    shape: str

    def jobs(self) -> dict[str, Job]:
        """By kind: grow from ``before`` to ``after`` brokers, shrink back, repair."""
        grown = self.after - self.before
        share = 0.1
        return {
            "expansion": Job(
                self.size,
                f"{self.before} → {self.after} brokers",
                f"--brokers {self.before} --new {grown} {self.shape}",
                self.after,
            ),
            "removal": Job(
                self.size,
                f"{self.after} → {self.before} brokers",
                f"--brokers {self.after} {self.shape}",
                self.after,
                grown,
            ),
            "racks": Job(
                self.size,
                f"{self.after} brokers, {share:.0%} of the partitions break the rack rule",
                f"--brokers {self.after} --misplaced {share} {self.shape}",
                self.after,
            ),
        }


CLUSTERS = {
    "30": Clusters("small", 30, 36, "--racks 3 --partitions 5002 --topics 60 --rf 3"),
    "110": Clusters("medium", 100, 110, "--racks 5 --partitions 50000 --topics 2000 --rf 3"),
    "1000": Clusters("large", 900, 1000, "--racks 5 --partitions 200000 --topics 5000 --rf 3"),
}

JOBS = {f"{kind}-{name}": job for name in CLUSTERS for kind, job in CLUSTERS[name].jobs().items()}


@dataclass(frozen=True)
class Tool:
    """A planner: how to make its environment, which gives its command, and its variant."""

    environment: Callable[[], list[str]]
    variant: str = ""


TOOLS = {
    "partage": Tool(environments.partage),
    "bubuku": Tool(environments.bubuku, "one-way"),
    "bubuku --bin-packing": Tool(environments.bubuku, "bin-packing"),
    "kafka-utils": Tool(environments.kafka_utils),
    "Kafka --generate": Tool(environments.kafka),
}

PEERS = ("bubuku", "kafka-utils", "Kafka")
"""The programs behind them that have versions."""


def measure(job: Job, tools: Iterable[str], seed: int, limit: float, repeat: int) -> Figures:
    """``before`` and, by tool, what ``_answer`` gives for the job."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        path = folder / "cluster.json"
        maker = [sys.executable, str(HERE / "clusters.py"), *job.made.split()]
        _done(run([*maker, "--seed", str(seed), "-o", str(path)], folder, OWN_LIMIT))
        answers = {"before": _evaluated(path, None, "", folder)}
        for tool in tools:
            print(f"  {tool} ...", end=" ", file=sys.stderr, flush=True)
            answers[tool] = found = _answer(TOOLS[tool], job, path, folder, limit, repeat)
            print(found.get("problem") or f"{found['process_seconds']:.2f} s", file=sys.stderr)
        return answers


def _answer(tool: Tool, job: Job, path: Path, folder: Path, limit: float, repeat: int) -> Figures:
    """The figures of a tool's answer with ``planner_seconds``, ``planner_cpu_seconds``,
    ``process_seconds``, ``process_cpu_seconds`` (the least of the runs), ``peak_bytes`` (the most),
    ``stages`` (of the fastest run) and what else the runner says; or the ``problem``."""
    try:
        command = tool.environment()
    except UnavailableError as problem:
        return {"problem": f"not available: {problem}"}
    answer = folder / "answer.json"
    command = [*command, str(path), str(answer), job.removed_ids]
    command += [tool.variant] if tool.variant else []
    runs, said = [], []
    for _ in range(repeat):
        answer.unlink(missing_ok=True)
        # sets of words have one order, so that a peer's answer is the same in every run
        one = run(command, folder, limit, {**os.environ, "PYTHONHASHSEED": "0"})
        if one.expired:
            return {"problem": f"> {limit:g} s", "limit": limit}
        if one.code or not answer.exists():
            # the last line that is no part of a trace
            said_last = [x for x in one.err.splitlines() if x.strip() and not x[0].isspace()]
            return {"problem": f"failed: {(said_last or ['no message'])[-1][:120]}"}
        runs.append(one)
        said.append(json.loads(answer.read_text(encoding="utf-8")))
        said[-1].pop("replicas")
    figures = _evaluated(path, answer, job.removed_ids, folder)
    planner = [
        {
            key: sum(spent[key] for name, spent in each["stages"].items() if not reads(name))
            for key in ("seconds", "cpu_seconds")
        }
        for each in said
    ]
    fastest = min(range(repeat), key=lambda i: planner[i]["seconds"])
    return {
        **figures,
        **said[fastest],
        "planner_seconds": planner[fastest]["seconds"],
        "planner_cpu_seconds": min(each["cpu_seconds"] for each in planner),
        "process_seconds": min(one.seconds for one in runs),
        "process_cpu_seconds": min(one.cpu_seconds for one in runs),
        "peak_bytes": max(one.peak_bytes for one in runs),
    }


def _evaluated(path: Path, answer: Path | None, removed: str, folder: Path) -> Figures:
    command = [sys.executable, str(HERE / "evaluate.py"), str(path)]
    command += [str(answer)] if answer else []
    done = _done(run([*command, "--removed", removed], folder, OWN_LIMIT))
    figures: Figures = json.loads(done.out)
    return figures


def _done(one: Run) -> Run:
    if one.code:
        raise SystemExit(f"peers.py: {one.err.strip() or 'ended at its limit'}")
    return one


def main() -> int:
    parser = argparse.ArgumentParser(description="Measure partage's plans and those of its peers.")
    parser.add_argument("jobs", nargs="*", metavar="JOB", help=f"of {', '.join(JOBS)}")
    parser.add_argument(
        "--tool", action="append", choices=TOOLS, help="only this tool; may be repeated"
    )
    parser.add_argument("--limit", type=float, default=120, help="seconds a run may take")
    parser.add_argument("--repeat", type=int, default=1, help="runs of each; the fastest counts")
    add_arguments(parser)
    given = parser.parse_args()
    unknown = set(given.jobs) - set(JOBS)
    if unknown or given.repeat < 1 or given.limit <= 0:
        parser.error(f"no job {min(unknown)}" if unknown else "--repeat and --limit are above 0")
    sized = [name for name, job in JOBS.items() if job.size in within(given.size)]

    found: dict[str, Figures] = {}
    for name in given.jobs or sized:
        print(f"{name}: {JOBS[name].what}", file=sys.stderr)
        tools = given.tool or TOOLS
        found[name] = measure(JOBS[name], tools, given.seed, given.limit, given.repeat)
        if given.keep:
            options = {"repeat": given.repeat, "limit": given.limit, "seed": given.seed}
            versions = machine.versions(*machine.PLANNER, *PEERS, "Java")
            results.keep("peers", {name: found[name]}, versions, options)
    print("\n\n".join(text for text in blocks(found).values() if text))
    ours = [tools["partage"] for tools in found.values() if "partage" in tools]
    return int(any("moves" not in figures for figures in ours))


def ordered(figures: results.Figures) -> dict[str, Figures]:
    """The figures with jobs and tools in the order of this file."""
    return {
        job: {tool: figures[job][tool] for tool in ("before", *TOOLS) if tool in figures[job]}
        for job in JOBS
        if job in figures
    }


def compared(plans: dict[str, Figures]) -> dict[str, Figures]:
    """The jobs of which partage has a plan, for others to be set beside it."""
    return {job: tools for job, tools in plans.items() if "moves" in tools.get("partage", {})}


if __name__ == "__main__":
    sys.exit(main())
