"""Weighted: the most even loads by weight (lag, bytes), then the fewest moves.

The group's ``weights`` give a weight per partition by topic; without them every partition weighs 1.
Where all weights are equal the assignment is exact, as sticky's is. Otherwise
``consumers.weighted_search`` finds it, with a proven lower bound on the highest load. Partitions of
weight 0 are then distributed by count, exactly, on top of the others.

``max_skew`` is how far the highest load may stay above the bound, as a fraction of the bound: only
as much is moved as is needed to get there. ``java`` is the well-known assignor ``lag``
(``assignors.lag``); Apache Kafka has no weighted assignor.
"""

from __future__ import annotations

import numpy as np

from partage.arrays import Ints
from partage.consumers.assignment import Assignment
from partage.consumers.assignors.lag import lag
from partage.consumers.exact_assignment import assign_exactly, check_max_skew
from partage.consumers.weighted_search import (
    WeightedProblem,
    assign_by_weight,
    load_bound,
    relieve,
)
from partage.errors import InputError
from partage.group import Group
from partage.group.model import NO_MEMBER

_MAX_TOTAL = 2**62
"""The largest sum of all weights, so that loads stay exact."""


def weighted(group: Group, mode: str, max_skew: float = 0.0) -> Assignment:
    """Owners, and the bound on the highest load. Raises InputError for a negative or infinite
    ``max_skew`` and for weights whose sum is too large."""
    check_max_skew(max_skew)
    if group.weight.sum(dtype=np.float64) > _MAX_TOTAL:
        raise InputError(group.where, f"weights: their sum is more than {_MAX_TOTAL}")
    problem, rows = _problem(group)
    bound = load_bound(problem)
    if mode == "java":
        owner = lag(group)
    elif len(np.unique(problem.weight)) <= 1:
        owner = _by_count(group, rows)
        bound = int(problem.loads(owner[rows]).max(initial=0))
    else:
        owner = _with_weightless(group, rows, assign_by_weight(problem))
    if max_skew and mode == "optimal":
        limit = int(bound * (1 + max_skew))
        relieved = _with_weightless(group, rows, relieve(problem, limit))
        if problem.loads(relieved[rows]).max(initial=0) <= limit:
            owner = min((relieved, owner), key=lambda end: int((end != group.owner).sum()))
    return Assignment(group, owner, owner, bound=bound)


def _with_weightless(group: Group, rows: Ints, assigned: Ints) -> Ints:
    """The owners of ``rows``, with the partitions of weight 0 distributed by count."""
    decided = np.full(group.partitions, NO_MEMBER, dtype=np.int64)
    decided[rows] = assigned
    return assign_exactly(group, decided)


def _by_count(group: Group, rows: Ints) -> Ints:
    """Where all weights above 0 are equal: these by count, then the partitions of weight 0."""
    return _with_weightless(group, rows, assign_exactly(group, among=group.weight > 0)[rows])


def _problem(group: Group) -> tuple[WeightedProblem, Ints]:
    """The partitions with a weight and a subscriber, and their positions."""
    classes, of_topic = np.unique(group.subscribes.T, axis=0, return_inverse=True)
    subscribed = np.asarray(group.subscribes.any(axis=0))[group.topic]
    rows = np.flatnonzero(subscribed & (group.weight > 0))
    label = of_topic.ravel()[group.topic[rows]]
    named, kind = np.unique(label, return_inverse=True)
    problem = WeightedProblem(
        weight=group.weight[rows],
        kind=kind.ravel().astype(np.int64),
        open_to=classes[named][:, group.class_of],
        owner=group.owner[rows],
    )
    return problem, rows
