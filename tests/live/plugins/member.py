"""One member of a group as a process of its own, so that it can be killed: ``python member.py
JSON``. It reads until its standard input ends, then leaves. It prints its events as lines of
JSON: ``assigned``, ``revoked``, ``lost``, ``read``, ``failed``.

The JSON: ``client``, ``bootstrap``, ``group``, ``name``, ``topics``, ``assignors`` and ``config``.
An assignor is ``[module, class, options]``.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import sys
import threading
import time
from collections.abc import Iterable
from importlib import import_module
from pathlib import Path
from typing import Any

SESSION_MS, HEARTBEAT_MS = 6000, 300

stopped = threading.Event()


def report(kind: str, partitions: Iterable[Any] = (), **more: Any) -> None:
    named = sorted([p.topic, p.partition] for p in partitions)
    print(json.dumps({"at": time.time(), "kind": kind, "partitions": named, **more}), flush=True)


def wait_for_the_end() -> None:
    sys.stdin.read()
    stopped.set()


def assignors(spec: list[list[Any]]) -> list[Any]:
    found = []
    for where, name, options in spec:
        if "weights_lag_of" in options:
            from partage.live import Lag

            options = {"weights": Lag(*options["weights_lag_of"])}
        found.append(getattr(import_module(where), name)(**options))
    return found


def python_settings(spec: dict[str, Any]) -> dict[str, Any]:
    """The settings of kafka-python and aiokafka, which have the same names."""
    return {
        "bootstrap_servers": spec["bootstrap"],
        "group_id": spec["group"],
        "client_id": spec["name"],
        "partition_assignment_strategy": assignors(spec["assignors"]),
        "auto_offset_reset": "earliest",
        "session_timeout_ms": SESSION_MS,
        "heartbeat_interval_ms": HEARTBEAT_MS,
        "auto_commit_interval_ms": 200,
        "fetch_max_wait_ms": 50,
        **spec["config"],
    }


def kafka_python(spec: dict[str, Any]) -> None:
    from kafka import ConsumerRebalanceListener, KafkaConsumer

    class Listener(ConsumerRebalanceListener):
        def on_partitions_assigned(self, assigned: Any) -> None:
            report("assigned", assigned)

        def on_partitions_revoked(self, revoked: Any) -> None:
            report("revoked", revoked)

        def on_partitions_lost(self, lost: Any) -> None:
            report("lost", lost)

    consumer = KafkaConsumer(**python_settings(spec))
    consumer.subscribe(spec["topics"], listener=Listener())
    # A leader that learns of a topic only after it has joined joins again, and kafka-python 3.0.12
    # waits for ever if a poll ends meanwhile. So wait until the metadata contain all topics.
    while not consumer.topics() >= set(spec["topics"]):
        time.sleep(0.01)
    while not stopped.is_set():
        batch = consumer.poll(timeout_ms=500)
        if batch:
            report("read", batch)
    consumer.close()


async def aiokafka(spec: dict[str, Any]) -> None:
    from aiokafka import AIOKafkaConsumer, ConsumerRebalanceListener

    class Listener(ConsumerRebalanceListener):  # type: ignore[misc]
        def on_partitions_assigned(self, assigned: Any) -> None:
            report("assigned", assigned)

        def on_partitions_revoked(self, revoked: Any) -> None:
            report("revoked", revoked)

    consumer = AIOKafkaConsumer(**python_settings(spec))
    consumer.subscribe(spec["topics"], listener=Listener())
    await consumer.start()
    while not stopped.is_set():
        batch = await consumer.getmany(timeout_ms=50)
        if batch:
            report("read", batch)
    report("revoked", consumer.assignment())  # aiokafka does not
    await consumer.stop()


def confluent(spec: dict[str, Any]) -> None:
    """librdkafka; the assignors are the value of its ``partition.assignment.strategy``."""
    from confluent_kafka import Consumer

    consumer = Consumer(
        {
            "bootstrap.servers": spec["bootstrap"],
            "group.id": spec["group"],
            "client.id": spec["name"],
            "partition.assignment.strategy": ",".join(spec["assignors"]),
            "auto.offset.reset": "earliest",
            "session.timeout.ms": SESSION_MS,
            "heartbeat.interval.ms": HEARTBEAT_MS,
            **spec["config"],
        }
    )
    consumer.subscribe(
        spec["topics"],
        on_assign=lambda _, partitions: report("assigned", partitions),
        on_revoke=lambda _, partitions: report("revoked", partitions),
        on_lost=lambda _, partitions: report("lost", partitions),
    )
    while not stopped.is_set():
        record = consumer.poll(0.05)
        if record is not None and record.error() is None:
            report("read", [Place(record.topic(), record.partition())])
    consumer.close()


def java(spec: dict[str, Any]) -> None:
    """Kafka's own consumer; the assignors are its classes."""
    from tests.live.kafka_in_java import CONSUMER, Java, called_back, java_with

    class Listener:
        def onPartitionsAssigned(self, assigned: Any) -> None:  # noqa: N802
            report("assigned", places(assigned))

        def onPartitionsRevoked(self, revoked: Any) -> None:  # noqa: N802
            report("revoked", places(revoked))

        def onPartitionsLost(self, lost: Any) -> None:  # noqa: N802
            report("lost", places(lost))

        class Java:
            implements = [f"{CONSUMER}.ConsumerRebalanceListener"]  # noqa: RUF012

    with java_with(Path(spec["config"]["jars"])) as gateway, called_back(gateway):
        settings = gateway.jvm.java.util.Properties()
        for key, value in {
            "bootstrap.servers": spec["bootstrap"],
            "group.id": spec["group"],
            "client.id": spec["name"],
            "group.protocol": "classic",
            "partition.assignment.strategy": ",".join(f"{CONSUMER}.{n}" for n in spec["assignors"]),
            "auto.offset.reset": "earliest",
            "session.timeout.ms": str(SESSION_MS),
            "heartbeat.interval.ms": str(HEARTBEAT_MS),
            "key.deserializer": "org.apache.kafka.common.serialization.ByteArrayDeserializer",
            "value.deserializer": "org.apache.kafka.common.serialization.ByteArrayDeserializer",
        }.items():
            settings.setProperty(key, value)
        consumer = Java(gateway.jvm).named(f"{CONSUMER}.KafkaConsumer")(settings)
        consumer.subscribe(spec["topics"], Listener())
        while not stopped.is_set():
            batch = consumer.poll(gateway.jvm.java.time.Duration.ofMillis(50))
            if not batch.isEmpty():
                report("read", places(batch.partitions()))
        consumer.close()


def places(partitions: Any) -> list[Place]:
    return [Place(p.topic(), p.partition()) for p in partitions]


class Place:
    def __init__(self, topic: str, partition: int) -> None:
        self.topic, self.partition = topic, partition


def main() -> None:
    spec = json.loads(sys.argv[1])
    if isinstance(spec["config"].get("api_version"), list):
        spec["config"]["api_version"] = tuple(spec["config"]["api_version"])
    level = os.environ.get("MEMBER_LOG", "INFO")
    logging.basicConfig(level=level, format="%(asctime)s %(levelname)s %(name)s %(message)s")
    threading.Thread(target=wait_for_the_end, daemon=True).start()
    run = {
        "kafka-python": kafka_python,
        "aiokafka": lambda spec: asyncio.run(aiokafka(spec)),
        "confluent": confluent,
        "java": java,
    }[spec["client"]]
    try:
        run(spec)
    except Exception as problem:
        report("failed", error=f"{type(problem).__name__}: {problem}")
        raise


if __name__ == "__main__":
    main()
