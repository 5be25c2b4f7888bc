"""How far each source of a profile is measured: the rows of its table ``measured``.

| kind | source | partition | identity | position |
|---|---|---|---|---|
| file | its path | | time of modification | length in bytes |
| topic | its name | number | topic ID | offset of the next record |
| delta | the table | | table ID | version |
| iceberg | the table | | | ID of the snapshot |
| table | the table | | a file of it, and its time of modification | length in bytes |
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from partage.errors import InputError
from partage.measured_loads.places import Place
from partage.pipeline.profile import NewRows

FILE, TOPIC, TABLE = "file", "topic", "table"

SCHEMA = pa.schema(
    [
        ("kind", pa.string()),
        ("source", pa.string()),
        ("partition", pa.int32()),
        ("identity", pa.string()),
        ("position", pa.int64()),
    ]
)


class Mark(NamedTuple):
    """How far a file, a partition or a table is measured."""

    kind: str
    source: str
    partition: int | None
    identity: str
    position: int

    @property
    def key(self) -> tuple[str, str, int, str]:
        """What is measured: of a topic that is created again, both are kept, and of a table all
        files."""
        number = -1 if self.partition is None else self.partition
        return self.kind, self.source, number, self.identity if self.kind in (TOPIC, TABLE) else ""


@dataclass(frozen=True)
class New:
    """What came to a source since it was measured.

    ``marks``: those that are new or have changed; ``rows``: the new rows; ``about``: fields for
    ``profile.json``; ``check``: raises PartageError if the source was replaced while it was read.
    """

    marks: tuple[Mark, ...]
    rows: NewRows
    about: Mapping[str, Any] = field(default_factory=dict)
    check: Callable[[], None] = lambda: None


def merged(before: Iterable[Mark], new: Iterable[Mark]) -> list[Mark]:
    """All marks in order, the new ones in place of those before."""
    found = {mark.key: mark for mark in (*before, *new)}
    return [found[key] for key in sorted(found)]


def as_table(marks: Iterable[Mark]) -> pa.Table:
    """Marks → the table ``measured``."""
    rows = [dict(zip(SCHEMA.names, mark, strict=True)) for mark in marks]
    return pa.Table.from_pylist(rows, schema=SCHEMA)


def read_marks(place: Place, table: str) -> tuple[Mark, ...]:
    """The table ``measured`` of a profile. Raises InputError."""
    found: list[Mark] = []
    for file in place.files(table) or ():
        try:
            content = pq.ParquetFile(pa.BufferReader(place.read(file)))
            rows = content.read().select(SCHEMA.names).cast(SCHEMA)
            rows.validate(full=True)  # texts must be UTF-8
        except (pa.ArrowException, OSError, KeyError):
            raise InputError(place.shown(file), "is not a table of a profile") from None
        found += [Mark(**row) for row in rows.to_pylist()]
    return tuple(found)
