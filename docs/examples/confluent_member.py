"""A group member with confluent-kafka (librdkafka), for ``live_groups.py --client confluent``.

It takes the same JSON as ``partage.demo.traffic_client`` and prints the same events. The
assignor is one of librdkafka's own: range, roundrobin or cooperative-sticky; or uniform, the
broker's, for the consumer protocol (KIP-848), in which the broker sets heartbeats and time-outs.
"""

from __future__ import annotations

import json
import sys
import threading
import time
from typing import Any

from confluent_kafka import Consumer

stopped = threading.Event()


def report(kind: str, **more: Any) -> None:
    print(json.dumps({"at": time.time(), "kind": kind, **more}), flush=True)


def names(partitions: Any) -> list[str]:
    return sorted(f"{one.topic}-{one.partition}" for one in partitions)


def wait_for_end_of_input() -> None:
    sys.stdin.read()
    stopped.set()


def consume(spec: dict[str, Any]) -> None:
    settings = {name.replace("_", "."): value for name, value in spec["settings"].items()}
    if spec["assignor"] == "uniform":
        settings.pop("session.timeout.ms", None)
        settings.pop("heartbeat.interval.ms", None)
        settings |= {"group.protocol": "consumer", "group.remote.assignor": "uniform"}
    else:
        settings["partition.assignment.strategy"] = spec["assignor"]
    consumer = Consumer(
        {
            "bootstrap.servers": spec["servers"],
            "group.id": spec["group"],
            "client.id": spec["name"],
            "auto.offset.reset": "earliest",
            "auto.commit.interval.ms": 1000,
            "fetch.wait.max.ms": 100,
            **settings,
        }
    )
    consumer.subscribe(
        list(spec["topics"]),
        on_assign=lambda _, partitions: report("assigned", partitions=names(partitions)),
        on_revoke=lambda _, partitions: report("revoked", partitions=names(partitions)),
        on_lost=lambda _, partitions: report("lost", partitions=names(partitions)),
    )
    report("joins")
    while not stopped.is_set():
        record = consumer.poll(0.2)
        if record is not None and record.error() is None and record.key():
            number = int.from_bytes(record.key(), "big")
            report("read", records=[[f"{record.topic()}-{record.partition()}", number, number]])
    consumer.close()


if __name__ == "__main__":
    threading.Thread(target=wait_for_end_of_input, daemon=True).start()
    try:
        consume(json.loads(sys.argv[1]))
    except Exception as problem:
        report("failed", error=f"{type(problem).__name__}: {problem}")
        raise
