"""Which slots does each item sit on: the fairest loads, the fewest moves, the evenest spread.

Items (replica sets of partitions) each take ``demand`` distinct slots (brokers). Slots lie in zones
(racks); an item takes at least ``least`` and at most ``most`` slots of each zone. Items belong to
families (topics). Three costs, minimised one after the other, in an order to choose:

- *load*: sum of ``weight * load**2`` over the slots, which yields the least majorised loads;
- *moves*: how many slots an item takes on which it does not already sit;
- *spread*: sum of ``count**2`` over (family, slot).

All of it is one network, ``group -> (group, zone) -> [(family, slot)] -> slot -> sink``, laid out
at three resolutions:

1. groups are *classes* of items with equal demand. Loads are exact here, since items of a class are
   interchangeable when only loads count; moves are a lower bound. A few hundred arcs.
2. groups are the classes within each *family*, on the face that 1 leaves: only the arcs that some
   optimum of 1 uses. Spread, given the moves of 1.
3. The counts of 2 are dealt out to the *items*, which is again a flow, family by family. When that
   works out, every bound is met and all three costs are proven.

When 2 or 3 does not work out (rare: the counts hide that two items would have to swap), the network
is laid out with one group per item, with only the arcs of the items' own slots and of a few others.
The arcs left out are priced with the dual values; the ones that would pay are added, and it is
solved again until none would.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from partage.flow.network import EMPTY, FREE, FULL, Faces, Network, Optimum, Squares, minimise

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

LOAD, MOVES, SPREAD = "load", "moves", "spread"
_DRIFT = "drift"
"""Of equally good counts, those that leave each zone what it has: they can be dealt out."""


def zone_bounds(demand: int, zone_sizes: Ints) -> tuple[int, int]:
    """How many slots of one zone an item of this demand takes, at least and at most.

    As many distinct zones as possible, then the smallest possible maximum per zone.
    """
    zones = len(zone_sizes)
    if demand <= zones:
        return 0, 1
    most = 1
    while int(np.minimum(zone_sizes, most).sum()) < demand:
        most += 1
    return 1, most


@dataclass(frozen=True, eq=False)
class Sharing:
    """I items to share out over E slots in Z zones.

    - ``family`` [I], ``demand`` [I] (at most E), ``own`` [I, K]: slots now taken, -1 padded
    - ``zone`` [E], ``weight`` [E] (integers from 1), ``base`` [E]: load that stays whatever happens
    - ``family_base`` [F, E]: the same by family
    - ``zoned``: False when zones set no rule
    - ``size`` [I]: what ties are evened out by (bytes); may be all 0
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
        return np.unique(self.demand)

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
        least, most = zip(*pairs, strict=True)
        return np.array(least, dtype=np.int64), np.array(most, dtype=np.int64)

    @cached_property
    def owned(self) -> tuple[Ints, Ints]:
        """Every (item, slot) now taken, ascending: two arrays."""
        item, column = np.nonzero(self.own >= 0)
        slot = self.own[item, column]
        order = np.lexsort((slot, item))
        return item[order].astype(np.int64), slot[order]


@dataclass(frozen=True, eq=False)
class Share:
    """The answer: ``slots`` [I, max demand] ascending, -1 padded, and what proves it.

    ``prices`` maps each cost to its dual values: per slot for load and moves, for spread a pair
    (per slot, per (family, slot)).
    """

    slots: Ints
    prices: dict[str, tuple[Ints, Ints | None]]
    order: tuple[str, ...]


def share(problem: Sharing, order: Sequence[str] = (LOAD, MOVES, SPREAD)) -> Share:
    """Solve it exactly. ``order`` is (load, moves, spread) or (spread, load, moves)."""
    if problem.items == 0:
        nothing = np.zeros(problem.slots, dtype=np.int64)
        family = np.zeros_like(problem.family_base)
        return Share(
            np.full((0, 1), -1, dtype=np.int64),
            {cost: (nothing, family if cost == SPREAD else None) for cost in order},
            tuple(order),
        )
    classes = _Groups.by(problem, problem.item_class, spread=False)
    label = problem.family * len(problem.demands) + problem.item_class
    families = _Groups.by(problem, np.unique(label, return_inverse=True)[1], spread=True)
    prices: dict[str, tuple[Ints, Ints | None]] = {}
    if order[0] == LOAD:
        coarse = _solve(classes, (LOAD, MOVES), None)
        assert coarse is not None, "every item can be placed on its own, so all can"
        prices = {LOAD: coarse.prices(0), MOVES: coarse.prices(1)}
        fair, rest = coarse.face(0), (MOVES, SPREAD)
        fine = _solve(families, (SPREAD, _DRIFT), coarse.face(1))
    else:
        fair, rest = None, tuple(order)
        fine = _solve(families, (*order, _DRIFT), None)
    if fine is None:
        slots, found = _ByItem(problem, rest, fair).solve()
        return Share(slots, prices | found, tuple(order))
    proven = {cost: fine.prices(i) for i, cost in enumerate(fine.layers) if cost != _DRIFT}
    slots, failed = _deal(fine)
    if len(failed) == 0:
        return Share(slots, prices | proven, tuple(order))
    # Some families cannot be dealt out as counted. Settle them, or more of them, item by item
    # while the others stay as dealt: proven if together they still cost no more than the bound.
    bound = fine.costs()
    while True:
        again = np.isin(problem.family, failed)
        if again.all():
            slots, found = _ByItem(problem, rest, fair).solve()
            return Share(slots, prices | found, tuple(order))
        part, window = _remainder(problem, fair, slots, again)
        slots = slots.copy()
        redone, _ = _ByItem(part, rest, window).solve()
        slots[again] = -1
        slots[again, : redone.shape[1]] = redone
        if _costs(problem, slots) == bound:
            return Share(slots, prices | proven, tuple(order))
        failed = _more(problem, failed)


def fairest_loads(problem: Sharing) -> Ints:
    """[E] fairest loads, base included, whatever the moves: stage one alone."""
    if problem.items == 0:
        return problem.base.copy()
    solved = _solve(_Groups.by(problem, problem.item_class, spread=False), (LOAD,), None)
    assert solved is not None and solved.load_squares is not None
    squares = solved.load_squares
    flow = solved.optimum.flow[solved.square_arcs[id(squares)]]
    return problem.base + squares.flows(flow)


def _remainder(
    problem: Sharing, fair: _Face | None, slots: Ints, again: Bools
) -> tuple[Sharing, _Face | None]:
    """The problem of the items ``again`` [I] alone, the others staying on their ``slots``."""
    others = slots[~again]
    rows, columns = np.nonzero(others >= 0)
    taken = np.bincount(others[rows, columns], minlength=problem.slots).astype(np.int64)
    names, family = np.unique(problem.family[again], return_inverse=True)
    part = Sharing(
        family=family.astype(np.int64),
        demand=problem.demand[again],
        own=problem.own[again],
        zone=problem.zone,
        weight=problem.weight,
        base=problem.base + taken,
        family_base=problem.family_base[names],
        zoned=problem.zoned,
        size=problem.size[again],
    )
    if fair is None:
        return part, None
    kept = np.searchsorted(problem.demands, part.demands)
    window = _Face(
        zone=fair.zone[kept],
        stay=fair.stay[kept],
        own=fair.own[kept],
        new=fair.new[kept],
        crowded=fair.crowded[kept],
        low=np.maximum(fair.low - taken, 0),
        high=np.maximum(fair.high - taken, 0),
    )
    return part, window


def _more(problem: Sharing, failed: Ints) -> Ints:
    """Four times as many families, those that failed among them."""
    rest = np.setdiff1d(np.arange(len(problem.family_base)), failed)
    return np.union1d(failed, rest[:: max(1, len(rest) // (3 * len(failed)))])


def _costs(problem: Sharing, slots: Ints) -> tuple[int, int, int]:
    """(load, moves, spread) of an arrangement [I, any], -1 padded."""
    item, column = np.nonzero(slots >= 0)
    slot = slots[item, column]
    count = problem.family_base.copy()
    np.add.at(count, (problem.family[item], slot), 1)
    own_item, own_slot = problem.owned
    e = problem.slots
    stays = np.isin(item * e + slot, own_item * e + own_slot)
    return _cost_of_counts(problem, count, len(item) - int(stays.sum()))


def _cost_of_counts(problem: Sharing, count: Ints, moves: int) -> tuple[int, int, int]:
    load = problem.base + (count - problem.family_base).sum(axis=0)
    return int((problem.weight * load * load).sum()), moves, int((count * count).sum())


# ---------------------------------------------------------------------- groups


@dataclass(frozen=True, eq=False)
class _Groups:
    """Items counted together. G groups.

    - ``of`` [I] group of each item; ``count`` [G], ``kind`` [G] class, ``family`` [G]
    - ``own``: (group, slot, how many of the group's items sit there), three arrays
    - ``stay`` [G, Z]: how many of the slots taken in a zone can be kept within ``most`` per item
    """

    problem: Sharing
    of: Ints
    count: Ints
    kind: Ints
    family: Ints
    own: tuple[Ints, Ints, Ints]
    stay: Ints
    crowded: Bools
    spread: bool

    @classmethod
    def by(cls, problem: Sharing, of: Ints, *, spread: bool) -> _Groups:
        groups = int(of.max()) + 1
        first = np.zeros(groups, dtype=np.int64)
        first[of[::-1]] = np.arange(len(of))[::-1]
        item, slot = problem.owned
        pair, number = np.unique(of[item] * problem.slots + slot, return_counts=True)
        zones = problem.zones
        in_zone, held = np.unique(item * zones + problem.zone_of[slot], return_counts=True)
        most = problem.bounds[1][problem.item_class[in_zone // zones]]
        place = of[in_zone // zones] * zones + in_zone % zones
        stay = np.bincount(place, np.minimum(held, most), minlength=groups * zones)
        have = np.bincount(place, held, minlength=groups * zones)
        return cls(
            problem=problem,
            of=of,
            count=np.bincount(of, minlength=groups).astype(np.int64),
            kind=problem.item_class[first],
            family=problem.family[first],
            own=(pair // problem.slots, pair % problem.slots, number.astype(np.int64)),
            stay=stay.astype(np.int64).reshape(groups, zones),
            crowded=(stay < have).reshape(groups, zones),
            spread=spread,
        )

    @property
    def groups(self) -> int:
        return len(self.count)


@dataclass(frozen=True, eq=False)
class _Face:
    """What the optima of a coarser network leave to a finer one, by class of items.

    ``zone``, ``stay`` [C, Z] and ``own``, ``new`` [C, E] hold FREE, EMPTY or FULL; ``crowded``
    [C, Z] says where ``stay`` binds;
    ``low``, ``high`` [E] bound the load of a slot beyond its base.
    """

    zone: Faces
    stay: Faces
    own: Faces
    new: Faces
    crowded: Bools
    low: Ints
    high: Ints


# ---------------------------------------------------------------------- one resolution


class _Solved:
    """The network of one resolution and its optimum.

    ``own_flow`` counts the kept per entry of ``groups.own``; ``new_at`` and ``new_flow`` the taken
    anew per (group, slot) that the network offered.
    """

    def __init__(self, groups: _Groups, layers: tuple[str, ...], within: _Face | None) -> None:
        self.groups, self.layers, self.within = groups, layers, within
        problem = groups.problem
        g, e, z = groups.groups, problem.slots, problem.zones
        self.zone_node = g + np.arange(g * z).reshape(g, z)
        self.stay_node = self.zone_node + g * z
        at = g + 2 * g * z
        self.slot_node = at + np.arange(e)
        self.sink = at + e
        at += e + 1
        families = len(problem.family_base)
        self.spread_node = (
            at + np.arange(families * e).reshape(families, e) if groups.spread else None
        )
        self.nodes = at + (families * e if groups.spread else 0)
        self.load_squares: Squares | None = None
        self.spread_squares: Squares | None = None

    # -- layout

    def _layer(self, cost: str, values: npt.ArrayLike) -> dict[int, npt.ArrayLike] | None:
        return {self.layers.index(cost): values} if cost in self.layers else None

    def network(self) -> Network:
        """Lay out everything but the squares, whose windows may have to be widened."""
        groups, problem, within = self.groups, self.groups.problem, self.within
        kind, count = groups.kind, groups.count
        least, most = problem.bounds
        network = Network(self.nodes, len(self.layers))
        supply = network.supply
        demand = problem.demands[kind] * count
        supply[: groups.groups] = demand
        supply[self.sink] = -int(demand.sum())

        # group -> (group, zone): between least and most slots per item
        low = np.repeat((least[kind] * count)[:, None], problem.zones, axis=1)
        room = np.repeat(((most - least)[kind] * count)[:, None], problem.zones, axis=1)
        if within is not None:
            state = within.zone[kind]
            low = np.where(state == FULL, low + room, low)
            room = np.where(state == FREE, room, 0)
        supply[: groups.groups] -= low.sum(axis=1)
        supply[self.zone_node.ravel()] += low.ravel()
        tail = np.repeat(np.arange(groups.groups), problem.zones)
        drift = np.zeros_like(room)
        if _DRIFT in self.layers:
            drift = room - np.clip(groups.stay - low, 0, room)
            network.arcs(tail, self.zone_node.ravel(), drift.ravel(), self._layer(_DRIFT, 1))
        self.zone_arcs = network.arcs(tail, self.zone_node.ravel(), (room - drift).ravel())

        # (group, zone) -> (group, zone, stay): some of the slots taken must go, zone rules say so
        crowded, limit = groups.crowded, groups.stay
        stay_state = np.full(crowded.shape, FREE, dtype=np.int8)
        if within is not None:
            crowded, stay_state = within.crowded[kind], within.stay[kind]
        full = crowded & (stay_state == FULL)
        np.subtract.at(supply, self.zone_node[full], limit[full])
        np.add.at(supply, self.stay_node[full], limit[full])
        self.stay_at = np.nonzero(crowded)
        self.stay_arcs = network.arcs(
            self.zone_node[crowded],
            self.stay_node[crowded],
            np.where(stay_state == FREE, limit, 0)[crowded],
        )

        # -> [(family, slot)] or slot: what is kept, and what is taken anew
        own_group, own_slot, own_count = groups.own
        own_zone = problem.zone_of[own_slot]
        self.own_tail = np.where(
            crowded[own_group, own_zone],
            self.stay_node[own_group, own_zone],
            self.zone_node[own_group, own_zone],
        )
        new_count = np.repeat(count[:, None], problem.slots, axis=1)
        new_count[own_group, own_slot] -= own_count
        own_state = np.full(len(own_group), FREE, dtype=np.int8)
        if within is not None:
            own_state = within.own[kind[own_group], own_slot]
            new_count[within.new[kind] == EMPTY] = 0
            taken = (within.new[kind] == FULL) & (new_count > 0)
        else:
            taken = np.zeros(new_count.shape, dtype=np.bool_)
        self.own_fixed = np.where(own_state == FULL, own_count, 0)
        self.new_fixed = np.where(taken, new_count, 0)
        own_free = np.where(own_state == FREE, own_count, 0)
        new_free = np.where(taken, 0, new_count)
        own_head = self._head(own_group, own_slot)
        np.subtract.at(supply, self.own_tail, self.own_fixed)
        np.add.at(supply, own_head, self.own_fixed)
        fixed_group, fixed_slot = np.nonzero(self.new_fixed)
        amount = self.new_fixed[fixed_group, fixed_slot]
        np.subtract.at(supply, self.zone_node[fixed_group, problem.zone_of[fixed_slot]], amount)
        np.add.at(supply, self._head(fixed_group, fixed_slot), amount)
        self.own_arcs = network.arcs(self.own_tail, own_head, own_free)
        new_group, new_slot = np.nonzero(new_free)
        self.new_at = (new_group, new_slot)
        self.new_arcs = network.arcs(
            self.zone_node[new_group, problem.zone_of[new_slot]],
            self._head(new_group, new_slot),
            new_free[new_group, new_slot],
            self._layer(MOVES, 1),
        )
        if within is not None:
            supply[self.slot_node] -= within.low
            supply[self.sink] += int(within.low.sum())
            network.arcs(self.slot_node, self.sink, within.high - within.low)
        return network

    def _head(self, group: Ints, slot: Ints) -> Ints:
        if self.spread_node is None:
            return self.slot_node[slot]
        return np.asarray(self.spread_node[self.groups.family[group], slot], dtype=np.int64)

    def guess(self, network: Network) -> None:
        """First windows of the convex costs, around what looks fair."""
        groups, problem = self.groups, self.groups.problem
        if self.within is None:
            fair = _fair_guess(problem)
            self.load_squares = Squares(
                tail=self.slot_node,
                head=np.full(problem.slots, self.sink),
                capacity=np.full(problem.slots, int(problem.demand.sum())),
                weight=problem.weight,
                base=problem.base,
                low=fair - 3,
                high=fair + 3,
            )
        if self.spread_node is None:
            return
        families = len(problem.family_base)
        tail, head, capacity, _ = network.compiled()
        place = head - self.spread_node[0, 0]
        into = (place >= 0) & (capacity > 0)
        room = np.bincount(place[into], capacity[into], minlength=families * problem.slots)
        fixed = np.zeros((families, problem.slots), dtype=np.int64)
        own_group, own_slot, own_count = groups.own
        np.add.at(fixed, (groups.family[own_group], own_slot), self.own_fixed)
        np.add.at(fixed, groups.family, self.new_fixed)
        held = np.zeros_like(fixed)
        np.add.at(held, (groups.family[own_group], own_slot), own_count)
        total = np.bincount(problem.family, problem.demand, minlength=families)
        even = (total + problem.family_base.sum(axis=1)) / problem.slots
        # what is fixed passes through its (family, slot) node as well
        passed = np.flatnonzero(fixed.ravel())
        amount = fixed.ravel()[passed]
        network.supply[self.spread_node.ravel()[passed]] -= amount
        np.add.at(network.supply, self.slot_node[passed % problem.slots], amount)
        at = np.flatnonzero(room > 0)
        base = (problem.family_base + fixed).ravel()[at]
        held_at = held.ravel()[at] - fixed.ravel()[at]
        even_at = np.ceil(even)[at // problem.slots].astype(np.int64) - base
        self.spread_squares = Squares(
            tail=self.spread_node.ravel()[at],
            head=self.slot_node[at % problem.slots],
            capacity=room[at].astype(np.int64),
            weight=np.ones(len(at), dtype=np.int64),
            base=base,
            low=np.minimum(held_at, even_at) - 2,
            high=np.maximum(held_at, even_at) + 2,
        )

    def solve(self) -> bool:
        """Solve, widening windows until every optimum lies inside; False when infeasible."""
        base = self.network()
        self.guess(base)
        while True:
            network = Network(self.nodes, len(self.layers))
            network.supply[:] = base.supply
            network._parts, network._count = list(base._parts), base._count
            squares: list[tuple[Squares, slice, int]] = []
            for cost, bundle in ((SPREAD, self.spread_squares), (LOAD, self.load_squares)):
                if bundle is not None:
                    layer = self.layers.index(cost) if cost in self.layers else -1
                    squares.append((bundle, bundle.add_to(network, layer), layer))
            optimum = minimise(network)
            if optimum is None:
                return False
            wider = [b.widen(optimum.face[layer, at]) for b, at, layer in squares if layer >= 0]
            if not any(wider):
                break
        self.optimum: Optimum = optimum
        self.square_arcs = {id(b): at for b, at, _ in squares}
        self.own_flow = optimum.flow[self.own_arcs] + self.own_fixed
        self.new_flow = optimum.flow[self.new_arcs]
        return True

    # -- what comes out

    def costs(self) -> tuple[int, int, int]:
        """(load, moves, spread) of the counts found."""
        groups, problem = self.groups, self.groups.problem
        count = problem.family_base.copy()
        new = self.taken_anew()
        np.add.at(count, (groups.family[groups.own[0]], groups.own[1]), self.own_flow)
        np.add.at(count, groups.family, new)
        return _cost_of_counts(problem, count, int(new.sum()))

    def taken_anew(self) -> Ints:
        """[G, E] how many items of the group take the slot anew."""
        asked = self.new_fixed.copy()
        asked[self.new_at] += self.new_flow
        return asked

    def prices(self, layer: int) -> tuple[Ints, Ints | None]:
        """Dual values of a layer: what one more unit costs per slot and per (family, slot)."""
        distance = self.optimum.distance[layer]
        slot = distance[self.sink] - distance[self.slot_node]
        if self.spread_node is None:
            return slot, None
        return slot, np.asarray(distance[self.sink] - distance[self.spread_node])

    def face(self, layer: int) -> _Face:
        """What the optima of this layer and those before it leave, by class."""
        assert self.load_squares is not None, "only a network without a face above it has one"
        groups, problem = self.groups, self.groups.problem
        face = self.optimum.face[layer]
        shape = (len(problem.demands), problem.slots)
        zone = np.full((shape[0], problem.zones), FREE, dtype=np.int8)
        stay = np.full_like(zone, FREE)
        own = np.full(shape, FREE, dtype=np.int8)
        new = np.full(shape, FREE, dtype=np.int8)
        if not groups.spread:
            kind = groups.kind
            zone[kind] = face[self.zone_arcs].reshape(zone.shape)
            # least == most leaves an arc of no room; both ends are then the same
            at = self.stay_at
            stay[kind[at[0]], at[1]] = face[self.stay_arcs]
            own[kind[groups.own[0]], groups.own[1]] = face[self.own_arcs]
            new[kind[self.new_at[0]], self.new_at[1]] = face[self.new_arcs]
        low, high = self.load_squares.bounds(face[self.square_arcs[id(self.load_squares)]])
        crowded = np.zeros(zone.shape, dtype=np.bool_)
        if not groups.spread:
            crowded[groups.kind] = groups.crowded
        return _Face(zone, stay, own, new, crowded, low, high)


def _solve(groups: _Groups, layers: tuple[str, ...], within: _Face | None) -> _Solved | None:
    solved = _Solved(groups, layers, within)
    return solved if solved.solve() else None


def _fair_guess(problem: Sharing) -> Ints:
    """[E] roughly fair loads beyond the base, where zone rules are respected on the whole."""
    share_of = 1.0 / problem.weight
    least, most = problem.bounds
    low = float(least[problem.item_class].sum())
    high = float(most[problem.item_class].sum())
    total = float(problem.demand.sum())
    zone = problem.zone_of
    width = np.bincount(zone, share_of, minlength=problem.zones)
    in_zone = np.full(problem.zones, np.nan)
    for _ in range(problem.zones):
        open_ = np.isnan(in_zone)
        rest = total - float(np.nansum(in_zone))
        part = rest * width / max(float(width[open_].sum()), 1e-9)
        over, under = open_ & (part > high), open_ & (part < low)
        if not (over | under).any():
            in_zone[open_] = part[open_]
            break
        # the larger deviation is settled first, the others may come right by it
        if (part[over] - high).sum() >= (low - part[under]).sum():
            in_zone[over] = high
        else:
            in_zone[under] = low
    each = np.nan_to_num(in_zone)[zone] * share_of / np.maximum(width[zone], 1e-9)
    # base load is evened out with what is shared
    level = each + problem.base - (problem.base.mean() if problem.base.any() else 0)
    return np.rint(np.maximum(2 * each - level, 0)).astype(np.int64)


# ---------------------------------------------------------------------- dealing counts out to items


def _deal(fine: _Solved) -> tuple[Ints, Ints]:
    """Give each item its slots so that every (group, slot) gets the counts of ``fine``.

    Returns the slots [I, max demand] and the families for which no such deal exists.
    """
    groups, problem = fine.groups, fine.groups.problem
    item, slot = problem.owned
    e, at, zones = problem.slots, problem.zone_of, problem.zones
    own_group, own_slot, own_count = groups.own
    entry = np.searchsorted(own_group * e + own_slot, groups.of[item] * e + slot)
    kept, asked = fine.own_flow.copy(), fine.taken_anew()

    # what surely stays, and what that leaves to deal: slots per item, room and need per zone
    stays = (kept == own_count)[entry]
    left = problem.demand - np.bincount(item[stays], minlength=problem.items)
    inside = np.bincount(item[stays] * zones + at[slot[stays]], minlength=problem.items * zones)
    least, most = (bound[problem.item_class] for bound in problem.bounds)
    room = np.repeat(most, zones) - inside
    must = np.maximum(np.repeat(least, zones) - inside, 0)
    wrong = (room.reshape(-1, zones) < 0).any(axis=1) | (left < must.reshape(-1, zones).sum(axis=1))
    failed = np.unique(problem.family[wrong])
    off = np.isin(problem.family, failed)
    left[off] = 0
    must[np.repeat(off, zones)] = 0
    kept[np.isin(groups.family[own_group], failed)] = 0
    asked[np.isin(groups.family, failed)] = 0

    # which items of a group may take a slot anew: those with room that do not sit there
    new_group, new_slot = np.nonzero(asked)
    open_item = np.flatnonzero(left > 0)
    open_item = open_item[np.argsort(groups.of[open_item], kind="stable")]
    bounds = np.searchsorted(groups.of[open_item], np.arange(groups.groups + 1))
    width = (bounds[1:] - bounds[:-1])[new_group]
    pair = np.repeat(np.arange(len(new_group)), width)
    offset = np.arange(len(pair)) - np.repeat(np.cumsum(width) - width, width)
    candidate = open_item[bounds[new_group][pair] + offset]
    target = new_slot[pair]
    sits = np.isin(candidate * e + target, item * e + slot)
    pair, candidate, target = pair[~sits], candidate[~sits], target[~sits]
    may_stay = ~stays & (kept[entry] > 0) & (left[item] > 0)
    keep_item, keep_slot, keep_entry = item[may_stay], slot[may_stay], entry[may_stay]

    # nodes: items, (item, zone), what must be kept per own entry, what must be new per pair, lost
    first_zone = problem.items
    first_own = first_zone + problem.items * zones
    first_new = first_own + len(own_group)
    lost = first_new + len(new_group)
    through = np.repeat(open_item, zones) * zones + np.tile(np.arange(zones), len(open_item))
    still = np.where(kept == own_count, 0, kept)

    def dealt(*, soft: bool) -> tuple[Optimum | None, slice, slice, slice]:
        network = Network(lost + 1, 2 if soft else 1)
        network.supply[:first_zone] = left - must.reshape(-1, zones).sum(axis=1)
        network.supply[first_zone:first_own] = must
        network.supply[first_own:first_new] = -still
        network.supply[first_new:lost] = -asked[new_group, new_slot]
        network.supply[lost] = -int(network.supply.sum())
        layer = network.layers - 1
        network.arcs(through // zones, first_zone + through, (room - must)[through])
        keep = network.arcs(
            first_zone + keep_item * zones + at[keep_slot],
            first_own + keep_entry,
            1,
            {layer: _scatter(keep_item, keep_slot)},
        )
        take = network.arcs(
            first_zone + candidate * zones + at[target],
            first_new + pair,
            1,
            {layer: _scatter(candidate, target)},
        )
        first = take.stop
        if soft:
            ends = np.concatenate((np.arange(first_own, lost), open_item))
            into = ends < first_zone
            network.arcs(np.where(into, ends, lost), np.where(into, lost, ends), 2**30, {0: 1})
            network.arcs(first_zone + through, lost, 2**30, {0: 1})
        return minimise(network), keep, take, slice(first, None)

    optimum, keep, take, _ = dealt(soft=False)
    if optimum is None:
        optimum, keep, take, loss = dealt(soft=True)
        assert optimum is not None, "what cannot be dealt may be lost"
        missing = optimum.flow[loss] > 0
        owner = np.concatenate(
            (
                groups.family[own_group],
                groups.family[new_group],
                problem.family[open_item],
                problem.family[through // zones],
            )
        )
        failed = np.union1d(failed, owner[missing])
    keeps, takes = optimum.flow[keep] > 0, optimum.flow[take] > 0
    of = np.concatenate((item[stays], keep_item[keeps], candidate[takes]))
    on = np.concatenate((slot[stays], keep_slot[keeps], target[takes]))
    fine_so_far = ~np.isin(problem.family[of], failed)
    return _rows(problem, of[fine_so_far], on[fine_so_far]), failed


def _scatter(item: Ints, slot: Ints) -> Ints:
    """Costs that look random and depend on (item, slot) alone: among equal deals they pick one
    that mixes. Without them a solver moves items whole, several slots at a time, and the new slots
    end up sharing most of their items with each other."""
    mixed = (item.astype(np.uint64) << np.uint64(20)) + slot.astype(np.uint64) + np.uint64(1)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
    return ((mixed >> np.uint64(31)) % np.uint64(1000)).astype(np.int64)


def _rows(problem: Sharing, item: Ints, slot: Ints) -> Ints:
    """[I, max demand] slots of each item, ascending, -1 padded, out of (item, slot) pairs."""
    order = np.lexsort((slot, item))
    item, slot = item[order], slot[order]
    start = np.searchsorted(item, np.arange(problem.items))
    rows = np.full((problem.items, int(problem.demand.max())), -1, dtype=np.int64)
    rows[item, np.arange(len(item)) - start[item]] = slot
    return rows


# ---------------------------------------------------------------------- one group per item

_FIRST_CANDIDATES = 4
_ADDED_PER_ROUND = 8


class _ByItem:
    """The exact answer item by item, with arcs priced lazily.

    ``fair`` bounds the loads when the load cost is settled already. A first layer counts demand
    that the arcs at hand leave unmet, so that pricing can begin from any set of arcs.
    """

    def __init__(self, problem: Sharing, costs: tuple[str, ...], fair: _Face | None) -> None:
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
        self.chosen &= self.allowed
        self.squares = {SPREAD: self._spread_squares()} if SPREAD in costs else {}
        if fair is None:
            guess = _fair_guess(problem)
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
        return _rows(self.problem, item[taken], slot[taken]), prices

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
