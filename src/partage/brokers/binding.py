"""Which rule keeps the balance from being perfect, and what that costs: one sentence each."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from partage.brokers.figures import Placement
from partage.brokers.task import Task
from partage.flow.sharing import fairest_loads, zone_bounds

Ints = npt.NDArray[np.int64]


def binding_rules(task: Task, placement: Placement, ideal: int) -> list[str]:
    """Sentences about the placement ``after``, in the order of the objective; ``ideal`` is the
    proven bound on the worst survivor."""
    found: list[str] = []
    if not task.options.no_moves and len(task.items):
        found += _racks_too_small(task)
        found += _loads(task)
    found += _leaders(task, placement)
    found += _failures(task, placement, ideal)
    return found


def _racks_too_small(task: Task) -> list[str]:
    problem = task.sharing
    if not problem.zoned:
        return []
    sizes = np.bincount(problem.zone, minlength=problem.zones)
    names = _rack_names(task)
    found = []
    for demand in problem.demands.tolist():
        _, most = zone_bounds(demand, sizes)
        wanted = -(-demand // problem.zones)
        if most > wanted:
            small = [f"{names[z]} ({sizes[z]})" for z in np.flatnonzero(sizes < wanted).tolist()]
            found.append(
                f"rack sizes: replication factor {demand} over {problem.zones} racks needs "
                f"{wanted} brokers in each, but rack {', '.join(small)} has fewer: "
                f"some rack holds {most} replicas of each such partition"
            )
    return found


def _rack_names(task: Task) -> list[str]:
    """Names of the racks that have usable brokers, in the order of the kernel's zones."""
    return [task.cluster.rack_names[r] for r in np.unique(task.cluster.rack[task.slot_brokers])]


def _loads(task: Task) -> list[str]:
    problem = task.sharing
    loads = fairest_loads(problem)
    found = []
    if problem.zoned:
        free = fairest_loads(replace(problem, zoned=False))
        if _worse(problem.weight, loads, free):
            names, zone = _rack_names(task), problem.zone
            density = [float((loads[zone == z]).mean()) for z in range(problem.zones)]
            heavy = int(np.argmax(density))
            here = zone == heavy
            found.append(
                f"rack rule: rack {names[heavy]} has {int(here.sum())} of {problem.slots} brokers, "
                f"and as many replicas as the rule puts there: {_range(loads[here])} on each, "
                f"{_range(loads[~here])} on the others; without the rule {_range(free)}"
            )
        loads = free
    total = int(loads.sum())
    even = total // problem.slots
    if problem.weight.min() == problem.weight.max() and (
        int(loads.min()) < even or int(loads.max()) > even + 1
    ):
        if problem.base.any() and int(loads.max()) == int(problem.base.max()):
            by = "--topics" if task.options.topics is not None else "--reassignment"
            found.append(
                f"{by}: the partitions left out keep {int(problem.base.max())} replicas on "
                f"one broker, an even share would be {total / problem.slots:.1f}"
            )
        else:
            found.append(
                "one replica of a partition per broker: there are too few partitions to fill "
                f"every broker evenly ({_range(loads)} instead of {total / problem.slots:.1f})"
            )
    return found


def _worse(weight: Ints, one: Ints, other: Ints) -> bool:
    def cost(loads: Ints) -> int:
        return int((weight.astype(object) * loads * loads).sum())

    return cost(one) > cost(other)


def _range(loads: Ints) -> str:
    low, high = int(loads.min()), int(loads.max())
    return str(low) if low == high else f"{low} to {high}"


def _leaders(task: Task, placement: Placement) -> list[str]:
    """Leaders by count that are not even: a set of brokers on which many partitions lie wholly."""
    counts = placement.leader_counts()[task.slot_brokers]
    total = int(counts.sum())
    if task.options.leaders == "rate" or int(counts.max()) <= -(-total // len(counts)):
        return []
    inside = np.zeros(len(task.usable), dtype=np.bool_)
    inside[task.slot_brokers[int(counts.argmax())]] = True
    replicas = placement.cluster.replicas
    usable = np.append(task.usable, False)[replicas]
    fixed = ~task.chosen
    while True:
        led = inside[replicas[:, 0]]
        reach = np.zeros_like(inside)
        reach[replicas[led & ~fixed][usable[led & ~fixed]]] = True
        if not (reach & ~inside).any():
            break
        inside |= reach
    count, brokers = int(inside[replicas[:, 0]].sum()), int(inside.sum())
    ids = placement.cluster.broker_ids[inside].tolist()
    shown = ", ".join(map(str, ids[:8])) + (f" and {len(ids) - 8} more" if len(ids) > 8 else "")
    plural = "broker" if brokers == 1 else f"the {brokers} brokers"
    return [
        f"replica sets: {count} partitions can only be led by {plural} {shown}: "
        f"{-(-count // brokers)} leaders on one of them, an even share would be "
        f"{-(-total // len(counts))}"
    ]


def _failures(task: Task, placement: Placement, ideal: int) -> list[str]:
    counts = placement.leader_counts()[task.slot_brokers]
    if len(counts) < 2:
        return []
    even = max(int(counts.max()), -(-int(counts.sum()) // (len(counts) - 1)))
    if ideal <= even:
        return []
    why = (
        "a rack never takes over from itself"
        if task.cluster.rack_names
        else "only brokers that hold a replica can take over"
    )
    return [
        f"after a failure: {why}, so with these leader counts some survivor ends with {ideal} "
        f"leaders or more; spread over all survivors it would be {even}"
    ]
