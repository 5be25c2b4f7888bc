"""JSON lines: one object per line. Keys are text; use ``key_base64`` for binary ones.

An object without ``key`` is a record without a key, but a file whose first lines all lack it (or
any other column) is refused: the column probably has another name.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from pyspark.sql import functions as sf

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

    from partage.pipeline.sources.files import Files

SUFFIXES = tuple(
    name + packed
    for name in (".jsonl", ".json", ".ndjson")
    for packed in ("", ".gz", ".bz2", ".zst")
)

_FIRST_LINES = 1000


def read(spark: SparkSession, files: Files) -> list[DataFrame]:
    """All values as text, whatever their JSON type; ``canonical`` validates them."""
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
    mapped = files.columns if found else {}
    more = files.in_names(sf.col("file"), [*found, *mapped])
    if found:
        own = files.known(found, nested=True)
        files.row_type.check_columns([*found, *more, *mapped], files.named, files.row_type.hint)
    else:
        own = {name: name for name in files.row_type.input_columns}
    replaced = files.row_type.alternatives(mapped) - mapped.keys()
    # Later files may have another column for the same, such as value for value_bytes.
    columns = {
        name: own.get(name) or name
        for field in files.row_type.fields
        for name in field.takes
        if name not in (more.keys() | replaced) and not own.keys().isdisjoint(field.takes)
    }
    # of a structure, the text of its JSON
    heads = {name: name if name in found else name.partition(".")[0] for name in columns.values()}
    schema = ", ".join(f"`{head}` string" for head in dict.fromkeys(heads.values()))
    # Spark ignores whatever follows the first value. Inside an array a bracket must follow, so two
    # records in one line, or text after a record, are noticed.
    parsed = sf.from_json(
        sf.concat(sf.lit("["), "line", sf.lit("]")),
        f"array<struct<{schema.replace('` ', '`: ')}>>",
        {"allowSingleQuotes": "false", "allowNonNumericNumbers": "false"},
    )
    rows = (
        files.distributed(lines)
        .withColumn("parsed", parsed)
        .withColumn("record", sf.get("parsed", sf.lit(0)))
    )
    not_one = sf.col("record").isNull() | (sf.size("parsed") != 1)
    broken = sf.coalesce("broken", sf.when(not_one, sf.lit("line is not one JSON object")))
    named = (column.alias(name) for name, column in more.items())
    read = (
        _value(heads[theirs], theirs.removeprefix(heads[theirs])).alias(name)
        for name, theirs in columns.items()
    )
    if "value" in columns and "value_bytes" in own:
        absent = ~sf.array_contains(sf.json_object_keys("line"), "value")
        unknown = sf.col("record.value_bytes").isNull() & sf.col("record.value").isNull() & absent
        broken = sf.coalesce(broken, sf.when(unknown, sf.lit("value_bytes is missing")))
    typed = rows.select("line", "source", broken.alias("broken"), *read, *named)
    return [files.row_type.canonical(typed, sf.col("line"), files.named)]


def _value(head: str, path: str) -> Column:
    """The value of a column of ``record``, or of the field ``path`` of its structure."""
    value = sf.col("record")[head]
    names = path.split(".")[1:]
    return sf.get_json_object(value, "$" + "".join(f"['{n}']" for n in names)) if names else value
