"""Where tables go: a directory of them and its marker, whole or not at all, in any Spark format.

The tables are small against what they were measured on, and they are here already. Parquet is
written by this process, one file per table, the same bytes for the same table; so it ends up on
this machine wherever Spark runs. Any other format is written by Spark, which knows those formats
that its jars bring (json, csv, orc; delta, avro where they are installed). Spark must then write to
this machine's files: it runs here, or the directory is a shared one. Before the long work a table
of one row is written as a trial, and it is looked for.

A table that is written under a temporary name and then renamed must not know its own path, as
Iceberg's do: that format is refused.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import functions as sf

from partage.errors import InputError
from partage.files import check_writable_directory, new_directory, to_json
from partage.pipeline.session import spark_errors

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

PARQUET = "parquet"

_TEXT = ("csv", "json", "xml")
"""Formats of text: bytes go there as base64."""


@dataclass(frozen=True)
class Sink:
    """The directory ``path`` for tables in ``format``; one that is there already is replaced only
    with ``overwrite``, and only if it has the ``marker``."""

    path: str | os.PathLike[str]
    marker: str
    format: str = PARQUET
    overwrite: bool = False

    def check(self, spark: SparkSession) -> None:
        """Say now, before long work, what would go wrong when writing. Raises InputError."""
        check_writable_directory(self.path, self.marker, self.overwrite)
        if self.format == PARQUET:
            return
        if self.format.lower() == "iceberg":
            raise InputError(self._where, "its tables know their own path, and these are renamed")
        with _beside(self.path) as folder:
            self._by_spark(spark, pa.table({"row": [1]}), Path(folder) / "trial")

    def write(
        self, spark: SparkSession, tables: Mapping[str, pa.Table], about: Mapping[str, Any]
    ) -> dict[str, Any]:
        """The tables by name, each in a folder of its own, and the marker: ``about`` with the
        format, which is returned."""
        told = dict(about) | {"format": self.format}
        with new_directory(self.path, self.marker, self.overwrite) as directory:
            for name, table in tables.items():
                if self.format == PARQUET:
                    (directory / name).mkdir()
                    file = directory / name / "part-00000.parquet"
                    pq.write_table(table, file, compression="zstd")
                else:
                    self._by_spark(spark, table, directory / name)
            (directory / self.marker).write_text(to_json(told, indent=2), encoding="utf-8")
        return told

    @property
    def _where(self) -> str:
        return f"--format {self.format}"

    def _by_spark(self, spark: SparkSession, table: pa.Table, folder: Path) -> None:
        with spark_errors(self._where):
            frame = spark.createDataFrame(table).coalesce(1)
            if self.format.lower() in _TEXT:
                frame = _as_text(frame, table.schema)
            writer = frame.write.format(self.format)
            if self.format.lower() == "csv":
                writer = writer.option("header", True)
            writer.save(f"file:{folder.absolute()}")
        if not any(file.name[0] not in "._" for file in folder.glob("*")):
            raise InputError(
                self._where,
                f"Spark wrote nothing to {os.fspath(self.path)} that is seen here: it must run on "
                "this machine, or share the directory with it",
            )


def _as_text(frame: DataFrame, schema: pa.Schema) -> DataFrame:
    binary = [field.name for field in schema if pa.types.is_binary(field.type)]
    return frame.withColumns({name: sf.base64(name) for name in binary}) if binary else frame


def _beside(path: str | os.PathLike[str]) -> tempfile.TemporaryDirectory[str]:
    """A temporary folder where the directory is to be, or as near to it as there is one."""
    parent = Path(path).resolve().parent
    while not parent.is_dir():
        parent = parent.parent
    return tempfile.TemporaryDirectory(prefix=".trial.", dir=parent)
