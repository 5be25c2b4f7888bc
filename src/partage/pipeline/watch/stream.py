"""Streams of records for Structured Streaming: a growing folder, or Kafka.

*Folder*: a stream of file names; Spark's file source records in the checkpoint which it has handed
out. The files of a batch are then read as ``partage profile`` reads them, in every format, each CSV
file with its own header. A file is read once, when it first appears, so it must be complete by
then: write it under a name that begins with a dot or an underscore, which is ignored, and rename
it.

*Kafka*: a stream of records; the checkpoint holds the offsets.
"""

from __future__ import annotations

import os
import re
from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from partage.errors import InputError, PartageError
from partage.files import check_not_empty
from partage.pipeline.sources import SOURCES, kafka, read_files
from partage.pipeline.sources.files import is_url, literal, plain
from partage.pipeline.spark_errors import spark_errors

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Offsets = Mapping[str, Mapping[str, int]]
"""By topic and partition."""

_LISTED = "path string, modificationTime timestamp, length bigint, content binary"


class Stream(ABC):
    """A source of records. ``named``: the user's name for it; ``identity``: what must be the same
    when a watch resumes."""

    named: str
    identity: str

    def more(self, before: Offsets | None, now: Offsets | None) -> bool:
        """Whether records may wait after a batch; ``before``, ``now``: where the batch before it
        and the batch itself end."""
        return False

    @abstractmethod
    def open(self, spark: SparkSession) -> DataFrame:
        """The streaming DataFrame. Raises InputError if the source does not exist."""

    @abstractmethod
    def records(self, spark: SparkSession, batch: DataFrame) -> DataFrame | None:
        """The rows of a batch with the columns of ``partage.pipeline.records``; None: no rows."""

    def explained(self, error: PartageError) -> PartageError:
        """The error of a failed batch, explained in terms of the source where that is possible."""
        return error


def stream(named: str, max_offsets: int | None = None, max_files: int | None = None) -> Stream:
    """The stream of a name, not yet opened, with the most offsets (Kafka) or files (a folder) of a
    batch. Raises InputError if there is no such stream."""
    limits = {"max_offsets_per_trigger": max_offsets, "max_files_per_trigger": max_files}
    for name, limit in limits.items():
        if limit is not None and limit < 1:
            raise InputError(f"`{name}`", f"{limit}: must be at least 1")
    wrong = max_files if named.startswith(kafka.SCHEME) else max_offsets
    if wrong is not None:
        other, right = list(limits), named.startswith(kafka.SCHEME)
        raise InputError(
            f"`{other[right]}`", f"does not apply to {named}: use `{other[not right]}`"
        )
    if named.startswith(kafka.SCHEME):
        return _Kafka(named, max_offsets)
    return _Folder(named, max_files)


class _Folder(Stream):
    def __init__(self, named: str, max_files: int | None) -> None:
        self.named = named
        self._limit = {} if max_files is None else {"maxFilesPerTrigger": str(max_files)}
        self.identity = named
        check_not_empty(named)
        if not is_url(named):
            if not Path(named).is_dir():
                problem = "is a file" if Path(named).exists() else "does not exist"
                raise InputError(named, f"{problem}: expected a folder to which files are added")
            self.identity = os.fspath(Path(named).resolve())

    def open(self, spark: SparkSession) -> DataFrame:
        suffixes = ",".join(suffix for source in SOURCES for suffix in source.suffixes)
        with spark_errors(self.named):
            return (
                spark.readStream.format("binaryFile")
                .schema(_LISTED)
                .option("pathGlobFilter", f"*{{{suffixes}}}")
                .option("recursiveFileLookup", "true")
                # Without it, files much older than the newest would be ignored silently.
                .option("maxFileAge", "36500d")
                .options(**self._limit)
                .load(literal(self.named))
                .select("path", "length")
            )

    def records(self, spark: SparkSession, batch: DataFrame) -> DataFrame | None:
        files = [path for path, length in batch.collect() if length > 0]
        if not files:
            return None
        names = sorted(map(plain, files))
        return read_files(spark, names)


class _Kafka(Stream):
    def __init__(self, named: str, max_offsets: int | None) -> None:
        self._limit = max_offsets
        url = kafka.parse_url(named)
        if url.period.until is not None:
            raise InputError(named, "to: a watch has no end: leave it out")
        self.named = named
        # addresses may change, and the starting point does not matter once it has started
        self.identity = kafka.SCHEME + ",".join(sorted(url.topics))

    def open(self, spark: SparkSession) -> DataFrame:
        with spark_errors(self.named):
            return kafka.stream(spark, self.named, self._limit)

    def more(self, before: Offsets | None, now: Offsets | None) -> bool:
        """Of a limited batch Spark rounds the share of each partition down."""
        if self._limit is None:
            return False
        if before is None or now is None:
            return True
        ends = {(topic, number): end for topic in now for number, end in now[topic].items()}
        taken = sum(end - before.get(t, {}).get(n, 0) for (t, n), end in ends.items())
        return taken + len(ends) > self._limit

    def records(self, spark: SparkSession, batch: DataFrame) -> DataFrame | None:
        return batch

    def explained(self, error: PartageError) -> PartageError:
        # Spark cannot describe errors whose classes came with jars added later.
        if not re.search("UnknownReason|have been lost|out of range", str(error)):
            return error
        return PartageError(
            f"{self.named}: the next records cannot be read: a broker does not answer, or they are "
            "gone (retention, or the topic was deleted and created again). Another directory "
            "starts over"
        )
