"""Relieve slots: changes of leaders first, and moves where these are not enough.

From the assignment of today, a linear program chooses among the changes found so far; its prices
find more, until none pays. An integer program then chooses among those that are close to paying.
The result replaces what it started from if it is better, and the search starts again from there:
so an item may change more than one of its slots. An assignment within all limits stays as it is.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from partage.arrays import Ints
from partage.flow.load_relief.changes import Changes, every_change, paying_changes
from partage.flow.load_relief.program import Program, Solution
from partage.flow.load_relief.state import ReliefProblem

_ROUNDS, _AT_ONCE = 60, 4_000
_CHOICES = 400
"""Changes that the integer program chooses from, besides those of the linear one."""

_MOST = 2_000
"""Changes up to which it chooses from all there are."""

_NODES, _THOROUGH = 100, 1_000
"""Its nodes; and where it chooses from all changes."""

_ATTEMPTS, _MORE = 3, 3
"""How often it chooses while limits are exceeded, each time from so many times the changes."""

_WITHIN = 1e-5
"""What counts as within the limits, in mean fair loads."""

_BITS, _FINEST = 61, 20
"""Prices are multiples of 2**-20 of a byte's, or coarser: sums of them must fit into these bits."""


def relieve_loads(
    problem: ReliefProblem, rows: Ints, report: Callable[[str], None] = lambda _: None
) -> Ints:
    """[I, R] slots, the leader first, with all loads within the limits if that is found, else as
    close as is found; ``rows``: where to start, slots that keep the rules."""
    if not problem.over(rows).any():
        return rows
    report("searching for other leaders")
    alone = problem.without_moves()
    changes, solution = _relaxed(alone, rows)
    found = _searched(alone, rows, changes, solution) if solution.over < _WITHIN else rows
    if problem.movable.any() and problem.over(found).any():
        report("searching for replicas to move")
        found = _searched(problem, rows, *_relaxed(problem, rows))
    elif problem.over(found).any():
        found = _searched(alone, rows, changes, solution)
    return found


def _searched(problem: ReliefProblem, rows: Ints, changes: Changes, solution: Solution) -> Ints:
    """The best assignment found, from changes and the solution of the linear program. While it is
    above a limit, the search goes on from there, or with more changes to choose from."""
    best, worth = rows, problem.worth(rows)
    for attempt in range(_ATTEMPTS):
        some, nodes = every_change(problem, best, _MOST), _THOROUGH
        if some is None:
            nodes = _NODES
            near = np.argsort(solution.cost, kind="stable")[: _CHOICES * _MORE**attempt]
            some = changes.at(np.union1d(np.flatnonzero(solution.part > 0), near))
        found = _changed(best, some.at(Program(problem, best, some).whole(nodes)))
        closer = problem.worth(found)
        if closer < worth:
            best, worth = found, closer
            if not problem.over(best).any():
                break
            changes, solution = _relaxed(problem, best)
        elif nodes == _THOROUGH:
            break
    return best


def _relaxed(problem: ReliefProblem, rows: Ints) -> tuple[Changes, Solution]:
    """The changes found, and the solution of their linear program."""
    width = rows.shape[1]
    changes = Changes.joined(width, [])
    for _ in range(_ROUNDS):
        solution = Program(problem, rows, changes).relaxed()
        more, gain = paying_changes(problem, rows, solution.price, solution.rent)
        if not len(more):
            break
        best = np.sort(np.argsort(-gain, kind="stable")[:_AT_ONCE])
        changes = Changes.joined(width, [changes, more.at(best)])
    return changes, solution


def _changed(rows: Ints, changes: Changes) -> Ints:
    """The assignment after changes, one of an item at most."""
    found = rows.copy()
    found[changes.item] = changes.rows
    return found


def limit_prices(problem: ReliefProblem, rows: Ints) -> tuple[Ints, int]:
    """(price [K, E], scale): whole prices of the loads, where a byte counts ``scale``."""
    _, solution = _relaxed(problem, rows)
    size = problem.sharing.move_size
    byte = max(float(size.mean()), 1.0)
    exact = solution.price * byte / problem.unit[:, None]
    most = np.concatenate((problem.held, problem.led)).max(axis=1, initial=0)
    # what an item pays on all its slots must fit into 64 bits
    largest = float(size.max(initial=1)) + float((exact.max(axis=1) * most).sum())
    bits = _BITS - int(np.ceil(np.log2(max(1.0, largest) * (rows.shape[1] + 1))))
    if bits < 0:
        return np.zeros_like(problem.high), 1
    scale = 2 ** min(_FINEST, bits)
    return np.round(exact * scale).astype(np.int64), scale
