"""Given: the replica lists of another tool's reassignment JSON, unchanged.

The proposal becomes a plan like any other: with figures compared with the bounds of the exact
answer, with waves and a rollback. Partitions that the proposal does not name keep their lists. The
lists are used exactly as they are, order included, even if they break rules (``partage check``
reports those). They are refused only where they contradict another option.
"""

from __future__ import annotations

import numpy as np

from partage.arrays import Ints
from partage.brokers.figures import changed_sets, one_width
from partage.brokers.problem import Problem
from partage.errors import CannotError


def given(problem: Problem) -> Ints:
    """The replica lists [P, any] of ``reassignment``.

    Raises CannotError if they leave a replica on a broker that must be empty, have another
    replication factor than requested, or move replicas with ``no_moves``.
    """
    if problem.given is None:
        raise CannotError("needs replica lists: give `reassignment`")
    today, wanted = one_width(problem.cluster.replicas, problem.given)
    replicas = np.where(problem.chosen[:, None], wanted, today)
    left = np.append(problem.excluded | problem.outside, False)[replicas] & problem.chosen[:, None]
    if left.any():
        row, column = (int(i) for i in np.argwhere(left)[0])
        broker = problem.cluster.broker_ids[replicas[row, column]]
        raise CannotError(
            f"{problem.cluster.names[row]} has a replica on broker {broker}, which must be empty"
        )
    if problem.options.no_moves:
        moved = changed_sets(today, replicas)
        if moved.any():
            row = int(moved.argmax())
            raise CannotError(f"`no_moves` forbids the moves of {problem.cluster.names[row]}")
        return replicas
    factor = (replicas >= 0).sum(axis=1)
    other = problem.chosen & (factor != problem.target)
    if other.any():
        row = int(other.argmax())
        name, asked = problem.cluster.names[row], problem.target[row]
        raise CannotError(f"{name} has {factor[row]} replicas, {asked} are asked for")
    return replicas
