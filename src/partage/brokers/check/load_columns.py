"""The loads of the brokers, and with ``balance`` load their bands, counted again from plan.json.

Resources of replicas: ``replicas``, ``disk``, ``in`` (what producers write); of leaders:
``leaders``, ``out`` (what consumers read, and a copy for each follower), ``leader_in``. Rates are
whole multiples of a power of two, chosen so that sums are exact.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from partage.arrays import Ints
from partage.brokers.check.asked import LOAD_TOLERANCE, OF_LEADERS, OF_REPLICAS, RESOURCES
from partage.brokers.check.fair_bytes import fair_loads
from partage.brokers.check.placement_model import PlacementModel, whole_weights
from partage.brokers.check.plan_columns import MAX_WEIGHT, PlanColumns
from partage.brokers.check.schema import MalformedError
from partage.brokers.directory import MARKER
from partage.flow.packing import unpack

CAPACITY = {
    "disk": "disk_bytes",
    "in": "network_in_bytes_per_second",
    "out": "network_out_bytes_per_second",
    "leader_in": "network_in_bytes_per_second",
}
_RATE_BITS = 44
_EDGE = 1e-6
_ROUNDING = 1e-9
_NO_DISK = 2**62


def whole_rates(plan: PlanColumns) -> tuple[int, dict[str, list[int]]]:
    """(bits, [P] by resource): the rates of a partition's replica, or of its leader, times
    2 ** bits, of a plan that has them."""
    largest = max(map(float, [*plan.bytes_in, *plan.bytes_out]))
    bits = _RATE_BITS - math.frexp(largest)[1] - len(plan.bytes_in).bit_length()
    written, read = (
        [round(math.ldexp(rate, bits)) for rate in part] for part in (plan.bytes_in, plan.bytes_out)
    )
    copies = zip(read, written, plan.factor.tolist(), strict=True)
    out = [r + (factor - 1) * w for r, w, factor in copies]
    return bits, {"in": written, "out": out, "leader_in": written}


class LoadColumns:
    """Loads by resource: ``load`` [P] of a partition's replica, or of its leader; ``stays`` [E]:
    of the partitions left out; ``fair`` [E]: the fair shares that the plan states, and with
    ``balance`` load ``low``, ``high`` [E]: its bands."""

    def __init__(self, plan: PlanColumns) -> None:
        self.plan, self.model = plan, PlacementModel(plan)
        self.bits, rates = whole_rates(plan)
        one = [1] * len(plan.factor)
        self.load = {"replicas": one, "leaders": one, "disk": plan.size.tolist(), **rates}
        fixed = (~plan.chosen).tolist()
        self.everything = [True] * len(fixed)
        self.stays = {name: self.on_slots(name, plan.before, fixed) for name in RESOURCES}
        self.banded = plan.asked.by_load
        if self.banded:
            bands = plan.stages["load"]["prices"]["bands"]
            self.low, self.high, self.fair = (
                {name: self._stated(bands[name][end]) for name in RESOURCES}
                for end in ("low", "high", "fair")
            )
        else:
            fair = plan.value["certificate"]["fair"]
            self.fair = {name: self._stated(fair[name]) for name in RESOURCES}

    def _stated(self, packed: str) -> list[int]:
        """[E] numbers of plan.json."""
        return [int(one) for one in unpack(packed, len(self.plan.slots)).tolist()]

    def after(self, name: str) -> list[int]:
        """[E] the load of each usable broker after the plan."""
        return self.on_slots(name, self.plan.after, self.everything)

    def on_slots(
        self, name: str, lists: Sequence[Sequence[int]], rows: Sequence[bool]
    ) -> list[int]:
        """[E] the load of these partitions on each usable broker."""
        total = self.on_brokers(name, lists, rows)
        return [total[place] for place in self.plan.slots.tolist()]

    def on_brokers(
        self, name: str, lists: Sequence[Sequence[int]], rows: Sequence[bool]
    ) -> list[int]:
        """[B] the same on every broker."""
        total = [0] * len(self.plan.ids)
        for brokers, load, counts in zip(lists, self.load[name], rows, strict=True):
            if counts:
                for b in brokers if name in OF_REPLICAS else brokers[:1]:
                    total[self.plan.place[b]] += load
        return total

    @cached_property
    def items(self) -> dict[str, list[int]]:
        """By resource, the loads of the chosen partitions."""
        rows = self.model.items.tolist()
        return {name: [load[row] for row in rows] for name, load in self.load.items()}

    @property
    def copied(self) -> Ints:
        """[I] what a new replica of each chosen partition copies."""
        return self.plan.copied[self.model.items]

    # -- the bands that the options ask for

    def capacity(self, name: str) -> list[Fraction]:
        """[E] what each broker has for a resource, if known of all; else its ``capacity``."""
        known = self._known_capacity(name)
        return known or [self.plan.capacity[s] for s in self.plan.slots.tolist()]

    def _known_capacity(self, name: str) -> list[Fraction]:
        """[E] what each broker has for a resource; empty unless known of all."""
        brokers = [self.plan.value["brokers"][s] for s in self.plan.slots.tolist()]
        known = [broker.get(CAPACITY.get(name, "")) for broker in brokers]
        return [Fraction(one) for one in known] if all(known) else []

    def wrong_fair(self) -> list[str]:
        """The resources whose stated fair shares are not what racks and capacities give."""
        return [name for name in RESOURCES if not self._is_fair(name)]

    def _is_fair(self, name: str) -> bool:
        expected = [max(1, round(share)) for share in self._fair[name]]
        return self._near(name, expected, self.fair[name])

    def _near(self, name: str, expected: Sequence[int], stated: Sequence[int]) -> bool:
        """Whether numbers [E] are those expected. Shares by racks are floats: rounding may differ
        by a unit of bytes or rates."""
        exact = name in ("replicas", *OF_LEADERS)
        return all(
            abs(a - b) <= (0 if exact else 1 + abs(a) * _ROUNDING)
            for a, b in zip(expected, stated, strict=True)
        )

    def wrong_bands(self) -> list[str]:
        """The resources whose stated bands are not those of the options."""
        return [name for name in RESOURCES if not self._fits(name)]

    def _fits(self, name: str) -> bool:
        if self.plan.asked.relieved:
            highs = self._limits(name)
            kept = self._near(name, highs, self.high[name]) and not any(self.low[name])
            return kept and self._is_fair(name)
        tolerance = self.plan.asked.load_tolerance(name)
        shares = self._fair[name]
        lows, highs = [], []
        disks: list[Any] = [self.plan.disk[s] for s in self.plan.slots.tolist()]
        for e, share in enumerate(shares):
            low = min(math.ceil(share * (1 - tolerance) - _EDGE), math.floor(share + _EDGE))
            high = max(math.floor(share * (1 + tolerance) + _EDGE), math.ceil(share - _EDGE))
            if name == "disk" and disks[e] is not None:
                high = min(high, disks[e])
                low = min(low, high)
            lows.append(max(0, low))
            highs.append(high)
        ends = self._near(name, lows, self.low[name]) and self._near(name, highs, self.high[name])
        return ends and self._is_fair(name)

    def _limits(self, name: str) -> list[int]:
        """[E] where loads are relieved, the most that each broker may have: the limit asked for,
        or, of another load, what it has today or the upper end of the usual band."""
        disks: list[Any] = [self.plan.disk[s] for s in self.plan.slots.tolist()]
        part = self.plan.asked.relieved.get(name)
        if part is None:
            today = self.on_slots(name, self.plan.before, self.everything)
            widened = [share * (1 + LOAD_TOLERANCE) for share in self._fair[name]]
            found = [
                max(now, math.floor(wide + _EDGE), math.ceil(share - _EDGE))
                for now, wide, share in zip(today, widened, self._fair[name], strict=True)
            ]
        elif name == "disk":
            found = [_NO_DISK if disk is None else math.floor(disk * part) for disk in disks]
        elif known := self._known_capacity(name):
            unit = Fraction(2) ** self.bits
            found = [math.floor(one * part * unit) for one in known]
        else:
            found = [
                max(math.floor(share * part + _EDGE), math.ceil(share - _EDGE) if part >= 1 else 0)
                for share in self._fair[name]
            ]
        if name != "disk":
            return found
        return [
            most if disk is None else min(most, disk)
            for most, disk in zip(found, disks, strict=True)
        ]

    @cached_property
    def _fair(self) -> dict[str, list[Fraction]]:
        """By resource, the fair share of each usable broker."""
        return {name: self._fair_share(name) for name in RESOURCES}

    def _fair_share(self, name: str) -> list[Fraction]:
        capacity = self.capacity(name)
        if max(capacity) > MAX_WEIGHT * min(capacity):
            what = CAPACITY.get(name, "capacities")
            raise MalformedError(f"{MARKER}: brokers: {what} differ by more than {MAX_WEIGHT}")
        if name in OF_LEADERS:
            total = sum(self.items[name]) + sum(self.stays[name])
            return [total * one / sum(capacity) for one in capacity]
        disks = [self.plan.disk[s] for s in self.plan.slots.tolist()]
        limited = name == "disk"
        most = [float(d) if limited and d is not None else math.inf for d in disks]
        load, stays = (np.array(x, dtype=np.int64) for x in (self.items[name], self.stays[name]))
        fair = fair_loads(self.model, load, whole_weights(capacity), stays, np.array(most))
        return [Fraction(share) for share in fair.tolist()]

    # -- how far from the bands

    def excess(self, name: str, load: Sequence[int]) -> list[int]:
        """[E] how far outside the bands loads are, in millionths of the fair share."""
        columns = zip(load, self.low[name], self.high[name], self.fair[name], strict=True)
        return [
            -(-max(0, one - high, low - one) * 10**6 // fair) for one, low, high, fair in columns
        ]

    def least_excess(self, name: str) -> int:
        """What some broker must have at least, whatever the placement."""
        if self.plan.asked.no_moves:
            return self._least_without_moves(name)
        found = [self._forced_by_racks(name)] if name in OF_REPLICAS else []
        found.append(max(self._above(name, 0)))
        for factor, largest in self.largest(name):
            found.append(sorted(self._above(name, largest))[factor - 1])
        return max(found)

    def _least_without_moves(self, name: str) -> int:
        """The replicas stay; each partition is led by one of its brokers."""
        if name in OF_REPLICAS:
            return max(self.excess(name, self.on_slots(name, self.plan.before, self.everything)))
        worst = 0
        for row in self.model.items.tolist():
            load = self.load[name][row]
            holders = [int(self.plan.slot_of[self.plan.place[b]]) for b in self.plan.before[row]]
            above = [
                -(-(self.stays[name][e] + load - self.high[name][e]) * 10**6 // self.fair[name][e])
                for e in holders
            ]
            worst = max(worst, min(above))
        return worst

    def largest(self, name: str) -> list[tuple[int, int]]:
        """By replication factor (1 for leaders): the largest load of a chosen partition."""
        held = name in OF_REPLICAS
        largest: dict[int, int] = {}
        for load, factor in zip(self.items[name], self.model.demand.tolist(), strict=True):
            key = factor if held else 1
            largest[key] = max(largest.get(key, 0), load)
        return sorted(largest.items())

    def _above(self, name: str, load: int) -> list[int]:
        """[E] how far above its band a broker is with what stays and this load."""
        columns = zip(self.stays[name], self.high[name], self.fair[name], strict=True)
        return [max(0, -(-(stays + load - high) * 10**6 // fair)) for stays, high, fair in columns]

    def _forced_by_racks(self, name: str) -> int:
        must, can = self.model.in_zones_at_least_and_most()
        load = self.items[name]
        worst = 0
        for z in range(must.shape[1]):
            here = np.flatnonzero(self.model.zone == z).tolist()
            low, high, fair, stays = (
                sum(part[name][e] for e in here)
                for part in (self.low, self.high, self.fair, self.stays)
            )
            least, most = (
                sum(x * n for x, n in zip(load, counts[:, z].tolist(), strict=True))
                for counts in (must, can)
            )
            outside = max(least + stays - high, low - most - stays, 0)
            worst = max(worst, -(-outside * 10**6 // fair))
        return worst


def as_array(columns: dict[str, list[int]], names: Sequence[str]) -> Ints:
    """[K, any] the columns of these resources."""
    return np.array([columns[name] for name in names], dtype=np.int64)
