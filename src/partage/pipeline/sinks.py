"""Write tables to a directory with a marker file, whole or not at all, in any Spark format.

The tables are small compared with their input and are already on the driver. Parquet is written by
this process, one file per table, the same bytes for the same table, so it ends up on this machine
wherever Spark runs. Any other format is written by Spark, which knows the formats of its jars
(json, csv, orc; delta, avro if installed). Spark must then see this machine's files: it runs here,
or the directory is shared. Before the long work a table of one row is written as a trial.

Tables are written under a temporary name and then renamed, so a format whose tables record their
own path, such as Iceberg, is refused.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import functions as sf

from partage.errors import InputError
from partage.files import to_json
from partage.outputs import check_directory, new_directory, scratch_folder, write_file
from partage.pipeline.session import spark_errors

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

PARQUET = "parquet"

_TEXT = ("csv", "json", "xml")
"""Text formats: bytes are written as base64."""


@dataclass(frozen=True)
class Sink:
    """The directory ``path`` for tables in ``format``; an existing one is replaced only with
    ``overwrite``, and only if it has the ``marker``."""

    path: str | os.PathLike[str]
    marker: str
    format: str = PARQUET
    overwrite: bool = False

    def check(self, spark: SparkSession) -> None:
        """Raise InputError now, before long work, if writing would fail."""
        check_directory(self.path, self.marker, self.overwrite)
        if self.format == PARQUET:
            return
        if self.format.lower() == "iceberg":
            raise InputError(
                self._where,
                "its tables record their own path, which partage renames",
            )
        with scratch_folder(self.path) as folder:
            self._by_spark(spark, pa.table({"row": [1]}), folder / "trial")

    def write(
        self, spark: SparkSession, tables: Mapping[str, pa.Table], about: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Write each table to the folder of its name, and the marker: ``about`` with the format,
        which is returned."""
        document = dict(about) | {"format": self.format}
        with new_directory(self.path, self.marker, self.overwrite) as directory:
            for name, table in tables.items():
                if self.format == PARQUET:
                    (directory / name).mkdir()
                    file = directory / name / "part-00000.parquet"
                    pq.write_table(table, file, compression="zstd")
                else:
                    self._by_spark(spark, table, directory / name)
            write_file(directory / self.marker, to_json(document, indent=2), new=True)
        return document

    @property
    def _where(self) -> str:
        return f"format {self.format}"

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
                f"what Spark writes to {os.fspath(self.path)} is not seen here: Spark must run on "
                "this machine, or share the directory with it",
            )


def _as_text(frame: DataFrame, schema: pa.Schema) -> DataFrame:
    binary = [field.name for field in schema if pa.types.is_binary(field.type)]
    return frame.withColumns({name: sf.base64(name) for name in binary}) if binary else frame
