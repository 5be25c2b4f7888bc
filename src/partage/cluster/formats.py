"""The files a cluster comes in, read strictly: whatever is wrong is named with its place.

Three forms of CLUSTER, told apart by content: the plain JSON of this project, Kafka's reassignment
JSON (its brokers are those named), and the text that ``kafka-topics.sh --describe`` prints. Sizes
come from ``kafka-log-dirs.sh --describe``.
"""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from typing import Any

from partage.cluster.model import MAX_BROKER_ID, MAX_BYTES, UNKNOWN, Broker, Cluster, sizes_by_name
from partage.errors import InputError
from partage.files import is_name, parse_json, read_text

_MAX_PARTITION = 2**31 - 1
_MAX_CAPACITY = 10**9

_DESCRIBE_LINE = re.compile(
    r"\s*Topic:\s*(?P<topic>\S+)\s.*?\bPartition:\s*(?P<partition>\d{1,10})\s"
    r".*?\bReplicas:\s*(?P<replicas>\d{1,10}(?:,\d{1,10})*)(?=\s|$)(?P<rest>.*)",
    re.ASCII,
)
_DESCRIBE_HEAD = re.compile(
    r"\s*Topic:\s*(?P<topic>\S+)\s.*?\bPartitionCount:\s*(?P<count>\d{1,10})",
    re.ASCII,
)
_PARTITION_NAME = re.compile(r"([A-Za-z0-9._-]+)-([0-9]{1,10})")
_IN_FLIGHT = re.compile(r"(?:Adding|Removing) Replicas:\s*(\d[\d,]*)")


def read_cluster(path: str | os.PathLike[str]) -> Cluster:
    """Read a CLUSTER file in any of its three forms, plain or gzip. Raises InputError."""
    where = os.fspath(path)
    text = read_text(path)
    if not text.strip():
        raise InputError(where, "is empty, expected a cluster")
    if text.lstrip()[0] in "{[":
        return cluster_from_json(parse_json(text, where), where)
    return cluster_from_describe(text, where)


def cluster_from_json(value: Any, where: str) -> Cluster:
    """The plain form or Kafka's reassignment JSON, already parsed."""
    top = _object(value, where, "an object with brokers and partitions")
    rows = _list(top.get("partitions"), where, "partitions")
    topics: list[str] = []
    numbers: list[int] = []
    replicas: list[list[int]] = []
    sizes: list[int] = []
    for i, row in enumerate(rows):
        topic, number, brokers = partition_entry(row, where, i)
        topics.append(topic)
        numbers.append(number)
        replicas.append(brokers)
        size = row.get("size_bytes")
        sizes.append(
            UNKNOWN if size is None else _bytes(size, where, f"partitions[{i}].size_bytes")
        )
    if "brokers" in top:
        entries = _list(top["brokers"], where, "brokers")
        listed = [_broker(entry, where, f"brokers[{i}]") for i, entry in enumerate(entries)]
    else:
        listed = [Broker(b) for b in {b for row in replicas for b in row}]
    cluster_id = top.get("cluster_id")
    if cluster_id is not None and type(cluster_id) is not str:
        raise InputError(where, f"cluster_id: expected text or null, got {show(cluster_id)}")
    built = Cluster.build(listed, topics, numbers, replicas, sizes, where)
    return replace(built, cluster_id=cluster_id, tells_racks="brokers" in top)


def partition_entry(row: Any, where: str, i: int) -> tuple[str, int, list[int]]:
    """Topic, partition number and broker ids of the entry ``partitions[i]``."""

    def refused(problem: str) -> InputError:
        return InputError(where, f"partitions[{i}]{problem}")

    if type(row) is not dict:
        raise refused(f": expected an object, got {show(row)}")
    topic, number, brokers = row.get("topic"), row.get("partition"), row.get("replicas")
    if type(topic) is not str:
        raise refused(f".topic: expected text, got {show(topic)}")
    if type(number) is not int or not 0 <= number <= _MAX_PARTITION:
        raise refused(f".partition: expected a number from 0, got {show(number)}")
    if type(brokers) is not list or not all(type(b) is int for b in brokers):
        raise refused(f".replicas: expected a list of broker ids, got {show(brokers)}")
    if any(not 0 <= b <= MAX_BROKER_ID for b in brokers):
        raise refused(f".replicas: {show(brokers)} has no valid broker id")
    return topic, number, brokers


def cluster_from_describe(text: str, where: str) -> Cluster:
    """The text of ``kafka-topics.sh --describe``. It names no racks, disks or sizes.

    Refused while a reassignment is in flight: the list it prints is then the old and the new
    replicas together (KIP-455), and planning on it would raise the replication factor (KIP-860).
    """
    topics: list[str] = []
    numbers: list[int] = []
    replicas: list[list[int]] = []
    announced: dict[str, int] = {}
    for i, line in enumerate(text.splitlines(), start=1):
        if not line.lstrip().startswith("Topic:"):
            continue
        if match := _DESCRIBE_LINE.match(line):
            topic, number = match["topic"], int(match["partition"])
            if number > _MAX_PARTITION:
                raise InputError(where, f"line {i}: {number} is no partition's number")
            if flight := _IN_FLIGHT.search(match["rest"]):
                raise InputError(
                    where,
                    f"line {i}: {topic}-{number} is being reassigned ({flight[0]}): "
                    "let that finish or cancel it, then describe again",
                )
            topics.append(topic)
            numbers.append(number)
            replicas.append([int(b) for b in match["replicas"].split(",")])
        elif head := _DESCRIBE_HEAD.match(line):
            announced[head["topic"]] = int(head["count"])
        else:
            raise InputError(where, f"line {i}: expected 'Topic: … Partition: … Replicas: 1,2'")
    if not topics:
        raise InputError(
            where, "neither JSON nor the output of kafka-topics.sh --describe (no 'Topic:' line)"
        )
    found = Counter(topics)
    for topic, count in announced.items():
        if found[topic] != count:
            raise InputError(
                where, f"topic {topic} announces {count} partitions, {found[topic]} follow"
            )
    listed = [Broker(b) for b in {b for row in replicas for b in row}]
    built = Cluster.build(listed, topics, numbers, replicas, None, where)
    return replace(built, tells_racks=False)


def with_log_dir_sizes(cluster: Cluster, path: str | os.PathLike[str]) -> Cluster:
    """The cluster with replica sizes out of ``kafka-log-dirs.sh --describe`` output.

    The tool prints two lines of text, then one line of JSON. Replicas of one partition differ a
    little in size; the largest counts, since that is what a new replica may have to fetch. Copies
    that are still being moved between log dirs (``isFuture``) do not count.
    """
    where = os.fspath(path)
    text = read_text(path)
    start = text.find("{")
    if start < 0:
        raise InputError(where, "no JSON: expected the output of kafka-log-dirs.sh --describe")
    try:
        value, _ = json.JSONDecoder().raw_decode(text[start:])
    except (json.JSONDecodeError, RecursionError, ValueError):
        value = parse_json(text[start:], where)
    top = _object(value, where, "an object with brokers")
    sizes: dict[tuple[str, int], int] = {}
    for i, broker in enumerate(_list(top.get("brokers"), where, "brokers")):
        at = f"brokers[{i}].logDirs"
        for j, log_dir in enumerate(_list(_object(broker, where, at).get("logDirs"), where, at)):
            inside = f"{at}[{j}].partitions"
            entries = _object(log_dir, where, inside).get("partitions", [])
            for k, entry in enumerate(_list(entries, where, inside)):
                place = f"{inside}[{k}]"
                entry = _object(entry, where, place)
                name = entry.get("partition")
                match = _PARTITION_NAME.fullmatch(name) if type(name) is str else None
                if match is None:
                    raise InputError(
                        where, f"{place}.partition: expected 'topic-0', got {show(name)}"
                    )
                size = _bytes(entry.get("size"), where, f"{place}.size")
                if not entry.get("isFuture", False):
                    key = (match[1], int(match[2]))
                    sizes[key] = max(size, sizes.get(key, 0))
    return sizes_by_name(cluster, sizes, where)


def _broker(value: Any, where: str, place: str) -> Broker:
    entry = _object(value, where, place)
    identity, rack, disk = entry.get("id"), entry.get("rack"), entry.get("disk_bytes")
    capacity, alive = entry.get("capacity"), entry.get("alive", True)
    if type(identity) is not int or not 0 <= identity <= MAX_BROKER_ID:
        raise InputError(
            where,
            f"{place}.id: expected a number from 0 to {MAX_BROKER_ID}, got {show(identity)}",
        )
    if rack is not None and (not is_name(rack) or not rack):
        raise InputError(where, f"{place}.rack: expected text or null, got {show(rack)}")
    if type(alive) is not bool:
        raise InputError(where, f"{place}.alive: expected true or false, got {show(alive)}")
    share = Fraction(1)
    if capacity is not None:
        if type(capacity) not in (int, float) or not 0 < capacity <= _MAX_CAPACITY:
            raise InputError(
                where, f"{place}.capacity: expected a number above 0, got {show(capacity)}"
            )
        share = Fraction(str(capacity))
    return Broker(
        id=identity,
        rack=rack,
        disk_bytes=None if disk is None else _bytes(disk, where, f"{place}.disk_bytes"),
        capacity=share,
        alive=alive,
    )


def _bytes(value: Any, where: str, place: str) -> int:
    if type(value) is float and value.is_integer():
        value = int(value)
    if type(value) is not int or value < 0:
        raise InputError(
            where, f"{place}: expected bytes, a whole number from 0, got {show(value)}"
        )
    if value > MAX_BYTES:
        raise InputError(where, f"{place}: {show(value)} bytes is more than an exbibyte")
    return value


def _object(value: Any, where: str, place: str) -> dict[str, Any]:
    if type(value) is not dict:
        raise InputError(where, f"expected {place}, got {show(value)}")
    return value


def _list(value: Any, where: str, place: str) -> list[Any]:
    if type(value) is not list:
        raise InputError(where, f"{place}: expected a list, got {show(value)}")
    return value


def show(value: Any) -> str:
    """A value as a message quotes it, cut short."""
    if value is None:
        return "nothing"
    try:
        text = repr(value)
    except (ValueError, RecursionError):
        return "a value too long or too deep to show"
    return text if len(text) <= 60 else text[:57] + "..."
