"""This version against an earlier one: whole commands, in pairs, and what changed beyond noise.

    python benchmarks/against.py [JOB...] [--size medium] [--than COMMIT] [--pairs 6]

The earlier version is checked out beside this one, by default the commit that stored the kept
figures of the planners last. A job is a whole process (read, plan, prove, print) on a cluster of
``peers.py``, on the bundled one, or the assignment of a large group. The two versions run it in
turn, the first one alternately, so that whatever else the machine does falls on both. What counts
is the processor's time. A change is beyond noise if all pairs agree on its direction: with six
pairs, chance alone does that once in 32. The table goes to stdout, progress to stderr.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent / "consumers"))

from random_groups import SHAPES

from harness import SIZES, run, within
from peers import JOBS
from tables.markdown import table

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
KEPT = "benchmarks/results/peers.json"

BUNDLED = "bundled"
GROUPS = {"group-50k": ("50k", "small"), "group-1M": ("1M", "large")}
SIZE_OF = {
    BUNDLED: "small",
    **{name: job.size for name, job in JOBS.items()},
    **{name: size for name, (_, size) in GROUPS.items()},
}


@contextmanager
def checked_out(commit: str) -> Iterator[Path]:
    """A folder with the files of that commit, removed at the end."""
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder) / "earlier"
        git("worktree", "add", "--quiet", "--detach", str(tree), commit)
        try:
            yield tree
        finally:
            git("worktree", "remove", "--force", str(tree))


def git(*arguments: str) -> str:
    """What git says. Exits the program if it fails."""
    ended = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True)
    if ended.returncode:
        raise SystemExit(f"against: git {arguments[0]}: {ended.stderr.strip()}")
    return ended.stdout.strip()


def command(job: str, folder: Path, seed: int) -> list[str]:
    """partage's arguments for the job, whose input is generated in ``folder``."""
    if job == BUNDLED:
        return ["plan", str(ROOT / "src" / "partage" / "data" / "cluster-grown.json"), "--json"]
    if job in GROUPS:
        topics, subscribed = SHAPES[GROUPS[job][0]].generate(seed)
        members = [{"id": at, "topics": of} for at, of in subscribed.items()]
        file = folder / "group.json"
        file.write_text(json.dumps({"topics": topics, "members": members}), encoding="utf-8")
        return ["assign", str(file), "--assignor", "sticky", "--json"]
    file = folder / "cluster.json.gz"
    made = [sys.executable, str(HERE / "clusters.py"), *JOBS[job].arguments.split()]
    subprocess.run([*made, "--seed", str(seed), "-o", str(file)], check=True)
    removed = JOBS[job].removed_ids
    return ["plan", str(file), "--json", *(["--remove-broker", removed] if removed else [])]


def processor_seconds(tree: Path, arguments: list[str], folder: Path) -> float:
    """Of one run of the version in ``tree``. Exits the program if it fails."""
    environment = {**os.environ, "PYTHONPATH": str(tree / "src")}
    done = run([sys.executable, "-m", "partage", *arguments], folder, environment=environment)
    if done.code:
        raise SystemExit(f"against: {' '.join(arguments)}: {done.err.strip()[-500:]}")
    return done.cpu_seconds


def compare(job: str, earlier: Path, pairs: int, seed: int) -> list[tuple[float, float]]:
    """Processor seconds (earlier, now) of each pair, after a pair that compiles and is dropped."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        arguments = command(job, folder, seed)
        found = []
        for turn in range(pairs + 1):
            order = (earlier, ROOT) if turn % 2 else (ROOT, earlier)
            took = {tree: processor_seconds(tree, arguments, folder) for tree in order}
            found.append((took[earlier], took[ROOT]))
            print(".", end="", file=sys.stderr, flush=True)
    return found[1:]


def verdict(pairs: list[tuple[float, float]]) -> str:
    """What the pairs show: ``slower``, ``faster``, or ``no change beyond noise``."""
    if all(now > earlier for earlier, now in pairs):
        return "slower"
    if all(now < earlier for earlier, now in pairs):
        return "faster"
    return "no change beyond noise"


def row(job: str, pairs: list[tuple[float, float]]) -> list[str]:
    """The job's row of the table."""
    ratios = [now / earlier for earlier, now in pairs]
    return [
        job,
        f"{min(earlier for earlier, _ in pairs):.2f}",
        f"{min(now for _, now in pairs):.2f}",
        f"{statistics.median(ratios):.2f}",
        f"{min(ratios):.2f}–{max(ratios):.2f}",
        verdict(pairs),
    ]


HEAD = ["job", "earlier, s", "now, s", "ratio", "of the pairs", "change"]


def main() -> int:
    # ends as on Ctrl-C, so that the earlier version is removed
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    parser = argparse.ArgumentParser(description="Compare with an earlier version, in pairs.")
    parser.add_argument("jobs", nargs="*", metavar="JOB", help=f"of {', '.join(SIZE_OF)}")
    parser.add_argument("--size", choices=SIZES, default="medium", help="how much to measure")
    parser.add_argument("--seed", type=int, default=1, help="seed of generated input")
    parser.add_argument("--pairs", type=int, default=6, help="runs of each version")
    parser.add_argument(
        "--than", metavar="COMMIT", help="by default the one that stored the kept figures last"
    )
    given = parser.parse_args()
    if unknown := set(given.jobs) - set(SIZE_OF):
        parser.error(f"no job {min(unknown)}: expected {', '.join(SIZE_OF)}")
    jobs = given.jobs or [job for job, size in SIZE_OF.items() if size in within(given.size)]
    than = given.than or git("log", "-1", "--format=%h", "--", KEPT)
    rows = []
    with checked_out(than) as earlier:
        for job in jobs:
            print(f"{job} ", end="", file=sys.stderr, flush=True)
            rows.append(row(job, compare(job, earlier, given.pairs, given.seed)))
            print(f" {rows[-1][-1]}", file=sys.stderr)
    print(f"Processor seconds of whole commands, {than} and now; pairs: {given.pairs}\n")
    print(table(HEAD, rows, 1))
    return int(any(each[-1] == "slower" for each in rows))


if __name__ == "__main__":
    sys.exit(main())
