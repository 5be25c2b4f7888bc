"""A member of a group by confluent-kafka (librdkafka), for ``live_groups.py --client confluent``.

It takes the same JSON as ``partage.demo.traffic_client`` and tells the same lines. The assignor is
one of librdkafka's own: range, roundrobin or cooperative-sticky.
"""

from __future__ import annotations

import json
import sys
import threading
import time
from typing import Any

from confluent_kafka import Consumer

stopped = threading.Event()


def tell(kind: str, **more: Any) -> None:
    print(json.dumps({"at": time.time(), "kind": kind, **more}), flush=True)


def names(partitions: Any) -> list[str]:
    return sorted(f"{one.topic}-{one.partition}" for one in partitions)


def wait_for_the_end() -> None:
    sys.stdin.read()
    stopped.set()


def consume(said: dict[str, Any]) -> None:
    settings = {name.replace("_", "."): value for name, value in said["settings"].items()}
    consumer = Consumer(
        {
            "bootstrap.servers": said["servers"],
            "group.id": said["group"],
            "client.id": said["name"],
            "partition.assignment.strategy": said["assignor"],
            "auto.offset.reset": "earliest",
            "auto.commit.interval.ms": 1000,
            "fetch.wait.max.ms": 100,
            **settings,
        }
    )
    consumer.subscribe(
        list(said["topics"]),
        on_assign=lambda _, partitions: tell("assigned", partitions=names(partitions)),
        on_revoke=lambda _, partitions: tell("revoked", partitions=names(partitions)),
        on_lost=lambda _, partitions: tell("lost", partitions=names(partitions)),
    )
    tell("joins")
    while not stopped.is_set():
        record = consumer.poll(0.2)
        if record is not None and record.error() is None and record.key():
            number = int.from_bytes(record.key(), "big")
            tell("read", records=[[f"{record.topic()}-{record.partition()}", number, number]])
    consumer.close()


if __name__ == "__main__":
    threading.Thread(target=wait_for_the_end, daemon=True).start()
    try:
        consume(json.loads(sys.argv[1]))
    except Exception as problem:
        tell("failed", error=f"{type(problem).__name__}: {problem}")
        raise
