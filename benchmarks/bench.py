"""Compare with the version of the kept figures, run all comparisons, then write the pages.

    python benchmarks/bench.py [--size medium] [NAME...]

What takes longer or less time than by that version, beyond noise, is told first (``against.py``).
Every comparison is a separate process that keeps its figures (``--keep``). If one fails, the others
still run. The exit code is 1 if one failed or did not meet a target.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from pathlib import Path

from harness import SIZES

HERE = Path(__file__).resolve().parent

MINUTES = {
    "plan": {"small": 0.1, "medium": 0.2, "large": 1.3},
    "peers": {"small": 0.5, "medium": 4, "large": 17},
    "load": {"small": 13, "medium": 30, "large": 45},
    "assignors": {"small": 2, "medium": 7, "large": 9},
    "broker_assignors": {"small": 0.5, "medium": 1, "large": 2},
    "slope": {"small": 0.1, "medium": 1, "large": 12},
    "pipeline": {"small": 2, "medium": 3, "large": 6},
    "limits": {"small": 2, "medium": 5, "large": 45},
    "scale": {"small": 2, "medium": 5, "large": 20},
    "article": {"small": 0.1, "medium": 2, "large": 2},
}
"""Approximate minutes on two idle cores, without creating the peers' environments."""


def main() -> int:
    parser = argparse.ArgumentParser(description="Run all comparisons and write the pages.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"one of {', '.join(MINUTES)}")
    parser.add_argument("--size", choices=SIZES, default="medium", help="how much to measure")
    given = parser.parse_args()
    if unknown := set(given.names) - set(MINUTES):
        parser.error(f"no comparison {min(unknown)}")
    names = given.names or list(MINUTES)
    total = sum(MINUTES[name][given.size] for name in names)
    log(f"{', '.join(names)}, size {given.size}: about {total:.0f} minutes on two idle cores")
    log("(the first run also downloads the peers)")

    bad = []
    began = time.monotonic()
    if not given.names:
        log("this version against that of the kept figures, in pairs")
        against = [sys.executable, str(HERE / "against.py"), "--size", given.size]
        if subprocess.run(against).returncode:
            bad.append("against")
    for number, name in enumerate(names, 1):
        about = MINUTES[name][given.size]
        log(f"[{number}/{len(names)}] {name}, about {about:g} minutes")
        start = time.monotonic()
        command = [sys.executable, str(HERE / f"{name}.py"), "--size", given.size, "--keep"]
        if subprocess.run(command, stdout=subprocess.DEVNULL).returncode:
            bad.append(name)
        log(f"[{number}/{len(names)}] {name} took {(time.monotonic() - start) / 60:.1f} minutes")
    if subprocess.run([sys.executable, str(HERE / "page.py")]).returncode:
        bad.append("page")
    log(f"{(time.monotonic() - began) / 60:.1f} minutes in total; see docs/benchmarks.md")
    if bad:
        log(f"failed or target not met: {', '.join(bad)}")
    return int(bool(bad))


def log(text: str) -> None:
    print(f"bench: {text}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
