"""The network in which some items, or all, are a group of their own.

``group -> (group, zone) -> own slots -> [(family, slot)] -> slot -> sink`` as at the coarser
resolutions, but what is taken anew goes through a *pool*, which all items of a class (and family)
share: ``(group, zone) -> (pool, zone) -> [(family, slot)]``. An item has no arc to every slot, only
to those it sits on and one per zone, so that as many items as there are may stand alone.

What a pool forgets is who takes which slot. An item that takes one slot of a zone and keeps none
there may take any slot of the pool: were it one that the item had, keeping it would have been
cheaper. So where an item takes at most one slot of a zone (as many zones as slots, or more) nothing
is lost and the network is exact. Elsewhere an item might be dealt the same slot twice. Items for
which that happens are laid out *wide*, with an arc to every slot, which is exact always.

Where spread comes last it has a network of its own: loads and moves are settled in one without
families, which is small, and spread in one with families, on the face that the other leaves.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from partage.flow.assignment.count_network import (
    DRIFT,
    LAID_OUT_WHOLE,
    InParts,
    emptiest,
    fair_guess,
    first_duals,
)
from partage.flow.assignment.disaggregation import Counts
from partage.flow.assignment.problem import LOAD, MOVES, SPREAD, AssignmentProblem
from partage.flow.network import FREE, FULL, Network, Squares, minimise_squares

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
Prices = dict[str, tuple[Ints, Ints | None]]


@dataclass(frozen=True, eq=False)
class Apart:
    """[I] which items are a group of their own, and which of these are laid out wide."""

    alone: Bools
    wide: Bools


@dataclass(frozen=True, eq=False)
class Settled:
    """Counts to deal out, what they cost, and the prices that prove it."""

    counts: Counts
    costs: dict[str, int]
    prices: Prices


def settle(problem: AssignmentProblem, order: tuple[str, ...], apart: Apart) -> Settled:
    """The optimum of the network, its costs minimised in this order."""
    if order[-1] == SPREAD:
        above = ItemNetwork(problem, order[:-1], apart)
        if not above.solve():
            raise AssertionError("every item can be placed on its own, so all can")
        network = ItemNetwork(problem, (SPREAD, DRIFT), apart, above)
        # in rare cases families rule out what is possible without them
        if network.solve():
            return Settled(network.counts(), network.costs(), above.prices() | network.prices())
    network = ItemNetwork(problem, (*order, DRIFT), apart)
    if not network.solve():
        raise AssertionError("every item can be placed on its own, so all can")
    return Settled(network.counts(), network.costs(), network.prices())


@dataclass(frozen=True, eq=False)
class _Arcs:
    """Arcs of one kind: where they are, and the flow on them that is decided already. ``key``,
    ascending where there is no network above, finds an arc from the network below."""

    at: slice
    key: Ints
    fixed: Ints


class ItemNetwork(InParts):
    """The network and its optimum. With topic spread among the ``layers`` families are told apart;
    ``above`` is the network without families, to whose optima it is then confined.

    - ``of``, ``pool`` [I] group and pool of each item; ``count``, ``kind``, ``family`` [G]
    - ``some`` [G] an item of each group; ``up`` [G] its group in the network above, or itself
    - ``own``: (group, slot, how many of the group's items sit there), three arrays
    - ``noded`` [G, Z]: whether the group has a node of its own for the zone
    """

    def __init__(
        self,
        problem: AssignmentProblem,
        layers: tuple[str, ...],
        apart: Apart,
        above: ItemNetwork | None = None,
    ) -> None:
        self.problem, self.layers = problem, layers
        self.apart, self.above = apart, above
        items, e, zones = problem.items, problem.slots, problem.zones
        self.families = SPREAD in layers
        pool = problem.item_class + self.families * problem.family * len(problem.demands)
        _, some, self.pool = (
            part.astype(np.int64).ravel()
            for part in np.unique(pool, return_index=True, return_inverse=True)
        )
        self.pool_family, self.pool_kind = problem.family[some], problem.item_class[some]
        label = np.where(apart.alone, len(some) + np.arange(items), self.pool)
        _, some, self.of = (
            part.astype(np.int64).ravel()
            for part in np.unique(label, return_index=True, return_inverse=True)
        )
        self.count = np.bincount(self.of).astype(np.int64)
        self.kind, self.family, self.some = problem.item_class[some], problem.family[some], some
        self.group_pool, self.wide = self.pool[some], apart.wide[some]
        item, slot = problem.owned
        pair, number = np.unique(self.of[item] * e + slot, return_counts=True)
        self.own = (pair // e, pair % e, number.astype(np.int64))
        # a zone in which a group sits nowhere is reached through the pool alone
        if above is None:
            self.up = np.arange(len(self.count))
            self.noded = np.repeat(self.wide[:, None], zones, axis=1)
            self.noded[self.own[0], problem.zone_of[self.own[1]]] = True
        else:
            self.up = above.of[some]
            self.noded = above.noded[self.up]
        self._number_nodes()

    def _number_nodes(self) -> None:
        problem, e, zones = self.problem, self.problem.slots, self.problem.zones
        pools, noded = len(self.pool_family), int(self.noded.sum())
        families = len(problem.family_base) if self.families else 0
        first = np.cumsum([len(self.count), noded, pools * zones, e, 1, families * e])
        self.zone_node = np.full(self.noded.shape, -1, dtype=np.int64)
        self.zone_node[self.noded] = first[0] + np.arange(noded)
        self.pool_node = first[1] + np.arange(pools * zones).reshape(pools, zones)
        self.slot_node = first[2] + np.arange(e)
        self.sink = int(first[3])
        self.spread_node = first[4] + np.arange(families * e).reshape(families, e)
        self.nodes = int(first[5])

    # -- layout

    def network(self) -> Network:
        """Lay out everything but the squares, whose windows may have to be widened."""
        problem = self.problem
        network = Network(self.nodes, len(self.layers))
        demand = problem.demands[self.kind] * self.count
        network.supply[: len(demand)] = demand
        network.supply[self.sink] = -int(demand.sum())
        # [F, E] what may flow into the families' nodes, and what surely does
        self.room, self.sure = (np.zeros(self.spread_node.shape, dtype=np.int64) for _ in "rs")
        self._lay_zones(network)
        self._lay_own_slots(network)
        self._lay_pools(network)
        self._lay_wide(network)
        if self.above is not None:
            low, high = self.above.loads()
            network.push(self.slot_node, self.sink, low)
            network.arcs(self.slot_node, self.sink, high - low)
        return network

    def _lay_zones(self, network: Network) -> None:
        """group -> (group, zone), or its pool: between least and most slots per item."""
        problem, zones = self.problem, self.problem.zones
        least, most = (bound[self.kind] for bound in problem.bounds)
        into = np.where(self.noded, self.zone_node, self.pool_node[self.group_pool])
        self.low = np.repeat((least * self.count)[:, None], zones, axis=1)
        room = np.repeat(((most - least) * self.count)[:, None], zones, axis=1)
        tail = np.repeat(np.arange(len(self.count)), zones)
        network.push(tail, into.ravel(), self.low.ravel())
        key = (self.up[:, None] * zones + np.arange(zones)).ravel()
        anew = self._cost(MOVES, ~self.noded.ravel())
        if DRIFT not in self.layers:
            self.zone = self._arcs(network, "zone", key, tail, into.ravel(), room.ravel(), anew)
            return
        # of equally good counts, those that leave each zone what it has can be dealt out
        group, slot, number = self.own
        have = np.zeros_like(room)
        np.add.at(have, (group, problem.zone_of[slot]), number)
        stay = np.where(self.count[:, None] > 1, np.clip(have - self.low, 0, room), room)
        fixed, free = self._decided(network, "zone", key, tail, into.ravel(), room.ravel())
        stay_free = np.minimum(stay.ravel(), free)
        at = network.arcs(tail, into.ravel(), stay_free, anew)
        self.zone = _Arcs(at, key, fixed)
        drift = anew | self._cost(DRIFT, 1)
        network.arcs(tail, into.ravel(), free - stay_free, drift)

    def _lay_own_slots(self, network: Network) -> None:
        """(group, zone) -> the slots that its items sit on, at no cost."""
        group, slot, number = self.own
        self.keep = self._arcs(
            network,
            "keep",
            self.up[group] * self.problem.slots + slot,
            self.zone_node[group, self.problem.zone_of[slot]],
            self._head(self.family[group], slot),
            number,
        )

    def _lay_pools(self, network: Network) -> None:
        """(group, zone) -> (pool, zone) -> the slots that not all of its items sit on."""
        problem, e, zones = self.problem, self.problem.slots, self.problem.zones
        most = problem.bounds[1][self.kind] * self.count
        group, zone = np.nonzero(self.noded & ~self.wide[:, None])
        self.anew_at = (group, zone)
        self.anew = self._arcs(
            network,
            "anew",
            self.up[group] * zones + zone,
            self.zone_node[group, zone],
            self.pool_node[self.group_pool[group], zone],
            most[group],
            self._cost(MOVES, 1),
        )
        narrow = ~self.apart.wide
        size = np.bincount(self.pool[narrow], minlength=len(self.pool_family))
        others = np.repeat(size[:, None], e, axis=1)
        item, slot = problem.owned
        item, slot = item[narrow[item]], slot[narrow[item]]
        np.subtract.at(others, (self.pool[item], slot), 1)
        self.left_out = np.zeros(others.shape, dtype=np.bool_)
        if self.part is not None:
            self.left_out = (others > 0) & ~self.part & self._undecided()[self.pool_kind]
            others[self.left_out] = 0
        pool, slot = np.nonzero(others)
        self.take_at = (pool, slot)
        self.take = self._arcs(
            network,
            "take",
            self.pool_kind[pool] * e + slot,
            self.pool_node[pool, problem.zone_of[slot]],
            self._head(self.pool_family[pool], slot),
            others[pool, slot],
        )

    def _lay_wide(self, network: Network) -> None:
        """(wide item, zone) -> every slot on which it does not sit."""
        e = self.problem.slots
        wide = np.flatnonzero(self.wide)
        group, slot = np.repeat(wide, e), np.tile(np.arange(e), len(wide))
        sits = np.isin(group * e + slot, self.own[0] * e + self.own[1])
        group, slot = group[~sits], slot[~sits]
        self.wide_at = (group, slot)
        self.reach = self._arcs(
            network,
            "reach",
            self.up[group] * e + slot,
            self.zone_node[group, self.problem.zone_of[slot]],
            self._head(self.family[group], slot),
            np.ones_like(slot),
            self._cost(MOVES, 1),
        )

    def _cost(self, cost: str, values: npt.ArrayLike) -> dict[int, npt.ArrayLike]:
        return {self.layers.index(cost): values} if cost in self.layers else {}

    def _head(self, family: Ints, slot: Ints) -> Ints:
        head = self.spread_node[family, slot] if self.families else self.slot_node[slot]
        return np.asarray(head, dtype=np.int64)

    def _arcs(
        self,
        network: Network,
        kind: str,
        key: Ints,
        tail: Ints,
        head: Ints,
        capacity: Ints,
        costs: dict[int, npt.ArrayLike] | None = None,
    ) -> _Arcs:
        fixed, free = self._decided(network, kind, key, tail, head, capacity)
        return _Arcs(network.arcs(tail, head, free, costs), key, fixed)

    def _decided(
        self, network: Network, kind: str, key: Ints, tail: Ints, head: Ints, capacity: Ints
    ) -> tuple[Ints, Ints]:
        """What the network above leaves of arcs: the flow that is fixed, supplies settled for it,
        and what is free."""
        fixed, free = np.zeros_like(capacity), capacity
        if self.above is not None:
            arcs: _Arcs = getattr(self.above, kind)
            state = self.above.optimum.face[-1, arcs.at][np.searchsorted(arcs.key, key)]
            fixed = np.where(state == FULL, capacity, 0)
            free = np.where(state == FREE, capacity, 0)
            network.push(tail, head, fixed)
        if self.families and kind in ("keep", "take", "reach"):
            place = head - self.spread_node[0, 0]
            np.add.at(self.room.reshape(-1), place, free)
            np.add.at(self.sure.reshape(-1), place, fixed)
        return fixed, free

    def guess(self, network: Network) -> dict[str, Squares]:
        """First windows of the convex costs, around what looks fair."""
        problem, e = self.problem, self.problem.slots
        squares: dict[str, Squares] = {}
        if self.families:
            # what is sure passes through the families' nodes as well
            passed = np.flatnonzero(self.sure)
            amount = self.sure.ravel()[passed]
            network.push(self.spread_node.ravel()[passed], self.slot_node[passed % e], amount)
            held = np.zeros_like(self.sure)
            item, slot = problem.owned
            np.add.at(held, (problem.family[item], slot), 1)
            total = np.bincount(problem.family, problem.demand, minlength=len(held))
            even = np.ceil((total + problem.family_base.sum(axis=1)) / e).astype(np.int64)
            at = np.flatnonzero(self.room)
            base = (problem.family_base + self.sure).ravel()[at]
            held_at = (held - self.sure).ravel()[at]
            even_at = even[at // e] - base
            squares[SPREAD] = Squares(
                tail=self.spread_node.ravel()[at],
                head=self.slot_node[at % e],
                capacity=self.room.ravel()[at],
                weight=np.ones_like(at),
                base=base,
                low=np.minimum(held_at, even_at) - 2,
                high=np.maximum(held_at, even_at) + 2,
            )
        if self.above is None:
            fair = fair_guess(problem)
            squares[LOAD] = Squares(
                tail=self.slot_node,
                head=np.full(e, self.sink),
                capacity=np.full(e, int(problem.demand.sum())),
                weight=problem.weight,
                base=problem.base,
                low=fair - 3,
                high=fair + 3,
            )
        return squares

    def solve(self) -> bool:
        """Solve it; False when infeasible."""
        pairs = len(self.pool_family) * self.problem.slots
        if self.above is not None and self.layers[0] == SPREAD and pairs > LAID_OUT_WHOLE:
            self.part = self._emptiest()
        return self.solve_in_parts()

    def _undecided(self) -> Bools:
        """[C, E] what the optima of the network above leave open of what pools take."""
        assert self.above is not None
        take, e = self.above.take, self.problem.slots
        state = self.above.optimum.face[-1, take.at] == FREE
        table = np.zeros((len(self.problem.demands), e), dtype=np.bool_)
        table[take.key // e, take.key % e] = state
        return table

    def _emptiest(self) -> Bools:
        problem = self.problem
        item, slot = problem.owned
        held = problem.family_base.copy()
        np.add.at(held, (problem.family[item], slot), 1)
        pools = len(self.pool_family)
        missing = np.bincount(self.pool, problem.demand, minlength=pools)
        missing -= np.bincount(self.pool[item], minlength=pools)
        return emptiest(problem, held[self.pool_family], missing.astype(np.int64))

    def _pays(self) -> Bools:
        """[pools, E] what is left out and would lower the first cost."""
        reduced = self.optimum.distance[0][self.pool_node][:, self.problem.zone_of]
        return np.asarray(self.left_out & (reduced < self._cells()[self.pool_family]))

    def _cells(self) -> Ints:
        """[F, E] first dual values of (family, slot): where nothing laid out leads there, what its
        first unit costs decides."""
        distance, tail = self.optimum.distance[0], self.squares[SPREAD].tail
        held = self.problem.family_base + self.sure
        return first_duals(distance, self.slot_node, self.spread_node, tail, held)

    def _solve_laid_out(self) -> bool:
        """Solve; False when infeasible."""
        network = self.network()
        self.squares = self.guess(network)
        layers = {self.layers.index(cost): one for cost, one in self.squares.items()}
        optimum = minimise_squares(network, layers)
        if optimum is None:
            return False
        self.optimum = optimum
        return True

    # -- what comes out

    def loads(self) -> tuple[Ints, Ints]:
        """[E] the least and the greatest load, beyond the base, that the optima leave a slot."""
        load = self.squares[LOAD]
        return load.bounds(self.optimum.face[-1, load.at])

    def _flow(self, arcs: _Arcs) -> Ints:
        return np.asarray(self.optimum.flow[arcs.at] + arcs.fixed, dtype=np.int64)

    def counts(self) -> Counts:
        """The counts to deal out to the items."""
        problem = self.problem
        asked = np.zeros((len(self.pool_family), problem.slots), dtype=np.int64)
        asked[self.take_at] = self._flow(self.take)
        anew = (self._flow(self.zone).reshape(self.low.shape) + self.low) * ~self.noded
        anew[self.anew_at] = self._flow(self.anew)
        anew[~self.apart.alone[self.some]] = 0
        reached = self._flow(self.reach) > 0
        return Counts(
            problem=problem,
            of=self.of,
            own=self.own,
            kept=self._flow(self.keep),
            pool=self.pool,
            asked=asked,
            alone=self.apart.alone,
            anew=anew[self.of],
            taken=(self.some[self.wide_at[0][reached]], self.wide_at[1][reached]),
        )

    def costs(self) -> dict[str, int]:
        """The three costs of the counts found."""
        count = self.problem.family_base.copy()
        new = self._flow(self.take), self._flow(self.reach)
        np.add.at(count, (self.family[self.own[0]], self.own[1]), self._flow(self.keep))
        np.add.at(count, (self.pool_family[self.take_at[0]], self.take_at[1]), new[0])
        np.add.at(count, (self.family[self.wide_at[0]], self.wide_at[1]), new[1])
        return self.problem.costs_of_counts(count, int(new[0].sum() + new[1].sum()))

    def prices(self) -> Prices:
        """Dual values per cost: what one more unit costs per slot and per (family, slot)."""
        found: Prices = {}
        for layer, cost in enumerate(self.layers):
            if cost == DRIFT:
                continue
            distance = self.optimum.distance[layer]
            cells = distance[self.spread_node] if self.families else None
            if self.part is not None and layer == 0:
                cells = self._cells()
            found[cost] = (
                distance[self.sink] - distance[self.slot_node],
                None if cells is None else distance[self.sink] - cells,
            )
        return found
