"""How many items of each group are on each slot: the network at its two coarse resolutions.

Groups are classes of items with equal demand, or the classes within each family. The finer network
is restricted to the optimal face of the coarser one, a ``Face``.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from partage.arrays import Bools, Floats, Ints
from partage.flow.assignment.cells import Cells, Ends, last_unit, lay_ends
from partage.flow.assignment.problem import LOAD, MOVES, SPREAD, AssignmentProblem
from partage.flow.network import (
    FREE,
    FULL,
    Faces,
    Network,
    Optimum,
    Squares,
    minimise,
)
from partage.flow.sorting import counted

ALL_PAIRS = 2_000_000
"""Up to this many pairs of group and slot, all are laid out."""

_MIXED = 1_000_003
_LOG_MIXED = np.log(_MIXED) + 1
"""Above what is drawn, so that it orders equal counts and no others."""
_NEVER = 2**40

DRIFT = "drift"
"""Of equally good counts, those that keep the items of each zone can be disaggregated."""


class Groups(Struct, frozen=True, eq=False):
    """Items counted together. G groups.

    - ``of`` [I] group of each item; ``count`` [G], ``kind`` [G] class, ``family`` [G]
    - ``own``: (group, slot, how many of the group's items are there), three arrays
    - ``stay`` [G, Z]: how many of the slots held in a zone can be kept within ``most`` per item
    - ``violating`` [G, Z]: some of them cannot
    """

    problem: AssignmentProblem
    of: Ints
    count: Ints
    kind: Ints
    family: Ints
    own: tuple[Ints, Ints, Ints]
    stay: Ints
    violating: Bools
    spread: bool

    @classmethod
    def by(cls, problem: AssignmentProblem, of: Ints, *, spread: bool) -> Groups:
        groups = int(of.max()) + 1
        first = np.zeros(groups, dtype=np.int64)
        first[of[::-1]] = np.arange(len(of))[::-1]
        item, slot = problem.owned
        pair, number = counted(of[item] * problem.slots + slot)
        zones = problem.zones
        in_zone, held = counted(item * zones + problem.zone_of[slot])
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
            violating=(stay < have).reshape(groups, zones),
            spread=spread,
        )

    @property
    def groups(self) -> int:
        return len(self.count)


class Face(Struct, frozen=True, eq=False):
    """The optimal face of a coarser network, which restricts a finer one, by class of items.

    ``zone``, ``stay`` [C, Z] and ``own``, ``new`` [C, E] hold FREE, EMPTY or FULL; ``violating``
    [C, Z]: where ``stay`` is limiting;
    ``low``, ``high`` [E]: range of the load of a slot, without base.
    """

    zone: Faces
    stay: Faces
    own: Faces
    new: Faces
    violating: Bools
    low: Ints
    high: Ints


class ColumnGeneration:
    """A network with so many possible new slots that at first only those on the emptiest slots are
    laid out. The others are priced with the dual values, those that would improve the solution are
    added, and the network is solved again.

    ``included``: the columns laid out, one row per group and one column per slot; None: all.
    ``improving``: those left out that would lower the first cost.
    """

    included: Bools | None = None
    improving: Bools | None = None

    def solve_with_columns(self) -> bool:
        """Solve, starting from ``included``; False when infeasible."""
        while True:
            self.improving = None
            if self._solve_laid_out():
                if self.included is None or self.improving is None:
                    return True
                self.included = self.included | self.improving
            elif self.included is None:
                return False
            else:
                self.included = None

    def _solve_laid_out(self) -> bool:
        """Solve the network as laid out; False when infeasible."""
        raise NotImplementedError

    def columns_missing(self, layer: int, distance: Ints) -> bool:
        """Whether columns left out would lower the first cost; the layers after it can wait."""
        if layer or self.included is None:
            return False
        improving = self._improving(distance)
        self.improving = improving if improving.any() else None
        return self.improving is not None

    def _improving(self, distance: Ints) -> Bools:
        """Columns left out that would lower the first cost, given its dual values."""
        raise NotImplementedError


class CountNetwork(ColumnGeneration):
    """The network of one resolution and its optimum.

    In a cell without a node, a group keeps what it has before it takes more.

    ``own_flow``: items kept per entry of ``groups.own``; ``new_at``, ``new_flow``: the (group,
    slot) pairs laid out for new items, and how many each takes.
    """

    def __init__(self, groups: Groups, layers: tuple[str, ...], within: Face | None) -> None:
        self.groups, self.layers, self.within = groups, layers, within
        g, e, z = groups.groups, groups.problem.slots, groups.problem.zones
        self.zone_node = g + np.arange(g * z).reshape(g, z)
        self.stay_node = self.zone_node + g * z
        self.slot_node = g + 2 * g * z + np.arange(e)
        self.sink = g + 2 * g * z + e
        self.violating = groups.violating if within is None else within.violating[groups.kind]
        self.load_squares: Squares | None = None
        self.spread_squares: Squares | None = None
        self.cells: Cells | None = None

    # -- layout

    def _layer(self, cost: str, values: npt.ArrayLike) -> dict[int, npt.ArrayLike] | None:
        return {self.layers.index(cost): values} if cost in self.layers else None

    def network(self) -> Network:
        """All arcs but those of the convex costs, whose windows may have to grow."""
        groups, within = self.groups, self.within
        self._find_arcs()
        ends = self._own_slots(), self._new_slots()
        nodes = self.sink + 1
        if groups.spread:
            merge = MOVES not in self.layers  # which new items alone cost
            self.cells = Cells(groups.problem, ends, nodes, merge=merge)
            nodes += self.cells.nodes
        network = Network(nodes, len(self.layers))
        demand = groups.problem.demands[groups.kind] * groups.count
        network.supply[: groups.groups] = demand
        network.supply[self.sink] = -int(demand.sum())
        self._lay_zones(network)
        self._lay_stays(network)
        own, new = ends
        self.own_laid, self.own_arcs = lay_ends(network, own, self.slot_node, self.cells, 0)
        self.new_laid, self.new_arcs = lay_ends(
            network, new, self.slot_node, self.cells, 1, self._layer(MOVES, 1)
        )
        if within is None:
            network.push(self.slot_node, self.sink, groups.problem.load_bounds[0])
        else:
            network.push(self.slot_node, self.sink, within.low)
            network.arcs(self.slot_node, self.sink, within.high - within.low)
        return network

    def _find_arcs(self) -> None:
        """``own_fixed``, ``own_free``: items of each entry of ``groups.own`` that stay, or may;
        ``new_at``, ``new_free``, ``fixed_at``, ``new_fixed``: the same for new items."""
        groups, within = self.groups, self.within
        own_group, own_slot, own_count = groups.own
        state = np.full((len(groups.problem.demands), groups.problem.slots), FREE, dtype=np.int8)
        own = state[groups.kind[own_group], own_slot]
        if within is not None:
            own, state = within.own[groups.kind[own_group], own_slot], within.new
        self.own_fixed = np.where(own == FULL, own_count, 0)
        self.own_free = np.where(own == FREE, own_count, 0)
        free, taken = ((state == one)[groups.kind] for one in (FREE, FULL))
        # where all items of the group have the slot, none can take it
        every = own_count == groups.count[own_group]
        free[own_group[every], own_slot[every]] = taken[own_group[every], own_slot[every]] = False
        self.left_out = np.zeros_like(free)
        if self.included is not None:
            self.left_out = free & ~self.included
            free &= self.included
        self.new_at, self.new_free = self._without(free)
        self.fixed_at, self.new_fixed = self._without(taken)

    def _without(self, some: Bools) -> tuple[tuple[Ints, Ints], Ints]:
        """The (group, slot) marked in ``some`` [G, E], and how many of the group's items do not
        have the slot."""
        slots = self.groups.problem.slots
        own_group, own_slot, own_count = self.groups.own
        own_key = own_group * slots + own_slot
        group, slot = np.nonzero(some)
        key = group * slots + slot
        place = np.searchsorted(key, own_key)
        here = np.flatnonzero(place < len(key))
        here = here[key[place[here]] == own_key[here]]
        number = self.groups.count[group]
        number[place[here]] -= own_count[here]
        return (group, slot), number

    def _lay_zones(self, network: Network) -> None:
        """group -> (group, zone): between least and most slots per item."""
        groups, problem, within = self.groups, self.groups.problem, self.within
        kind, count = groups.kind, groups.count
        least, most = problem.bounds
        low = np.repeat((least[kind] * count)[:, None], problem.zones, axis=1)
        slack = np.repeat(((most - least)[kind] * count)[:, None], problem.zones, axis=1)
        if within is not None:
            state = within.zone[kind]
            low = np.where(state == FULL, low + slack, low)
            slack = np.where(state == FREE, slack, 0)
        tail = np.repeat(np.arange(groups.groups), problem.zones)
        network.push(tail, self.zone_node.ravel(), low.ravel())
        drift = np.zeros_like(slack)
        if DRIFT in self.layers:
            drift = slack - np.clip(groups.stay - low, 0, slack)
            network.arcs(tail, self.zone_node.ravel(), drift.ravel(), self._layer(DRIFT, 1))
        self.zone_arcs = network.arcs(tail, self.zone_node.ravel(), (slack - drift).ravel())

    def _lay_stays(self, network: Network) -> None:
        """(group, zone) -> (group, zone, stay) where the zone rule forces items to give up
        slots."""
        groups, within, violating = self.groups, self.within, self.violating
        state = np.full(violating.shape, FREE, dtype=np.int8)
        if within is not None:
            state = within.stay[groups.kind]
        self.stay_at = np.nonzero(violating)
        tail, head, limit = (of[violating] for of in (self.zone_node, self.stay_node, groups.stay))
        state = state[violating]
        network.push(tail, head, np.where(state == FULL, limit, 0))
        self.stay_arcs = network.arcs(tail, head, np.where(state == FREE, limit, 0))

    def _own_slots(self) -> Ends:
        """Items kept."""
        group, slot, number = self.groups.own
        zone = self.groups.problem.zone_of[slot]
        stays = self.violating[group, zone]
        tail = np.where(stays, self.stay_node[group, zone], self.zone_node[group, zone])
        family = self.groups.family[group]
        return Ends(tail, family, slot, self.own_fixed, self.own_free, number)

    def _new_slots(self) -> Ends:
        """New items; the fixed ones after those that are free."""
        both = zip(self.new_at, self.fixed_at, strict=True)
        group, slot = (np.concatenate(ends) for ends in both)
        fixed = np.concatenate((np.zeros_like(self.new_free), self.new_fixed))
        free = np.concatenate((self.new_free, np.zeros_like(self.new_fixed)))
        tail = self.zone_node[group, self.groups.problem.zone_of[slot]]
        return Ends(tail, self.groups.family[group], slot, fixed, free, np.zeros_like(free))

    def guess(self, network: Network) -> None:
        """The convex costs, with windows around an estimate, and estimated dual values."""
        groups, problem, cells = self.groups, self.groups.problem, self.cells
        if self.within is None:
            self.load_squares = load_squares(problem, self.slot_node, self.sink)
        if cells is None:
            return
        if self.layers[0] == SPREAD:
            last = last_unit(problem)[groups.family]
            network.guess[: groups.groups] = -last
            for nodes in (self.zone_node, self.stay_node):
                network.guess[nodes] = -last[:, None]
            cells.guess(network)
        self.spread_squares = cells.squares(self.slot_node)

    def solve(self) -> bool:
        """Solve it; False when infeasible."""
        pairs = self.groups.groups * self.groups.problem.slots
        if self.within is not None and self.layers[0] == SPREAD and pairs > ALL_PAIRS:
            self.included = self._emptiest()
        return self.solve_with_columns()

    def _emptiest(self) -> Bools:
        groups, problem = self.groups, self.groups.problem
        own_group, own_slot, own_count = groups.own
        assert self.within is not None
        open_, most = (self.within.new == FREE)[groups.kind], self.within.high
        stay = np.bincount(own_group, own_count * kept_share(problem, most)[own_slot])
        taken = (problem.demands[groups.kind] * groups.count).astype(np.float64)
        taken[: len(stay)] -= stay
        return emptiest(problem, groups.family, taken, open_, most)

    def _improving(self, distance: Ints) -> Bools:
        """[G, E] columns left out that would lower the first cost."""
        assert self.cells is not None
        reduced = distance[self.zone_node][:, self.groups.problem.zone_of]
        dual = self.cells.duals(distance, self.slot_node)
        return np.asarray(self.left_out & (reduced < dual[self.groups.family]))

    def _solve_laid_out(self) -> bool:
        """Solve; False when infeasible."""
        base = self.network()
        self.guess(base)
        bundles = ((SPREAD, self.spread_squares), (LOAD, self.load_squares))
        squares = {self.layers.index(cost): one for cost, one in bundles if one is not None}
        optimum = minimise(
            base, squares, prove_last=self.layers[-1] != DRIFT, unfit=self.columns_missing
        )
        if optimum is None:
            return False
        self.optimum: Optimum = optimum
        new_and_fixed = len(self.new_free) + len(self.new_fixed)
        own, new = np.zeros_like(self.own_free), np.zeros(new_and_fixed, dtype=np.int64)
        if self.cells is not None:
            assert self.spread_squares is not None
            own, new = self.cells.flows(optimum.flow[self.spread_squares.at])
        own[self.own_laid] = optimum.flow[self.own_arcs]
        new[self.new_laid] = optimum.flow[self.new_arcs]
        self.own_flow, self.new_flow = own + self.own_fixed, new[: len(self.new_free)]
        return True

    # -- results

    def costs(self) -> dict[str, int]:
        """The three costs of the counts found."""
        groups, problem = self.groups, self.groups.problem
        own_group, own_slot, _ = groups.own
        parts = (
            (own_group, own_slot, self.own_flow),
            (*self.new_at, self.new_flow),
            (*self.fixed_at, self.new_fixed),
        )
        group, slot, number = (np.concatenate(part) for part in zip(*parts, strict=True))
        moves = int(self.new_flow.sum() + self.new_fixed.sum())
        return problem.costs_of_counts(groups.family[group], slot, number, moves)

    def new_counts(self) -> Ints:
        """[G, E] how many items of the group newly take the slot."""
        asked = np.zeros((self.groups.groups, self.groups.problem.slots), dtype=np.int64)
        asked[self.new_at] = self.new_flow
        asked[self.fixed_at] = self.new_fixed
        return asked

    def prices(self, layer: int) -> tuple[Ints, Ints | None]:
        """Dual values of a layer: what one more unit costs per slot and per (family, slot)."""
        distance = self.optimum.distance[layer]
        slot = distance[self.sink] - distance[self.slot_node]
        if self.cells is None:
            return slot, None
        if self.layers[layer] == SPREAD:
            return slot, distance[self.sink] - self.cells.duals(distance, self.slot_node)
        return slot, distance[self.sink] - self.cells.node_duals(distance)

    def face(self, layer: int) -> Face:
        """The optimal face of this layer and those before it, by class."""
        assert self.load_squares is not None, "only a network without a face above it has one"
        assert not self.groups.spread, "groups are classes, one each"
        groups, problem = self.groups, self.groups.problem
        face = self.optimum.face(layer)
        shape = (len(problem.demands), problem.slots)
        zone = np.full((shape[0], problem.zones), FREE, dtype=np.int8)
        stay = np.full_like(zone, FREE)
        own = np.full(shape, FREE, dtype=np.int8)
        new = np.full(shape, FREE, dtype=np.int8)
        kind = groups.kind
        zone[kind] = face[self.zone_arcs].reshape(zone.shape)
        # where least == most the arc has capacity 0, and both ends are the same
        at = self.stay_at
        stay[kind[at[0]], at[1]] = face[self.stay_arcs]
        own[kind[groups.own[0]], groups.own[1]] = face[self.own_arcs]
        new[kind[self.new_at[0]], self.new_at[1]] = face[self.new_arcs]
        least, _ = problem.load_bounds
        loads = self.load_squares.at
        low, high = (least + n[layer][loads] for n in (self.optimum.low, self.optimum.high))
        violating = np.zeros(zone.shape, dtype=np.bool_)
        violating[kind] = groups.violating
        return Face(zone, stay, own, new, violating, low, high)


def solve_counts(
    groups: Groups, layers: tuple[str, ...], within: Face | None
) -> CountNetwork | None:
    solved = CountNetwork(groups, layers, within)
    return solved if solved.solve() else None


def kept_share(problem: AssignmentProblem, most: Ints) -> Floats:
    """[E] which part of the items that a slot has today stay there if its load may be ``most``."""
    has = np.bincount(problem.owned[1], minlength=problem.slots)
    return np.asarray(np.minimum(most, has) / np.maximum(has, 1))


def emptiest(
    problem: AssignmentProblem, family: Ints, taken: Floats, open_: Bools, most: Ints
) -> Bools:
    """[N, E] some ``open_`` [N, E] slots of each zone for each of N groups: those that hold the
    fewest items of its ``family`` [N], and more of them where a group will have ``taken`` [N] many.
    Of slots that hold as many, each is offered as often as it lacks items to its load of ``most``
    [E]: they seem random, drawn with these weights (Efraimidis and Spirakis, Information Processing
    Letters 97, 2006)."""
    few = 4 + (4 * np.maximum(taken, 0) / problem.zones).astype(np.int64)
    lacks = 1 + np.maximum(most - np.bincount(problem.owned[1], minlength=problem.slots), 0)
    some = np.zeros(open_.shape, dtype=np.bool_)
    used = open_.any(axis=0)
    item, slot = problem.owned
    held = problem.family_base + np.bincount(
        problem.family[item] * problem.slots + slot, minlength=problem.family_base.size
    ).reshape(problem.family_base.shape)
    for zone in range(problem.zones):
        here = np.flatnonzero(used & (problem.zone_of == zone))
        mixed = (np.arange(len(family))[:, None] * 40503 + here * 2654435761) % _MIXED
        full = np.where(open_[:, here], held[family[:, None], here], _NEVER)
        order = np.argsort(full - np.log((mixed + 1) / _MIXED) / (_LOG_MIXED * lacks[here]), axis=1)
        # all, where that is not many more
        offered = np.where(2 * len(here) <= 3 * few, len(here), few)
        row, rank = np.nonzero(np.arange(len(here)) < offered[:, None])
        some[row, here[order[row, rank]]] = True
    return some


def load_squares(problem: AssignmentProblem, slot_node: Ints, sink: int) -> Squares:
    """The cost of the loads on top of their lower bounds, in a range around an estimate."""
    least, most = problem.load_bounds
    above_least = fair_guess(problem) - least
    return Squares(
        tail=slot_node,
        head=np.full(problem.slots, sink),
        capacity=most - least,
        weight=problem.weight,
        base=problem.base + least,
        low=above_least - 3,
        high=above_least + 3,
    )


def fair_guess(problem: AssignmentProblem) -> Ints:
    """[E] roughly fair loads, without base, that respect the zone rules in total."""
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
        # fix the larger deviation first: it may resolve the others
        if (part[over] - high).sum() >= (low - part[under]).sum():
            in_zone[over] = high
        else:
            in_zone[under] = low
    each = np.nan_to_num(in_zone)[zone] * share_of / np.maximum(width[zone], 1e-9)
    # level out the base load, too
    level = each + problem.base - (problem.base.mean() if problem.base.any() else 0)
    return np.asarray(np.rint(np.maximum(2 * each - level, 0)), dtype=np.int64)
