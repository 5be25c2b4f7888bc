"""Weighted: loads by weight (lag, bytes) as even as found, then as little changed.

Weights come with the group (``weights`` by topic); without them every partition weighs 1. Where all
weigh the same the answer is exact, as sticky's. Otherwise ``consumers.weighted_search`` finds it,
and it comes with a proven lower bound on the highest load. Partitions that weigh nothing are shared
out by count, exactly, with the others as load.

``max_skew``: how far, as a part of the bound, the highest load may stay above it: then no more is
moved than it takes to get there. ``java``: what the well-known assignor of the name ``lag`` gives
(``assignors.lag``); Apache Kafka has none.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from partage.consumers.assignment import Assignment
from partage.consumers.assignors.lag import lag
from partage.consumers.exact_assignment import assign_exactly
from partage.consumers.weighted_search import WeightedProblem, assign_by_weight, load_bound, relieve
from partage.errors import InputError
from partage.group import Group
from partage.group.model import NOBODY

Ints = npt.NDArray[np.int64]

_MOST = 2**62
"""All weights together, so that loads stay exact."""


def weighted(group: Group, mode: str, max_skew: float = 0.0) -> Assignment:
    """Who gets which partition, with the bound. Raises InputError where the weights or the skew are
    no good."""
    if not (isinstance(max_skew, (int, float)) and 0 <= max_skew < float("inf")):
        raise InputError("max_skew", f"{max_skew!r}: expected a part from 0, such as 0.05")
    if group.weight.sum(dtype=np.float64) > _MOST:
        raise InputError(group.where, f"weights: more than {_MOST} together")
    problem, rows = _problem(group)
    bound = load_bound(problem)
    if mode == "java":
        owner = lag(group, mode)
    elif len(np.unique(problem.weight)) <= 1:
        owner = _by_count(group, rows)
        bound = int(problem.loads(owner[rows]).max(initial=0))
    else:
        owner = _with_the_rest(group, rows, assign_by_weight(problem))
    if max_skew and mode == "optimal":
        limit = int(bound * (1 + max_skew))
        enough = _with_the_rest(group, rows, relieve(problem, limit))
        if problem.loads(enough[rows]).max(initial=0) <= limit:
            owner = min((enough, owner), key=lambda end: int((end != group.owner).sum()))
    return Assignment(group, owner, owner, bound=bound)


def _with_the_rest(group: Group, rows: Ints, given: Ints) -> Ints:
    """What weighs nothing, shared out by count."""
    rest = np.full(group.partitions, NOBODY, dtype=np.int64)
    rest[rows] = given
    return assign_exactly(group, rest)


def _by_count(group: Group, rows: Ints) -> Ints:
    """All that weigh something weigh the same: first these, then what weighs nothing."""
    return _with_the_rest(group, rows, assign_exactly(group, among=group.weight > 0)[rows])


def _problem(group: Group) -> tuple[WeightedProblem, Ints]:
    """What weighs something and somebody subscribes to; and its positions."""
    kinds, of_topic = np.unique(group.subscribes.T, axis=0, return_inverse=True)
    subscribed = np.asarray(group.subscribes.any(axis=0))[group.topic]
    rows = np.flatnonzero(subscribed & (group.weight > 0))
    label = of_topic.ravel()[group.topic[rows]]
    named, kind = np.unique(label, return_inverse=True)
    problem = WeightedProblem(
        weight=group.weight[rows],
        kind=kind.ravel().astype(np.int64),
        open_to=kinds[named][:, group.class_of],
        owner=group.owner[rows],
    )
    return problem, rows
