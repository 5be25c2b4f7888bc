"""The command lines of this user's processes while a test runs, as other users could read them."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_SECONDS = 0.01


@contextmanager
def watched() -> Iterator[set[str]]:
    """The command lines of all processes that begin meanwhile; filled until the end. Empty where
    the system has no ``/proc``."""
    found: set[str] = set()
    ended = threading.Event()
    known = {path.name for path in Path("/proc").glob("[0-9]*")}

    def look() -> None:
        for path in Path("/proc").glob("[0-9]*"):
            if path.name not in known:
                with suppress(OSError):
                    line = (path / "cmdline").read_bytes()
                    found.add(line.replace(b"\0", b" ").decode(errors="replace"))

    def watch() -> None:
        while not ended.wait(_SECONDS):
            look()

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield found
    finally:
        ended.set()
        thread.join()
