"""Counts per group and slot dealt out to the single items, which is a flow once more.

Items whose slots are settled one by one take part with what is left open for them: how many slots
of a zone they take anew, though not which. Such an item that takes one slot of a zone and keeps
none there goes with any slot of the zone that its pool takes: the slots it had and does not keep
cannot be among them, since keeping one would have been cheaper. So these items are not told apart
in the flow: whatever the others leave is dealt out to them at the end.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from partage.flow.assignment.count_network import CountNetwork
from partage.flow.assignment.problem import AssignmentProblem, as_rows
from partage.flow.network import Network, Optimum, minimise

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

_ANY = 2**30
_MANY, _TIMES = 2_000_000, 16
"""Candidates, beyond which only so many times as many as are asked for are laid out at first."""


@dataclass(frozen=True, eq=False)
class Counts:
    """What is to be dealt out.

    - ``of`` [I] group of each item; ``own``: (group, slot, how many of the group's items sit
      there), ascending; ``kept``: how many of them stay, per entry of ``own``
    - ``pool`` [I]: items that share what they take anew; ``asked`` [P, E]: how many of a pool take
      the slot anew
    - ``alone`` [I]: items that are a group of their own; ``anew`` [I, Z] how many slots of the zone
      they take anew out of their pool; ``taken``: (item, slot) that they take beside that
    """

    problem: AssignmentProblem
    of: Ints
    own: tuple[Ints, Ints, Ints]
    kept: Ints
    pool: Ints
    asked: Ints
    alone: Bools
    anew: Ints
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
            asked=fine.taken_anew(),
            alone=np.zeros(problem.items, dtype=np.bool_),
            anew=np.zeros((problem.items, problem.zones), dtype=np.int64),
            taken=(nothing, nothing),
        )


def assign_items(counts: Counts) -> tuple[Ints, Ints]:
    """Give each item its slots so that all the counts come out.

    Returns the slots [I, max demand] and the families for which no such deal exists.
    """
    return _Deal(counts).answer()


class _Deal:
    """The deal step by step; ``failed`` are the families given up so far."""

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
        self._measure_what_is_left()
        self._give_up(np.unique(self.problem.family[self._impossible()]))
        self._set_apart_who_takes_any()
        self._find_candidates(thin=True)

    def _measure_what_is_left(self) -> None:
        """``left`` [I] slots still to be had; ``room``, ``must`` [I, Z] at most and at least."""
        problem, counts, zones = self.problem, self.counts, self.problem.zones
        item = np.concatenate((self.item[self.stays], counts.taken[0]))
        zone = problem.zone_of[np.concatenate((self.slot[self.stays], counts.taken[1]))]
        self.left = problem.demand - np.bincount(item, minlength=problem.items)
        inside = np.bincount(item * zones + zone, minlength=problem.items * zones)
        self.inside = inside.reshape(-1, zones)
        least, most = (bound[:, None] for bound in problem.item_bounds)
        alone = counts.alone[:, None]
        self.room = np.where(alone, counts.anew, most - self.inside)
        self.must = np.where(alone, counts.anew, np.maximum(least - self.inside, 0))

    def _impossible(self) -> Bools:
        """[I] items that what surely stays leaves no way out."""
        least, most = self.must.sum(axis=1), self.room.sum(axis=1)
        return np.asarray((self.room < 0).any(axis=1) | (self.left < least) | (self.left > most))

    def _give_up(self, families: Ints) -> None:
        self.failed = families
        off = np.isin(self.problem.family, families)
        self.left[off] = 0
        self.must[off] = 0
        self.room[off] = 0
        self.kept[np.isin(self.own_family, families)] = 0
        self.asked[np.isin(self.pool_family, families)] = 0

    def _set_apart_who_takes_any(self) -> None:
        """``taker``: (item, zone) of those that go with any slot; they leave the rest."""
        free = self.counts.alone[:, None] & (self.room == 1) & (self.inside == 0)
        self.taker = np.nonzero(free)
        self.left -= free.sum(axis=1)
        self.room[free] = self.must[free] = 0
        wants = self.counts.pool[self.taker[0]] * self.problem.zones + self.taker[1]
        self.any_place, self.any_count = np.unique(wants, return_counts=True)

    def _find_candidates(self, *, thin: bool) -> None:
        """Who may take what: (pool, slot) asked for, and for each the items with room in the zone
        that do not sit there; who may keep what. ``thin``: where these are very many, some times
        as many as are asked for, drawn evenly, mostly do."""
        problem, zones, e = self.problem, self.problem.zones, self.problem.slots
        self.new_pool, self.new_slot = np.nonzero(self.asked)
        place = self.new_pool * zones + problem.zone_of[self.new_slot]
        open_item, open_zone = np.nonzero((self.room > 0) & (self.left > 0)[:, None])
        self.open = (open_item, open_zone)
        at = self.counts.pool[open_item] * zones + open_zone
        order = np.argsort(at, kind="stable")
        first, width = _runs(place, at[order])
        enough = _TIMES * self.asked[self.new_pool, self.new_slot] + _TIMES**2
        self.thinned = thin and int(width.sum()) > _MANY
        taken = width
        if self.thinned:
            order = np.lexsort((_scatter(open_item, open_zone), at))
            taken = np.minimum(width, enough)
        pair, found = _listed(first, width, taken)
        candidate = open_item[order[found]]
        target = self.new_slot[pair]
        sits = np.isin(candidate * e + target, self.item * e + self.slot)
        self.take = (candidate[~sits], target[~sits], pair[~sits])
        may = ~self.stays & (self.kept[self.entry] > 0) & (self.left[self.item] > 0)
        self.keep = (self.item[may], self.slot[may], self.entry[may])
        # those who take any slot, as one, may have every slot of their zone
        order = np.argsort(place, kind="stable")
        first, width = _runs(self.any_place, place[order])
        who, found = _listed(first, width, width)
        self.any = (who, order[found])

    def _flow(self, *, soft: bool) -> tuple[Optimum | None, slice, slice, slice, slice]:
        """The network: items, (item, zone), what must be kept per own entry, what must be new per
        (pool, slot), those who take any, lost. ``soft``: what cannot be dealt may be lost."""
        zones, at = self.problem.zones, self.problem.zone_of
        own_count = self.counts.own[2]
        first_zone = self.problem.items
        first_own = first_zone + self.problem.items * zones
        first_new = first_own + len(own_count)
        first_any = first_new + len(self.new_pool)
        lost = first_any + len(self.any_place)
        network = Network(lost + 1, 2 if soft else 1)
        supply, layer = network.supply, network.layers - 1
        supply[:first_zone] = self.left - self.must.sum(axis=1)
        supply[first_zone:first_own] = self.must.ravel()
        supply[first_own:first_new] = -np.where(self.kept == own_count, 0, self.kept)
        supply[first_new:first_any] = -self.asked[self.new_pool, self.new_slot]
        supply[first_any:lost] = self.any_count
        supply[lost] = -int(supply.sum())
        item, zone = self.open
        network.arcs(item, first_zone + item * zones + zone, (self.room - self.must)[self.open])
        item, slot, entry = self.keep
        keep = network.arcs(
            first_zone + item * zones + at[slot],
            first_own + entry,
            1,
            {layer: _scatter(item, slot)},
        )
        item, slot, pair = self.take
        take = network.arcs(
            first_zone + item * zones + at[slot],
            first_new + pair,
            1,
            {layer: _scatter(item, slot)},
        )
        who, pair = self.any
        any_ = network.arcs(first_any + who, first_new + pair, _ANY)
        first = any_.stop
        if soft:
            network.arcs(lost, np.arange(first_own, first_any), _ANY, {0: 1})
            network.arcs(np.arange(first_any, lost), lost, _ANY, {0: 1})
            item, zone = self.open
            network.arcs(item, lost, _ANY, {0: 1})
            network.arcs(first_zone + item * zones + zone, lost, _ANY, {0: 1})
        return minimise(network, prove_last=False), keep, take, any_, slice(first, None)

    def answer(self) -> tuple[Ints, Ints]:
        optimum, keep, take, any_, _ = self._flow(soft=False)
        if optimum is None and self.thinned:
            self._find_candidates(thin=False)
            optimum, keep, take, any_, _ = self._flow(soft=False)
        if optimum is None:
            optimum, keep, take, any_, loss = self._flow(soft=True)
            assert optimum is not None, "what cannot be dealt may be lost"
            family = self.problem.family[self.open[0]]
            owner = np.concatenate(
                (
                    self.own_family,
                    self.pool_family[self.new_pool],
                    self.pool_family[self.any_place // self.problem.zones],
                    family,
                    family,
                )
            )
            self.failed = np.union1d(self.failed, owner[optimum.flow[loss] > 0])
        keeps, takes = optimum.flow[keep] > 0, optimum.flow[take] > 0
        any_item, any_slot = self._deal_to_any(optimum.flow[any_])
        of = (
            self.item[self.stays],
            self.counts.taken[0],
            self.keep[0][keeps],
            self.take[0][takes],
            any_item,
        )
        on = (
            self.slot[self.stays],
            self.counts.taken[1],
            self.keep[1][keeps],
            self.take[1][takes],
            any_slot,
        )
        items, slots = np.concatenate(of), np.concatenate(on)
        dealt = ~np.isin(self.problem.family[items], self.failed)
        return as_rows(self.problem, items[dealt], slots[dealt]), self.failed

    def _deal_to_any(self, flow: Ints) -> tuple[Ints, Ints]:
        """(item, slot) for those who take any slot of their zone, mixed."""
        item, zone = self.taker
        place = self.counts.pool[item] * self.problem.zones + zone
        dealt = ~np.isin(self.problem.family[item], self.failed)
        item, place = item[dealt], place[dealt]
        item = item[np.lexsort((_scatter(item, place), place))]
        who, pair = (np.repeat(part, flow) for part in self.any)
        ours = ~np.isin(self.pool_family[self.any_place[who] // self.problem.zones], self.failed)
        who, slot = who[ours], self.new_slot[pair[ours]]
        return item, slot[np.lexsort((_scatter(np.arange(len(slot)), slot), who))]


def _runs(wanted: Ints, sorted_: Ints) -> tuple[Ints, Ints]:
    """Where the run of each wanted value begins in a sorted array, and how long it is."""
    first = np.asarray(np.searchsorted(sorted_, wanted), dtype=np.int64)
    last = np.asarray(np.searchsorted(sorted_, wanted, side="right"), dtype=np.int64)
    return first, last - first


def _listed(first: Ints, width: Ints, taken: Ints) -> tuple[Ints, Ints]:
    """(run, position) of the places taken of each run: all, or so many, going round from a place
    that differs from run to run."""
    run = np.repeat(np.arange(len(first)), taken)
    step = np.arange(len(run)) - np.repeat(np.cumsum(taken) - taken, taken)
    start = np.where(taken < width, _scatter(np.arange(len(first)), width) * width // 1000, 0)
    return run, first[run] + (start[run] + step) % np.maximum(width, 1)[run]


def _scatter(item: Ints, slot: Ints) -> Ints:
    """Costs that look random and depend on (item, slot) alone: among equal deals they pick one
    that mixes. Without them a solver moves items whole, several slots at a time, and the new slots
    end up sharing most of their items with each other."""
    mixed = (item.astype(np.uint64) << np.uint64(20)) + slot.astype(np.uint64) + np.uint64(1)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
    return ((mixed >> np.uint64(31)) % np.uint64(1000)).astype(np.int64)
