"""uniform (KIP-794): one partition for ``batch_size`` bytes, then one at random, the same one too.

It changes only between batches. A producer that tells batches says when a record opens one: the
partition changes then, if enough bytes have gone to it. Where batches end early, by their linger
time, more than ``batch_size`` bytes may go there before one ends; with twice as many the partition
changes at once. For other producers a batch is taken to end where ``batch_size`` is reached.

The sticky partitioner of KIP-480 gives a slow broker more records: a partition is left when a batch
is *opened*, which waits for the broker. Here each partition gets as many bytes each time. Source:
``BuiltInPartitioner`` of Apache Kafka.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate

from partage.producers.batches import ByBatches, Held
from partage.producers.model import Topic


class Uniform(ByBatches):
    """About ``batch_size`` bytes each."""

    counts_itself = False

    def weights(self, topic: Topic) -> Sequence[float] | None:
        """For each of the topic's choices how likely it comes next, in proportion. None: all
        alike."""
        return None

    def most(self, topic: Topic) -> int:
        return self._batch_size * (2 if topic.announces_batches else 1) - 1

    def stays(self, held: Held, topic: Topic) -> bool:
        return held.partition < topic.partitions

    def following(self, held: Held, topic: Topic) -> int:
        weights = self.weights(topic)
        if weights is None:
            return topic.choices[held.draws.below(len(topic.choices))]
        return topic.choices[picked(weights, held.draws.fraction())]

    def new_batch(self, topic: Topic, previous: int, size: int) -> int:
        held = self._held(topic)
        # where another thread has changed the partition already, it is that one
        if held.partition == previous and held.bytes - size >= self._batch_size:
            self._switch(held, topic)
            held.bytes = size
        return held.partition


def picked(weights: Sequence[float], fraction: float) -> int:
    """The place of the weight in which that fraction of their sum falls: of 4 1 3, with the running
    sums 4 5 8, 3/8 falls into the first and 4/8 into the second."""
    sums = list(accumulate(weights))
    return min(bisect_right(sums, fraction * sums[-1]), len(sums) - 1)
