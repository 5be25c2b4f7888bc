"""Events of all files → the history of each group, as rows.

The events of a group are brought together in one task, which puts its history together
(``consumers.history``) and returns the rows of all tables at once, each in the column of its table,
so that the work is done once. A last row per group has what is shown of it (``shortening``), the
scenario to replay, and by what groups are ranked.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from itertools import chain, groupby, islice
from typing import TYPE_CHECKING, Any

import msgspec
import pyarrow as pa
from pyspark.sql.pandas.types import from_arrow_schema

from partage.consumers.history import Event, History, history_of
from partage.consumers.history.model import seconds
from partage.consumers.history.replay import scenario_of, to_text
from partage.consumers.history.shortening import shortened
from partage.pipeline.history.tables import OF_A_GROUP, SCHEMAS

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

GROUP = "group"
"""The name of a group's last row among the tables."""

_BATCH = 10_000

_ROWS = pa.schema(
    [
        ("table", pa.string()),
        ("name", pa.string()),
        ("unowned_seconds", pa.float64()),
        ("shown", pa.binary()),
        ("scenario", pa.string()),
        *((name, pa.struct(list(SCHEMAS[name]))) for name in OF_A_GROUP),
    ]
)


def assembled(events: DataFrame) -> DataFrame:
    """The events of ``parsed`` → ``table``, and a column per table with its rows; for the table
    ``group``: ``name``, ``unowned_seconds``, ``shown`` (see ``unpacked``) and ``scenario`` (JSON,
    null where there is nothing to replay)."""
    return (
        events.where("group is not null")
        .repartition("group")
        .sortWithinPartitions("group", "log", "place")
        .mapInArrow(assemble, from_arrow_schema(_ROWS))
    )


def table_of(rows: DataFrame, name: str) -> DataFrame:
    """The rows of one table."""
    return rows.where(rows["table"] == name).select(f"{name}.*")


def unpacked(shown: bytes) -> History:
    """The part of a history that is shown."""
    return msgspec.msgpack.decode(shown, type=History)


def assemble(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Events, sorted by group and log → rows."""
    rows = (row for batch in batches for row in batch.select(["group", "event"]).to_pylist())
    for group, own in groupby(rows, key=lambda row: row["group"]):
        history = history_of(group, (Event.from_json(json.loads(row["event"])) for row in own))
        if history is not None:
            for found in _batched(_rows(group, history)):
                yield pa.RecordBatch.from_pylist(found, schema=_ROWS)


def _batched(rows: Iterable[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    every = iter(rows)
    while found := list(islice(every, _BATCH)):
        yield found


def _rows(group: str, history: History) -> Iterator[dict[str, Any]]:
    tables = ((name, read(group, history)) for name, read in OF_A_GROUP.items())
    last = {
        "table": GROUP,
        "name": group,
        "unowned_seconds": seconds(sum(history.unowned.values())),
        "shown": msgspec.msgpack.encode(shortened(history)),
        "scenario": to_text(scenario_of(history)) if history.topics else None,
    }
    return chain(({"table": name, name: row} for name, rows in tables for row in rows), [last])
