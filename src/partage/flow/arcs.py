"""The arcs of a min-cost flow network, whose costs are linear or the squares of their flow.

The cost of a flow is ``cost * flow + weight * ((base + flow)**2 - base**2)``, so unit n costs
``cost + weight * (2 * (base + n) - 1)``. Only a *window* around an estimate has these costs;
outside, the nearest unit inside continues them, which never overestimates a change. So an optimum
that is inside every window is an optimum of the true costs, and few different costs remain.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Arcs:
    """All arrays [A]. ``low``, ``high``: the window, in units of flow; a linear cost has ``weight``
    0, and ``capacity`` as both ends of its window."""

    tail: Ints
    head: Ints
    capacity: Ints
    cost: Ints
    weight: Ints
    base: Ints
    low: Ints
    high: Ints

    @classmethod
    def linear(cls, tail: Ints, head: Ints, capacity: Ints, cost: Ints) -> Arcs:
        nothing = np.zeros_like(cost)
        return cls(tail, head, capacity, cost, nothing, nothing, capacity, capacity)

    def at(self, some: Ints) -> Arcs:
        """Some of the arcs."""
        part = Arcs.linear(
            self.tail.take(some),
            self.head.take(some),
            self.capacity.take(some),
            self.cost.take(some),
        )
        if not self.convex:
            return part
        return replace(
            part,
            weight=self.weight.take(some),
            base=self.base.take(some),
            low=self.low.take(some),
            high=self.high.take(some),
        )

    @cached_property
    def convex(self) -> bool:
        """Whether some cost is not linear."""
        return bool(self.weight.any())

    def price(self, unit: Ints) -> Ints:
        """[A] the cost of one unit of each arc, counted from 1."""
        if not self.convex:
            return self.cost
        place = np.clip(unit, self.low, self.high + 1)
        return self.cost + self.weight * (2 * (self.base + place) - 1)

    def next_unit(self, flow: Ints) -> tuple[Ints, Ints]:
        """[A] the cost of one more unit, and how many units have it; 0 where the arc is full."""
        if not self.convex:
            return self.cost, self.capacity - flow
        same = np.where(flow < self.low, self.low - flow, 1)
        count = np.where(flow < self.high, same, self.capacity - flow)
        return self.price(flow + 1), count

    def last_unit(self, flow: Ints) -> tuple[Ints, Ints]:
        """[A] the cost of the last unit, and how many units have it; 0 where there is none."""
        if not self.convex:
            return self.cost, flow
        same = np.where(flow > self.high, flow - self.high, 1)
        return self.price(flow), np.where(flow > self.low, same, flow)

    def cheaper(self, than: Ints) -> Ints:
        """[A] how many units cost less ``than`` [A], without windows."""
        extra = than - self.cost
        if not self.convex:
            return np.where(extra > 0, self.capacity, 0)
        weight = np.maximum(self.weight, 1)
        units = (extra + weight - 1 - 2 * weight * self.base) // (2 * weight)
        units = np.where(self.weight > 0, units, np.where(extra > 0, self.capacity, 0))
        return np.clip(units, 0, self.capacity)

    def cheaper_in_windows(self, than: Ints) -> Ints:
        """[A] how many units cost less ``than`` [A]."""
        if not self.convex:
            return self.cheaper(than)
        units = np.clip(self.cheaper(than), self.low, self.high)
        units = np.where(self.price(self.low) < than, units, 0)
        return np.where(self.price(self.high + 1) < than, self.capacity, units)

    def exact(self) -> Arcs:
        """With windows that include everything."""
        if not self.convex:
            return self
        return replace(self, low=np.where(self.weight > 0, 0, self.capacity), high=self.capacity)

    def outside(self, flow: Ints) -> Bools:
        """[A] whether the flow is outside of the window of a convex cost."""
        return np.asarray((self.weight > 0) & ((flow < self.low) | (flow > self.high)))

    def widened(self, some: Bools) -> Arcs:
        """With wider windows of some arcs."""
        reach = np.where(some, 2 * (self.high - self.low) + 4, 0)
        low = np.maximum(self.low - reach, 0)
        return replace(self, low=low, high=np.minimum(self.high + reach, self.capacity))

    def by_unit(self) -> tuple[Arcs, Ints]:
        """Linear arcs instead: one per unit inside the windows, and one for each of the ends below
        and above; and the arc that each is part of."""
        if not self.convex:
            return self, np.arange(len(self.cost))
        convex = self.weight > 0
        steps = np.where(convex, self.high - self.low, 0)
        arc = np.repeat(np.arange(len(steps)), steps)
        step = np.arange(len(arc)) - np.repeat(np.cumsum(steps) - steps, steps)
        linear = np.flatnonzero(~convex)
        below = np.flatnonzero(convex & (self.low > 0))
        above = np.flatnonzero(convex & (self.high < self.capacity))
        part = np.concatenate((linear, arc, below, above))
        before = (np.zeros_like(linear), self.low[arc] + step, self.low[below] - 1)
        unit = np.concatenate((*before, self.high[above])) + 1
        count = np.concatenate(
            (
                self.capacity[linear],
                np.ones_like(arc),
                self.low[below],
                (self.capacity - self.high)[above],
            )
        )
        parts = self.at(part)
        return Arcs.linear(parts.tail, parts.head, count, parts.price(unit)), part
