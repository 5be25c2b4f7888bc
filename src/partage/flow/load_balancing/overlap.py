"""How many items two slots share, and how many of a family a slot holds, while items move.

When a slot fails, the other holders of its items take over. So the fewer items any two slots share,
the less a survivor takes over; and a family spread over the slots keeps its own loads apart. Among
items that suit a slot alike, those come first that share little with it.
"""

from __future__ import annotations

import numpy as np

from partage.arrays import Floats, Ints
from partage.flow.assignment import AssignmentProblem

_SHARED, _FAMILY = 0.3, 0.1
"""What twice the average counts for, beside the cosine of an item's loads and those lacking."""


class Overlap:
    """``shared`` [E, E]: items on both of two slots, 0 on the diagonal; ``held`` [F, E]: items of a
    family on a slot, base included."""

    def __init__(self, problem: AssignmentProblem, slots: Ints) -> None:
        e = problem.slots
        self.family = problem.family
        self.shared = np.zeros((e, e), dtype=np.int64)
        self.held = problem.family_base.copy()
        for column in slots.T:
            item = np.flatnonzero(column >= 0)
            np.add.at(self.held, (self.family[item], column[item]), 1)
            for other in slots.T:
                both = (column >= 0) & (other >= 0) & (column != other)
                np.add.at(self.shared, (column[both], other[both]), 1)
        self.mean_shared = max(float(self.shared.sum()) / max(1, e * (e - 1)), 1.0)
        self.mean_held = np.maximum(self.held.mean(axis=1), 1.0)

    def move(self, item: int, slots: Ints, here: int, there: int) -> None:
        """Note that an item on ``slots`` [any], -1 padded, goes from here to there."""
        others = slots[(slots >= 0) & (slots != here) & (slots != there)]
        for slot, change in ((here, -1), (there, 1)):
            self.shared[slot, others] += change
            self.shared[others, slot] += change
            self.held[self.family[item], slot] += change

    def added(self, item: Ints, slots: Ints, here: int, there: int) -> Floats:
        """[...] how much items [...] on ``slots`` [..., any] would share with the slot, and how
        uneven their families would be, if they went from here to there."""
        others = (slots >= 0) & (slots != here)
        shared = np.where(others, self.shared[there][slots], 0).sum(axis=1)
        shared = shared / np.maximum(others.sum(axis=1), 1) / self.mean_shared
        family = self.family[item]
        uneven = (self.held[family, there] - self.held[family, here]) / self.mean_held[family]
        return np.asarray(_SHARED * shared + _FAMILY * uneven)
