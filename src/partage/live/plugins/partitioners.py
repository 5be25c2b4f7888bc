"""The partitioners for real producers: kafka-python's and aiokafka's.

One class for both, named after what it does::

    KafkaProducer(partitioner=Partitioner("round-robin"))
    AIOKafkaProducer(partitioner=Partitioner("round-robin"))

One object serves one producer. The two clients tell a partitioner different things:

- kafka-python: topic, key, value and which partitions have a leader. Where a record without a key
  would open a new batch it says so, and then asks a second time for the same record. A partitioner
  that counts the second question as another record passes over partitions: with two of them and a
  batch for each record, round-robin would only ever use one. Here the second question gets the
  answer to the first, unless the partitioner changes partitions with batches (sticky, uniform,
  adaptive and weighted), which are told by it.
- aiokafka: the key and the partitions, but no topic, no value and no batches. So one partitioner
  has one state for all topics of as many partitions; with round-robin give each topic a producer of
  its own. Those that count bytes take each record's value as ``record_bytes``.

Neither tells how much waits for a partition. ``watch`` lets adaptive look into kafka-python's
producer; without it, adaptive is uniform. Headers are told by neither and not counted.
"""

from __future__ import annotations

import secrets
import threading
from collections.abc import Iterable, Mapping, Sequence, Sized
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Any, overload

from partage.errors import InputError
from partage.producers.custom import KeyFunction
from partage.producers.custom import Partitioner as AnyPartitioner
from partage.producers.keys import as_bytes
from partage.producers.model import SerializedRecord, Topic
from partage.producers.partition import RECORD_BYTES
from partage.producers.partitioners import partitioner_named
from partage.producers.path import record_size


class Partitioner:
    """A partitioner for ``KafkaProducer(partitioner=…)`` or ``AIOKafkaProducer(partitioner=…)``.

    ``partitioner``, ``seed``, ``options``: as of ``partage.partition``; one of your own is given
    the ``config``. Give ``batch_size`` where the producer's ``batch_size`` or
    ``max_batch_size`` is not 16,384. ``record_bytes``: for aiokafka, bytes of a record besides its
    key.
    """

    def __init__(
        self,
        partitioner: str | AnyPartitioner | KeyFunction,
        *,
        seed: int | None = None,
        record_bytes: int = RECORD_BYTES,
        config: dict[str, Any] | None = None,
        **options: Any,
    ) -> None:
        # producers that start together shall not go round together, so no seed means any
        self._decider = partitioner_named(
            partitioner, secrets.randbits(64) if seed is None else seed, **options
        )
        self._decider.configure(config or {})
        self._record_bytes = record_bytes
        self._batches: Mapping[tuple[str, int], Sized] | None = None
        self._lock = threading.Lock()
        self._asked = _Asked()
        if find_spec("kafka") is not None:
            # kafka-python asks what is one of its own for a partition, and calls what is not
            import_module("kafka.partitioner").Partitioner.register(type(self))

    # ------------------------------------------------------------------ kafka-python

    def partition(
        self,
        topic: str,
        key: Any,
        serialized_key: bytes | None,
        value: Any,
        serialized_value: bytes | None,
        cluster: Any,
    ) -> int:
        """kafka-python asks where a record goes. Raises ValueError where it knows no such topic."""
        asked = self._asked
        last, asked.last = asked.last, None
        if last is not None and last.answer is not None and last.is_for(topic, value, key):
            return last.answer
        key_bytes = as_bytes(serialized_key, "key")
        value_bytes = as_bytes(serialized_value, "value")
        size = record_size(key_bytes, value_bytes)
        record = SerializedRecord(key_bytes, value_bytes, key, value, size=size)
        with self._lock:
            chosen = self._decider.partition(record, self._topic(topic, cluster, record))
        asked.last = _Question(topic, record)
        return chosen

    def on_new_batch(self, topic: str, cluster: Any, prev_partition: int) -> None:
        """kafka-python says that the record it has just asked for opens a batch there, and is about
        to ask for it again."""
        last = self._asked.last
        if last is None or last.topic != topic:
            return
        known = self._topic(topic, cluster, last.record)
        with self._lock:
            last.answer = self._decider.new_batch(last.record, known, prev_partition)

    def watch(self, producer: Any) -> None:
        """Look into this ``KafkaProducer`` for the batches that wait, as adaptive needs them.
        Raises InputError where it has no such place: it is no public part of the client."""
        batches = getattr(getattr(producer, "_accumulator", None), "_batches", None)
        if not isinstance(batches, dict):
            raise InputError("watch", "finds no batches in this producer")
        self._batches = batches

    def _topic(self, name: str, cluster: Any, record: SerializedRecord) -> Topic:
        numbers = cluster.partitions_for_topic(name)
        if not numbers:
            raise ValueError(f"there is no topic {name!r} in the cluster's metadata")
        available = cluster.available_partitions_for_topic(name) or ()
        queues = None if self._batches is None else _Queues(self._batches, name, len(numbers))
        # a new batch is told of records without a key only
        return _known(name, len(numbers), available, queues, record.key_bytes is None)

    # ------------------------------------------------------------------ aiokafka

    def __call__(
        self, key: bytes | None, all_partitions: Iterable[int], available: Iterable[int]
    ) -> int:
        """aiokafka asks where a record goes."""
        key_bytes = as_bytes(key, "key")
        record = SerializedRecord(
            key_bytes, key=key, size=record_size(key_bytes, None) + self._record_bytes
        )
        count = len(list(all_partitions))
        with self._lock:
            return self._decider.partition(record, _known(f"{count} partitions", count, available))


@dataclass(eq=False)
class _Question:
    """A record that kafka-python has asked for, and what it is told when it asks again."""

    topic: str
    record: SerializedRecord
    answer: int | None = None

    def is_for(self, topic: str, value: Any, key: Any) -> bool:
        """Whether this is the same record again, not one that only looks the same."""
        return topic == self.topic and value is self.record.value and key is self.record.key


class _Asked(threading.local):
    """The last question of each thread."""

    last: _Question | None = None


@dataclass(frozen=True)
class _Queues(Sequence[int]):
    """The batches that wait in a producer for each partition of a topic."""

    batches: Mapping[tuple[str, int], Sized]
    topic: str
    partitions: int

    def __len__(self) -> int:
        return self.partitions

    @overload
    def __getitem__(self, at: int) -> int: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[int]: ...
    def __getitem__(self, at: int | slice) -> int | Sequence[int]:
        numbers = range(self.partitions)[at]  # IndexError past the end
        if isinstance(numbers, range):
            return [self[number] for number in numbers]
        return len(self.batches.get((self.topic, numbers), ()))


class _ClientTopic(Topic):
    """A topic as a client knows it, which need not be checked for every record."""

    def __post_init__(self) -> None:
        return


def _known(
    name: str,
    count: int,
    available: Iterable[int],
    queues: Sequence[int] | None = None,
    tells_batches: bool = False,
) -> Topic:
    numbers = sorted(available)
    if numbers and numbers[-1] >= count:
        # the metadata may be half new: a leader of a partition that it does not count yet
        numbers = [number for number in numbers if number < count]
    return _ClientTopic(count, name, numbers, queues, tells_batches=tells_batches)
