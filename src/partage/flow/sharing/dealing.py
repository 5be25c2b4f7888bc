"""Counts per group and slot dealt out to the single items, which is a flow once more."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from partage.flow.network import Network, Optimum, minimise
from partage.flow.sharing.counts import CountNetwork
from partage.flow.sharing.problem import as_rows

Ints = npt.NDArray[np.int64]


def deal(fine: CountNetwork) -> tuple[Ints, Ints]:
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
    return as_rows(problem, of[fine_so_far], on[fine_so_far]), failed


def _scatter(item: Ints, slot: Ints) -> Ints:
    """Costs that look random and depend on (item, slot) alone: among equal deals they pick one
    that mixes. Without them a solver moves items whole, several slots at a time, and the new slots
    end up sharing most of their items with each other."""
    mixed = (item.astype(np.uint64) << np.uint64(20)) + slot.astype(np.uint64) + np.uint64(1)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
    return ((mixed >> np.uint64(31)) % np.uint64(1000)).astype(np.int64)
