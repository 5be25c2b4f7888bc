"""Processes that outlive the command that starts them, identified by id and command line.

An id is not enough: when its process has ended, the system gives the number to another. So a
process is identified by its id together with the end of its command line, and no signal is sent to
one with another command line. Linux has command lines in ``/proc``; elsewhere ``ps`` prints them.
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
    """Start a program, named by its path, in a new session, which Ctrl-C does not reach.

    Appends its output to ``log``. Returns its process id.
    """
    append = os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_APPEND
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
    # The command line may appear a moment after the process.
    while not _command_line(pid) and _lives(pid, command[-1]):
        time.sleep(0.001)
    return pid


def runs(pid: int, ending: str) -> bool:
    """Whether a process with this id runs whose command line, joined by spaces, ends so."""
    return _lives(pid, ending) and _command_line(pid).endswith(ending)


def end(processes: Mapping[int, str], timeout: float) -> None:
    """End processes (id → end of its command line) by SIGTERM; those left after ``timeout``
    seconds by SIGKILL. A timeout of 0 is SIGKILL at once.

    Returns when none is left. Raises PartageError if one survives SIGKILL, as it does while the
    system waits for a disk.
    """
    if timeout:
        _end(processes, signal.SIGTERM, timeout)
    left = _end(processes, signal.SIGKILL, _KILL_SECONDS)
    if left:
        ids = ", ".join(map(str, left))
        raise PartageError(f"killed, but still running after {_KILL_SECONDS:.0f} s: process {ids}")


def _end(processes: Mapping[int, str], how: signal.Signals, seconds: float) -> list[int]:
    """Send the signal and return the ids of those left after ``seconds``."""
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
    """Whether the process still exists. A child exists a moment longer than its command line, until
    it is waited for here."""
    try:
        return os.waitpid(pid, os.WNOHANG) == (0, 0)
    except ChildProcessError:
        return _command_line(pid).endswith(ending)


def _command_line(pid: int) -> str:
    """A process's command line, joined by spaces; empty if it has ended."""
    if (_PROC / "self" / "cmdline").exists():
        try:
            words = (_PROC / str(pid) / "cmdline").read_bytes()
        except OSError:
            return ""
        return os.fsdecode(words.rstrip(b"\0").replace(b"\0", b" "))
    ps = ["ps", "-ww", "-o", "command=", "-p", str(pid)]
    return subprocess.run(ps, capture_output=True, text=True).stdout.rstrip("\n")
