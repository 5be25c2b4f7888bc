"""Processes that outlive the command that starts them, known again by their command line.

A process id alone says little: once its process has ended, the number goes to another. So a process
is asked for by its id together with how its command line ends, and nothing is ever sent to one whose
command line ends otherwise. Linux tells command lines in ``/proc``, others through ``ps``.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

_PROC = Path("/proc")
_SECONDS = 0.05


def spawn(command: Sequence[str], log: Path) -> int:
    """Start a program, by its path, in a session of its own: no Ctrl-C of ours reaches it.

    Its output is appended to ``log``. Gives its process id.
    """
    append = os.O_WRONLY | os.O_CREAT | os.O_APPEND
    return os.posix_spawn(
        command[0],
        command,
        os.environ,
        file_actions=[
            (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
            (os.POSIX_SPAWN_OPEN, 1, os.fspath(log), append, 0o644),
            (os.POSIX_SPAWN_DUP2, 1, 2),
        ],
        setsid=True,
    )


def runs(pid: int, ending: str) -> bool:
    """Whether a process has this id and a command line (words joined by a space) that ends so."""
    with suppress(ChildProcessError):
        os.waitpid(pid, os.WNOHANG)  # a child that has ended is listed until its parent asks
    return _command_line(pid).endswith(ending)


def end(processes: Mapping[int, str], patience: float) -> None:
    """End processes (id → ending): by SIGTERM, and after ``patience`` seconds by SIGKILL.

    Returns when none of them is left.
    """
    for kind, seconds in ((signal.SIGTERM, patience), (signal.SIGKILL, 30.0)):
        left = [pid for pid, ending in processes.items() if runs(pid, ending)]
        if kind == signal.SIGTERM and not patience:
            continue
        for pid in left:
            with suppress(ProcessLookupError):
                os.kill(pid, kind)
        deadline = time.monotonic() + seconds
        while left and time.monotonic() < deadline:
            time.sleep(_SECONDS)
            left = [pid for pid in left if runs(pid, processes[pid])]


def _command_line(pid: int) -> str:
    """The words of a process's command line; nothing where it has ended."""
    if (_PROC / "self" / "cmdline").exists():
        try:
            words = (_PROC / str(pid) / "cmdline").read_bytes()
        except OSError:
            return ""
        return os.fsdecode(words.rstrip(b"\0").replace(b"\0", b" "))
    ps = ["ps", "-ww", "-o", "command=", "-p", str(pid)]
    return subprocess.run(ps, capture_output=True, text=True).stdout.rstrip("\n")
