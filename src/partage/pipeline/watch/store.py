"""The directory of a watch: a growing profile, and the state from which a later run resumes.

    watch.json           the marker: the settings that a later run must share
    profile.json  partitions/  keys/  windows/  rejected/     a profile, see docs/plan-directory.md
    plans/               plans written for alerts
    open/                open windows
    state.json           the last batch, watermark and counts
    new/                 what executors write, until it is moved to its place
    checkpoint/          of Structured Streaming

Exactly once: Spark numbers the batches, and after a crash hands out the same batch with the same
number. The result of a batch depends only on the batch and the state before it, and every file is
written under a hidden name, or in ``new``, and then renamed. The state, which names the batch that
the open windows are of, is written last; its rename commits the batch. After a kill before the
commit, the batch is processed again from the same state, and its rows replace those of the killed
run; after the commit, its number shows that it is done. So at any moment the files are plain
Parquet without duplicates, for readers that know of no log.

A file of windows is named after the first window that it had. A batch's windows start after those
of all batches before it; so they are added to the last file, which is rewritten, until it covers an
hour, or sixty windows if that is longer, or has ``ROWS_PER_FILE`` rows. Then others follow.
``partitions`` has every partition ever seen, measured over the last closed windows only;
``rejected`` has the latest rejected rows. All tables have the columns of a profile's.

The executors hold and write the windows (``tables``). This process holds a row per partition, the
rejected rows that are kept, and the rows of one file, for any number of records and windows.
"""

from __future__ import annotations

import fcntl
import io
import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

import partage
from partage.errors import InputError, PartageError
from partage.files import parse_json, read_text, to_json
from partage.json_input import Int64, check_json
from partage.measured_loads import FORMAT_VERSION as PROFILE_VERSION
from partage.measured_loads import MARKER as PROFILE
from partage.outputs import (
    check_directory,
    json_with_checksum,
    make_folder,
    move_file,
    new_directory,
    refuse_link,
    remove_file,
    write_file,
)
from partage.pipeline.profile import SCHEMAS
from partage.pipeline.saving import ROWS_PER_FILE
from partage.pipeline.watch import windows
from partage.pipeline.watch.tables import remove_unfinished
from partage.redaction import redacted

MARKER = "watch.json"
FORMAT_VERSION = 2
PLANS = "plans"

REJECTED_KEPT = 10_000
"""Rows that ``rejected`` keeps, the latest ones; all are counted."""

_STATE = "state.json"
_OPEN, _NEW = "open", "new"
_CHECKPOINT = "checkpoint"
_METADATA = b"partage"
_HOUR = 3600
_WINDOWS_A_FILE = 60
_PART = "part-00000.parquet"
_WINDOWS_FILE = re.compile(r"(\d{4}-\d\d-\d\dT\d\d-\d\d-\d\dZ)(?:-(\d{1,9}))?\.parquet")
_OPEN_FILE = re.compile(r"(\d{1,18})-\d{1,9}\.parquet")
_TABLES = {
    "partitions": SCHEMAS["partitions"],
    "keys": SCHEMAS["keys"],
    "windows": windows.SCHEMA,
    "rejected": SCHEMAS["rejected"],
}


@dataclass(frozen=True)
class Settings:
    """What must not change between runs: the source of the records, and the window in seconds."""

    records: str
    window: int


class State(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The state after batch number ``batch``. Times are in microseconds since 1970.

    ``records`` and ``bytes`` count closed windows; ``start`` is the start of the first window,
    ``end`` the end of the last closed one (None before there is one); ``unfair``: whether an alert
    is active; ``open_windows`` and their ``open_records`` are in the ``open_files`` files of batch
    number ``open_batch``.
    """

    batch: Int64 = -1
    watermark: Int64 = 0
    records: Int64 = 0
    bytes: Int64 = 0
    late: Int64 = 0
    rejected: Int64 = 0
    start: Int64 | None = None
    end: Int64 | None = None
    unfair: bool = False
    open_windows: Int64 = 0
    open_records: Int64 = 0
    open_batch: Int64 = -1
    open_files: Int64 = 0


def check(out: str, settings: Settings) -> None:
    """Raise InputError now, before Spark starts, if ``opened`` would refuse the directory."""
    marker = Path(out) / MARKER
    for name in ("", *_TABLES, PLANS, _CHECKPOINT, _OPEN, _NEW, MARKER):
        refuse_link(Path(out) / name)
    if not marker.is_file():
        check_directory(out, MARKER)
    if Path(out).resolve().is_relative_to(settings.records):
        raise InputError(
            out,
            "is inside the folder of records: name a directory outside of it",
        )
    if marker.is_file():
        _check_settings(out, marker, settings)


@contextmanager
def opened(out: str, settings: Settings) -> Iterator[Store]:
    """The directory, created if necessary and locked by this process.

    Raises InputError if something else is there, PartageError if another watch uses it.
    """
    check(out, settings)
    marker = Path(out) / MARKER
    if not marker.is_file():
        _create(out, settings)
    lock = os.open(marker, os.O_RDONLY | os.O_NOFOLLOW)
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise PartageError(f"{out}: another partage watch is using this directory") from None
        remove_unfinished(Path(out) / _NEW)
        for name in (*_TABLES, PLANS, _CHECKPOINT, _OPEN):
            make_folder(Path(out) / name, root=out)
        yield Store(Path(out), settings)
    finally:
        os.close(lock)


class Store:
    """The files of the directory; see the head of this module."""

    def __init__(self, path: Path, settings: Settings) -> None:
        self.path = path
        self._window = settings.window
        self._source = redacted(settings.records)

    @property
    def checkpoint(self) -> str:
        """The checkpoint folder, as a URL for Spark."""
        return f"file:{self.path.resolve() / _CHECKPOINT}"

    def state(self) -> State:
        """The state that the last run left. Raises InputError if it does not match Spark's
        checkpoint: to resume would lose records."""
        file = self.path / _STATE
        state = State()
        if file.exists():
            state = _read_state(file)
        handed_out = self._handed_out()
        if not state.batch <= handed_out <= state.batch + 1:
            raise InputError(
                os.fspath(self.path),
                f"{_STATE} is of batch {state.batch}, but {_CHECKPOINT}/ of batch {handed_out}: "
                "they do not match, name another directory",
            )
        return state

    def _handed_out(self) -> int:
        """The number of the last batch that Spark has planned, -1 if there is none."""
        offsets = self.path / _CHECKPOINT / "offsets"
        numbers = [int(file.name) for file in offsets.glob("*") if file.name.isdecimal()]
        return max(numbers, default=-1)

    @contextmanager
    def new(self) -> Iterator[Path]:
        """A folder for what executors write, removed at the end."""
        folder = self.path / _NEW
        make_folder(folder, root=self.path)
        try:
            yield folder
        finally:
            remove_unfinished(folder)

    def windows_to_extend(self, first: int, rows: int) -> tuple[Path, int] | None:
        """The file of windows to which a batch's are added, and how many of its rows stay: the last
        file, unless it is of another hour or would have too many rows. The batch's windows start at
        ``first`` or later; those in the file that do are of a killed run."""
        before = [(start, file) for start, file in self._windows_files() if start < first]
        if not before:
            return None
        begin, last = before[-1]
        if begin // self._file_span != first // self._file_span:
            return None
        earlier = pc.less(windows.starts(_read(last, windows.SCHEMA)), first)
        kept = int(pc.sum(earlier).as_py() or 0)
        return (last, kept) if kept + rows <= ROWS_PER_FILE else None

    def put_windows(self, files: Sequence[Path], first: int, extended: Path | None) -> None:
        """Move a batch's windows to their place: ``extended``, which they have the rows of, or new
        files."""
        for start, file in self._windows_files():
            if start >= first:  # of a killed run
                remove_file(file, root=self.path, recognised=True)
        for number, file in enumerate(files):
            more = f"-{number}" if number else ""
            place = extended or self.path / "windows" / f"{stamp(first)}{more}.parquet"
            move_file(file, place, root=self.path)

    def windows_between(self, begin: int, end: int) -> Iterator[pa.Table]:
        """The closed windows that start at or after ``begin`` and before ``end``, file by file."""
        found = self._windows_files()
        starts = sorted({start for start, _ in found})
        next_start = dict(pairwise(starts))
        for first, file in found:
            if first < end and next_start.get(first, end) > begin:
                table = _read(file, windows.SCHEMA)
                start = windows.starts(table)
                yield table.filter(pc.and_(pc.greater_equal(start, begin), pc.less(start, end)))

    def _windows_files(self) -> list[tuple[int, Path]]:
        """The files of windows with the start of the first window, in order."""
        found = []
        for file in (self.path / "windows").iterdir():
            if name := _WINDOWS_FILE.fullmatch(file.name):
                with suppress(ValueError):  # the 31st of February
                    found.append((_from_stamp(name[1]), int(name[2] or 0), file))
        return [(start, file) for start, _, file in sorted(found)]

    def open_files(self, state: State) -> list[Path]:
        """The files of the open windows. Raises InputError if one is missing."""
        files = []
        for number in range(state.open_files):
            files.append(self._open_file(state.open_batch, number))
            if not files[-1].is_file():
                raise InputError(os.fspath(files[-1]), "is missing: name another directory")
        return files

    def put_open(self, files: Sequence[Path], batch: int) -> None:
        """Move the windows that are open after a batch to their place."""
        for number, file in enumerate(files):
            move_file(file, self._open_file(batch, number), root=self.path)

    def _open_file(self, batch: int, number: int) -> Path:
        return self.path / _OPEN / f"{batch:08}-{number}.parquet"

    def add_rejected(self, batch: int, rows: pa.Table) -> None:
        """Keep rejected rows; the oldest are dropped when there are too many. The file's metadata
        has the number of rows of each batch."""
        file = self.path / "rejected" / _PART
        table = _read(file, _TABLES["rejected"])
        counts = _rows_by_batch(file, table)
        kept = {number: count for number, count in counts.items() if number < batch}
        table = pa.concat_tables([table.slice(0, sum(kept.values())), rows])
        kept[batch] = rows.num_rows
        surplus = max(0, table.num_rows - REJECTED_KEPT)
        table = table.slice(surplus)
        while surplus:
            oldest = min(kept)
            dropped = min(surplus, kept[oldest])
            surplus -= dropped
            kept[oldest] -= dropped
            if not kept[oldest]:
                del kept[oldest]
        text = json.dumps({str(number): count for number, count in kept.items()}).encode()
        self._write(file, table.replace_schema_metadata({_METADATA: text}))

    def partitions(self) -> pa.Table:
        """The current ``partitions`` of the profile."""
        return _read(self.path / "partitions" / _PART, _TABLES["partitions"])

    def write_profile(self, partitions: pa.Table, state: State, begin: int, end: int) -> None:
        """The profile of the closed windows from ``begin`` to ``end``."""
        self._write(self.path / "partitions" / _PART, partitions)
        about = {
            "format_version": PROFILE_VERSION,
            "partage": partage.__version__,
            "sources": [self._source],
            "window_seconds": self._window,
            "top_keys": 0,
            "from": shown(begin) if end else None,
            "to": shown(end) if end else None,
            "totals": {
                "records": pc.sum(partitions["records"]).as_py() or 0,
                "bytes": pc.sum(partitions["bytes"]).as_py() or 0,
                "rejected": state.rejected,
                "topics": len(pc.unique(partitions["topic"])),
                "partitions": partitions.num_rows,
            },
            "watch": counts(state),
        }
        write_file(self.path / PROFILE, json_with_checksum(about, indent=2), root=self.path)

    def commit(self, state: State) -> None:
        """Commit the batch, then remove the windows that were open before it."""
        text = to_json(msgspec.to_builtins(state), indent=2)
        write_file(self.path / _STATE, text, root=self.path, recognised=True)
        for file in (self.path / _OPEN).iterdir():
            name = _OPEN_FILE.fullmatch(file.name)
            if name and int(name[1]) != state.open_batch:
                remove_file(file, root=self.path, recognised=True)

    def _write(self, file: Path, table: pa.Table) -> None:
        """Replace a file that was read and recognised before, or that is new."""
        out = io.BytesIO()
        pq.write_table(table, out, compression="zstd")
        write_file(file, out.getvalue(), root=self.path, recognised=True)

    @property
    def _file_span(self) -> int:
        return max(_HOUR, _WINDOWS_A_FILE * self._window) * windows.MICROSECONDS

    def offsets(self, batch: int) -> Mapping[str, Mapping[str, int]] | None:
        """The offsets by topic and partition at which a batch of Kafka ends; None if unknown."""
        try:
            lines = (self.path / _CHECKPOINT / "offsets" / str(batch)).read_text().splitlines()
            return check_json(json.loads(lines[-1]), dict[str, dict[str, Int64]], "")
        except (InputError, OSError, IndexError, ValueError, RecursionError):
            return None


def counts(state: State) -> dict[str, Any]:
    """The counts since the beginning, as JSON values."""
    return {
        "from": None if state.start is None else shown(state.start),
        "to": None if state.end is None else shown(state.end),
        "watermark": None if state.watermark == 0 else shown(state.watermark),
        "records": state.records,
        "bytes": state.bytes,
        "late": state.late,
        "rejected": state.rejected,
        "open_records": state.open_records,
    }


def shown(micros: int) -> str:
    """A time as ISO 8601 in UTC, to the second."""
    return f"{datetime.fromtimestamp(micros // windows.MICROSECONDS, UTC):%Y-%m-%dT%H:%M:%SZ}"


def stamp(micros: int) -> str:
    """A time for use in a file name."""
    return shown(micros).replace(":", "-")


def _from_stamp(text: str) -> int:
    """The time of ``stamp``, in microseconds since 1970. Raises ValueError."""
    seconds = datetime.strptime(text, "%Y-%m-%dT%H-%M-%SZ").replace(tzinfo=UTC).timestamp()
    return int(seconds) * windows.MICROSECONDS


def _create(out: str, settings: Settings) -> None:
    about = {
        "format_version": FORMAT_VERSION,
        "partage": partage.__version__,
        "records": redacted(settings.records),
        "window_seconds": settings.window,
    }
    with new_directory(out, MARKER) as directory:
        for name, schema in _TABLES.items():
            (directory / name).mkdir()
            # so that the table can be read before it has rows
            pq.write_table(schema.empty_table(), directory / name / _PART)
        for name in (PLANS, _OPEN):
            (directory / name).mkdir()
        none = SCHEMAS["partitions"].empty_table()
        Store(directory, settings).write_profile(none, State(), 0, 0)
        write_file(directory / MARKER, to_json(about, indent=2), new=True)


def _check_settings(out: str, marker: Path, settings: Settings) -> None:
    where = os.fspath(marker)
    about = parse_json(read_text(marker), where)
    if not isinstance(about, dict) or about.get("format_version") != FORMAT_VERSION:
        raise InputError(where, f"expected format_version {FORMAT_VERSION}")
    for name, key, now in (
        ("records", "records", redacted(settings.records)),
        ("`window`", "window_seconds", settings.window),
    ):
        if about.get(key) != now:
            raise InputError(
                out,
                f"was started with {name} {about.get(key)}, not {now}: name another directory",
            )


def _read_state(file: Path) -> State:
    where = os.fspath(file)
    try:
        return check_json(parse_json(read_text(file), where), State, "")
    except InputError:
        raise InputError(where, "is not the state of a watch") from None


def _rows_by_batch(file: Path, rejected: pa.Table) -> dict[int, int]:
    """The number of rows of each batch in the table ``rejected``, oldest first."""
    text = (rejected.schema.metadata or {}).get(_METADATA, b"{}")
    try:
        given = check_json(json.loads(text), dict[str, Int64], "")
        counts = {int(number): count for number, count in given.items()}
    except (InputError, ValueError, RecursionError):
        counts = {}
    if sum(counts.values()) != rejected.num_rows or min(counts.values(), default=0) < 0:
        raise InputError(os.fspath(file), "is not a table of a watch")
    return dict(sorted(counts.items()))


def _floor(values: pa.ChunkedArray, step: int) -> pa.ChunkedArray:
    return pc.multiply(pc.divide(values, step), step)  # integers from 0


def _read(file: Path, schema: pa.Schema) -> pa.Table:
    try:
        # From bytes: a folder named topic=a in the path must not become a column.
        table = pq.read_table(io.BytesIO(file.read_bytes()))
        table.validate(full=True)  # texts must be UTF-8
        names = table.schema.names  # UTF-8 too
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        reason = (str(error).strip().splitlines() or ["no reason"])[0][:200]
        raise InputError(os.fspath(file), f"is not a readable table ({reason})") from None
    if names != schema.names:
        raise InputError(os.fspath(file), "is not a table of a watch")
    return table
