"""Write tables to a directory with a marker file, whole or not at all, in any Spark format.

Spark's executors write the tables, each sorted within its files, into a temporary directory beside
the output; so the size of a table is not limited by this process or the driver. Then one rename
puts the directory in its place. Its list of files has their SHA-256 (``outputs.directory``); the
executors compute those of large tables, too.

For that, Spark must see this machine's files: it runs here, or the directory is shared. Otherwise
Parquet tables come here through the driver, within its limit for results, and other formats are
refused. On anything but a local Spark a trial finds out before the long work.

A format whose tables record their own path, such as Iceberg, is refused: the path changes.

An output in a store is written by ``stored_tables``.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import Observation
from pyspark.sql import functions as sf

from partage.errors import InputError, PartageError
from partage.files import to_json
from partage.outputs import check_directory, is_store, new_directory, scratch_folder, write_file
from partage.pipeline.saving import PARQUET, of_format, save, typed
from partage.pipeline.session import is_connect
from partage.pipeline.sources.files import literal, plain
from partage.pipeline.spark_errors import spark_errors
from partage.pipeline.stored_tables import check_stored, stored_tables
from partage.pipeline.stores import Store

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["PARQUET", "Sink", "Tables", "is_local", "write_here"]

HASHED_HERE = 64_000_000
"""Bytes of tables up to which this process computes the SHA-256: quicker than a job."""


@dataclass(frozen=True)
class Sink:
    """The directory ``path`` for tables in ``format``; an existing one is replaced only with
    ``overwrite``, and only if it has the ``marker``."""

    path: str | os.PathLike[str]
    marker: str
    format: str = PARQUET
    overwrite: bool = False

    def check(self, spark: SparkSession) -> None:
        """Raise InputError now, before long work, if writing would fail; PartageError if a store
        does not answer."""
        if is_store(self.path):
            check_stored(Store(spark, os.fspath(self.path)), self.marker, self.overwrite)
            return
        check_directory(self.path, self.marker, self.overwrite)
        if self.format.lower() == "iceberg":
            raise InputError(
                self.where,
                "its tables record their own path, which partage renames",
            )
        if self.format != PARQUET and not self.shared(spark):
            raise InputError(
                self.where,
                f"what Spark writes to {os.fspath(self.path)} is not seen here: Spark must run on "
                "this machine, or share the directory with it",
            )

    @contextmanager
    def opened(self, spark: SparkSession) -> Iterator[Tables]:
        """The tables to write; they are in place when the block ends without an error.

        ``Tables.about`` must be set by then: it is written to the marker.
        """
        if is_store(self.path):
            url = os.fspath(self.path)
            with stored_tables(spark, url, self.marker, self.format, self.overwrite) as stored:
                yield stored
            return
        digests: dict[str, str] = {}
        with new_directory(self.path, self.marker, self.overwrite, digests) as directory:
            tables = _LocalTables(self, spark, directory)
            yield tables
            write_file(
                directory / self.marker,
                to_json(dict(tables.about) | {"format": self.format}, indent=2),
                new=True,
            )
            digests.update(tables.digests())

    def write(
        self, spark: SparkSession, tables: Mapping[str, pa.Table], about: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Write tables that are here, and the marker: ``about`` with the format, which is
        returned."""
        with self.opened(spark) as folder:
            for name, table in tables.items():
                folder.add_here(name, table)
            folder.about = about
        return dict(about) | {"format": self.format}

    @property
    def where(self) -> str:
        """The subject of errors about the format."""
        return of_format(self.format)

    def shared(self, spark: SparkSession) -> bool:
        """Whether what Spark writes is seen here. Raises InputError for an unknown format."""
        if is_store(self.path):
            return False
        if self.format == PARQUET and is_local(spark):
            return True
        with scratch_folder(self.path) as folder:
            trial = folder / "trial"
            one = spark.createDataFrame([(1,)], "row int")
            save(one, f"file:{trial.absolute()}", self.format, os.fspath(self.path))
            return bool(_files(trial))


class Tables(Protocol):
    """The tables of a directory while it is written. ``about``: the contents of the marker."""

    about: Mapping[str, Any]

    def add(self, name: str, frame: DataFrame, schema: pa.Schema, order: Sequence[str]) -> None:
        """Write the rows of a frame to the folder ``name`` with these columns, each file sorted by
        the columns ``order`` of the frame."""

    def add_here(self, name: str, table: pa.Table) -> None:
        """Write a table that is here."""


class _LocalTables:
    """Those of a directory here."""

    def __init__(self, sink: Sink, spark: SparkSession, directory: Path) -> None:
        self.about: Mapping[str, Any] = {}
        self._sink, self._spark, self._directory = sink, spark, directory
        self._by_spark = False

    @cached_property
    def _shared(self) -> bool:
        return self._sink.format != PARQUET or self._sink.shared(self._spark)

    def add(self, name: str, frame: DataFrame, schema: pa.Schema, order: Sequence[str]) -> None:
        """See ``Tables``."""
        if self._shared:
            self._save(name, typed(frame.sortWithinPartitions(*order), schema))
        else:
            self.add_here(name, typed(frame.sort(*order), schema).toArrow().cast(schema))

    def add_here(self, name: str, table: pa.Table) -> None:
        """See ``Tables``."""
        if self._sink.format != PARQUET:
            self._save(name, self._spark.createDataFrame(table).coalesce(1))
            return
        write_here(table, self._directory / name)

    def _save(self, name: str, frame: DataFrame) -> None:
        self._by_spark = True
        folder, rows = self._directory / name, _observation(self._spark)
        counted = frame.observe(rows, sf.count("*").alias("rows"))
        save(counted, f"file:{folder.absolute()}", self._sink.format, os.fspath(self._sink.path))
        if self._sink.format == PARQUET:
            _tidy(folder)
            seen = sum(pq.read_metadata(file).num_rows for file in _files(folder))
            if seen != (written := rows.get["rows"]):
                raise PartageError(
                    f"{os.fspath(self._sink.path)}: Spark wrote {written} rows of {name}, but only "
                    f"{seen} are seen here: all of its machines must share the directory"
                )

    def digests(self) -> dict[str, str]:
        """The SHA-256 of the files by their path in the directory, from the executors; none if the
        tables are small."""
        files = [file for file in self._directory.rglob("*") if file.is_file()]
        if not self._by_spark or sum(file.stat().st_size for file in files) <= HASHED_HERE:
            return {}
        reader = self._spark.read.format("binaryFile").option("recursiveFileLookup", "true")
        with spark_errors():
            content = reader.load(f"file:{literal(str(self._directory))}")
            rows = content.select("path", sf.sha2("content", 256)).collect()
        top = len(str(self._directory.absolute())) + 1
        return {plain(path)[top:]: digits for path, digits in rows}


def write_here(table: pa.Table, folder: Path) -> list[Path]:
    """Write a table that is here to a new folder, as one file of Parquet, which is returned."""
    folder.mkdir()
    file = folder / _part(0)
    pq.write_table(table, file, compression="zstd")
    return [file]


def is_local(spark: SparkSession) -> bool:
    """Whether Spark's executors are in a process of this machine that this one has started."""
    return not is_connect(spark) and spark.sparkContext.master.startswith("local")


def _observation(spark: SparkSession) -> Any:
    if is_connect(spark):
        from pyspark.sql.connect.observation import Observation as ConnectObservation

        return ConnectObservation()
    return Observation()


def _part(number: int) -> str:
    return f"part-{number:05}.parquet"


def _files(folder: Path) -> list[Path]:
    """The files of a table, without those that Spark writes about them."""
    return sorted(file for file in folder.glob("*") if file.name[0] not in "._")


def _tidy(folder: Path) -> None:
    """Name Spark's files by their number only, and remove those that it writes about them."""
    parts = _files(folder)
    for file in set(folder.iterdir()) - set(parts):
        file.unlink()
    for number, file in enumerate(parts):
        file.rename(folder / _part(number))
