"""Records the state of the cluster during a trial, with clients of its own.

Ten metadata requests per second report replicas, ISR and leader of every partition. While a
partition is reassigned, its replicas include both the target and those being removed, so that they
are never fewer than the smaller of the two placements.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from confluent_kafka import KafkaException
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    ConfigSource,
    ResourceType,
)
from kafka import KafkaAdminClient
from kafka import errors as kafka_errors

from tests.faults.proxied import OBSERVER
from tests.faults.traffic import COMMON

Key = tuple[str, int]
Configured = dict[tuple[str, str], dict[str, str]]
"""(kind, name) → configuration set on the resource itself."""

_PAUSE_SECONDS = 0.1
_SECONDS = 10.0
_TRIES = 5
_KINDS = {"topic": ResourceType.TOPIC, "broker": ResourceType.BROKER}
_OWN = (ConfigSource.DYNAMIC_TOPIC_CONFIG.value, ConfigSource.DYNAMIC_BROKER_CONFIG.value)


@dataclass(frozen=True)
class Seen:
    """A partition at a moment (monotonic seconds). ``leader`` is -1 where there is none."""

    at: float
    key: Key
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    leader: int


class Observer:
    """Records the state of topics from ``watch`` to ``stop``, and reads and sets configurations."""

    def __init__(self, servers: str) -> None:
        self.seen: list[Seen] = []
        self._servers = servers
        self._admin = AdminClient(
            {
                "bootstrap.servers": servers,
                "client.id": OBSERVER,
                **COMMON,
                "socket.timeout.ms": 1000,
            }
        )
        self._topics: set[str] = set()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def watch(self, topics: Iterable[str]) -> None:
        """Start recording these topics."""
        self._topics = set(topics)
        self._thread.start()

    def forget(self, topic: str) -> None:
        """Ignore a topic that the trial deletes."""
        self._topics.discard(topic)
        self.seen = [one for one in self.seen if one.key[0] != topic]

    def stop(self) -> None:
        self._over.set()
        self._thread.join()

    @property
    def now(self) -> dict[Key, Seen]:
        """The last recorded state of every partition."""
        return {one.key: one for one in list(self.seen)}

    def look(self) -> list[Seen]:
        """The topics at this moment. Raises KafkaException if no broker answers."""
        described = self._admin.list_topics(timeout=1.5).topics
        at = time.monotonic()
        return [
            Seen(at, (topic, number), tuple(one.replicas), tuple(one.isrs), one.leader)
            for topic in sorted(self._topics & set(described))
            for number, one in sorted(described[topic].partitions.items())
        ]

    def _run(self) -> None:
        while not self._over.wait(_PAUSE_SECONDS):
            try:
                looked = self.look()
            except KafkaException:
                continue
            self.seen += [one for one in looked if one.key[0] in self._topics]

    # ------------------------------------------------------------------ settings

    def configured(self, topics: Iterable[str], brokers: Iterable[int]) -> Configured:
        """The configuration set on these topics and brokers themselves."""
        named = [("topic", topic) for topic in topics] + [("broker", str(b)) for b in brokers]
        found: Configured = {}
        for kind, name in named:
            resource = ConfigResource(_KINDS[kind], name)
            (answer,) = self._admin.describe_configs([resource], request_timeout=_SECONDS).values()
            found[kind, name] = {
                entry.name: entry.value
                for entry in answer.result().values()
                if _source(entry) in _OWN and entry.value is not None
            }
        return found

    def configure(self, kind: str, name: str, settings: dict[str, str | None]) -> None:
        """Set these configurations, delete those that are None."""
        entries = [
            ConfigEntry(
                setting,
                value,
                incremental_operation=AlterConfigOpType.DELETE
                if value is None
                else AlterConfigOpType.SET,
            )
            for setting, value in settings.items()
        ]
        resource = ConfigResource(_KINDS[kind], name, incremental_configs=entries)
        (answer,) = self._admin.incremental_alter_configs(
            [resource], request_timeout=_SECONDS
        ).values()
        answer.result()

    # ------------------------------------------------------------------ without librdkafka

    def reassigning(self) -> list[Any]:
        """Partitions that are being reassigned. Asks again where the broker asked is one that
        hangs."""
        for _ in range(_TRIES):
            with suppress(kafka_errors.RetriableError), self.admin() as admin:
                return sorted(admin.list_partition_reassignments())
        raise AssertionError("no broker lists the reassignments")

    def active_controller(self) -> int:
        """The node id of the active controller."""
        with self.admin() as admin:
            return int(admin.describe_metadata_quorum()["topics"][0]["partitions"][0]["leader_id"])

    def admin(self) -> _Closing:
        return _Closing(self._servers)


class _Closing:
    """``with`` a kafka-python admin client."""

    def __init__(self, servers: str) -> None:
        self._client = KafkaAdminClient(
            bootstrap_servers=servers.split(","), client_id=OBSERVER, request_timeout_ms=10_000
        )

    def __enter__(self) -> Any:
        return self._client

    def __exit__(self, *_: object) -> None:
        self._client.close()


def _source(entry: ConfigEntry) -> int:
    return getattr(entry.source, "value", entry.source)
