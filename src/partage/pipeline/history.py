"""``partage history``: consumers' logs in, a directory of rebalance history out.

Three steps on Spark, each over Arrow batches, without a copy of the logs anywhere:

1. *Scan*: lines that tell nothing about a group are dropped where they are read. Large files are
   split, so a line's number is at first that within its part, and every part says how many it has.
2. *Parse*: what is left of a file comes together, in the order of the file, and becomes events and
   rejected lines (``consumers.history``).
3. *Replay*: every group's membership is played under every assignor and protocol, each a task.

In between, the driver puts the events of each group together: they are few.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyspark.sql import functions as sf

import partage
from partage.consumers.history import MARKERS, Event, History, Rejected, events_of, histories
from partage.consumers.history.clients import CLIENTS
from partage.consumers.history.replay import cases, replay, scenario_of, to_text
from partage.consumers.history.stamps import MICROSECONDS, stamp
from partage.consumers.scenario import Scenario
from partage.errors import InputError
from partage.files import check_writable_directory, new_directory, to_json
from partage.pipeline.progress import Progress, reported
from partage.pipeline.session import spark_errors
from partage.pipeline.sources.files import list_files, literal

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

FORMAT_VERSION = 1
MARKER = "history.json"

_TIME = pa.timestamp("us", "UTC")
SCHEMAS: dict[str, pa.Schema] = {
    "rounds": pa.schema(
        [
            ("group", pa.string()),
            ("round", pa.int32()),
            ("at", _TIME),
            ("generation", pa.int32()),
            ("protocol", pa.string()),
            ("assignor", pa.string()),
            ("members", pa.int32()),
            ("added", pa.int64()),
            ("revoked", pa.int64()),
            ("lost", pa.int64()),
            ("unowned_partition_seconds", pa.float64()),
        ]
    ),
    "ownership": pa.schema(
        [
            ("group", pa.string()),
            ("topic", pa.string()),
            ("partition", pa.int32()),
            ("member", pa.string()),
            ("start", _TIME),
            ("end", _TIME),
        ]
    ),
    "unowned": pa.schema(
        [
            ("group", pa.string()),
            ("topic", pa.string()),
            ("partition", pa.int32()),
            ("round", pa.int32()),
            ("seconds", pa.float64()),
        ]
    ),
    "replay": pa.schema(
        [
            ("group", pa.string()),
            ("assignor", pa.string()),
            ("protocol", pa.string()),
            ("moved", pa.int64()),
            ("unowned_partition_seconds", pa.float64()),
            ("rounds", pa.int64()),
            ("cannot", pa.string()),
        ]
    ),
    "rejected": pa.schema(
        [
            ("source", pa.string()),
            ("line", pa.int64()),
            ("row", pa.string()),
            ("reason", pa.string()),
        ]
    ),
}
"""The tables' columns."""

Replays = dict[str, dict[str, dict[str, dict[str, Any]]]]
"""What came of it by group, assignor and protocol."""


@dataclass(frozen=True)
class Found:
    """What the logs hold. ``to_json`` is what ``history --json`` prints."""

    sources: tuple[str, ...]
    groups: dict[str, History]
    replays: Replays
    rejected: tuple[Rejected, ...]

    def to_json(self) -> dict[str, Any]:
        """One object; rejected lines are counted, with the first few."""
        return {
            "sources": list(self.sources),
            "groups": {
                name: history.to_json() | {"replay": self.replays.get(name, {})}
                for name, history in self.groups.items()
            },
            "rejected": len(self.rejected),
            "rejected_lines": [
                {"source": one.source, "line": one.line, "reason": one.reason}
                for one in self.rejected[:20]
            ],
        }


def read_history(
    spark: SparkSession,
    paths: Sequence[str | os.PathLike[str]],
    *,
    progress: Progress | None = None,
) -> Found:
    """Every group's history out of the log files under ``paths``, and its replays.

    A path is a file, a directory (searched to the bottom) or a pattern; ``.gz`` and whatever else
    Spark reads as text. Raises InputError for what is missing, given twice, or tells of no group.
    """
    if not paths:
        raise InputError("", "no logs given: name a file or a directory")
    named = [os.fspath(path) for path in paths]
    names = _names(spark, named)
    with spark_errors():
        with reported(spark, progress, "reading"):
            told = parsed(spark, named).toArrow()
        events, rejected = _of_rows(told, names)
        groups = histories(events)
        if not groups:
            raise InputError(named[0], _why_none(rejected))
        with reported(spark, progress, "replaying"):
            replays = _replayed(spark, groups)
    return Found(tuple(named), groups, replays, tuple(rejected))


def write_history(
    spark: SparkSession,
    paths: Sequence[str | os.PathLike[str]],
    out: str | os.PathLike[str],
    *,
    progress: Progress | None = None,
) -> Found:
    """``read_history`` into ``out``, whole or not at all: Parquet tables and ``history.json``."""
    check_writable_directory(out, MARKER)
    found = read_history(spark, paths, progress=progress)
    about = {"format_version": FORMAT_VERSION, "partage": partage.__version__, **found.to_json()}
    with new_directory(out, MARKER) as directory:
        for name, rows in _tables(found).items():
            (directory / name).mkdir()
            table = pa.Table.from_pylist(rows, schema=SCHEMAS[name])
            pq.write_table(table, directory / name / "part-00000.parquet", compression="zstd")
        (directory / MARKER).write_text(to_json(about, indent=2), encoding="utf-8")
    return found


# -- lines


def lines_of(spark: SparkSession, paths: Sequence[str]) -> DataFrame:
    """All lines: ``file``, ``start`` (where the part of the file begins) and ``text``."""
    reader = spark.read.option("recursiveFileLookup", "true")
    frame = reader.text([literal(path) for path in paths])
    return frame.select(
        sf.col("_metadata.file_path").alias("file"),
        sf.col("_metadata.file_block_start").alias("start"),
        sf.col("value").alias("text"),
    )


def parsed(spark: SparkSession, paths: Sequence[str]) -> DataFrame:
    """Events as JSON and rejected lines: ``file``, ``place`` (their order), ``event`` or else
    ``line``, ``text`` and ``reason``."""
    scanned = lines_of(spark, paths).mapInArrow(
        scan, "file string, start long, number long, text string, lines long"
    )
    return (
        scanned.repartition("file")
        .sortWithinPartitions("file", "start", "number")
        .mapInArrow(
            parse, "file string, place long, event string, line long, text string, reason string"
        )
    )


_SCANNED = pa.schema(
    [
        ("file", pa.string()),
        ("start", pa.int64()),
        ("number", pa.int64()),
        ("text", pa.string()),
        ("lines", pa.int64()),
    ]
)
_PARSED = pa.schema(
    [
        ("file", pa.string()),
        ("place", pa.int64()),
        ("event", pa.string()),
        ("line", pa.int64()),
        ("text", pa.string()),
        ("reason", pa.string()),
    ]
)


def _pattern() -> str:
    special = set("\\.^$*+?()[]{}|")
    quoted = ("".join(f"\\{c}" if c in special else c for c in marker) for marker in MARKERS)
    return "|".join(quoted)


class _Part:
    """A part of a file while its lines come by."""

    def __init__(self, file: str, start: int) -> None:
        self.file, self.start = file, start
        self.lines = 0
        self.last = ""

    def take(self, texts: pa.Array) -> list[dict[str, Any]]:
        """The lines of it that may tell something, numbered from 1 within the part."""
        told = pc.fill_null(pc.match_substring_regex(texts, _pattern()), False)
        rows = [
            {"file": self.file, "start": self.start, "number": self.lines + at + 1, "text": text}
            for at, text in zip(
                np.flatnonzero(told.to_numpy(zero_copy_only=False)).tolist(),
                texts.filter(told).to_pylist(),
                strict=True,
            )
        ]
        self.lines += len(texts)
        # An application's own lines show that its process lives: the last of them is enough.
        for at in range(len(texts) - 1, max(len(texts) - 200, 0) - 1, -1):
            text = texts[at].as_py()
            if stamp(text) is not None:
                self.last = "" if told[at].as_py() else text
                break
        return rows

    def over(self) -> dict[str, Any]:
        """Its last row: how many lines it has."""
        return {
            "file": self.file,
            "start": self.start,
            "number": self.lines + 1,
            "text": self.last,
            "lines": self.lines,
        }


def scan(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Lines → those that may tell something, and one row at the end of each part of a file."""
    part: _Part | None = None
    for batch in batches:
        files, starts = batch.column("file"), batch.column("start")
        rows: list[dict[str, Any]] = []
        ends = {int(e) for column in (files, starts) for e in _run_ends(column)}
        begin = 0
        for end in sorted(ends):
            file, start = files[begin].as_py(), starts[begin].as_py()
            if part is None or (part.file, part.start) != (file, start):
                rows += [] if part is None else [part.over()]
                part = _Part(file, start)
            rows += part.take(batch.column("text").slice(begin, end - begin))
            begin = end
        yield pa.RecordBatch.from_pylist(rows, schema=_SCANNED)
    if part is not None:
        yield pa.RecordBatch.from_pylist([part.over()], schema=_SCANNED)


def _run_ends(column: pa.Array) -> list[int]:
    found: list[int] = pc.run_end_encode(column).run_ends.to_pylist()
    return found


def parse(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Scanned rows, sorted → events and rejected lines."""
    rows = (row for batch in batches for row in batch.to_pylist())
    for file, own in groupby(rows, key=lambda row: row["file"]):
        found = []
        for place, one in enumerate(events_of(unquote(file), _numbered(own))):
            row: dict[str, Any] = {"file": file, "place": place}
            if isinstance(one, Event):
                row["event"] = json.dumps(one.to_json(), sort_keys=True)
            else:
                row |= {"line": one.line, "text": one.text, "reason": one.reason}
            found.append(row)
        yield pa.RecordBatch.from_pylist(found, schema=_PARSED)


def _numbered(rows: Iterable[dict[str, Any]]) -> Iterator[tuple[int, str]]:
    """(line of the file, text)."""
    before = 0
    for row in rows:
        if row["text"]:
            yield before + min(row["number"], row["lines"] or row["number"]), row["text"]
        before += row["lines"] or 0


# -- the driver


def _names(spark: SparkSession, paths: Sequence[str]) -> dict[str, str]:
    """Every file as the user would name it, by the name that Spark gives it."""
    names: dict[str, str] = {}
    for path in paths:
        with spark_errors(path):
            files = list_files(spark, path)
        if not files:
            raise InputError(path, "holds no files")
        for file in files:
            if file in names:
                raise InputError(path, f"{file} was already given by another path")
            here = Path(path)
            top = str(here.absolute())
            if here.is_file():
                names[file] = path
            elif here.is_dir() and file.startswith(f"{top}/"):
                names[file] = str(here / file[len(top) + 1 :])
            else:
                names[file] = os.path.relpath(file) if not here.is_absolute() else file
    return names


def _of_rows(told: pa.Table, names: dict[str, str]) -> tuple[list[Event], list[Rejected]]:
    events, rejected = [], []
    ordered = told.sort_by([("file", "ascending"), ("place", "ascending")])
    for row in ordered.to_pylist():
        file = unquote(row["file"])
        at = file.removeprefix("file:")
        source = names.get(f"/{at.lstrip('/')}", names.get(file, file))
        if row["event"] is None:
            rejected.append(Rejected(source, row["line"], row["text"], row["reason"]))
        else:
            events.append(replace(Event.from_json(json.loads(row["event"])), source=source))
    rejected.sort(key=lambda one: (one.source, one.line))
    return events, rejected


def _why_none(rejected: Sequence[Rejected]) -> str:
    if rejected:
        first = rejected[0]
        return (
            f"no rebalance in it that can be read: {len(rejected)} lines are rejected, the first "
            f"({first.source}, line {first.line}) because of {first.reason}"
        )
    return f"no line about a consumer group, of {', '.join(CLIENTS)} (librdkafka: with debug=cgrp)"


def _replayed(spark: SparkSession, groups: dict[str, History]) -> Replays:
    rows = []
    for name, history in groups.items():
        if history.topics:
            text = to_text(scenario_of(history))
            rows += [(name, assignor, protocol, text) for assignor, protocol in cases()]
    found: Replays = {name: {} for name in groups}
    if not rows:
        return found
    frame = spark.createDataFrame(
        rows, "group string, assignor string, protocol string, scenario string"
    )
    played = frame.repartition(min(len(rows), 64)).mapInArrow(
        play, "group string, assignor string, protocol string, result string"
    )
    results = {
        (row["group"], row["assignor"], row["protocol"]): json.loads(row["result"])
        for row in played.toArrow().to_pylist()
    }
    for name, assignor, protocol, _ in rows:
        result = results[name, assignor, protocol]
        found[name].setdefault(assignor, {})[protocol] = result
    return found


def play(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Scenarios → what comes of each."""
    for batch in batches:
        rows = []
        for row in batch.to_pylist():
            text = row.pop("scenario")
            try:
                scenario = Scenario.from_json(json.loads(text), row["group"])
                result = replay(scenario, row["assignor"], row["protocol"])
            except InputError as why:
                result = {"cannot": str(why)}
            rows.append(row | {"result": json.dumps(result)})
        names = ("group", "assignor", "protocol", "result")
        yield pa.RecordBatch.from_pylist(rows, pa.schema([(name, pa.string()) for name in names]))


# -- tables


def _tables(found: Found) -> dict[str, list[dict[str, Any]]]:
    tables: dict[str, list[dict[str, Any]]] = {name: [] for name in SCHEMAS}
    for group, history in found.groups.items():
        start = history.start_at

        def time(at: float, start: int = start) -> int:
            return start + round(at * MICROSECONDS)

        for number, one in enumerate(history.rounds, 1):
            counts = {
                name: sum(len(held) for held in getattr(one, name).values())
                for name in ("added", "revoked", "lost")
            }
            tables["rounds"].append(
                {
                    "group": group,
                    "round": number,
                    "at": time(one.at),
                    "generation": one.generation,
                    "protocol": one.protocol,
                    "assignor": one.assignor,
                    "members": len(one.assignment),
                    **counts,
                    "unowned_partition_seconds": round(sum(one.unowned.values()), 6),
                }
            )
            for (topic, partition), seconds in sorted(one.unowned.items()):
                tables["unowned"].append(
                    {
                        "group": group,
                        "topic": topic,
                        "partition": partition,
                        "round": number,
                        "seconds": round(seconds, 6),
                    }
                )
        tables["ownership"] += [
            {
                "group": group,
                "topic": span.partition[0],
                "partition": span.partition[1],
                "member": span.member,
                "start": time(span.start),
                "end": time(span.end),
            }
            for span in history.spans
        ]
        tables["replay"] += [
            {"group": group, "assignor": assignor, "protocol": protocol, **result}
            for assignor, by_protocol in found.replays[group].items()
            for protocol, result in by_protocol.items()
        ]
    tables["rejected"] = [
        {"source": one.source, "line": one.line, "row": one.text, "reason": one.reason}
        for one in found.rejected
    ]
    return tables
