"""Helpers of the strategies: replica lists as Python lists, and errors that several raise."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from partage.arrays import Ints
from partage.brokers.problem import Problem
from partage.errors import CannotError


def chosen_lists(problem: Problem) -> list[list[int]]:
    """The current replica list of each chosen partition: broker positions, leader first."""
    rows = problem.cluster.replicas[problem.items].tolist()
    factors = problem.cluster.replication_factor[problem.items].tolist()
    return [row[:factor] for row, factor in zip(rows, factors, strict=True)]


def chosen_topics(problem: Problem) -> Iterator[tuple[str, int, int]]:
    """Each topic with chosen partitions: its name, and the range of ``problem.items`` that holds
    them, end excluded."""
    topic = problem.cluster.topic[problem.items]
    names, first = np.unique(topic, return_index=True)
    last = np.append(first[1:], len(topic))
    for name, begin, end in zip(names.tolist(), first.tolist(), last.tolist(), strict=True):
        yield problem.cluster.topics[name], begin, end


def one_factor(problem: Problem, begin: int, end: int, why: str) -> int:
    """The replication factor of one topic, whose partitions are ``problem.items[begin:end]``.
    Raises CannotError, which starts with ``why``, if the partitions need different factors."""
    asked = np.unique(problem.target[problem.items[begin:end]]).tolist()
    if len(asked) > 1:
        topic = problem.cluster.topics[problem.cluster.topic[problem.items[begin]]]
        raise CannotError(
            f"{why}, but the partitions of {topic} need {' and '.join(map(str, asked))}"
        )
    return int(asked[0])


def refuse_other_factors(problem: Problem, why: str) -> None:
    """Raise CannotError, which starts with ``why``, if a replication factor must change."""
    cluster = problem.cluster
    other = problem.chosen & (problem.target != cluster.replication_factor)
    if other.any():
        row = int(other.argmax())
        raise CannotError(
            f"{why}: {cluster.names[row]} has {cluster.replication_factor[row]} replicas and needs "
            f"{problem.target[row]}"
        )


def refuse_moves(problem: Problem, why: str) -> None:
    """Raise CannotError, which starts with ``why``, if a replica must leave a broker that is
    removed or dead."""
    cluster = problem.cluster
    unusable = np.append(~problem.usable, False)[cluster.replicas] & problem.chosen[:, None]
    if unusable.any():
        row, column = (int(i) for i in np.argwhere(unusable)[0])
        broker = int(cluster.replicas[row, column])
        state = "removed" if problem.excluded[broker] else "dead"
        raise CannotError(
            f"{why}: {cluster.names[row]} has a replica on broker {cluster.broker_ids[broker]}, "
            f"which is {state}"
        )


def with_lists(problem: Problem, lists: Sequence[Sequence[int]]) -> Ints:
    """Replica lists [P, R]: ``lists`` for the chosen partitions, in order; the others unchanged."""
    today = problem.cluster.replicas
    width = max(today.shape[1], *map(len, lists))
    replicas = np.full((len(today), width), -1, dtype=np.int64)
    replicas[:, : today.shape[1]] = today
    replicas[problem.items] = [[*row, *[-1] * (width - len(row))] for row in lists]
    return replicas
