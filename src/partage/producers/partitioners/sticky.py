"""sticky (KIP-480): one partition for a whole batch, then another at random.

If the producer announces that a record would open a batch, the partition changes and the record
goes to the new one. For other producers batches are counted here: a batch is full if the next
record does not fit. The next partition is any available one except the last.
"""

from __future__ import annotations

from partage.producers.batches import UNLIMITED, BatchStrategy, CurrentPartition
from partage.producers.model import Topic


class Sticky(BatchStrategy):
    """One batch per partition."""

    counts_next_record = True

    def limit(self, topic: Topic) -> int:
        return UNLIMITED if topic.announces_batches else self._batch_size

    def may_keep(self, current: CurrentPartition, topic: Topic) -> bool:
        return current.partition in topic.choices

    def next_partition(self, current: CurrentPartition, topic: Topic) -> int:
        others = [number for number in topic.choices if number != current.partition]
        choices = others or topic.choices
        return choices[current.draws.below(len(choices))]

    def new_batch(self, topic: Topic, previous: int, size: int) -> int:
        current = self._current(topic)
        if current.partition == previous:  # otherwise another thread has already changed it
            self._switch(current, topic)
            current.bytes = size
        return current.partition
