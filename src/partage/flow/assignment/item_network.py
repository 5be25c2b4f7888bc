"""The network in which some or all items are a group of their own.

``group -> (group, zone) -> own slots -> [(family, slot)] -> slot -> sink`` as at the coarser
resolutions, but new slots are taken through a *pool* that all items of a class (and family) share:
``(group, zone) -> (pool, zone) -> [(family, slot)]``. So an item needs only arcs to the slots it
holds and one per zone instead of one to every slot, and any number of items can be individual.

The pool does not record which item takes which slot. An item that takes one slot of a zone and
keeps none there may take any slot of the pool: if it were a slot that the item holds today, keeping
it would have been cheaper. So the network is exact where an item takes at most one slot of a zone
(at least as many zones as slots). Elsewhere an item could get the same slot twice. Items for which
that happens are laid out *wide*, with an arc to every slot, which is always exact.

Where spread is the last cost, it has a separate network: loads and moves are minimised first in a
small network without families, then spread in one with families, on the optimal face of the first.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from partage.arrays import Bools, Ints
from partage.flow.assignment.cells import Cells, Ends, last_unit, lay_ends
from partage.flow.assignment.count_network import (
    ALL_PAIRS,
    DRIFT,
    ColumnGeneration,
    emptiest,
    kept_share,
    load_squares,
)
from partage.flow.assignment.disaggregation import Counts
from partage.flow.assignment.problem import LOAD, MOVES, SPREAD, AssignmentProblem
from partage.flow.network import FREE, FULL, Network, Squares, minimise
from partage.flow.sorting import counted, numbered, stable_order

Prices = dict[str, tuple[Ints, Ints | None]]


class ItemLayout(Struct, frozen=True, eq=False):
    """[I] which items are a group of their own, which of these have an arc to every slot, and which
    of the others are counted only with items that hold as many slots of each zone."""

    individual: Bools
    wide: Bools
    by_zones: Bools


class CountSolution(Struct, frozen=True, eq=False):
    """Counts to disaggregate, their costs, and the prices that prove these."""

    counts: Counts
    costs: dict[str, int]
    prices: Prices


def solve_item_network(
    problem: AssignmentProblem, order: tuple[str, ...], layout: ItemLayout
) -> CountSolution:
    """The optimum of the network, its costs minimised in this order."""
    if order[-1] == SPREAD:
        above = ItemNetwork(problem, order[:-1], layout)
        if not above.solve():
            raise AssertionError("feasible, since every single item is")
        network = ItemNetwork(problem, (SPREAD, DRIFT), layout, above)
        # in rare cases this is infeasible although it is feasible without families
        if network.solve():
            return CountSolution(
                network.counts(), network.costs(), above.prices() | network.prices()
            )
    network = ItemNetwork(problem, (*order, DRIFT), layout)
    if not network.solve():
        raise AssertionError("feasible, since every single item is")
    return CountSolution(network.counts(), network.costs(), network.prices())


class _Arcs(Struct, frozen=True, eq=False):
    """Arcs of one kind [A] and the flow fixed on them. ``at``: the place of those that are ``laid``
    in the network. ``key``, ascending where there is no network above, identifies an arc in the
    network below."""

    at: slice
    laid: Ints
    key: Ints
    fixed: Ints


class _Ends(Ends, frozen=True, eq=False):
    """``Ends`` with the keys of their arcs, and what these cost."""

    key: Ints
    costs: dict[int, npt.ArrayLike]


class ItemNetwork(ColumnGeneration):
    """The network and its optimum. With spread among the ``layers``, families are distinguished;
    ``above`` is the network without families, whose optimal face then restricts this one.

    - ``of``, ``pool`` [I] group and pool of each item; ``count``, ``kind``, ``family`` [G]
    - ``some`` [G] an item of each group; ``up`` [G] its group in the network above, or itself
    - ``own``: (group, slot, how many of the group's items are there), three arrays
    - ``has_node`` [G, Z]: whether the group has a separate node for the zone
    """

    def __init__(
        self,
        problem: AssignmentProblem,
        layers: tuple[str, ...],
        layout: ItemLayout,
        above: ItemNetwork | None = None,
    ) -> None:
        self.problem, self.layers = problem, layers
        self.layout, self.above = layout, above
        items, e, zones = problem.items, problem.slots, problem.zones
        self.families = SPREAD in layers
        pool = problem.item_class + self.families * problem.family * len(problem.demands)
        _, some, self.pool = numbered(pool)
        self.pool_family, self.pool_kind = problem.family[some], problem.item_class[some]
        label = np.where(layout.individual, len(some) + np.arange(items), self.pool)
        alike = np.flatnonzero(layout.by_zones & ~layout.individual)
        label[alike] = len(some) + items + _rows_alike(self.pool[alike], problem.in_zones[alike])
        _, some, self.of = numbered(label)
        self.count = np.bincount(self.of).astype(np.int64)
        self.kind, self.family, self.some = problem.item_class[some], problem.family[some], some
        self.group_pool, self.wide = self.pool[some], layout.wide[some]
        item, slot = problem.owned
        pair, number = counted(self.of[item] * e + slot)
        self.own = (pair // e, pair % e, number.astype(np.int64))
        # a group without a slot in a zone reaches it through the pool only
        if above is None:
            self.up = np.arange(len(self.count))
            self.has_node = np.repeat(self.wide[:, None], zones, axis=1)
            self.has_node[self.own[0], problem.zone_of[self.own[1]]] = True
        else:
            self.up = above.of[some]
            self.has_node = above.has_node[self.up]
        self._number_nodes()

    def _number_nodes(self) -> None:
        e, zones = self.problem.slots, self.problem.zones
        pools, has_node = len(self.pool_family), int(self.has_node.sum())
        first = np.cumsum([len(self.count), has_node, pools * zones, e])
        self.zone_node = np.full(self.has_node.shape, -1, dtype=np.int64)
        self.zone_node[self.has_node] = first[0] + np.arange(has_node)
        self.pool_node = first[1] + np.arange(pools * zones).reshape(pools, zones)
        self.slot_node = first[2] + np.arange(e)
        self.sink = int(first[3])

    # -- layout

    def network(self) -> Network:
        """All arcs but those of the convex costs, whose windows may have to grow."""
        ends = [self._own_slots(), self._pool_slots(), self._wide_slots()]
        nodes = self.sink + 1
        self.cells: Cells | None = None
        if self.families:
            merge = MOVES not in self.layers  # which wide items that move alone cost
            self.cells = Cells(self.problem, ends, nodes, merge=merge)
            nodes += self.cells.nodes
        network = Network(nodes, len(self.layers))
        demand = self.problem.demands[self.kind] * self.count
        network.supply[: len(demand)] = demand
        network.supply[self.sink] = -int(demand.sum())
        self._lay_zones(network)
        self._lay_pools(network)
        self.keep, self.take, self.reach = (
            self._lay_slots(network, kind, one) for kind, one in enumerate(ends)
        )
        if self.above is None:
            network.push(self.slot_node, self.sink, self.problem.load_bounds[0])
        else:
            low, high = self.above.loads()
            network.push(self.slot_node, self.sink, low)
            network.arcs(self.slot_node, self.sink, high - low)
        return network

    def _lay_zones(self, network: Network) -> None:
        """group -> (group, zone), or its pool: between least and most slots per item."""
        problem, zones = self.problem, self.problem.zones
        least, most = (bound[self.kind] for bound in problem.bounds)
        into = np.where(self.has_node, self.zone_node, self.pool_node[self.group_pool])
        self.low = np.repeat((least * self.count)[:, None], zones, axis=1)
        slack = np.repeat(((most - least) * self.count)[:, None], zones, axis=1)
        tail = np.repeat(np.arange(len(self.count)), zones)
        network.push(tail, into.ravel(), self.low.ravel())
        key = (self.up[:, None] * zones + np.arange(zones)).ravel()
        new_in_zone = self._cost(MOVES, ~self.has_node.ravel())
        if DRIFT not in self.layers:
            self.zone = self._arcs(
                network, "zone", key, tail, into.ravel(), slack.ravel(), new_in_zone
            )
            return
        # of equally good counts, those that keep the items of each zone can be disaggregated
        group, slot, number = self.own
        have = np.zeros_like(slack)
        np.add.at(have, (group, problem.zone_of[slot]), number)
        mixed = (self.count > 1) & ~self.layout.by_zones[self.some]
        stay = np.where(mixed[:, None], np.clip(have - self.low, 0, slack), slack)
        fixed, free = self._decided("zone", key, slack.ravel())
        network.push(tail, into.ravel(), fixed)
        stay_free = np.minimum(stay.ravel(), free)
        at = network.arcs(tail, into.ravel(), stay_free, new_in_zone)
        self.zone = _Arcs(at, np.arange(len(key)), key, fixed)
        drift = new_in_zone | self._cost(DRIFT, 1)
        network.arcs(tail, into.ravel(), free - stay_free, drift)

    def _lay_pools(self, network: Network) -> None:
        """(group, zone) -> (pool, zone): new slots."""
        zones = self.problem.zones
        most = self.problem.bounds[1][self.kind] * self.count
        group, zone = np.nonzero(self.has_node & ~self.wide[:, None])
        self.new_at = (group, zone)
        self.new = self._arcs(
            network,
            "new",
            self.up[group] * zones + zone,
            self.zone_node[group, zone],
            self.pool_node[self.group_pool[group], zone],
            most[group],
            self._cost(MOVES, 1),
        )

    def _own_slots(self) -> _Ends:
        """(group, zone) -> the slots that its items hold today, at no cost."""
        group, slot, number = self.own
        tail = self.zone_node[group, self.problem.zone_of[slot]]
        key = self.up[group] * self.problem.slots + slot
        return self._ends("keep", key, tail, self.family[group], slot, number, number)

    def _pool_slots(self) -> _Ends:
        """(pool, zone) -> the slots that not all of its items hold."""
        problem, e = self.problem, self.problem.slots
        narrow = ~self.layout.wide
        size = np.bincount(self.pool[narrow], minlength=len(self.pool_family))
        others = np.repeat(size[:, None], e, axis=1)
        item, slot = problem.owned
        item, slot = item[narrow[item]], slot[narrow[item]]
        np.subtract.at(others, (self.pool[item], slot), 1)
        self.left_out = np.zeros(others.shape, dtype=np.bool_)
        if self.included is not None:
            self.left_out = (others > 0) & ~self.included & self._undecided()[self.pool_kind]
            others[self.left_out] = 0
        pool, slot = np.nonzero(others)
        self.take_at = (pool, slot)
        tail = self.pool_node[pool, problem.zone_of[slot]]
        key = self.pool_kind[pool] * e + slot
        return self._ends("take", key, tail, self.pool_family[pool], slot, others[pool, slot])

    def _wide_slots(self) -> _Ends:
        """(wide item, zone) -> every slot that it does not hold."""
        e = self.problem.slots
        wide = np.flatnonzero(self.wide)
        open_ = np.ones((len(wide), e), dtype=np.bool_)
        own = self.wide[self.own[0]]
        open_[np.searchsorted(wide, self.own[0][own]), self.own[1][own]] = False
        place, slot = np.nonzero(open_)
        group = wide[place]
        self.wide_at = (group, slot)
        tail = self.zone_node[group, self.problem.zone_of[slot]]
        one, cost = np.ones_like(slot), self._cost(MOVES, 1)
        key = self.up[group] * e + slot
        return self._ends("reach", key, tail, self.family[group], slot, one, costs=cost)

    def _ends(
        self,
        kind: str,
        key: Ints,
        tail: Ints,
        family: Ints,
        slot: Ints,
        capacity: Ints,
        held: Ints | None = None,
        costs: dict[int, npt.ArrayLike] | None = None,
    ) -> _Ends:
        fixed, free = self._decided(kind, key, capacity)
        if held is None:
            held = np.zeros_like(capacity)
        return _Ends(tail, family, slot, fixed, free, held, key, costs or {})

    def _lay_slots(self, network: Network, kind: int, ends: _Ends) -> _Arcs:
        """-> [(family, slot)] -> slot."""
        laid, at = lay_ends(network, ends, self.slot_node, self.cells, kind, ends.costs)
        return _Arcs(at, laid, ends.key, ends.fixed)

    def _cost(self, cost: str, values: npt.ArrayLike) -> dict[int, npt.ArrayLike]:
        return {self.layers.index(cost): values} if cost in self.layers else {}

    def _arcs(
        self,
        network: Network,
        kind: str,
        key: Ints,
        tail: Ints,
        head: Ints,
        capacity: Ints,
        costs: dict[int, npt.ArrayLike],
    ) -> _Arcs:
        fixed, free = self._decided(kind, key, capacity)
        network.push(tail, head, fixed)
        at = network.arcs(tail, head, free, costs)
        return _Arcs(at, np.arange(len(key)), key, fixed)

    def _decided(self, kind: str, key: Ints, capacity: Ints) -> tuple[Ints, Ints]:
        """The fixed flow and the free capacity that the optimal face of the network above leaves to
        arcs."""
        if self.above is None:
            return np.zeros_like(capacity), capacity
        arcs: _Arcs = getattr(self.above, kind)
        state = self.above.optimum.face(-1, arcs.at)[np.searchsorted(arcs.key, key)]
        return np.where(state == FULL, capacity, 0), np.where(state == FREE, capacity, 0)

    def guess(self, network: Network) -> dict[str, Squares]:
        """The convex costs, with windows around an estimate."""
        squares: dict[str, Squares] = {}
        if self.cells is not None:
            if self.layers[0] == SPREAD:
                last = last_unit(self.problem)
                network.guess[: len(self.family)] = -last[self.family]
                group, zone = np.nonzero(self.has_node)
                network.guess[self.zone_node[group, zone]] = -last[self.family[group]]
                network.guess[self.pool_node] = -last[self.pool_family, None]
                self.cells.guess(network)
            squares[SPREAD] = self.cells.squares(self.slot_node)
        if self.above is None:
            squares[LOAD] = load_squares(self.problem, self.slot_node, self.sink)
        return squares

    def solve(self) -> bool:
        """Solve it; False when infeasible."""
        pairs = len(self.pool_family) * self.problem.slots
        if self.above is not None and self.layers[0] == SPREAD and pairs > ALL_PAIRS:
            self.included = self._emptiest()
        return self.solve_with_columns()

    def _undecided(self) -> Bools:
        """[C, E] new slots of pools that the optimal face of the network above leaves free."""
        assert self.above is not None
        take, e = self.above.take, self.problem.slots
        state = self.above.optimum.face(-1, take.at) == FREE
        table = np.zeros((len(self.problem.demands), e), dtype=np.bool_)
        table[take.key // e, take.key % e] = state
        return table

    def _emptiest(self) -> Bools:
        problem = self.problem
        item, slot = problem.owned
        pools = len(self.pool_family)
        assert self.above is not None
        open_ = self._undecided()[self.pool_kind]
        most = self.above.loads()[1]
        total = np.bincount(self.pool, problem.demand, minlength=pools).astype(np.float64)
        kept = np.bincount(self.pool[item], kept_share(problem, most)[slot], minlength=pools)
        return emptiest(problem, self.pool_family, total - kept, open_, most)

    def _improving(self, distance: Ints) -> Bools:
        """[pools, E] columns left out that would lower the first cost."""
        assert self.cells is not None
        reduced = distance[self.pool_node][:, self.problem.zone_of]
        dual = self.cells.duals(distance, self.slot_node)
        return np.asarray(self.left_out & (reduced < dual[self.pool_family]))

    def _solve_laid_out(self) -> bool:
        """Solve; False when infeasible."""
        network = self.network()
        self.squares = self.guess(network)
        layers = {self.layers.index(cost): one for cost, one in self.squares.items()}
        optimum = minimise(
            network, layers, prove_last=self.layers[-1] != DRIFT, unfit=self.columns_missing
        )
        if optimum is None:
            return False
        self.optimum = optimum
        self.flows = [self._of_arcs(arcs) for arcs in (self.keep, self.take, self.reach)]
        if self.cells is not None:
            without = self.cells.flows(optimum.flow[self.squares[SPREAD].at])
            for flow, more in zip(self.flows, without, strict=True):
                flow += more
        return True

    # -- results

    def loads(self) -> tuple[Ints, Ints]:
        """[E] the least and the greatest load over all optima, without base."""
        at, (least, _) = self.squares[LOAD].at, self.problem.load_bounds
        return least + self.optimum.low[-1][at], least + self.optimum.high[-1][at]

    def _of_arcs(self, arcs: _Arcs) -> Ints:
        flow = arcs.fixed.copy()
        flow[arcs.laid] += self.optimum.flow[arcs.at]
        return flow

    def counts(self) -> Counts:
        """The counts to disaggregate."""
        problem = self.problem
        kept, taken, reaching = self.flows
        asked = np.zeros((len(self.pool_family), problem.slots), dtype=np.int64)
        asked[self.take_at] = taken
        new_in_zone = (self._of_arcs(self.zone).reshape(self.low.shape) + self.low) * ~self.has_node
        new_in_zone[self.new_at] = self._of_arcs(self.new)
        shared = self._shared(new_in_zone, kept)
        new_of_item = np.where(self.layout.individual[:, None], new_in_zone[self.of], 0)
        new_of_item[shared[self.of]] = self._distributed(shared, new_in_zone)
        reached = reaching > 0
        return Counts(
            problem=problem,
            of=self.of,
            own=self.own,
            kept=kept,
            pool=self.pool,
            asked=asked,
            individual=self.layout.individual | shared[self.of],
            new_in_zone=new_of_item,
            taken=(self.some[self.wide_at[0][reached]], self.wide_at[1][reached]),
        )

    def _shared(self, new_in_zone: Ints, kept: Ints) -> Bools:
        """[G] groups of items that are alike and stay where they are: each takes at most one new
        slot of a zone, of those in which it holds none."""
        stays = np.ones(len(self.count), dtype=np.bool_)
        stays[self.own[0][kept < self.own[2]]] = False
        at_most = np.where(self.has_node, 0, self.count[:, None])
        one_each = (new_in_zone <= at_most).all(axis=1)
        alone = self.layout.individual[self.some]
        return np.asarray(self.layout.by_zones[self.some] & ~alone & stays & one_each)

    def _distributed(self, groups: Bools, new_in_zone: Ints) -> Ints:
        """[N, Z] the new slots of each zone for the items of some groups [G], in their order: zone
        by zone, one item after the other."""
        item = np.flatnonzero(groups[self.of])
        item_order = stable_order(self.of[item])
        asked = new_in_zone[groups]
        zone = np.repeat(np.tile(np.arange(asked.shape[1]), len(asked)), asked.ravel())
        total, width = asked.sum(axis=1), self.count[groups]
        turn = np.arange(len(zone)) - np.repeat(np.cumsum(total) - total, total)
        first = np.repeat(np.cumsum(width) - width, total)
        taker = item_order[first + turn % np.repeat(width, total)]
        new = np.zeros((len(item), asked.shape[1]), dtype=np.int64)
        new[taker, zone] = 1
        return new

    def costs(self) -> dict[str, int]:
        """The three costs of the counts found."""
        kept, taken, reaching = self.flows
        parts = (
            (self.family[self.own[0]], self.own[1], kept),
            (self.pool_family[self.take_at[0]], self.take_at[1], taken),
            (self.family[self.wide_at[0]], self.wide_at[1], reaching),
        )
        family, slot, number = (np.concatenate(part) for part in zip(*parts, strict=True))
        return self.problem.costs_of_counts(family, slot, number, int(taken.sum() + reaching.sum()))

    def prices(self) -> Prices:
        """Dual values per cost: what one more unit costs per slot and per (family, slot)."""
        found: Prices = {}
        for layer, cost in enumerate(self.layers):
            if cost == DRIFT:
                continue
            distance = self.optimum.distance[layer]
            cells = None
            if self.cells is not None and cost == SPREAD:
                cells = self.cells.duals(distance, self.slot_node)
            elif self.cells is not None:
                cells = self.cells.node_duals(distance)
            found[cost] = (
                distance[self.sink] - distance[self.slot_node],
                None if cells is None else distance[self.sink] - cells,
            )
        return found


def _rows_alike(label: Ints, rows: Ints) -> Ints:
    """[N] numbers from 0: equal where the label and the row [N, any] are equal."""
    for column in rows.T:
        label = label * (int(column.max(initial=0)) + 1) + column
        label = numbered(label)[2]
    return label
