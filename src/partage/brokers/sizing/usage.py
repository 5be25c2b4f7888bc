"""What brokers use of each resource in a placement, at normal times and after the worst failure."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec import Struct
from msgspec.structs import astuple, replace

from partage.arrays import Ints, sums_on
from partage.brokers.figures import Placement
from partage.brokers.load.model import capacity_of
from partage.brokers.problem import Problem
from partage.brokers.sizing.log_dirs import fullest_log_dirs
from partage.brokers.sizing.requirement import Requirement
from partage.brokers.sizing.resources import (
    LOG_DIR,
    Resource,
    disk_in_log_dirs,
    with_usual_log_dirs,
)
from partage.cluster import Broker, Cluster


class Use(Struct, frozen=True, eq=False):
    """Of one resource, by usable broker: the ``load``, the load ``after`` the failure that is worst
    for it, the ``limit``, and the ``capacity``, None if unknown; of log dirs, those of the broker's
    fullest one. ``chosen``: of log dirs, whether the plan chooses them."""

    resource: Resource
    load: list[int]
    after: list[int]
    limit: list[int]
    capacity: list[int | None]
    chosen: list[bool] | None = None

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
    """The usage in a placement on the usable brokers of a problem, without that of log dirs."""
    placement, place = Placement(after, problem.usable), problem.slot_brokers
    brokers = [after.brokers[b] for b in place.tolist()]
    takers = _takers(placement, asked)
    offline = np.zeros(after.partitions, dtype=np.bool_)
    for _, taker in takers:
        offline |= taker < 0
    uses = []
    for one in resources:
        on = after.replicas[:, :1] if one.led else after.replicas
        load = sums_on(on, one.each, len(after.brokers))
        most = np.zeros_like(load)
        for failing, taker in takers if one.led else ():
            most = np.maximum(most, _taken(failing, taker, one.each, len(load)))
        limit = [one.limit(broker) for broker in brokers]
        capacity = [capacity_of(broker, one.name) for broker in brokers]
        both = load[place].tolist(), (load + most)[place].tolist()
        uses.append(Use(one, *both, limit, capacity))
    return Usage(brokers, uses, int(offline.sum()))


def with_log_dirs(usage: Usage, problem: Problem, after: Cluster) -> Usage:
    """The usage with that of each broker's fullest log dir, where some broker has several and disk
    counts. Failures add nothing to disks."""
    disk = disk_in_log_dirs(problem.cluster, [use.resource for use in usage.uses])
    if disk is None:
        return usage
    brokers = {
        b: with_usual_log_dirs(after.brokers[b], problem.cluster)
        if problem.added[b]
        else after.brokers[b]
        for b in problem.slot_brokers.tolist()
    }
    found = list(fullest_log_dirs(after, brokers, disk))
    load, limit, capacity, chosen = map(list, zip(*map(astuple, found), strict=True))
    use = Use(replace(disk, name=LOG_DIR), load, load, limit, capacity, chosen)
    return replace(usage, uses=[*usage.uses, use])


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
