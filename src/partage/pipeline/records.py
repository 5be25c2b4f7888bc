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


def _read_key(_: DataFrame, taken: str) -> list[Column]:
    plain = taken == "key"
    value = sf.col(taken).cast("binary") if plain else sf.try_to_binary(taken, sf.lit("base64"))
    return [value.alias("_key")]


def _key_faults(taken: str) -> list[Fault]:
    unread = sf.col(taken).isNotNull() & sf.col("_key").isNull()
    return [Fault(unread, with_value(taken, "is not Base64"))] if taken != "key" else []


def _read_size(rows: DataFrame, taken: str) -> list[Column]:
    measured = sf.coalesce(sf.octet_length(taken), sf.lit(0)).cast("bigint")
    return [(as_whole(rows, taken) if taken == "value_bytes" else measured).alias("_value_bytes")]


def _size_faults(taken: str) -> list[Fault]:
    return bounds(taken, sf.col("_value_bytes"), INT32_MAX) if taken == "value_bytes" else []


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
