"""Exact: the fairest placement with the fewest moves.

``flow.assignment`` chooses the replica sets by stages 1 to 3 of the objective (fair loads, fewest
moves, topic spread). ``placement.disks`` repairs the result where a disk would overflow.
``brokers.leaders`` then orders the lists by stages 4 to 7, exactly for these sets. With
``no_moves`` the sets stay as they are. A budget (``brokers.budget``) changes the target loads. To
balance bytes instead of replicas, ``placement.sizes`` runs a search with bounds; to balance every
load, ``brokers.load``.
"""

from __future__ import annotations

from partage.arrays import Ints
from partage.brokers.placement.disks import fit_disks
from partage.brokers.problem import Problem
from partage.errors import CannotError
from partage.flow.assignment import MOVES


def exact(problem: Problem) -> Ints:
    """Replica sets [P, R], optimal in the order of the objective. Raises CannotError."""
    if problem.options.by_load:
        from partage.brokers.load import place_by_load

        return problem.replicas_of(place_by_load(problem))
    if problem.options.no_moves:
        return problem.cluster.replicas
    if problem.options.by_size:
        from partage.brokers.placement.sizes import balance_bytes

        return problem.replicas_of(balance_bytes(problem))
    replicas = fit_disks(problem, problem.replicas_of(problem.budgeted.slots))
    _check_limits(problem, replicas)
    return replicas


def _check_limits(problem: Problem, replicas: Ints) -> None:
    """Raises CannotError if the placement that fits the disks moves more than is allowed."""
    limits, slots = problem.options.limits, problem.broker_slot[replicas[problem.items]]
    found = "the placement found that fits the disks moves"
    if limits.moves is not None:
        moves = problem.sharing.costs(slots)[MOVES]
        if moves > limits.moves:
            raise CannotError(f"`max_moves` {limits.moves}: {found} {moves} replicas")
    if limits.bytes is not None:
        moved = problem.sharing.size_moved(slots)
        if moved > limits.bytes:
            raise CannotError(f"`max_bytes_moved` {limits.bytes} bytes: {found} {moved}")
