"""Large compressed files that one task has to read, since Spark cannot split their compression.

Spark gives such a file to one task. Where that task has more to do than all others would, its lines
are distributed as soon as they are read: several tasks parse and check them, and each has a part of
the cache. So one task does no more than to unpack the file.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from partage.pipeline.sources.files import listed

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from partage.pipeline.sources.files import Files

SUFFIXES = (".gz", ".zst")
"""Of bzip2, Spark reads parts."""

LARGE = 128 * 1024 * 1024
"""Bytes from which Spark splits a file, if it can."""


def largest(spark: SparkSession, files: Files) -> tuple[str, int] | None:
    """The name and the bytes of the file that one task reads while the others have nothing to do,
    or None."""
    if not any(name.endswith(SUFFIXES) for name in files.names):
        return None
    found = listed(files.reader(spark), files.pattern)
    sizes = {name: size for name, _, size in found if name in files.names}
    packed = [name for name in sizes if name.endswith(SUFFIXES)]
    name = max(packed, key=lambda name: (sizes[name], name), default="")
    if sizes.get(name, 0) < LARGE:
        return None
    others = int(spark.conf.get("spark.sql.shuffle.partitions") or 1)
    return (name, sizes[name]) if sum(sizes.values()) < others * sizes[name] else None


def advice(name: str, size: int) -> str:
    """What a user should know of it."""
    suffix = next(suffix for suffix in SUFFIXES if name.endswith(suffix))
    shown = f"{size / 1e9:.1f} GB" if size >= 10**9 else f"{size / 1e6:.0f} MB"
    return (
        f"{name}: one task unpacks its {shown}, because Spark cannot split {suffix}: "
        "smaller files, .bz2 or Parquet are read by several"
    )
