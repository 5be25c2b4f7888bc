"""What the benchmarks share: a process with its cost and its limit, and a Markdown table."""

from __future__ import annotations

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


def table(head: Sequence[str], lines: Sequence[Sequence[str]], words: int) -> str:
    """A Markdown table with columns of one width; the first ``words`` columns hold words, the
    others numbers."""
    every = [head, *lines]
    width = [max(len(line[i]) for line in every) for i in range(len(head))]

    def put(line: Sequence[str]) -> str:
        text = [
            cell.ljust(w) if i < words else cell.rjust(w)
            for i, (cell, w) in enumerate(zip(line, width, strict=True))
        ]
        return "| " + " | ".join(text) + " |"

    rule = [("-" * w) if i < words else "-" * (w - 1) + ":" for i, w in enumerate(width)]
    return "\n".join(map(put, [head, rule, *lines]))
