"""weighted: like uniform, but the probability of a partition is proportional to its weight.

For topics whose partitions should not get the same load: leaders on brokers of different size, or a
partition to relieve. Records with a key go by its hash, whatever the weights.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from partage.errors import InputError
from partage.producers.batches import BATCH_SIZE
from partage.producers.model import Topic, is_number
from partage.producers.partitioners.uniform import Uniform

Weights = Sequence[float] | Mapping[str, Sequence[float]]


class Weighted(Uniform):
    """``weights``: a number per partition, for every topic or by topic. A topic without weights,
    or with weight 0 on all available partitions, is treated as uniform does."""

    def __init__(self, seed: int, weights: Weights, batch_size: int = BATCH_SIZE) -> None:
        super().__init__(seed, batch_size)
        self._of_all: list[float] | None = None
        self._by_topic: dict[str, list[float]] = {}
        if isinstance(weights, Mapping):
            self._by_topic = {name: _checked(given) for name, given in weights.items()}
        else:
            self._of_all = _checked(weights)

    def weights(self, topic: Topic) -> Sequence[float] | None:
        given = self._by_topic.get(topic.name, self._of_all)
        if given is None:
            return None
        if len(given) != topic.partitions:
            raise InputError(
                "weights", f"expected {topic.partitions} for topic {topic.name!r}, got {len(given)}"
            )
        chosen = [given[number] for number in topic.choices]
        return chosen if any(chosen) else None


def _checked(weights: Sequence[float]) -> list[float]:
    if not isinstance(weights, Iterable):
        raise InputError("weights", f"expected a number for each partition, got {weights!r}")
    for weight in weights:
        if not is_number(weight) or not 0 <= weight < math.inf:
            raise InputError("weights", f"expected numbers of 0 or more, got {weight!r}")
    if not any(weights):
        raise InputError("weights", "expected a number that is not 0")
    return [float(weight) for weight in weights]
