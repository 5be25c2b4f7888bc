"""Break ties towards even sizes: among equally good assignments, one whose slots hold even bytes.

Two items of one family with the same demand, one on slot a and one on slot b of the same zone, may
swap. Every count stays the same, so load and spread do too, and only swaps that add no move are
made: typically one item stays where it was and the other moves instead. Slots far above the mean
are paired with slots far below it, and the swap is made whose size difference is closest to half
the gap, as long as the gap shrinks. This is a local search: it ends where no such swap between the
pairs tried improves the assignment, which need not be the optimum.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from partage.flow.assignment.problem import AssignmentProblem, as_rows

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

_SWEEPS = 12
_PARTNERS = 8
_SWAPS = 32
_TRIES = 20_000
_SIZE_BITS = 38


def even_out_sizes(problem: AssignmentProblem, slots: Ints) -> Ints:
    """The slots [I, any] after the swaps; unchanged where every size is 0."""
    if not problem.size.any():
        return slots
    state = _SizeSwaps(problem, slots)
    for _ in range(_SWEEPS):
        if not state.sweep():
            break
    return state.arrangement()


class _SizeSwaps:
    """The items on each slot, and the bytes on each slot.

    Items have numbers of their own here: by group, the items that may swap with each other, then by
    size. So the items of a slot, kept in ascending order, are in order of their ``key``.
    """

    def __init__(self, problem: AssignmentProblem, slots: Ints) -> None:
        self.problem = problem
        # items that may swap: same family, same demand
        alike = problem.family * len(problem.demands) + problem.item_class
        group = np.unique(alike, return_inverse=True)[1].astype(np.int64).ravel()
        # sizes small enough to share an integer with a group; tie-breaking need not be exact
        self.shift = max(0, int(problem.size.max()).bit_length() - _SIZE_BITS)
        key = (group << _SIZE_BITS + 1) + (problem.size >> self.shift)
        self.item = np.argsort(key, kind="stable")
        self.key, self.size = key[self.item], problem.size[self.item]
        number = np.empty_like(self.item)
        number[self.item] = np.arange(len(number))
        item, column = np.nonzero(slots >= 0)
        slot = slots[item, column]
        own_item, own_slot = problem.owned
        e = problem.slots
        self.on = _by_slot(number[item], slot, e)
        self.own = _by_slot(number[own_item], own_slot, e)
        self.bytes = problem.base_size.copy()
        np.add.at(self.bytes, slot, problem.size[item])
        # changes per slot, and per pair the state in which no swap was found
        self.changes = [0] * e
        self.exhausted: dict[tuple[int, int], tuple[int, int]] = {}
        self.tries = 0
        self.mark = np.zeros(problem.items, dtype=np.bool_)
        # slots closer than a thousandth of the mean are even enough
        self.enough = max(1, int(self.bytes.sum()) // (1000 * e))

    def sweep(self) -> bool:
        """Pair full slots with empty ones, zone by zone; True when a swap was made."""
        ever = False
        for zone in range(self.problem.zones):
            here = np.flatnonzero(self.problem.zone_of == zone)
            by_size = here[np.argsort(self.bytes[here], kind="stable")]
            for full in by_size[: len(here) // 2 : -1].tolist():
                empties = here[np.argsort(self.bytes[here], kind="stable")][:_PARTNERS]
                for empty in empties.tolist():
                    swaps = 0
                    while swaps < _SWAPS and self._swap(full, empty):
                        swaps += 1
                    ever |= swaps > 0
                    self.tries += 1 + swaps
                    if self.tries > _TRIES:
                        return False
        return ever

    def _swap(self, full: int, empty: int) -> bool:
        """Make the best swap between two slots, if any narrows the gap."""
        gap = int(self.bytes[full] - self.bytes[empty])
        state = (self.changes[full], self.changes[empty])
        if gap <= self.enough or full == empty or self.exhausted.get((full, empty)) == state:
            return False
        best = self._best(gap, self._candidates(full, empty), self._candidates(empty, full))
        if best is None:
            self.exhausted[full, empty] = state
            return False
        one, other = best
        self.changes[full] += 1
        self.changes[empty] += 1
        self._replace(full, one, other)
        self._replace(empty, other, one)
        shift_by = int(self.size[one] - self.size[other])
        self.bytes[full] -= shift_by
        self.bytes[empty] += shift_by
        return True

    def _best(
        self, gap: int, goes: tuple[Ints, Ints], comes: tuple[Ints, Ints]
    ) -> tuple[int, int] | None:
        """The two items whose swap leaves the least of the gap; the first by their numbers in the
        problem where several do."""
        best: tuple[int, int, int, int, int] | None = None
        half = gap // 2 >> self.shift
        for moves in (-1, 0, 1):
            # what one adds in moves the other must save
            one, other = goes[0][goes[1] == moves], comes[0][comes[1] == -moves]
            if len(one) == 0 or len(other) == 0:
                continue
            key = self.key[one]
            group = key >> _SIZE_BITS + 1
            place = np.searchsorted(
                self.key[other], np.maximum(key - half, group << _SIZE_BITS + 1)
            )
            for after, near in enumerate(
                (np.maximum(place - 1, 0), np.minimum(place, len(other) - 1))
            ):
                partner = other[near]
                shift = self.size[one] - self.size[partner]
                fits = (self.key[partner] >> _SIZE_BITS + 1 == group) & (shift > 0) & (shift < gap)
                left = np.where(fits, np.abs(gap - 2 * shift), gap)
                least = int(left.min())
                if least < gap and (best is None or least <= best[0]):
                    ties = np.flatnonzero(left == least)
                    k = ties[self.item[one[ties]].argmin()]
                    found = (least, after, int(self.item[one[k]]), int(one[k]), int(partner[k]))
                    best = found if best is None else min(best, found)
        return None if best is None else best[3:]

    def _candidates(self, here: int, there: int) -> tuple[Ints, Ints]:
        """Items on ``here`` and not on ``there``, and what going there adds in moves (-1, 0, 1)."""
        item = self.on[here]
        item = item[~self._among(item, self.on[there])]
        owned_here = self._among(item, self.own[here])
        return item, owned_here.astype(np.int64) - self._among(item, self.own[there])

    def _among(self, item: Ints, others: Ints) -> Bools:
        """Which of the items are among the others, in time that does not depend on all items."""
        self.mark[others] = True
        among: Bools = self.mark[item]
        self.mark[others] = False
        return among

    def _replace(self, slot: int, old: int, new: int) -> None:
        items = self.on[slot]
        self.on[slot] = np.sort(np.append(items[items != old], new))

    def arrangement(self) -> Ints:
        item = self.item[np.concatenate(self.on)]
        slot = np.repeat(np.arange(self.problem.slots), [len(items) for items in self.on])
        return as_rows(self.problem, item, slot)


def _by_slot(item: Ints, slot: Ints, slots: int) -> list[Ints]:
    """The items of each slot, ascending."""
    order = np.lexsort((item, slot))
    return np.split(item[order], np.searchsorted(slot[order], np.arange(1, slots)))
