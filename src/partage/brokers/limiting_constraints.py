"""The constraints that prevent perfect balance, and the cost of each, as sentences."""

from __future__ import annotations

import numpy as np
from msgspec.structs import replace

from partage.arrays import Ints
from partage.brokers.figures import Placement
from partage.brokers.problem import Problem
from partage.flow.assignment import AssignmentProblem, fairest_loads, zone_bounds
from partage.flow.sorting import distinct
from partage.units import listed


def limiting_constraints(problem: Problem, placement: Placement, ideal: int) -> list[str]:
    """One sentence per constraint on the new ``placement``, in the order of the objective.

    ``ideal`` is the lower bound on the worst survivor's leaders.
    """
    found: list[str] = []
    if problem.options.by_load:
        from partage.brokers.load import LoadModel, unattainable_bands

        return [*unattainable_bands(LoadModel.of(problem)), *_failures(problem, placement, ideal)]
    if not problem.options.no_moves and len(problem.items):
        found += _racks_too_small(problem)
        found += _loads(problem)
    found += _leaders(problem, placement)
    found += _failures(problem, placement, ideal)
    return found


def _racks_too_small(problem: Problem) -> list[str]:
    sharing = problem.sharing
    if not sharing.zoned:
        return []
    sizes = np.bincount(sharing.zone, minlength=sharing.zones)
    names = _rack_names(problem)
    found = []
    for demand in sharing.demands.tolist():
        _, most = zone_bounds(demand, sizes)
        wanted = -(-demand // sharing.zones)
        if most > wanted:
            small = [f"{names[z]} ({sizes[z]})" for z in np.flatnonzero(sizes < wanted).tolist()]
            found.append(
                f"rack sizes: replication factor {demand} over {sharing.zones} racks needs "
                f"{wanted} brokers in each, but rack {', '.join(small)} has fewer: "
                f"some rack holds {most} replicas of each such partition"
            )
    return found


def _rack_names(problem: Problem) -> list[str]:
    """Names of the racks that have usable brokers, in the order of the kernel's zones."""
    used = distinct(problem.cluster.rack[problem.slot_brokers])
    return [problem.cluster.rack_names[r] for r in used]


def _loads(problem: Problem) -> list[str]:
    sharing = problem.sharing
    loads = fairest_loads(sharing)
    found = []
    if sharing.zoned:
        free = fairest_loads(replace(sharing, zoned=False))
        if _less_fair(sharing.weight, loads, free):
            z = _blocked_zone(sharing, loads, free)
            here = sharing.zone == z
            brokers, held = int(here.sum()), _range(loads[here])
            holds = (
                f"it holds {held} replicas" if brokers == 1 else f"they hold {held} replicas each"
            )
            found.append(
                f"rack rule: rack {_rack_names(problem)[z]} has {brokers} of {sharing.slots} "
                f"brokers: in the fairest placement {holds}, without the rule {_range(free[here])}"
            )
        loads = free
    total = int(loads.sum())
    even = total // sharing.slots
    if sharing.weight.min() == sharing.weight.max() and (
        int(loads.min()) < even or int(loads.max()) > even + 1
    ):
        if sharing.base.any() and int(loads.max()) == int(sharing.base.max()):
            by = "topics" if problem.options.topics is not None else "reassignment"
            found.append(
                f"{by}: the partitions left out keep {int(sharing.base.max())} replicas on "
                f"one broker, an even share would be {total / sharing.slots:.1f}"
            )
        else:
            found.append(
                "one replica of a partition per broker: there are too few partitions to fill "
                f"every broker evenly ({_range(loads)} instead of {total / sharing.slots:.1f})"
            )
    return found


def _blocked_zone(sharing: AssignmentProblem, loads: Ints, free: Ints) -> int:
    """The zone at the least or the most that it may hold, if there is one, whose load differs most
    from that without zones: ``loads`` and ``free`` [E]."""
    from partage.flow.size_balancing import zone_totals

    def by_zone(load: Ints) -> Ints:
        found = np.zeros(sharing.zones, dtype=np.int64)
        np.add.at(found, sharing.zone, load)
        return found

    least, most = zone_totals(sharing, np.ones(sharing.items))
    change, items = by_zone(loads - free), by_zone(loads - sharing.base)
    extreme = np.where(change > 0, least, most)
    blocked = np.where(items == extreme, np.abs(change), 0)
    return int(np.argmax(blocked if blocked.any() else np.abs(change)))


def _less_fair(weight: Ints, one: Ints, other: Ints) -> bool:
    def cost(loads: Ints) -> int:
        return int((weight.astype(object) * loads * loads).sum())

    return cost(one) > cost(other)


def _range(loads: Ints) -> str:
    low, high = int(loads.min()), int(loads.max())
    return str(low) if low == high else f"{low} to {high}"


def _leaders(problem: Problem, placement: Placement) -> list[str]:
    """Leader counts that cannot be even, because too many partitions share a few brokers."""
    counts = placement.leader_counts()[problem.slot_brokers]
    total = int(counts.sum())
    even = -(-total // len(counts))
    if problem.options.leaders_by_search or int(counts.max()) <= even:
        return []
    inside = np.zeros(len(problem.usable), dtype=np.bool_)
    inside[problem.slot_brokers[int(counts.argmax())]] = True
    replicas = placement.cluster.replicas
    usable = problem.may_lead(np.arange(len(replicas)), replicas)
    fixed = ~problem.chosen
    while True:
        led = inside[replicas[:, 0]]
        reach = np.zeros_like(inside)
        reach[replicas[led & ~fixed][usable[led & ~fixed]]] = True
        if not (reach & ~inside).any():
            break
        inside |= reach
    count, brokers = int(inside[replicas[:, 0]].sum()), int(inside.sum())
    most = -(-count // brokers)
    if most <= even:  # other leaders of these replica sets would be even
        return []
    ids = placement.cluster.broker_ids[inside].tolist()
    shown = listed(list(map(str, ids)), 8)
    plural = "broker" if brokers == 1 else f"the {brokers} brokers"
    asked = {
        "leader racks": problem.options.leader_racks,
        "demoted brokers": problem.options.demote_broker,
    }
    *others, last = ["replica sets", *(name for name, given in asked.items() if given)]
    why = f"{', '.join(others)} and {last}" if others else last
    return [
        f"{why}: {count} partitions can only be led by {plural} {shown}: "
        f"{most} leaders on one of them, an even share would be {even}"
    ]


def _failures(problem: Problem, placement: Placement, ideal: int) -> list[str]:
    counts = placement.leader_counts()[problem.slot_brokers]
    if len(counts) < 2:
        return []
    even = max(int(counts.max()), -(-int(counts.sum()) // (len(counts) - 1)))
    if ideal <= even:
        return []
    why = (
        "a broker never takes over from one of its own rack"
        if problem.cluster.rack_names
        else "only brokers that hold a replica can take over"
    )
    sets = "" if placement.least_worst_survivor() >= ideal else " and these replica sets"
    return [
        f"after a failure: {why}, so with leaders this even{sets} some survivor ends with {ideal} "
        f"leaders or more; spread over all survivors it would be {even}"
    ]
