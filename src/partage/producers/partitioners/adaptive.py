"""adaptive (KIP-794): as uniform, but the next partition is the likelier the less waits for it.

The chance of a partition is in proportion to the longest queue, plus one, minus its own: queues of
0, 3 and 1 batches give 4, 1 and 3 of 8. Without knowledge of queues it is uniform.

``availability_timeout_ms`` (Kafka's ``partitioner.availability.timeout.ms``): a partition whose
broker has not taken anything for longer than that is left out, unless all are. 0: none is.
"""

from __future__ import annotations

from collections.abc import Sequence

from partage.errors import InputError
from partage.producers.batches import BATCH_SIZE
from partage.producers.model import Topic, is_number
from partage.producers.partitioners.uniform import Uniform


class Adaptive(Uniform):
    """The queues come with the topic (``Topic.queues``, ``Topic.not_taken_ms``)."""

    def __init__(
        self, seed: int, batch_size: int = BATCH_SIZE, availability_timeout_ms: float = 0
    ) -> None:
        super().__init__(seed, batch_size)
        if not is_number(availability_timeout_ms) or not availability_timeout_ms >= 0:
            raise InputError(
                "availability_timeout_ms", f"expected 0 or more, got {availability_timeout_ms!r}"
            )
        self._timeout_ms = availability_timeout_ms

    def weights(self, topic: Topic) -> Sequence[float] | None:
        if topic.queues is None:
            return None
        taking = [number for number in topic.choices if self._takes(topic, number)]
        if not taking:
            return None
        most = max(topic.queues[number] for number in taking)
        chances = {number: most + 1 - topic.queues[number] for number in taking}
        return [chances.get(number, 0) for number in topic.choices]

    def _takes(self, topic: Topic, number: int) -> bool:
        if not self._timeout_ms or topic.not_taken_ms is None:
            return True
        return topic.not_taken_ms[number] <= self._timeout_ms
