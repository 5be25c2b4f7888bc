"""``partage history``: read the logs of consumers into a directory of rebalance history.

    logs ─ parsed ┬ assembled ┬ members, rounds, ownership, unowned
                  └ rejected  └ replayed ─ replay

The executors turn log lines into events (``lines``), put each group's history together
(``groups``), replay its membership with Kafka's assignors and protocols (``replays``), and write
the tables (``tables``). The driver reads only what is shown: the groups with the most time without
an owner, shortened, so that it needs the same memory for any number of logs.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from pyspark.sql import functions as sf

import partage
from partage.consumers.history import History, Rejected
from partage.consumers.history.clients import CLIENTS
from partage.consumers.history.saving import saving_of
from partage.errors import InputError
from partage.measured_loads.damaged import damaged_counted
from partage.pipeline.cache import Cache
from partage.pipeline.damaged import damaged_files
from partage.pipeline.history.groups import GROUP, assembled, table_of, unpacked
from partage.pipeline.history.lines import lines_of, parsed
from partage.pipeline.history.replays import Replays, replayed, results
from partage.pipeline.history.tables import OF_A_GROUP, ORDER, SCHEMAS
from partage.pipeline.progress import Progress, reported
from partage.pipeline.sinks import PARQUET, Sink
from partage.pipeline.sources.files import list_files, plain
from partage.pipeline.spark_errors import DamagedFileError, spark_errors
from partage.redaction import redacted
from partage.units import plural

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

FORMAT_VERSION = 1
MARKER = "history.json"

GROUPS_SHOWN = 100
"""Most groups that are shown, those with the most time without an owner."""

BYTES_SHOWN = 32_000_000
"""Most bytes of all that is shown; the first group is shown whatever it takes."""

_LINES = 20
_NAMES = 20


@dataclass(frozen=True)
class Found:
    """What is shown of the logs; ``to_json`` is the output of ``history --json``.

    - ``groups``: shortened (``consumers.history.shortening``); ``more_groups``: how many others
      there are
    - ``rejected``: the number of rejected lines; ``first_rejected``: the first of them
    - ``damaged``: the files that were left out
    """

    sources: tuple[str, ...]
    groups: dict[str, History]
    more_groups: int
    replays: Replays
    rejected: int
    first_rejected: tuple[Rejected, ...]
    damaged: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """One object; rejected lines are counted, and the first few shown."""
        return {
            "sources": list(self.sources),
            "groups": {
                name: history.to_json()
                | {"replay": self.replays.get(name, {}), "saving": self._saving(name)}
                for name, history in self.groups.items()
            },
            "more_groups": self.more_groups,
            "rejected": self.rejected,
            "rejected_lines": [
                {"source": one.source, "line": one.line, "reason": one.reason}
                for one in self.first_rejected
            ],
            **damaged_counted(self.damaged),
        }

    def _saving(self, name: str) -> dict[str, Any] | None:
        found = saving_of(self.groups[name], self.replays.get(name, {}))
        return None if found is None else found.to_json()


def read_history(
    spark: SparkSession,
    paths: Sequence[str | os.PathLike[str]],
    *,
    group: str | None = None,
    skip_damaged: bool = False,
    progress: Progress | None = None,
) -> Found:
    """The history of the groups in the log files under ``paths``, and their replays, shortened.

    A path is a file, a directory (searched recursively) or a pattern; ``.gz`` and whatever else
    Spark reads as text. ``group``: only this one. ``skip_damaged``: leave damaged files out. Raises
    InputError for a path that is missing or given twice, for a damaged file, for logs without any
    group, or without ``group``.
    """
    with _frames(spark, paths, group, skip_damaged, progress, whole=False) as frames:
        return frames.found


def write_history(
    spark: SparkSession,
    paths: Sequence[str | os.PathLike[str]],
    out: str | os.PathLike[str],
    *,
    format: str = PARQUET,
    overwrite: bool = False,
    group: str | None = None,
    skip_damaged: bool = False,
    progress: Progress | None = None,
) -> Found:
    """Write the tables of all groups, and what ``read_history`` returns to ``history.json``, to the
    directory ``out``, whole or not at all.

    ``format``: any format that Spark knows by name. An existing history is replaced only with
    ``overwrite``.
    """
    sink = Sink(out, MARKER, format, overwrite)
    sink.check(spark)
    with (
        _frames(spark, paths, group, skip_damaged, progress, whole=True) as frames,
        sink.opened(spark) as tables,
        reported(spark, progress, "writing"),
    ):
        for name, frame in frames.tables.items():
            tables.add(name, frame, SCHEMAS[name], ORDER[name])
        about = {"format_version": FORMAT_VERSION, "partage": partage.__version__}
        tables.about = about | frames.found.to_json()
    return frames.found


@dataclass(frozen=True)
class _Frames:
    tables: Mapping[str, DataFrame]
    found: Found


@contextmanager
def _frames(
    spark: SparkSession,
    paths: Sequence[str | os.PathLike[str]],
    group: str | None,
    skip_damaged: bool,
    progress: Progress | None,
    *,
    whole: bool,
) -> Iterator[_Frames]:
    """The tables to write, cached until the end of the block, and what is shown; ``whole``: replay
    all groups, not only those."""
    if not paths:
        raise InputError("", "no logs given: name a file or a directory")
    named = [os.fspath(path) for path in paths]
    names = _names(spark, named)
    damaged = _damaged(spark, names, progress) if skip_damaged else {}
    if len(damaged) == len(names):
        raise InputError(named[0], "no logs: all files are damaged")
    read = [file for file in names if file not in damaged] if damaged else named
    with _damage_named(names), spark_errors(), Cache() as cached:
        with reported(spark, progress, "reading"):
            other = {file: name for file, name in names.items() if file != name}
            events = cached(parsed(spark, read, other))
            bad = events.where("event is null").select(
                "source", "line", sf.col("text").alias("row"), "reason"
            )
            rows = cached(assembled(events))
            groups = rows.where(rows["table"] == GROUP)
            replayable = groups.where("scenario is not null").select("name", "scenario")
            count = groups.count()
            rejected = bad.count()
            first = [Rejected(*row) for row in bad.sort(*bad.columns).limit(_LINES).collect()]
            if not count:
                raise InputError(named[0], _why_none(rejected, first))
            histories = _shown(groups if group is None else _only(groups, group))
        shown = list(histories)
        with reported(spark, progress, "replaying"):
            if not whole:
                replayable = replayable.where(replayable["name"].isin(shown))
            replay = cached(replayed(replayable, count if whole else len(shown)))
            own = replay.where(replay["group"].isin(shown)).collect()
        tables = {name: table_of(rows, name) for name in OF_A_GROUP}
        found = Found(
            sources=tuple(map(redacted, named)),
            groups=histories,
            more_groups=count - len(histories),
            replays=results(row.asDict() for row in own),
            rejected=rejected,
            first_rejected=tuple(first),
            damaged=tuple(map(redacted, damaged.values())),
        )
        yield _Frames({**tables, "replay": replay, "rejected": bad}, found)


def _only(groups: DataFrame, name: str) -> DataFrame:
    own = groups.where(groups["name"] == name)
    if own.isEmpty():
        names = [row[0] for row in groups.select("name").sort("name").limit(_NAMES + 1).collect()]
        listed = ", ".join(names[:_NAMES]) + (", …" if len(names) > _NAMES else "")
        raise InputError("group", f"{name!r} is not in the logs: expected one of {listed}")
    return own


def _shown(groups: DataFrame) -> dict[str, History]:
    """The histories to show, by name in ascending order."""
    sizes = (
        groups.sort(sf.desc("unowned_seconds"), "name")
        .select("name", sf.octet_length("shown").alias("bytes"))
        .limit(GROUPS_SHOWN)
        .collect()
    )
    chosen: list[str] = []
    total = 0
    for name, size in sizes:
        total += size
        if chosen and total > BYTES_SHOWN:
            break
        chosen.append(name)
    own = groups.where(groups["name"].isin(chosen)).select("name", "shown")
    return {name: unpacked(bytes(shown)) for name, shown in sorted(own.collect())}


def _names(spark: SparkSession, paths: Sequence[str]) -> dict[str, str]:
    """The user's names for files, by Spark's."""
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


def _damaged(
    spark: SparkSession, names: Mapping[str, str], progress: Progress | None
) -> dict[str, str]:
    """The damaged files among ``names``."""
    with reported(spark, progress, "looking for damaged files"):
        found = damaged_files(list(names), partial(lines_of, spark))
        return {file: names[file] for file in found}


@contextmanager
def _damage_named(names: Mapping[str, str]) -> Iterator[None]:
    """Name a damaged file as the user did, and what to do about it."""
    try:
        yield
    except DamagedFileError as error:
        file = plain(unquote(error.where))
        problem = f"{error.problem}; `skip_damaged` leaves it out"
        raise DamagedFileError(names.get(file, file), problem) from None


def _as_named(file: str, path: str) -> str:
    here = Path(path)
    top = str(here.absolute())
    if here.is_file():
        return path
    if here.is_dir() and file.startswith(f"{top}/"):
        return str(here / file[len(top) + 1 :])
    return file if here.is_absolute() or "://" in path else os.path.relpath(file)


def _why_none(rejected: int, first: Sequence[Rejected]) -> str:
    if first:
        return (
            f"has no readable rebalance: {plural(rejected, 'line')} rejected, the first "
            f"({first[0].source}, line {first[0].line}): {first[0].reason}"
        )
    return (
        f"has no line about a consumer group: expected logs of {', '.join(CLIENTS)} "
        "(librdkafka with debug=cgrp)"
    )
