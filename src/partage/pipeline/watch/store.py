"""The directory of a watch: a profile that grows, and what a later start goes on from.

    watch.json           the marker: what a later start must be the same in
    profile.json  partitions/  keys/  windows/  rejected/     a profile, see docs/plan-directory.md
    plans/               the plans of alerts
    state.parquet        the open windows; in its metadata the last batch, the watermark, the counts
    checkpoint/          Structured Streaming's

Exactly once: Spark hands out each batch under a number, and after a crash the same batch under the
same number again. What a batch leads to follows from the batch and the state before it alone, and
every file is written under a name that no reader takes for a table and then renamed. The state is
written last, and one rename makes the batch count. Killed before that, the batch is worked out
again, from the state before it, and puts the same rows into the same files; killed after it, the
number tells that the batch is done. So the files are plain Parquet without doubles at any moment,
for readers that know of no log.

A file of windows holds an hour of them, or sixty windows if that is longer: it is written again
while its windows close, and left alone afterwards. ``partitions`` has every partition that was ever
seen, measured over the last closed windows only; ``rejected`` the latest rows that were none.
"""

from __future__ import annotations

import fcntl
import io
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

import partage
from partage.errors import InputError, PartageError
from partage.files import (
    check_writable_directory,
    new_directory,
    parse_json,
    read_text,
    to_json,
    write_text,
)
from partage.pipeline.profile import SCHEMAS
from partage.pipeline.watch import windows
from partage.profile import FORMAT_VERSION as PROFILE_VERSION
from partage.profile import MARKER as PROFILE

MARKER = "watch.json"
FORMAT_VERSION = 1
PLANS = "plans"

REJECTED_KEPT = 10_000
"""Rows in ``rejected``: the latest so many; all are counted."""

_STATE = "state.parquet"
_CHECKPOINT = "checkpoint"
_METADATA = b"partage"
_HOUR = 3600
_WINDOWS_A_FILE = 60
_BATCH = pa.field("batch", pa.int64())
_PART = "part-00000.parquet"


@dataclass(frozen=True)
class Settings:
    """What may not change while a directory grows: where records come from, and the length of a
    window in seconds."""

    records: str
    window: int


@dataclass(frozen=True)
class State:
    """What is known after a batch, number ``batch``. Times are in microseconds since 1970.

    ``records`` and ``bytes`` are of closed windows; ``start`` is when the first window began,
    ``end`` when the last closed one ended (None before there is one); ``unfair`` whether the last
    word was an alert; ``open`` the open windows.
    """

    batch: int = -1
    watermark: int = 0
    records: int = 0
    bytes: int = 0
    late: int = 0
    rejected: int = 0
    start: int | None = None
    end: int | None = None
    unfair: bool = False
    open: pa.Table = field(default_factory=windows.SCHEMA.empty_table)

    @property
    def open_records(self) -> int:
        """Records in open windows."""
        return int(pc.sum(self.open["records"]).as_py() or 0)


def check(out: str, settings: Settings) -> None:
    """Say now, before Spark is started, that ``opened`` would refuse. Raises InputError."""
    check_writable_directory(out, MARKER)
    if Path(out).resolve().is_relative_to(settings.records):
        raise InputError(out, "lies in the folder of records: its tables would be taken for some")
    marker = Path(out) / MARKER
    if marker.is_file():
        _check_settings(out, marker, settings)


@contextmanager
def opened(out: str, settings: Settings) -> Iterator[Store]:
    """The directory, made if need be, held by this process alone until the end.

    Raises InputError where something else stands there, PartageError where another watch runs.
    """
    check(out, settings)
    marker = Path(out) / MARKER
    if not marker.is_file():
        _create(out, settings)
    lock = os.open(marker, os.O_RDONLY)
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise PartageError(f"{out}: another partage watch is at work there") from None
        yield Store(Path(out), settings)
    finally:
        os.close(lock)


class Store:
    """The files of the directory, written as told at the head of this file."""

    def __init__(self, path: Path, settings: Settings) -> None:
        self.path = path
        self._window = settings.window
        self._source = settings.records

    @property
    def checkpoint(self) -> str:
        """Where Spark keeps what it has handed out, as Spark names files of this machine."""
        return f"file:{self.path.resolve() / _CHECKPOINT}"

    def state(self) -> State:
        """The state that the last run left. Raises InputError where it and Spark's checkpoint do
        not belong together: going on would lose records."""
        file = self.path / _STATE
        state = State()
        if file.exists():
            state = _read_state(file)
        handed_out = self._handed_out()
        if not state.batch <= handed_out <= state.batch + 1:
            raise InputError(
                os.fspath(self.path),
                f"{_STATE} is of batch {state.batch}, {_CHECKPOINT}/ of batch {handed_out}: they "
                "do not belong together, name another directory",
            )
        return state

    def _handed_out(self) -> int:
        """The number of the last batch that Spark has planned, -1 for none."""
        offsets = self.path / _CHECKPOINT / "offsets"
        numbers = [int(file.name) for file in offsets.glob("*") if file.name.isdecimal()]
        return max(numbers, default=-1)

    def add_windows(self, closed: pa.Table) -> None:
        """Put windows that are closed now into their files."""
        if closed.num_rows == 0:
            return
        # What a killed run wrote of them is no older than they are.
        first = pc.min(windows.starts(closed))
        place = _floor(windows.starts(closed), self._file_span)
        for begin in pc.unique(place).to_pylist():
            rows = closed.filter(pc.equal(place, begin))
            file = self._windows_file(begin)
            if file.exists():
                before = _read(file)
                kept = before.filter(pc.less(windows.starts(before), first))
                rows = pa.concat_tables([kept, rows])
            _write(file, rows.sort_by([(name, "ascending") for name in rows.column_names[:3]]))

    def windows_between(self, begin: int, end: int) -> pa.Table:
        """The closed windows that start at or after ``begin`` and before ``end``."""
        tables = [windows.SCHEMA.empty_table()]
        span = self._file_span
        for place in range(begin // span * span, end, span):
            file = self._windows_file(place)
            if file.exists():
                table = _read(file)
                start = windows.starts(table)
                inside = pc.and_(pc.greater_equal(start, begin), pc.less(start, end))
                tables.append(table.filter(inside))
        return pa.concat_tables(tables)

    def add_rejected(self, batch: int, rows: pa.Table) -> None:
        """Keep rows that are no records; the oldest go when there are too many."""
        file = self.path / "rejected" / _PART
        numbered = rows.append_column(_BATCH, pa.array([batch] * rows.num_rows, pa.int64()))
        before = _read(file)
        before = before.filter(pc.less(before["batch"], batch))
        table = pa.concat_tables([before, numbered])
        _write(file, table.slice(max(0, table.num_rows - REJECTED_KEPT)))

    def partitions(self) -> pa.Table:
        """The profile's ``partitions`` as they stand."""
        return _read(self.path / "partitions" / _PART)

    def write_profile(self, partitions: pa.Table, state: State, begin: int, end: int) -> None:
        """The profile of the closed windows from ``begin`` to ``end``."""
        _write(self.path / "partitions" / _PART, partitions)
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
            "watch": told(state),
        }
        write_text(self.path / PROFILE, to_json(about, indent=2))

    def commit(self, state: State) -> None:
        """From now on the batch counts."""
        figures = {f.name: getattr(state, f.name) for f in fields(state) if f.name != "open"}
        text = json.dumps(figures).encode()
        _write(self.path / _STATE, state.open.replace_schema_metadata({_METADATA: text}))

    @property
    def _file_span(self) -> int:
        return max(_HOUR, _WINDOWS_A_FILE * self._window) * windows.MICROSECONDS

    def _windows_file(self, begin: int) -> Path:
        return self.path / "windows" / f"{stamp(begin)}.parquet"


def told(state: State) -> dict[str, Any]:
    """The counts since the beginning, for a reader."""
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
    """A time as a name of a file."""
    return shown(micros).replace(":", "-")


def _create(out: str, settings: Settings) -> None:
    about = {
        "format_version": FORMAT_VERSION,
        "partage": partage.__version__,
        "records": settings.records,
        "window_seconds": settings.window,
    }
    with new_directory(out, MARKER) as directory:
        empty = {
            "partitions": SCHEMAS["partitions"],
            "keys": SCHEMAS["keys"],
            "windows": windows.SCHEMA,
            "rejected": SCHEMAS["rejected"].append(_BATCH),
        }
        for name, schema in empty.items():
            (directory / name).mkdir()
            # so that a table can be read before its first row
            pq.write_table(schema.empty_table(), directory / name / _PART)
        (directory / PLANS).mkdir()
        none = SCHEMAS["partitions"].empty_table()
        Store(directory, settings).write_profile(none, State(), 0, 0)
        (directory / MARKER).write_text(to_json(about, indent=2), encoding="utf-8")


def _check_settings(out: str, marker: Path, settings: Settings) -> None:
    where = os.fspath(marker)
    about = parse_json(read_text(marker), where)
    if not isinstance(about, dict) or about.get("format_version") != FORMAT_VERSION:
        raise InputError(where, f"expected format_version {FORMAT_VERSION}")
    for name, key, now in (
        ("records", "records", settings.records),
        ("--window", "window_seconds", settings.window),
    ):
        if about.get(key) != now:
            raise InputError(
                out,
                f"was begun with {name} {about.get(key)}, not {now}: name another directory",
            )


def _read_state(file: Path) -> State:
    table = _read(file)
    figures = json.loads((table.schema.metadata or {}).get(_METADATA, b"{}"))
    try:
        return State(**figures, open=table.replace_schema_metadata(None).cast(windows.SCHEMA))
    except (TypeError, ValueError, pa.ArrowException):
        raise InputError(os.fspath(file), "is no state of a watch") from None


def _floor(values: pa.ChunkedArray, step: int) -> pa.ChunkedArray:
    return pc.multiply(pc.divide(values, step), step)  # of whole numbers that are not negative


def _read(file: Path) -> pa.Table:
    try:
        # From bytes: a name like topic=a in the path must not become a column.
        return pq.read_table(io.BytesIO(file.read_bytes()))
    except (pa.ArrowException, OSError) as error:
        reason = (str(error).strip().splitlines() or ["no reason"])[0][:200]
        raise InputError(os.fspath(file), f"is no readable table ({reason})") from None


def _write(file: Path, table: pa.Table) -> None:
    """Whole or not at all."""
    new = file.with_name(f".{file.name}.new")
    try:
        pq.write_table(table, new, compression="zstd")
        new.replace(file)
    except OSError as error:
        reason = error.strerror or str(error)
        raise PartageError(f"{file}: cannot be written ({reason})") from None
