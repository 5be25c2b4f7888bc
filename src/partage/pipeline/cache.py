"""Cache DataFrames that are used more than once."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class Cache:
    """``with Cache() as cached: frame = cached(frame)``; at the end the frames are unpersisted."""

    def __init__(self) -> None:
        self._frames: list[DataFrame] = []

    def __call__(self, frame: DataFrame) -> DataFrame:
        self._frames.append(frame.persist())
        return self._frames[-1]

    def __enter__(self) -> Cache:
        return self

    def __exit__(self, *_: object) -> None:
        for frame in reversed(self._frames):
            frame.unpersist()
