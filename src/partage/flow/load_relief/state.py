"""The problem of relieving slots, and what an assignment costs.

An item is on ``demand`` slots and led by one of them. Each slot that holds it carries the item's
loads of holding, the one that leads it its loads of leading besides. K loads: those of holding
first, then those of leading. Each has an upper limit per slot.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from partage.arrays import Bools, Floats, Ints
from partage.flow.assignment import AssignmentProblem, loads_of

_NO_LIMIT = 2**62


class ReliefProblem(Struct, frozen=True, eq=False, dict=True):
    """I items, E slots, H loads of holding, L loads of leading.

    - ``held`` [H, I], ``led`` [L, I]: what an item adds; ``base``, ``high``, ``fair`` [K, E]: what
      stays on a slot, its limit, and the load (at least 1) in which distances are measured
    - ``first`` [K]: the loads whose limits count before those of the others
    - ``movable`` [I]: items whose slots may change; the leader of every item may
    - ``today`` [I]: the leading slots, -1 where that slot is not usable
    """

    sharing: AssignmentProblem
    held: Ints
    led: Ints
    base: Ints
    high: Ints
    fair: Ints
    first: Bools
    movable: Bools
    today: Ints

    @cached_property
    def own(self) -> Bools:
        """[I, E] the slots that hold each item today."""
        found = np.zeros((self.sharing.items, self.sharing.slots), dtype=np.bool_)
        found[self.sharing.owned] = True
        return found

    @cached_property
    def unit(self) -> Floats:
        """[K] the mean fair load."""
        return np.asarray(np.maximum(self.fair.mean(axis=1), 1.0))

    @cached_property
    def each(self) -> tuple[Floats, Floats]:
        """[H, I] and [L, I] the loads of items in mean fair loads."""
        held = len(self.held)
        unit = self.unit[:, None]
        return np.asarray(self.held / unit[:held]), np.asarray(self.led / unit[held:])

    @cached_property
    def barred(self) -> dict[int, Bools]:
        """By item, the slots [E] whose limits its loads of holding exceed by themselves, and those
        [E] whose limits they exceed with its loads of leading: [2, E]. Only items with one, and
        only limits that count first: the others would keep an item on a slot that it must leave."""
        held = len(self.held)
        space = np.where(self.first[:, None], self.high - self.base, _NO_LIMIT)
        least = space.min(axis=1)
        both = np.concatenate((self.held, self.led))
        found = {}
        for item in np.flatnonzero((both > least[:, None]).any(axis=0)).tolist():
            over = both[:, item, None] > space
            found[item] = np.stack((over[:held].any(axis=0), over[held:].any(axis=0)))
        return found

    def loads(self, rows: Ints) -> Ints:
        """[K, E] the loads of an assignment [I, any], leader first, -1 padded."""
        held = len(self.held)
        return np.concatenate(
            (
                loads_of(rows, self.held, self.base[:held]),
                loads_of(rows[:, :1], self.led, self.base[held:]),
            )
        )

    def over(self, rows: Ints) -> Ints:
        """[K, E] how far the loads are above their limits."""
        return np.asarray(np.maximum(self.loads(rows) - self.high, 0))

    def new(self, rows: Ints) -> Ints:
        """[I] the slots of each item that do not hold it today."""
        item = np.arange(len(rows))[:, None]
        return np.asarray(((rows >= 0) & ~self.own[item, rows]).sum(axis=1))

    def worth(self, rows: Ints) -> tuple[float, float, int, int, int]:
        """What is compared, the smallest first: the distance from the limits that count first, from
        the others, bytes, moves, and changes of leader."""
        apart = (self.over(rows) / self.unit[:, None]).sum(axis=1)
        new = self.new(rows)
        return (
            float(apart[self.first].sum()),
            float(apart[~self.first].sum()),
            sum((self.sharing.move_size * new).tolist()),
            int(new.sum()),
            int((rows[:, 0] != self.today).sum()),
        )

    def without_moves(self) -> ReliefProblem:
        """The same, where only leaders may change."""
        return replace(self, movable=np.zeros_like(self.movable))
