"""Break ties towards even sizes: among equally good assignments, one whose slots hold even bytes.

Two items of one family with the same demand, one on slot a and one on slot b of the same zone, may
swap. Every count stays the same, so load and spread do too, and only swaps that add no move are
made: typically one item stays where it was and the other moves instead. Slots far above the mean
are paired with slots far below it, and the swap is made whose size difference is closest to half
the gap, as long as the gap shrinks. This is a local search: it ends where no such swap between the
pairs tried improves the assignment, which need not be the optimum; with many items, already where
a pass over all slots has made little of a difference.
"""

from __future__ import annotations

import numpy as np

from partage.arrays import Bools, Ints
from partage.flow.assignment.problem import AssignmentProblem, as_rows
from partage.flow.sorting import numbered, stable_order

_SWEEPS = 12
_PARTNERS = 8
_SWAPS = 32
_TRIES = 20_000
_TOGETHER = 10_000
"""From this many items on, swaps are chosen several at a time, not one by one."""
_LITTLE = 0.1
"""From then on, a sweep that lowers the variance of the bytes by less than this is the last."""
_SIZE_BITS = 38


def even_out_sizes(problem: AssignmentProblem, slots: Ints) -> Ints:
    """The slots [I, any] after the swaps; unchanged where every size is 0."""
    if not problem.size.any():
        return slots
    state = _SizeSwaps(problem, slots)
    for _ in range(_SWEEPS):
        before = float(state.bytes.var())
        little = _LITTLE * before if state.together else 0
        if not state.sweep() or before - float(state.bytes.var()) < little:
            break
    return state.arrangement()


class _SizeSwaps:
    """The items on each slot, those that came to it and those that left it, and its bytes.

    Items have numbers of their own here: by group, the items that may swap with each other, then by
    size. So the items of a slot, kept in ascending order, are in order of their ``key``.
    """

    def __init__(self, problem: AssignmentProblem, slots: Ints) -> None:
        self.problem = problem
        # items that may swap: same family, same demand
        alike = problem.family * len(problem.demands) + problem.item_class
        group = numbered(alike)[2]
        # sizes small enough to share an integer with a group; tie-breaking need not be exact
        self.shift = max(0, int(problem.size.max()).bit_length() - _SIZE_BITS)
        key = (group << _SIZE_BITS + 1) + (problem.size >> self.shift)
        self.item = stable_order(key)
        self.key, self.size = key[self.item], problem.size[self.item]
        number = np.empty_like(self.item)
        number[self.item] = np.arange(len(number))
        item, column = np.nonzero(slots >= 0)
        slot = slots[item, column]
        own_item, own_slot = problem.owned
        e = problem.slots
        self.on = _by_slot(number[item], slot, e)
        self.own = _by_slot(number[own_item], own_slot, e)
        self.came, self.left = list(self.on), list(self.own)
        for here, items in enumerate(self.on):
            self._put(here, items)
        self.bytes = problem.base_size.copy()
        np.add.at(self.bytes, slot, problem.size[item])
        # changes per slot, and per pair the state in which no swap was found
        self.changes = [0] * e
        self.exhausted: dict[tuple[int, int], tuple[int, int]] = {}
        self.tries = 0
        self.together = problem.items >= _TOGETHER
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
                    swaps = self._even_out(full, empty)
                    ever |= swaps > 0
                    self.tries += 1 + swaps
                    if self.tries > _TRIES:
                        return False
        return ever

    def _even_out(self, full: int, empty: int) -> int:
        """Make swaps between two slots, the best ones first, as long as they narrow the gap;
        returns how many."""
        swaps = 0
        while swaps < _SWAPS:
            gap = int(self.bytes[full] - self.bytes[empty])
            state = (self.changes[full], self.changes[empty])
            if gap <= self.enough or full == empty or self.exhausted.get((full, empty)) == state:
                break
            one, other, shift, rank = self._pairs(gap, full, empty)
            most = _SWAPS - swaps if self.together else 1
            made = _narrowing(gap, self.enough, shift, one, other, rank, most)
            if not made:
                self.exhausted[full, empty] = state
                break
            swaps += len(made)
            self.changes[full] += len(made)
            self.changes[empty] += len(made)
            left, right = one[made], other[made]
            self._replace(full, left, right)
            self._replace(empty, right, left)
            shift_by = int(shift[made].sum())
            self.bytes[full] -= shift_by
            self.bytes[empty] += shift_by
        return swaps

    def _pairs(self, gap: int, full: int, empty: int) -> tuple[Ints, Ints, Ints, Ints]:
        """Pairs of items that may swap, those nearest to closing the gap for each item that goes;
        the bytes that a swap shifts, and the rank among pairs that shift as many."""
        half = gap // 2 >> self.shift
        found: list[tuple[Ints, Ints, Ints]] = []
        goes, comes = self._going(full, empty), self._going(empty, full)
        swaps = [(goes[1], comes[1])]
        # what one adds in moves the other must save
        if len(goes[0]):
            swaps.append((goes[0], self._staying(empty, full)))
        if len(comes[0]):
            swaps.append((self._staying(full, empty), comes[0]))
        for one, other in swaps:
            if len(one) == 0 or len(other) == 0:
                continue
            key = self.key[one]
            group = key >> _SIZE_BITS + 1
            place = np.searchsorted(
                self.key[other], np.maximum(key - half, group << _SIZE_BITS + 1)
            )
            nearest = np.maximum(place - 1, 0), np.minimum(place, len(other) - 1)
            for side, near in enumerate(nearest):
                partner = other[near]
                fits = self.key[partner] >> _SIZE_BITS + 1 == group
                rank = side * self.problem.items + self.item[one[fits]]
                found.append((one[fits], partner[fits], rank))
        if not found:
            nothing = np.zeros(0, dtype=np.int64)
            return nothing, nothing, nothing, nothing
        one, other, rank = (np.concatenate(part) for part in zip(*found, strict=True))
        shift = self.size[one] - self.size[other]
        fits = (shift > 0) & (shift < gap)
        return one[fits], other[fits], shift[fits], rank[fits]

    def _going(self, here: int, there: int) -> tuple[Ints, Ints]:
        """Items on one slot that may go to another: those whose move is saved by that, since they
        hold the other today, and those for which it changes no count of moves."""
        came, left = self.came[here], self.left[there]
        back = _among(came, left)
        fresh = came[~back & ~_among(came, self.on[there])]
        # held today on both
        both = left[_among(left, self.on[here]) & ~_among(left, came)]
        return came[back], np.sort(np.concatenate((fresh, both)))

    def _staying(self, here: int, there: int) -> Ints:
        """Items on one slot, held there today, for which going to another would be a move."""
        items = self.on[here]
        others = self.came[here], self.on[there], self.left[there]
        changes = np.any([_among(items, other) for other in others], axis=0)
        return np.asarray(items[~changes])

    def _replace(self, slot: int, old: Ints, new: Ints) -> None:
        items = self.on[slot]
        kept = np.delete(items, np.searchsorted(items, old))
        new = np.sort(new)
        self._put(slot, np.insert(kept, np.searchsorted(kept, new), new))

    def _put(self, slot: int, items: Ints) -> None:
        own = self.own[slot]
        self.on[slot] = items
        self.came[slot], self.left[slot] = items[~_among(items, own)], own[~_among(own, items)]

    def arrangement(self) -> Ints:
        item = self.item[np.concatenate(self.on)]
        slot = np.repeat(np.arange(self.problem.slots), [len(items) for items in self.on])
        return as_rows(self.problem, item, slot)


def _narrowing(
    gap: int, enough: int, shift: Ints, one: Ints, other: Ints, rank: Ints, most: int
) -> list[int]:
    """Up to ``most`` pairs to swap together, each item at most once: always the one that leaves the
    least of the gap, then the first by ``rank``, until what is left is ``enough``."""
    chosen: list[int] = []
    free = np.ones(len(shift), dtype=np.bool_)
    while gap > enough and len(chosen) < most:
        left = np.where(free, np.abs(gap - 2 * shift), gap)
        least = int(left.min(initial=gap))
        if least >= gap:
            break
        ties = np.flatnonzero(left == least)
        k = int(ties[rank[ties].argmin()])
        chosen.append(k)
        gap -= 2 * int(shift[k])
        free &= (one != one[k]) & (other != other[k])
    return chosen


def _among(values: Ints, ascending: Ints) -> Bools:
    """[n] which of the values are among others, which ascend."""
    if len(ascending) == 0 or len(values) == 0:
        return np.zeros(len(values), dtype=np.bool_)
    place = ascending.searchsorted(values)
    return np.asarray(ascending.take(place, mode="clip") == values)


def _by_slot(item: Ints, slot: Ints, slots: int) -> list[Ints]:
    """The items of each slot, ascending."""
    items = int(item.max(initial=0)) + 1
    slot, item = np.divmod(np.sort(slot * items + item), items)
    return np.split(item, np.searchsorted(slot, np.arange(1, slots)))
