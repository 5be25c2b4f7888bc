"""A DataFrame whose columns have types: tables, Parquet, ORC, or whatever the caller has.

Columns are found by name, in any case; a mapping names those that are called otherwise, or that are
fields of a structure (``payload.id``). A table of a catalog, with its mapping, is named as
``table:catalog.db.records?topic=t&key=payload.id``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import quote, unquote

from pyspark.errors import AnalysisException
from pyspark.sql import functions as sf

from partage.pipeline.sources.files import no_such_column

SCHEME = "table:"

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import Column, DataFrame, SparkSession

    from partage.pipeline.rows import RowType


def named(table: str, columns: Mapping[str, str]) -> str:
    """The URL of a table of Spark's catalogs, with a mapping of its columns."""
    query = "&".join(f"{name}={quote(theirs)}" for name, theirs in columns.items())
    return f"{SCHEME}{quote(table)}{'?' if query else ''}{query}"


def read(spark: SparkSession, url: str, row_type: RowType) -> DataFrame:
    """The rows of a table, named by ``named``."""
    table, _, query = url.removeprefix(SCHEME).partition("?")
    columns = dict(part.split("=", 1) for part in query.split("&") if part)
    columns = {name: unquote(theirs) for name, theirs in columns.items()}
    return mapped(spark.table(unquote(table)), row_type, f"table {unquote(table)}", columns)


def canonical(
    frame: DataFrame,
    row_type: RowType,
    where: str,
    more: Mapping[str, Column],
    source: Column | None = None,
) -> DataFrame:
    """The rows of a frame with the columns of their row type and ``BOOKKEEPING``.

    ``more``: input columns by name that are expressions; ``source``: the origin of a row, default:
    ``where``, the frame's name in errors. Raises InputError for a missing column or a wrong type.
    """
    row_type.check_columns([*frame.columns, *more], where)
    own = {name: _exactly(theirs) for name, theirs in row_type.known(frame.columns).items()}
    columns = {**own, **more}
    rows = frame.select(
        *(column.alias(name) for name, column in columns.items()),
        (sf.lit(where) if source is None else source).alias("source"),
        sf.lit(None).cast("string").alias("broken"),
    )
    return row_type.canonical(rows, sf.to_json(sf.struct(*columns)), where)


def mapped(
    frame: DataFrame, row_type: RowType, where: str, columns: Mapping[str, str]
) -> DataFrame:
    """``canonical`` with a mapping from input columns to columns or fields of the frame."""
    row_type.check_mapping(columns, where)
    return canonical(renamed(frame, row_type, where, columns), row_type, where, {})


def renamed(
    frame: DataFrame, row_type: RowType, where: str, columns: Mapping[str, str]
) -> DataFrame:
    """The frame with the mapped columns in place of those that could provide the same."""
    if not columns:
        return frame
    for name, theirs in columns.items():
        try:
            frame.select(sf.col(theirs)).columns  # noqa: B018
        except AnalysisException:
            raise no_such_column(where, name, theirs, frame.columns) from None
    others = row_type.alternatives(columns)
    return frame.select(
        *(_exactly(theirs) for theirs in frame.columns if theirs.lower() not in others),
        *(sf.col(theirs).alias(name) for name, theirs in columns.items()),
    )


def _exactly(name: str) -> Column:
    return sf.col("`" + name.replace("`", "``") + "`")
