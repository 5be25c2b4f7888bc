"""Replica lists as plain lists, for the strategies that take partitions one by one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from partage.brokers.task import Task

Ints = npt.NDArray[np.int64]


def chosen_lists(task: Task) -> list[list[int]]:
    """Today's replica list of each chosen partition: broker positions, leader first."""
    rows = task.cluster.replicas[task.items].tolist()
    factors = task.cluster.replication_factor[task.items].tolist()
    return [row[:factor] for row, factor in zip(rows, factors, strict=True)]


def chosen_topics(task: Task) -> Iterator[tuple[str, int, int]]:
    """Each topic with chosen partitions, by name, and from where to where they stand in
    ``task.items``."""
    topic = task.cluster.topic[task.items]
    names, first = np.unique(topic, return_index=True)
    last = np.append(first[1:], len(topic))
    for name, begin, end in zip(names.tolist(), first.tolist(), last.tolist(), strict=True):
        yield task.cluster.topics[name], begin, end


def with_lists(task: Task, lists: Sequence[Sequence[int]]) -> Ints:
    """[P, R] with these lists for the chosen partitions, in order; the others as today."""
    today = task.cluster.replicas
    width = max(today.shape[1], *map(len, lists))
    replicas = np.full((len(today), width), -1, dtype=np.int64)
    replicas[:, : today.shape[1]] = today
    replicas[task.items] = [[*row, *[-1] * (width - len(row))] for row in lists]
    return replicas
