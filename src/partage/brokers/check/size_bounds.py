"""The bounds where bytes are balanced or disks relieved, recomputed from their prices."""

from __future__ import annotations

from fractions import Fraction
from functools import cached_property
from math import floor
from typing import Any

import numpy as np

from partage.arrays import Bools, Floats, Ints
from partage.brokers.check.fair_bytes import fair_bytes
from partage.brokers.check.placement_model import PlacementModel
from partage.brokers.check.plan_columns import PlanColumns
from partage.brokers.check.recount import Recount
from partage.brokers.directory import MARKER
from partage.flow.packing import unpack
from partage.flow.size_certificate import level_bound, moved_bound

_NO_DISK = 2**62
"""Bytes on a disk whose size is not known."""

_SAME = 1e-9
"""By what share the ends of a band may be off, besides a byte of rounding."""


def size_bounds(plan: PlanColumns, found: Recount) -> None:
    """Check the stages ``bytes`` and ``bytes moved``, and the limits on moves."""
    sizes = _Sizes(plan)
    found.defects += sizes.model.broken_limits()
    if plan.asked.relieve is None:
        _check_level(sizes, found)
    else:
        _check_relief(sizes, found)
    _check_bytes_moved(sizes, found)


class _Sizes:
    """Bytes per slot [E]: ``load`` after the plan; ``movable`` [I]: the items that may move;
    ``arguments``: the items as the bounds take them."""

    def __init__(self, plan: PlanColumns) -> None:
        self.plan, self.model = plan, PlacementModel(plan)
        model = self.model
        self.movable = model.movable()
        size = plan.size
        fixed = np.ones(len(plan.topic), dtype=np.bool_)
        fixed[model.items[self.movable]] = False
        self.load = self._bytes_on_slots(size, np.ones_like(fixed))
        self.arguments: dict[str, Any] = {
            "size": size[model.items[self.movable]],
            "demand": model.demand[self.movable],
            "least": model.least[self.movable],
            "most": model.most[self.movable],
            "zone": model.zone,
            "base_size": self._bytes_on_slots(size, fixed),
        }

    def _bytes_on_slots(self, size: Ints, rows: Bools) -> Ints:
        """[E] bytes of these partitions after the plan."""
        row, broker = self.plan.pairs(self.plan.after)
        slot = self.plan.slot_of[broker]
        counts = (slot >= 0) & rows[row]
        total = np.zeros(len(self.plan.slots), dtype=np.int64)
        np.add.at(total, slot[counts], size[row[counts]])
        return total

    @property
    def copied(self) -> Ints | None:
        """[I] what new replicas of the movable items copy; None where that is always the size."""
        if "copy_bytes" not in self.plan.value["partitions"]:
            return None
        return self.plan.copied[self.model.items[self.movable]]

    @property
    def sits(self) -> tuple[Ints, Ints]:
        """(item, slot) of the movable items' replicas today."""
        item, slot = self.model.sits
        kept = self.movable[item]
        return (np.cumsum(self.movable) - 1)[item[kept]], slot[kept]

    @property
    def allowed(self) -> Ints:
        """[E] the bytes that each disk may hold, with ``--relieve`` a part of it."""
        part = Fraction(1) if self.plan.asked.relieve is None else self.plan.asked.relieve
        disks = [self.plan.disk[s] for s in self.plan.slots.tolist()]
        return np.array([_NO_DISK if disk is None else floor(disk * part) for disk in disks])

    @property
    def rounding(self) -> Floats:
        """[E] how far the ends of a band may be off: they are computed from fractions."""
        if self.plan.asked.relieve is not None:
            return np.zeros(len(self.load))
        return np.asarray(1 + self.load * _SAME, dtype=np.float64)

    @cached_property
    def bands(self) -> tuple[Ints, Ints]:
        """[E] the least and the most bytes that the options allow on each broker."""
        plan, allowed = self.plan, self.allowed
        if plan.asked.relieve is not None:
            return np.zeros_like(allowed), allowed
        weight = self.model.weights()
        fair = fair_bytes(self.model, weight, self.arguments["base_size"])
        width = float(plan.asked.tolerance)
        high = np.ceil(fair * (1 + width) - 0.5).astype(np.int64)
        low = np.floor(np.maximum(fair * (1 - width), 0) + 0.5).astype(np.int64)
        return np.clip(np.minimum(low, high), 0, allowed), np.minimum(high, allowed)


def _check_level(sizes: _Sizes, found: Recount) -> None:
    """The stage ``bytes``: the highest bytes of a broker, by capacity."""
    plan, stage = sizes.plan, sizes.plan.stages["bytes"]
    weight = sizes.model.load_weights(stage, found)
    confined = np.isin(np.array(plan.ids)[plan.slots], stage["prices"]["confined"])
    if np.array(plan.ids)[plan.slots][confined].tolist() != stage["prices"]["confined"]:
        found.defect("bytes: confined must name usable brokers, ascending")
    weighed = zip(weight.tolist(), sizes.load.tolist(), strict=True)
    found.values["bytes"] = max(w * x for w, x in weighed)
    bound = level_bound(**sizes.arguments, weight=weight, confined=confined)
    found.compare_bound(stage, bound)


def _check_relief(sizes: _Sizes, found: Recount) -> None:
    """No disk stays above the limit, and what may not move stays, whose bytes the bounds count
    where they are."""
    plan = sizes.plan
    for row in sizes.model.items[~sizes.movable].tolist():
        if {*plan.before[row]} != {*plan.after[row]}:
            found.defects.append(
                f"{MARKER}: {plan.names[row]}: moves, although it only breaks the rack rule"
            )
    for s in plan.slots[sizes.load > sizes.allowed].tolist():
        found.defects.append(
            f"{MARKER}: broker {plan.ids[s]}: its disk stays above the limit of relieve"
        )


def _check_bytes_moved(sizes: _Sizes, found: Recount) -> None:
    """The stage ``bytes moved``: the fewest bytes that bring every broker into its band."""
    plan, stage = sizes.plan, sizes.plan.stages["bytes moved"]
    prices = stage["prices"]
    low, high, price = (unpack(prices[key], len(plan.slots)) for key in ("low", "high", "brokers"))
    least, most = sizes.bands
    wanted = np.minimum(least, sizes.load), np.maximum(most, sizes.load)  # widened to the load
    for stated, expected in zip((low, high), wanted, strict=True):
        # in Python's integers: forged ends may be further away than 64 bits hold
        away = np.array(
            [abs(a - b) for a, b in zip(stated.tolist(), expected.tolist(), strict=True)]
        )
        for s in plan.slots[away > sizes.rounding].tolist():
            found.defect(f"bytes moved: the band of broker {plan.ids[s]} is not what is asked for")
    bound = moved_bound(
        **sizes.arguments,
        current=sizes.sits,
        low=low,
        high=high,
        price=price,
        copied=sizes.copied,
    )
    found.values["bytes moved"] = plan.bytes_moved
    found.compare_bound(stage, bound)


def within_bands(plan: PlanColumns) -> bool:
    """Whether every broker's bytes are in its band. On its edge, where rounding decides, the plan's
    own word counts."""
    sizes = _Sizes(plan)
    least, most = sizes.bands
    edge = sizes.rounding if plan.value["figures"]["after"]["optimal"] else -sizes.rounding
    return bool(((sizes.load >= least - edge) & (sizes.load <= most + edge)).all())
