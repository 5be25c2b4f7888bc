"""The assignors inside the broker (KIP-848): partage's beside Kafka's uniform and range.

    python benchmarks/broker_assignors.py [SHAPE...] [--size medium] [--limit 120] [--keep]

Everyone joins; then a member leaves; then another joins instead. Every assignor continues from its
own assignment. ``consumers/RunBrokerAssignors.java`` generates the group, times the calls of the
class and counts the answers, in a process per assignor and shape: the first call is one of a broker
that has just started.

The tables go to stdout, progress to stderr; ``--keep`` saves the figures for the page. The exit
code is 1 if an answer of partage is invalid, less fair than a peer's, or has fewer partitions near
their member.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import environments
import machine
import results
from environments import UnavailableError
from harness import add_arguments, run, within
from tables.broker_assignors import OURS, blocks, wrong

Json = dict[str, Any]

ROOT = Path(__file__).resolve().parent.parent
KAFKA = "org.apache.kafka.coordinator.group.assignor"
ASSIGNORS = {
    OURS: "partage.assignor.PartageAssignor",
    "uniform": f"{KAFKA}.UniformAssignor",
    "range": f"{KAFKA}.RangeAssignor",
}


@dataclass(frozen=True)
class Shape:
    """``topics`` of ``partitions`` each, ``members``, ``kind`` of subscriptions, timed calls."""

    size: str
    topics: int
    partitions: int
    members: int
    kind: str
    repeats: int


SHAPES = {
    f"{name}{'' if kind == 'alike' else '-different'}": Shape(size, *group, kind, repeats)
    for kind in ("alike", "different")
    for name, size, group, repeats in (
        ("100", "small", (10, 10, 10), 100),
        ("1k", "small", (20, 50, 50), 50),
        ("10k", "small", (100, 100, 100), 20),
        ("100k", "medium", (200, 500, 1_000), 5),
        ("1M", "large", (500, 2_000, 2_000), 3),
    )
}


def measure(names: list[str], limit: float, seed: int) -> results.Figures:
    """Figures by shape, assignor and job. Raises UnavailableError."""
    source = ROOT / "benchmarks" / "consumers" / "RunBrokerAssignors.java"
    java, option, folders, main = environments.compiled(source, "broker-assignors")
    command = [java, option, f"{folders}:{ROOT / _jar()}", main]
    return {name: _shape(name, command, limit, seed) for name in names}


def _jar() -> str:
    done = subprocess.run(
        [sys.executable, ROOT / "scripts" / "build_jar.py"], capture_output=True, text=True
    )
    if done.returncode:
        raise UnavailableError(done.stderr.strip())
    return done.stdout.strip()


def _shape(name: str, command: list[str], limit: float, seed: int) -> Json:
    shape = SHAPES[name]
    size = map(str, (shape.topics, shape.partitions, shape.members, shape.kind, shape.repeats))
    arguments = [*size, str(seed)]
    figures: Json = {}
    for assignor, java_class in ASSIGNORS.items():
        with tempfile.TemporaryDirectory() as folder:
            done = run([*command, java_class, *arguments], Path(folder), limit)
        if done.code and not done.expired:
            raise UnavailableError(done.err.strip().splitlines()[0])
        jobs = [json.loads(line) for line in done.out.splitlines()] if not done.expired else []
        figures[assignor] = {job.pop("job"): job for job in jobs}
        shown = ", ".join(f"{job['seconds']:.4f}" for job in jobs) or f"> {limit:g}"
        print(f"  {name}: {assignor} {shown}", file=sys.stderr)
    return figures


def ordered(figures: results.Figures) -> results.Figures:
    """The figures in the order of the shapes and assignors."""
    return {
        name: {tool: figures[name][tool] for tool in ASSIGNORS if tool in figures[name]}
        for name in SHAPES
        if name in figures
    }


def main() -> int:
    parser = argparse.ArgumentParser(description="Measure the assignors inside the broker.")
    parser.add_argument("shapes", nargs="*", metavar="SHAPE", help=f"one of {', '.join(SHAPES)}")
    parser.add_argument("--limit", type=float, default=120, help="time limit, in seconds")
    add_arguments(parser)
    given = parser.parse_args()
    if unknown := set(given.shapes) - set(SHAPES):
        parser.error(f"no shape {min(unknown)}")
    sized = [name for name, shape in SHAPES.items() if shape.size in within(given.size)]
    try:
        figures = measure(given.shapes or sized, given.limit, given.seed)
    except UnavailableError as problem:
        sys.exit(f"not available: {problem}")
    if given.keep:
        versions = machine.versions("Python", "partage", "Kafka", "Java")
        results.keep("broker_assignors", figures, versions, {"seed": given.seed})
    print("\n\n".join(blocks(ordered(figures)).values()))
    return int(any(wrong(tools) for tools in figures.values()))


if __name__ == "__main__":
    sys.exit(main())
