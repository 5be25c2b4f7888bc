"""The cheapest picks: each item picks one option, and options are picked within their ranges.

The primal-dual method (Ford and Fulkerson 1962) for the network ``item -> option -> group``, with
the items left out of the search: a node of an item that has picked can only be entered from its
option, so distances are computed between options, many items at a time. Each round finds the
nearest options and groups that still lack picks, and routes as much as possible along all shortest
paths with one maximum flow of OR-tools. For costs that are few small numbers this takes a handful
of rounds; ``None`` after ``_ROUNDS``.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from partage.flow.sorting import distinct, stable_order

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

_FAR = 2**60
_ROUNDS = 100
_SCRAMBLER = 0x9E3779B1


def cheapest_picks(
    item: Ints,
    option: Ints,
    items: int,
    group: Ints,
    low: Ints,
    high: Ints,
    quota: Ints,
    cost: Ints,
) -> Ints | None:
    """Each item picks one of its arcs (item[a], option[a]) [A], in ascending order of items, at
    least total ``cost`` [A], which is 0 or more. Option o, of group ``group[o]``, is picked
    ``low[o]`` to ``high[o]`` times, group g ``quota[g]`` times. Returns the arcs picked [items];
    None where there are no such picks, or too many different costs for this method."""
    lack = quota - np.bincount(group, low, minlength=len(quota)).astype(np.int64)
    if quota.sum() != items or (lack < 0).any() or (high < low).any():
        return None
    if items == 0:
        return np.zeros(0, dtype=np.int64)
    if not np.bincount(item[high[option] > 0], minlength=items).all():
        return None
    # options that all their items have to pick: an item cannot pick two
    all_needed = low >= np.bincount(option, minlength=len(low))
    if (np.bincount(item[all_needed[option]], minlength=items) > 1).any():
        return None
    start = np.searchsorted(item, np.arange(items + 1))
    # which of several cheapest picks is found depends on the order: it must not favour low options
    width = np.diff(start)[item]
    column = (np.arange(len(item)) - start[item] + item * _SCRAMBLER % width) % width
    shape = (items, int(column.max(initial=0)) + 1)
    options, costs = np.zeros(shape, dtype=np.int64), np.full(shape, _FAR)
    options[item, column], costs[item, column] = option, cost
    arc = np.zeros(shape, dtype=np.int64)
    arc[item, column] = np.arange(len(item))
    picks = _Picks(options, costs, group, high - low, np.concatenate((low, lack)))
    for _ in range(_ROUNDS):
        if not picks.open.any():
            return np.asarray(arc[np.arange(items), picks.picked])
        if not picks.augment():
            return None
    return None


class _Picks:
    """A partial choice. Nodes are the options [O], then the groups.

    - ``option``, ``cost`` [I, W]: of the arcs; ``picked`` [I]: column of the arc, -1 if ``open``
    - ``spare`` [O]: picks that an option may take for its group; ``taken`` [O]: those it has taken
    - ``lack`` [nodes]: picks that an option needs for itself, and a group from its options
    - ``label`` [nodes]: distances from open items; reduced costs are never negative
    """

    def __init__(self, option: Ints, cost: Ints, group: Ints, spare: Ints, lack: Ints) -> None:
        self.option, self.cost = option, cost
        self.group = len(group) + group
        self.spare, self.lack = spare, lack
        self.taken = np.zeros_like(spare)
        self.picked = np.full(len(option), -1)
        self.label = np.zeros(len(lack), dtype=np.int64)

    @property
    def open(self) -> Bools:
        return self.picked < 0

    def _at_pick(self, table: Ints, rows: Ints) -> Ints:
        """[rows] the values of the table at the arcs picked."""
        return np.asarray(table[rows, self.picked[rows]])

    def _item_labels(self) -> Ints:
        labels = np.zeros(len(self.option), dtype=np.int64)
        rows = np.flatnonzero(~self.open)
        labels[rows] = self.label[self._at_pick(self.option, rows)] - self._at_pick(self.cost, rows)
        return labels

    def augment(self) -> bool:
        """Route as much as the shortest paths can carry. False when no path is left."""
        reached = self._search()
        if reached is None:
            return False
        self._route(*reached)
        return True

    def _search(self) -> tuple[Ints, Bools] | None:
        """Update the labels up to the nearest node that lacks picks. Returns the items and whether
        each node is reached."""
        options = len(self.group)
        reduced = self.cost + self._item_labels()[:, None] - self.label[self.option]
        holding = np.flatnonzero(~self.open)
        pick = self._at_pick(self.option, holding)
        holding = holding[stable_order(pick)]
        first = np.concatenate(([0], np.cumsum(np.bincount(pick, minlength=options))))
        to_group = self.label[:options] - self.label[self.group]
        distance = np.full(len(self.lack), _FAR)
        done = np.zeros(len(self.lack), dtype=np.bool_)
        rows, level, found = np.flatnonzero(self.open), 0, False
        items = [rows]
        while True:
            reach = reduced[rows] + level
            np.minimum.at(distance, self.option[rows], reach)
            ready = np.flatnonzero(~done & (distance <= level))
            if not len(ready):
                nearest = int(distance[~done].min(initial=_FAR))
                if found or nearest >= _FAR // 2:  # arcs that only fill the table are no way
                    break
                level = nearest
                rows = rows[:0]
                continue
            done[ready] = True
            found = found or bool((self.lack[ready] > 0).any())
            into = ready[ready < options]
            fill = into[self.taken[into] < self.spare[into]]
            np.minimum.at(distance, self.group[fill], level + to_group[fill])
            if ready[-1] >= options:
                back = np.flatnonzero(done[self.group] & ~done[:options] & (self.taken > 0))
                np.minimum.at(distance, back, distance[self.group[back]] - to_group[back])
            width = first[into + 1] - first[into]
            ends = np.cumsum(width)
            rows = holding[np.arange(width.sum()) + np.repeat(first[into] - ends + width, width)]
            items.append(rows)
        if not found:
            return None
        self.label += np.minimum(distance, level)
        return np.concatenate(items), done

    def _route(self, rows: Ints, done: Bools) -> None:
        from ortools.graph.python.max_flow import SimpleMaxFlow

        nodes, options = len(self.lack), len(self.group)
        label = self._item_labels()[rows]
        option, cost = self.option[rows], self.cost[rows]
        tight = (cost + label[:, None] == self.label[option]) & done[option]
        chosen = self.picked[rows]
        holding = np.flatnonzero(chosen >= 0)
        tight[holding, chosen[holding]] = False
        row, column = np.nonzero(tight)
        start = np.where(
            chosen >= 0, option[np.arange(len(rows)), chosen], nodes + len(self.picked)
        )
        able = distinct(row)
        level = done[:options] & done[self.group] & (self.label[:options] == self.label[self.group])
        fill = np.flatnonzero(level & (self.taken < self.spare))
        back = np.flatnonzero(level & (self.taken > 0))
        lacking = np.flatnonzero(done & (self.lack > 0))
        parts = (
            (nodes + rows[row], option[row, column], np.ones_like(row)),
            (start[able], nodes + rows[able], np.ones_like(able)),
            (fill, self.group[fill], (self.spare - self.taken)[fill]),
            (self.group[back], back, self.taken[back]),
            (lacking, np.full_like(lacking, nodes + len(self.picked) + 1), self.lack[lacking]),
        )
        solver = SimpleMaxFlow()
        solver.add_arcs_with_capacity(*(np.concatenate(part) for part in zip(*parts, strict=True)))
        status = solver.solve(nodes + len(self.picked), nodes + len(self.picked) + 1)
        if status != solver.OPTIMAL:
            raise RuntimeError(f"max flow: the solver answered {status!r}")
        flow = np.asarray(solver.flows(np.arange(solver.num_arcs())), dtype=np.int64)
        sizes = np.cumsum([len(part[0]) for part in parts[:-1]])
        moved, _, filled, backed, met = np.split(flow, sizes)
        used = moved > 0
        self.picked[rows[row[used]]] = column[used]
        self.taken[fill] += filled
        self.taken[back] -= backed
        self.lack[lacking] -= met
