"""Rows that came to a table since the last run.

| table | what is new |
|---|---|
| Delta | the files that commits added since the version measured |
| Iceberg | the rows of the snapshots that appended since the one measured |
| other files, such as Parquet in a metastore | the files that were not there |

Rows that were removed or changed cannot be taken back out of a profile: that is an error, and so is
a table that has lost the history which would show it. Files that were only rewritten by a
compaction bring no new rows, in Delta and Iceberg.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING
from urllib.parse import unquote

from pyspark.errors import AnalysisException
from pyspark.sql import functions as sf

from partage.errors import InputError
from partage.pipeline.append.marks import TABLE, Mark, New
from partage.pipeline.records import RECORDS
from partage.pipeline.sources.files import escaped, file_path, is_url, listed, plain
from partage.pipeline.sources.frames import mapped
from partage.pipeline.sources.tables import DELTA, ICEBERG, Table, changed, format_of
from partage.pipeline.spark_errors import spark_errors

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from partage.pipeline.sources import Keep

_COMMIT = (
    "add struct<path string, dataChange boolean, deletionVector struct<storageType string>>, "
    "remove struct<dataChange boolean>"
)
"""What is read of a commit of Delta's log (its protocol: "Actions")."""


def new_rows(spark: SparkSession, table: Table, before: Sequence[Mark]) -> New:
    """The rows of a table that are not in ``before``. Raises InputError where that cannot be
    known."""
    with spark_errors(table.where):
        described = table.described(spark)
        format = format_of(described)
        own = [mark for mark in before if mark.source == table.name]
        if format == DELTA:
            return _of_delta(spark, table, own)
        if format == ICEBERG:
            return _of_iceberg(spark, table, own)
        if described.get("Type") == "VIEW":
            raise InputError(table.where, "is a view: `append` needs a table, which has versions")
        return _of_files(spark, table, own)


def _of_delta(spark: SparkSession, table: Table, before: Sequence[Mark]) -> New:
    detail = spark.sql(f"DESCRIBE DETAIL {table.name}").head()
    newest = table.newest(spark, DELTA)
    assert newest is not None
    mark = Mark(DELTA, table.name, None, detail["id"], newest)
    if not before:
        return _new(table, newest, (mark,), replace(table, version=newest).frame(spark))
    measured = before[0]
    if (measured.kind, measured.identity) != (DELTA, mark.identity) or newest < measured.position:
        raise changed(table, "was created or restored since it was measured")
    if newest == measured.position:
        return _new(table, newest, (), table.frame(spark))
    added = _added_to_delta(spark, table, detail["location"], measured.position, newest)
    if not added:
        return _new(table, newest, (mark,), table.frame(spark).limit(0))
    names = [f"{name}=" for name in detail["partitionColumns"]]
    mapping = detail["properties"].get("delta.columnMapping.mode", "none")
    if mapping != "none" or any(name not in path for name in names for path in added):
        problem = "has columns by another name in its files (column mapping)"
        raise InputError(table.where, f"{problem}: `append` cannot read what is new: measure all")
    reader = spark.read.schema(table.frame(spark).schema).option("basePath", detail["location"])
    return _new(table, newest, (mark,), reader.parquet(*map(escaped, added)))


def _added_to_delta(
    spark: SparkSession, table: Table, location: str, since: int, until: int
) -> list[str]:
    """The files that the commits after one version, up to another, added. Raises InputError if
    rows were removed, too."""
    commits = [
        f"{escaped(location)}/_delta_log/{number:020}.json"
        for number in range(since + 1, until + 1)
    ]
    try:
        actions = spark.read.schema(_COMMIT).json(commits)
    except AnalysisException as error:
        if "PATH_NOT_FOUND" not in str(error):
            raise
        raise changed(table, f"its log since version {since} is not there any more") from None
    rows = actions.where("add.dataChange or remove.dataChange").select(
        "add.path", sf.col("add.deletionVector").isNotNull().alias("vector")
    )
    found = [(path, vector) for path, vector in rows.collect()]
    if any(path is None or vector for path, vector in found):
        raise changed(table, f"rows were removed or changed since version {since}")
    names = [unquote(path) for path, _ in found]
    return [name if is_url(name) else f"{location}/{name}" for name in sorted(names)]


def _of_iceberg(spark: SparkSession, table: Table, before: Sequence[Mark]) -> New:
    newest = table.newest(spark, ICEBERG)
    if newest is None:
        raise InputError(table.where, "has no snapshot yet: no records")
    mark = Mark(ICEBERG, table.name, None, "", newest)
    if not before:
        return _new(table, newest, (mark,), replace(table, version=newest).frame(spark))
    measured = before[0]
    if measured.kind != ICEBERG:
        raise changed(table, "was created since it was measured")
    if newest == measured.position:
        return _new(table, newest, (), table.frame(spark))
    columns = ("snapshot_id", "parent_id", "operation")
    rows = table.about(spark, "snapshots").select(*columns).collect()
    snapshots = {number: (parent, operation) for number, parent, operation in rows}
    at: int | None = newest
    while at != measured.position:
        parent, operation = snapshots.get(at, (None, None))
        if operation is None:
            problem = f"snapshot {measured.position}, which was measured, is not there any more"
            raise changed(table, problem)
        if operation not in ("append", "replace"):
            problem = f"rows were removed or changed since snapshot {measured.position}"
            raise changed(table, problem)
        at = parent
    since = {"start-snapshot-id": measured.position, "end-snapshot-id": newest}
    return _new(table, newest, (mark,), table.frame(spark, since))


def _of_files(spark: SparkSession, table: Table, before: Sequence[Mark]) -> New:
    frame = table.frame(spark)
    quoted = [plain(name) for name in frame.inputFiles()]
    if not quoted and not before:
        raise InputError(table.where, "has no files: `append` cannot know what is new: measure all")
    files = {unquote(name): name for name in quoted}
    reader = spark.read.option("recursiveFileLookup", "true")
    found = {
        Mark(TABLE, table.name, None, f"{name} {at}", length): files[name]
        for name, at, length in (listed(reader, list(map(escaped, files))) if files else ())
    }
    if set(before) - set(found):
        raise changed(table, "files were removed or rewritten since it was measured")
    fresh = {mark: name for mark, name in found.items() if mark not in set(before)}
    rows = frame.where(file_path().isin(list(fresh.values())))
    return _new(table, None, tuple(sorted(fresh)), rows, new_files=len(fresh))


def _new(
    table: Table, version: int | None, marks: tuple[Mark, ...], rows: DataFrame, **more: int
) -> New:
    def read(keep: Keep, _: bool) -> DataFrame:
        return mapped(rows, RECORDS, table.where, table.columns)

    return New(marks, read, {"tables": [{"table": table.name, "version": version}], **more})
