"""Among placements that are equally good, one that is better after a failure.

Two partitions may exchange a broker each: the first takes y for x, the second x for y. Replicas per
broker stay the same. Only exchanges are made that change nothing else that counts: the number of
moves, the bytes moved, the topic spread, the rack rule, the leaders' fairness; and no broker gets
more bytes than the fullest has, or than its disk holds. What they change is who can take over from
whom.

Where the worst survivor may become lower, a flow prices the pairs (leader, next replica) that are
in the way (``leaders.failures.prices_of_pairs``): with these prices, the least that all partitions
pay together bounds by how much the cap is exceeded. Exchanges that lower this sum are made, and the
lists are ordered again, as long as that lowers the excess. Where the bound over all placements
(``figures.Placement.least_worst_survivor``) is met, the search does not begin.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from partage.arrays import Bools, Ints
from partage.brokers.figures import Placement
from partage.brokers.leaders import Led, lead
from partage.brokers.leaders.failures import prices_of_pairs
from partage.brokers.problem import Problem

MAX_SIZE = 1_000_000
"""Largest number of partitions times brokers for which anything is searched after a failure."""
_HELPERS = 400
"""Exchanges tried in a round."""


def improve_after_failures(problem: Problem, led: Led) -> Led:
    """The lists as they are, or of a placement as good with a lower worst survivor."""
    options = problem.options
    if options.no_moves or options.by_size or options.by_load or options.leaders_by_search:
        return led
    if options.leader_racks or options.demote_broker or too_large_to_search(problem):
        return led
    while led.failure.worst > _bound(problem, led):
        better = _with_lower_worst(problem, led)
        if better is None:
            break
        led = better
    return led


def too_large_to_search(problem: Problem) -> bool:
    """Whether searches for placements that are better after a failure would take too long."""
    return len(problem.items) * len(problem.slot_brokers) > MAX_SIZE


def _bound(problem: Problem, led: Led) -> int:
    after = problem.cluster.with_replicas(led.replicas)
    return Placement(after, problem.usable).least_worst_survivor()


def _with_lower_worst(problem: Problem, led: Led) -> Led | None:
    worst, lists = led.failure.worst, led.replicas
    before: int | None = None
    while True:
        price, excess = prices_of_pairs(problem, lists, worst - 1)
        if before is not None and excess >= before:
            return None
        before = excess
        exchanges = _Exchanges(problem, lists, price)
        if not exchanges.make():
            return None
        sets = problem.replicas_of(exchanges.slots)
        found = lead(problem, sets, evenly=False)
        if _fairness(found) != _fairness(led):
            return None
        if found.failure.worst < worst:
            return lead(problem, sets)
        lists = found.replicas


def _fairness(led: Led) -> int | None:
    return None if led.leaders is None else led.leaders.value


class _Helper(Struct, frozen=True):
    """Item ``item`` takes y for x, which saves ``saves``."""

    item: int
    x: int
    y: int
    saves: int


class _Exchanges:
    """A round of exchanges; ``slots`` [I, K] are the sets, -1 padded."""

    def __init__(self, problem: Problem, lists: Ints, price: Ints) -> None:
        sharing = problem.sharing
        self.sharing = sharing
        self.slots = problem.broker_slot[lists[problem.items]]
        items, brokers = len(self.slots), sharing.slots
        self.on = marked(self.slots, items, brokers)
        self.own = marked(sharing.own, items, brokers)
        self.zone = sharing.zone_of
        self.price = np.minimum(price, price.T)
        self.count = sharing.family_base + 0
        row, column = np.nonzero(self.slots >= 0)
        np.add.at(self.count, (sharing.family[row], self.slots[row, column]), 1)
        self.bytes = sharing.size_on(self.slots)
        disk = problem.cluster.disk_bytes[problem.slot_brokers]
        fullest = np.full(brokers, int(self.bytes.max(initial=0)))
        self.room = np.minimum(fullest, np.where(disk >= 0, np.maximum(disk, self.bytes), fullest))
        self.least, self.most = sharing.item_bounds

    def make(self) -> bool:
        """Make exchanges that lower what the items pay, each item at most one. Returns whether any
        was made."""
        used = np.zeros(len(self.slots), dtype=np.bool_)
        made = False
        for helper in self._helpers():
            if used[helper.item]:
                continue
            partner = self._partner(helper, used)
            if partner is None:
                continue
            self._exchange(helper, partner)
            used[[helper.item, partner]] = made = True
        return made

    def _pays(self, slots: Ints) -> Ints:
        """What items with these sets [N, K] pay: the price of their cheapest pair."""
        cheapest = np.full(len(slots), np.iinfo(np.int64).max)
        for i in range(slots.shape[1]):
            for j in range(i):
                both = (slots[:, i] >= 0) & (slots[:, j] >= 0)
                price = np.where(both, self.price[slots[:, i], slots[:, j]], cheapest)
                cheapest = np.minimum(cheapest, price)
        return cheapest

    def _helpers(self) -> list[_Helper]:
        """Items that would pay less with another broker, those that save most first."""
        pays = self._pays(self.slots)
        found = []
        wanting = np.flatnonzero((self.slots >= 0).sum(axis=1) >= 2)
        for place in range(self.slots.shape[1]):
            rows = wanting[self.slots[wanting, place] >= 0]
            for y in range(self.sharing.slots):
                able = rows[~self.on[rows, y]]
                able = able[self._keeps_racks(able, self.slots[able, place], np.full(len(able), y))]
                changed = self.slots[able].copy()
                changed[:, place] = y
                saves = pays[able] - self._pays(changed)
                for at in np.flatnonzero(saves > 0).tolist():
                    item = int(able[at])
                    found.append(_Helper(item, int(self.slots[item, place]), y, int(saves[at])))
        found.sort(key=lambda one: (-one.saves, one.item, one.x, one.y))
        return found[:_HELPERS]

    def _keeps_racks(self, items: Ints, x: Ints, y: Ints) -> Bools:
        """[N] whether the items keep the rack rule when each takes y for x."""
        zone_x, zone_y = self.zone[x], self.zone[y]
        slots = self.slots[items]
        zones = np.where(slots >= 0, self.zone[slots], -1)
        in_x = (zones == zone_x[:, None]).sum(axis=1)
        in_y = (zones == zone_y[:, None]).sum(axis=1)
        fits = (in_x > self.least[items]) & (in_y < self.most[items])
        return np.asarray((zone_x == zone_y) | fits)

    def _partner(self, helper: _Helper, used: Bools) -> int | None:
        """The item that takes x for y at least loss, less than what the helper saves."""
        p, x, y = helper.item, helper.x, helper.y
        rows = np.flatnonzero(self.on[:, y] & ~self.on[:, x] & ~used)
        rows = rows[rows != p]
        if not self.on[p, x] or self.on[p, y] or len(rows) == 0:
            return None
        rows = rows[self._keeps_racks(rows, np.full(len(rows), y), np.full(len(rows), x))]
        rows = rows[self._changes_nothing_else(p, x, y, rows)]
        if len(rows) == 0:
            return None
        slots = self.slots[rows]
        changed = np.where(slots == y, x, slots)
        loses = self._pays(changed) - self._pays(slots)
        best = int(np.lexsort((rows, self._unevenness(p, rows), loses))[0])
        return int(rows[best]) if loses[best] < helper.saves else None

    def _changes_nothing_else(self, p: int, x: int, y: int, rows: Ints) -> Bools:
        sharing, own, count = self.sharing, self.own, self.count
        of_p = int(own[p, x]) - int(own[p, y])  # moves that p adds
        of_rows = own[rows, y].astype(np.int64) - own[rows, x]
        size, copied = sharing.size, sharing.move_size
        moved = of_p * copied[p] + of_rows * copied[rows]
        f, g = sharing.family[p], sharing.family[rows]
        spread = count[f, y] - count[f, x] + count[g, x] - count[g, y] + 2
        same = (f == g) | (spread == 0)
        comes = size[p] - size[rows]  # bytes that y gets, and x gives
        fits = ((comes <= 0) | (self.bytes[y] + comes <= self.room[y])) & (
            (comes >= 0) | (self.bytes[x] - comes <= self.room[x])
        )
        return np.asarray((of_p + of_rows == 0) & (moved == 0) & same & fits)

    def _unevenness(self, p: int, rows: Ints) -> Ints:
        return np.asarray(np.abs(self.sharing.size[rows] - self.sharing.size[p]))

    def _exchange(self, helper: _Helper, q: int) -> None:
        p, x, y, sharing = helper.item, helper.x, helper.y, self.sharing
        self.slots[p] = np.where(self.slots[p] == x, y, self.slots[p])
        self.slots[q] = np.where(self.slots[q] == y, x, self.slots[q])
        self.on[p, [x, y]] = self.on[q, [y, x]] = False, True
        f, g = sharing.family[p], sharing.family[q]
        self.count[f, x] -= 1
        self.count[f, y] += 1
        self.count[g, y] -= 1
        self.count[g, x] += 1
        comes = int(sharing.size[p] - sharing.size[q])
        self.bytes[y] += comes
        self.bytes[x] -= comes


def marked(slots: Ints, items: int, brokers: int) -> Bools:
    """[items, brokers] which slots each row has."""
    marked = np.zeros((items, brokers), dtype=np.bool_)
    row, column = np.nonzero(slots >= 0)
    marked[row, slots[row, column]] = True
    return marked
