"""The arcs of a min-cost flow network, whose costs are linear or the squares of their flow.

The cost of a flow is ``cost * flow + weight * ((base + flow)**2 - base**2)``, so unit n costs
``cost + weight * (2 * (base + n) - 1)``. Only a *window* around an estimate has these costs;
outside, the nearest unit inside continues them, which never overestimates a change. So an optimum
that is inside every window is an optimum of the true costs, and few different costs remain.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from partage.arrays import Bools, Ints
from partage.flow.sorting import distinct


class Arcs(Struct, frozen=True, eq=False, dict=True):
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
        linear = (
            self.tail.take(some),
            self.head.take(some),
            self.capacity.take(some),
            self.cost.take(some),
        )
        if not self.convex:
            return Arcs.linear(*linear)
        curves = (self.weight, self.base, self.low, self.high)
        return Arcs(*linear, *(part.take(some) for part in curves))

    @cached_property
    def curve(self) -> slice:
        """From the first to the last arc whose cost is not linear."""
        some = np.flatnonzero(self.weight)
        return slice(int(some[0]), int(some[-1]) + 1) if len(some) else slice(0)

    @property
    def convex(self) -> bool:
        """Whether some cost is not linear."""
        return self.curve != slice(0)

    def price(self, unit: Ints) -> Ints:
        """[A] the cost of one unit of each arc, counted from 1."""
        if not self.convex:
            return self.cost
        price = self.cost.copy()
        price[self.curve] = self._curve_price(unit[self.curve])
        return price

    def _curve_price(self, unit: Ints) -> Ints:
        """The same for the arcs of the curve alone, of which these are the units."""
        here = self.curve
        place = np.clip(unit, self.low[here], self.high[here] + 1)
        return self.cost[here] + self.weight[here] * (2 * (self.base[here] + place) - 1)

    def different_prices(self) -> Ints:
        """The different costs of units at both ends of the windows and beyond; those between are
        left out."""
        if not self.convex:
            return distinct(self.cost)
        here = self.curve
        ends = (self._curve_price(self.low[here]), self._curve_price(self.high[here] + 1))
        return distinct(np.concatenate((self.cost[: here.start], self.cost[here.stop :], *ends)))

    def next_unit(self, flow: Ints) -> tuple[Ints, Ints]:
        """[A] the cost of one more unit, and how many units have it; 0 where the arc is full."""
        count = self.capacity - flow
        if not self.convex:
            return self.cost, count
        here = self.curve
        low, now = self.low[here], flow[here]
        same = np.where(now < low, low - now, 1)
        count[here] = np.where(now < self.high[here], same, count[here])
        return self.price(flow + 1), count

    def last_unit(self, flow: Ints) -> tuple[Ints, Ints]:
        """[A] the cost of the last unit, and how many units have it; 0 where there is none."""
        if not self.convex:
            return self.cost, flow
        here = self.curve
        high, now = self.high[here], flow[here]
        same = np.where(now > high, now - high, 1)
        count = flow.copy()
        count[here] = np.where(now > self.low[here], same, now)
        return self.price(flow), count

    def cheaper(self, than: Ints) -> Ints:
        """[A] how many units cost less ``than`` [A], without windows."""
        extra = than - self.cost
        units = np.where(extra > 0, self.capacity, 0)
        if not self.convex:
            return units
        here = self.curve
        given = self.weight[here]
        weight = np.maximum(given, 1)
        below = (extra[here] + weight - 1 - 2 * weight * self.base[here]) // (2 * weight)
        units[here] = np.where(given > 0, np.clip(below, 0, self.capacity[here]), units[here])
        return units

    def cheaper_in_windows(self, than: Ints) -> Ints:
        """[A] how many units cost less ``than`` [A]."""
        units = self.cheaper(than)
        if not self.convex:
            return units
        here = self.curve
        low, high, most = self.low[here], self.high[here], than[here]
        inside = np.clip(units[here], low, high)
        inside = np.where(self._curve_price(low) < most, inside, 0)
        full = self._curve_price(high + 1) < most
        units[here] = np.where(full, self.capacity[here], inside)
        return units

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
