"""Peak resident memory of this process and its descendants: Java, Python workers.

Sampled from Linux's ``/proc``; None on systems without it. Pages that processes share count once
per process, so the figure is an upper bound.
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
    parents: dict[int, int] = {}
    pages: dict[int, int] = {}
    for folder in PROC.glob("[0-9]*"):
        with suppress(OSError):  # the process has ended
            # the name in parentheses may contain anything; the state and the parent follow it
            fields = (folder / "stat").read_text(errors="replace").rpartition(")")[2].split()
            parents[int(folder.name)] = int(fields[1])
            pages[int(folder.name)] = int((folder / "statm").read_text().split()[1])
    if root not in pages:
        return None

    def is_under(process: int) -> bool:
        while process != root and process in parents:
            process = parents[process]
        return process == root

    return sum(pages[process] for process in pages if is_under(process)) * os.sysconf(
        "SC_PAGE_SIZE"
    )
