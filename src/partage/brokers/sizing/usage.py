"""What brokers use of each resource in a placement, at normal times and after the worst failure."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from partage.arrays import Ints
from partage.brokers.figures import Placement
from partage.brokers.problem import Problem
from partage.brokers.sizing.requirement import Requirement
from partage.brokers.sizing.resources import Resource
from partage.cluster import Broker, Cluster


class Use(Struct, frozen=True, eq=False):
    """Of one resource, by usable broker: the ``load``, the load ``after`` the failure that is worst
    for it, and the ``limit``."""

    resource: Resource
    load: list[int]
    after: list[int]
    limit: list[int]

    @property
    def fits(self) -> bool:
        """Whether no broker uses more than it may."""
        return all(a <= x for a, x in zip(self.after, self.limit, strict=True))

    def shares(self, loads: Sequence[int]) -> list[float]:
        """Loads as shares of the capacity, headroom included."""
        whole = float(self.resource.share)
        return [
            whole * load / limit if limit else float("inf") if load else 0.0
            for load, limit in zip(loads, self.limit, strict=True)
        ]


class Usage(Struct, frozen=True, eq=False):
    """Of all resources; ``brokers``: those that may hold replicas. ``offline``: partitions that no
    broker takes over in some failure."""

    brokers: list[Broker]
    uses: list[Use]
    offline: int

    @property
    def fits(self) -> bool:
        return all(use.fits for use in self.uses)

    def worst(self) -> tuple[float, Use, Broker]:
        """The highest share of a capacity that is used, after failures too; of what and where."""
        found = []
        for k, use in enumerate(self.uses):
            for at, share in enumerate(use.shares(use.after)):
                found.append((share, -k, -at))
        share, k, at = max(found)
        return share, self.uses[-k], self.brokers[-at]

    @property
    def overload(self) -> float:
        """The same as a share of what may be used."""
        return self.worst()[0] / float(self.uses[0].resource.share)


def usage_of(
    problem: Problem, after: Cluster, resources: Sequence[Resource], asked: Requirement
) -> Usage:
    """The usage in a placement on the usable brokers of a problem."""
    placement, place = Placement(after, problem.usable), problem.slot_brokers
    brokers = [after.brokers[b] for b in place.tolist()]
    takers = _takers(placement, asked)
    offline = np.zeros(after.partitions, dtype=np.bool_)
    for _, taker in takers:
        offline |= taker < 0
    uses = []
    for one in resources:
        on = after.replicas[:, :1] if one.led else after.replicas
        row, column = np.nonzero(on >= 0)
        load = np.zeros(len(after.brokers), dtype=np.int64)
        np.add.at(load, on[row, column], one.each[row])
        most = np.zeros_like(load)
        for failing, taker in takers if one.led else ():
            most = np.maximum(most, _taken(failing, taker, one.each, len(load)))
        limit = [one.limit(broker) for broker in brokers]
        uses.append(Use(one, load[place].tolist(), (load + most)[place].tolist(), limit))
    return Usage(brokers, uses, int(offline.sum()))


def _takers(placement: Placement, asked: Requirement) -> list[tuple[Ints, Ints]]:
    """For each kind of failure, [P] what fails if the leader does, and [P] which broker then takes
    over, or -1."""
    found = []
    if asked.failures:
        found.append((placement.leaders(), placement.first_followers()))
    if asked.racks_fail:
        racks = placement.cluster.rack[placement.leaders()]
        found.append((racks, placement.rack_takers()))
    return found


def _taken(failing: Ints, taker: Ints, each: Ints, brokers: int) -> Ints:
    """[B] the most that a broker takes over in one failure."""
    some = taker >= 0
    pair, at = np.unique(failing[some] * brokers + taker[some], return_inverse=True)
    total = np.zeros(len(pair), dtype=np.int64)
    np.add.at(total, at, each[some])
    most = np.zeros(brokers, dtype=np.int64)
    np.maximum.at(most, pair % brokers, total)
    return most
