"""Files as Spark sees them: listed by the session, so that it may run anywhere."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote

from pyspark.sql import functions as sf

from partage.pipeline.records import RECORDS
from partage.pipeline.rows import Kind

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, DataFrameReader, SparkSession


@dataclass(frozen=True)
class Source:
    """A format of rows: its name, the ends of its files' names, and how to read them.

    ``read`` gives the columns of the files' kind and raises InputError. ``quick``: reading again
    costs less than keeping what was read.
    """

    name: str
    suffixes: tuple[str, ...]
    read: Callable[[SparkSession, Files], DataFrame]
    quick: bool = False


@dataclass(frozen=True)
class Files:
    """The files of one source under one path: as the user ``named`` it, as Spark's ``pattern`` (or
    several); ``kind``: what their rows are."""

    named: str
    pattern: str | list[str]
    source: Source
    names: tuple[str, ...]
    kind: Kind = RECORDS

    def reader(self, spark: SparkSession) -> DataFrameReader:
        """A reader that sees these files and no others under ``pattern``."""
        glob = "*{" + ",".join(self.source.suffixes) + "}"
        return spark.read.option("recursiveFileLookup", "true").option("pathGlobFilter", glob)

    def origin(self) -> Column:
        """A row's ``source``: the path as it was given, or the file's own where it gave many."""
        if len(self.names) == 1:
            return sf.lit(self.named)
        return sf.regexp_replace(sf.col("_metadata.file_path"), "^file:/+", "/")

    def lines(self, spark: SparkSession) -> DataFrame:
        """Text files as ``line``, ``source`` and ``file`` (its name, quoted); no blank lines."""
        frame = self.reader(spark).text(self.pattern)
        return frame.select(
            sf.col("value").alias("line"),
            self.origin().alias("source"),
            sf.col("_metadata.file_path").alias("file"),
            sf.col("_metadata.file_block_start").alias("start"),
        ).where(sf.trim("line") != "")


def list_files(spark: SparkSession, path: str) -> list[str]:
    """The names of the files under a path or glob, without hidden ones (``_SUCCESS``, ``.x``)."""
    # The text format's columns are fixed, so that this opens no file.
    frame = spark.read.option("recursiveFileLookup", "true").text(literal(path))
    return sorted(re.sub("^file:/+", "/", unquote(name)) for name in frame.inputFiles())


def literal(path: str) -> str:
    """The path as Spark must see it: absolute, since a server may stand in another folder, and with
    brackets and stars escaped where it is the name of a file of ours. URLs stay as they are."""
    if re.match(r"[A-Za-z][A-Za-z0-9+.-]*:", path):
        return path
    here = Path(path)
    if here.exists():
        return _escaped(str(here.absolute()))
    return path if here.is_absolute() else f"{_escaped(str(Path.cwd()))}/{path}"


def _escaped(path: str) -> str:
    return re.sub(r"([\\\[\]{}*?])", r"\\\1", path)
