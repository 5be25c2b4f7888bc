"""The journal of a plan directory: what runs did, line by line, so that the next run can resume
whatever ended the one before.

Every line is one JSON object with ``at`` (UTC) and ``event``. A line is on disk before the step
that it announces is taken; a line that a crash cut short is ignored, and removed when the next one
is written. One run at a time holds the journal. A journal without a line is removed: the plan was
refused and has not begun.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
from collections.abc import Callable
from contextlib import ExitStack, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, BinaryIO, Self

from partage.brokers.directory import JOURNAL, MARKER
from partage.errors import InputError, PartageError
from partage.files import MAX_BYTES
from partage.live.admin.states import Key, Throttles
from partage.live.execution.execution_plan import Direction, ExecutionPlan
from partage.live.execution.journal_entries import (
    CLAIMED,
    STARTED,
    SUBMITTED,
    THROTTLES_RESTORED,
    THROTTLES_SAVED,
    Entry,
    parse_entries,
)
from partage.outputs import open_to_append, remove_file

_START = b'{"at":"0000-00-00T00:00:00Z","event":"'
"""How every entry begins; 0 stands for a digit."""


def _now() -> datetime:
    return datetime.now(UTC)


def _without_waiting(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NONBLOCK)  # a named pipe would wait for a writer


def is_locked(directory: str | os.PathLike[str]) -> bool:
    """Whether a run holds the journal of a plan directory now. Raises InputError for a journal that
    cannot be read."""
    return _holds(directory, _is_locked)


def is_rolled_back(directory: str | os.PathLike[str]) -> bool:
    """Whether the last run of a plan, which may still be running, is a rollback. Raises InputError
    for a journal that cannot be read."""
    return _holds(directory, _is_rolled_back)


def _holds(directory: str | os.PathLike[str], true_of: Callable[[BinaryIO], bool]) -> bool:
    """Whether something is true of the journal, which is not changed; False where there is none."""
    path = Path(directory) / JOURNAL
    try:
        with open(path, "rb", opener=_without_waiting) as file:
            return true_of(file)
    except FileNotFoundError:
        return False
    except OSError as error:
        raise InputError(str(path), f"cannot be read ({error.strerror})") from None


def _is_locked(file: BinaryIO) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    return False


def _is_rolled_back(file: BinaryIO) -> bool:
    text = file.read(MAX_BYTES)
    entries, _ = parse_entries(text[: text.rfind(b"\n") + 1])
    runs = [entry.get("direction") for entry in entries if entry["event"] == STARTED]
    return runs[-1:] == [Direction.ROLLBACK]


def _open_locked(path: Path) -> BinaryIO:
    """The file, created if there is none, and locked."""
    try:
        while True:
            with ExitStack() as opened:
                file = opened.enter_context(open_to_append(path, root=path.parent))
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                # the run that had it may have removed it between our open and our lock
                with suppress(FileNotFoundError):
                    if os.path.samestat(os.fstat(file.fileno()), path.lstat()):
                        opened.pop_all()
                        return file
    except BlockingIOError:
        raise PartageError(f"{path.parent}: another partage process is applying it") from None
    except OSError as error:
        raise InputError(str(path), f"cannot be written ({error.strerror})") from None


def _was_cut(text: bytes) -> bool:
    """Whether the text is the start of an entry."""
    return re.sub(rb"\d", b"0", text[: len(_START)]) == _START[: len(text)]


def _saved_topics(entry: Entry) -> set[str]:
    return set(entry["topics"]) if entry["event"] == THROTTLES_SAVED else set()


class Journal:
    """``with Journal.open(directory) as journal``. Raises PartageError if another run holds it,
    InputError for a file that is not a journal or cannot be written.

    ``damaged``: lines that are not entries, with their numbers. They are an InputError too, unless
    the journal is opened ``tolerant``: for a rollback, which can do without it."""

    def __init__(
        self, path: Path, clock: Callable[[], datetime] = _now, tolerant: bool = False
    ) -> None:
        self.path = path
        self._clock, self._tolerant = clock, tolerant
        self._file = _open_locked(path)
        self._cut_at: int | None = None
        self._unended = False
        try:
            self._file.seek(0)
            text = self._file.read(MAX_BYTES + 1)
            if len(text) > MAX_BYTES:
                raise InputError(str(path), f"has more than {MAX_BYTES:,} bytes")
            complete = text.rfind(b"\n") + 1
            self.entries, self.damaged = parse_entries(text[:complete])
            if complete < len(text) and _was_cut(text[complete:]):
                self._cut_at = complete
            elif complete < len(text):
                number = len(self.entries) + len(self.damaged) + 1
                self.damaged.append(f"line {number}: is not a journal entry")
                self._unended = True
            self._refuse_damaged()
        except BaseException:
            self._file.close()
            raise

    def _refuse_damaged(self) -> None:
        if self.damaged and not self._tolerant:
            raise InputError(
                str(self.path),
                f"{self.damaged[0]}: restore the file from a copy, or undo the plan with "
                "partage rollback, which does not need it",
            )

    @classmethod
    def open(cls, directory: str | os.PathLike[str], tolerant: bool = False) -> Self:
        """The journal of a plan directory, created if there is none."""
        return cls(Path(directory) / JOURNAL, tolerant=tolerant)

    def write(self, event: str, **fields: Any) -> None:
        """Append a line; it is on disk when this returns. Raises PartageError where that cannot
        be."""
        entry = {"at": self._clock().strftime("%Y-%m-%dT%H:%M:%SZ"), "event": event, **fields}
        self.entries.append(entry)
        try:
            self._append(json.dumps(entry, separators=(",", ":")).encode() + b"\n")
        except OSError as error:
            problem = f"cannot be written ({error.strerror}): run the same command again after that"
            raise PartageError(f"{self.path}: {problem}") from None

    def _append(self, line: bytes) -> None:
        if self._cut_at is not None:
            self._file.truncate(self._cut_at)
            self._cut_at = None
        elif self._unended:
            self._file.write(b"\n")
            self._unended = False
        self._file.write(line)
        self._file.flush()
        os.fsync(self._file.fileno())

    def close(self) -> None:
        """Release the lock; a journal without a line is removed first."""
        if not self.entries and not self.damaged and self._cut_at is None:
            with suppress(InputError):  # in a directory that is read-only
                remove_file(self.path, root=self.path.parent)
        with suppress(OSError):  # what could not be written is reported already
            self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # ------------------------------------------------------------------ what runs recorded

    def start(self, plan: ExecutionPlan, throttle: int | str | None) -> None:
        """Record that a run begins, its plan, and the ids that topics had when the first began."""
        self.write(
            STARTED,
            plan=plan.digest,
            direction=plan.direction,
            throttle=throttle,
            topic_ids={t: one for t, one in plan.topic_ids.items() if t not in self.topic_ids},
        )

    def check_plan(self, plan: ExecutionPlan) -> None:
        """Raise InputError if a run of another plan.json wrote the journal, or saved throttles of
        topics that the plan does not change: those are ``damaged``, and not restored, where the
        journal is opened tolerant."""
        begun = {entry.get("plan") for entry in self.entries if entry["event"] == STARTED} - {None}
        if begun - {plan.digest}:
            raise InputError(
                plan.directory,
                f"a run has begun with another {MARKER}, as {JOURNAL} shows: put that one back, or "
                "plan again into another directory",
            )
        known = {*plan.topics, *plan.changed_topics}
        topics = {topic for entry in self.entries for topic in _saved_topics(entry) - known}
        self.entries = [entry for entry in self.entries if _saved_topics(entry) <= known]
        self.damaged += [f"saved throttles of {t}, which does not change" for t in sorted(topics)]
        self._refuse_damaged()

    @property
    def topic_ids(self) -> dict[str, str]:
        """The ids that topics had when the first run began."""
        found: dict[str, str] = {}
        for entry in self.entries:
            if entry["event"] == STARTED:
                found = entry.get("topic_ids", {}) | found
        return found

    @property
    def claims(self) -> set[str]:
        """The claims on the cluster of this plan's runs (``claim.py``)."""
        return {entry["name"] for entry in self.entries if entry["event"] == CLAIMED}

    def save_throttles(self, throttles: Throttles) -> None:
        """Record throttles as they are before this run changes them. An empty rate: not set."""
        self.write(
            THROTTLES_SAVED,
            brokers={str(broker): own for broker, own in throttles.brokers.items()},
            topics=throttles.topics,
        )

    def throttles_restored(self, brokers: list[int], topics: list[str]) -> None:
        """Record that these have their throttles of before."""
        self.write(THROTTLES_RESTORED, brokers=brokers, topics=topics)

    @property
    def saved_throttles(self) -> Throttles:
        """The throttles from before the first run, of all brokers and topics that are not restored
        yet. An empty rate: not set."""
        found = Throttles()
        for entry in self.entries:
            if entry["event"] == THROTTLES_SAVED:
                for broker, own in entry["brokers"].items():
                    found.brokers[int(broker)] = own | found.brokers.get(int(broker), {})
                for topic, own in entry["topics"].items():
                    found.topics.setdefault(topic, own)
            elif entry["event"] == THROTTLES_RESTORED:
                for broker in entry["brokers"]:
                    found.brokers.pop(int(broker), None)
                for topic in entry["topics"]:
                    found.topics.pop(topic, None)
        return found

    def submit(self, keys: list[Key]) -> None:
        """Record partitions whose reassignment is about to be requested."""
        self.write(SUBMITTED, partitions=[list(key) for key in keys])

    @property
    def submitted(self) -> set[Key]:
        """Partitions whose reassignment some run has requested."""
        return {
            (topic, number)
            for entry in self.entries
            if entry["event"] == SUBMITTED
            for topic, number in entry["partitions"]
        }
