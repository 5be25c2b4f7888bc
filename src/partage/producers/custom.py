"""What a partitioner is, and one of your own.

A subclass of ``Partitioner`` says for one record where it goes. It is made without arguments, given
the producer's configuration (``configure``), as Kafka does with the class named by
``partitioner.class``, and asked for every record that does not name its partition. A plain function
of (key bytes, number of partitions) will do where nothing else matters.

What it answers is checked: a partition that does not exist is an error, not a lost record.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from partage.errors import InputError, PartageError
from partage.producers.keys import Ints, Keys
from partage.producers.model import SerializedRecord, Topic

Partitions = npt.NDArray[np.int32]

KeyFunction = Callable[[bytes | None, int], int]


class Partitioner(ABC):
    """Base of all partitioners. One object serves one producer: it may keep a state."""

    trusted: ClassVar[bool] = False
    """Whether its answers need no check."""

    def configure(self, config: Mapping[str, Any]) -> None:
        """Take what concerns it out of the producer's configuration."""
        return

    @abstractmethod
    def partition(self, record: SerializedRecord, topic: Topic) -> int:
        """The number of the partition that the record goes to."""

    def new_batch(self, record: SerializedRecord, topic: Topic, previous: int) -> int:
        """The record, which was to go to ``previous``, would open a new batch there: where it goes
        now. It stays, unless a partitioner changes partitions with batches. Asked only by producers
        that tell batches (``Topic.announces_batches``)."""
        return previous

    def partitions(self, keys: Keys, topic: Topic, sizes: Ints) -> Partitions:
        """[N] the same as ``partition`` for records with these keys, one after the other;
        ``sizes``: [N] their bytes."""
        found = [
            self.partition(SerializedRecord(key_bytes=key, key=key, size=size), topic)
            for key, size in zip(map(keys.key, range(len(keys))), sizes.tolist(), strict=True)
        ]
        return np.array(found, dtype=np.int32)


class Checked(Partitioner):
    """One of a user's own, whose answers are checked."""

    trusted = True

    def __init__(self, own: Partitioner | KeyFunction) -> None:
        self._own = own

    @property
    def name(self) -> str:
        """What messages call it."""
        own = self._own
        return getattr(own, "__name__", None) or type(own).__name__

    def configure(self, config: Mapping[str, Any]) -> None:
        if isinstance(self._own, Partitioner):
            self._own.configure(config)

    def partition(self, record: SerializedRecord, topic: Topic) -> int:
        own = self._own
        if isinstance(own, Partitioner):
            return self._checked(own.partition(record, topic), topic)
        return self._checked(own(record.key_bytes, topic.partitions), topic)

    def new_batch(self, record: SerializedRecord, topic: Topic, previous: int) -> int:
        if isinstance(self._own, Partitioner):
            return self._checked(self._own.new_batch(record, topic, previous), topic)
        return previous

    def _checked(self, number: Any, topic: Topic) -> int:
        if isinstance(number, bool) or not isinstance(number, (int, np.integer)):
            raise PartageError(f"{self.name}: answers {number!r}, expected a partition's number")
        if not 0 <= number < topic.partitions:
            raise PartageError(
                f"{self.name}: answers partition {number} of {topic.partitions}, which is none"
            )
        return int(number)


def own(given: Any) -> Partitioner:
    """A user's own, as an object, a class or a function. One of partage's stays as it is. Raises
    InputError where it is none of these."""
    if isinstance(given, type) and issubclass(given, Partitioner):
        return Checked(given())
    if isinstance(given, Partitioner):
        return given if given.trusted else Checked(given)
    if isinstance(given, type) or not callable(given):
        raise InputError(
            "partitioner", f"expected a name, a Partitioner or a function, got {given!r}"
        )
    return Checked(given)
