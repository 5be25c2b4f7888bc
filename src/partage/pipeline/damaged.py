"""``--skip-damaged``: find the files that cannot be read to their end, so that they are left out.

Spark can ignore damaged files, too, but keeps the rows before the damage, and counts nothing. So
every file is read once before it is measured. A job ends at the first damaged file that it meets:
then the files are halved, and each half is read by itself, until every group is whole or one file.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from partage.errors import InputError
from partage.pipeline.progress import Progress, reported
from partage.pipeline.rows import RowType
from partage.pipeline.sources import (
    Reading,
    kafka,
    known_suffixes,
    list_files,
    read_files,
    tables,
)
from partage.pipeline.spark_errors import DamagedFileError, spark_errors

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_NO_FILES = (kafka.SCHEME, tables.SCHEME)


def without_damaged(
    spark: SparkSession,
    given: Mapping[RowType, Sequence[str | os.PathLike[str]]],
    reading: Reading,
    progress: Progress | None,
) -> Reading:
    """The same way of reading that leaves out the damaged files under the paths of each row type.
    Raises InputError for a path that does not exist."""
    found: set[str] = set()
    with reported(spark, progress, "looking for damaged files"):
        for row_type, paths in given.items():
            own = reading.of(row_type)
            for path in [os.fspath(path) for path in paths]:
                if not path.startswith(_NO_FILES):
                    with spark_errors(path):
                        names = list_files(spark, path)
                    known = [name for name in names if name.endswith(known_suffixes(row_type))]
                    found.update(damaged_files(known, partial(_rows, spark, row_type, own)))
    return replace(reading, left_out=frozenset(found))


@contextmanager
def skipping_advised() -> Iterator[None]:
    """Add to the error of a damaged file that it can be left out."""
    try:
        yield
    except DamagedFileError as error:
        advice = f"{error.problem}; `skip_damaged` leaves such files out"
        raise DamagedFileError(error.where, advice) from None


def _rows(
    spark: SparkSession, row_type: RowType, reading: Reading, names: Sequence[str]
) -> DataFrame:
    rows = read_files(spark, names, row_type, reading=reading)
    return rows.select(*row_type.columns, "valid")


def damaged_files(
    names: Sequence[str], read: Callable[[Sequence[str]], DataFrame]
) -> Iterator[str]:
    """The files among ``names`` that ``read`` cannot read to their end."""
    if not names:
        return
    try:
        with spark_errors():
            read(names).write.format("noop").mode("overwrite").save()
    except DamagedFileError:
        if len(names) == 1:
            yield names[0]
            return
        half = len(names) // 2
        for own in (names[:half], names[half:]):
            yield from damaged_files(own, read)
    except InputError:
        return  # another error, which measuring reports
