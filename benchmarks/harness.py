"""What the benchmarks share: sizes, and a process with its cost and its limit."""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

# Measured as users have it: Python keeps what it has compiled, whatever the environment asks for.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

SIZES = ("small", "medium", "large")
"""Of a comparison. A larger one does all that a smaller one does, and more."""


def within(size: str) -> tuple[str, ...]:
    """The sizes up to this one."""
    return SIZES[: SIZES.index(size) + 1]


def add_arguments(parser: argparse.ArgumentParser, *, seed: bool = True) -> None:
    """What every comparison can be told; ``seed``: whether another one may be chosen."""
    parser.add_argument("--size", choices=SIZES, default="medium", help="how much is measured")
    if seed:
        parser.add_argument("--seed", type=int, default=1, help="of all that is made up")
    parser.add_argument("--keep", action="store_true", help="into benchmarks/results, for the page")


@dataclass(frozen=True)
class Run:
    """One process: its exit code, what it said, and what it cost.

    ``seconds`` are wall time, ``cpu_seconds`` user time over all its threads and waited-for
    children, ``peak_bytes`` the highest resident set. ``expired``: it was ended at its limit.
    """

    code: int
    out: str
    err: str
    seconds: float
    cpu_seconds: float
    peak_bytes: int
    expired: bool


def run(
    command: Sequence[str],
    folder: Path,
    limit: float | None = None,
    environment: Mapping[str, str] | None = None,
) -> Run:
    """Run to the end, or for ``limit`` seconds. Output goes through files, so that no pipe can hold
    the child up."""
    out, err = folder / "out", folder / "err"
    expired = threading.Event()
    with out.open("wb") as stdout, err.open("wb") as stderr:
        began = time.perf_counter()
        process = subprocess.Popen(
            command, stdout=stdout, stderr=stderr, start_new_session=True, env=environment
        )

        def end() -> None:
            expired.set()
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)

        timer = threading.Timer(limit or 0, end)
        if limit is not None:
            timer.start()
        try:
            _, status, usage = os.wait4(process.pid, 0)
        except BaseException:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            raise
        finally:
            timer.cancel()
        seconds = time.perf_counter() - began
    process.returncode = os.waitstatus_to_exitcode(status)
    unit = 1 if sys.platform == "darwin" else 1024
    return Run(
        code=process.returncode,
        out=out.read_text(errors="replace"),
        err=err.read_text(errors="replace"),
        seconds=seconds,
        cpu_seconds=usage.ru_utime,
        peak_bytes=usage.ru_maxrss * unit,
        expired=expired.is_set(),
    )
