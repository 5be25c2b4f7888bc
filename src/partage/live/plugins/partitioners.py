"""The partitioners as plug-ins for the producers of kafka-python and aiokafka.

One class serves both::

    KafkaProducer(partitioner=Partitioner("round-robin"))
    AIOKafkaProducer(partitioner=Partitioner("round-robin"))

Do not share an object between producers. The two clients pass different information:

- kafka-python: topic, key, value, and which partitions have a leader. If a record without a key
  would open a new batch, the producer announces that and asks a second time for the same record.
  A partitioner that counted the second call as another record would skip partitions: with two
  partitions and one record per batch, round-robin would only ever use one of them. Here the second
  call gets the answer to the first, unless the partitioner changes partitions with batches (sticky,
  uniform, adaptive and weighted): these use the announcement.
- aiokafka: the key and the partitions, without topic, value and batches. So one partitioner keeps
  one state for all topics that have the same number of partitions; with round-robin use a producer
  per topic. Partitioners that count bytes count ``record_bytes`` for each record's value.

Neither client passes the length of its queues. After ``watch``, adaptive reads them from
kafka-python's producer; without, adaptive equals uniform. Neither passes headers, so their bytes
are not counted.
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

    - ``partitioner``, ``seed``, ``options``: as for ``partage.partition``. Without a seed the state
      starts at random, so that producers that start together do not use the same partitions.
    - ``config``: passed to ``configure`` of your own partitioner
    - ``batch_size`` (an option): give it if the producer's ``batch_size`` or ``max_batch_size`` is
      not 16,384 bytes
    - ``record_bytes``: for aiokafka, the bytes of a record besides its key
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
        self._partitioner = partitioner_named(
            partitioner, secrets.randbits(64) if seed is None else seed, **options
        )
        self._partitioner.configure(config or {})
        self._record_bytes = record_bytes
        self._batches: Mapping[tuple[str, int], Sized] | None = None
        self._lock = threading.Lock()
        self._calls = _Calls()
        if find_spec("kafka") is not None:
            # kafka-python calls ``partition`` on its own class, and anything else as a function
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
        """The partition of a record, called by kafka-python. Raises ValueError if the metadata do
        not contain the topic."""
        last, self._calls.last = self._calls.last, None
        if last is not None and last.answer is not None and last.is_for(topic, value, key):
            return last.answer
        key_bytes = as_bytes(serialized_key, "key")
        value_bytes = as_bytes(serialized_value, "value")
        size = record_size(key_bytes, value_bytes)
        record = SerializedRecord(key_bytes, value_bytes, key, value, size=size)
        with self._lock:
            chosen = self._partitioner.partition(record, self._topic(topic, cluster, record))
        self._calls.last = _Call(topic, record)
        return chosen

    def on_new_batch(self, topic: str, cluster: Any, prev_partition: int) -> None:
        """Called by kafka-python if the last record opens a new batch, before it calls
        ``partition`` again for the same record."""
        last = self._calls.last
        if last is None or last.topic != topic:
            return
        known = self._topic(topic, cluster, last.record)
        with self._lock:
            last.answer = self._partitioner.new_batch(last.record, known, prev_partition)

    def watch(self, producer: Any) -> None:
        """Read the length of the queues from this ``KafkaProducer``, for adaptive. Raises
        InputError if it has none that can be read."""
        batches = None
        if find_spec("kafka") is not None:
            from partage.live.compat_kafka_python import waiting_batches

            batches = waiting_batches(producer)
        if batches is None:
            raise InputError("watch", "finds no batches in this producer: expected a KafkaProducer")
        self._batches = batches

    def _topic(self, name: str, cluster: Any, record: SerializedRecord) -> Topic:
        numbers = cluster.partitions_for_topic(name)
        if not numbers:
            raise ValueError(f"there is no topic {name!r} in the cluster's metadata")
        available = cluster.available_partitions_for_topic(name) or ()
        queues = None if self._batches is None else _Queues(self._batches, name, len(numbers))
        # kafka-python announces new batches for records without a key only
        return _client_topic(name, len(numbers), available, queues, record.key_bytes is None)

    # ------------------------------------------------------------------ aiokafka

    def __call__(
        self, key: bytes | None, all_partitions: Iterable[int], available: Iterable[int]
    ) -> int:
        """The partition of a record, called by aiokafka."""
        key_bytes = as_bytes(key, "key")
        size = record_size(key_bytes, None) + self._record_bytes
        record = SerializedRecord(key_bytes, key=key, size=size)
        count = len(list(all_partitions))
        topic = _client_topic(f"{count} partitions", count, available)
        with self._lock:
            return self._partitioner.partition(record, topic)


@dataclass(eq=False)
class _Call:
    """A record that kafka-python asked for, and the answer if it asks again."""

    topic: str
    record: SerializedRecord
    answer: int | None = None

    def is_for(self, topic: str, value: Any, key: Any) -> bool:
        """Whether this is the same record again, not an equal one."""
        return topic == self.topic and value is self.record.value and key is self.record.key


class _Calls(threading.local):
    """The last call of each thread."""

    last: _Call | None = None


@dataclass(frozen=True)
class _Queues(Sequence[int]):
    """[partitions] the batches that wait in a producer for each partition of a topic."""

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
    """A topic from a client's metadata: not validated again for every record."""

    def __post_init__(self) -> None:
        return


def _client_topic(
    name: str,
    count: int,
    available: Iterable[int],
    queues: Sequence[int] | None = None,
    announces_batches: bool = False,
) -> Topic:
    numbers = sorted(available)
    if numbers and numbers[-1] >= count:
        # during a metadata update, a new partition may have a leader before it is counted
        numbers = [number for number in numbers if number < count]
    return _ClientTopic(count, name, numbers, queues, announces_batches=announces_batches)
