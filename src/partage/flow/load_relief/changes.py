"""Changes of single items: other slots, another leader, or both.

At given prices of the loads, every item looks for slots and a leader that cost less than those it
has: what its loads cost there, and what the change itself costs. The best other leader, or the best
slot in place of one, comes first; from there the next, until none costs less.
"""

from __future__ import annotations

from itertools import combinations
from math import comb

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from partage.arrays import Floats, Ints
from partage.flow.load_relief.state import ReliefProblem
from partage.flow.ordering import led_by

_CELLS = 2_000_000
_LEAST = 1e-7
"""What a change must gain, in mean sizes of an item."""

_MOVE, _LEADER = 1e-3, 1e-5
"""What a move and a change of leader cost besides the bytes, in mean sizes: they decide among
changes with the same bytes."""


class Changes(Struct, frozen=True, eq=False):
    """C changes: ``item`` [C] and its new ``rows`` [C, R], the leader first, -1 padded."""

    item: Ints
    rows: Ints

    def __len__(self) -> int:
        return len(self.item)

    @classmethod
    def joined(cls, width: int, parts: list[Changes]) -> Changes:
        """All changes of the parts."""
        none = cls(np.zeros(0, dtype=np.int64), np.zeros((0, width), dtype=np.int64))
        columns = ((part.item, part.rows) for part in [none, *parts])
        return cls(*(np.concatenate(column) for column in zip(*columns, strict=True)))

    def at(self, which: npt.NDArray[np.generic]) -> Changes:
        """Some of them."""
        return Changes(self.item[which], self.rows[which])


def cost_of(problem: ReliefProblem, item: Ints, rows: Ints) -> Floats:
    """[C] what it costs that items are on these rows [C, R], in mean sizes of an item."""
    new = ((rows >= 0) & ~problem.own[item[:, None], rows]).sum(axis=1)
    changed = rows[:, 0] != problem.today[item]
    return np.asarray(new * move_cost(problem)[item] + changed * _LEADER)


def move_cost(problem: ReliefProblem) -> Floats:
    """[I] what a move of each item costs."""
    size = problem.sharing.move_size.astype(np.float64)
    return np.asarray(size / max(float(size.mean()), 1.0) + _MOVE)


def paying_changes(
    problem: ReliefProblem, rows: Ints, price: Floats, rent: Floats
) -> tuple[Changes, Floats]:
    """The changes of an assignment that pay at prices [K, E], and what they gain. ``rent`` [I]:
    what any change of an item must gain besides."""
    held = len(problem.held)
    each_held, each_led = problem.each
    most = (each_led * price[held:, rows[:, 0]]).sum(axis=0)
    holding = np.zeros(rows.shape)
    for k in np.flatnonzero(price[:held].any(axis=1)).tolist():
        holding += each_held[k][:, None] * price[k][np.maximum(rows, 0)]
    most += np.where(problem.movable, np.where(rows >= 0, holding, 0).sum(axis=1), 0)
    some = np.flatnonzero(most > rent + _LEAST)
    found, gains = [], []
    step = max(1, _CELLS // problem.sharing.slots)
    for start in range(0, len(some), step):
        part = _Part(problem, rows, price, some[start : start + step])
        for changes, gain in part.changes():
            pays = gain > rent[changes.item] + _LEAST
            found.append(changes.at(pays))
            gains.append((gain - rent[changes.item])[pays])
    return Changes.joined(rows.shape[1], found), np.concatenate([np.zeros(0), *gains])


def every_change(problem: ReliefProblem, rows: Ints, most: int) -> Changes | None:
    """All changes of an assignment that keep the rules, or None if these may be above ``most``."""
    sharing, slots = problem.sharing, range(problem.sharing.slots)
    if sum(comb(len(slots), d) * d for d in sharing.demand.tolist()) > most:
        return None
    least, most_of = sharing.item_bounds
    items, found = [], []
    for item, row in enumerate(rows.tolist()):
        mine = sorted(slot for slot in row if slot >= 0)
        sets = combinations(slots, len(mine)) if problem.movable[item] else [tuple(mine)]
        for one in sets:
            held = np.bincount(sharing.zone_of[list(one)], minlength=sharing.zones)
            legal = (least[item] <= held).all() and (held <= most_of[item]).all()
            if legal or list(one) == mine:
                for leader in one:
                    items.append(item)
                    # those that stay keep their order
                    rest = [s for s in row if s in one and s != leader]
                    rest += [s for s in one if s not in row and s != leader]
                    found.append([leader, *rest] + [-1] * (rows.shape[1] - len(one)))
    changes = Changes(
        np.array(items, dtype=np.int64),
        np.array(found, dtype=np.int64).reshape(len(found), rows.shape[1]),
    )
    return changes.at((changes.rows != rows[changes.item]).any(axis=1))


class _Part:
    """Some items [n] at the prices: ``holds``, ``leads`` [n, E], what a slot costs that holds them,
    and one that leads them besides; infinite where a limit bars them."""

    def __init__(self, problem: ReliefProblem, rows: Ints, price: Floats, item: Ints) -> None:
        self.problem, self.item, self.rows = problem, item, rows[item]
        held, every = len(problem.held), np.arange(len(item))
        each_held, each_led = problem.each
        self.holds = each_held[:, item].T @ price[:held]
        self.holds += np.where(problem.own[item], 0, move_cost(problem)[item][:, None])
        self.leads = each_led[:, item].T @ price[held:] + _LEADER
        known = problem.today[item] >= 0
        self.leads[every[known], problem.today[item][known]] -= _LEADER
        self.now = self._cost(self.rows)
        place = {one: k for k, one in enumerate(item.tolist())}
        for one in sorted(problem.barred.keys() & place.keys()):
            hold, lead = problem.barred[one]
            self.holds[place[one], hold] = np.inf
            self.leads[place[one], lead] = np.inf

    def _cost(self, rows: Ints) -> Floats:
        """[n] what the items cost on rows [n, R]."""
        holds = np.take_along_axis(self.holds, np.maximum(rows, 0), axis=1)
        leads = np.take_along_axis(self.leads, rows[:, :1], axis=1)[:, 0]
        return np.asarray(np.where(rows >= 0, holds, 0).sum(axis=1) + leads)

    def changes(self) -> list[tuple[Changes, Floats]]:
        """Changes with what they gain."""
        found, rows, cost = [], self.rows, self.now
        for _ in range(self.rows.shape[1] + 1):
            better = self._led(rows)
            options = [better, *self._replaced(rows)]
            costs = np.stack([self._cost(option) for option in options])
            best = costs.argmin(axis=0)
            every = np.arange(len(best))
            helps = costs[best, every] < cost - _LEAST
            if not helps.any():
                break
            rows = np.where(helps[:, None], np.stack(options)[best, every], rows)
            cost = np.where(helps, costs[best, every], cost)
            found.append((Changes(self.item[helps], rows[helps]), (self.now - cost)[helps]))
        return found

    def _led(self, rows: Ints) -> Ints:
        """The rows with their cheapest leaders."""
        leader = self._lead_costs(rows).argmin(axis=1)
        return led_by(rows, rows[np.arange(len(rows)), leader])

    def _lead_costs(self, rows: Ints) -> Floats:
        costs = np.take_along_axis(self.leads, np.maximum(rows, 0), axis=1)
        return np.where(rows >= 0, costs, np.inf)

    def _replaced(self, rows: Ints) -> list[Ints]:
        """For each column, the rows with the cheapest slot in place of the one there, and with the
        cheapest leader; unchanged where no slot may take its place."""
        movable = self.problem.movable[self.item]
        if not movable.any():
            return []
        sharing, every = self.problem.sharing, np.arange(len(rows))
        zone, zones = sharing.zone_of, sharing.zones
        least, most = (bound[self.item] for bound in sharing.item_bounds)
        in_zone = np.zeros((len(rows), zones), dtype=np.int64)
        there = self.holds.copy()
        for column in rows.T:
            some = column >= 0
            np.add.at(in_zone, (every[some], zone[column[some]]), 1)
            there[every[some], column[some]] = np.inf
        costs = self._lead_costs(rows)
        open_zone = in_zone < most[:, None]
        found = []
        for column in range(rows.shape[1]):
            here = np.maximum(rows[:, column], 0)
            others = costs.copy()
            others[:, column] = np.inf
            cost = there + np.minimum(self.leads, others.min(axis=1)[:, None])
            may_leave = in_zone[every, zone[here]] > least
            for z in range(zones):
                closed = (zone[here] != z) & ~(open_zone[:, z] & may_leave)
                cost[np.ix_(closed, zone == z)] = np.inf
            joins = cost.argmin(axis=1)
            ok = movable & (rows[:, column] >= 0) & (cost[every, joins] < np.inf)
            new = rows.copy()
            new[ok, column] = joins[ok]
            found.append(self._led(new))
        return found
