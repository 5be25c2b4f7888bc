"""Rows of any kind as typed columns, and a reason where a row is none.

Each source hands over its rows as it finds them (text, or the file's own types). Here they become
the columns of their kind, and the first thing wrong with a row becomes its ``reason``. Nothing is
dropped and nothing crashes the job: what cannot be read is kept, to be counted and shown. So every
cast is a try_cast, and arithmetic that could overflow is done on values already in bounds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from pyspark.sql import functions as sf
from pyspark.sql import types as st

from partage.errors import InputError

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

BOOKKEEPING = ("source", "row", "reason")
"""Where a row comes from, the row as it stands there and what is wrong with it (both null when
nothing is)."""

ROW_CHARACTERS = 4096
"""How much is kept of a rejected row."""

INT32_MAX = 2**31 - 1
INT64_MAX = 2**63 - 1
_TOPIC_LENGTH = 249
_END_OF_TIME = 4_102_444_800_000  # 2100-01-01 in milliseconds
_NANOSECONDS = 10**17  # as nanoseconds 1973; as milliseconds three million years from now

TEXT = (st.StringType, st.BinaryType)
NUMBER = (st.StringType, st.NumericType)
_TIME = (st.StringType, st.NumericType, st.TimestampType, st.TimestampNTZType)


@dataclass(frozen=True, eq=False)
class Field:
    """A column of a kind of rows, with its type in Spark.

    - ``takes``: the columns of an input that give it, with the types that they may have; the first
      that is there is *taken*
    - ``read(rows, taken)``: the columns to make of it, ``_name`` among them, null where unreadable
    - ``faults(taken)``: what is wrong with it, each null where nothing is
    """

    name: str
    spark_type: str
    takes: Mapping[str, tuple[type[st.DataType], ...]]
    read: Callable[[DataFrame, str], list[Column]]
    faults: Callable[[str], list[Column]]


@dataclass(frozen=True, eq=False)
class Kind:
    """What the rows of an input are: records, samples of sizes, samples of lags.

    ``hint`` is said with a column that a file of JSON lines lacks.
    """

    name: str
    fields: tuple[Field, ...]
    hint: str = ""

    @cached_property
    def columns(self) -> dict[str, str]:
        """Its columns with Spark's types."""
        return {field.name: field.spark_type for field in self.fields}

    @cached_property
    def input_columns(self) -> tuple[str, ...]:
        """The columns of an input that are read."""
        return tuple(name for field in self.fields for name in field.takes)

    def check_columns(self, found: Iterable[str], where: str, hint: str = "") -> None:
        """InputError that names the missing columns, and those that were found."""
        names = list(found)
        missing = [
            " or ".join(field.takes)
            for field in self.fields
            if not any(name in names for name in field.takes)
        ]
        if missing:
            seen = ", ".join(names[:12]) + (", …" if len(names) > 12 else "") or "none"
            noun = "column" if len(missing) == 1 else "columns"
            problem = f"{noun} missing: {', '.join(missing)} (found: {seen}){hint}"
            raise InputError(where, problem)

    def canonical(self, rows: DataFrame, row: Column, where: str) -> DataFrame:
        """Rows of a source → this kind's columns + ``BOOKKEEPING``, one for one.

        ``rows`` has the input columns that the source found, ``source`` and ``broken`` (a reason,
        or null); ``row`` is its expression for a row's text, evaluated only where it is kept.
        Raises InputError for a missing column or one of a wrong type.
        """
        self.check_columns([n for n in rows.columns if n in self.input_columns], where)
        taken = {
            field: next(name for name in field.takes if name in rows.columns)
            for field in self.fields
        }
        for field, name in taken.items():
            found = rows.schema[name].dataType
            if not isinstance(found, (*field.takes[name], st.NullType)):
                problem = f"column {name} cannot be of type {found.simpleString()[:60]}"
                raise InputError(where, problem)
        # What is costly to read is read in a step of its own, so that Spark does it once.
        read = rows.select(
            "*", *(c for field, name in taken.items() for c in field.read(rows, name))
        )
        faults = [fault for field, name in taken.items() for fault in field.faults(name)]
        # A good row has its columns and a rejected one its reason: no half-read values.
        judged = read.withColumn("reason", sf.coalesce(sf.col("broken"), *faults))
        fine = sf.col("reason").isNull()
        return judged.select(
            *(
                sf.when(fine, sf.col(f"_{name}")).cast(kind).alias(name)
                for name, kind in self.columns.items()
            ),
            "source",
            sf.when(~fine, sf.substring(row, 1, ROW_CHARACTERS)).alias("row"),
            "reason",
        )

    def accepted(self, rows: DataFrame) -> DataFrame:
        """What ``canonical`` gave → its good rows: this kind's columns."""
        return rows.where(sf.col("reason").isNull()).select(*self.columns)


# ---------------------------------------------------------------------- fields


def text(name: str, longest: int = _TOPIC_LENGTH) -> Field:
    """Text that is there."""

    def faults(taken: str) -> list[Column]:
        value = sf.col(f"_{name}")
        too_long = f"{taken} is longer than {longest} characters"
        return [
            sf.when(sf.coalesce(value, sf.lit("")) == "", sf.lit(f"{taken} is missing")),
            sf.when(sf.length(value) > longest, sf.lit(too_long)),
        ]

    return Field(
        name,
        "string",
        {name: TEXT},
        lambda _, taken: [sf.col(taken).cast("string").alias(f"_{name}")],
        faults,
    )


def whole(name: str, highest: int = INT64_MAX, spark_type: str = "bigint") -> Field:
    """A whole number from 0."""
    return Field(
        name,
        spark_type,
        {name: NUMBER},
        lambda rows, taken: [as_whole(rows, taken).alias(f"_{name}")],
        lambda taken: bounds(taken, sf.col(f"_{name}"), highest),
    )


def time(name: str) -> Field:
    """A time between 1970 and 2100: a timestamp, ISO 8601, or milliseconds."""
    millis = f"_{name}_millis"

    def read(rows: DataFrame, taken: str) -> list[Column]:
        timestamp, number = _timestamp(rows, taken)
        return [timestamp.alias(f"_{name}"), number.alias(millis)]

    def faults(taken: str) -> list[Column]:
        return [
            sf.when(sf.col(taken).isNull(), sf.lit(f"{taken} is missing")),
            sf.when(sf.col(millis).isNull(), told(taken, "is neither ISO 8601 nor milliseconds")),
            sf.when(
                ~sf.col(millis).between(0, _END_OF_TIME - 1),
                told(taken, "is not between 1970 and 2100"),
            ),
        ]

    return Field(name, "timestamp", {name: _TIME}, read, faults)


def told(column: str, problem: str) -> Column:
    """A reason with the value that it is about."""
    value = sf.substring(sf.col(column).cast("string"), 1, 60)
    return sf.concat(sf.lit(f"{column} {problem}: "), value)


def bounds(taken: str, value: Column, highest: int) -> list[Column]:
    """What is wrong with a whole number, out of the column ``taken``."""
    return [
        sf.when(sf.col(taken).isNull(), sf.lit(f"{taken} is missing")),
        sf.when(value.isNull(), told(taken, "is no whole number")),
        sf.when(value < 0, told(taken, "is negative")),
        sf.when(value > highest, told(taken, "is too large")),
    ]


def as_whole(rows: DataFrame, name: str) -> Column:
    """The column as bigint; null where it is no whole number. ``3.0`` is one: tools that know no
    missing integers write it."""
    column = sf.col(name)
    if isinstance(rows.schema[name].dataType, st.IntegralType):
        return column.cast("bigint")
    exact = column.try_cast("decimal(38,6)")
    number = sf.when(exact == sf.floor(exact), exact.try_cast("bigint"))
    if isinstance(rows.schema[name].dataType, st.StringType):
        return sf.coalesce(column.try_cast("bigint"), number)
    return number


def _timestamp(rows: DataFrame, name: str) -> tuple[Column, Column]:
    """The column as timestamp and as milliseconds since 1970, both null where unreadable.

    The timestamp of a number out of bounds is some other one out of bounds.
    """
    column, kind = sf.col(name), rows.schema[name].dataType
    if isinstance(kind, (st.TimestampType, st.TimestampNTZType)):
        return column.cast("timestamp"), sf.unix_millis(column.cast("timestamp"))
    number = as_whole(rows, name)
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
