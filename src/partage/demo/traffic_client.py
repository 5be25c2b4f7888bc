"""One real client as a process of its own: ``python -m partage.demo.traffic_client JSON``.

A producer, or a member of a consumer group, both of kafka-python. It works until its standard input
ends, as it does when whoever started it is gone; then it ends in good order. What happens to it, it
tells on its standard output in lines of JSON with ``at`` (seconds since 1970) and ``kind``:

- ``acknowledged``: a record that all in-sync replicas have; ``read``: records that a poll brought
- ``joins``: the member has started; ``assigned``, ``revoked``, ``lost``: partitions
- ``failed``: a record that was not acknowledged, or what ended the process

Records are numbered in each partition from 0 on, which is their key: so what was acknowledged can
be compared with what was read, record by record. ``records`` are triples: partition, first number,
last number. Records without a key are read as well, and not told of.

The JSON has ``role`` (producer or member), ``servers`` and ``topics`` (partition counts by name).
For a producer ``every`` (seconds from one record of a partition to the next) and ``value_bytes``.
For a member ``group``, ``name``, ``assignor`` (a class of ``partage.live``), ``options`` (its own)
and ``settings`` (of kafka-python's consumer).
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
_one_line = threading.Lock()


def _tell(kind: str, **more: Any) -> None:
    line = json.dumps({"at": time.time(), "kind": kind, **more}, separators=(",", ":"))
    with _one_line:
        sys.stdout.write(line + "\n")
        sys.stdout.flush()


def _wait_for_the_end() -> None:
    sys.stdin.read()
    _stopped.set()


def produce(said: dict[str, Any]) -> None:
    """A record into each partition in turn, at an even pace."""
    producer = KafkaProducer(
        bootstrap_servers=said["servers"].split(","), acks="all", client_id="partage-producer"
    )
    partitions = [(topic, n) for topic, count in said["topics"].items() for n in range(count)]
    value = b"x" * said["value_bytes"]
    step, at = said["every"] / len(partitions), time.monotonic()
    turn = 0
    while not _stopped.wait(max(at - time.monotonic(), 0.0)):
        number, place = divmod(turn, len(partitions))
        topic, partition = partitions[place]
        name, key = f"{topic}-{partition}", number.to_bytes(_KEY_BYTES, "big")
        sent = producer.send(topic, value, key, partition=partition)
        sent.add_callback(partial(_acknowledged, name, number))
        sent.add_errback(partial(_failed, name))
        turn += 1
        at += step
    producer.flush()
    producer.close()


def _acknowledged(name: str, number: int, _: Any) -> None:
    _tell("acknowledged", records=[[name, number, number]])


def _failed(name: str, error: object) -> None:
    _tell("failed", error=f"{name}: {error}")


def consume(said: dict[str, Any]) -> None:
    """Read what the group gives it."""

    class Listener(ConsumerRebalanceListener):  # type: ignore[misc]
        def on_partitions_assigned(self, assigned: Any) -> None:
            _tell("assigned", partitions=_names(assigned))

        def on_partitions_revoked(self, revoked: Any) -> None:
            _tell("revoked", partitions=_names(revoked))

        def on_partitions_lost(self, lost: Any) -> None:
            _tell("lost", partitions=_names(lost))

    consumer = KafkaConsumer(
        bootstrap_servers=said["servers"].split(","),
        group_id=said["group"],
        client_id=said["name"],
        partition_assignment_strategy=[getattr(partage.live, said["assignor"])(**said["options"])],
        auto_offset_reset="earliest",
        auto_commit_interval_ms=1000,
        check_crcs=False,  # in Python it takes longer than all else
        **said["settings"],
    )
    consumer.subscribe(list(said["topics"]), listener=Listener())
    # A leader that learns of a topic only after it has joined joins again, and kafka-python 3.0.12
    # waits for ever if a poll ends meanwhile. So wait until the metadata contain all topics;
    # ``topics`` always asks a broker, which may not know a new topic yet.
    while not consumer.topics() >= set(said["topics"]):
        if _stopped.wait(0.05):
            break
    _tell("joins")
    while not _stopped.is_set():
        records = []
        for partition, batch in consumer.poll(timeout_ms=500).items():
            name = f"{partition.topic}-{partition.partition}"
            found = (int.from_bytes(record.key, "big") for record in batch if record.key)
            records += [[name, first, last] for first, last in _runs(found)]
        if records:
            _tell("read", records=records)
    consumer.close()


def _names(partitions: Iterable[Any]) -> list[str]:
    return sorted(f"{one.topic}-{one.partition}" for one in partitions)


def _runs(numbers: Iterable[int]) -> list[list[int]]:
    """Numbers one after the other as first and last."""
    found: list[list[int]] = []
    for number in numbers:
        if found and found[-1][1] == number - 1:
            found[-1][1] = number
        else:
            found.append([number, number])
    return found


def main() -> None:
    """Be the client that the JSON of the command line describes."""
    said = json.loads(sys.argv[1])
    form = "%(asctime)s %(levelname)s %(name)s %(message)s"
    logging.basicConfig(level=logging.INFO, format=form)
    threading.Thread(target=_wait_for_the_end, daemon=True).start()
    try:
        (produce if said["role"] == "producer" else consume)(said)
    except Exception as problem:
        _tell("failed", error=f"{type(problem).__name__}: {problem}")
        raise


if __name__ == "__main__":
    main()
