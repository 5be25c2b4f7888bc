"""List and read files through Spark, so that the session may run anywhere."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote

from pyspark.sql import functions as sf

from partage.errors import InputError
from partage.files import check_not_empty
from partage.pipeline.records import RECORDS
from partage.pipeline.rows import RowType
from partage.pipeline.stores import check_reached

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, DataFrameReader, SparkSession


_1970 = datetime(1970, 1, 1, tzinfo=UTC)
_FILE = "^file:/+"
_SCHEME = re.compile("[A-Za-z][A-Za-z0-9+.-]*:")
_CONNECT = re.compile(r"(?:^|/)([A-Za-z0-9._-]{1,249})\+(\d+)\+(\d+)\.[^/]*$")
_FOLDERS = {
    "topic": re.compile("/topic=([A-Za-z0-9._-]{1,249})/"),
    "partition": re.compile(r"/partition=(\d+)/"),
}


@dataclass(frozen=True)
class Source:
    """A file format: its name, the suffixes of its files, and the function that reads them.

    ``read`` returns frames with the columns of the files' row type and raises InputError.
    ``quick``: reading again costs less than caching.
    """

    name: str
    suffixes: tuple[str, ...]
    read: Callable[[SparkSession, Files], list[DataFrame]]
    quick: bool = False


@dataclass(frozen=True)
class Reading:
    """How files of records are read. ``columns``: theirs by the name of ours, fields of structures
    as ``payload.id``; ``left_out``: files to leave out; ``note``: gets what users should know of a
    file."""

    columns: Mapping[str, str] = field(default_factory=dict)
    left_out: frozenset[str] = frozenset()
    note: Callable[[str], None] = lambda _: None

    def of(self, row_type: RowType) -> Reading:
        """How files of this type are read: only those of records have other columns."""
        return self if row_type == RECORDS else replace(self, columns={})


AS_THEY_ARE = Reading()


@dataclass(frozen=True)
class Files:
    """The files of a format under a path: the user's name for it (``named``), Spark's ``pattern``
    (or several), the file names, and the type of their rows. ``origins``: whether the file of each
    row is wanted; Spark carries the names of files along with every row as soon as one is used.
    ``columns``: see ``Reading``. ``spread``: one task reads most lines (``unsplit``)."""

    named: str
    pattern: str | list[str]
    source: Source
    names: tuple[str, ...]
    row_type: RowType = RECORDS
    origins: bool = True
    columns: Mapping[str, str] = field(default_factory=dict)
    spread: bool = False

    def known(self, found: Iterable[str], *, nested: bool = False) -> dict[str, str]:
        """The input columns among those found: by name here, their name there; ``nested``: or their
        path in a structure. Raises InputError for a mapped one that is missing."""
        names = list(found)
        known = {**self.row_type.known(names), **self.columns}
        for name, theirs in self.columns.items():
            if theirs not in names and not (nested and theirs.partition(".")[0] in names):
                raise no_such_column(self.named, name, theirs, names)
        # A mapped column replaces those that could provide the same.
        replaced = self.row_type.alternatives(self.columns)
        return {n: theirs for n, theirs in known.items() if n in self.columns or n not in replaced}

    def reader(self, spark: SparkSession) -> DataFrameReader:
        """A reader for exactly these files under ``pattern``."""
        glob = "*{" + ",".join(self.source.suffixes) + "}"
        return spark.read.option("recursiveFileLookup", "true").option("pathGlobFilter", glob)

    def origin(self) -> Column:
        """The ``source`` of a row: the path as given, or the file if the path has several and it is
        wanted."""
        if len(self.names) == 1 or not self.origins:
            return sf.lit(self.named)
        return file_path()

    def in_names(self, file: Column, known: Iterable[str]) -> dict[str, Column]:
        """The columns, but for the ``known`` ones, that every file's name has: topic, partition and
        first offset in those of Kafka Connect's sinks, ``orders+0+0000000100.parquet``; topic and
        partition in folders as Spark and Hive name them, ``topic=orders/partition=0``.

        ``file``: the URL-quoted name of a row's file.
        """
        ways = [(name, _CONNECT, at) for at, name in enumerate(("topic", "partition", "offset"), 1)]
        ways += [(name, pattern, 1) for name, pattern in _FOLDERS.items()]
        columns: dict[str, Column] = {}
        for name, pattern, group in ways:
            if name not in self.row_type.columns or name in known or name in columns:
                continue
            if all(pattern.search(named) for named in self.names):
                columns[name] = sf.regexp_extract(file, pattern.pattern, group)
        return columns

    def lines(self, spark: SparkSession) -> DataFrame:
        """Text files as ``line``, ``broken`` (the reason, if it is not UTF-8), ``source``, ``file``
        (its URL-quoted name) and ``start``, without blank lines."""
        frame = self.reader(spark).text(self.pattern)
        return frame.select(
            # Parsers would replace invalid bytes, and so make one key of several.
            sf.make_valid_utf8("value").alias("line"),
            sf.when(~sf.is_valid_utf8("value"), sf.lit("line is not UTF-8")).alias("broken"),
            self.origin().alias("source"),
            sf.col("_metadata.file_path").alias("file"),
            sf.col("_metadata.file_block_start").alias("start"),
        ).where(sf.trim("line") != "")

    def distributed(self, lines: DataFrame) -> DataFrame:
        """The lines, distributed to several tasks if one reads most of them."""
        return lines.repartition("line") if self.spread else lines


def no_such_column(where: str, name: str, theirs: str, found: Iterable[str]) -> InputError:
    """The error for a mapping of columns to one that is not there."""
    seen = ", ".join(list(found)[:12])
    return InputError(where, f"{name}={theirs}: no such column or field (found: {seen})")


def list_files(spark: SparkSession, path: str) -> list[str]:
    """The names of the files under a path or glob, without hidden ones (``_SUCCESS``, ``.x``).
    Raises InputError, PartageError for a store that does not answer."""
    check_reached(spark, path)
    # The text format's columns are fixed, so that this opens no file.
    frame = spark.read.option("recursiveFileLookup", "true").text(literal(path))
    return sorted(plain(unquote(name)) for name in frame.inputFiles())


def listed(reader: DataFrameReader, patterns: str | list[str]) -> list[tuple[str, str, int]]:
    """The files that are not empty under Spark's patterns: names, times of modification, bytes."""
    columns = ("path", "length", sf.unix_micros("modificationTime"))
    found = reader.format("binaryFile").load(patterns).select(*columns).where("length > 0")
    return [
        (
            plain(name),
            (_1970 + timedelta(microseconds=modified)).isoformat(timespec="microseconds"),
            length,
        )
        for name, length, modified in found.collect()
    ]


def plain(url: str) -> str:
    """The name of a file of this machine without ``file:``; other URLs are unchanged."""
    return re.sub(_FILE, "/", url)


def file_path() -> Column:
    """The file of a row, URL-quoted, named as by ``plain``."""
    return sf.regexp_replace("_metadata.file_path", _FILE, "/")


def refuse_table(named: str, names: Iterable[str]) -> None:
    """Raise InputError for files of a table of Delta or Iceberg: its folder has those of removed
    rows, too. Only files that this machine sees are looked at."""
    folders = {
        parent
        for folder in {Path(name).parent for name in names}
        for parent in (folder, *folder.parents)
    }
    for folder in sorted(folders):
        if any(folder.glob("metadata/*.metadata.json")):
            kind = "iceberg"
        elif (folder / "_delta_log").is_dir():
            kind = "delta"
        else:
            continue
        problem = f"{folder} is a table, whose folder has the files of removed rows, too"
        raise InputError(named, f"{problem}: read it with --table '{kind}.`{folder}`'")


def literal(path: str) -> str:
    """The path for Spark: absolute, because a server may have another working directory, and with
    glob characters escaped if a file of that name exists here. URLs are unchanged. Raises
    InputError for an empty path."""
    check_not_empty(path)
    if is_url(path):
        return path
    here = Path(path)
    if here.exists():
        return escaped(str(here.absolute()))
    return path if here.is_absolute() else f"{escaped(str(Path.cwd()))}/{path}"


def is_url(path: str) -> bool:
    """Whether a path begins with a scheme."""
    return _SCHEME.match(path) is not None


def escaped(path: str) -> str:
    """A path that Spark does not take for a pattern."""
    return re.sub(r"([\\\[\]{}*?])", r"\\\1", path)
