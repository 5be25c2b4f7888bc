"""Memory and processor time of this process and its descendants: Java, Python workers.

Read from Linux's ``/proc``; None on systems without it. Pages that processes share count once per
process, so the figure of memory is an upper bound. Processor time does not depend on what else the
machine does, unlike seconds.
"""

from __future__ import annotations

import os
import threading
from contextlib import suppress
from pathlib import Path

PROC = Path("/proc")
INTERVAL = 0.1


class Peak:
    """``with Peak() as peak: ...``; then ``peak.bytes``, None if it is unknown."""

    bytes: int | None = None

    def __enter__(self) -> Peak:
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def _watch(self) -> None:
        while True:
            now = resident(os.getpid())
            if now is not None:
                self.bytes = max(now, self.bytes or 0)
            if self._ended.wait(INTERVAL):
                return


def resident(root: int) -> int | None:
    """Resident bytes of a process and its descendants; None without ``/proc``."""
    pages = 0
    for process in (found := _family(root)):
        with suppress(OSError):  # the process has ended
            pages += int((PROC / str(process) / "statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") if found else None


def processor_seconds(root: int) -> float | None:
    """Seconds of processors that a process and its descendants have used, those that have ended
    included; None without ``/proc``."""
    found = _family(root)
    ticks = sum(sum(map(int, fields[11:15])) for fields in found.values())
    return ticks / os.sysconf("SC_CLK_TCK") if found else None


def _family(root: int) -> dict[int, list[str]]:
    """The process and its descendants, with the fields of ``stat`` from the state on."""
    every: dict[int, list[str]] = {}
    for folder in PROC.glob("[0-9]*"):
        with suppress(OSError):  # the process has ended
            # the name in parentheses may contain anything; the state and the parent follow it
            text = (folder / "stat").read_text(errors="replace")
            every[int(folder.name)] = text.rpartition(")")[2].split()

    def is_under(process: int) -> bool:
        while process != root and process in every:
            process = int(every[process][1])
        return process == root

    return {process: fields for process, fields in every.items() if is_under(process)}
