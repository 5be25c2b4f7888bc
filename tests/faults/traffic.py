"""Records produced and consumed all the time, and all of them read back at the end.

The producer is idempotent and asks for acks=all. What a record acknowledged at an offset holds is
kept, and so is what the consumer finds there while brokers die; in the end a consumer that has seen
nothing yet reads every partition from its beginning.
"""

from __future__ import annotations

import hashlib
import logging
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from confluent_kafka import KafkaError, Message, Producer
from kafka import KafkaConsumer, TopicPartition
from kafka.errors import KafkaError as ConsumerError

Place = tuple[str, int, int]
"""Topic, partition, offset."""

_PAUSE_SECONDS = 0.1
_PATIENCE_SECONDS = 60.0

_SILENT = logging.getLogger("silent")
_SILENT.addHandler(logging.NullHandler())
_SILENT.propagate = False

COMMON: dict[str, Any] = {
    "logger": _SILENT,
    "reconnect.backoff.max.ms": 500,
    "socket.timeout.ms": 5000,
    "topic.metadata.refresh.interval.ms": 5000,
}


class Traffic:
    """A producer and a consumer at work from ``start`` to ``stop``.

    ``acknowledged`` and ``consumed`` are digests of values by place, ``somewhere`` those that were
    acknowledged without an offset. ``waits``: the longest time
    between two acknowledgements of a partition, in seconds.
    """

    def __init__(self, servers: str, name: str, topics: Mapping[str, int]) -> None:
        self.acknowledged: dict[Place, bytes] = {}
        self.somewhere: set[tuple[str, int, bytes]] = set()
        self.consumed: dict[Place, bytes] = {}
        self.waits: dict[tuple[str, int], float] = {}
        self.failed: list[str] = []
        self._servers, self._name, self._topics = servers, name, dict(topics)
        self._count = 0
        self._last: dict[tuple[str, int], float] = {}
        self._over = threading.Event()
        self._producer = Producer(
            {
                "bootstrap.servers": servers,
                "client.id": "producer",
                "acks": "all",
                "enable.idempotence": True,
                "linger.ms": 5,
                "message.timeout.ms": 120_000,
                "request.timeout.ms": 5000,
                **COMMON,
            }
        )
        self._threads = [
            threading.Thread(target=work, daemon=True) for work in (self._produce, self._consume)
        ]

    def fill(self, records: int, size: int) -> None:
        """Write so many records of ``size`` bytes to every partition before the trial begins."""
        for _ in range(records):
            for topic, partitions in self._topics.items():
                for partition in range(partitions):
                    self._send(topic, partition, size)
            self._producer.poll(0)
        self._producer.flush(_PATIENCE_SECONDS)
        self.waits.clear()

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def forget(self, topic: str) -> None:
        """Stop producing to this topic and forget its records: the trial deletes it."""
        self._topics.pop(topic)
        self._producer.flush(_PATIENCE_SECONDS)
        for record in (self.acknowledged, self.consumed):
            for place in [place for place in list(record) if place[0] == topic]:
                del record[place]
        self.somewhere = {one for one in self.somewhere if one[0] != topic}
        for key in [key for key in list(self.waits) if key[0] == topic]:
            del self.waits[key]

    def stop(self) -> None:
        """Stop producing; returns when every record is acknowledged or has failed."""
        self._over.set()
        for thread in self._threads:
            if thread.is_alive():
                thread.join()
        self._producer.flush(_PATIENCE_SECONDS)

    def read_back(self) -> dict[Place, bytes]:
        """All records that the partitions have now."""
        found: dict[Place, bytes] = {}
        with self._consuming() as consumer:
            left = {
                key: end for key, end in consumer.end_offsets(consumer.assignment()).items() if end
            }
            deadline = time.monotonic() + _PATIENCE_SECONDS
            while left and time.monotonic() < deadline:
                for record in _poll(consumer):
                    found[record.topic, record.partition, record.offset] = _digest(record.value)
                left = {key: end for key, end in left.items() if consumer.position(key) < end}
        return found

    # ------------------------------------------------------------------ the two threads

    def _produce(self) -> None:
        while not self._over.wait(_PAUSE_SECONDS):
            for topic, partitions in list(self._topics.items()):
                for partition in range(partitions):
                    self._send(topic, partition, 200)
            self._producer.poll(0)

    def _consume(self) -> None:
        with self._consuming() as consumer:
            while not self._over.is_set():
                for record in _poll(consumer):
                    if record.topic in self._topics:
                        place = record.topic, record.partition, record.offset
                        self.consumed[place] = _digest(record.value)
                    else:
                        kept = [one for one in consumer.assignment() if one.topic in self._topics]
                        consumer.assign(kept)
                        break

    @contextmanager
    def _consuming(self) -> Iterator[KafkaConsumer]:
        """A consumer without a group at the beginning of all partitions."""
        consumer = KafkaConsumer(
            bootstrap_servers=self._servers.split(","),
            client_id="consumer",
            auto_offset_reset="earliest",
            request_timeout_ms=10_000,
            reconnect_backoff_max_ms=500,
        )
        consumer.assign([TopicPartition(t, p) for t, n in self._topics.items() for p in range(n)])
        try:
            yield consumer
        finally:
            consumer.close()

    def _send(self, topic: str, partition: int, size: int) -> None:
        self._count += 1
        head = f"{self._name}/{topic}/{partition}/{self._count}/".encode()
        value = head.ljust(size, b".")
        try:
            self._producer.produce(topic, value, partition=partition, on_delivery=self._delivered)
        except BufferError:
            self._producer.poll(0.1)  # full while a broker is away: this record is never sent

    def _delivered(self, error: KafkaError | None, message: Message) -> None:
        if message.topic() not in self._topics:
            return
        if error is not None:
            self.failed.append(f"{message.topic()}-{message.partition()}: {error.str()}")
            return
        key, now = (str(message.topic()), int(message.partition() or 0)), time.monotonic()
        digest, offset = _digest(message.value()), message.offset()
        if offset is None or offset < 0:
            # sent again after its answer was lost: it is there, and nobody says at which offset
            self.somewhere.add((*key, digest))
        else:
            self.acknowledged[*key, offset] = digest
        before = self._last.get(key, now)
        self._last[key] = now
        self.waits[key] = max(self.waits.get(key, 0.0), now - before)


def _poll(consumer: KafkaConsumer) -> list[Any]:
    try:
        return [one for some in consumer.poll(200, max_records=1000).values() for one in some]
    except ConsumerError:
        return []  # a broker is away


def _digest(value: bytes | None) -> bytes:
    return hashlib.blake2b(value or b"", digest_size=8).digest()
