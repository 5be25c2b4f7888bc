"""Fit a placement into the disks: replace it or repair it where a disk would overflow.

The fairest placement counts replicas; where sizes differ much, a disk may still overflow. Packing
bytes is NP-hard. A small problem goes to an integer program (HiGHS), which finds the fairest loads,
then the fewest moves, that the disks allow, or proves that nothing fits. A larger one, or one that
runs out of time, is repaired by local search: an overfull broker exchanges one of its replicas with
a smaller one of another broker, which changes no count, or gives one away if no exchange helps. A
step keeps the rack rule and overfills no other disk; the step with the fewest additional moves
comes first, then the one that reduces the overflow most.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from partage.brokers.placement.integer_program import (
    MAX_VARIABLES,
    NothingFitsError,
    solve_within_disks,
)
from partage.brokers.problem import Problem
from partage.errors import CannotError
from partage.flow.assignment import LOAD, MOVES

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

_MAX_STEPS = 10_000


def disk_overflow(problem: Problem, replicas: Ints) -> Ints:
    """[B] bytes above capacity on each usable broker; 0 where the disk is unknown."""
    row, column = np.nonzero(replicas >= 0)
    size = np.maximum(problem.cluster.size_bytes, 0)
    used = np.zeros(len(problem.usable), dtype=np.int64)
    np.add.at(used, replicas[row, column], size[row])
    disk = problem.cluster.disk_bytes
    return np.where((disk >= 0) & problem.usable, np.maximum(used - disk, 0), 0)


def fit_disks(problem: Problem, replicas: Ints) -> Ints:
    """Replica sets [P, R] in which no known disk overflows; unchanged if none did.

    Raises CannotError, with the disk.
    """
    if not disk_overflow(problem, replicas).any():
        return replicas
    # the program finds the fairest loads of all, not those that a budget aims at
    if (
        problem.budgeted.kind is None
        and problem.sharing.items * problem.sharing.slots <= MAX_VARIABLES
    ):
        disk = problem.cluster.disk_bytes[problem.slot_brokers]
        held = problem.broker_slot[replicas]
        fairest = np.bincount(held[held >= 0], minlength=problem.sharing.slots)
        try:
            slots = solve_within_disks(problem.sharing, disk, (LOAD, MOVES), fairest)
        except NothingFitsError:
            raise _cannot(problem, replicas, "proven: no placement fits all disks") from None
        if slots is not None:
            made = problem.replicas_of(slots)
            if not disk_overflow(problem, made).any():
                return made
    return _by_exchanges(problem, replicas)


def _cannot(problem: Problem, replicas: Ints, why: str) -> CannotError:
    """The error names the disk that overflows most."""
    over = disk_overflow(problem, replicas)
    full = int(over.argmax())
    cluster = problem.cluster
    return CannotError(
        f"broker {cluster.broker_ids[full]}: its disk of {cluster.disk_bytes[full]} bytes "
        f"overflows by {over[full]} ({why}): add disk or brokers"
    )


def _by_exchanges(problem: Problem, replicas: Ints) -> Ints:
    """The sets repaired step by step. Raises CannotError, with the disk, when no step helps."""
    repair = _Repair(problem, replicas)
    for _ in range(_MAX_STEPS):
        over = np.where(problem.usable, repair.used - repair.disk, 0)
        full = int(over.argmax())
        if over[full] <= 0:
            return repair.sets
        step = repair.best_step(full)
        if step is None:
            break
        repair.apply(step)
    raise _cannot(problem, repair.sets, "no exchange of replicas was found that helps")


Step = list[tuple[int, int, int]]
"""(row, from, to): one relocation, or the two of an exchange."""


class _Repair:
    """Sets under repair.

    - ``sets`` [P, R]; ``holds``, ``owned`` [B, P]: partitions with a replica now, and originally
    - ``on``: the chosen partitions on each broker, smallest first, as far as they were asked for
    - ``used``, ``disk`` [B]: bytes held, and the capacity; ``in_rack`` [P, racks]: replicas
    - ``least``, ``most`` [P]: replicas that a rack must have, and may have
    """

    def __init__(self, problem: Problem, replicas: Ints) -> None:
        cluster = problem.cluster
        self.problem, self.sets = problem, replicas.copy()
        self.size = np.maximum(cluster.size_bytes, 0)
        known = cluster.disk_bytes >= 0
        self.disk = np.where(known, cluster.disk_bytes, np.iinfo(np.int64).max)
        brokers, partitions = len(problem.usable), cluster.partitions
        row, column = np.nonzero(replicas >= 0)
        self.holds = np.zeros((brokers, partitions), dtype=np.bool_)
        self.holds[replicas[row, column], row] = True
        self.on: dict[int, Ints] = {}
        self.used = np.zeros(brokers, dtype=np.int64)
        np.add.at(self.used, replicas[row, column], self.size[row])
        self.owned = np.ascontiguousarray(cluster.holds().T)
        self.in_rack = np.zeros((partitions, len(cluster.rack_names) or 1), dtype=np.int64)
        np.add.at(self.in_rack, (row, cluster.rack[replicas[row, column]]), 1)
        self.least = np.zeros(partitions, dtype=np.int64)
        self.most = np.zeros(partitions, dtype=np.int64)
        self.least[problem.items], self.most[problem.items] = problem.sharing.item_bounds

    def apply(self, step: Step) -> None:
        """Make the moves of a step."""
        rack = self.problem.cluster.rack
        for row, old, new in step:
            self.sets[row, int(np.flatnonzero(self.sets[row] == old)[0])] = new
            self.holds[old, row], self.holds[new, row] = False, True
            for broker in (old, new):
                self.on.pop(broker, None)
            self.used[old] -= self.size[row]
            self.used[new] += self.size[row]
            self.in_rack[row, rack[old]] -= 1
            self.in_rack[row, rack[new]] += 1

    def best_step(self, full: int) -> Step | None:
        """The step off ``full`` that adds the fewest moves, then relieves most. Relocations, which
        change counts, only if no exchange helps."""
        problem, size = self.problem, self.size
        over = int(self.used[full] - self.disk[full])
        best: tuple[tuple[int, int, int, int], Step] | None = None
        for other in np.flatnonzero(problem.usable).tolist():
            if other == full:
                continue
            leave = self._may_go(full, other)
            leave = leave[size[leave] > 0]
            if len(leave) == 0:
                continue
            free = int(self.disk[other] - self.used[other])
            cost = self._added(leave, full, other)
            for key, step in self._exchanges(leave, cost, full, other, free, over):
                if best is None or key < best[0]:
                    best = (key, step)
            fit = size[leave] <= free
            if fit.any():
                order = np.lexsort((leave[fit], -np.minimum(size[leave[fit]], over), cost[fit]))
                row, added = int(leave[fit][order[0]]), int(cost[fit][order[0]])
                key = (1, added, -min(int(size[row]), over), row)
                if best is None or key < best[0]:
                    best = (key, [(row, full, other)])
        return None if best is None else best[1]

    def _exchanges(
        self, leave: Ints, cost: Ints, full: int, other: int, free: int, over: int
    ) -> Iterator[tuple[tuple[int, int, int, int], Step]]:
        """The best exchange for each number of moves that the replica coming back adds."""
        size = self.size
        come = self._may_go(other, full)
        back = self._added(come, other, full)
        for added in (-1, 0, 1):
            some = come[back == added]
            # the smallest that still leaves the other disk within its capacity relieves most
            place = np.searchsorted(size[some], size[leave] - min(free, 2**60))
            real = place < len(some)
            partner = some[np.minimum(place, len(some) - 1)] if len(some) else leave
            relief = np.minimum(size[leave] - size[partner], over)
            real &= relief > 0
            if not real.any():
                continue
            rows, with_, gain = leave[real], partner[real], relief[real]
            k = int(np.lexsort((with_, rows, -gain, cost[real]))[0])
            key = (0, int(cost[real][k]) + added, -int(gain[k]), int(rows[k]))
            yield key, [(int(rows[k]), full, other), (int(with_[k]), other, full)]

    def _may_go(self, here: int, there: int) -> Ints:
        """Chosen rows on ``here`` and not on ``there`` that may move there by the rack rule,
        smallest first."""
        problem = self.problem
        if here not in self.on:
            held = np.flatnonzero(self.holds[here] & problem.chosen)
            self.on[here] = held[np.argsort(self.size[held], kind="stable")]
        rows = self.on[here]
        rows = rows[~self.holds[there, rows]]
        of, to = problem.cluster.rack[here], problem.cluster.rack[there]
        if not problem.cluster.rack_names or of == to:
            return np.asarray(rows)
        fits = self.in_rack[rows, to] < self.most[rows]
        return np.asarray(rows[fits & (self.in_rack[rows, of] > self.least[rows])])

    def _added(self, rows: Ints, here: int, there: int) -> Ints:
        """Moves that going from ``here`` to ``there`` adds to the plan: -1, 0 or 1."""
        gone = self.owned[here, rows].astype(np.int64)
        return np.asarray(gone - self.owned[there, rows].astype(np.int64))
