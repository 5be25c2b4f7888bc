"""uniform (KIP-794): one partition for ``batch_size`` bytes, then any at random.

The partition changes only between batches. If the producer announces that a record opens a batch,
it changes provided that it has got enough bytes. Batches that end early, because of the linger
time, can let a partition get more than ``batch_size`` bytes; at twice as many it changes at once.
For other producers a batch is assumed to end at ``batch_size``.

The sticky partitioner of KIP-480 gives a slow broker more records, because it leaves a partition
when a batch is *opened*, which waits for the broker. Here each partition gets the same number of
bytes each time. Source: ``BuiltInPartitioner`` of Apache Kafka.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate

from partage.producers.batches import BatchStrategy, CurrentPartition
from partage.producers.model import Topic


class Uniform(BatchStrategy):
    """About ``batch_size`` bytes per partition."""

    counts_next_record = False

    def weights(self, topic: Topic) -> Sequence[float] | None:
        """[choices] the relative probability of each of ``topic.choices``. None: equal."""
        return None

    def limit(self, topic: Topic) -> int:
        return self._batch_size * (2 if topic.announces_batches else 1) - 1

    def may_keep(self, current: CurrentPartition, topic: Topic) -> bool:
        return current.partition < topic.partitions

    def next_partition(self, current: CurrentPartition, topic: Topic) -> int:
        weights = self.weights(topic)
        if weights is None:
            return topic.choices[current.draws.below(len(topic.choices))]
        return topic.choices[picked(weights, current.draws.fraction())]

    def new_batch(self, topic: Topic, previous: int, size: int) -> int:
        current = self._current(topic)
        # if another thread has already changed the partition, the record goes there
        if current.partition == previous and current.bytes - size >= self._batch_size:
            self._switch(current, topic)
            current.bytes = size
        return current.partition


def picked(weights: Sequence[float], fraction: float) -> int:
    """The index of the weight that a ``fraction`` (0 to 1) of the sum falls into: of 4 1 3, with
    the cumulative sums 4 5 8, 3/8 falls into the first and 4/8 into the second."""
    sums = list(accumulate(weights))
    return min(bisect_right(sums, fraction * sums[-1]), len(sums) - 1)
