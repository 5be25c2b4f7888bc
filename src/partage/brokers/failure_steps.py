"""Among plans that are equally good, one that is better after a failure: a search by steps.

``survivors`` looks for other replica sets where leaders are chosen by count and a broker fails.
This search has two aims, in order: the survivors of a broker, then those of a rack. It runs
whatever else is balanced. A step changes one list or two:

- a partition gets another order, or two whose leaders or first followers so change places;
- a partition takes broker y for x, and another x for y, at places that lead both or not at all.

Steps keep what counts more: leaders per broker (by rate also which broker leads), replicas and
bytes per broker as far as they are balanced, moves, bytes moved, topic spread, the rack rule. First
replica sets change, and the new ones get their best order, in which leaders may be more even, with
the fewest changes of leaders; then orders alone. Where every load is balanced, or nothing moves,
only orders change. Each step lowers the excess: by how much survivors lead more than one less than
the worst; or, at equal excess, the sum of squares. Only lists that differ from today's change their
order, so a second run changes nothing. Where the bounds over all placements are met, the search
does not begin; it does not prove its result.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from itertools import permutations

import numpy as np
from msgspec import Struct

from partage.arrays import Bools, Ints, first_where
from partage.brokers.figures import Placement, one_width
from partage.brokers.leaders import Led, lead
from partage.brokers.problem import Problem
from partage.brokers.survivors import marked, too_large_to_search
from partage.flow.ordering import brought_to

_TRIES = 1_000
"""Changes of a list for which partners are looked up."""
_EXCESS = 2**32
"""Worth of a leader of excess in squares: more than any step changes."""


def improve_by_steps(problem: Problem, led: Led) -> Led:
    """The lists as they are, or as good ones that are better after a failure."""
    if too_large_to_search(problem) or problem.clock.stopped:
        return led
    options = problem.options
    if led.replicas.shape[1] < 2:
        return led
    for sets in (False,) if options.no_moves or options.by_load else (True, False):
        led = _searched(problem, led, sets) or led
    return led


def _searched(problem: Problem, led: Led, sets: bool) -> Led | None:
    """Better lists that a second run would not change, if the search finds some; ``sets``: whether
    replica sets may change. Other sets get their best order, with the fewest changes of leaders;
    by rate they keep their leaders."""
    search = _Search(problem, led, sets)
    if not search.run():
        return None
    lists, today = search.lists(), _rank(problem, led)
    if sets and search.leaders_may_change:
        best = lead(problem, lists)
        if _rank(problem, best) >= today:
            return None
        lists = best.replicas
    found = lead(problem.again(problem.cluster.with_replicas(lists)), lists)
    stays = bool((found.replicas == lists).all())
    return found if stays and _rank(problem, found) < today else None


def _rank(problem: Problem, led: Led) -> tuple[int, ...]:
    """What counts of an order, in order."""
    placement = Placement(problem.cluster.with_replicas(led.replicas), problem.usable)
    _, racks = _levels(problem, placement)
    fairness = 0 if led.leaders is None else led.leaders.value
    return (fairness, led.failure.worst, led.failure.value, racks.worst, racks.squares)


class _Levels:
    """Leaders of each survivor after each failure, ``value`` [cells]; the last cell stands for no
    survivor and stays 0. ``bound``: what no placement goes below."""

    def __init__(self, value: Ints, bound: int) -> None:
        self.value = np.append(value.ravel(), 0)
        self.bound = bound

    @property
    def worst(self) -> int:
        return int(self.value.max())

    @property
    def squares(self) -> int:
        return int((self.value * self.value).sum())

    @property
    def hot(self) -> Bools:
        """[cells] the worst ones, if they are above the bound."""
        worst = self.worst
        return np.asarray((self.value == worst) & (worst > self.bound))

    def change(self, minus: Ints, plus: Ints) -> tuple[Ints, Ints]:
        """[N] by how much excess and squares change when each of the cells ``minus`` [N, k] has one
        leader less, and each of ``plus`` [N, k] one more."""
        cells = np.concatenate((minus, plus), axis=1)
        sign = np.repeat((-1, 1), (minus.shape[1], plus.shape[1]))
        add = np.zeros_like(cells)
        first = cells != len(self.value) - 1
        for column, by in enumerate(sign.tolist()):
            same = cells == cells[:, [column]]
            add += by * same
            first[:, column + 1 :] &= ~same[:, column + 1 :]
        before = self.value[cells]
        now = before + add
        top = max(self.worst - 1, self.bound)
        excess = np.maximum(now - top, 0) - np.maximum(before - top, 0)
        return (excess * first).sum(axis=1), ((now * now - before * before) * first).sum(axis=1)

    def apply(self, minus: Ints, plus: Ints) -> None:
        np.subtract.at(self.value, minus, 1)
        np.add.at(self.value, plus, 1)
        self.value[-1] = 0


def _levels(problem: Problem, placement: Placement) -> tuple[_Levels, _Levels]:
    """Of the survivors of a broker, and of a rack."""
    place = problem.slot_brokers
    led = placement.leader_counts()[place]
    of_broker = led[None, :] + placement.takeovers()[np.ix_(place, place)]
    np.fill_diagonal(of_broker, 0)
    failing = placement.failing_racks()
    of_rack = np.zeros((len(problem.cluster.rack_names), len(place)), dtype=np.int64)
    if failing:
        of_rack[failing] = led + placement.rack_takeovers()[failing][:, place]
        of_rack[problem.cluster.rack[place], np.arange(len(place))] = 0
    least = placement.least_rack_survivor() or 0
    return _Levels(of_broker, placement.least_worst_survivor()), _Levels(of_rack, least)


class _Step(Struct, frozen=True):
    """Items [2 or 1] get lists; ``worth``: what it changes, the less the better."""

    items: Ints
    lists: Ints
    worth: int


class _Search:
    """``on`` [I, R]: slots of the items, -1 padded. ``open``: items that may change; ``free``: also
    in their order alone."""

    def __init__(self, problem: Problem, led: Led, sets: bool) -> None:
        self.problem, self.sets_may_change = problem, sets
        self.leaders_may_change = not problem.options.leaders_by_search
        placement = Placement(problem.cluster.with_replicas(led.replicas), problem.usable)
        self.brokers, self.racks = _levels(problem, placement)
        sharing = problem.sharing
        self.sharing = sharing
        self.rows = problem.items
        self.rack = problem.cluster.rack[problem.slot_brokers]
        self.before, self.placed = one_width(problem.cluster.replicas, placement.cluster.replicas)
        usable = (problem.broker_slot[self.placed[self.rows]] >= 0).sum(axis=1)
        held = (self.placed[self.rows] >= 0).sum(axis=1)
        self.open = (usable == held) & (held >= 2)
        differs = (self.before != self.placed).any(axis=1)[self.rows]
        self.free = self.open & differs
        brokers = np.tile(problem.slot_brokers, (len(self.rows), 1))
        self.may_lead = problem.in_leader_racks(self.rows, brokers)
        on = problem.broker_slot[self.placed[self.rows]]
        self.on = on
        self.today = problem.broker_slot[problem.cluster.replicas[self.rows, 0]]
        self.own = marked(sharing.own, len(on), sharing.slots)
        self.has = marked(on, len(on), sharing.slots)
        self.count = sharing.family_base + 0
        row, column = np.nonzero(on >= 0)
        np.add.at(self.count, (sharing.family[row], on[row, column]), 1)
        self.bytes = sharing.size_on(on)
        self.low, self.high = self._byte_limits()
        self.tries = 0
        self.by_itself = True

    @cached_property
    def _zone_limits(self) -> tuple[Ints, Ints]:
        """[I] the least and the most replicas of an item in a rack. Where only orders change, there
        may be none: without moves, an item may have more replicas than there are brokers."""
        return self.sharing.item_bounds

    @cached_property
    def _zones(self) -> Ints:
        """[E + 1] the zone of each slot, -1 for padding."""
        return np.append(self.sharing.zone_of, -1)

    def _byte_limits(self) -> tuple[Ints, Ints]:
        """[E] the bytes between which each broker must stay."""
        if self.problem.options.by_size:
            from partage.brokers.placement.sizes import movable, size_bands

            self.open &= movable(self.problem)
            self.free &= self.open
            low, high = size_bands(self.problem, self.bytes)
            weighed = self.sharing.weight * self.bytes
            return low, np.minimum(high, int(weighed.max(initial=0)) // self.sharing.weight)
        disk = self.problem.cluster.disk_bytes[self.problem.slot_brokers]
        fullest = np.full(len(disk), int(self.bytes.max(initial=0)))
        room = np.where(disk >= 0, np.minimum(fullest, np.maximum(disk, self.bytes)), fullest)
        return np.zeros_like(room), room

    def run(self) -> bool:
        """Take steps until none helps: first those in which the item itself relieves a survivor,
        which are mostly all that help. Returns whether any was taken."""
        taken = False
        for self.by_itself in (True, False):
            while self.tries < _TRIES and (self._improve(racks=False) or self._improve(racks=True)):
                taken = True
        return taken

    def lists(self) -> Ints:
        """[P, R] the lists, as broker positions."""
        lists = self.placed.copy()
        lists[self.rows] = np.append(self.problem.slot_brokers, -1)[self.on]
        closed = self.rows[~self.open]
        lists[closed] = self.placed[closed]
        return lists

    def _cells(self, lists: Ints) -> tuple[Ints, Ints]:
        """[N] cells of the levels after a broker's and a rack's failure to which lists [N, R]
        add."""
        slots = self.sharing.slots
        leader = lists[:, 0]
        rack = np.append(self.rack, -1)
        outside = (lists >= 0) & (rack[lists] != rack[leader][:, None])
        taker = first_where(lists, outside)
        cell = rack[leader] * slots + taker
        known = (taker >= 0) & (len(self.racks.value) > 1)
        racks = np.where(known, cell, len(self.racks.value) - 1)
        return leader * slots + lists[:, 1], racks

    def _improve(self, racks: bool) -> bool:
        """Take the best step of each item that makes a survivor the worst. Returns whether there
        was one."""
        hot = (self.racks if racks else self.brokers).hot
        adds = self._cells(self.on)[racks]
        taken = False
        for item in np.flatnonzero(self.open & hot[adds]).tolist():
            if self.tries >= _TRIES:
                break
            step = self._step(item, racks)
            if step is not None and step.worth < 0:
                self._take(step)
                taken = True
        return taken

    def _step(self, item: int, racks: bool) -> _Step | None:
        """The best step of the item."""
        alone: list[tuple[Ints, Ints]] = []
        paired: list[tuple[Ints, Ints]] = []
        for items, lists in self._candidates(item, racks):
            (alone if items.shape[1] == 1 else paired).append((items, lists))
        steps = []
        for found in (alone, paired):
            if found:
                items, lists = (np.concatenate(part) for part in zip(*found, strict=True))
                steps.append(self._best(items, lists, racks))
        return min((one for one in steps if one), key=lambda one: one.worth, default=None)

    def _candidates(self, item: int, racks: bool) -> Iterator[tuple[Ints, Ints]]:
        """Steps: items [N, 1 or 2], and their lists [N, 1 or 2, R]."""
        slots = self.on[item]
        held = int((slots >= 0).sum())
        if self.free[item]:
            first = np.array(list(permutations(range(held), min(held, 3))))
            rest = [[k for k in range(len(slots)) if k not in one] for one in first.tolist()]
            orders = slots[np.column_stack((first, np.array(rest, dtype=np.int64)))]
            for order in orders[self._relieves(item, orders, racks)]:
                if self._may_try(order[0] == slots[0]):
                    self.tries += 1
                    yield from self._reorderings(item, order)
        if self.sets_may_change:
            for place in range(0 if self.leaders_may_change else 1, held):
                yield self._exchanges(item, place, racks)

    def _relieves(self, item: int, lists: Ints, racks: bool) -> Bools:
        """[N] whether the lists [N, R] are worth a try: all that differ, or only those by which
        another survivor, lower by two at least, leads instead of the worst."""
        if not self.by_itself:
            return np.asarray((lists != self.on[item]).any(axis=1))
        level = (self.racks if racks else self.brokers).value
        of_lists = level[self._cells(lists)[racks]]
        return np.asarray(of_lists + 2 <= level[self._cells(self.on[item][None])[racks]])

    def _may_try(self, same_leader: bool) -> bool:
        return self.tries < _TRIES and (same_leader or self.leaders_may_change)

    def _reorderings(self, item: int, order: Ints) -> Iterator[tuple[Ints, Ints]]:
        """Another order of the item, alone or with another that gives what it takes: leader for
        leader, follower for follower."""
        old = self.on[item]
        if order[0] == old[0]:
            yield np.array([[item]]), order[None, None, :]
        place = 0 if order[0] != old[0] else 1
        same = self.on[:, 0] == order[0] if place else True
        rows = np.flatnonzero(
            self.free & same & (self.on[:, place] == order[place]) & self.has[:, old[place]]
        )
        rows = rows[rows != item]
        if not len(rows):
            return
        lists = brought_to(self.on[rows], int(old[place]), place)
        yield _pairs(item, order, rows, lists)
        if place == 0:  # the one that now leads may come first, or a later one
            for late in range(2, self.on.shape[1]):
                some = lists[:, late] >= 0
                third = lists[some][:, late]
                yield _pairs(item, order, rows[some], brought_to(lists[some], third, 1))

    def _exchanges(self, item: int, place: int, racks: bool) -> tuple[Ints, Ints]:
        """The item gives x, at this place, to another partition and takes its broker y: at the
        first place of both, or at a later one of both. In the order of y."""
        x = int(self.on[item, place])
        takes = np.flatnonzero(~self.has[item])
        takes = takes[self._keeps_racks(np.full(len(takes), item), np.full(len(takes), x), takes)]
        lists = np.tile(self.on[item], (len(takes), 1))
        lists[:, place] = takes
        takes = takes[self._relieves(item, lists, racks)][: max(_TRIES - self.tries, 0)]
        self.tries += len(takes)
        if not len(takes):
            return _pairs(item, self.on[item], takes, self.on[takes])
        wanted = np.zeros(self.sharing.slots + 1, dtype=np.bool_)
        wanted[takes] = True
        able = self.open & ~self.has[:, x]
        able[item] = False
        columns = self.on[:, :1] if place == 0 else self.on[:, 1:]
        row, column = np.nonzero(able[:, None] & wanted[columns])
        y = columns[row, column]
        may = self._may_exchange(item, x, y, row)
        row, column, y = row[may], column[may], y[may]
        order = np.lexsort((row, column, y))
        row, y, at = row[order], y[order], column[order] + min(place, 1)
        lists = self.on[row]
        lists[np.arange(len(row)), at] = x
        own = np.tile(self.on[item], (len(row), 1))
        own[:, place] = y
        return _pairs(item, own, row, lists)

    def _keeps_racks(self, items: Ints, x: Ints, y: Ints) -> Bools:
        """[N] whether the items keep the rack rule when each takes y for x."""
        zone = self._zones
        least, most = self._zone_limits
        of, to = zone[x], zone[y]
        zones = zone[self.on[items]]
        in_x, in_y = ((zones == one[:, None]).sum(axis=1) for one in (of, to))
        return np.asarray((of == to) | ((in_x > least[items]) & (in_y < most[items])))

    def _may_exchange(self, p: int, x: int, y: Ints, rows: Ints) -> Ints:
        """The positions of the rows [N] that may take x for y [N] while the item p takes y for
        x."""
        sharing, own, count, size = self.sharing, self.own, self.count, self.sharing.size
        f, g = sharing.family[p], sharing.family[rows]
        spread = count[f, y] - count[f, x] + count[:, x][g] - count[g, y] + 2
        may = np.flatnonzero((f == g) | (spread <= 0))
        y, rows = y[may], rows[may]
        copied = sharing.move_size
        of_p = own[p, x].astype(np.int64) - own[p, y]  # moves that the item adds
        of_rows = own[rows, y].astype(np.int64) - own[rows, x]
        cheap = (of_p + of_rows == 0) & (of_p * copied[p] + of_rows * copied[rows] == 0)
        may, y, rows = may[cheap], y[cheap], rows[cheap]
        comes = size[p] - size[rows]  # bytes that y gets, and x gives
        to_x, to_y = self.bytes[x] - comes, self.bytes[y] + comes
        fits = (comes == 0) | (
            (self.low[x] <= to_x)
            & (to_x <= self.high[x])
            & (self.low[y] <= to_y)
            & (to_y <= self.high[y])
        )
        return np.asarray(may[fits & self._keeps_racks(rows, y, np.full(len(rows), x))])

    def _best(self, items: Ints, lists: Ints, racks: bool) -> _Step | None:
        """The best of N steps: items [N, k], and their lists [N, k, R]."""
        if not len(items):
            return None
        before = self.on[items]
        changes = [(one[:, :, 0] != self.today[items]).sum(axis=1) for one in (before, lists)]
        able = self.may_lead[items, lists[:, :, 0]].all(axis=1) & self._keep_last(items, lists)
        some = np.flatnonzero(able & (changes[1] <= changes[0]))
        if len(some) == 0:
            return None
        items, lists, before = items[some], lists[some], before[some]
        worth = []
        cells = zip(self._cells_of(before), self._cells_of(lists), strict=True)
        for levels, (minus, plus) in zip((self.brokers, self.racks), cells, strict=True):
            excess, squares = levels.change(minus, plus)
            worth.append(excess * _EXCESS + squares)
        total = np.where(worth[0] <= 0, worth[1], 1) if racks else worth[0]
        best = int(total.argmin())
        return _Step(items[best], lists[best], int(total[best]))

    def _keep_last(self, items: Ints, lists: Ints) -> Bools:
        """[N] whether the replicas that come last do so in the lists [N, k, R] of items [N, k]."""
        if not self.problem.options.demote_broker:
            return np.ones(len(items), dtype=np.bool_)
        flat = np.append(self.problem.slot_brokers, -1)[lists.reshape(-1, lists.shape[2])]
        keeps = self.problem.keeps_last(self.rows[items.ravel()], flat)
        return np.asarray(keeps.reshape(items.shape).all(axis=1))

    def _cells_of(self, lists: Ints) -> list[Ints]:
        """[N, k] cells of the levels of brokers and of racks, of lists [N, k, R]."""
        flat = self._cells(lists.reshape(-1, lists.shape[2]))
        return [cells.reshape(lists.shape[:2]) for cells in flat]

    def _take(self, step: _Step) -> None:
        items, lists = step.items, step.lists
        minus, plus = (self._cells_of(one[None]) for one in (self.on[items], lists))
        for levels, less, more in zip((self.brokers, self.racks), minus, plus, strict=True):
            levels.apply(less[0], more[0])
        for item, slots in zip(items.tolist(), lists, strict=True):
            for old, sign in ((self.on[item], -1), (slots, 1)):
                held = old[old >= 0]
                self.count[self.sharing.family[item], held] += sign
                self.bytes[held] += sign * self.sharing.size[item]
            self.free[item] |= set(slots.tolist()) != set(self.on[item].tolist())
            self.on[item] = slots
            self.has[item] = False
            self.has[item, slots[slots >= 0]] = True


def _pairs(item: int, own: Ints, rows: Ints, lists: Ints) -> tuple[Ints, Ints]:
    """Steps of an item and one of the rows [N] each: its list ``own``, and theirs [N, R]."""
    items = np.column_stack((np.full(len(rows), item), rows))
    return items, np.stack((np.broadcast_to(own, lists.shape), lists), axis=1)
