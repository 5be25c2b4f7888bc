"""Read the files that describe a cluster. Errors name the place in the file.

A CLUSTER file has one of three forms, recognised by content: the JSON of this project, Kafka's
reassignment JSON (its brokers are those named), and the output of ``kafka-topics.sh --describe``
(``kafka_tools``).
"""

from __future__ import annotations

import os
import re
from base64 import urlsafe_b64decode
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from fractions import Fraction
from typing import Annotated, Any, ClassVar, TypeAlias
from uuid import UUID

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType, field

from partage.cluster.broker import MAX_BROKER_ID, MAX_BYTES, UNKNOWN, Broker, LogDir
from partage.errors import InputError
from partage.files import parse_json, read_text
from partage.json_input import MAX_INT32, Count, Name, check_json

_BYTES_WORDS = f"a whole number of bytes from 0 to {MAX_BYTES} (an exbibyte)"

BrokerId: TypeAlias = Annotated[int, Meta(ge=0, le=MAX_BROKER_ID)]
Size: TypeAlias = (
    Annotated[int, Meta(ge=0, le=MAX_BYTES, description=_BYTES_WORDS)]
    | Annotated[float, Meta(ge=0, le=MAX_BYTES, multiple_of=1, description=_BYTES_WORDS)]
)
"""Bytes. Some tools write large numbers as 1e9: a float without decimals is accepted."""

BytesPerSecond: TypeAlias = Annotated[
    float, Meta(ge=0, le=MAX_BYTES, description=f"bytes per second from 0 to {MAX_BYTES}")
]

Bandwidth: TypeAlias = Annotated[
    float, Meta(ge=1, le=MAX_BYTES, description=f"bytes per second from 1 to {MAX_BYTES}")
]


class ClusterColumns(Struct, frozen=True):
    """The contents of a cluster file, one entry per partition in each sequence, brokers by id. A
    sequence that the form of the file does not have is empty.

    - ``sizes``: bytes of one replica, ``UNKNOWN`` where not given
    - ``bytes_in``, ``bytes_out``: bytes per second produced and consumed, None where not given
    - ``racks_known``: False where the form has no place for racks
    - ``copy_bytes``: bytes that a new replica copies, ``UNKNOWN`` where not given
    - ``topic_ids``: Kafka's ids of topics, where given
    - ``log_dirs``: paths in the order of the replicas, None where not given
    - ``clients``: where producers and consumers are, where given
    - ``tiered``: topics with remote storage, and the most bytes of a partition that stay on a
      broker, None where not given
    - ``min_insync_replicas``: by topic, where given
    - ``maybe_dead``: ids of brokers that lead nothing and are in sync with no leader
    - ``notes``: what a reader of the file should know about it
    """

    brokers: Sequence[Broker]
    topics: Sequence[str]
    partitions: Sequence[int]
    replica_lists: Sequence[Sequence[int]]
    racks_known: bool
    sizes: Sequence[int] = ()
    cluster_id: str | None = None
    topic_ids: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    bytes_in: Sequence[float | None] = ()
    bytes_out: Sequence[float | None] = ()
    log_dirs: Sequence[Sequence[str] | None] = ()
    clients: ClientsEntry | None = None
    tiered: Mapping[str, int | None] = field(default_factory=dict)
    copy_bytes: Sequence[int] = ()
    min_insync_replicas: Mapping[str, int] = field(default_factory=dict)
    maybe_dead: tuple[int, ...] = ()


Shares: TypeAlias = dict[
    Name, Annotated[float, Meta(gt=0, le=1, description="a share above 0, at most 1")]
]


class _TopicClientsEntry(Struct, forbid_unknown_fields=True):
    producers: Shares = {}
    consumers: Shares = {}


class ClientsEntry(Struct, forbid_unknown_fields=True):
    """In which racks the clients of topics are."""

    topics: dict[str, _TopicClientsEntry]
    closest_replica: bool = False


class _TieredEntry(Struct, forbid_unknown_fields=True):
    local_retention_bytes: Size | None = None


class PartitionEntry(Struct):
    """One partition, as both JSON forms write it."""

    topic: str
    partition: Count
    replicas: Annotated[list[BrokerId], Meta(description="a list of broker ids")]


class _SizedPartition(PartitionEntry):
    size_bytes: Size | None = None
    copy_bytes: Size | None = None
    bytes_in_per_second: BytesPerSecond | None = None
    bytes_out_per_second: BytesPerSecond | None = None
    log_dirs: list[str] | None = None


class _LogDirEntry(Struct):
    path: Name
    disk_bytes: Size | None = None
    cordoned: bool = False
    offline: str | None = None


class _BrokerEntry(Struct):
    id: BrokerId
    rack: Name | None = None
    disk_bytes: Size | None = None
    capacity: Annotated[float, Meta(gt=0, le=10**9)] | None = None
    alive: bool = True
    network_in_bytes_per_second: Bandwidth | None = None
    network_out_bytes_per_second: Bandwidth | None = None
    log_dirs: list[_LogDirEntry] | None = None


class _ClusterFile(Struct):
    accepted: ClassVar[str] = "an object with brokers and partitions"

    partitions: list[_SizedPartition]
    brokers: list[_BrokerEntry] | UnsetType = UNSET
    cluster_id: str | None = None
    topic_ids: dict[str, Name] = {}
    clients: ClientsEntry | None = None
    tiered_topics: dict[str, _TieredEntry] = {}
    min_insync_replicas: dict[str, Annotated[int, Meta(ge=1, le=MAX_INT32)]] = {}


TOPIC_ID = re.compile(r"[A-Za-z0-9_-]{22}", re.ASCII)
"""A topic's id as Kafka's tools print it: base64."""

_OTHER_KEYS = {
    *("leader", "isr", "sizes", "records_in_per_second", "records_out_per_second"),
    *("usable_bytes", "cordoned", "host"),
}
"""What snapshots and reassignments have besides."""

_IS_PLACEMENT = (
    "the input is a reassignment JSON and is read as the current placement: to judge it as a "
    "proposal, name the cluster and add --reassignment FILE"
)


def read_cluster_file(path: str | os.PathLike[str]) -> ClusterColumns:
    """Read a CLUSTER file in any of its three forms, plain or gzip. Raises InputError."""
    where = os.fspath(path)
    text = read_text(path)
    if not text.strip():
        raise InputError(where, "is empty, expected a cluster")
    if text.lstrip()[0] in "{[":
        return parse_cluster_json(parse_json(text, where), where)
    from partage.cluster.kafka_tools import parse_describe

    return parse_describe(text, where)


def parse_cluster_json(value: Any, where: str) -> ClusterColumns:
    """The JSON of this project or Kafka's reassignment JSON, already parsed."""
    if isinstance(value, dict) and "topics" in value and "partitions" not in value:
        raise InputError(
            where,
            "lists topics to move, expected a cluster: name one, and its topics with `topics`",
        )
    file = check_json(value, _ClusterFile, where)
    _refuse_misspelled(value, where)
    rows = file.partitions
    replica_lists = [row.replicas for row in rows]
    return ClusterColumns(
        brokers=named_brokers(replica_lists)
        if file.brokers is UNSET
        else [_broker(entry) for entry in file.brokers],
        topics=[row.topic for row in rows],
        partitions=[row.partition for row in rows],
        replica_lists=replica_lists,
        sizes=[UNKNOWN if row.size_bytes is None else int(row.size_bytes) for row in rows],
        racks_known=file.brokers is not UNSET,
        cluster_id=file.cluster_id,
        topic_ids={topic: as_uuid(one) for topic, one in file.topic_ids.items()},
        notes=(_IS_PLACEMENT,) if file.brokers is UNSET else (),
        bytes_in=[row.bytes_in_per_second for row in rows],
        bytes_out=[row.bytes_out_per_second for row in rows],
        log_dirs=[row.log_dirs for row in rows],
        copy_bytes=[UNKNOWN if row.copy_bytes is None else int(row.copy_bytes) for row in rows],
        clients=file.clients,
        tiered={
            topic: _whole(one.local_retention_bytes) for topic, one in file.tiered_topics.items()
        },
        min_insync_replicas=file.min_insync_replicas,
    )


def as_uuid(topic_id: str) -> str:
    """A topic's id in the form of snapshots; Kafka's tools print it in base64."""
    if not TOPIC_ID.fullmatch(topic_id):
        return topic_id
    return str(UUID(bytes=urlsafe_b64decode(f"{topic_id}==")))


def _refuse_misspelled(value: dict[str, Any], where: str) -> None:
    """Raise InputError for an unknown key that is nearly one that its object lacks. Other unknown
    keys are those of snapshots and other tools."""
    for rows, form in (("brokers", _BrokerEntry), ("partitions", _SizedPartition)):
        known = {field.encode_name for field in msgspec.structs.fields(form)}
        given = {key for row in value.get(rows, ()) for key in row}
        for key in sorted(given - known - _OTHER_KEYS):
            near = [one for one in sorted(known) if one.startswith(key)]
            near = near or get_close_matches(key, sorted(known), 1, cutoff=0.7)
            at = next(i for i, row in enumerate(value[rows]) if key in row)
            if near and near[0] not in value[rows][at]:
                hint = f"unknown key: did you mean {near[0]}? expected {', '.join(sorted(known))}"
                raise InputError(where, f"{rows}[{at}].{key}: {hint}")


def named_brokers(replica_lists: Sequence[Sequence[int]]) -> list[Broker]:
    return [Broker(b) for b in {b for row in replica_lists for b in row}]


def _broker(entry: _BrokerEntry) -> Broker:
    disk = _disk_of(entry.log_dirs or ()) if entry.disk_bytes is None else entry.disk_bytes
    return Broker(
        id=entry.id,
        rack=entry.rack,
        disk_bytes=_whole(disk),
        capacity=Fraction(1) if entry.capacity is None else Fraction(str(entry.capacity)),
        alive=entry.alive,
        network_in=_whole(entry.network_in_bytes_per_second),
        network_out=_whole(entry.network_out_bytes_per_second),
        log_dirs=tuple(
            LogDir(one.path, _whole(one.disk_bytes), one.cordoned, one.offline)
            for one in sorted(entry.log_dirs or (), key=lambda one: one.path)
        ),
    )


def _disk_of(log_dirs: Iterable[_LogDirEntry]) -> float | None:
    """The disks of the log dirs together, without those that are offline; None where one is not
    known."""
    known = [one.disk_bytes for one in log_dirs if one.offline is None]
    if not known or None in known:
        return None
    return sum(one or 0 for one in known)


def _whole(number: float | None) -> int | None:
    return None if number is None else int(number)
