"""Data sources that Spark knows by name, but whose jars must be added to a session."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pyspark

from partage.pipeline.session import is_connect

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import SparkSession


def is_missing(error: Exception) -> bool:
    """Whether the error is that the session lacks the data source."""
    return "Failed to find data source" in str(error) or "DATA_SOURCE_NOT" in str(error)


def fitting(known: Sequence[str]) -> str:
    """Of the versions of a jar that are known: the newest that is not newer than PySpark."""
    release = _release(pyspark.__version__)
    return max((one for one in known if _release(one) <= release), key=_release)


def add_jars(spark: SparkSession, folder: Path) -> None:
    """Add the jars of a folder to the session."""
    for jar in sorted(folder.glob("*.jar")):
        if is_connect(spark):
            spark.addArtifact(str(jar))
        else:
            escaped = str(jar).replace("'", "\\'")
            spark.sql(f"ADD JAR '{escaped}'")


def _release(number: str) -> tuple[int, ...]:
    """Major and minor version."""
    return tuple(int(part) for part in number.split(".")[:2])
