"""Clusters and planning problems written as text: a matrix of replica lists, and brokers.

- A *matrix* has a word per partition, such as ``1,2/90``: its replicas, preferred leader first, and
  optionally its bytes. ``u:`` begins another topic; the first topic is ``t``.
- *Brokers* are words such as ``3:a/500!``: the id and, optionally, the rack, the bytes of the disk,
  and ``!`` for a dead broker.

So ``cluster_of("1,2 2,3 u: 3", "1:a 2:b 3!")`` has two partitions of t and one of u.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from partage.brokers.options import PlanOptions
from partage.brokers.posing.resolving import resolve
from partage.brokers.problem import Problem
from partage.cluster import Cluster

Json = dict[str, Any]
Lists = list[list[int]]


def matrix(text: str) -> Lists:
    """``"1,2 3"`` as ``[[1, 2], [3]]``."""
    return [[int(b) for b in word.split(",")] for word in text.split()]


def text(lists: Iterable[Sequence[int]]) -> str:
    """``[[1, 2], [3]]`` as ``"1,2 3"``."""
    return " ".join(",".join(map(str, row)) for row in lists)


def partitions(
    lists: Sequence[Sequence[int]], sizes: Sequence[int | None] | None = None, topic: str = "t"
) -> list[Json]:
    """The partitions of a topic from 0 on; size None: unknown."""
    entries: list[Json] = [
        {"topic": topic, "partition": number, "replicas": list(row)}
        for number, row in enumerate(lists)
    ]
    for entry, size in zip(entries, sizes or (), strict=False):
        if size is not None:
            entry["size_bytes"] = size
    return entries


def partitions_of(matrix: str) -> list[Json]:
    """The partitions of a matrix."""
    topics: dict[str, list[str]] = {}
    words = topics.setdefault("t", [])
    for word in matrix.split():
        if word.endswith(":"):
            words = topics.setdefault(word[:-1], [])
        else:
            words.append(word)
    found = []
    for topic, words in topics.items():
        pairs = [word.partition("/") for word in words]
        lists = [[int(b) for b in row.split(",")] for row, _, _ in pairs]
        found += partitions(lists, [int(size) if size else None for _, _, size in pairs], topic)
    return found


def brokers_of(brokers: str, disk: int | None = None) -> list[Json]:
    """The brokers; ``disk``: bytes of disks without a size of their own."""
    entries = []
    for word in brokers.split():
        name, _, size = word.removesuffix("!").partition("/")
        identity, _, rack = name.partition(":")
        entry: Json = {"id": int(identity)}
        if rack:
            entry["rack"] = rack
        if size or disk is not None:
            entry["disk_bytes"] = int(size) if size else disk
        if word.endswith("!"):
            entry["alive"] = False
        entries.append(entry)
    return entries


def cluster_json(matrix: str, brokers: str, disk: int | None = None) -> Json:
    """The cluster in its plain form."""
    return {"brokers": brokers_of(brokers, disk), "partitions": partitions_of(matrix)}


def cluster_of(matrix: str, brokers: str, disk: int | None = None) -> Cluster:
    return Cluster.from_json(cluster_json(matrix, brokers, disk))


def problem_of(matrix: str, brokers: str, disk: int | None = None, **options: Any) -> Problem:
    return resolve(cluster_of(matrix, brokers, disk), PlanOptions(**options))


def decided(strategy: Callable[[Problem], npt.NDArray[np.int64]], problem: Problem) -> Lists:
    """The replica lists that a strategy decides."""
    return problem.cluster.with_replicas(strategy(problem)).replica_lists()


def loads(lists: Sequence[Sequence[int]], problem: Problem) -> list[int]:
    """Replicas per broker."""
    count = Counter(b for row in lists for b in row)
    return [count[b] for b in problem.cluster.broker_ids.tolist()]


def moves(problem: Problem, lists: Sequence[Sequence[int]]) -> int:
    """Replicas on brokers that did not have them before."""
    before = problem.cluster.replica_lists()
    return sum(len(set(new) - set(old)) for old, new in zip(before, lists, strict=True))
