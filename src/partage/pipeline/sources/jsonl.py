"""JSON lines: one object a line. Keys are text; ``key_base64`` is for those that are not.

A missing ``key`` is a record without a key, but a file whose first lines all lack it (or any other
column) is refused: that is a column of another name.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from pyspark.sql import functions as sf

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from partage.pipeline.sources.files import Files

SUFFIXES = tuple(
    name + packed
    for name in (".jsonl", ".json", ".ndjson")
    for packed in ("", ".gz", ".bz2", ".zst")
)

_FIRST_LINES = 1000


def read(spark: SparkSession, files: Files) -> DataFrame:
    """All values as text, whatever their JSON type: the checks of ``canonical`` decide."""
    lines = files.lines(spark)
    found: dict[str, None] = {}
    first = lines.select("line").limit(_FIRST_LINES).collect()
    for (line,) in first:
        try:
            value = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict):
            found |= dict.fromkeys(value)
    if found:
        files.kind.check_columns(found, files.named, files.kind.hint)
    known = files.kind.input_columns
    columns = [name for name in known if name in found] or list(known)
    schema = ", ".join(f"`{name}` string" for name in columns)
    # Spark stops reading at the end of the first value. Inside an array there must be a bracket
    # next, so that two records in one line, or rubbish after one, do not go unnoticed.
    parsed = sf.from_json(
        sf.concat(sf.lit("["), "line", sf.lit("]")),
        f"array<struct<{schema.replace('` ', '`: ')}>>",
        {"allowSingleQuotes": "false", "allowNonNumericNumbers": "false"},
    )
    rows = lines.withColumn("parsed", parsed).withColumn("record", sf.get("parsed", sf.lit(0)))
    broken = sf.when(
        sf.col("record").isNull() | (sf.size("parsed") != 1), sf.lit("line is not one JSON object")
    )
    typed = rows.select("line", "source", broken.alias("broken"), "record.*")
    return files.kind.canonical(typed, sf.col("line"), files.named)
