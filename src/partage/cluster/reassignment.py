"""Kafka's reassignment JSON: proposed replica lists, for example from another tool.

The form is that of ``kafka-reassign-partitions.sh --execute``: ``{"version": 1, "partitions":
[{"topic": "t", "partition": 0, "replicas": [1, 2], "log_dirs": ["any", "any"]}]}``, where the
version and ``log_dirs`` are optional. Kafka's tools write the log dirs of current replicas by name;
these are read but not requested from brokers. The output of ``--generate`` is accepted, too; it
contains the current lists and the proposal, each below a heading.

Source: the method ``parsePartitionReassignmentData`` of Apache Kafka 4.3,
``org.apache.kafka.tools.reassign.ReassignPartitionsCommand``.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np
from msgspec import Struct, json

from partage.arrays import Ints
from partage.cluster.broker import ANY, MAX_REPLICAS
from partage.cluster.formats import PartitionEntry
from partage.cluster.model import Cluster
from partage.errors import InputError, shown
from partage.files import parse_json, read_text
from partage.json_input import check_json
from partage.printable import printable_json

_CURRENT = "Current partition replica assignment"
_PROPOSED = "Proposed partition reassignment configuration"


class ReassignmentEntry(PartitionEntry):
    """The replicas of a partition, and their log dirs."""

    log_dirs: list[str] | None = None


class ReassignmentFile(Struct):
    """The JSON form of Kafka."""

    partitions: list[ReassignmentEntry]
    version: Literal[1] = 1


def reassignment_texts(cluster: Cluster, rows: Ints, since: Cluster) -> list[str]:
    """The JSON of the entry of each partition in ``rows``: a plan writes most of them into two
    files. They name the log dirs of replicas that are not in them in ``since``. The texts of all
    replica lists are made at once."""
    if not len(rows):
        return []
    lists = json.encode(cluster.replica_lists(rows)).decode()[2:-2].split("],[")
    topics = [json.encode(topic).decode() for topic in cluster.topics]
    columns = cluster.topic[rows].tolist(), cluster.partition[rows].tolist()
    texts = [
        f'{{"topic":{topics[topic]},"partition":{number},"replicas":[{replicas}]'
        for topic, number, replicas in zip(*columns, lists, strict=True)
    ]
    named = cluster.named_log_dirs(rows, since)
    if not named:
        return [f"{text}}}" for text in texts]
    log_dirs = (json.encode(named[row]).decode() if row in named else "" for row in rows.tolist())
    return [
        f'{text},"log_dirs":{own}}}' if own else f"{text}}}"
        for text, own in zip(texts, log_dirs, strict=True)
    ]


def reassignment_file(entries: Iterable[str]) -> str:
    """The text of a file in Kafka's form with these entries."""
    return printable_json(f'{{"version":1,"partitions":[{",".join(entries)}]}}\n')


@dataclass(frozen=True)
class Reassignment:
    """Replica lists by (topic, partition number): broker ids, preferred leader first.

    - ``name``: their source; errors begin with it
    - ``in_log_dirs``: how many lists also name log dirs, which are ignored
    """

    name: str
    lists: Mapping[tuple[str, int], tuple[int, ...]]
    in_log_dirs: int = 0

    def __str__(self) -> str:
        return self.name

    @classmethod
    def of(cls, source: Any) -> Self:
        """From the path of a file, or from JSON values."""
        if isinstance(source, cls):
            return source
        if isinstance(source, (str, os.PathLike)):
            return cls.read(source)
        return cls.from_json(source)

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Self:
        """A reassignment JSON, or the output of ``--generate``; ``.gz`` too. Raises InputError."""
        where, text = os.fspath(path), read_text(path)
        _, proposed, after = text.partition(_PROPOSED)
        if not proposed and text.lstrip().startswith(_CURRENT):
            raise InputError(where, "contains the current replicas, expected proposed ones")
        return cls.from_json(parse_json(after if proposed else text, where), where)

    @classmethod
    def from_json(cls, value: Any, name: str = "reassignment") -> Self:
        """Kafka's form as parsed JSON. Raises InputError that names the place."""
        if isinstance(value, dict) and "brokers" in value:
            raise InputError(name, "has brokers: this is a cluster, expected a reassignment")
        if isinstance(value, dict) and "topics" in value and "partitions" not in value:
            raise InputError(
                name,
                "lists topics to move, expected replica lists: use the output of "
                "kafka-reassign-partitions.sh --generate",
            )
        entries = check_json(value, ReassignmentFile, name).partitions
        if not entries:
            raise InputError(name, "no partitions: nothing to reassign")
        lists: dict[tuple[str, int], tuple[int, ...]] = {}
        for entry in entries:
            partition = f"{entry.topic}-{entry.partition}"
            if not entry.replicas:
                raise InputError(name, f"{partition}: has no replicas")
            if len(entry.replicas) > MAX_REPLICAS:
                problem = f"{len(entry.replicas)} replicas, expected up to {MAX_REPLICAS}"
                raise InputError(name, f"{partition}: {problem}")
            twice = next((b for b in entry.replicas if entry.replicas.count(b) > 1), None)
            if twice is not None:
                raise InputError(name, f"{partition}: broker {twice} is named twice")
            if (entry.topic, entry.partition) in lists:
                raise InputError(name, f"{partition}: listed twice")
            lists[entry.topic, entry.partition] = tuple(entry.replicas)
        in_log_dirs = sum(any(d != ANY for d in entry.log_dirs or ()) for entry in entries)
        return cls(name, lists, in_log_dirs)

    def on(self, cluster: Cluster) -> Ints:
        """[P, any] the cluster's replica lists with these replacing the current ones: broker
        positions, -1 after the last. Raises InputError for unknown topics, partitions and brokers,
        and where a dead broker would have to fetch a replica."""
        rows = cluster.row_of
        topics = set(cluster.topics)
        place = {broker: i for i, broker in enumerate(cluster.broker_ids.tolist())}
        today, alive = cluster.replicas, cluster.alive
        width = max(today.shape[1], *map(len, self.lists.values()))
        replicas = np.full((len(today), width), -1, dtype=np.int64)
        replicas[:, : today.shape[1]] = today
        for (topic, number), wanted in self.lists.items():
            name = f"{topic}-{number}"
            if topic not in topics:
                raise InputError(self.name, f"topic {shown(topic)} is not in the cluster")
            row = rows.get((topic, number))
            if row is None:
                raise InputError(self.name, f"{name}: the cluster has no such partition")
            unknown = next((broker for broker in wanted if broker not in place), None)
            if unknown is not None:
                raise InputError(self.name, f"{name}: broker {unknown} is not in the cluster")
            held = set(today[row].tolist())
            places = [place[broker] for broker in wanted]
            for broker, at in zip(wanted, places, strict=True):
                if not alive[at] and at not in held:
                    raise InputError(
                        self.name, f"{name}: broker {broker} is dead, it cannot take a replica"
                    )
            replicas[row] = -1
            replicas[row, : len(places)] = places
        return replicas
