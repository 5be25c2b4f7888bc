"""What strategies have in common: replica lists as plain lists, and what several of them refuse."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from partage.brokers.task import Task
from partage.errors import CannotError

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


def one_factor(task: Task, begin: int, end: int, why: str) -> int:
    """The replication factor that the partitions of a topic ask for, from where to where they stand
    in ``task.items``. CannotError, saying ``why``, where they ask for different ones."""
    asked = np.unique(task.target[task.items[begin:end]]).tolist()
    if len(asked) > 1:
        topic = task.cluster.topics[task.cluster.topic[task.items[begin]]]
        raise CannotError(
            f"{why}, but the partitions of {topic} ask for {' and '.join(map(str, asked))}"
        )
    return int(asked[0])


def refuse_other_factors(task: Task, why: str) -> None:
    """CannotError, saying ``why``, where a replication factor is to change."""
    cluster = task.cluster
    other = task.chosen & (task.target != cluster.replication_factor)
    if other.any():
        row = int(other.argmax())
        raise CannotError(
            f"{why}: {cluster.names[row]} has {cluster.replication_factor[row]} replicas and needs "
            f"{task.target[row]}"
        )


def refuse_moves(task: Task, why: str) -> None:
    """CannotError, saying ``why``, where a replica has to move: from a broker that is removed or
    dead."""
    cluster = task.cluster
    unusable = np.append(~task.usable, False)[cluster.replicas] & task.chosen[:, None]
    if unusable.any():
        row, column = (int(i) for i in np.argwhere(unusable)[0])
        broker = int(cluster.replicas[row, column])
        state = "removed" if task.excluded[broker] else "dead"
        raise CannotError(
            f"{why}: {cluster.names[row]} has a replica on broker {cluster.broker_ids[broker]}, "
            f"which is {state}"
        )


def with_lists(task: Task, lists: Sequence[Sequence[int]]) -> Ints:
    """[P, R] with these lists for the chosen partitions, in order; the others as today."""
    today = task.cluster.replicas
    width = max(today.shape[1], *map(len, lists))
    replicas = np.full((len(today), width), -1, dtype=np.int64)
    replicas[:, : today.shape[1]] = today
    replicas[task.items] = [[*row, *[-1] * (width - len(row))] for row in lists]
    return replicas
