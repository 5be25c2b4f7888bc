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
    """The items on each slot, and the bytes on each slot."""

    def __init__(self, problem: AssignmentProblem, slots: Ints) -> None:
        self.problem = problem
        item, column = np.nonzero(slots >= 0)
        slot = slots[item, column]
        own_item, own_slot = problem.owned
        e = problem.slots
        self.on = _by_slot(item, slot, e)
        self.own = _by_slot(own_item, own_slot, e)
        self.bytes = problem.base_size.copy()
        np.add.at(self.bytes, slot, problem.size[item])
        # items that may swap: same family, same demand
        alike = problem.family * len(problem.demands) + problem.item_class
        self.group = np.unique(alike, return_inverse=True)[1].astype(np.int64)
        # sizes small enough to share an integer with a group; tie-breaking need not be exact
        shift = max(0, int(problem.size.max()).bit_length() - _SIZE_BITS)
        self.rank = problem.size >> shift
        self.shift = shift
        self.tries = 0
        # slots closer than a thousandth of the mean are even enough
        self.enough = max(1, int(self.bytes.sum()) // (1000 * e))
        # changes per slot, and per pair the state in which no swap was found
        self.changes = [0] * e
        self.exhausted: dict[tuple[int, int], tuple[int, int]] = {}

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
        size = self.problem.size
        goes = self._candidates(full, empty)
        comes = self._candidates(empty, full)
        if len(goes[0]) == 0 or len(comes[0]) == 0:
            self.exhausted[full, empty] = state
            return False
        # what one adds in moves the other must save: +1 pairs with -1, 0 with 0
        key_goes = ((self.group[goes[0]] * 3 + goes[1] + 1) << (_SIZE_BITS + 1)) + np.clip(
            self.rank[goes[0]] - (gap // 2 >> self.shift), 0, None
        )
        key_comes = ((self.group[comes[0]] * 3 - comes[1] + 1) << (_SIZE_BITS + 1)) + self.rank[
            comes[0]
        ]
        order = np.argsort(key_comes, kind="stable")
        place = np.searchsorted(key_comes[order], key_goes)
        best: tuple[int, int, int] | None = None
        for near in (np.maximum(place - 1, 0), np.minimum(place, len(order) - 1)):
            partner = order[near]
            fits = (key_comes[partner] >> (_SIZE_BITS + 1)) == (key_goes >> (_SIZE_BITS + 1))
            shift = size[goes[0]] - size[comes[0][partner]]
            left = np.where(fits & (shift > 0) & (shift < gap), np.abs(gap - 2 * shift), gap)
            k = int(left.argmin())
            if left[k] < gap and (best is None or left[k] < best[0]):
                best = (int(left[k]), int(goes[0][k]), int(comes[0][partner[k]]))
        if best is None:
            self.exhausted[full, empty] = state
            return False
        _, one, other = best
        self.changes[full] += 1
        self.changes[empty] += 1
        self._replace(full, one, other)
        self._replace(empty, other, one)
        shift_by = int(size[one] - size[other])
        self.bytes[full] -= shift_by
        self.bytes[empty] += shift_by
        return True

    def _candidates(self, here: int, there: int) -> tuple[Ints, Ints]:
        """Items on ``here`` and not on ``there``, and what going there adds in moves (-1, 0, 1)."""
        mark = np.zeros(self.problem.items, dtype=np.bool_)
        mark[self.on[there]] = True
        item = self.on[here][~mark[self.on[here]]]
        owned_here = np.zeros_like(mark)
        owned_here[self.own[here]] = True
        owned_there = np.zeros_like(mark)
        owned_there[self.own[there]] = True
        return item, owned_here[item].astype(np.int64) - owned_there[item]

    def _replace(self, slot: int, old: int, new: int) -> None:
        items = self.on[slot]
        self.on[slot] = np.sort(np.append(items[items != old], new))

    def arrangement(self) -> Ints:
        item = np.concatenate(self.on)
        slot = np.repeat(np.arange(self.problem.slots), [len(items) for items in self.on])
        return as_rows(self.problem, item, slot)


def _by_slot(item: Ints, slot: Ints, slots: int) -> list[Ints]:
    """The items of each slot, ascending; they come by item."""
    order = np.argsort(slot, kind="stable")
    return np.split(item[order], np.searchsorted(slot[order], np.arange(1, slots)))
