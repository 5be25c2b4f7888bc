"""The problem of assigning items to slots, and the costs of an assignment."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from msgspec import Struct

from partage.arrays import Ints
from partage.flow.sorting import distinct, numbered

LOAD, MOVES, SPREAD = "load", "moves", "spread"


def zone_bounds(demand: int, zone_sizes: Ints) -> tuple[int, int]:
    """The least and the most slots of one zone that an item of this demand takes.

    As many distinct zones as possible, then the smallest possible maximum per zone.
    """
    zones = len(zone_sizes)
    if demand <= zones:
        return 0, 1
    most = 1
    while int(np.minimum(zone_sizes, most).sum()) < demand:
        most += 1
    return 1, most


class AssignmentProblem(Struct, frozen=True, eq=False, dict=True):
    """I items to assign to E slots in Z zones.

    - ``family`` [I], ``demand`` [I] (at most E), ``own`` [I, K]: slots held today, -1 padded
    - ``zone`` [E], ``weight`` [E] (integers from 1), ``base`` [E]: load that stays
    - ``family_base`` [F, E]: the same by family
    - ``zoned``: False when zones set no rule
    - ``size`` [I]: bytes, for breaking ties; may be all 0; ``base_size`` [E]: bytes that stay
    - ``copied`` [I]: bytes that a move of each item copies, where that is not its ``size``
    - ``window``: the least and the greatest load of each slot, two arrays [E], base included
    """

    family: Ints
    demand: Ints
    own: Ints
    zone: Ints
    weight: Ints
    base: Ints
    family_base: Ints
    zoned: bool
    size: Ints
    base_size: Ints
    window: tuple[Ints, Ints] | None = None
    copied: Ints | None = None

    @property
    def move_size(self) -> Ints:
        """[I] bytes that a move of each item copies."""
        return self.size if self.copied is None else self.copied

    @property
    def items(self) -> int:
        return len(self.family)

    @property
    def slots(self) -> int:
        return len(self.zone)

    @cached_property
    def zones(self) -> int:
        return int(self.zone.max()) + 1 if self.zoned else 1

    @cached_property
    def zone_of(self) -> Ints:
        """[E] zone of each slot; all 0 when zones set no rule."""
        return self.zone if self.zoned else np.zeros_like(self.zone)

    @cached_property
    def demands(self) -> Ints:
        """[C] the distinct demands: the classes."""
        return distinct(self.demand)

    @cached_property
    def item_class(self) -> Ints:
        """[I] class of each item."""
        return np.searchsorted(self.demands, self.demand).astype(np.int64)

    @cached_property
    def bounds(self) -> tuple[Ints, Ints]:
        """[C] least and most slots of a zone for an item of the class."""
        if not self.zoned:
            return np.zeros_like(self.demands), self.demands.copy()
        sizes = np.bincount(self.zone, minlength=self.zones).astype(np.int64)
        pairs = [zone_bounds(int(d), sizes) for d in self.demands]
        least, most = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
        return least, most

    @property
    def item_bounds(self) -> tuple[Ints, Ints]:
        """[I] the same for each item."""
        least, most = self.bounds
        return least[self.item_class], most[self.item_class]

    @property
    def load_bounds(self) -> tuple[Ints, Ints]:
        """[E] the least and the greatest load, without base."""
        if self.window is None:
            return np.zeros_like(self.base), np.full_like(self.base, int(self.demand.sum()))
        low, high = self.window
        return low - self.base, high - self.base

    @cached_property
    def owned(self) -> tuple[Ints, Ints]:
        """Every (item, slot) held today, ascending: two arrays."""
        own = np.sort(self.own, axis=1)
        item, column = np.nonzero(own >= 0)
        return item, own[item, column]

    @cached_property
    def in_zones(self) -> Ints:
        """[I, Z] slots of each zone that each item holds today."""
        item, slot = self.owned
        taken = np.zeros((self.items, self.zones), dtype=np.int64)
        np.add.at(taken, (item, self.zone_of[slot]), 1)
        return taken

    def loads(self, slots: Ints) -> Ints:
        """[E] the load of each slot in an assignment [I, any width], -1 padded, base included."""
        return self.base + np.bincount(slots[slots >= 0], minlength=self.slots)

    def moved_items(self, slots: Ints) -> Ints:
        """The items of an assignment [I, any width], -1 padded: each as often as it takes a slot
        that it does not hold today."""
        moves = slots >= 0
        for own in self.own.T:
            moves &= slots != own[:, None]
        return np.nonzero(moves)[0]

    def size_moved(self, slots: Ints) -> int:
        """The bytes that an assignment moves."""
        return int(self.move_size[self.moved_items(slots)].sum())

    def size_on(self, slots: Ints) -> Ints:
        """[E] the bytes on each slot of an assignment, base included."""
        return np.asarray(loads_of(slots, self.size[None, :], self.base_size[None, :])[0])

    def costs(self, slots: Ints) -> dict[str, int]:
        """The three costs of an assignment [I, any width], -1 padded."""
        item, column = np.nonzero(slots >= 0)
        moves = len(self.moved_items(slots))
        return self.costs_of_counts(
            self.family[item], slots[item, column], np.ones_like(item), moves
        )

    def costs_of_counts(self, family: Ints, slot: Ints, number: Ints, moves: int) -> dict[str, int]:
        """The three costs, where so many items [any] of a family are on a slot; entries of the same
        family and slot are added up."""
        load = self.base.copy()
        np.add.at(load, slot, number)
        pair, _, place = numbered(family * self.slots + slot)
        added = np.bincount(place, number, minlength=len(pair)).astype(np.int64)
        base = self.family_base.ravel()
        before = base[pair]
        return {
            # Python integers: weights times squares may exceed 64 bits
            LOAD: sum((self.weight.astype(object) * load * load).tolist()),
            MOVES: moves,
            SPREAD: int(base @ base) + int((added * (2 * before + added)).sum()),
        }


def loads_of(slots: Ints, load: Ints, base: Ints) -> Ints:
    """[K, E] the loads of an assignment [I, any], -1 padded: ``load`` [K, I] of its items on each
    of their slots, and ``base`` [K, E]."""
    item, column = np.nonzero(slots >= 0)
    total = base.copy()
    for k in range(len(load)):
        np.add.at(total[k], slots[item, column], load[k, item])
    return total


def as_rows(problem: AssignmentProblem, item: Ints, slot: Ints) -> Ints:
    """[I, max demand] slots of each item, ascending, -1 padded, from (item, slot) pairs."""
    item, slot = np.divmod(np.sort(item * problem.slots + slot), problem.slots)
    start = np.searchsorted(item, np.arange(problem.items))
    rows = np.full((problem.items, int(problem.demand.max())), -1, dtype=np.int64)
    rows[item, np.arange(len(item)) - start[item]] = slot
    return rows
