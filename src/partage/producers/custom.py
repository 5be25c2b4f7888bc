"""The interface of a partitioner, and how to write your own.

A subclass of ``Partitioner`` returns the partition of a record. It is created without arguments and
gets the producer's configuration (``configure``), like the class that Kafka's ``partitioner.class``
names; then it is called for every record without an explicit partition. A plain function of (key
bytes, number of partitions) is accepted as well.

Its answers are checked: a partition that does not exist is an error, not a lost record.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from partage.arrays import Ints, is_whole
from partage.errors import InputError, PartageError
from partage.measured_loads import shown_key
from partage.producers.keys import Keys
from partage.producers.model import SerializedRecord, Topic

Partitions = npt.NDArray[np.int32]

KeyFunction = Callable[[bytes | None, int], int]


class Partitioner(ABC):
    """Base of all partitioners. It may have a state: use one object per producer."""

    trusted: ClassVar[bool] = False
    """Whether its answers are known to be valid."""

    def configure(self, config: Mapping[str, Any]) -> None:
        """Read its settings from the producer's configuration."""
        return

    @abstractmethod
    def partition(self, record: SerializedRecord, topic: Topic) -> int:
        """The number of the partition that the record goes to."""

    def new_batch(self, record: SerializedRecord, topic: Topic, previous: int) -> int:
        """The partition of a record that would open a new batch on ``previous``: by default
        ``previous``; a strategy that works by batches may change it. Called by producers that
        announce batches only (``Topic.announces_batches``)."""
        return previous

    def partitions(self, keys: Keys, topic: Topic, sizes: Ints) -> Partitions:
        """[N] the partitions of records with these keys, in order; ``sizes``: [N] their bytes."""
        found = [
            self.partition(SerializedRecord(key_bytes=key, key=key, size=size), topic)
            for key, size in zip(map(keys.key, range(len(keys))), sizes.tolist(), strict=True)
        ]
        return np.array(found, dtype=np.int32)


class Checked(Partitioner):
    """A user's partitioner or function with its answers checked."""

    trusted = True

    def __init__(self, own: Partitioner | KeyFunction) -> None:
        self._own = own

    @property
    def name(self) -> str:
        """Its name in messages."""
        own = self._own
        return getattr(own, "__name__", None) or type(own).__name__

    def configure(self, config: Mapping[str, Any]) -> None:
        if isinstance(self._own, Partitioner):
            self._own.configure(config)

    def partition(self, record: SerializedRecord, topic: Topic) -> int:
        own = self._own
        try:
            if isinstance(own, Partitioner):
                number = own.partition(record, topic)
            else:
                number = own(record.key_bytes, topic.partitions)
        except PartageError:
            raise
        except Exception as error:
            problem = " ".join(f"{type(error).__name__}: {error}".split())
            raise PartageError(
                f"{self.name} failed on key {shown_key(record.key_bytes or b'')!r}: {problem}"
            ) from error
        return self._checked(number, topic)

    def new_batch(self, record: SerializedRecord, topic: Topic, previous: int) -> int:
        if isinstance(self._own, Partitioner):
            return self._checked(self._own.new_batch(record, topic, previous), topic)
        return previous

    def _checked(self, number: Any, topic: Topic) -> int:
        if not is_whole(number):
            raise PartageError(
                f"{self.name} returned {number!r}: expected the number of a partition"
            )
        if not 0 <= number < topic.partitions:
            raise PartageError(
                f"{self.name} returned partition {number}: expected 0 to {topic.partitions - 1}"
            )
        return int(number)


def checked(given: Any) -> Partitioner:
    """A user's object, class or function as a partitioner with checked answers; one of partage's is
    returned as it is. Raises InputError for anything else."""
    if isinstance(given, type) and issubclass(given, Partitioner):
        return Checked(given())
    if isinstance(given, Partitioner):
        return given if given.trusted else Checked(given)
    if isinstance(given, type) or not callable(given):
        raise InputError(
            "partitioner", f"expected a name, a Partitioner or a function, got {given!r}"
        )
    return Checked(given)
