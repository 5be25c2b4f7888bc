"""Records as every measurement takes them: typed columns, and a reason where a row is no record.

Each source hands over its rows as it finds them (text, or the file's own types). Here they become
the canonical columns, and the first thing wrong with a row becomes its ``reason``. Nothing is
dropped and nothing crashes the job: what cannot be read is kept, to be counted and shown. So every
cast is a try_cast, and arithmetic that could overflow is done on values already in bounds.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from pyspark.sql import functions as F
from pyspark.sql import types as T

from partage.errors import InputError

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

COLUMNS = ("topic", "partition", "offset", "timestamp", "key", "value_bytes")
"""A record: topic string, partition int, offset bigint, timestamp timestamp, key binary (null for
a record without one), value_bytes bigint."""

BOOKKEEPING = ("source", "row", "reason")
"""Where a row comes from, the row as it stands there and what is wrong with it (both null when
nothing is)."""

ALTERNATIVES = {
    "topic": ("topic",),
    "partition": ("partition",),
    "offset": ("offset",),
    "timestamp": ("timestamp",),
    "key": ("key", "key_base64"),
    "value_bytes": ("value_bytes", "value"),
}
"""The columns of an input that give each canonical one; the first that is there is taken. ``value``
is the record's value itself, measured in bytes; null is a tombstone of 0 bytes."""

INPUT_COLUMNS = tuple(name for names in ALTERNATIVES.values() for name in names)

ROW_CHARACTERS = 4096
"""How much is kept of a rejected row."""

_INT32_MAX = 2**31 - 1
_INT64_MAX = 2**63 - 1
_TOPIC_LENGTH = 249
_END_OF_TIME = 4_102_444_800_000  # 2100-01-01 in milliseconds
_NANOSECONDS = 10**17  # as nanoseconds 1973; as milliseconds three million years from now

_ALLOWED: dict[str, tuple[type[T.DataType], ...]] = {
    "topic": (T.StringType, T.BinaryType),
    "partition": (T.StringType, T.NumericType),
    "offset": (T.StringType, T.NumericType),
    "timestamp": (T.StringType, T.NumericType, T.TimestampType, T.TimestampNTZType),
    "key": (T.StringType, T.BinaryType),
    "key_base64": (T.StringType,),
    "value_bytes": (T.StringType, T.NumericType),
    "value": (T.StringType, T.BinaryType),
}


def check_columns(found: Iterable[str], where: str, hint: str = "") -> None:
    """InputError that names the missing columns, and those that were found."""
    names = list(found)
    missing = [
        " or ".join(choice)
        for choice in ALTERNATIVES.values()
        if not any(name in names for name in choice)
    ]
    if missing:
        seen = ", ".join(names[:12]) + (", …" if len(names) > 12 else "") or "none"
        noun = "column" if len(missing) == 1 else "columns"
        raise InputError(where, f"{noun} missing: {', '.join(missing)} (found: {seen}){hint}")


def canonical(rows: DataFrame, row: Column, where: str) -> DataFrame:
    """Rows of a source → ``COLUMNS`` + ``BOOKKEEPING``, one for one.

    ``rows`` has the columns of ``ALTERNATIVES`` that the source found, ``source`` and ``broken`` (a
    reason, or null); ``row`` is its expression for a row's text, evaluated only where it is kept.
    Raises InputError for a missing column or one of a wrong type.
    """
    check_columns([name for name in rows.columns if name in INPUT_COLUMNS], where)
    taken = {
        column: next(name for name in choice if name in rows.columns)
        for column, choice in ALTERNATIVES.items()
    }
    for name in taken.values():
        kind = rows.schema[name].dataType
        if not isinstance(kind, (*_ALLOWED[name], T.NullType)):
            raise InputError(where, f"column {name} cannot be of type {kind.simpleString()[:60]}")

    topic = F.col("topic").cast("string")
    partition = _whole(rows, "partition")
    offset = _whole(rows, "offset")
    timestamp, millis = _timestamp(rows)
    if taken["key"] == "key":
        key, undecoded = F.col("key").cast("binary"), F.lit(False)
    else:
        key = F.try_to_binary("key_base64", F.lit("base64"))
        undecoded = F.col("key_base64").isNotNull() & key.isNull()
    if taken["value_bytes"] == "value_bytes":
        size = _whole(rows, "value_bytes")
        size_reasons = _bounds("value_bytes", size, _INT32_MAX)
    else:
        size, size_reasons = F.coalesce(F.octet_length("value"), F.lit(0)).cast("bigint"), []

    reason = F.coalesce(
        F.col("broken"),
        F.when(topic.isNull() | (topic == ""), F.lit("topic is missing")),
        F.when(F.length(topic) > _TOPIC_LENGTH, F.lit("topic is longer than 249 characters")),
        *_bounds("partition", partition, _INT32_MAX),
        *_bounds("offset", offset, _INT64_MAX),
        F.when(F.col("timestamp").isNull(), F.lit("timestamp is missing")),
        F.when(millis.isNull(), _told("timestamp", "is neither ISO 8601 nor milliseconds")),
        F.when(
            ~millis.between(0, _END_OF_TIME - 1),
            _told("timestamp", "is not between 1970 and 2100"),
        ),
        F.when(undecoded, _told(taken["key"], "is no Base64")),
        *size_reasons,
    )
    judged = rows.withColumn("reason", reason)
    fine = F.col("reason").isNull()
    return judged.select(
        F.when(fine, topic).alias("topic"),
        F.when(fine, partition).cast("int").alias("partition"),
        F.when(fine, offset).alias("offset"),
        F.when(fine, timestamp).alias("timestamp"),
        F.when(fine, key).alias("key"),
        F.when(fine, size).alias("value_bytes"),
        "source",
        F.when(~fine, F.substring(row, 1, ROW_CHARACTERS)).alias("row"),
        "reason",
    )


def _told(column: str, problem: str) -> Column:
    value = F.substring(F.col(column).cast("string"), 1, 60)
    return F.concat(F.lit(f"{column} {problem}: "), value)


def _bounds(column: str, value: Column, highest: int) -> list[Column]:
    return [
        F.when(F.col(column).isNull(), F.lit(f"{column} is missing")),
        F.when(value.isNull(), _told(column, "is no whole number")),
        F.when(value < 0, _told(column, "is negative")),
        F.when(value > highest, _told(column, "is too large")),
    ]


def _whole(rows: DataFrame, name: str) -> Column:
    """The column as bigint; null where it is no whole number. ``3.0`` is one: tools that know no
    missing integers write it."""
    column = F.col(name)
    if isinstance(rows.schema[name].dataType, T.IntegralType):
        return column.cast("bigint")
    exact = column.try_cast("decimal(38,6)")
    whole = F.when(exact == F.floor(exact), exact.try_cast("bigint"))
    if isinstance(rows.schema[name].dataType, T.StringType):
        return F.coalesce(column.try_cast("bigint"), whole)
    return whole


def _timestamp(rows: DataFrame) -> tuple[Column, Column]:
    """The column as timestamp and as milliseconds since 1970 (bigint, null where unreadable)."""
    column, kind = F.col("timestamp"), rows.schema["timestamp"].dataType
    if isinstance(kind, (T.TimestampType, T.TimestampNTZType)):
        return column.cast("timestamp"), F.unix_millis(column.cast("timestamp"))
    number = _whole(rows, "timestamp")
    # Nanoseconds are what pandas leaves in Parquet.
    number = F.when(number < _NANOSECONDS, number).otherwise(F.floor(number / 1_000_000))
    within = F.timestamp_millis(F.greatest(F.least(number, F.lit(_END_OF_TIME)), F.lit(-1)))
    if not isinstance(kind, T.StringType):
        return within, number
    # Without a date Spark would take today's; without seconds it would take nothing.
    dated = F.when(column.rlike(r"^\d{4}-\d{2}-\d{2}([T ]|$)"), column)
    full = F.regexp_replace(dated, r"^(.{10}[T ]\d{2}:\d{2})(?!:)", "$1:00")
    iso = F.try_to_timestamp(full)
    return F.coalesce(within, iso), F.coalesce(number, F.unix_millis(iso))
