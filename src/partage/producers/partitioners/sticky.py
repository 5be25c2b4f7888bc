"""sticky (KIP-480): one partition for a whole batch, then another one at random.

A producer that tells batches says when a record would open a new one: the partition changes then,
and the record goes to the new partition. For others the batches are counted here: a batch is full
when a record does not fit into it any more. The next partition is any available one but the last.
"""

from __future__ import annotations

from partage.producers.batches import ENDLESS, ByBatches, Held
from partage.producers.model import Topic


class Sticky(ByBatches):
    """One batch each, counted or told."""

    counts_itself = True

    def most(self, topic: Topic) -> int:
        return ENDLESS if topic.announces_batches else self._batch_size

    def stays(self, held: Held, topic: Topic) -> bool:
        return held.partition in topic.choices

    def following(self, held: Held, topic: Topic) -> int:
        others = [number for number in topic.choices if number != held.partition]
        choices = others or topic.choices
        return choices[held.draws.below(len(choices))]

    def new_batch(self, topic: Topic, previous: int, size: int) -> int:
        held = self._held(topic)
        if held.partition == previous:  # otherwise another thread has changed it already
            self._switch(held, topic)
            held.bytes = size
        return held.partition
