"""Tables of windows, written and read by Spark's executors.

Where these do not share the directory with this process, the rows come here, within Spark's limit
for results.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql.pandas.types import from_arrow_schema

from partage.errors import PartageError
from partage.pipeline import sinks
from partage.pipeline.saving import PARQUET, ROWS_PER_FILE, save, typed
from partage.pipeline.watch import windows
from partage.pipeline.watch.folder import Folder, LocalFolder

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@dataclass(frozen=True)
class Tables:
    """Tables of windows in the directory of a watch; ``shared``: the executors see it."""

    folder: Folder
    shared: bool

    @classmethod
    def of(cls, spark: SparkSession, folder: Folder, marker: str) -> Tables:
        """Find out whether the executors of a session see the directory."""
        return cls(folder, folder.shared or sinks.Sink(folder.where, marker).shared(spark))

    def read(self, spark: SparkSession, names: Sequence[str]) -> DataFrame:
        """The windows of files."""
        schema = from_arrow_schema(windows.SCHEMA)
        if not names:
            return spark.createDataFrame([], schema)
        if self.shared:
            # so that a folder named topic=a in the path does not become a column
            reader = spark.read.schema(schema).option("recursiveFileLookup", "true")
            return reader.parquet(*map(self.folder.pattern, names))
        tables = (pq.ParquetFile(pa.BufferReader(self.folder.read(name))).read() for name in names)
        return spark.createDataFrame(pa.concat_tables(tables).cast(windows.SCHEMA))

    def write(self, frame: DataFrame, rows: int, name: str) -> list[str]:
        """Write windows, of which there are so many, to a new folder; returns its files. Each is
        sorted."""
        if not rows:
            return []
        rows_of = typed(frame, windows.SCHEMA)
        folder = self.folder
        if self.shared or not isinstance(folder, LocalFolder):
            least = -(-rows // ROWS_PER_FILE)
            few = rows_of.coalesce(least).sortWithinPartitions(*windows.ORDER)
            save(few, folder.url(name), PARQUET, folder.where)
            start = f"{name}/part-"
            files = [file for file in folder.names(name) if file.startswith(start)]
        else:
            sinks.write_here(rows_of.sort(*windows.ORDER).toArrow(), folder.path / name)
            files = folder.names(name)
        written = folder.rows(files)
        if written != rows:
            problem = f"{written:,} of {rows:,} windows are on disk"
            raise PartageError(f"{folder.where}: {problem}: run the command again")
        return files
