"""The directory of a watch: a growing profile, and the state from which a later run resumes.

    watch.json           the marker: the settings that a later run must share
    profile.json  partitions/  keys/  windows/  rejected/     a profile, see docs/plan-directory.md
    plans/               plans written for alerts
    state.parquet        open windows; in its metadata the last batch, watermark and counts
    checkpoint/          of Structured Streaming

Exactly once: Spark numbers the batches, and after a crash hands out the same batch with the same
number. The result of a batch depends only on the batch and the state before it, and every file is
written under a hidden name and then renamed. The state is written last; its rename commits the
batch. After a kill before the commit, the batch is processed again from the same state and puts the
same rows into the same files; after the commit, its number shows that it is done. So at any moment
the files are plain Parquet without duplicates, for readers that know of no log.

A file of windows covers an hour, or sixty windows if that is longer; where they have more than
``ROWS_PER_FILE`` rows, it is followed by others. The last file is rewritten while its windows
close, and never again.
``partitions`` has every partition ever seen, measured over the last closed windows only;
``rejected`` has the latest rejected rows. All tables have the columns of a profile's.

So this process holds the windows that are open and the rows of one file, for any number of
records, hours of an outage, and closed windows.
"""

from __future__ import annotations

import fcntl
import io
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime
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
    new_directory,
    refuse_link,
    remove_file,
    write_file,
)
from partage.pipeline.profile import SCHEMAS
from partage.pipeline.watch import windows

MARKER = "watch.json"
FORMAT_VERSION = 1
PLANS = "plans"

REJECTED_KEPT = 10_000
"""Rows that ``rejected`` keeps, the latest ones; all are counted."""

ROWS_PER_FILE = 1_000_000
"""Most rows of a file of windows."""

_STATE = "state.parquet"
_CHECKPOINT = "checkpoint"
_METADATA = b"partage"
_HOUR = 3600
_WINDOWS_A_FILE = 60
_PART = "part-00000.parquet"
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


@dataclass(frozen=True)
class State:
    """The state after batch number ``batch``. Times are in microseconds since 1970.

    ``records`` and ``bytes`` count closed windows; ``start`` is the start of the first window,
    ``end`` the end of the last closed one (None before there is one); ``unfair``: whether an alert
    is active; ``open``: the open windows.
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


class _Figures(msgspec.Struct, forbid_unknown_fields=True):
    """The state in the metadata of its file: all but ``open``."""

    batch: Int64
    watermark: Int64
    records: Int64
    bytes: Int64
    late: Int64
    rejected: Int64
    start: Int64 | None
    end: Int64 | None
    unfair: bool


def check(out: str, settings: Settings) -> None:
    """Raise InputError now, before Spark starts, if ``opened`` would refuse the directory."""
    marker = Path(out) / MARKER
    for name in ("", *_TABLES, PLANS, _CHECKPOINT, MARKER):
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
        for name in (*_TABLES, PLANS, _CHECKPOINT):
            make_folder(Path(out) / name, root=out)
        yield Store(Path(out), settings)
    finally:
        os.close(lock)


class Store:
    """The files of the directory; see the head of this module."""

    def __init__(self, path: Path, settings: Settings) -> None:
        self.path = path
        self._window = settings.window
        self._source = settings.records

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

    def add_windows(self, closed: pa.Table) -> None:
        """Add newly closed windows to their files."""
        if closed.num_rows == 0:
            return
        first = pc.min(windows.starts(closed)).as_py()
        place = _floor(windows.starts(closed), self._file_span)
        for begin in pc.unique(place).to_pylist():
            self._add(begin, closed.filter(pc.equal(place, begin)), first)

    def _add(self, begin: int, rows: pa.Table, first: int) -> None:
        """Add rows to the last file of a span while it is not full, then to new ones. Those of a
        killed run, which are replaced, start at ``first`` or later."""
        files = self._windows_files(begin)
        number, kept = 0, windows.SCHEMA.empty_table()
        for number in reversed(range(len(files))):
            before = _read(files[number], windows.SCHEMA)
            kept = before.filter(pc.less(windows.starts(before), first))
            if kept.num_rows or number == 0:
                break
        for file in files[number + 1 :]:
            remove_file(file, root=self.path, recognised=True)
        if kept.num_rows >= ROWS_PER_FILE:
            number, kept = number + 1, kept.slice(0, 0)
        order = [(name, "ascending") for name in rows.column_names[:3]]
        left = ROWS_PER_FILE - kept.num_rows
        own = pa.concat_tables([kept, rows.slice(0, left)])
        self._write(self._windows_file(begin, number), own.sort_by(order))
        for at in range(left, rows.num_rows, ROWS_PER_FILE):
            number += 1
            own = rows.slice(at, ROWS_PER_FILE)
            self._write(self._windows_file(begin, number), own.sort_by(order))

    def windows_between(self, begin: int, end: int) -> Iterator[pa.Table]:
        """The closed windows that start at or after ``begin`` and before ``end``, file by file."""
        span = self._file_span
        for place in range(begin // span * span, end, span):
            for file in self._windows_files(place):
                table = _read(file, windows.SCHEMA)
                start = windows.starts(table)
                yield table.filter(pc.and_(pc.greater_equal(start, begin), pc.less(start, end)))

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
        """Commit the batch."""
        figures = {f.name: getattr(state, f.name) for f in fields(state) if f.name != "open"}
        text = json.dumps(figures).encode()
        self._write(self.path / _STATE, state.open.replace_schema_metadata({_METADATA: text}))

    def _write(self, file: Path, table: pa.Table) -> None:
        """Replace a file that was read and recognised before, or that is new."""
        out = io.BytesIO()
        pq.write_table(table, out, compression="zstd")
        write_file(file, out.getvalue(), root=self.path, recognised=True)

    @property
    def _file_span(self) -> int:
        return max(_HOUR, _WINDOWS_A_FILE * self._window) * windows.MICROSECONDS

    def _windows_files(self, begin: int) -> Sequence[Path]:
        """The files of a span, in order."""
        found: list[Path] = []
        while (file := self._windows_file(begin, len(found))).exists():
            found.append(file)
        return found

    def _windows_file(self, begin: int, number: int) -> Path:
        more = f"-{number}" if number else ""
        return self.path / "windows" / f"{stamp(begin)}{more}.parquet"

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


def _create(out: str, settings: Settings) -> None:
    about = {
        "format_version": FORMAT_VERSION,
        "partage": partage.__version__,
        "records": settings.records,
        "window_seconds": settings.window,
    }
    with new_directory(out, MARKER) as directory:
        for name, schema in _TABLES.items():
            (directory / name).mkdir()
            # so that the table can be read before it has rows
            pq.write_table(schema.empty_table(), directory / name / _PART)
        (directory / PLANS).mkdir()
        none = SCHEMAS["partitions"].empty_table()
        Store(directory, settings).write_profile(none, State(), 0, 0)
        write_file(directory / MARKER, to_json(about, indent=2), new=True)


def _check_settings(out: str, marker: Path, settings: Settings) -> None:
    where = os.fspath(marker)
    about = parse_json(read_text(marker), where)
    if not isinstance(about, dict) or about.get("format_version") != FORMAT_VERSION:
        raise InputError(where, f"expected format_version {FORMAT_VERSION}")
    for name, key, now in (
        ("records", "records", settings.records),
        ("`window`", "window_seconds", settings.window),
    ):
        if about.get(key) != now:
            raise InputError(
                out,
                f"was started with {name} {about.get(key)}, not {now}: name another directory",
            )


def _read_state(file: Path) -> State:
    table = _read(file, windows.SCHEMA)
    try:
        text = (table.schema.metadata or {}).get(_METADATA, b"{}")
        figures = msgspec.structs.asdict(check_json(json.loads(text), _Figures, ""))
        return State(**figures, open=table.replace_schema_metadata(None).cast(windows.SCHEMA))
    except (InputError, ValueError, RecursionError, pa.ArrowException):
        raise InputError(os.fspath(file), "is not the state of a watch") from None


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
    except (pa.ArrowException, OSError) as error:
        reason = (str(error).strip().splitlines() or ["no reason"])[0][:200]
        raise InputError(os.fspath(file), f"is not a readable table ({reason})") from None
    if table.schema.names != schema.names:
        raise InputError(os.fspath(file), "is not a table of a watch")
    return table
