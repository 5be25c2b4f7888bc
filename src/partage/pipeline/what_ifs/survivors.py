"""What each broker leads after the failure that gives it most: of any one broker, or of any rack.

If its leader fails, a partition is led by the next live replica of its list. So the loads that only
leaders have grow: ``leaders``, and where rates are known ``out`` and ``leader_in``. What replicas
add, ``replicas``, ``disk`` and ``in``, stays as it is on the survivors.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from partage.arrays import Floats, Ints, first_where
from partage.pipeline.what_ifs.placements import Placement, Placements

BROKER, RACK = "broker", "rack"

_DIGITS = 3


def survivors(placements: Placements) -> list[dict[str, Any]]:
    """A row per placement, kind of failure, live broker and load.

    ``before`` and ``after`` the worst failure, that of ``fails`` (None if none adds to the load);
    ``fair``: the broker's share of what all lead, by capacity; ``band``: that of
    ``balance="load"``, else None; ``headroom``: the share of its network that is free after it, and
    ``hottest``: the partition that adds most then; None where not known.
    """
    return [
        row
        for placement in placements.each
        for kind in (BROKER, RACK)
        if kind == BROKER or placements.racks
        for name, weight in placements.led.items()
        for row in _Survivors(placements, placement, kind, name, weight).rows()
    ]


@dataclass(frozen=True, eq=False)
class _Survivors:
    """One load in one placement; ``weight`` [P]: what a partition adds to it."""

    placements: Placements
    placement: Placement
    kind: str
    name: str
    weight: Floats

    def rows(self) -> list[dict[str, Any]]:
        """A row per live broker."""
        placements, live = self.placements, self.placement.live
        leader = self.placement.leader
        group, taker = self._taken_over(leader)
        brokers, groups = len(live), len(placements.racks) if self.kind == RACK else len(live)
        led = leader >= 0
        before = np.bincount(leader[led], self.weight[led], minlength=brokers)
        takes = taker >= 0
        cell = group[takes] * brokers + taker[takes]
        taken = np.bincount(cell, self.weight[takes], minlength=groups * brokers)
        taken = taken.reshape(groups, brokers)
        worst = taken.argmax(axis=0)
        after = before + taken.max(axis=0)
        extra = takes & (group == worst[taker])
        hottest = self._hottest(leader, np.where(extra, taker, -1))
        capacity = np.where(live, placements.capacity[self.name], 0.0)
        fair = before.sum() * capacity / capacity.sum() if capacity.any() else capacity
        return [
            {
                "placement": self.placement.name,
                "failure": self.kind,
                "broker": int(placements.broker_ids[b]),
                "load": self.name,
                "before": _number(before[b]),
                "after": _number(after[b]),
                "fails": self._name(int(worst[b])) if after[b] > before[b] else None,
                "fair": _number(fair[b]),
                "band": self._band(b),
                "headroom": self._headroom(b, float(after[b])),
                "hottest": placements.name_of(hottest[b]) if hottest[b] >= 0 else None,
            }
            for b in np.flatnonzero(live).tolist()
        ]

    def _taken_over(self, leader: Ints) -> tuple[Ints, Ints]:
        """[P] twice: the broker or the rack whose failure ends a leadership, and the broker that
        takes over then, -1 for none."""
        brokers = np.arange(len(self.placement.live))
        of_broker = np.append(brokers if self.kind == BROKER else self.placements.rack, -1)
        group = of_broker[leader]
        on = np.append(self.placement.live, False)[self.placement.replicas]
        on &= of_broker[self.placement.replicas] != group[:, None]
        return group, np.where(group >= 0, first_where(self.placement.replicas, on), -1)

    def _hottest(self, *leads: Ints) -> Ints:
        """[B] the partition that adds most to a broker; ``leads``: leaders [P]."""
        found = np.full(len(self.placement.live), -1, dtype=np.int64)
        if self.name == "leaders":  # all add as much
            return found
        # of an index that occurs more than once, the last value stays: the largest, first by name
        order = np.lexsort((-np.arange(len(self.weight)), self.weight))
        weight = np.append(self.weight, -1.0)  # of no partition
        for by in leads:
            some = order[by[order] >= 0]
            best = np.full_like(found, -1)
            best[by[some]] = some
            found = np.where(weight[best] > weight[found], best, found)
        return found

    def _name(self, group: int) -> str:
        if self.kind == RACK:
            return self.placements.racks[group]
        return str(self.placements.broker_ids[group])

    def _band(self, broker: int) -> list[float | int] | None:
        band = self.placements.bands.get(self.name)
        return None if band is None or band[1][broker] < 0 else [_number(x[broker]) for x in band]

    def _headroom(self, broker: int, load: float) -> float | int | None:
        network = self.placements.network_out[broker]
        return _number(1 - load / network) if self.name == "out" and network > 0 else None


def _number(value: float) -> float | int:
    """A whole number as an int, others with three decimals."""
    rounded = round(float(value), _DIGITS)
    return int(rounded) if rounded == int(rounded) else rounded
