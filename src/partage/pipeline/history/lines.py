"""Log files on Spark → events and rejected lines.

1. *Scan*: executors drop the lines that are not about a group. Large files are split, so a line is
   first numbered within its part, and every part ends with a row that has its number of lines.
2. *Parse*: the remaining lines of a log are brought together, its rotated files in the order of
   their first times, and become events, each with its group, and rejected lines
   (``consumers.history``).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain, groupby, islice
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Window
from pyspark.sql import functions as sf
from pyspark.sql.pandas.types import from_arrow_schema

from partage.consumers.history import (
    MARKERS,
    Event,
    EventGroups,
    LogFile,
    Rejected,
    events_of,
    plain_text,
    unrotated,
)
from partage.consumers.history.timestamps import parse_timestamp
from partage.pipeline.sources.files import literal

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


_SCANNED = pa.schema(
    [
        ("log", pa.string()),
        ("file", pa.string()),
        ("start", pa.int64()),
        ("number", pa.int64()),
        ("text", pa.string()),
        ("lines", pa.int64()),
        ("first", pa.int64()),
    ]
)
_PARSED = pa.schema(
    [
        ("log", pa.string()),
        ("place", pa.int64()),
        ("source", pa.string()),
        ("group", pa.string()),
        ("event", pa.string()),
        ("line", pa.int64()),
        ("text", pa.string()),
        ("reason", pa.string()),
    ]
)


def lines_of(spark: SparkSession, paths: Sequence[str]) -> DataFrame:
    """All lines: ``file``, ``start`` (offset of the part of the file) and ``text``."""
    reader = spark.read.option("recursiveFileLookup", "true")
    frame = reader.text([literal(path) for path in paths])
    return frame.select(
        sf.col("_metadata.file_path").alias("file"),
        sf.col("_metadata.file_block_start").alias("start"),
        sf.make_valid_utf8("value").alias("text"),
    )


def parsed(spark: SparkSession, paths: Sequence[str], names: Mapping[str, str]) -> DataFrame:
    """Events as JSON and rejected lines: ``log``, ``place`` (their order in it), ``source``, and
    ``group`` and ``event`` or else ``line``, ``text`` and ``reason``.

    ``names``: the user's names for the files, where they are not Spark's.
    """
    scanned = lines_of(spark, paths).mapInArrow(scan, from_arrow_schema(_SCANNED))
    times = sf.when(sf.col("first").isNotNull(), sf.struct("start", "first"))
    earliest = sf.min(times).over(Window.partitionBy("log", "file"))
    # Of files with equal times the longer name is older: app.log.10, app.log.9, app.log.
    older = (sf.desc(sf.length("file")), sf.desc("file"))
    return (
        scanned.repartition("log")
        .withColumn("first", earliest["first"])
        .sortWithinPartitions("log", "first", *older, "start", "number")
        .mapInArrow(partial(parse, names=names), from_arrow_schema(_PARSED))
    )


_RELEVANT = "|".join(re.escape(marker) for marker in MARKERS)

_EDGE = 200
"""Lines at the ends of a part among which a time is looked for."""

_BATCH = 10_000


class _Part:
    """A part of a file while it is scanned."""

    def __init__(self, file: str, start: int) -> None:
        self.file, self.start = file, start
        self.log = unrotated(file)
        self.lines = 0
        self.first: int | None = None
        self.last = ""

    def take(self, texts: pa.Array) -> list[dict[str, Any]]:
        """The lines that may be about a group, numbered from 1 within the part."""
        relevant = pc.fill_null(pc.match_substring_regex(texts, _RELEVANT), False)
        rows = [
            {**self._name(), "number": self.lines + at + 1, "text": text}
            for at, text in zip(
                np.flatnonzero(relevant.to_numpy(zero_copy_only=False)).tolist(),
                texts.filter(relevant).to_pylist(),
                strict=True,
            )
        ]
        if self.first is None:
            head = texts.slice(0, max(_EDGE - self.lines, 0)).to_pylist()
            times = map(_time_of, chain(head, (row["text"] for row in rows)))
            self.first = next((time for time in times if time is not None), None)
        self.lines += len(texts)
        # Other lines of the application show that its process is alive: the last one is enough.
        for at in range(len(texts) - 1, max(len(texts) - _EDGE, 0) - 1, -1):
            text = texts[at].as_py()
            if _time_of(text) is not None:
                self.last = "" if relevant[at].as_py() else text
                break
        return rows

    def end(self) -> dict[str, Any]:
        """The last row of the part: its number of lines and first time."""
        own = {"text": self.last, "lines": self.lines, "first": self.first}
        return {**self._name(), "number": self.lines + 1, **own}

    def _name(self) -> dict[str, Any]:
        return {"log": self.log, "file": self.file, "start": self.start}


def _time_of(line: str) -> int | None:
    when = parse_timestamp(plain_text(line))
    return None if when is None else when.at


def scan(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Lines → those that may be about a group, and a row at the end of each part of a file."""
    part: _Part | None = None
    for batch in batches:
        files, starts = batch.column("file"), batch.column("start")
        rows: list[dict[str, Any]] = []
        ends = {int(e) for column in (files, starts) for e in _run_ends(column)}
        begin = 0
        for end in sorted(ends):
            file, start = files[begin].as_py(), starts[begin].as_py()
            if part is None or (part.file, part.start) != (file, start):
                rows += [] if part is None else [part.end()]
                part = _Part(file, start)
            rows += part.take(batch.column("text").slice(begin, end - begin))
            begin = end
        yield pa.RecordBatch.from_pylist(rows, schema=_SCANNED)
    if part is not None:
        yield pa.RecordBatch.from_pylist([part.end()], schema=_SCANNED)


def _run_ends(column: pa.Array) -> list[int]:
    found: list[int] = pc.run_end_encode(column).run_ends.to_pylist()
    return found


def parse(batches: Iterator[pa.RecordBatch], names: Mapping[str, str]) -> Iterator[pa.RecordBatch]:
    """Scanned rows, sorted → events and rejected lines."""
    rows = (row for batch in batches for row in batch.to_pylist())
    for log, own in groupby(rows, key=lambda row: row["log"]):
        found = _parsed(_files(own, names))
        while listed := list(islice(found, _BATCH)):
            named = [{"log": log, **row} for row in listed]
            yield pa.RecordBatch.from_pylist(named, schema=_PARSED)


def _files(rows: Iterable[dict[str, Any]], names: Mapping[str, str]) -> Iterator[LogFile]:
    """The files of a log."""
    for file, own in groupby(rows, key=lambda row: row["file"]):
        path = re.sub("^file:/+", "/", unquote(file))
        yield names.get(path, path), _numbered(own)


def _numbered(rows: Iterable[dict[str, Any]]) -> Iterator[tuple[int, str]]:
    """(line number in the file, text)."""
    before = 0
    for row in rows:
        yield before + min(row["number"], row["lines"] or row["number"]), row["text"]
        before += row["lines"] or 0


def _parsed(files: Iterable[LogFile]) -> Iterator[dict[str, Any]]:
    """The rows of one log, events that get their group last at the end."""
    groups = EventGroups()
    for place, one in enumerate(events_of(files)):
        if isinstance(one, Rejected):
            reason = {"line": one.line, "text": one.text, "reason": one.reason}
            yield {"place": place, "source": one.source, **reason}
        elif group := groups.add(place, one):
            yield _event_row(place, group, one)
    for known in groups.rest():
        yield _event_row(*known)


def _event_row(place: int, group: str, event: Event) -> dict[str, Any]:
    text = json.dumps(event.to_json(), sort_keys=True)
    return {"place": place, "source": event.source, "group": group, "event": text}
