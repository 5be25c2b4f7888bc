"""How many items of each group are on each slot: the network at its two coarse resolutions.

Groups are classes of items with equal demand, or the classes within each family. The finer network
is restricted to the optimal face of the coarser one, a ``Face``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from partage.flow.assignment.problem import LOAD, MOVES, SPREAD, AssignmentProblem
from partage.flow.network import (
    EMPTY,
    FREE,
    FULL,
    Faces,
    Network,
    Optimum,
    Squares,
    minimise,
)
from partage.flow.sorting import counted

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

ALL_PAIRS = 2_000_000
"""Up to this many pairs of group and slot, all are laid out."""

_MIXED = 1_000_003
_NEVER = 2**40

DRIFT = "drift"
"""Of equally good counts, those that keep the items of each zone can be disaggregated."""


@dataclass(frozen=True, eq=False)
class Groups:
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


@dataclass(frozen=True, eq=False)
class Face:
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

    ``own_flow``: items kept per entry of ``groups.own``; ``new_at``, ``new_flow``: the (group,
    slot) pairs laid out for new items, and how many each takes.
    """

    def __init__(self, groups: Groups, layers: tuple[str, ...], within: Face | None) -> None:
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
        """All arcs but those of the convex costs, whose windows may have to grow."""
        groups, within = self.groups, self.within
        network = Network(self.nodes, len(self.layers))
        demand = groups.problem.demands[groups.kind] * groups.count
        network.supply[: groups.groups] = demand
        network.supply[self.sink] = -int(demand.sum())
        self._lay_zones(network)
        violating = self._lay_stays(network)
        self._lay_own_slots(network, violating)
        self._lay_new_slots(network)
        if within is None:
            network.push(self.slot_node, self.sink, groups.problem.load_bounds[0])
        else:
            network.push(self.slot_node, self.sink, within.low)
            network.arcs(self.slot_node, self.sink, within.high - within.low)
        return network

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

    def _lay_stays(self, network: Network) -> Bools:
        """(group, zone) -> (group, zone, stay) where the zone rule forces items to give up slots.
        Returns where that is, [G, Z]."""
        groups, within = self.groups, self.within
        violating, state = groups.violating, np.full(groups.violating.shape, FREE, dtype=np.int8)
        if within is not None:
            violating, state = within.violating[groups.kind], within.stay[groups.kind]
        self.stay_at = np.nonzero(violating)
        tail, head, limit = (of[violating] for of in (self.zone_node, self.stay_node, groups.stay))
        state = state[violating]
        network.push(tail, head, np.where(state == FULL, limit, 0))
        self.stay_arcs = network.arcs(tail, head, np.where(state == FREE, limit, 0))
        return violating

    def _lay_own_slots(self, network: Network, violating: Bools) -> None:
        """-> [(family, slot)] or slot: items kept."""
        group, slot, count = self.groups.own
        zone = self.groups.problem.zone_of[slot]
        tail = np.where(
            violating[group, zone], self.stay_node[group, zone], self.zone_node[group, zone]
        )
        head = self._head(group, slot)
        state = np.full(len(group), FREE, dtype=np.int8)
        if self.within is not None:
            state = self.within.own[self.groups.kind[group], slot]
        self.own_fixed = np.where(state == FULL, count, 0)
        network.push(tail, head, self.own_fixed)
        self.own_arcs = network.arcs(tail, head, np.where(state == FREE, count, 0))

    def _lay_new_slots(self, network: Network) -> None:
        """-> [(family, slot)] or slot: new items."""
        groups, problem, within = self.groups, self.groups.problem, self.within
        own_group, own_slot, own_count = groups.own
        count = np.repeat(groups.count[:, None], problem.slots, axis=1)
        count[own_group, own_slot] -= own_count
        taken = np.zeros(count.shape, dtype=np.bool_)
        if within is not None:
            count[within.new[groups.kind] == EMPTY] = 0
            taken = (within.new[groups.kind] == FULL) & (count > 0)
        self.new_fixed = np.where(taken, count, 0)
        free = np.where(taken, 0, count)
        group, slot = np.nonzero(self.new_fixed)
        tail, head = self.zone_node[group, problem.zone_of[slot]], self._head(group, slot)
        network.push(tail, head, self.new_fixed[group, slot])
        self.left_out = np.zeros(free.shape, dtype=np.bool_)
        if self.included is not None:
            self.left_out = (free > 0) & ~self.included
            free[self.left_out] = 0
        group, slot = self.new_at = np.nonzero(free)
        tail, head = self.zone_node[group, problem.zone_of[slot]], self._head(group, slot)
        self.new_arcs = network.arcs(tail, head, free[group, slot], self._layer(MOVES, 1))

    def _head(self, group: Ints, slot: Ints) -> Ints:
        if self.spread_node is None:
            return self.slot_node[slot]
        return np.asarray(self.spread_node[self.groups.family[group], slot], dtype=np.int64)

    def guess(self, network: Network) -> None:
        """The convex costs, with windows around an estimate, and estimated dual values."""
        groups, problem = self.groups, self.groups.problem
        if self.within is None:
            self.load_squares = load_squares(problem, self.slot_node, self.sink)
        if self.spread_node is None:
            return
        families = len(problem.family_base)
        _, head, capacity, _ = network.compiled()
        place = head - self.spread_node[0, 0]
        into = (place >= 0) & (capacity > 0)
        slack = np.bincount(place[into], capacity[into], minlength=families * problem.slots)
        fixed = np.zeros((families, problem.slots), dtype=np.int64)
        own_group, own_slot, own_count = groups.own
        np.add.at(fixed, (groups.family[own_group], own_slot), self.own_fixed)
        np.add.at(fixed, groups.family, self.new_fixed)
        held = np.zeros_like(fixed)
        np.add.at(held, (groups.family[own_group], own_slot), own_count)
        total = np.bincount(problem.family, problem.demand, minlength=families)
        even = (total + problem.family_base.sum(axis=1)) / problem.slots
        if self.layers[0] == SPREAD:
            # marginal cost of the last unit of an evenly spread family
            last = (2 * np.floor(even).astype(np.int64) + 1)[groups.family]
            network.guess[: groups.groups] = -last
            for nodes in (self.zone_node, self.stay_node):
                network.guess[nodes] = -last[:, None]
            network.guess[self.spread_node[groups.family]] = -last[:, None]
        # fixed flow also passes through its (family, slot) node
        passed = np.flatnonzero(fixed)
        amount = fixed.ravel()[passed]
        network.push(
            self.spread_node.ravel()[passed], self.slot_node[passed % problem.slots], amount
        )
        at = np.flatnonzero(slack > 0)
        base = (problem.family_base + fixed).ravel()[at]
        held_at = held.ravel()[at] - fixed.ravel()[at]
        even_at = np.ceil(even)[at // problem.slots].astype(np.int64) - base
        self.spread_squares = Squares(
            tail=self.spread_node.ravel()[at],
            head=self.slot_node[at % problem.slots],
            capacity=slack[at].astype(np.int64),
            weight=np.ones(len(at), dtype=np.int64),
            base=base,
            low=np.minimum(held_at, even_at) - 2,
            high=np.maximum(held_at, even_at) + 2,
        )

    def solve(self) -> bool:
        """Solve it; False when infeasible."""
        pairs = self.groups.groups * self.groups.problem.slots
        if self.within is not None and self.layers[0] == SPREAD and pairs > ALL_PAIRS:
            self.included = self._emptiest()
        return self.solve_with_columns()

    def _emptiest(self) -> Bools:
        groups, problem = self.groups, self.groups.problem
        own_group, own_slot, own_count = groups.own
        held = problem.family_base.copy()
        np.add.at(held, (groups.family[own_group], own_slot), own_count)
        missing = problem.demands[groups.kind] * groups.count
        missing -= np.bincount(own_group, own_count, minlength=groups.groups).astype(np.int64)
        assert self.within is not None
        open_ = (self.within.new == FREE)[groups.kind]
        return emptiest(problem, held[groups.family], missing, open_, self.within.high)

    def _improving(self, distance: Ints) -> Bools:
        """[G, E] columns left out that would lower the first cost."""
        reduced = distance[self.zone_node][:, self.groups.problem.zone_of]
        return np.asarray(self.left_out & (reduced < self._cells(distance)[self.groups.family]))

    def _cells(self, distance: Ints) -> Ints:
        """[F, E] dual values of (family, slot) in the first layer; where no arc leads there, the
        marginal cost of its first unit."""
        groups, problem = self.groups, self.groups.problem
        assert self.spread_node is not None
        assert self.spread_squares is not None
        fixed = problem.family_base.copy()
        np.add.at(fixed, (groups.family[groups.own[0]], groups.own[1]), self.own_fixed)
        np.add.at(fixed, groups.family, self.new_fixed)
        tail = self.spread_squares.tail
        return first_duals(distance, self.slot_node, self.spread_node, tail, fixed)

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
        self.own_flow = optimum.flow[self.own_arcs] + self.own_fixed
        self.new_flow = optimum.flow[self.new_arcs]
        return True

    # -- results

    def costs(self) -> dict[str, int]:
        """The three costs of the counts found."""
        groups, problem = self.groups, self.groups.problem
        count = problem.family_base.copy()
        new = self.new_counts()
        np.add.at(count, (groups.family[groups.own[0]], groups.own[1]), self.own_flow)
        np.add.at(count, groups.family, new)
        return problem.costs_of_counts(count, int(new.sum()))

    def new_counts(self) -> Ints:
        """[G, E] how many items of the group newly take the slot."""
        asked = self.new_fixed.copy()
        asked[self.new_at] += self.new_flow
        return asked

    def prices(self, layer: int) -> tuple[Ints, Ints | None]:
        """Dual values of a layer: what one more unit costs per slot and per (family, slot)."""
        distance = self.optimum.distance[layer]
        slot = distance[self.sink] - distance[self.slot_node]
        if self.spread_node is None:
            return slot, None
        spread = distance[self.spread_node]
        if self.included is not None and layer == 0:
            spread = self._cells(distance)
        return slot, np.asarray(distance[self.sink] - spread)

    def face(self, layer: int) -> Face:
        """The optimal face of this layer and those before it, by class."""
        assert self.load_squares is not None, "only a network without a face above it has one"
        assert not self.groups.spread, "groups are classes, one each"
        groups, problem = self.groups, self.groups.problem
        face = self.optimum.face[layer]
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
        low, high = (least + n[layer, loads] for n in (self.optimum.low, self.optimum.high))
        violating = np.zeros(zone.shape, dtype=np.bool_)
        violating[kind] = groups.violating
        return Face(zone, stay, own, new, violating, low, high)


def solve_counts(
    groups: Groups, layers: tuple[str, ...], within: Face | None
) -> CountNetwork | None:
    solved = CountNetwork(groups, layers, within)
    return solved if solved.solve() else None


def first_duals(
    distance: Ints, slot_node: Ints, spread_node: Ints, reached: Ints, held: Ints
) -> Ints:
    """[F, E] dual values of (family, slot) where spread is the cost: those of the nodes ``reached``
    by arcs; for the others, the marginal cost of a first unit on top of ``held`` [F, E]."""
    cell: Ints = distance[slot_node] - (2 * held + 1)
    cell.reshape(-1)[reached - spread_node[0, 0]] = distance[reached]
    return cell


def emptiest(
    problem: AssignmentProblem, held: Ints, missing: Ints, open_: Bools, most: Ints
) -> Bools:
    """[N, E] some ``open_`` [N, E] slots of each zone for each of N groups: those with the least
    ``held`` [N, E], and more of them where a group has many ``missing`` [N]. Of slots that hold as
    many, each is taken as often as it lacks items to its load of ``most`` [E]: they seem random,
    drawn with these weights (Efraimidis and Spirakis, Information Processing Letters 97, 2006)."""
    few = 24 + 4 * np.maximum(missing, 0) // problem.zones
    lacks = 1 + np.maximum(most - np.bincount(problem.owned[1], minlength=problem.slots), 0)
    some = np.zeros(held.shape, dtype=np.bool_)
    used = open_.any(axis=0)
    held = np.where(open_, held, _NEVER)
    for zone in range(problem.zones):
        here = np.flatnonzero(used & (problem.zone_of == zone))
        mixed = (np.arange(len(held))[:, None] * 40503 + here * 2654435761) % _MIXED
        order = np.argsort(held[:, here] - ((mixed + 1) / _MIXED) ** (1 / lacks[here]), axis=1)
        # all, where that is not many more
        taken = np.where(len(here) <= 2 * few, len(here), few)
        row, rank = np.nonzero(np.arange(len(here)) < taken[:, None])
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
