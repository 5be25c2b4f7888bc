"""Disaggregate counts per group and slot: assign single items, which is again a flow.

Items that are groups of their own take part with what the network leaves open for them: how many
new slots of a zone they take, but not which. Such an item is *flexible* in a zone if it takes one
slot there and keeps none: it can take any slot of the zone that its pool takes, since none of them
can be a slot it holds today (keeping that would have been cheaper). Flexible items are not
distinguished in the flow: they get the slots that the others leave.

Families do not share anything here, so all of them are one network, in which a unit of a family
that is infeasible is lost, at a cost that is higher than that of any answer for the family. Where
only some of very many candidates were laid out, the families that lose units are tried again, with
all of theirs.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from partage.arrays import Bools, Ints
from partage.flow.assignment.count_network import CountNetwork
from partage.flow.assignment.problem import AssignmentProblem, as_rows
from partage.flow.network import Network, minimise
from partage.flow.sorting import counted, stable_order

_ANY = 2**30
_MANY, _TIMES, _LEAST = 400_000, 4, 8
"""Above this many candidates, only this many times the required number, and at least so many, are
laid out at first."""

_COSTS, _MOST_COSTS = 1000, 100_000
"""Number of different costs, and the most arcs that have some. Of more arcs, ``primal_dual``, which
takes ties as if at random, finds a flow without costs much sooner."""


class Counts(Struct, frozen=True, eq=False):
    """The counts to disaggregate.

    - ``of`` [I] group of each item; ``own``: (group, slot, how many of the group's items are
      there), ascending; ``kept``: how many of them stay, per entry of ``own``
    - ``pool`` [I]: items that share new slots; ``asked`` [P, E]: how many of a pool newly take the
      slot
    - ``individual`` [I]: items that are a group of their own; ``new_in_zone`` [I, Z]: how many
      new slots of the zone they take from their pool; ``taken``: further (item, slot) pairs
    """

    problem: AssignmentProblem
    of: Ints
    own: tuple[Ints, Ints, Ints]
    kept: Ints
    pool: Ints
    asked: Ints
    individual: Bools
    new_in_zone: Ints
    taken: tuple[Ints, Ints]

    @classmethod
    def of_groups(cls, fine: CountNetwork) -> Counts:
        """The counts of a network in which each group is its own pool."""
        groups, problem = fine.groups, fine.groups.problem
        nothing = np.zeros(0, dtype=np.int64)
        return cls(
            problem=problem,
            of=groups.of,
            own=groups.own,
            kept=fine.own_flow,
            pool=groups.of,
            asked=fine.new_counts(),
            individual=np.zeros(problem.items, dtype=np.bool_),
            new_in_zone=np.zeros((problem.items, problem.zones), dtype=np.int64),
            taken=(nothing, nothing),
        )


def assign_items(counts: Counts) -> tuple[Ints, Ints]:
    """Assign slots to each item so that all counts are met.

    Returns the slots [I, max demand] and the families for which that is infeasible.
    """
    return _Disaggregation(counts).answer()


class _Disaggregation:
    """The steps of the disaggregation; ``failed`` are the infeasible families so far, ``found`` the
    (item, slot) pairs of the others."""

    def __init__(self, counts: Counts) -> None:
        self.counts, self.problem = counts, counts.problem
        self.item, self.slot = self.problem.owned
        self.kept, self.asked = counts.kept.copy(), counts.asked.copy()
        own_group, own_slot, own_count = counts.own
        e = self.problem.slots
        self.entry = np.searchsorted(own_group * e + own_slot, counts.of[self.item] * e + self.slot)
        group_family = np.zeros(int(counts.of.max()) + 1, dtype=np.int64)
        group_family[counts.of] = self.problem.family
        self.own_family = group_family[own_group]
        self.pool_family = np.zeros(len(self.asked), dtype=np.int64)
        self.pool_family[counts.pool] = self.problem.family
        self.stays = (self.kept == own_count)[self.entry]
        self.any_place = self.any_count = np.zeros(0, dtype=np.int64)
        self.found = [(self.item[self.stays], self.slot[self.stays]), counts.taken]
        self._bound_open_slots()
        self.failed = np.zeros(len(self.problem.family_base), dtype=np.bool_)
        self.failed[self.problem.family[self._impossible()]] = True
        self._leave_out(self.failed)
        self._separate_flexible()

    def _bound_open_slots(self) -> None:
        """``left`` [I]: slots still to assign; ``upper``, ``lower`` [I, Z]: bounds on them per
        zone."""
        problem, counts, zones = self.problem, self.counts, self.problem.zones
        item = np.concatenate((self.item[self.stays], counts.taken[0]))
        zone = problem.zone_of[np.concatenate((self.slot[self.stays], counts.taken[1]))]
        self.left = problem.demand - np.bincount(item, minlength=problem.items)
        inside = np.bincount(item * zones + zone, minlength=problem.items * zones)
        self.inside = inside.reshape(-1, zones)
        least, most = (bound[:, None] for bound in problem.item_bounds)
        individual = counts.individual[:, None]
        self.upper = np.where(individual, counts.new_in_zone, most - self.inside)
        self.lower = np.where(individual, counts.new_in_zone, np.maximum(least - self.inside, 0))

    def _impossible(self) -> Bools:
        """[I] items that are infeasible, given the slots that certainly stay."""
        least, most = self.lower.sum(axis=1), self.upper.sum(axis=1)
        return np.asarray((self.upper < 0).any(axis=1) | (self.left < least) | (self.left > most))

    def _leave_out(self, families: Bools) -> None:
        """Nothing is asked of these families [F] any more."""
        off = families[self.problem.family]
        self.left[off] = 0
        self.lower[off] = 0
        self.upper[off] = 0
        self.kept[families[self.own_family]] = 0
        self.asked[families[self.pool_family]] = 0
        self.any_count[families[self._any_family()]] = 0

    def _any_family(self) -> Ints:
        """The families of flexible items."""
        return np.asarray(self.pool_family[self.any_place // self.problem.zones])

    def _separate_flexible(self) -> None:
        """``flexible``: (item, zone) pairs of flexible items, taken out of the bounds."""
        free = self.counts.individual[:, None] & (self.upper == 1) & (self.inside == 0)
        self.flexible = np.nonzero(free)
        self.left -= free.sum(axis=1)
        self.upper[free] = self.lower[free] = 0
        wants = self.counts.pool[self.flexible[0]] * self.problem.zones + self.flexible[1]
        self.any_place, self.any_count = counted(wants)

    def _find_candidates(self, all_of: Bools) -> None:
        """Candidates for new slots: per (pool, slot) asked for, the items with open slots in the
        zone that do not hold it; and for kept slots. Of very many candidates, an even sample of
        some times the required number mostly suffices, except for the families ``all_of`` [F].
        ``thinned`` [F]: families of which some are left out."""
        problem, zones = self.problem, self.problem.zones
        self.new_pool, self.new_slot = np.nonzero(self.asked)
        place = self.new_pool * zones + problem.zone_of[self.new_slot]
        open_item, open_zone = np.nonzero((self.upper > 0) & (self.left > 0)[:, None])
        self.open = (open_item, open_zone)
        at = self.counts.pool[open_item] * zones + open_zone
        order = stable_order(at)
        first, width = _runs(place, at[order])
        enough = _TIMES * self.asked[self.new_pool, self.new_slot] + _LEAST
        family = self.pool_family[self.new_pool]
        taken = width
        self.thinned = np.zeros_like(all_of)
        if int(width.sum()) > _MANY:
            order = np.lexsort((_scatter(open_item, open_zone), at))
            taken = np.where(all_of[family], width, np.minimum(width, enough))
            self.thinned[family[taken < width]] = True
        pair, found = _listed(first, width, taken)
        candidate = open_item[order[found]]
        target = self.new_slot[pair]
        held = (problem.own[candidate] == target[:, None]).any(axis=1)
        self.take = (candidate[~held], target[~held], pair[~held])
        may = ~self.stays & (self.kept[self.entry] > 0) & (self.left[self.item] > 0)
        self.keep = (self.item[may], self.slot[may], self.entry[may])
        # flexible items, as one node, may take every slot of their zone
        order = stable_order(place)
        first, width = _runs(self.any_place, place[order])
        taker, found = _listed(first, width, width)
        self.any = (taker, order[found])

    def answer(self) -> tuple[Ints, Ints]:
        """The slots [I, max demand], and the families that are infeasible."""
        all_of = np.zeros_like(self.failed)
        while True:
            self._find_candidates(all_of)
            lacking = self._assign()
            # what was left out may be what they lack
            all_of = lacking & self.thinned
            self.failed |= lacking & ~all_of
            if not all_of.any():
                break
            self._leave_out(~all_of)
        items, slots = (np.concatenate(parts) for parts in zip(*self.found, strict=True))
        placed = ~self.failed[self.problem.family[items]]
        return as_rows(self.problem, items[placed], slots[placed]), np.flatnonzero(self.failed)

    def _assign(self) -> Bools:
        """Solve the network; adds to ``found``, and returns the families that lack something, [F].

        Its nodes: items, (item, zone), what must be kept per own entry, what must be new per
        (pool, slot), flexible items, lost."""
        zones, at = self.problem.zones, self.problem.zone_of
        own_count = self.counts.own[2]
        first_zone = self.problem.items
        first_own = first_zone + self.problem.items * zones
        first_new = first_own + len(own_count)
        first_any = first_new + len(self.new_pool)
        lost = first_any + len(self.any_place)
        network = Network(lost + 1, 1)
        supply = network.supply
        supply[:first_zone] = self.left - self.lower.sum(axis=1)
        supply[first_zone:first_own] = self.lower.ravel()
        supply[first_own:first_new] = -np.where(self.kept == own_count, 0, self.kept)
        supply[first_new:first_any] = -self.asked[self.new_pool, self.new_slot]
        supply[first_any:lost] = self.any_count
        supply[lost] = -int(supply.sum())
        item, zone = self.open
        network.arcs(item, first_zone + item * zones + zone, (self.upper - self.lower)[self.open])
        item, slot, entry = self.keep
        tail = first_zone + item * zones + at[slot]
        keep = network.arcs(tail, first_own + entry, 1, self._mixing(item, slot))
        item, slot, pair = self.take
        tail = first_zone + item * zones + at[slot]
        take = network.arcs(tail, first_new + pair, 1, self._mixing(item, slot))
        taker, pair = self.any
        any_ = network.arcs(first_any + taker, first_new + pair, _ANY)
        most = np.bincount(self.problem.family, self.left).max(initial=0)
        loss = _COSTS * (int(most) + 1)
        send, receive = np.flatnonzero(supply[:lost] > 0), np.flatnonzero(supply[:lost] < 0)
        sent = network.arcs(send, lost, supply[send], {0: loss})
        received = network.arcs(lost, receive, -supply[receive], {0: loss})
        optimum = minimise(network, prove_last=False)
        assert optimum is not None, "what cannot be assigned may be lost"
        flow = optimum.flow
        ends = np.concatenate((send[flow[sent] > 0], receive[flow[received] > 0]))
        lacking = np.zeros_like(self.failed)
        if len(ends):
            lacking[self._families_of_nodes()[ends]] = True
        keeps, takes = flow[keep] > 0, flow[take] > 0
        found = (
            (self.keep[0][keeps], self.keep[1][keeps]),
            (self.take[0][takes], self.take[1][takes]),
            self._assign_flexible(flow[any_], lacking),
        )
        for items, slots in found:
            placed = ~lacking[self.problem.family[items]]
            self.found.append((items[placed], slots[placed]))
        return lacking

    def _mixing(self, item: Ints, slot: Ints) -> dict[int, npt.ArrayLike]:
        """The costs of arcs, which make the choice well-mixed."""
        many = len(self.take[0]) > _MOST_COSTS
        return {} if many else {0: _scatter(item, slot)}

    def _families_of_nodes(self) -> Ints:
        """The families of all nodes but ``lost``."""
        family = self.problem.family
        return np.concatenate(
            (
                family,
                np.repeat(family, self.problem.zones),
                self.own_family,
                self.pool_family[self.new_pool],
                self._any_family(),
            )
        )

    def _assign_flexible(self, flow: Ints, lacking: Bools) -> tuple[Ints, Ints]:
        """(item, slot) pairs of the flexible items of families that take part and lack nothing,
        ties scrambled."""
        item, zone = self.flexible
        place = self.counts.pool[item] * self.problem.zones + zone
        asked = self.any_count[np.searchsorted(self.any_place, place)] > 0
        placed = asked & ~lacking[self.problem.family[item]]
        item, place = item[placed], place[placed]
        item = item[np.lexsort((_scatter(item, place), place))]
        taker, pair = (np.repeat(part, flow) for part in self.any)
        ours = ~lacking[self._any_family()[taker]]
        taker, slot = taker[ours], self.new_slot[pair[ours]]
        return item, slot[np.lexsort((_scatter(np.arange(len(slot)), slot), taker))]


def _runs(wanted: Ints, sorted_: Ints) -> tuple[Ints, Ints]:
    """Start and length of the run of each wanted value in a sorted array."""
    first = np.asarray(np.searchsorted(sorted_, wanted), dtype=np.int64)
    last = np.asarray(np.searchsorted(sorted_, wanted, side="right"), dtype=np.int64)
    return first, last - first


def _listed(first: Ints, width: Ints, taken: Ints) -> tuple[Ints, Ints]:
    """(run, position) of ``taken`` places of each run, cyclically from a start that differs between
    runs."""
    run = np.repeat(np.arange(len(first)), taken)
    step = np.arange(len(run)) - np.repeat(np.cumsum(taken) - taken, taken)
    start = np.where(taken < width, _scatter(np.arange(len(first)), width) * width // _COSTS, 0)
    return run, first[run] + (start[run] + step) % np.maximum(width, 1)[run]


def _scatter(item: Ints, slot: Ints) -> Ints:
    """Costs that look random and depend only on (item, slot): among equally good solutions they
    choose a well-mixed one. Without them the solver moves several slots of the same items, and the
    new slots end up sharing most of their items with each other."""
    mixed = (item.astype(np.uint64) << np.uint64(20)) + slot.astype(np.uint64) + np.uint64(1)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
    return ((mixed >> np.uint64(31)) % np.uint64(_COSTS)).astype(np.int64)
