"""What a run did, line by line, in the plan's directory: whatever ends it, the next goes on.

Every line is one JSON object with ``at`` (UTC) and ``event``, written and synced before what it
announces is done. Of a line that a crash cut short nothing is believed. One run at a time holds it.
One in which nothing was written is removed: a plan that was refused has not begun.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Callable
from contextlib import ExitStack, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, BinaryIO, Self

from partage.brokers.directory import JOURNAL
from partage.errors import MISSHAPEN, InputError, PartageError
from partage.live.admin.states import Key, Throttles


def _now() -> datetime:
    return datetime.now(UTC)


def is_held(directory: str | os.PathLike[str]) -> bool:
    """Whether a run has the journal of a plan directory now. Raises InputError for one that cannot
    be read."""
    path = Path(directory) / JOURNAL
    try:
        with path.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except FileNotFoundError:
        return False
    except BlockingIOError:
        return True
    except OSError as error:
        raise InputError(str(path), f"cannot be read ({error.strerror})") from None
    return False


def _held(path: Path) -> BinaryIO:
    """The file at the path, begun if there is none, and locked."""
    try:
        while True:
            with ExitStack() as opened:
                file = opened.enter_context(path.open("a+b"))
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                with suppress(FileNotFoundError):  # who had it may have removed it meanwhile
                    if os.path.samestat(os.fstat(file.fileno()), path.stat()):
                        opened.pop_all()
                        return file
    except BlockingIOError:
        raise PartageError(f"{path.parent}: another partage is carrying it out") from None
    except OSError as error:
        raise InputError(str(path), f"cannot be written ({error.strerror})") from None


def _entries(text: bytes, path: Path) -> list[dict[str, Any]]:
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        try:
            entry = json.loads(line)
            entry["event"]
        except MISSHAPEN:
            raise InputError(str(path), f"line {number}: is no entry of a journal") from None
        found.append(entry)
    return found


class Journal:
    """``with Journal.open(directory) as journal``. Raises PartageError where another run has it,
    InputError for a file that is no journal or cannot be written."""

    def __init__(self, path: Path, clock: Callable[[], datetime] = _now) -> None:
        self.path = path
        self._clock = clock
        self._file = _held(path)
        try:
            self._file.seek(0)
            text = self._file.read()
            whole = text.rfind(b"\n") + 1
            self.entries = _entries(text[:whole], path)
            if whole < len(text):
                self._file.truncate(whole)
        except BaseException:
            self._file.close()
            raise

    @classmethod
    def open(cls, directory: str | os.PathLike[str]) -> Self:
        """The journal of a plan directory, begun if there is none."""
        return cls(Path(directory) / JOURNAL)

    def write(self, event: str, **said: Any) -> None:
        """One line more, on the disk when this returns."""
        entry = {"at": self._clock().strftime("%Y-%m-%dT%H:%M:%SZ"), "event": event, **said}
        self.entries.append(entry)
        self._file.write(json.dumps(entry, separators=(",", ":")).encode() + b"\n")
        self._file.flush()
        os.fsync(self._file.fileno())

    def close(self) -> None:
        """Let others have it; one without a line is removed first."""
        if not self.entries:
            with suppress(OSError):  # gone already, or not ours to remove
                self.path.unlink()
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # ------------------------------------------------------------------ what it tells

    @property
    def throttles_before(self) -> Throttles:
        """The throttles as they were before any of ours, of all that are not put back yet: the
        first that was noted of each broker and topic. Empty values: nothing was set."""
        found = Throttles()
        for entry in self.entries:
            if entry["event"] == "throttles before":
                for broker, own in entry["brokers"].items():
                    found.brokers.setdefault(int(broker), own)
                for topic, own in entry["topics"].items():
                    found.topics.setdefault(topic, own)
            elif entry["event"] == "throttles put back":
                for broker in entry["brokers"]:
                    found.brokers.pop(int(broker), None)
                for topic in entry["topics"]:
                    found.topics.pop(topic, None)
        return found

    @property
    def submitted(self) -> set[Key]:
        """Partitions that a run has asked the cluster to move."""
        return {
            (topic, number)
            for entry in self.entries
            if entry["event"] == "submitted"
            for topic, number in entry["partitions"]
        }
