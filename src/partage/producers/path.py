"""The path of a record through a producer: interceptors → serializers → partitioner.

The order is that of Kafka's ``KafkaProducer.send``. The interceptors come first, one after the
other, and may change anything, the topic and the partition included. One that fails is logged, and
the record goes on as it was: an interceptor must never lose one. The serializers make bytes of key
and value. Then, and only if the record does not name its partition, the partitioner is asked. What
comes out says where the record is sent; with a cluster given, also to which broker, the leader.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from partage.cluster import Cluster
from partage.errors import InputError
from partage.producers.custom import KeyFunction, Partitioner
from partage.producers.keys import BYTES
from partage.producers.model import Headers, ProducerRecord, SerializedRecord, Topic, leaders_of
from partage.producers.partitioners import partitioner_named

log = logging.getLogger(__name__)

Interceptor = Callable[[ProducerRecord], ProducerRecord]
Serializer = Callable[[Any], bytes | None]
Topics = Cluster | Mapping[str, int | Topic]


@dataclass(frozen=True)
class RoutedRecord:
    """A record ready to be sent. ``leader``: the broker's id, where the cluster is known and a
    replica lives."""

    topic: str
    partition: int
    key: bytes | None
    value: bytes | None
    headers: Headers = ()
    timestamp_ms: int | None = None
    leader: int | None = None


class ProducerPath:
    """What lies between ``send`` and the wire. One object is one producer.

    - ``partitioner``, ``seed``, ``options``: as of ``partage.partition``; one of your own is given
      the ``config``
    - ``interceptors``: functions, or objects with ``on_send``, from record to record
    - ``key_serializer``, ``value_serializer``: from an object to bytes or None; without one the
      record must bring bytes
    """

    def __init__(
        self,
        partitioner: str | Partitioner | KeyFunction = "adaptive",
        *,
        interceptors: Sequence[Any] = (),
        key_serializer: Serializer | None = None,
        value_serializer: Serializer | None = None,
        seed: int = 0,
        config: Mapping[str, Any] | None = None,
        **options: Any,
    ) -> None:
        self._partitioner = partitioner_named(partitioner, seed, **options)
        self._partitioner.configure(config or {})
        self._interceptors: list[Interceptor] = [
            getattr(interceptor, "on_send", interceptor) for interceptor in interceptors
        ]
        self._serializers = key_serializer, value_serializer
        self._cluster: Cluster | None = None
        self._seen: dict[str, tuple[Topic, Mapping[int, int | None]]] = {}

    def send(self, record: ProducerRecord, topics: Topics) -> RoutedRecord:
        """Where the record goes, and as what. ``topics``: the cluster, or by name the number of
        partitions or a ``Topic``. Raises InputError where topic or partition do not exist or where
        there are no bytes; what a serializer raises is raised."""
        record = self._intercepted(record)
        key_bytes = _serialized("key", self._serializers[0], record.key)
        value_bytes = _serialized("value", self._serializers[1], record.value)
        topic, leaders = self._found(topics, record.topic)
        number = record.partition
        if number is None:
            number = self._partitioner.partition(
                SerializedRecord(
                    key_bytes=key_bytes,
                    value_bytes=value_bytes,
                    key=record.key,
                    value=record.value,
                    headers=record.headers,
                    size=record_size(key_bytes, value_bytes, record.headers),
                ),
                topic,
            )
        elif not isinstance(number, (int, np.integer)) or not 0 <= number < topic.partitions:
            raise InputError(
                "partition", f"{number}: topic {record.topic!r} has {topic.partitions}, from 0"
            )
        return RoutedRecord(
            topic=record.topic,
            partition=int(number),
            key=key_bytes,
            value=value_bytes,
            headers=record.headers,
            timestamp_ms=record.timestamp_ms,
            leader=leaders.get(int(number)),
        )

    def _found(self, topics: Topics, name: str) -> tuple[Topic, Mapping[int, int | None]]:
        """The topic, and its leaders where they are known."""
        if not isinstance(topics, Cluster):
            if name not in topics:
                raise InputError("topic", f"there is no topic {name!r}")
            known = topics[name]
            return (known if isinstance(known, Topic) else Topic(known, name)), {}
        if topics is not self._cluster:
            self._cluster, self._seen = topics, {}
        if name not in self._seen:
            self._seen[name] = Topic.of(topics, name), leaders_of(topics, name)
        return self._seen[name]

    def _intercepted(self, record: ProducerRecord) -> ProducerRecord:
        for interceptor in self._interceptors:
            try:
                changed = interceptor(record)
                if not isinstance(changed, ProducerRecord):
                    raise TypeError(f"gave {changed!r}, expected a ProducerRecord")
                record = changed
            except Exception:  # whatever it is, the record goes on
                log.warning(
                    "an interceptor failed on a record of topic %s", record.topic, exc_info=True
                )
        return record


def record_size(key: bytes | None, value: bytes | None, headers: Headers = ()) -> int:
    """Bytes of a record's content, without what frames it."""
    in_headers = sum(len(name.encode()) + len(value or b"") for name, value in headers)
    return len(key or b"") + len(value or b"") + in_headers


def _serialized(part: str, serializer: Serializer | None, content: Any) -> bytes | None:
    made = content if serializer is None else serializer(content)
    if made is None or isinstance(made, BYTES):
        return None if made is None else bytes(made)
    whence = f"{part}_serializer" if serializer else part
    raise InputError(whence, f"expected bytes or None, got {type(made).__name__}")
