"""The partitions that a member owns, as columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property

import numpy as np

from partage.arrays import Ints


class OwnedPartitions(Mapping[str, Ints]):
    """Partition numbers by topic, read from two columns: with a million partitions of a thousand
    topics, most entries would be arrays of one number.

    - ``names``: topics that the columns refer to
    - ``topic`` [n]: positions in ``names``, ascending; ``number`` [n]
    """

    def __init__(self, names: tuple[str, ...], topic: Ints, number: Ints) -> None:
        self.names, self.topic, self.number = names, topic, number

    @cached_property
    def _first(self) -> dict[str, slice]:
        topics, first, count = np.unique(self.topic, return_index=True, return_counts=True)
        bounds = np.stack((first, first + count), axis=1).tolist()
        return {
            self.names[topic]: slice(*bound)
            for topic, bound in zip(topics.tolist(), bounds, strict=True)
        }

    def __getitem__(self, topic: str) -> Ints:
        return self.number[self._first[topic]]

    def __iter__(self) -> Iterator[str]:
        return iter(self._first)

    def __len__(self) -> int:
        return len(self._first)
