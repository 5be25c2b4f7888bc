"""Shared by the benchmarks: sizes, arguments, and processes with their cost and time limit."""

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

# Measured as users run it: Python caches bytecode even if the environment disables that.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

SIZES = ("small", "medium", "large")
"""Sizes of a comparison; a larger one includes the smaller ones."""


def within(size: str) -> tuple[str, ...]:
    """The sizes up to and including this one."""
    return SIZES[: SIZES.index(size) + 1]


def add_arguments(parser: argparse.ArgumentParser, *, seed: bool = True) -> None:
    """Add the options of every comparison; ``seed``: also ``--seed``."""
    parser.add_argument("--size", choices=SIZES, default="medium", help="how much to measure")
    if seed:
        parser.add_argument("--seed", type=int, default=1, help="seed of generated input")
    parser.add_argument(
        "--keep", action="store_true", help="save the figures in benchmarks/results"
    )


@dataclass(frozen=True)
class Run:
    """A finished process: its exit code, output and cost.

    ``seconds`` are wall time, ``cpu_seconds`` user time of all its threads and waited-for
    children, ``peak_bytes`` the highest resident set. ``expired``: it was killed at its limit.
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
    """Run a command, for at most ``limit`` seconds. Output goes to files, so no pipe can block
    it."""
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
