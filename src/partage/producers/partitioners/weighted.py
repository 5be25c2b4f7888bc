"""weighted: as uniform, but the next partition is as likely as its weight says.

For topics whose partitions shall not get the same: leaders on brokers of different size, or a
partition to be spared. Records with a key go where the hash says, whatever the weights.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from partage.errors import InputError
from partage.producers.model import Topic
from partage.producers.partitioners.uniform import BATCH_SIZE, Uniform

Weights = Sequence[float] | Mapping[str, Sequence[float]]


class Weighted(Uniform):
    """``weights``: a number for each partition, of every topic or by topic. A topic without weights
    is treated as by uniform, and so is one whose available partitions all weigh nothing."""

    def __init__(self, seed: int, weights: Weights, batch_size: int = BATCH_SIZE) -> None:
        super().__init__(seed, batch_size)
        self._by_topic = dict(weights) if isinstance(weights, Mapping) else None
        self._same = None if isinstance(weights, Mapping) else weights
        for given in (weights,) if self._by_topic is None else self._by_topic.values():
            bad = next((w for w in given if not (_is_number(w) and 0 <= w < math.inf)), None)
            if bad is not None or not any(given):
                wrong = "only zeros" if bad is None else repr(bad)
                raise InputError("weights", f"expected numbers from 0 up, not all 0, got {wrong}")

    def weights(self, topic: Topic) -> Sequence[float] | None:
        given = self._same if self._by_topic is None else self._by_topic.get(topic.name)
        if given is None:
            return None
        if len(given) != topic.partitions:
            raise InputError(
                "weights", f"{len(given)} for topic {topic.name!r} of {topic.partitions} partitions"
            )
        chosen = [float(given[number]) for number in topic.choices]
        return chosen if any(chosen) else None


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)
