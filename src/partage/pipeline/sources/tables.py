"""Tables that Spark knows by name, and folders of Delta and Iceberg tables.

A table is named as in SQL: ``lake.db.records``, or by its folder, ``delta.`/lake/records```. With
the mapping of its columns (``frames``), and the version to read, that is the URL
``table:lake.db.records#4?topic=t&key=payload.id``. Delta's versions are numbers from 0, Iceberg's
are IDs of snapshots; other tables have none.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote

from pyspark.errors import AnalysisException

from partage.errors import InputError
from partage.pipeline import table_formats

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SCHEME = table_formats.TABLE
DELTA, ICEBERG = table_formats.DELTA.name, table_formats.ICEBERG.name

_FOLDER = re.compile(rf"({DELTA}|{ICEBERG})\.`([^`]+)`", re.IGNORECASE)


@dataclass(frozen=True)
class Table:
    """``name``: the user's; ``columns``: a mapping to its columns; ``version``: the one to read,
    None for the newest. Raises InputError for an empty name."""

    name: str
    columns: Mapping[str, str] = field(default_factory=dict)
    version: int | None = None

    def __post_init__(self) -> None:
        if not self.name.strip():
            raise InputError("`table`", "is empty: name a table as in SQL, such as lake.db.records")

    @classmethod
    def of(cls, url: str) -> Table:
        """The table of a URL."""
        name, _, query = url.removeprefix(SCHEME).partition("?")
        name, _, version = name.partition("#")
        columns = dict(part.split("=", 1) for part in query.split("&") if part)
        columns = {ours: unquote(theirs) for ours, theirs in columns.items()}
        return cls(unquote(name), columns, int(version) if version else None)

    @property
    def url(self) -> str:
        """Its URL."""
        query = "&".join(f"{name}={quote(theirs)}" for name, theirs in self.columns.items())
        version = "" if self.version is None else f"#{self.version}"
        return f"{SCHEME}{quote(self.name)}{version}{'?' if query else ''}{query}"

    @property
    def where(self) -> str:
        """The subject of errors about it."""
        return f"table {self.name}"

    @property
    def folder(self) -> tuple[str, str] | None:
        """Format and folder of a table that is named by them."""
        found = _FOLDER.fullmatch(self.name)
        return None if found is None else (found[1].lower(), found[2])

    def frame(self, spark: SparkSession, options: Mapping[str, object] | None = None) -> DataFrame:
        """Its rows, of the version, or with other options of its reader."""
        if options is None:
            options = {} if self.version is None else {"versionAsOf": self.version}
        reader = spark.read.options(**{name: str(value) for name, value in options.items()})
        if self.folder is None:
            return reader.table(self.name)
        format, path = self.folder
        return reader.format(format).load(path)

    def about(self, spark: SparkSession, name: str) -> DataFrame:
        """A table about an Iceberg table: its ``snapshots`` or ``refs``."""
        if self.folder is None:
            return spark.table(f"{self.name}.{name}")
        return spark.read.format(ICEBERG).load(f"{self.folder[1]}#{name}")

    def described(self, spark: SparkSession) -> Mapping[str, str]:
        """What ``DESCRIBE EXTENDED`` shows about it, such as ``Provider`` and ``Type``."""
        if self.folder is not None:
            return {"Provider": self.folder[0]}
        rows = spark.sql(f"DESCRIBE EXTENDED {self.name}").collect()
        titles = [at for at, row in enumerate(rows) if row[0].startswith("# Detailed")]
        return {row[0]: row[1] for row in rows[titles[-1] :]} if titles else {}

    def newest(self, spark: SparkSession, format: str) -> int | None:
        """The newest version; None if there is none."""
        if format == DELTA:
            return int(spark.sql(f"DESCRIBE HISTORY {self.name} LIMIT 1").head()["version"])
        if format == ICEBERG:
            row = self.about(spark, "refs").where("name = 'main'").select("snapshot_id").head()
            return None if row is None else int(row[0])
        return None


def format_of(described: Mapping[str, str]) -> str:
    """The format of a table."""
    return described.get("Provider", "").lower()


def pinned(spark: SparkSession, path: str) -> str:
    """The URL of a table with its newest version, so that everything is read from the same one;
    anything else is unchanged. Raises InputError for a table that does not exist."""
    if not path.startswith(SCHEME):
        return path
    table = Table.of(path)
    if table.version is not None:
        return path
    try:
        version = table.newest(spark, format_of(table.described(spark)))
    except AnalysisException:  # such as one of a view, or of a branch of Iceberg
        table.frame(spark)
        return path
    return replace(table, version=version).url


def shown_as(path: str) -> str:
    """The subject of errors about a path, which may be the URL of a table."""
    return Table.of(path).where if path.startswith(SCHEME) else path


def changed(table: Table, problem: str) -> InputError:
    """The error for a table of which more than new rows came."""
    return InputError(table.where, f"{problem}: measure again with `append` and `overwrite`")
