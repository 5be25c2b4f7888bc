"""The path of a record through a producer: interceptors → serializers → partitioner.

The order is that of Kafka's ``KafkaProducer.send``. Interceptors may change anything, including the
topic and the partition. If one fails, the error is logged and the record continues unchanged: an
interceptor must never lose a record. Serializers turn key and value into bytes. The partitioner is
called only if the record has no explicit partition. The result names the partition and, if a
cluster is given, its leader.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from partage.arrays import is_whole
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
    """A record ready to be sent. ``leader``: a broker id; None if unknown, or no replica lives."""

    topic: str
    partition: int
    key: bytes | None
    value: bytes | None
    headers: Headers = ()
    timestamp_ms: int | None = None
    leader: int | None = None


class ProducerPath:
    """The steps from ``send`` to the network. Use one object per producer.

    - ``partitioner``, ``seed``, ``options``: as for ``partage.partition``
    - ``config``: passed to ``configure`` of your own partitioner
    - ``interceptors``: functions from record to record, or objects with ``on_send``
    - ``key_serializer``, ``value_serializer``: functions from an object to bytes or None; without
      one the record must have bytes
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
        """The partition and the bytes of a record. ``topics``: a cluster, or by name the number of
        partitions or a ``Topic``. Raises InputError if the topic or the partition does not exist or
        key and value are not bytes; errors of serializers are passed on."""
        record = self._intercepted(record)
        key_bytes = _serialized("key", self._serializers[0], record.key)
        value_bytes = _serialized("value", self._serializers[1], record.value)
        topic, leaders = self._topic(topics, record.topic)
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
        elif not is_whole(number):
            raise InputError("partition", f"expected a number or None, got {number!r}")
        elif not 0 <= number < topic.partitions:
            raise InputError(
                "partition",
                f"{number}: topic {record.topic!r} has partitions 0 to {topic.partitions - 1}",
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

    def _topic(self, topics: Topics, name: str) -> tuple[Topic, Mapping[int, int | None]]:
        """The topic, and its leaders if they are known."""
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
                    raise TypeError(f"returned {changed!r}: expected a ProducerRecord")
                record = changed
            except Exception:  # whatever it is, the record continues
                log.warning(
                    "an interceptor failed on a record of topic %s", record.topic, exc_info=True
                )
        return record


def record_size(key: bytes | None, value: bytes | None, headers: Headers = ()) -> int:
    """Bytes of a record's key, value and headers, without framing."""
    in_headers = sum(len(name.encode()) + len(value or b"") for name, value in headers)
    return len(key or b"") + len(value or b"") + in_headers


def _serialized(part: str, serializer: Serializer | None, content: Any) -> bytes | None:
    made = content if serializer is None else serializer(content)
    if made is None or isinstance(made, BYTES):
        return None if made is None else bytes(made)
    where = f"{part}_serializer" if serializer else part
    raise InputError(where, f"expected bytes or None, got {type(made).__name__}")
