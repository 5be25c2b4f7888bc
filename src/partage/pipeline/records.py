"""The row type of records: its columns, and the input columns that can provide them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as sf
from pyspark.sql import types as st

from partage.pipeline.rows import (
    INT32_MAX,
    NUMBER,
    TEXT,
    Fault,
    Field,
    RowType,
    as_whole,
    bounds,
    text,
    time,
    whole,
    with_value,
)

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


def _read_key(_: DataFrame, *taken: str) -> list[Column]:
    values = {"key": sf.col("key").cast("binary"), "key_base64": _from_base64()}
    return [sf.coalesce(*(values[name] for name in taken)).alias("_key")]


def _from_base64() -> Column:
    return sf.try_to_binary("key_base64", sf.lit("base64"))


def _key_faults(*taken: str) -> list[Fault]:
    if "key_base64" not in taken:
        return []
    unread = sf.col("key_base64").isNotNull() & sf.col("_key").isNull()
    return [Fault(unread, with_value("key_base64", "is not Base64"))]


def _read_size(rows: DataFrame, *taken: str) -> list[Column]:
    size = sf.coalesce(sf.octet_length("value"), sf.lit(0)).cast("bigint")
    if "value_bytes" in taken:
        given = as_whole(rows, "value_bytes")
        known = sf.col("value_bytes").isNotNull()
        size = sf.when(known, given).otherwise(size) if "value" in taken else given
    return [size.alias("_value_bytes")]


def _size_faults(*taken: str) -> list[Fault]:
    if "value_bytes" not in taken:
        return []
    # where some files have values, null is a tombstone
    return bounds("value_bytes", sf.col("_value_bytes"), INT32_MAX)["value" in taken :]


RECORDS = RowType(
    "records",
    (
        text("topic"),
        whole("partition", INT32_MAX, "int"),
        whole("offset"),
        time("timestamp"),
        # null for a record without a key; no other column is null
        Field(
            "key",
            "binary",
            {"key": TEXT, "key_base64": (st.StringType,)},
            _read_key,
            _key_faults,
        ),
        # ``value`` is the record's value, whose bytes are counted; null is a tombstone of 0 bytes
        Field(
            "value_bytes",
            "bigint",
            {"value_bytes": NUMBER, "value": TEXT},
            _read_size,
            _size_faults,
        ),
    ),
    hint='; a record without a key is written "key": null',
)
"""Records: topic, partition, offset, timestamp, key, and the bytes of the value."""

COLUMNS = RECORDS.columns


def canonical(rows: DataFrame, row: Column, where: str) -> DataFrame:
    """Rows of a source → ``COLUMNS`` + ``BOOKKEEPING``, one row each (see ``RowType``)."""
    return RECORDS.canonical(rows, row, where)
