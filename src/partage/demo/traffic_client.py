"""One client as a process: ``python -m partage.demo.traffic_client JSON``.

A producer, or a member of a consumer group, both of kafka-python. It works until its standard input
ends, which also happens when the process that started it is gone; then it closes and ends. It
prints its events as lines of JSON with ``at`` (seconds since 1970) and ``kind``:

- ``acknowledged``: a record that all in-sync replicas have; ``read``: records of one poll
- ``joins``: the member has started; ``assigned``, ``revoked``, ``lost``: partitions
- ``failed``: a record that was not acknowledged, or the error that ended the process

Records are numbered from 0 in each partition, and the number is their key: so acknowledged records
can be compared with records read, one by one. ``records`` are triples: partition, first number,
last number. Records without a key are read, too, but not reported.

The JSON has ``role`` (producer or member), ``servers`` and ``topics`` (partition counts by name).
For a producer ``every`` (seconds between two records of a partition) and ``value_bytes``. For a
member ``group``, ``name``, ``assignor`` (a class of ``partage.live``, or several separated by
commas), its ``options``, and ``settings`` (of kafka-python's consumer).
"""

from __future__ import annotations

import json
import logging
import sys
import threading
import time
from collections.abc import Iterable
from functools import partial
from typing import Any

from kafka import ConsumerRebalanceListener, KafkaConsumer, KafkaProducer

import partage.live

_KEY_BYTES = 8

_stopped = threading.Event()
_print_lock = threading.Lock()


def _report(kind: str, **more: Any) -> None:
    line = json.dumps({"at": time.time(), "kind": kind, **more}, separators=(",", ":"))
    with _print_lock:
        sys.stdout.write(line + "\n")
        sys.stdout.flush()


def _wait_for_end_of_input() -> None:
    sys.stdin.read()
    _stopped.set()


def produce(spec: dict[str, Any]) -> None:
    """Send a record to each partition in turn, at an even pace."""
    producer = KafkaProducer(
        bootstrap_servers=spec["servers"].split(","), acks="all", client_id="partage-producer"
    )
    partitions = [(topic, n) for topic, count in spec["topics"].items() for n in range(count)]
    value = b"x" * spec["value_bytes"]
    step, at = spec["every"] / len(partitions), time.monotonic()
    turn = 0
    while not _stopped.wait(max(at - time.monotonic(), 0.0)):
        number, index = divmod(turn, len(partitions))
        topic, partition = partitions[index]
        name, key = f"{topic}-{partition}", number.to_bytes(_KEY_BYTES, "big")
        sent = producer.send(topic, value, key, partition=partition)
        sent.add_callback(partial(_acknowledged, name, number))
        sent.add_errback(partial(_failed, name))
        turn += 1
        at += step
    producer.flush()
    producer.close()


def _acknowledged(name: str, number: int, _: Any) -> None:
    _report("acknowledged", records=[[name, number, number]])


def _failed(name: str, error: object) -> None:
    _report("failed", error=f"{name}: {error}")


def consume(spec: dict[str, Any]) -> None:
    """Read the partitions that the group assigns to this member."""

    class Listener(ConsumerRebalanceListener):  # type: ignore[misc]
        def on_partitions_assigned(self, assigned: Any) -> None:
            _report("assigned", partitions=_names(assigned))

        def on_partitions_revoked(self, revoked: Any) -> None:
            _report("revoked", partitions=_names(revoked))

        def on_partitions_lost(self, lost: Any) -> None:
            _report("lost", partitions=_names(lost))

    consumer = KafkaConsumer(
        bootstrap_servers=spec["servers"].split(","),
        group_id=spec["group"],
        client_id=spec["name"],
        partition_assignment_strategy=[
            getattr(partage.live, name)(**spec["options"]) for name in spec["assignor"].split(",")
        ],
        auto_offset_reset="earliest",
        auto_commit_interval_ms=1000,
        check_crcs=False,  # in Python it takes longer than everything else
        **spec["settings"],
    )
    consumer.subscribe(list(spec["topics"]), listener=Listener())
    # A leader that learns of a topic only after it has joined joins again, and kafka-python 3.0.12
    # waits for ever if a poll ends meanwhile. So wait until the metadata contain all topics;
    # ``topics`` always asks a broker, which may not know a new topic yet.
    while not consumer.topics() >= set(spec["topics"]):
        if _stopped.wait(0.05):
            break
    _report("joins")
    while not _stopped.is_set():
        records = []
        for partition, batch in consumer.poll(timeout_ms=500).items():
            name = f"{partition.topic}-{partition.partition}"
            found = (int.from_bytes(record.key, "big") for record in batch if record.key)
            records += [[name, first, last] for first, last in _runs(found)]
        if records:
            _report("read", records=records)
    consumer.close()


def _names(partitions: Iterable[Any]) -> list[str]:
    return sorted(f"{one.topic}-{one.partition}" for one in partitions)


def _runs(numbers: Iterable[int]) -> list[list[int]]:
    """Consecutive numbers as pairs of first and last."""
    found: list[list[int]] = []
    for number in numbers:
        if found and found[-1][1] == number - 1:
            found[-1][1] = number
        else:
            found.append([number, number])
    return found


def main() -> None:
    """Run the client that the JSON on the command line describes."""
    spec = json.loads(sys.argv[1])
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s %(message)s")
    threading.Thread(target=_wait_for_end_of_input, daemon=True).start()
    try:
        (produce if spec["role"] == "producer" else consume)(spec)
    except Exception as problem:
        _report("failed", error=f"{type(problem).__name__}: {problem}")
        raise


if __name__ == "__main__":
    main()
