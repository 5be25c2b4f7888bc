"""Records that keep coming, as Structured Streaming sees them.

*A folder that grows*: the stream is of files' names; Spark's file source notes in the checkpoint
which it has handed out. The files of a batch are then read as ``partage profile`` reads them, in
every format, each CSV file with its own header. A file is read once, when it is first seen: it has
to be whole by then, moved in under its name (names that begin with a dot or an underscore are not
seen).

*A Kafka*: the stream is of records; the checkpoint holds the offsets.
"""

from __future__ import annotations

import os
import re
from abc import ABC, abstractmethod
from pathlib import Path
from typing import TYPE_CHECKING

from partage.errors import InputError, PartageError
from partage.pipeline.session import spark_errors
from partage.pipeline.sources import SOURCES, kafka, read_files
from partage.pipeline.sources.files import literal

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_LISTED = "path string, modificationTime timestamp, length bigint, content binary"


class Stream(ABC):
    """Where records come from. ``named``: as the user did; ``identity``: what must be the same
    when a watch goes on."""

    named: str
    identity: str

    @abstractmethod
    def open(self, spark: SparkSession) -> DataFrame:
        """The streaming DataFrame. Raises InputError for what is not there."""

    @abstractmethod
    def records(self, spark: SparkSession, batch: DataFrame) -> DataFrame | None:
        """The rows of one of its batches as ``partage.pipeline.records`` has them; None: no
        rows."""

    def explained(self, error: PartageError) -> PartageError:
        """What Spark says of a batch that failed, in words of the source where it has any."""
        return error


def stream(named: str) -> Stream:
    """The stream of a name, not yet opened. Raises InputError for a name that is none."""
    if named.startswith(kafka.SCHEME):
        return _Kafka(named)
    return _Folder(named)


class _Folder(Stream):
    def __init__(self, named: str) -> None:
        self.named = named
        self.identity = named
        if not re.match(r"[A-Za-z][A-Za-z0-9+.-]*:", named):
            if not Path(named).is_dir():
                problem = "is a file" if Path(named).exists() else "no such folder"
                raise InputError(named, f"{problem}, expected a folder that grows")
            self.identity = os.fspath(Path(named).resolve())

    def open(self, spark: SparkSession) -> DataFrame:
        suffixes = ",".join(suffix for source in SOURCES for suffix in source.suffixes)
        with spark_errors(self.named):
            return (
                spark.readStream.format("binaryFile")
                .schema(_LISTED)
                .option("pathGlobFilter", f"*{{{suffixes}}}")
                .option("recursiveFileLookup", "true")
                # Files older than that, compared with the newest, would be left out in silence.
                .option("maxFileAge", "36500d")
                .load(literal(self.named))
                .select("path", "length")
            )

    def records(self, spark: SparkSession, batch: DataFrame) -> DataFrame | None:
        files = [path for path, length in batch.collect() if length > 0]
        if not files:
            return None
        names = sorted(re.sub("^file:/+", "/", path) for path in files)
        return read_files(spark, names)


class _Kafka(Stream):
    def __init__(self, named: str) -> None:
        place = kafka.place(named)
        if place.period.until is not None:
            raise InputError(named, "to: a watch has no end, leave it out")
        self.named = named
        # the brokers may move, and where it began does not matter once it has
        self.identity = kafka.SCHEME + ",".join(sorted(place.topics))

    def open(self, spark: SparkSession) -> DataFrame:
        with spark_errors(self.named):
            return kafka.stream(spark, self.named)

    def records(self, spark: SparkSession, batch: DataFrame) -> DataFrame | None:
        return batch

    def explained(self, error: PartageError) -> PartageError:
        # Spark has no words for errors whose classes came with jars added later.
        if not re.search("UnknownReason|have been lost|out of range", str(error)):
            return error
        return PartageError(
            f"{self.named}: records that come next could not be had: a broker does not answer, or "
            "they are gone (retention, a topic made anew); another directory begins anew"
        )
