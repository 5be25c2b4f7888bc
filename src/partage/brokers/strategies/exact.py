"""Exact: the fairest placement with the fewest moves.

Stages 1 to 3 of the objective (fair loads, fewest moves, topic spread) choose the replica sets in
the kernel, ``flow.assignment``; disks that would overflow are then relieved by ``placing.disks``.
Who leads and who takes over, stages 4 to 7, is left to ``brokers.leaders``, which is exact for the
sets chosen here. With ``no_moves`` the sets stay as they are. A budget (``placing.budget``) changes
what is fair; bytes instead of replicas are shared out by a search with bounds (``placing.sizes``).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from partage.brokers.placing.disks import relieve_disks
from partage.brokers.placing.sizes import fill_sizes
from partage.brokers.problem import Problem
from partage.errors import CannotError
from partage.flow.assignment import MOVES


def exact(problem: Problem) -> npt.NDArray[np.int64]:
    """Replica sets [P, R], optimal in the order of the design's objective."""
    if problem.options.no_moves:
        return problem.cluster.replicas
    if problem.options.by_size:
        return problem.replicas_of(fill_sizes(problem))
    mended = relieve_disks(problem, problem.replicas_of(problem.budgeted.slots))
    _check_limits(problem, mended)
    return mended


def _check_limits(problem: Problem, replicas: npt.NDArray[np.int64]) -> None:
    """CannotError where full disks made the placement move more than is allowed."""
    limits, slots = problem.options.limits, problem.broker_slot[replicas[problem.items]]
    found = "what was found to fit the disks moves"
    if limits.moves is not None:
        moves = problem.sharing.costs(slots)[MOVES]
        if moves > limits.moves:
            raise CannotError(f"--max-moves {limits.moves}: {found} {moves} replicas")
    if limits.bytes is not None:
        moved = problem.sharing.size_moved(slots)
        if moved > limits.bytes:
            raise CannotError(f"--max-bytes-moved {limits.bytes} bytes: {found} {moved}")
