"""The job as the bounds see it: items, slots, zones, counted from plan.json."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from partage.brokers.check.plan_file import (
    Bools,
    Ints,
    MalformedError,
    PlanFile,
    most_per_rack,
    size_in_bytes,
)
from partage.brokers.directory import MARKER

_LARGEST_WEIGHT = 20_000
"""Load weights up to here are exact, see docs/proofs.md."""


class Problem:
    """Chosen partitions are items, usable brokers slots, their racks zones.

    - ``items`` [I] rows; ``family``, ``families``: topics among them; ``demand``, ``least``,
      ``most`` [I]; ``sits``: (item, slot) today; ``zone`` [E]
    - ``fixed``, ``count`` [topics, E]: replicas left out, and all of them, after
    """

    def __init__(self, plan: PlanFile) -> None:
        self.plan = plan
        items = self.items = np.flatnonzero(plan.chosen)
        slots, e = plan.slots, len(plan.slots)
        self.families = sorted(set(plan.topic[items].tolist()))
        self.family = np.searchsorted(self.families, plan.topic[items])
        self.fixed = np.zeros((len(plan.topics), e), dtype=np.int64)
        self.count = np.zeros((len(plan.topics), e), dtype=np.int64)
        row, broker = plan.pairs(plan.after)
        slot = plan.slot_of[broker]
        ok = slot >= 0
        np.add.at(self.count, (plan.topic[row[ok]], slot[ok]), 1)
        stay = ok & ~plan.chosen[row]
        np.add.at(self.fixed, (plan.topic[row[stay]], slot[stay]), 1)
        was_row, was_broker = plan.pairs(plan.before)
        was_slot = plan.slot_of[was_broker]
        own = (was_slot >= 0) & plan.chosen[was_row]
        self.sits = (np.searchsorted(items, was_row[own]), was_slot[own])

        racks = [plan.rack[s] for s in slots.tolist()]
        names = sorted({r for r in racks if r is not None})
        self.zone = np.array([names.index(r) if names else 0 for r in racks])
        sizes = np.bincount(self.zone)
        demand = self.demand = plan.factor[items]
        if int(demand.max(initial=0)) > e:
            raise MalformedError(f"{MARKER}: partitions.replication_factor: above the brokers")
        self.least, self.most = np.zeros_like(demand), demand.copy()
        for factor in np.unique(demand).tolist() if names else []:
            self.most[demand == factor] = most_per_rack(sizes.tolist(), factor)
            self.least[demand == factor] = int(factor > len(names))

    @property
    def moves(self) -> int:
        """Replicas that a broker must newly fetch."""
        lists = zip(self.plan.before, self.plan.after, strict=True)
        return sum(len(set(a) - set(b)) for b, a in lists)

    @property
    def bytes_moved(self) -> int:
        """Bytes that brokers must newly fetch."""
        lists = zip(self.plan.size.tolist(), self.plan.before, self.plan.after, strict=True)
        return sum(size * len(set(a) - set(b)) for size, b, a in lists)

    def limits_missed(self) -> list[str]:
        """The limits on what is moved that do not hold, whatever the stages say."""
        found, options = [], self.plan.options
        if options.get("max_moves") is not None and self.moves > options["max_moves"]:
            found.append(f"{MARKER}: {self.moves} moves, --max-moves {options['max_moves']}")
        limit = options.get("max_bytes_moved")
        if limit is not None:
            moved, allowed = self.bytes_moved, size_in_bytes(limit, "max_bytes_moved")
            if moved > allowed:
                found.append(f"{MARKER}: {moved} bytes are moved, --max-bytes-moved {limit}")
        return found

    def in_zones(self) -> Ints:
        """[I, zones] usable replicas of each item today."""
        held = np.zeros((len(self.items), int(self.zone.max()) + 1), dtype=np.int64)
        np.add.at(held, (self.sits[0], self.zone[self.sits[1]]), 1)
        return held

    def zone_totals(self) -> tuple[Ints, Ints]:
        """[zones] the fewest and the most replicas that a rack holds in any placement."""
        zones = int(self.zone.max()) + 1
        stay = np.bincount(self.zone, self.fixed.sum(axis=0), minlength=zones).astype(np.int64)
        can = np.minimum(np.bincount(self.zone, minlength=zones), self.most[:, None])
        elsewhere = can.sum(axis=1, keepdims=True) - can
        must = np.maximum(self.least[:, None], self.demand[:, None] - elsewhere)
        return stay + must.sum(axis=0), stay + can.sum(axis=0)

    def movable(self) -> Bools:
        """[I] all items; but relieving leaves alone what breaks the rack rule and nothing else."""
        if self.plan.relieve is None:
            return np.ones(len(self.items), dtype=np.bool_)
        held = self.in_zones()
        wrong = (held < self.least[:, None]) | (held > self.most[:, None])
        today = np.array([len(self.plan.before[row]) for row in self.items.tolist()])
        complete = (held.sum(axis=1) == self.demand) & (today == self.demand)
        return np.asarray(~(wrong.any(axis=1) & complete))

    def forced_moves(self) -> int:
        """Replicas for which too few are left where they may stay."""
        free, held = self.movable(), self.in_zones()
        kept = np.minimum(held, self.most[:, None]).sum(axis=1)
        missing = np.maximum(self.least[:, None] - held, 0).sum(axis=1)
        return int((self.demand - np.minimum(kept, self.demand - missing))[free].sum())

    def weights(self, prices: Any) -> tuple[Ints, list[str]]:
        """The load weights of a stage, and the defect where they are not 1 / capacity in whole
        numbers up to 20,000: in proportion where these exist, else rounded at the finest scale that
        keeps them so small."""
        plan = self.plan
        weight = np.array(prices["load_weights"], dtype=np.int64)
        most = max(plan.capacity[s] for s in plan.slots)
        wanted = [most / plan.capacity[s] for s in plan.slots]
        scale = math.lcm(*(x.denominator for x in wanted))
        if scale * max(wanted) > _LARGEST_WEIGHT:
            scale = math.floor(_LARGEST_WEIGHT / max(wanted))
        if weight.tolist() != [round(x * scale) for x in wanted]:
            where = f"{MARKER}: certificate: load_weights"
            return weight, [f"{where} are not in proportion to 1 / capacity"]
        return weight, []
