"""adaptive (KIP-794): like uniform, but prefers partitions with shorter queues.

The probability of a partition is proportional to the longest queue plus one, minus its own queue:
queues of 0, 3 and 1 batches give 4/8, 1/8 and 3/8. If queues are not known it equals uniform.

``availability_timeout_ms`` (Kafka's ``partitioner.availability.timeout.ms``): leave out partitions
whose broker has not accepted a batch for longer, unless that is all of them. 0: leave out none.
"""

from __future__ import annotations

from collections.abc import Sequence

from partage.errors import InputError
from partage.producers.batches import BATCH_SIZE
from partage.producers.model import Topic, is_number
from partage.producers.partitioners.uniform import Uniform


class Adaptive(Uniform):
    """Uses the queues in ``Topic.queues`` and ``Topic.not_taken_ms``."""

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
