"""Read the output of Kafka's tools: ``kafka-topics.sh --describe`` and ``kafka-log-dirs.sh
--describe``. Errors name the place in the file."""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated

from msgspec import Meta, Struct, field

from partage.cluster.broker import MAX_BYTES
from partage.cluster.formats import TOPIC_ID, ClusterColumns, Size, as_uuid, named_brokers
from partage.cluster.min_insync import KAFKAS_DEFAULT, MIN_INSYNC
from partage.errors import InputError, shown
from partage.files import parse_json, read_text
from partage.json_input import MAX_INT32, check_json
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
    r"(?<=[\s,])(remote\.storage\.enable|(?:local\.)?retention\.bytes|min\.insync\.replicas)"
    r"=(true|false|-?\d{1,19})",
    re.ASCII,
)
_IN_SYNC = re.compile(r"\bIsr:[ \t]*+([\d,]*+)", re.ASCII)
_NO_LEADER = re.compile(r"\bLeader:[ \t]*+(?:none|-1)(?=\s)", re.ASCII)
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
    least: dict[str, int] = {}
    sync = _Sync()
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
            sync.add(f"{topic}-{number}", replicas[-1], line)
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
            if MIN_INSYNC in settings:
                least[head["topic"]] = min_insync(settings)
        else:
            raise InputError(where, f"line {i}: expected 'Topic: … Partition: … Replicas: 1,2'")
    if not topics and announced:
        raise InputError(
            where,
            f"has {plural(len(announced), 'topic')} without partitions (no 'Partition:' line): "
            "give the whole output of kafka-topics.sh --describe",
        )
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
    brokers = named_brokers(replicas)
    return ClusterColumns(
        brokers=brokers,
        topics=topics,
        partitions=numbers,
        replica_lists=replicas,
        racks_known=False,
        topic_ids=topic_ids,
        notes=(*sync.notes(), *_without_header(sorted(found.keys() - announced.keys()))),
        tiered=tiered,
        min_insync_replicas=least,
        maybe_dead=tuple(sorted({broker.id for broker in brokers} - sync.running)),
    )


class _Sync(Struct):
    """Which replicas described partitions have in sync.

    - ``lagging``: partitions with a replica out of sync; ``offline``: without a leader
    - ``running``: brokers that are in sync with a leader; where no ISR is printed, all replicas
    """

    lagging: list[str] = field(default_factory=list)
    offline: list[str] = field(default_factory=list)
    running: set[int] = field(default_factory=set)

    def add(self, name: str, replicas: Sequence[int], line: str) -> None:
        """Read the line of a partition. A leader is in its own ISR."""
        found = _IN_SYNC.search(line)
        in_sync = replicas
        if found is not None:
            printed = set(found[1].split(","))
            in_sync = [broker for broker in replicas if str(broker) in printed]
        if len(in_sync) < len(replicas):
            self.lagging.append(name)
        if _NO_LEADER.search(line):
            self.offline.append(name)
        else:
            self.running.update(in_sync)

    def notes(self) -> Iterator[str]:
        """What a reader should know about it."""
        if self.lagging:
            have = "partition has" if len(self.lagging) == 1 else "partitions have"
            some = listed(self.lagging, 3)
            yield f"{len(self.lagging)} {have} replicas out of sync ({some}): repair them first"
        if self.offline:
            are = plural(len(self.offline), "partition is", "partitions are")
            yield (
                f"{are} offline ({listed(self.offline, 3)}): no leader to copy from; Kafka cannot "
                "move these until a broker that holds one is back"
            )


def _without_header(topics: Sequence[str]) -> Iterator[str]:
    """A sentence about topics whose partitions are described without how many there are."""
    if topics:
        yield (
            f"no header counts the partitions of {listed(topics, 3)}: the input may be a part of "
            "the cluster, as --under-replicated-partitions prints it; what it lacks does not count"
        )


def min_insync(settings: Mapping[str, str]) -> int:
    """min.insync.replicas by a topic's settings; Kafka's default where they have none."""
    value = settings.get(MIN_INSYNC, "")
    return min(int(value), MAX_INT32) if value.isdigit() else KAFKAS_DEFAULT


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
