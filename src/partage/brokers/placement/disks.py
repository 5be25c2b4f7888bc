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

import numpy as np

from partage.arrays import Ints, sums_on
from partage.brokers.problem import Problem
from partage.errors import CannotError
from partage.flow.assignment import LOAD, MOVES
from partage.units import size

_MAX_STEPS = 10_000


def disk_overflow(problem: Problem, replicas: Ints) -> Ints:
    """[B] bytes above capacity on each usable broker; 0 where the disk is unknown."""
    size = np.maximum(problem.cluster.size_bytes, 0)
    used = sums_on(replicas, size, len(problem.usable))
    disk = problem.cluster.disk_bytes
    return np.where((disk >= 0) & problem.usable, np.maximum(used - disk, 0), 0)


def fit_disks(problem: Problem, replicas: Ints) -> Ints:
    """Replica sets [P, R] in which no known disk overflows; unchanged if none did.

    Raises CannotError, with the disk.
    """
    if not disk_overflow(problem, replicas).any():
        return replicas
    from partage.brokers.placement.integer_program import (
        MAX_VARIABLES,
        NothingFitsError,
        solve_within_disks,
    )

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
    """The error names the disk that overflows most, and the rack rule where that is the cause."""
    from partage.brokers.placement.rack_disks import too_small_rack

    over = disk_overflow(problem, replicas)
    full = int(over.argmax())
    cluster = problem.cluster
    disk, excess = size(int(cluster.disk_bytes[full])), size(int(over[full]))
    rack = too_small_rack(problem)
    why, where = (f"proven: {rack.why}", f" to rack {rack.name}") if rack else (why, "")
    return CannotError(
        f"broker {cluster.broker_ids[full]}: its disk of {disk} overflows by {excess} ({why}): "
        f"add disk or brokers{where}"
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
        self.used = sums_on(replicas, self.size, brokers)
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
        over = int(self.used[full] - self.disk[full])
        free = np.minimum(self.disk - self.used, over)
        others = np.flatnonzero(self.problem.usable & (np.arange(len(free)) != full))
        # an exchange relieves at most what is free there
        others = others[np.argsort(-free[others], kind="stable")]
        pairs = [_Pair(self, full, other) for other in others.tolist()]
        for added in range(-2, 3):
            best: tuple[tuple[int, ...], Step] | None = None
            for pair in pairs:
                if best is not None and free[pair.other] < -best[0][0]:
                    break
                for back in range(max(-1, added - 1), min(1, added + 1) + 1):
                    found = pair.exchange(added - back, back, over)
                    if found is not None and (best is None or found[0] < best[0]):
                        best = found
            if best is not None:
                return best[1]
        relocations = (pair.relocation(over) for pair in pairs)
        return min((found for found in relocations if found), default=(None, None))[1]

    def may_go(self, here: int, there: int) -> Ints:
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

    def added(self, rows: Ints, here: int, there: int) -> Ints:
        """Moves that going from ``here`` to ``there`` adds to the plan: -1, 0 or 1."""
        gone = self.owned[here, rows].astype(np.int64)
        return np.asarray(gone - self.owned[there, rows].astype(np.int64))


class _Pair:
    """The replicas that an overfull broker and another may exchange, by the moves that each adds:
    ``leave``, ``come`` for -1, 0 and 1 the rows, smallest first. A key is lower for a better step:
    what it relieves, negative, then row, broker and moves."""

    def __init__(self, repair: _Repair, full: int, other: int) -> None:
        self.repair, self.full, self.other = repair, full, other
        leave, come = repair.may_go(full, other), repair.may_go(other, full)
        leave = leave[repair.size[leave] > 0]
        cost, back = repair.added(leave, full, other), repair.added(come, other, full)
        self.leave = {moves: leave[cost == moves] for moves in (-1, 0, 1)}
        self.come = {moves: come[back == moves] for moves in (-1, 0, 1)}

    @property
    def free(self) -> int:
        """The bytes that the other disk has left."""
        return int(self.repair.disk[self.other] - self.repair.used[self.other])

    def exchange(self, cost: int, back: int, over: int) -> tuple[tuple[int, ...], Step] | None:
        """The best exchange of replicas that add so many moves, with its key."""
        leave, come, size = self.leave[cost], self.come[back], self.repair.size
        if len(leave) == 0 or len(come) == 0:
            return None
        # the smallest that still leaves the other disk within its capacity relieves most
        place = np.searchsorted(size[come], size[leave] - min(self.free, 2**60))
        partner = come[np.minimum(place, len(come) - 1)]
        relief = np.where(place < len(come), np.minimum(size[leave] - size[partner], over), 0)
        gain = int(relief.max())
        if gain <= 0:
            return None
        most = np.flatnonzero(relief == gain)
        k = most[int(leave[most].argmin())]
        row, with_ = int(leave[k]), int(partner[k])
        key = (-gain, row, self.other, back)
        return key, [(row, self.full, self.other), (with_, self.other, self.full)]

    def relocation(self, over: int) -> tuple[tuple[int, ...], Step] | None:
        """The best relocation, with its key, in which the moves that it adds come first."""
        size = self.repair.size
        for cost, leave in self.leave.items():
            fit = leave[size[leave] <= self.free]
            if len(fit):
                relief = np.minimum(size[fit], over)
                row = int(fit[relief == relief.max()].min())
                key = (cost, -int(relief.max()), row, self.other)
                return key, [(row, self.full, self.other)]
        return None
