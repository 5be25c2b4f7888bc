"""The network with one group per item: exact whatever the counts hide, and larger.

A small network is laid out whole. In a large one only the arcs of the items' own slots and of a few
others are. The arcs left out are priced with the dual values; those that would pay are added, and
it is solved again until none would.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from partage.flow.network import EMPTY, FREE, FULL, Network, Optimum, Squares, minimise
from partage.flow.sharing.counts import Face, fair_guess
from partage.flow.sharing.problem import LOAD, MOVES, SPREAD, Sharing, as_rows

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

_FIRST_CANDIDATES = 4
_ADDED_PER_ROUND = 24
_LAID_OUT_WHOLE = 2_000_000
"""Arcs up to which pricing would only cost time."""


class ItemNetwork:
    """The exact answer item by item, with arcs priced lazily.

    ``fair`` bounds the loads when the load cost is settled already. A first layer counts demand
    that the arcs at hand leave unmet, so that pricing can begin from any set of arcs.
    """

    def __init__(self, problem: Sharing, costs: tuple[str, ...], fair: Face | None) -> None:
        self.problem, self.fair = problem, fair
        self.layers = ("unmet", *costs)
        items, e, zones = problem.items, problem.slots, problem.zones
        families = len(problem.family_base)
        self.zone_node = items + np.arange(items * zones).reshape(items, zones)
        self.slot_node = items + items * zones + np.arange(e)
        self.sink = int(self.slot_node[-1]) + 1
        self.spread_node = self.sink + 1 + np.arange(families * e).reshape(families, e)
        self.nodes = self.sink + 1 + families * e
        item, slot = problem.owned
        self.sits = np.zeros((items, e), dtype=np.bool_)
        self.sits[item, slot] = True
        self.allowed = np.ones((items, e), dtype=np.bool_)
        self.forced = np.zeros((items, e), dtype=np.bool_)
        least, most = (bound[problem.item_class] for bound in problem.bounds)
        self.low = np.repeat(least[:, None], zones, axis=1)
        self.room = np.repeat((most - least)[:, None], zones, axis=1)
        if fair is not None:
            kind = problem.item_class
            state = np.where(self.sits, fair.own[kind], fair.new[kind])
            self.allowed, self.forced = state != EMPTY, state == FULL
            self.low = np.where(fair.zone[kind] == FULL, most[:, None], self.low)
            self.room = np.where(fair.zone[kind] == FREE, self.room, 0)
        # to begin with: where the items are, and a handful of the emptiest slots in each zone
        load = np.bincount(slot, minlength=e) + problem.base
        self.chosen = self.sits | self.forced
        for zone in range(zones):
            here = np.flatnonzero(problem.zone_of == zone)
            emptiest = here[np.argsort(load[here], kind="stable")[:_FIRST_CANDIDATES]]
            self.chosen[:, emptiest] = True
        if self.chosen.size <= _LAID_OUT_WHOLE:
            self.chosen[:] = True
        self.chosen &= self.allowed
        self.squares = {SPREAD: self._spread_squares()} if SPREAD in costs else {}
        if fair is None:
            guess = fair_guess(problem)
            self.squares[LOAD] = Squares(
                tail=self.slot_node,
                head=np.full(e, self.sink),
                capacity=np.full(e, int(problem.demand.sum())),
                weight=problem.weight,
                base=problem.base,
                low=guess - 3,
                high=guess + 3,
            )

    def _spread_squares(self) -> Squares:
        problem, e = self.problem, self.problem.slots
        families = len(problem.family_base)
        item, slot = problem.owned
        held = np.zeros((families, e), dtype=np.int64)
        np.add.at(held, (problem.family[item], slot), 1)
        total = np.bincount(problem.family, problem.demand, minlength=families)
        even = np.ceil((total + problem.family_base.sum(axis=1)) / e).astype(np.int64)
        near = even[:, None] - problem.family_base
        # one unit of room more than can be used keeps a full bundle from having a price of its own
        room = np.bincount(problem.family, minlength=families) + 1
        return Squares(
            tail=self.spread_node.ravel(),
            head=np.tile(self.slot_node, families),
            capacity=np.repeat(room, e).astype(np.int64),
            weight=np.ones(families * e, dtype=np.int64),
            base=problem.family_base.ravel(),
            low=(np.minimum(held, near) - 2).ravel(),
            high=(np.maximum(held, near) + 2).ravel(),
        )

    def _head(self, item: Ints, slot: Ints) -> Ints:
        if SPREAD not in self.layers:
            return self.slot_node[slot]
        return np.asarray(self.spread_node[self.problem.family[item], slot], dtype=np.int64)

    def network(self) -> tuple[Network, Ints, Ints, slice]:
        """Everything but the squares; the (item, slot) of the arcs at hand and where they are."""
        problem, fair = self.problem, self.fair
        items, e, zones = problem.items, problem.slots, problem.zones
        network = Network(self.nodes, len(self.layers))
        supply = network.supply
        supply[:items] = problem.demand - self.low.sum(axis=1)
        supply[self.zone_node.ravel()] = self.low.ravel()
        supply[self.sink] = -int(problem.demand.sum())
        if fair is not None:
            supply[self.slot_node] = -fair.low
            supply[self.sink] += int(fair.low.sum())
            network.arcs(self.slot_node, self.sink, fair.high - fair.low)
        tail = np.repeat(np.arange(items), zones)
        network.arcs(tail, self.zone_node.ravel(), self.room.ravel())
        # unmet demand may leave from any zone, and unmet bounds be made up, each at a price
        network.arcs(self.zone_node.ravel(), self.sink, e, {0: 1})
        network.arcs(self.sink, self.slot_node, int(problem.demand.sum()), {0: 1})
        item, slot = np.nonzero(self.chosen)
        sure = self.forced[item, slot]
        start, end = self.zone_node[item, problem.zone_of[slot]], self._head(item, slot)
        np.subtract.at(supply, start[sure], 1)
        np.add.at(supply, end[sure], 1)
        moves = (~self.sits[item, slot]).astype(np.int64)
        arcs = network.arcs(start, end, ~sure, {self.layers.index(MOVES): moves})
        return network, item, slot, arcs

    def solve(self) -> tuple[Ints, dict[str, tuple[Ints, Ints | None]]]:
        """Price and solve until no arc left out would pay and every window holds."""
        while True:
            network, item, slot, arcs = self.network()
            laid = [
                (squares, squares.add_to(network, self.layers.index(cost)), self.layers.index(cost))
                for cost, squares in self.squares.items()
            ]
            optimum = minimise(network)
            assert optimum is not None, "unmet demand has a way out"
            wider = [squares.widen(optimum.face[layer, at]) for squares, at, layer in laid]
            missing = self._missing(optimum)
            self.chosen |= missing
            if not any(wider) and not missing.any():
                break
        assert optimum.values[0] == 0, "every item can be placed on its own, so all can"
        taken = (optimum.flow[arcs] > 0) | self.forced[item, slot]
        distance = optimum.distance
        prices: dict[str, tuple[Ints, Ints | None]] = {
            cost: (
                distance[layer][self.sink] - distance[layer][self.slot_node],
                distance[layer][self.sink] - distance[layer][self.spread_node]
                if SPREAD in self.layers
                else None,
            )
            for layer, cost in enumerate(self.layers)
            if layer > 0
        }
        return as_rows(self.problem, item[taken], slot[taken]), prices

    def _missing(self, optimum: Optimum) -> Bools:
        """[I, E] arcs left out that would pay: their reduced costs are negative in the first layer
        in which they are not 0. A few per item, the best first."""
        problem = self.problem
        sign = np.zeros(self.chosen.shape, dtype=np.int64)
        for layer, cost in enumerate(self.layers):
            distance = optimum.distance[layer]
            tail = distance[self.zone_node][:, problem.zone_of]
            head = distance[
                self.spread_node[problem.family] if SPREAD in self.layers else self.slot_node[None]
            ]
            reduced = tail - head
            if cost == MOVES:
                reduced = reduced + ~self.sits
            sign = np.where(sign == 0, reduced, sign)
        pays = np.where(self.chosen | ~self.allowed, 0, np.minimum(sign, 0))
        best = np.argsort(pays, axis=1, kind="stable")[:, :_ADDED_PER_ROUND]
        few = np.zeros(pays.shape, dtype=np.bool_)
        np.put_along_axis(few, best, True, axis=1)
        return few & (pays < 0)
