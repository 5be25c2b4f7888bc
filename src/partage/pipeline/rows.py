"""Validate rows: typed columns for the valid ones, a reason for the rejected ones.

A source provides its rows as it finds them (text, or the types of the file). Here they get the
columns of their row type, and whether the row is ``valid``: one Boolean expression, so that a scan
of valid rows works out no reasons. No row is dropped and none crashes the job: rejected rows are
kept, counted and shown with the first of their errors. So every cast is a try_cast, and arithmetic
that could overflow is done on values already in bounds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import TYPE_CHECKING, NamedTuple

from pyspark.sql import functions as sf
from pyspark.sql import types as st

from partage.errors import InputError
from partage.kafka_names import TOPIC_LENGTH

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

BOOKKEEPING = ("source", "row", "reason", "valid", "in_seconds")
"""The origin of a row, for rejected ones the row's text and the error (null for valid rows),
whether it is valid, and whether a time of it is a number that was read as seconds. Spark works out
only those that are used."""

ROW_CHARACTERS = 4096
"""Characters that are kept of a rejected row."""

INT32_MAX = 2**31 - 1
INT64_MAX = 2**63 - 1
_END_OF_TIME = 4_102_444_800_000  # 2100-01-01 in milliseconds
_SECONDS = (10**8, 4_102_444_799)  # as seconds 1973 to 2099; as milliseconds up to 1970-02-17
_MICROSECONDS = 10**14  # as microseconds 1973; as milliseconds three thousand years from now
_NANOSECONDS = 10**17  # as nanoseconds 1973

_TYPE_NAMES: Mapping[type[st.DataType], str] = {
    st.StringType: "string",
    st.BinaryType: "binary",
    st.NumericType: "a number",
    st.TimestampType: "timestamp",
    st.TimestampNTZType: "timestamp",
}

TEXT = (st.StringType, st.BinaryType)
NUMBER = (st.StringType, st.NumericType)
_TIME = (st.StringType, st.NumericType, st.TimestampType, st.TimestampNTZType)


class Fault(NamedTuple):
    """An error of a value: whether it has it, and the reason that is shown."""

    found: Column
    reason: Column


@dataclass(frozen=True, eq=False)
class Field:
    """A column of a row type, with its Spark type.

    - ``takes``: the input columns that can provide it, with the types that they may have; the
      present ones are *taken*, at least one: files may differ
    - ``read(rows, *taken)``: the columns computed from them, ``_name`` among them, null if
      unreadable
    - ``faults(*taken)``: its possible errors
    """

    name: str
    spark_type: str
    takes: Mapping[str, tuple[type[st.DataType], ...]]
    read: Callable[..., list[Column]]
    faults: Callable[..., list[Fault]]


@dataclass(frozen=True, eq=False)
class RowType:
    """The type of the rows of an input: records, samples of sizes, samples of lags.

    ``hint`` is added to the error when a file of JSON lines lacks a column.
    """

    name: str
    fields: tuple[Field, ...]
    hint: str = ""

    @cached_property
    def columns(self) -> dict[str, str]:
        """The columns with their Spark types."""
        return {field.name: field.spark_type for field in self.fields}

    @cached_property
    def input_columns(self) -> tuple[str, ...]:
        """The input columns that are read."""
        return tuple(name for field in self.fields for name in field.takes)

    def known(self, found: Iterable[str]) -> dict[str, str]:
        """The input columns among those found: by name here, their name there, which may be in
        another case."""
        names = list(found)
        lower = {name.lower(): name for name in reversed(names)}
        return {
            name: name if name in names else lower[name]
            for name in self.input_columns
            if name in names or name in lower
        }

    def check_mapping(self, columns: Mapping[str, str], where: str) -> None:
        """Raise InputError for a mapping that is not one of names, or names no input column."""
        if not isinstance(columns, Mapping):
            raise InputError(where, "expected columns by name, as in {'key': 'payload.id'}")
        for name, theirs in columns.items():
            if not (isinstance(theirs, str) and theirs):
                raise InputError(where, f"{name}: expected the name of a column, got {theirs!r}")
        if unknown := [name for name in columns if name not in self.input_columns]:
            accepted = ", ".join(self.input_columns)
            raise InputError(where, f"{unknown[0]}: is not a column of {self.name} ({accepted})")

    def alternatives(self, columns: Mapping[str, str]) -> set[str]:
        """The input columns that could provide the same as the mapped ones, and these."""
        fields = (field for field in self.fields if field.takes.keys() & columns)
        return {name for field in fields for name in field.takes}

    def check_columns(self, found: Iterable[str], where: str, hint: str = "") -> None:
        """Raise InputError for missing columns, naming them and those that were found."""
        names = list(found)
        known = self.known(names)
        missing = [
            " or ".join(field.takes)
            for field in self.fields
            if not any(name in known for name in field.takes)
        ]
        if missing:
            seen = ", ".join(names[:12]) + (", …" if len(names) > 12 else "") or "none"
            noun = "column" if len(missing) == 1 else "columns"
            problem = f"{noun} missing: {', '.join(missing)} (found: {seen}){hint}"
            raise InputError(where, problem)

    def canonical(self, rows: DataFrame, row: Column, where: str) -> DataFrame:
        """Rows of a source → the columns of this row type + ``BOOKKEEPING``, one row each.

        ``rows`` has the input columns that the source found, ``source`` and ``broken`` (a reason,
        or null); ``row`` is an expression for the row's text, evaluated for rejected rows only. A
        rejected row has what could be read of its columns.
        Raises InputError for a missing column or a wrong type.
        """
        self.check_columns([n for n in rows.columns if n in self.input_columns], where)
        taken = {
            field: [name for name in field.takes if name in rows.columns] for field in self.fields
        }
        for field, names in taken.items():
            for name in names:
                found = rows.schema[name].dataType
                if isinstance(found, (*field.takes[name], st.NullType)):
                    continue
                if _has_nothing(rows, name):
                    rows = rows.withColumn(name, sf.lit(None).cast("string"))
                else:
                    names_of = dict.fromkeys(_TYPE_NAMES[kind] for kind in field.takes[name])
                    problem = f"column {name} has type {found.simpleString()[:60]}"
                    raise InputError(where, f"{problem}, expected {' or '.join(names_of)}")
        # A separate step, so that Spark evaluates costly expressions once.
        read = rows.select(
            "*", *(c for field, names in taken.items() for c in field.read(rows, *names))
        )
        broken = Fault(sf.col("broken").isNotNull(), sf.col("broken"))
        faults = [broken, *(f for field, names in taken.items() for f in field.faults(*names))]
        bad = sf.coalesce(
            reduce(lambda one, other: one | other, (f.found for f in faults)), sf.lit(False)
        )
        return read.select(
            *(
                sf.col(f"_{name}").try_cast(spark_type).alias(name)
                for name, spark_type in self.columns.items()
            ),
            "source",
            sf.when(bad, sf.substring(row, 1, ROW_CHARACTERS)).alias("row"),
            sf.coalesce(*(sf.when(*fault) for fault in faults)).alias("reason"),
            (~bad).alias("valid"),
            reduce(lambda one, other: one | other, self._in_seconds(rows, taken)).alias(
                "in_seconds"
            ),
        )

    def _in_seconds(self, rows: DataFrame, taken: Mapping[Field, list[str]]) -> list[Column]:
        return [
            _are_seconds(rows, names[0]) if field.spark_type == "timestamp" else sf.lit(False)
            for field, names in taken.items()
        ]

    def accepted(self, rows: DataFrame) -> DataFrame:
        """Rows of ``canonical`` → the valid ones, with the columns of this row type."""
        return rows.where("valid").select(*self.columns)


# ---------------------------------------------------------------------- fields


def text(name: str, longest: int = TOPIC_LENGTH) -> Field:
    """Non-empty text."""

    def read(rows: DataFrame, taken: str) -> list[Column]:
        value = sf.col(taken).cast("string")
        if isinstance(rows.schema[taken].dataType, st.BinaryType):
            value = sf.try_validate_utf8(value)
        return [value.alias(f"_{name}")]

    def faults(taken: str) -> list[Fault]:
        value = sf.col(f"_{name}")
        # a text has at least as many bytes, which are known, as characters, which Spark counts
        too_long = (sf.octet_length(value) > longest) & (sf.length(value) > longest)
        return [
            Fault(value.isNull() & sf.col(taken).isNotNull(), sf.lit(f"{taken} is not UTF-8")),
            Fault(value.isNull() | (value == ""), sf.lit(f"{taken} is missing")),
            Fault(too_long, sf.lit(f"{taken} is longer than {longest} characters")),
        ]

    return Field(
        name,
        "string",
        {name: TEXT},
        read,
        faults,
    )


def whole(name: str, highest: int = INT64_MAX, spark_type: str = "bigint") -> Field:
    """An integer from 0."""
    return Field(
        name,
        spark_type,
        {name: NUMBER},
        lambda rows, taken: [as_whole(rows, taken).alias(f"_{name}")],
        lambda taken: bounds(taken, sf.col(f"_{name}"), highest),
    )


def time(name: str) -> Field:
    """A time between 1970 and 2100: a timestamp, ISO 8601, or a number since 1970.

    Numbers are milliseconds; or seconds, which as milliseconds would be in the first weeks of 1970;
    or microseconds, or nanoseconds, as pandas writes them to Parquet, both from 1973 on.
    """
    millis = f"_{name}_millis"

    def read(rows: DataFrame, taken: str) -> list[Column]:
        timestamp, number = _timestamp(rows, taken)
        return [timestamp.alias(f"_{name}"), number.alias(millis)]

    def faults(taken: str) -> list[Fault]:
        return [
            Fault(sf.col(taken).isNull(), sf.lit(f"{taken} is missing")),
            Fault(
                sf.col(millis).isNull(), with_value(taken, "is neither ISO 8601 nor milliseconds")
            ),
            Fault(
                ~sf.col(millis).between(0, _END_OF_TIME - 1),
                with_value(taken, "is not between 1970 and 2100"),
            ),
        ]

    return Field(name, "timestamp", {name: _TIME}, read, faults)


def with_value(column: str, problem: str) -> Column:
    """A reason that shows the value."""
    value = sf.substring(sf.col(column).cast("string"), 1, 60)
    return sf.concat(sf.lit(f"{column} {problem}: "), value)


def bounds(taken: str, value: Column, highest: int) -> list[Fault]:
    """The possible errors of an integer read from the column ``taken``."""
    faults = [
        Fault(sf.col(taken).isNull(), sf.lit(f"{taken} is missing")),
        Fault(sf.col(taken).isNotNull() & value.isNull(), with_value(taken, "is not an integer")),
        Fault(value < 0, with_value(taken, "is negative")),
    ]
    if highest < INT64_MAX:
        faults.append(Fault(value > highest, with_value(taken, "is too large")))
    return faults


def as_whole(rows: DataFrame, name: str) -> Column:
    """The column as bigint; null if it is not an integer. ``3.0`` is accepted: tools without
    nullable integers write it."""
    column = sf.col(name)
    if isinstance(rows.schema[name].dataType, st.IntegralType):
        return column.cast("bigint")
    exact = column.try_cast("decimal(38,6)")
    number = sf.when(exact == sf.floor(exact), exact.try_cast("bigint"))
    if isinstance(rows.schema[name].dataType, st.StringType):
        return sf.coalesce(column.try_cast("bigint"), number)
    return number


def _has_nothing(rows: DataFrame, name: str) -> bool:
    """Whether all values of a column are null. Only integers are looked at: pandas and pyarrow
    write such a column to Parquet as one of integers."""
    if not isinstance(rows.schema[name].dataType, st.IntegerType):
        return False
    return bool(rows.where(sf.col(name).isNotNull()).isEmpty())


def _are_seconds(rows: DataFrame, name: str) -> Column:
    """Whether a time is a number of seconds since 1970."""
    data_type = rows.schema[name].dataType
    if isinstance(data_type, (st.TimestampType, st.TimestampNTZType)):
        return sf.lit(False)
    number = sf.col(name)
    if not isinstance(data_type, st.IntegralType):
        number = number.try_cast("decimal(38,6)")
    return sf.coalesce(number.between(*_SECONDS), sf.lit(False))


def _timestamp(rows: DataFrame, name: str) -> tuple[Column, Column]:
    """The column as timestamp and as milliseconds since 1970, both null if unreadable.

    The timestamp of an out-of-range number is another out-of-range one.
    """
    column, data_type = sf.col(name), rows.schema[name].dataType
    if isinstance(data_type, (st.TimestampType, st.TimestampNTZType)):
        return column.cast("timestamp"), sf.unix_millis(column.cast("timestamp"))
    number = as_whole(rows, name)
    whole = isinstance(data_type, st.IntegralType)
    seconds = number * 1000 if whole else sf.floor(column.try_cast("decimal(38,6)") * 1000)
    number = (
        sf.when(_are_seconds(rows, name), seconds.cast("bigint"))
        .when(number < _MICROSECONDS, number)
        .when(number < _NANOSECONDS, sf.call_function("div", number, sf.lit(1000)))
        .otherwise(sf.call_function("div", number, sf.lit(1_000_000)))
    )
    clipped = sf.greatest(sf.least(number, sf.lit(_END_OF_TIME)), sf.lit(-1))
    within = sf.when(number.isNotNull(), sf.timestamp_millis(clipped))
    if not isinstance(data_type, st.StringType):
        return within, number
    # Without a date Spark would assume today; without seconds it would fail.
    dated = sf.when(column.rlike(r"^\d{4}-\d{2}-\d{2}([T ]|$)"), column)
    full = sf.regexp_replace(dated, r"^(.{10}[T ]\d{2}:\d{2})(?!:)", "$1:00")
    iso = sf.try_to_timestamp(full)
    return sf.coalesce(within, iso), sf.coalesce(number, sf.unix_millis(iso))
