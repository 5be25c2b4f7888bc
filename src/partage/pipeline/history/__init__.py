"""``partage history``: read the logs of consumers into a directory of rebalance history.

The executors turn log lines into events (``lines.py``). Events are few, so the driver puts those of
each group together (``consumers.history``). Every group's membership is then replayed with every
assignor and protocol, one Spark task each (``replays.py``). ``tables.py`` has the output tables.
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
from partage.consumers.history.saving import saving_of
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
    """The contents of the logs. ``to_json`` is the output of ``history --json``."""

    sources: tuple[str, ...]
    groups: dict[str, History]
    replays: Replays
    rejected: tuple[Rejected, ...]

    def to_json(self) -> dict[str, Any]:
        """One object; rejected lines are counted, and the first few shown."""
        return {
            "sources": list(self.sources),
            "groups": {
                name: history.to_json()
                | {"replay": self.replays.get(name, {}), "saving": self._saving(name)}
                for name, history in self.groups.items()
            },
            "rejected": len(self.rejected),
            "rejected_lines": [
                {"source": one.source, "line": one.line, "reason": one.reason}
                for one in self.rejected[:_FIRST]
            ],
        }

    def _saving(self, name: str) -> dict[str, Any] | None:
        found = saving_of(self.groups[name], self.replays.get(name, {}))
        return None if found is None else found.to_json()


def read_history(
    spark: SparkSession,
    paths: Sequence[str | os.PathLike[str]],
    *,
    group: str | None = None,
    progress: Progress | None = None,
) -> Found:
    """The history of every group in the log files under ``paths``, and its replays.

    A path is a file, a directory (searched recursively) or a pattern; ``.gz`` and whatever else
    Spark reads as text. Raises InputError for a path that is missing or given twice, for logs
    without any group, or without ``group``.
    """
    if not paths:
        raise InputError("", "no logs given: name a file or a directory")
    named = [os.fspath(path) for path in paths]
    names = _names(spark, named)
    with spark_errors():
        with reported(spark, progress, "reading"):
            rows = parsed(spark, named).toArrow()
        events, rejected = _of_rows(rows, names)
        groups = histories(events)
        if not groups:
            raise InputError(named[0], _why_none(rejected))
        if group is not None and group not in groups:
            raise InputError(
                "group", f"{group!r} is not in the logs: expected one of {', '.join(groups)}"
            )
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
    """Write the tables of ``read_history`` and ``history.json`` to ``out``, whole or not at all.

    ``format``: any format that Spark knows by name. An existing history is replaced only with
    ``overwrite``.
    """
    sink = Sink(out, MARKER, format, overwrite)
    sink.check(spark)
    found = read_history(spark, paths, group=group, progress=progress)
    about = {"format_version": FORMAT_VERSION, "partage": partage.__version__, **found.to_json()}
    sink.write(spark, tables(found.groups, found.replays, found.rejected), about)
    return found


def _names(spark: SparkSession, paths: Sequence[str]) -> dict[str, str]:
    """Every file's name for the user, by Spark's name."""
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


def _of_rows(table: pa.Table, names: dict[str, str]) -> tuple[list[Event], list[Rejected]]:
    events, rejected = [], []
    ordered = table.sort_by([("file", "ascending"), ("place", "ascending")])
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
            f"has no readable rebalance: {len(rejected)} lines are rejected, the first "
            f"({first.source}, line {first.line}) because of {first.reason}"
        )
    return (
        f"has no line about a consumer group: expected logs of {', '.join(CLIENTS)} "
        "(librdkafka with debug=cgrp)"
    )
