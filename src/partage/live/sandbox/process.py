"""Processes that outlive the command that starts them, known again by their command line.

A process id alone says little: once its process has ended, the number goes to another. So a
process is asked for by its id together with how its command line ends, and nothing is ever sent to
one whose command line ends otherwise. Linux has command lines in ``/proc``; elsewhere ``ps`` tells.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from partage.errors import PartageError

_PROC = Path("/proc")
_KILL_SECONDS = 30.0
_POLL_SECONDS = 0.05


def spawn(command: Sequence[str], log: Path) -> int:
    """Start a program, named by its path, in a session of its own: no Ctrl-C of ours reaches it.

    Its output is appended to ``log``. Gives its process id.
    """
    append = os.O_WRONLY | os.O_CREAT | os.O_APPEND
    pid = os.posix_spawn(
        command[0],
        list(command),
        os.environ,
        file_actions=[
            (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
            (os.POSIX_SPAWN_OPEN, 1, os.fspath(log), append, 0o644),
            (os.POSIX_SPAWN_DUP2, 1, 2),
        ],
        setsid=True,
    )
    # For a moment the new program has no command line yet.
    while not _command_line(pid) and _lives(pid, command[-1]):
        time.sleep(0.001)
    return pid


def runs(pid: int, ending: str) -> bool:
    """Whether a process has this id and a command line (words joined by a space) that ends so."""
    return _lives(pid, ending) and _command_line(pid).endswith(ending)


def end(processes: Mapping[int, str], patience: float) -> None:
    """End processes (id → ending) by SIGTERM; those left after ``patience`` seconds by SIGKILL.

    No patience is SIGKILL at once. Returns when none is left; raises PartageError where that does
    not come, as while the system writes for one to a disk that hangs.
    """
    if patience:
        _end(processes, signal.SIGTERM, patience)
    left = _end(processes, signal.SIGKILL, _KILL_SECONDS)
    if left:
        ids = ", ".join(map(str, left))
        raise PartageError(f"killed, but still there after {_KILL_SECONDS:.0f} s: process {ids}")


def _end(processes: Mapping[int, str], how: signal.Signals, seconds: float) -> list[int]:
    """Gives the ids of those that are left after ``seconds``."""
    left = [pid for pid, ending in processes.items() if runs(pid, ending)]
    for pid in left:
        with suppress(ProcessLookupError):
            os.kill(pid, how)
    deadline = time.monotonic() + seconds
    while left and time.monotonic() < deadline:
        time.sleep(_POLL_SECONDS)
        left = [pid for pid in left if _lives(pid, processes[pid])]
    return left


def _lives(pid: int, ending: str) -> bool:
    """Whether it has not wholly ended: a child is there a moment longer than its command line.

    A child that has ended is listed by the system until it is asked for here.
    """
    try:
        return os.waitpid(pid, os.WNOHANG) == (0, 0)
    except ChildProcessError:
        return _command_line(pid).endswith(ending)


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
