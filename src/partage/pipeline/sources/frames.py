"""A DataFrame whose columns have types: tables, Parquet, ORC, or whatever the caller has.

Columns are found by name, in any case; a mapping names those that are called otherwise, or that are
fields of a structure (``payload.id``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.errors import AnalysisException
from pyspark.sql import functions as sf

from partage.pipeline.sources.files import no_such_column
from partage.pipeline.sources.tables import Table

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import Column, DataFrame, SparkSession

    from partage.pipeline.rows import RowType


def read(spark: SparkSession, url: str, row_type: RowType) -> DataFrame:
    """The rows of a table (``tables``)."""
    table = Table.of(url)
    return mapped(table.frame(spark), row_type, table.where, table.columns)


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
