"""Records as every measurement takes them: typed columns, and a reason where a row is no record.

Each source hands over its rows as it finds them (text, or the file's own types). Here they become
the canonical columns, and the first thing wrong with a row becomes its ``reason``. Nothing is
dropped and nothing crashes the job: what cannot be read is kept, to be counted and shown. So every
cast is a try_cast, and arithmetic that could overflow is done on values already in bounds.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from pyspark.sql import functions as sf
from pyspark.sql import types as st

from partage.errors import InputError

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

COLUMNS = {
    "topic": "string",
    "partition": "int",
    "offset": "bigint",
    "timestamp": "timestamp",
    "key": "binary",
    "value_bytes": "bigint",
}
"""A record, with Spark's types; the key is null for a record without one, nothing else is."""

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

_ALLOWED: dict[str, tuple[type[st.DataType], ...]] = {
    "topic": (st.StringType, st.BinaryType),
    "partition": (st.StringType, st.NumericType),
    "offset": (st.StringType, st.NumericType),
    "timestamp": (st.StringType, st.NumericType, st.TimestampType, st.TimestampNTZType),
    "key": (st.StringType, st.BinaryType),
    "key_base64": (st.StringType,),
    "value_bytes": (st.StringType, st.NumericType),
    "value": (st.StringType, st.BinaryType),
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
        if not isinstance(kind, (*_ALLOWED[name], st.NullType)):
            raise InputError(where, f"column {name} cannot be of type {kind.simpleString()[:60]}")

    timestamp, millis = _timestamp(rows)
    by_name = taken["key"] == "key"
    sized = taken["value_bytes"] == "value_bytes"
    # What is costly to read is read in a step of its own, so that Spark does it once.
    read = rows.select(
        "*",
        sf.col("topic").cast("string").alias("_topic"),
        _whole(rows, "partition").alias("_partition"),
        _whole(rows, "offset").alias("_offset"),
        timestamp.alias("_timestamp"),
        millis.alias("_millis"),
        (sf.col("key").cast("binary") if by_name else _base64("key_base64")).alias("_key"),
        (_whole(rows, "value_bytes") if sized else _length("value")).alias("_value_bytes"),
    )
    reason = sf.coalesce(
        sf.col("broken"),
        sf.when(sf.coalesce(sf.col("_topic"), sf.lit("")) == "", sf.lit("topic is missing")),
        sf.when(sf.length("_topic") > _TOPIC_LENGTH, sf.lit("topic is longer than 249 characters")),
        *_bounds("partition", _INT32_MAX),
        *_bounds("offset", _INT64_MAX),
        sf.when(sf.col("timestamp").isNull(), sf.lit("timestamp is missing")),
        sf.when(
            sf.col("_millis").isNull(), _told("timestamp", "is neither ISO 8601 nor milliseconds")
        ),
        sf.when(
            ~sf.col("_millis").between(0, _END_OF_TIME - 1),
            _told("timestamp", "is not between 1970 and 2100"),
        ),
        sf.when(
            sf.col(taken["key"]).isNotNull() & sf.col("_key").isNull(),
            _told(taken["key"], "is no Base64"),
        ),
        *(_bounds("value_bytes", _INT32_MAX) if sized else ()),
    )
    # A record has its columns and a rejected row its reason: no half-read values.
    judged = read.withColumn("reason", reason)
    fine = sf.col("reason").isNull()
    return judged.select(
        *(
            sf.when(fine, sf.col(f"_{name}")).cast(kind).alias(name)
            for name, kind in COLUMNS.items()
        ),
        "source",
        sf.when(~fine, sf.substring(row, 1, ROW_CHARACTERS)).alias("row"),
        "reason",
    )


def _base64(name: str) -> Column:
    return sf.try_to_binary(name, sf.lit("base64"))


def _length(name: str) -> Column:
    return sf.coalesce(sf.octet_length(name), sf.lit(0)).cast("bigint")


def _told(column: str, problem: str) -> Column:
    value = sf.substring(sf.col(column).cast("string"), 1, 60)
    return sf.concat(sf.lit(f"{column} {problem}: "), value)


def _bounds(column: str, highest: int) -> list[Column]:
    value = sf.col(f"_{column}")
    return [
        sf.when(sf.col(column).isNull(), sf.lit(f"{column} is missing")),
        sf.when(value.isNull(), _told(column, "is no whole number")),
        sf.when(value < 0, _told(column, "is negative")),
        sf.when(value > highest, _told(column, "is too large")),
    ]


def _whole(rows: DataFrame, name: str) -> Column:
    """The column as bigint; null where it is no whole number. ``3.0`` is one: tools that know no
    missing integers write it."""
    column = sf.col(name)
    if isinstance(rows.schema[name].dataType, st.IntegralType):
        return column.cast("bigint")
    exact = column.try_cast("decimal(38,6)")
    whole = sf.when(exact == sf.floor(exact), exact.try_cast("bigint"))
    if isinstance(rows.schema[name].dataType, st.StringType):
        return sf.coalesce(column.try_cast("bigint"), whole)
    return whole


def _timestamp(rows: DataFrame) -> tuple[Column, Column]:
    """The column as timestamp and as milliseconds since 1970, both null where unreadable.

    The timestamp of a number out of bounds is some other one out of bounds.
    """
    column, kind = sf.col("timestamp"), rows.schema["timestamp"].dataType
    if isinstance(kind, (st.TimestampType, st.TimestampNTZType)):
        return column.cast("timestamp"), sf.unix_millis(column.cast("timestamp"))
    number = _whole(rows, "timestamp")
    # Nanoseconds are what pandas leaves in Parquet.
    number = sf.when(number < _NANOSECONDS, number).otherwise(sf.floor(number / 1_000_000))
    inside = sf.greatest(sf.least(number, sf.lit(_END_OF_TIME)), sf.lit(-1))
    within = sf.when(number.isNotNull(), sf.timestamp_millis(inside))
    if not isinstance(kind, st.StringType):
        return within, number
    # Without a date Spark would take today's; without seconds it would take nothing.
    dated = sf.when(column.rlike(r"^\d{4}-\d{2}-\d{2}([T ]|$)"), column)
    full = sf.regexp_replace(dated, r"^(.{10}[T ]\d{2}:\d{2})(?!:)", "$1:00")
    iso = sf.try_to_timestamp(full)
    return sf.coalesce(within, iso), sf.coalesce(number, sf.unix_millis(iso))
