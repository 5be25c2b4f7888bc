"""Tables of windows, written and read by Spark's executors.

Where these do not share the directory with this process, the rows come here, within Spark's limit
for results.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql.pandas.types import from_arrow_schema

from partage.errors import PartageError
from partage.outputs import remove_known
from partage.pipeline import sinks
from partage.pipeline.saving import PARQUET, ROWS_PER_FILE, save
from partage.pipeline.sources.files import literal
from partage.pipeline.watch import windows

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_OURS = re.compile(r"(.*/)?(part-[^/]*|\.part-[^/]*\.crc|\._SUCCESS\.crc|_SUCCESS)")


@dataclass(frozen=True)
class Tables:
    """Tables of windows in the directory of a watch; ``shared``: the executors see it."""

    sink: sinks.Sink
    shared: bool

    @classmethod
    def of(cls, spark: SparkSession, path: Path, marker: str) -> Tables:
        """Find out whether the executors of a session see the directory."""
        sink = sinks.Sink(path, marker)
        return cls(sink, sink.shared(spark))

    def read(self, spark: SparkSession, files: Sequence[Path]) -> DataFrame:
        """The windows of files."""
        schema = from_arrow_schema(windows.SCHEMA)
        if not files:
            return spark.createDataFrame([], schema)
        if self.shared:
            # so that a folder named topic=a in the path does not become a column
            reader = spark.read.schema(schema).option("recursiveFileLookup", "true")
            return reader.parquet(*(f"file:{literal(str(file.absolute()))}" for file in files))
        rows = pa.concat_tables([pq.ParquetFile(file).read() for file in files])
        return spark.createDataFrame(rows.cast(windows.SCHEMA))

    def write(self, frame: DataFrame, rows: int, folder: Path) -> list[Path]:
        """Write windows, of which there are so many, to a new folder; returns its files. Each is
        sorted."""
        if not rows:
            return []
        types = {one.name: one.dataType for one in from_arrow_schema(windows.SCHEMA)}
        typed = frame.select(*(frame[name].cast(kind) for name, kind in types.items()))
        if self.shared:
            least = -(-rows // ROWS_PER_FILE)
            few = typed.coalesce(least).sortWithinPartitions(*windows.ORDER)
            save(few, f"file:{folder.absolute()}", PARQUET, os.fspath(self.sink.path))
            files = sorted(folder.glob("part-*"))
        else:
            files = sinks.write_here(typed.sort(*windows.ORDER).toArrow(), folder)
        written = sum(pq.read_metadata(file).num_rows for file in files)
        if written != rows:
            problem = f"{written:,} of {rows:,} windows are on disk"
            raise PartageError(f"{self.sink.path}: {problem}: run the command again")
        return files


def remove_unfinished(folder: Path) -> None:
    """Remove what executors wrote for a run that was killed."""
    remove_known(folder, _OURS)
