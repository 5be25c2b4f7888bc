"""Each resource: the extremes, the fair share, the band, a bound; and the load of every broker."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from partage.arrays import Bools, Ints
from partage.brokers.figures import Placement
from partage.brokers.load.model import HELD, LED, LoadModel, capacity_of
from partage.brokers.load.survivor_bound import least_share
from partage.brokers.option_values import RESOURCES
from partage.cluster import Cluster

_DIGITS = 3
_COUNTS = ("replicas", "leaders")
_MOVED = ("out", "leader_in")
"""Loads that survivors take over when a leader fails, of which a figure is given."""


def resource_figures(model: LoadModel, cluster: Cluster) -> dict[str, dict[str, Any]]:
    """By resource ``min``, ``max``, ``fair`` and ``bound``, a lower bound on ``max``; ``brokers``:
    a row per broker; ``band``, only if the plan aims at one; for ``out`` and ``leader_in``, where
    there are two brokers, ``after_failure``: the worst survivor of any one broker's failure, and a
    lower bound on it.

    Numbers are loads of a broker with an average fair share: the loads of others are divided by
    their fair share and multiplied by the average. Those of ``brokers`` are loads as they are.
    """
    loads = model.broker_loads(cluster)
    placement = Placement(cluster, model.problem.usable)
    return {name: _Resource(model, placement, loads, name).figures() for name in RESOURCES}


class _Resource:
    """One resource in a placement: ``load`` [B], the others [E]."""

    def __init__(
        self, model: LoadModel, placement: Placement, loads: tuple[Ints, Ints], name: str
    ) -> None:
        self.model, self.placement, self.name = model, placement, name
        self.cluster, self.banded = placement.cluster, model.problem.options.by_load
        bands, k = model.bands_of(name)
        self.rows = (model.held if name in HELD else model.led)[k]
        self.load = loads[name in LED][k]
        self.slots = model.problem.slot_brokers
        self.low, self.high = bands.low[k].tolist(), bands.high[k].tolist()
        self.fair = bands.fair[k].tolist()
        rate = name in ("in", "out", "leader_in")
        self.unit = Fraction(2) ** -model.rate_bits if rate else Fraction(1)
        self.average = self.unit * Fraction(sum(self.fair), len(self.fair))

    def figures(self) -> dict[str, Any]:
        shares = self._shares(self.load[self.slots].tolist())
        bound = max(self._even(), self.average * self._largest())
        found: dict[str, Any] = {
            "min": _number(min(shares)),
            "max": _number(max(shares)),
            "fair": _number(self.unit * Fraction(self._total(), len(shares))),
            "bound": _number(bound),
        }
        if self.banded:
            ends = min(self._shares(self.low)), max(self._shares(self.high))
            found["band"] = [_number(end) for end in ends]
        if self.name in _MOVED and len(self.slots) > 1:
            found["after_failure"] = {
                "max": _number(self._after_failure()),
                "bound": _number(max(bound, self._least_after_failure())),
            }
        return found | {"brokers": self._brokers()}

    def _shares(self, values: list[int]) -> list[Fraction]:
        return [self.average * Fraction(x, f) for x, f in zip(values, self.fair, strict=True)]

    def _total(self) -> int:
        return sum(self.load[self.slots].tolist())

    def _even(self) -> Fraction:
        """The average load of a broker: some broker has it or more; of equal brokers, a whole
        number of replicas or leaders."""
        brokers = len(self.slots)
        if self.name in _COUNTS and len(set(self.fair)) == 1:
            return Fraction(-(-self._total() // brokers))
        return self.unit * Fraction(self._total(), brokers)

    def _largest(self) -> Fraction:
        """The share of some broker that the largest partition alone reaches."""
        model, held = self.model, self.name in HELD
        _, k = model.bands_of(self.name)
        load = (model.item_held if held else model.item_led)[k]
        base = (model.held_base if held else model.led_base)[k].tolist()
        factors = model.problem.sharing.demand if held else np.ones_like(load)
        best = Fraction(0)
        for factor in np.unique(factors).tolist():
            largest = int(load[factors == factor].max())
            shares = sorted(
                Fraction(stays + largest, fair) for stays, fair in zip(base, self.fair, strict=True)
            )
            best = max(best, shares[factor - 1])
        return best

    def _after_failure(self) -> Fraction:
        """The worst survivor: its load, and what it takes over from the broker that gives most."""
        count = len(self.load)
        leader, follower = self.placement.leaders(), self.placement.first_followers()
        some = follower >= 0
        taken = np.zeros((count, count), dtype=np.int64)
        np.add.at(taken, (leader[some], follower[some]), self.rows[some])
        most = taken[np.ix_(self.slots, self.slots)].max(axis=0)
        return max(self._shares((self.load[self.slots] + most).tolist()))

    def _least_after_failure(self) -> Fraction:
        """A lower bound for all placements in which as much stays online, and as much of that has
        its replicas in racks of their own."""
        on = np.append(self.model.problem.usable, False)[self.cluster.replicas]
        live = np.append(self.cluster.alive, False)[self.cluster.replicas]
        safe = on[:, 0] & (on.sum(axis=1) >= 2) & (on == live).all(axis=1)
        apart = safe & self._racks_differ()
        online, of_them = (sum(self.rows[part].tolist()) for part in (safe, apart))
        rack = self.cluster.rack[self.slots].tolist()
        return self.average * least_share(online, of_them, self.fair, rack)

    def _racks_differ(self) -> Bools:
        """[P] partitions with no two replicas in one rack."""
        if not self.cluster.rack_names:
            return np.zeros(self.cluster.partitions, dtype=np.bool_)
        rack = np.append(self.cluster.rack, -1)[self.cluster.replicas]
        rack = np.sort(np.where(self.cluster.replicas >= 0, rack, -1 - np.arange(rack.shape[1])))
        return np.asarray((rack[:, 1:] != rack[:, :-1]).all(axis=1))

    def _brokers(self) -> list[dict[str, Any]]:
        """A row per broker: its ``load``, its ``fair`` share (None: it may hold nothing), its
        ``band`` (None: the plan aims at none), its ``headroom`` (the share of its capacity that is
        free, None where that is not known), and the partition that adds most (``hottest``)."""
        slot = self.model.problem.broker_slot.tolist()
        hottest = self._hottest().tolist()
        rows = []
        for i, (broker, load) in enumerate(
            zip(self.cluster.brokers, self.load.tolist(), strict=True)
        ):
            usable = slot[i] >= 0
            fair, *band = (
                _number(self.unit * part[slot[i]]) for part in (self.fair, self.low, self.high)
            )
            capacity = None if self.name == "leader_in" else capacity_of(broker, self.name)
            rows.append(
                {
                    "broker": broker.id,
                    "load": _number(self.unit * load),
                    "fair": fair if usable else None,
                    "band": band if usable and self.banded else None,
                    "headroom": _free(self.unit * load, capacity),
                    "hottest": self.cluster.names[hottest[i]] if hottest[i] >= 0 else None,
                }
            )
        return rows

    def _hottest(self) -> Ints:
        """[B] the row of the partition that adds most to a broker's load, -1 for none, and for
        counts, to which all add as much."""
        found = np.full(len(self.load), -1, dtype=np.int64)
        if self.name in _COUNTS:
            return found
        on = self.cluster.replicas if self.name in HELD else self.cluster.replicas[:, :1]
        # of an index that occurs more than once, the last value stays: the largest, first by name
        order = np.lexsort((-np.arange(len(on)), self.rows))
        row, column = np.nonzero(on[order] >= 0)
        found[on[order[row], column]] = order[row]
        return found


def _free(load: Fraction, capacity: int | None) -> float | None:
    return _number(1 - load / capacity) if capacity else None


def _number(value: Fraction | int) -> float | int:
    """A whole number as an int, others with three decimals."""
    rounded = round(float(value), _DIGITS)
    return int(rounded) if rounded == int(rounded) else rounded
