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

All this holds in a store, too (``folder``): its files are replaced whole, but it has no lock.

The executors hold and write the windows (``tables``). This process holds a row per partition, the
rejected rows that are kept, and the rows of one file, for any number of records and windows.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

import partage
from partage.errors import InputError
from partage.files import decoded, parse_json, to_json
from partage.json_input import Int64, check_json
from partage.measured_loads import FORMAT_VERSION as PROFILE_VERSION
from partage.measured_loads import MARKER as PROFILE
from partage.measured_loads import Profile
from partage.outputs import (
    check_directory,
    is_store,
    json_with_checksum,
    new_directory,
    refuse_link,
)
from partage.pipeline.profile import SCHEMAS
from partage.pipeline.saving import ROWS_PER_FILE
from partage.pipeline.stores import Store as FilesOfStore
from partage.pipeline.watch import windows
from partage.pipeline.watch.folder import Folder, LocalFolder, StoredFolder
from partage.redaction import redacted

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MARKER = "watch.json"
FORMAT_VERSION = 2
PLANS = "plans"

REJECTED_KEPT = 10_000
"""Rows that ``rejected`` keeps, the latest ones; all are counted."""

_STATE = "state.json"
_OPEN, _NEW = "open", "new"
_CHECKPOINT = "checkpoint"
_OFFSETS = f"{_CHECKPOINT}/offsets"
_INSIDE = "is inside the folder of records: name a directory outside of it"
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


Time: TypeAlias = Annotated[
    int, msgspec.Meta(ge=-62_135_596_800 * 10**6, lt=253_402_300_800 * 10**6)
]
"""Microseconds since 1970, in the years 1 to 9999."""


class State(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The state after batch number ``batch``. Times are in microseconds since 1970.

    ``records`` and ``bytes`` count closed windows; ``start`` is the start of the first window,
    ``end`` the end of the last closed one (None before there is one); ``unfair``: whether an alert
    is active; ``open_windows`` and their ``open_records`` are in the ``open_files`` files of batch
    number ``open_batch``.
    """

    batch: Int64 = -1
    watermark: Time = 0
    records: Int64 = 0
    bytes: Int64 = 0
    late: Int64 = 0
    rejected: Int64 = 0
    start: Time | None = None
    end: Time | None = None
    unfair: bool = False
    open_windows: Int64 = 0
    open_records: Int64 = 0
    open_batch: Int64 = -1
    open_files: Int64 = 0


def check(out: str, settings: Settings) -> None:
    """Raise InputError now, before Spark starts, if ``opened`` would refuse the directory; one in a
    store is checked then."""
    if is_store(out):
        if f"{out}/".startswith(f"{settings.records.rstrip('/')}/"):
            raise InputError(out, _INSIDE)
        return
    folder = LocalFolder(Path(out))
    for name in ("", *_TABLES, PLANS, _CHECKPOINT, _OPEN, _NEW, MARKER):
        refuse_link(Path(out) / name)
    if not folder.has(MARKER):
        check_directory(out, MARKER)
    if Path(out).resolve().is_relative_to(settings.records):
        raise InputError(out, _INSIDE)
    if folder.has(MARKER):
        _check_settings(folder, settings)


@contextmanager
def opened(out: str, settings: Settings, spark: SparkSession | None = None) -> Iterator[Store]:
    """The directory, created if necessary and, on this machine, locked by this process. ``spark``:
    for one in a store.

    Raises InputError if something else is there, PartageError if another watch uses it.
    """
    check(out, settings)
    folder: Folder
    if is_store(out):
        assert spark is not None
        folder = StoredFolder(FilesOfStore(spark, out))
        _create_stored(folder, settings)
    else:
        folder = LocalFolder(Path(out))
        if not folder.has(MARKER):
            _create(out, settings)
    with folder.locked(MARKER):
        folder.remove_written(_NEW)
        for name in (*_TABLES, PLANS, _CHECKPOINT, _OPEN):
            folder.make(name)
        yield Store(folder, settings)


class Store:
    """The files of the directory; see the head of this module."""

    def __init__(self, folder: Folder, settings: Settings) -> None:
        self.folder = folder
        self._window = settings.window
        self._source = redacted(settings.records)

    @property
    def checkpoint(self) -> str:
        """The checkpoint folder, as a URL for Spark."""
        return self.folder.url(_CHECKPOINT)

    def state(self) -> State:
        """The state that the last run left. Raises InputError if it does not match Spark's
        checkpoint: to resume would lose records."""
        state = _read_state(self.folder) if self.folder.has(_STATE) else State()
        handed_out = self._handed_out()
        if not state.batch <= handed_out <= state.batch + 1:
            raise InputError(
                self.folder.where,
                f"{_STATE} is of batch {state.batch}, but {_CHECKPOINT}/ of batch {handed_out}: "
                "they do not match, name another directory",
            )
        return state

    def _handed_out(self) -> int:
        """The number of the last batch that Spark has planned, -1 if there is none."""
        found = (_base(name) for name in self.folder.names(_OFFSETS))
        return max((int(name) for name in found if name.isdecimal()), default=-1)

    @contextmanager
    def new(self) -> Iterator[str]:
        """A folder for what executors write, removed at the end."""
        self.folder.make(_NEW)
        try:
            yield _NEW
        finally:
            self.folder.remove_written(_NEW)

    def windows_to_extend(self, first: int, rows: int) -> tuple[str, int] | None:
        """The file of windows to which a batch's are added, and how many of its rows stay: the last
        file, unless it is of another hour or would have too many rows. The batch's windows start at
        ``first`` or later; those in the file that do are of a killed run."""
        before = [(start, file) for start, file in self._windows_files() if start < first]
        if not before:
            return None
        begin, last = before[-1]
        if begin // self._file_span != first // self._file_span:
            return None
        earlier = pc.less(windows.starts(self._read(last, windows.SCHEMA)), first)
        kept = int(pc.sum(earlier).as_py() or 0)
        return (last, kept) if kept + rows <= ROWS_PER_FILE else None

    def put_windows(self, files: Sequence[str], first: int, extended: str | None) -> None:
        """Move a batch's windows to their place: ``extended``, which they have the rows of, or new
        files."""
        for start, file in self._windows_files():
            if start >= first:  # of a killed run
                self.folder.remove(file)
        for number, file in enumerate(files):
            more = f"-{number}" if number else ""
            self.folder.place_file(file, extended or f"windows/{stamp(first)}{more}.parquet")

    def windows_between(self, begin: int, end: int) -> Iterator[pa.Table]:
        """The closed windows that start at or after ``begin`` and before ``end``, file by file."""
        found = self._windows_files()
        starts = sorted({start for start, _ in found})
        next_start = dict(pairwise(starts))
        for first, file in found:
            if first < end and next_start.get(first, end) > begin:
                table = self._read(file, windows.SCHEMA)
                start = windows.starts(table)
                yield table.filter(pc.and_(pc.greater_equal(start, begin), pc.less(start, end)))

    def _windows_files(self) -> list[tuple[int, str]]:
        """The files of windows with the start of the first window, in order."""
        found = []
        for file in self.folder.names("windows"):
            if name := _WINDOWS_FILE.fullmatch(_base(file)):
                with suppress(ValueError):  # the 31st of February
                    found.append((_from_stamp(name[1]), int(name[2] or 0), file))
        return [(start, file) for start, _, file in sorted(found)]

    def open_files(self, state: State) -> list[str]:
        """The files of the open windows. Raises InputError if one is missing."""
        files = []
        for number in range(state.open_files):
            files.append(self._open_file(state.open_batch, number))
            if not self.folder.has(files[-1]):
                problem = "is missing: name another directory"
                raise InputError(self.folder.shown(files[-1]), problem)
        return files

    def put_open(self, files: Sequence[str], batch: int) -> None:
        """Move the windows that are open after a batch to their place."""
        for number, file in enumerate(files):
            self.folder.place_file(file, self._open_file(batch, number))

    def _open_file(self, batch: int, number: int) -> str:
        return f"{_OPEN}/{batch:08}-{number}.parquet"

    def add_rejected(self, batch: int, rows: pa.Table) -> None:
        """Keep rejected rows; the oldest are dropped when there are too many. The file's metadata
        has the number of rows of each batch."""
        file = f"rejected/{_PART}"
        table = self._read(file, _TABLES["rejected"])
        counts = _rows_by_batch(self.folder.shown(file), table)
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
        return self._read(f"partitions/{_PART}", _TABLES["partitions"])

    def profile(self) -> Profile:
        """The profile of the closed windows."""
        return Profile.read(self.folder.profile())

    def put_plan(self, name: str, write: Callable[[Path], None]) -> str:
        """Add a plan that ``write`` writes to a path; returns its place."""
        self.folder.add_directory(f"{PLANS}/{name}", write)
        return self.folder.shown(f"{PLANS}/{name}")

    def write_profile(self, partitions: pa.Table, state: State, begin: int, end: int) -> None:
        """The profile of the closed windows from ``begin`` to ``end``."""
        self._write(f"partitions/{_PART}", partitions)
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
        self.folder.write(PROFILE, json_with_checksum(about, indent=2), recognised=False)

    def commit(self, state: State) -> None:
        """Commit the batch, then remove the windows that were open before it."""
        text = to_json(msgspec.to_builtins(state), indent=2)
        self.folder.write(_STATE, text)
        for file in self.folder.names(_OPEN):
            name = _OPEN_FILE.fullmatch(_base(file))
            if name and int(name[1]) != state.open_batch:
                self.folder.remove(file)

    def _read(self, file: str, schema: pa.Schema) -> pa.Table:
        return _table(self.folder.read(file), self.folder.shown(file), schema)

    def _write(self, file: str, table: pa.Table) -> None:
        """Replace a file that was read and recognised before, or that is new."""
        out = io.BytesIO()
        pq.write_table(table, out, compression="zstd")
        self.folder.write(file, out.getvalue())

    @property
    def _file_span(self) -> int:
        return max(_HOUR, _WINDOWS_A_FILE * self._window) * windows.MICROSECONDS

    def offsets(self, batch: int) -> Mapping[str, Mapping[str, int]] | None:
        """The offsets by topic and partition at which a batch of Kafka ends; None if unknown."""
        try:
            lines = self.folder.read(f"{_OFFSETS}/{batch}").decode().splitlines()
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


def _base(name: str) -> str:
    """The last part of a name."""
    return name.rpartition("/")[2]


def _marker(settings: Settings) -> str:
    about = {
        "format_version": FORMAT_VERSION,
        "partage": partage.__version__,
        "records": redacted(settings.records),
        "window_seconds": settings.window,
    }
    return to_json(about, indent=2)


def _create(out: str, settings: Settings) -> None:
    with new_directory(out, MARKER) as directory:
        for name in (*_TABLES, PLANS, _OPEN):
            (directory / name).mkdir()
        folder = LocalFolder(directory)
        _fill(folder, settings)
        folder.write(MARKER, _marker(settings))


def _create_stored(folder: StoredFolder, settings: Settings) -> None:
    """Create the directory in a store, unless it is there. The marker is first: a run that died
    here is resumed."""
    if folder.store.reached() and folder.has(MARKER):
        _check_settings(folder, settings)
    else:
        if others := sorted(folder.store.lengths()):
            problem = f"contains {others[0]}, which partage did not write: choose another directory"
            raise InputError(folder.where, problem)
        folder.store.put(MARKER, _marker(settings), replace=False)
    if not folder.has(PROFILE):
        _fill(folder, settings)


def _fill(folder: Folder, settings: Settings) -> None:
    """Write empty tables, so that they can be read before they have rows, and their profile."""
    store = Store(folder, settings)
    for name, schema in _TABLES.items():
        store._write(f"{name}/{_PART}", schema.empty_table())
    store.write_profile(SCHEMAS["partitions"].empty_table(), State(), 0, 0)


def _check_settings(folder: Folder, settings: Settings) -> None:
    where = folder.shown(MARKER)
    about = parse_json(decoded(folder.read(MARKER), where), where)
    if not isinstance(about, dict) or about.get("format_version") != FORMAT_VERSION:
        raise InputError(where, f"expected format_version {FORMAT_VERSION}")
    for name, key, now in (
        ("records", "records", redacted(settings.records)),
        ("`window`", "window_seconds", settings.window),
    ):
        if about.get(key) != now:
            raise InputError(
                folder.where,
                f"was started with {name} {about.get(key)}, not {now}: name another directory",
            )


def _read_state(folder: Folder) -> State:
    where = folder.shown(_STATE)
    try:
        return check_json(parse_json(decoded(folder.read(_STATE), where), where), State, "")
    except InputError:
        raise InputError(where, "is not the state of a watch") from None


def _rows_by_batch(where: str, rejected: pa.Table) -> dict[int, int]:
    """The number of rows of each batch in the table ``rejected``, oldest first."""
    text = (rejected.schema.metadata or {}).get(_METADATA, b"{}")
    try:
        given = check_json(json.loads(text), dict[str, Int64], "")
        counts = {int(number): count for number, count in given.items()}
    except (InputError, ValueError, RecursionError):
        counts = {}
    if sum(counts.values()) != rejected.num_rows or min(counts.values(), default=0) < 0:
        raise InputError(where, "is not a table of a watch")
    return dict(sorted(counts.items()))


def _table(content: bytes, where: str, schema: pa.Schema) -> pa.Table:
    try:
        # From bytes: a folder named topic=a in the path must not become a column.
        table = pq.read_table(io.BytesIO(content))
        table.validate(full=True)  # texts must be UTF-8
        names = table.schema.names  # UTF-8 too
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        reason = (str(error).strip().splitlines() or ["no reason"])[0][:200]
        raise InputError(where, f"is not a readable table ({reason})") from None
    if names != schema.names:
        raise InputError(where, "is not a table of a watch")
    return table
