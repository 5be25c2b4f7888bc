"""``partage history``: consumers' logs in, a directory of rebalance history out.

Lines become events where they are read (``lines.py``), the driver puts the events of each group
together, for they are few (``consumers.history``), and every group's membership is replayed under
every assignor and protocol, each a task (``replays.py``). ``tables.py`` is what is written.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import pyarrow as pa

import partage
from partage.consumers.history import Event, History, Rejected, histories
from partage.consumers.history.clients import CLIENTS
from partage.errors import InputError
from partage.pipeline.history.lines import parsed
from partage.pipeline.history.replays import played, scenarios
from partage.pipeline.history.tables import Replays, tables
from partage.pipeline.progress import Progress, reported
from partage.pipeline.session import spark_errors
from partage.pipeline.sinks import PARQUET, Sink
from partage.pipeline.sources.files import list_files

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FORMAT_VERSION = 1
MARKER = "history.json"
_FIRST = 20


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
                for one in self.rejected[:_FIRST]
            ],
        }


def read_history(
    spark: SparkSession,
    paths: Sequence[str | os.PathLike[str]],
    *,
    group: str | None = None,
    progress: Progress | None = None,
) -> Found:
    """Every group's history out of the log files under ``paths``, and its replays.

    A path is a file, a directory (searched to the bottom) or a pattern; ``.gz`` and whatever else
    Spark reads as text. Raises InputError for what is missing, given twice, or tells of no group,
    or not of this one.
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
        if group is not None and group not in groups:
            raise InputError("--group", f"{group!r}: the logs tell of {', '.join(groups)}")
        with reported(spark, progress, "replaying"):
            frame = scenarios(spark, groups)
            replays = {} if frame is None else played(frame)
    return Found(tuple(named), groups, replays, tuple(rejected))


def write_history(
    spark: SparkSession,
    paths: Sequence[str | os.PathLike[str]],
    out: str | os.PathLike[str],
    *,
    format: str = PARQUET,
    overwrite: bool = False,
    group: str | None = None,
    progress: Progress | None = None,
) -> Found:
    """``read_history`` into ``out``, whole or not at all: tables and ``history.json``.

    ``format``: any that Spark has by name. A history that is there already is replaced only with
    ``overwrite``.
    """
    sink = Sink(out, MARKER, format, overwrite)
    sink.check(spark)
    found = read_history(spark, paths, group=group, progress=progress)
    about = {"format_version": FORMAT_VERSION, "partage": partage.__version__, **found.to_json()}
    sink.write(spark, tables(found.groups, found.replays, found.rejected), about)
    return found


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
            names[file] = _as_named(file, path)
    return names


def _as_named(file: str, path: str) -> str:
    here = Path(path)
    top = str(here.absolute())
    if here.is_file():
        return path
    if here.is_dir() and file.startswith(f"{top}/"):
        return str(here / file[len(top) + 1 :])
    return file if here.is_absolute() or "://" in path else os.path.relpath(file)


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
