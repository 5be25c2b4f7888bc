"""Read the output of Kafka's tools: ``kafka-topics.sh --describe`` and ``kafka-log-dirs.sh
--describe``. Errors name the place in the file."""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Annotated

from msgspec import Meta, Struct

from partage.cluster.broker import MAX_BYTES
from partage.cluster.formats import TOPIC_ID, ClusterColumns, Size, as_uuid, named_brokers
from partage.errors import InputError, shown
from partage.files import parse_json, read_text
from partage.json_input import check_json
from partage.units import listed, plural

_MAX_PARTITION = 2**31 - 1

TIERED = "remote.storage.enable"
"""A topic's setting: whether it has remote storage."""

LOCAL_RETENTION = ("local.retention.bytes", "retention.bytes")
"""The settings that limit what stays on brokers; the first counts unless it is -2."""

# Atomic groups and possessive repeats: the time is linear in the length of a line.
_DESCRIBE_LINE = re.compile(
    r"\s*+Topic:\s*+(?P<topic>\S++)\s(?>.*?\bPartition:\s*+(?P<partition>\d{1,10})\s)"
    r"(?>.*?\bReplicas:\s*+(?P<replicas>\d{1,10}(?:,\d{1,10})*+)(?=\s|$))(?P<rest>.*)",
    re.ASCII,
)
_DESCRIBE_HEAD = re.compile(
    r"\s*+Topic:\s*+(?P<topic>\S++)(?:\s++TopicId:\s*+(?P<id>\S*+))?+"
    r"\s.*?\bPartitionCount:\s*(?P<count>\d{1,10})",
    re.ASCII,
)
_SETTING = re.compile(
    r"(?<=[\s,])(remote\.storage\.enable|(?:local\.)?retention\.bytes)=(true|false|-?\d{1,19})",
    re.ASCII,
)
_IN_SYNC = re.compile(r"\bIsr:[ \t]*+([\d,]*+)", re.ASCII)
_IN_FLIGHT = re.compile(r"(?:Adding|Removing) Replicas:\s*(\d[\d,]*)")


class _LogDirReplica(Struct, rename="camel"):
    partition: Annotated[
        str, Meta(pattern=r"\A[A-Za-z0-9._-]+-[0-9]{1,10}\Z", description="text such as topic-0")
    ]
    size: Size
    is_future: bool = False


class _LogDir(Struct):
    partitions: list[_LogDirReplica] = []


class _LogDirBroker(Struct, rename="camel"):
    log_dirs: list[_LogDir]


class _LogDirsOutput(Struct):
    brokers: list[_LogDirBroker]


def parse_describe(text: str, where: str) -> ClusterColumns:
    """The output of ``kafka-topics.sh --describe``. It has no racks, disks or sizes.

    Refused while a reassignment is in flight: the list it prints is then the old and the new
    replicas together (KIP-455), and planning on it would raise the replication factor (KIP-860).
    """
    topics: list[str] = []
    numbers: list[int] = []
    replicas: list[list[int]] = []
    announced: dict[str, int] = {}
    topic_ids: dict[str, str] = {}
    tiered: dict[str, int | None] = {}
    short: list[str] = []
    for i, line in enumerate(text.splitlines(), start=1):
        if not line.lstrip().startswith("Topic:"):
            continue
        if match := _DESCRIBE_LINE.match(line):
            topic, number = match["topic"], int(match["partition"])
            if number > _MAX_PARTITION:
                raise InputError(
                    where,
                    f"line {i}: partition {number}: expected a number from 0 to {_MAX_PARTITION}",
                )
            if flight := _IN_FLIGHT.search(match["rest"]):
                raise InputError(
                    where,
                    f"line {i}: {topic}-{number} is being reassigned ({flight[0]}): "
                    "let that finish or cancel it, then describe again",
                )
            topics.append(topic)
            numbers.append(number)
            replicas.append([int(b) for b in match["replicas"].split(",")])
            in_sync = _IN_SYNC.search(match["rest"])
            if in_sync is not None and len(in_sync[1].split(",")) < len(replicas[-1]):
                short.append(f"{topic}-{number}")
        elif head := _DESCRIBE_HEAD.match(line):
            announced[head["topic"]] = int(head["count"])
            if head["id"] is not None:
                if not TOPIC_ID.fullmatch(head["id"]):
                    problem = f"TopicId {shown(head['id'])}: expected 22 letters, digits, - or _"
                    raise InputError(where, f"line {i}: {problem}")
                topic_ids[head["topic"]] = as_uuid(head["id"])
            settings = dict(_SETTING.findall(line))
            if settings.get(TIERED) == "true":
                tiered[head["topic"]] = local_bytes(settings)
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
                where,
                f"topic {topic} announces {plural(count, 'partition')}, {found[topic]} follow",
            )
    notes = (_out_of_sync(short),) if short else ()
    return ClusterColumns(
        brokers=named_brokers(replicas),
        topics=topics,
        partitions=numbers,
        replica_lists=replicas,
        racks_known=False,
        topic_ids=topic_ids,
        notes=notes,
        tiered=tiered,
    )


def local_bytes(settings: Mapping[str, str]) -> int | None:
    """The most bytes of a partition that stay on a broker by its topic's settings; -2 stands for
    ``retention.bytes``."""
    for name in LOCAL_RETENTION:
        limit = settings.get(name, "-2")
        if limit.lstrip("-").isdigit() and limit != "-2":
            return int(limit) if 0 <= int(limit) <= MAX_BYTES else None
    return None


def read_log_dir_sizes(path: str | os.PathLike[str]) -> dict[tuple[str, int], int]:
    """Replica sizes in bytes by (topic, partition), from ``kafka-log-dirs.sh --describe`` output.

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
    sizes: dict[tuple[str, int], int] = {}
    for broker in check_json(value, _LogDirsOutput, where).brokers:
        for log_dir in broker.log_dirs:
            for replica in log_dir.partitions:
                if not replica.is_future:
                    topic, _, number = replica.partition.rpartition("-")
                    key = (topic, int(number))
                    sizes[key] = max(int(replica.size), sizes.get(key, 0))
    return sizes


def _out_of_sync(names: Sequence[str]) -> str:
    what = "partition has" if len(names) == 1 else "partitions have"
    return f"{len(names)} {what} replicas out of sync ({listed(names, 3)}): repair them first"
