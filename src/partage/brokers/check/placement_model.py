"""The placement problem in the terms of the bounds: items, slots, families, zones."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from partage.arrays import Bools, Ints
from partage.brokers.check.plan_columns import MAX_WEIGHT, PlanColumns, lengths, pair_counts
from partage.brokers.check.racks import max_per_rack
from partage.brokers.check.recount import Recount
from partage.brokers.check.schema import MalformedError
from partage.brokers.directory import MARKER


class PlacementModel:
    """Chosen partitions are items [I], usable brokers slots [E], topics families, racks zones.

    - ``items`` [I]: rows of the chosen partitions; ``families``: their topics; ``family`` [I]
    - ``demand``, ``least``, ``most`` [I]: replicas, and the fewest and the most of them in a zone
    - ``sits``: (item, slot) of each replica today; ``zone`` [E]
    - ``base``, ``load`` [E]: replicas of the partitions left out, and of all, after the plan
    """

    def __init__(self, plan: PlanColumns) -> None:
        self.plan = plan
        items = self.items = np.flatnonzero(plan.chosen)
        slots, e = plan.slots, len(plan.slots)
        self.families = np.unique(plan.topic[items])
        self.family = np.searchsorted(self.families, plan.topic[items])
        row, broker = plan.pairs(plan.after)
        slot = plan.slot_of[broker]
        ok = slot >= 0
        self.load = np.bincount(slot[ok], minlength=e)
        stay = ok & ~plan.chosen[row]
        self.base = np.bincount(slot[stay], minlength=e)
        self._stay = plan.topic[row[stay]], slot[stay]
        was_row, was_broker = plan.pairs(plan.before)
        was_slot = plan.slot_of[was_broker]
        own = (was_slot >= 0) & plan.chosen[was_row]
        self.sits = ((np.cumsum(plan.chosen) - 1)[was_row[own]], was_slot[own])

        racks = [plan.rack[s] for s in slots.tolist()]
        names = list(plan.rack_sizes)
        self.zone = np.array([names.index(r) if names else 0 for r in racks])
        sizes = np.bincount(self.zone)
        demand = self.demand = plan.factor[items]
        if int(demand.max(initial=0)) > e:
            raise MalformedError(
                f"{MARKER}: partitions.replication_factor: must be at most {e}, the usable brokers"
            )
        self.least, self.most = np.zeros_like(demand), demand.copy()
        for factor in np.unique(demand).tolist() if names else []:
            self.most[demand == factor] = max_per_rack(sizes.tolist(), factor)
            self.least[demand == factor] = int(factor > len(names))

    @cached_property
    def family_base(self) -> Ints:
        """[families, E] the part of ``base`` in each family."""
        topic, slot = self._stay
        inside = np.isin(topic, self.families)
        shape = len(self.families), len(self.base)
        if not inside.any():
            return np.broadcast_to(np.zeros_like(self.base), shape)
        family = np.searchsorted(self.families, topic[inside])
        return pair_counts(family, slot[inside], *shape)

    def spread_squares(self) -> int:
        """The sum of the squares of the replicas after the plan, by family and slot."""
        topic, _, count = self.plan.topic_counts(self.plan.after)
        return int((count[np.isin(topic, self.families)] ** 2).sum())

    def broken_limits(self) -> list[str]:
        """The limits on what is moved that the placement breaks."""
        plan, found = self.plan, []
        most_moves, most_bytes = plan.asked.max_moves, plan.asked.max_bytes
        if most_moves is not None and plan.moves > most_moves:
            found.append(f"{MARKER}: {plan.moves} moves, at most {most_moves} are allowed")
        if most_bytes is not None and plan.bytes_moved > most_bytes:
            moved = plan.bytes_moved
            found.append(f"{MARKER}: {moved} bytes are moved, at most {most_bytes} are allowed")
        return found

    def in_zones(self) -> Ints:
        """[I, zones] usable replicas of each item today."""
        held = np.zeros((len(self.items), int(self.zone.max()) + 1), dtype=np.int64)
        np.add.at(held, (self.sits[0], self.zone[self.sits[1]]), 1)
        return held

    def zone_totals(self) -> tuple[Ints, Ints]:
        """[zones] the fewest and the most replicas in each zone, over all placements."""
        zones = int(self.zone.max()) + 1
        stay = np.bincount(self.zone, self.base, minlength=zones).astype(np.int64)
        must, can = self.in_zones_at_least_and_most()
        return stay + must.sum(axis=0), stay + can.sum(axis=0)

    def in_zones_at_least_and_most(self) -> tuple[Ints, Ints]:
        """[I, zones] the fewest and the most replicas of each item in each zone."""
        zones = int(self.zone.max()) + 1
        can = np.minimum(np.bincount(self.zone, minlength=zones), self.most[:, None])
        elsewhere = can.sum(axis=1, keepdims=True) - can
        return np.maximum(self.least[:, None], self.demand[:, None] - elsewhere), can

    def movable(self) -> Bools:
        """[I] the items that may move: all, except that relieving disks does not repair items that
        only break the rack rule."""
        if not self.plan.asked.relieves:
            return np.ones(len(self.items), dtype=np.bool_)
        held = self.in_zones()
        wrong = (held < self.least[:, None]) | (held > self.most[:, None])
        today = lengths(self.plan.before)[self.items]
        complete = (held.sum(axis=1) == self.demand) & (today == self.demand)
        return np.asarray(~(wrong.any(axis=1) & complete))

    def forced_moves(self) -> int:
        """The moves that the rules force, whatever is balanced."""
        free, held = self.movable(), self.in_zones()
        kept = np.minimum(held, self.most[:, None]).sum(axis=1)
        missing = np.maximum(self.least[:, None] - held, 0).sum(axis=1)
        return int((self.demand - np.minimum(kept, self.demand - missing))[free].sum())

    def load_weights(self, stage: dict[str, Any], found: Recount) -> Ints:
        """[E] the load weights of a stage; adds a defect if they are others."""
        weight = self.weights()
        if weight.tolist() != stage["prices"]["load_weights"]:
            found.defect(f"load_weights of {stage['stage']} are not in proportion to 1 / capacity")
        return weight

    def weights(self) -> Ints:
        """[E] 1 / capacity as whole numbers."""
        return whole_weights([self.plan.capacity[s] for s in self.plan.slots])


def whole_weights(capacity: Sequence[Fraction]) -> Ints:
    """1 / capacity as whole numbers up to 20,000: in proportion if such numbers exist, else rounded
    on the finest scale."""
    largest = max(capacity)
    expected = [largest / one for one in capacity]
    scale = math.lcm(*(x.denominator for x in expected))
    if scale * max(expected) > MAX_WEIGHT:
        scale = math.floor(MAX_WEIGHT / max(expected))
    return np.array([round(x * scale) for x in expected], dtype=np.int64)
