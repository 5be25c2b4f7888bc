"""CSV files, each with a header: commas, double quotes, one record per line.

An empty field is null and a quoted empty field (``""``) is the empty text, so a record without a
key differs from a record with an empty key. Keys are text; use ``key_base64`` for binary ones. A
line equal to the header is skipped: it comes from concatenated files.
"""

from __future__ import annotations

import csv
from collections import defaultdict
from typing import TYPE_CHECKING

from pyspark.sql import functions as sf

from partage.errors import InputError
from partage.pipeline.rows import RowType

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from partage.pipeline.sources.files import Files

SUFFIXES = (".csv", ".csv.gz", ".csv.bz2", ".csv.zst")

_BROKEN = "partage_broken"


def read(spark: SparkSession, files: Files) -> list[DataFrame]:
    """All values as text, which ``canonical`` validates. Headers may differ between files."""
    lines = files.lines(spark)
    headers = (
        lines.where("start = 0")
        .withColumn("place", sf.monotonically_increasing_id())
        .groupBy("file", "source")
        .agg(sf.min_by("line", "place").alias("header"))
    )
    sharing: dict[str, list[str]] = defaultdict(list)
    for file, source, header in headers.sort("file").collect():
        names = _names(header, files.row_type, source)
        more = files.in_names(sf.col("file"), files.known(names))
        files.row_type.check_columns([*names, *more, *files.columns], source)
        sharing[header].append(file)
    if not sharing:
        raise InputError(files.named, "is empty")
    frames = []
    for header, same in sharing.items():
        own = lines if len(sharing) == 1 else lines.where(sf.col("file").isin(same))
        frames.append(_read_with(own.where(sf.col("line") != header), header, files))
    return frames


def _names(header: str, row_type: RowType, where: str) -> list[str]:
    try:
        names = [name.strip() for name in next(csv.reader([header.lstrip("\ufeff")]), [])]
    except csv.Error as error:  # a field of more than 131,072 characters
        raise InputError(where, f"its first line is not a header ({error})") from None
    for name in names:
        if name in row_type.input_columns and names.count(name) > 1:
            raise InputError(where, f"column {name} occurs twice")
    return names


def _read_with(lines: DataFrame, header: str, files: Files) -> DataFrame:
    names = _names(header, files.row_type, files.named)
    # Columns are addressed by position: others may have any name, or none.
    fields = [f"_{position}" for position in range(len(names))]
    schema = ", ".join(f"`{name}` string" for name in (*fields, _BROKEN))
    options = {
        "columnNameOfCorruptRecord": _BROKEN,
        "escape": '"',
        "nullValue": "\x00",  # never occurs, so only unquoted empty fields are null
        "maxCharsPerColumn": "-1",
    }
    record = sf.from_csv("line", schema, options)
    rows = files.distributed(lines).withColumn("record", record)
    fields_differ = sf.lit(f"line does not have the header's {len(names)} fields")
    broken = sf.coalesce("broken", sf.when(sf.col(f"record.{_BROKEN}").isNotNull(), fields_differ))
    known = files.known(names)
    wanted = {name: sf.col(f"record._{names.index(known[name])}") for name in known}
    wanted |= files.in_names(sf.col("file"), known)
    columns = (column.alias(name) for name, column in wanted.items())
    typed = rows.select("line", "source", broken.alias("broken"), *columns)
    return files.row_type.canonical(typed, sf.col("line"), files.named)
