"""Delta and Iceberg: their jars, which Spark lacks, for the Spark in use.

They must be there when Spark's Java process starts. The releases that are known have lock files
(``jars``); ``--packages`` takes any other.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from partage.errors import InputError
from partage.jars import fetched_jars, locked_names

TABLE = "table:"
"""How the URL of a table begins (``sources.tables``)."""


@dataclass(frozen=True)
class Format:
    """``group`` and ``artifact`` (without Spark's version) in Maven; ``classes``: how those begin
    that settings of Spark name; ``settings`` that Spark needs for it."""

    name: str
    group: str
    artifact: str
    classes: tuple[str, ...]
    settings: Mapping[str, str]

    def releases(self) -> dict[str, str]:
        """The set of jars by the version of Spark that it is for."""
        pattern = re.compile(rf"{self.artifact}[-_]([\d.]+)_2\.13-[\d.]+")
        names = sorted(locked_names(self.artifact))
        return {found[1]: name for name in names if (found := pattern.fullmatch(name))}

    def package(self, spark: str) -> str:
        """The Maven coordinates of the release for a version of Spark. Raises InputError where none
        is known."""
        release = ".".join(spark.split(".")[:2])
        found = self.releases()
        if release not in found:
            problem = f"no release for Spark {release} is known: use Spark {' or '.join(found)}"
            raise InputError(self.name.title(), f"{problem}; or name a release with --packages")
        artifact, _, version = found[release].rpartition("-")
        return f"{self.group}:{artifact}:{version}"

    def wanted(self, urls: Iterable[str], config: Mapping[str, str]) -> bool:
        """Whether a table or a setting names the format."""
        return any(url.lower().startswith(f"{TABLE}{self.name}.") for url in urls) or any(
            value.startswith(self.classes) for text in config.values() for value in text.split(",")
        )

    def jars(self, spark: str) -> list[Path]:
        """The jars for a version of Spark. Raises InputError where none are known, PartageError if
        they cannot be fetched."""
        _, artifact, version = self.package(spark).split(":")
        instead = f"or name it with --packages {self.package(spark)}"
        folder = fetched_jars(f"{artifact}-{version}", f"{self.name} {version}", instead)
        return sorted(folder.glob("*.jar"))


DELTA = Format(
    "delta",
    "io.delta",
    "delta-spark",
    ("io.delta.", "org.apache.spark.sql.delta."),
    {
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    },
)
ICEBERG = Format(
    "iceberg", "org.apache.iceberg", "iceberg-spark-runtime", ("org.apache.iceberg.",), {}
)
FORMATS = {one.name: one for one in (DELTA, ICEBERG)}
WRITTEN = frozenset({DELTA.name})
"""Those in which outputs can be written: tables of Iceberg record their own path."""
