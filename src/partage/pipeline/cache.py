"""Cache DataFrames that are used more than once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark import StorageLevel

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class Cache:
    """``with Cache() as cached: frame = cached(frame)``; at the end the frames are unpersisted."""

    def __init__(self) -> None:
        self._frames: list[DataFrame] = []

    def __call__(self, frame: DataFrame, *, on_disk: bool = False) -> DataFrame:
        """The frame, cached in memory as far as it fits, compressed (PySpark sets
        ``spark.rdd.compress``); ``on_disk``: not in memory, for rows of long texts, of which Java
        runs out of memory before it moves them to the disk."""
        level = StorageLevel.DISK_ONLY if on_disk else StorageLevel.MEMORY_AND_DISK
        self._frames.append(frame.persist(level))
        return self._frames[-1]

    def __enter__(self) -> Cache:
        return self

    def __exit__(self, *_: object) -> None:
        for frame in reversed(self._frames):
            frame.unpersist()
