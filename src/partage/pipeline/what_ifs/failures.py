"""What if brokers fail? Every broker, every rack, and pairs of brokers, for each placement.

If its leader fails, a partition is led by the next live replica of its list. The results of a
failure:

- ``offline``: partitions without a live replica
- ``under_min_isr``: partitions with fewer live replicas than ``min.insync.replicas``: they refuse
  records of producers with ``acks=all``. Where a partition has fewer replicas than that, all of
  them suffice
- ``survivor``: the worst survivor, the broker that then leads the most partitions; None if no
  partition has a leader. ``leaders``: how many it leads; ``bytes_per_second`` and
  ``bytes_out_per_second``, where rates are known: what the worst survivor receives and sends as
  leader. All also relative to the mean of all survivors

All pairs are tried, or ``pairs`` of them drawn at random, the same for placements on the same
brokers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from math import comb
from typing import Any

import numpy as np
import pyarrow as pa

from partage.arrays import Ints
from partage.errors import InputError
from partage.pipeline.what_ifs.placements import Placement, Placements, loads, over_mean
from partage.pipeline.what_ifs.survivors import BROKER, RACK, survivors

PAIR = "pair"

_NO_THRESHOLDS: Mapping[str, float] = {}

_SCHEMA = pa.schema(
    [
        ("placement", pa.string()),
        ("failure", pa.string()),
        ("fails", pa.string()),
        ("survivor", pa.int64()),
        ("offline", pa.int64()),
        ("under_min_isr", pa.int64()),
        ("leaders", pa.int64()),
        ("leaders_over_mean", pa.float64()),
        ("bytes_per_second", pa.float64()),
        ("bytes_per_second_over_mean", pa.float64()),
        ("bytes_out_per_second", pa.float64()),
        ("bytes_out_per_second_over_mean", pa.float64()),
    ]
)


@dataclass(frozen=True)
class Failures:
    """``pairs``: their number; ``name``: the user's name for the cluster."""

    placements: Placements
    pairs: int = 100
    seed: int = 0
    name: str = "cluster"

    schema = _SCHEMA
    worth = 100
    by = ("placement", "failure")
    counted = ()
    measures = tuple(_SCHEMA.names[4:])
    thresholds = _NO_THRESHOLDS
    worst_by = ("offline", "under_min_isr", "leaders")

    def checked(self) -> Failures:
        """Self, or InputError for a number out of range."""
        if self.pairs < 0:
            raise InputError("pairs", f"{self.pairs}: expected a number from 0")
        if self.seed < 0:
            raise InputError("seed", f"{self.seed}: expected a number from 0")
        return self

    @cached_property
    def cases(self) -> list[tuple[int, str, int]]:
        """(placement, kind of failure, its number), a row each."""
        return [
            (place, kind, number)
            for place, placement in enumerate(self.placements.each)
            for kind, count in self._counts(placement).items()
            for number in range(count)
        ]

    @property
    def rows(self) -> int:
        """A row per placement and failure."""
        return len(self.cases)

    def _counts(self, placement: Placement) -> dict[str, int]:
        brokers = int(placement.live.sum())
        racks = len(self._racks(placement)) if self.placements.racks else 0
        return {BROKER: brokers, RACK: racks, PAIR: min(self.pairs, comb(brokers, 2))}

    def _racks(self, placement: Placement) -> Ints:
        return np.unique(self.placements.rack[placement.live])

    def of_row(self, row: int) -> list[dict[str, Any]]:
        """The results of one failure."""
        place, kind, number = self.cases[row]
        placement = self.placements.each[place]
        name, failed = self._failed(placement, kind, number)
        about = {"placement": placement.name, "failure": kind, "fails": name}
        return [about | self.after(placement, failed)]

    def _failed(self, placement: Placement, kind: str, number: int) -> tuple[str, Ints]:
        """The failing brokers: a name for them, and their positions."""
        live = np.flatnonzero(placement.live)
        if kind == RACK:
            rack = int(self._racks(placement)[number])
            return self.placements.racks[rack], live[self.placements.rack[live] == rack]
        if kind == BROKER:
            failed = live[number : number + 1]
        elif self.pairs >= comb(len(live), 2):
            failed = live[list(_pair(number, len(live)))]
        else:
            random = np.random.default_rng([self.seed, number])
            failed = live[np.sort(random.choice(len(live), 2, replace=False))]
        return "+".join(map(str, self.placements.broker_ids[failed].tolist())), failed

    def after(self, placement: Placement, failed: Ints) -> dict[str, Any]:
        """The figures when the brokers at these positions are gone."""
        live = placement.live.copy()
        live[failed] = False
        left = np.append(live, False)[placement.replicas].sum(axis=1)
        needed = np.minimum((placement.replicas >= 0).sum(axis=1), self.placements.min_isr)
        leader = placement.led_by(live)
        leaders = loads(leader, None, live)
        busiest = self.placements.broker_ids[live][leaders.argmax()] if leaders.any() else None
        found: dict[str, Any] = {
            "survivor": None if busiest is None else int(busiest),
            "offline": int((left == 0).sum()),
            "under_min_isr": int((left < needed).sum()),
            "leaders": int(leaders.max(initial=0)),
            "leaders_over_mean": over_mean(leaders),
        }
        for name in ("bytes_per_second", "bytes_out_per_second"):
            rates = getattr(self.placements, name)
            if rates is not None:
                load = loads(leader, rates, live)
                found[name] = round(float(load.max(initial=0)), 3)
                found[f"{name}_over_mean"] = over_mean(load)
        return found

    def about(self, counts: Mapping[str, int]) -> dict[str, Any]:
        """The input."""
        return {
            "what_if": "failures",
            "cluster": self.name,
            "pairs": self.pairs,
            "seed": self.seed,
            "placements": [placement.name for placement in self.placements.each],
            "cannot": dict(self.placements.cannot),
            "min_isr_assumed": self.placements.min_isr_assumed,
            "survivors": survivors(self.placements),
        }


def _pair(number: int, count: int) -> tuple[int, int]:
    """The pairs of ``count`` in order: (0, 1), (0, 2) … (1, 2) …"""
    first = 0
    while number >= count - 1 - first:
        number -= count - 1 - first
        first += 1
    return first, first + 1 + number
