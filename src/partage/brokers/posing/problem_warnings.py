"""What a user should know about a problem before a plan of it is applied."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from partage.arrays import Bools
from partage.brokers.figures import not_in, one_width
from partage.brokers.posing.topic_choice import chosen_by
from partage.brokers.problem import Problem
from partage.cluster import Cluster
from partage.units import plural


def warnings_of(problem: Problem) -> Iterable[str]:
    """Warnings, one sentence each."""
    cluster = problem.cluster
    yield from cluster.notes
    if cluster.maybe_dead or not cluster.alive.all():
        from partage.brokers.posing.degraded import of_brokers

        yield from of_brokers(problem)
    yield from _new_racks(problem)
    alive = np.append(cluster.alive, False)
    capacities = {b.capacity for b in cluster.brokers}
    if problem.added.any() and len(capacities) > 1:
        shown = float(cluster.brokers[int(np.flatnonzero(problem.added)[0])].capacity)
        yield f"added brokers count with capacity {shown:g}; where theirs differs, list them"
    disks = {b.disk_bytes for b in cluster.brokers}
    if problem.added.any() and len(disks) > 1:
        disk = cluster.brokers[int(np.flatnonzero(problem.added)[0])].disk_bytes
        size = "an unlimited disk" if disk is None else f"a disk of {disk:,} bytes"
        yield f"added brokers count with {size}; where theirs differs, list them"
    if not cluster.racks_known:
        yield (
            "the input has no place for racks: where the cluster has some, a plan may put two "
            "replicas into one; plan from a file of partage snapshot, or from JSON that lists the "
            "brokers with their racks"
        )
    weights, exact = problem.weighed
    if not exact:
        yield (
            "capacities have no small common measure: their shares are rounded by up to "
            f"{50 / int(weights.min()):.2g} %"
        )
    out = ~chosen_by(cluster, problem.options.topics)
    stuck = out & (~alive[cluster.replicas] & (cluster.replicas >= 0)).any(axis=1)
    if stuck.any() and not problem.options.no_moves:
        yield f"the topics left out keep replicas on dead brokers: {some(cluster, stuck)}"
    lost = np.asarray(~alive[cluster.replicas].any(axis=1))
    if lost.any():
        yield (
            f"no live replica to copy from: {some(cluster, lost)}; Kafka cannot move these until "
            "a broker that holds one is back"
        )
    yield from _given_warnings(problem)
    yield from _limit_warnings(problem)
    if cluster.min_insync_replicas:
        from partage.brokers.posing.degraded import of_min_insync

        yield from of_min_insync(problem)
    for broker in cluster.brokers if problem.options.balance_disks else ():
        if broker.alive and (offline := broker.offline_log_dir) is not None:
            yield (
                f"the log dirs of broker {broker.id} are not balanced: Kafka moves nothing between "
                f"them while {offline} is offline"
            )
    unknown = cluster.size_bytes < 0
    if unknown.any() and not unknown.all():
        yield f"unknown sizes count as 0 bytes: {some(cluster, unknown)}"


def some(cluster: Cluster, rows: Bools) -> str:
    """How many partitions, and the first of them."""
    first = cluster.names[int(rows.argmax())]
    many = int(rows.sum())
    return f"1 partition, {first}" if many == 1 else f"{many:,} partitions, among them {first}"


def _new_racks(problem: Problem) -> Iterable[str]:
    """Racks that only added brokers are in: new ones, or misspelled."""
    there: set[str] = set()
    new: dict[str, int] = {}
    for broker, added in zip(problem.cluster.brokers, problem.added.tolist(), strict=True):
        if broker.rack is not None and not added:
            there.add(broker.rack)
        elif broker.rack is not None:
            new.setdefault(broker.rack, broker.id)
    existing = ", ".join(sorted(there))
    for rack, identity in new.items():
        if existing and rack not in there:
            yield f"broker {identity} is in a new rack, {rack} (existing: {existing})"


def _limit_warnings(problem: Problem) -> Iterable[str]:
    """Limits of loads above what the brokers' networks can do."""
    for name, share in problem.options.relieved:
        if share > 1:
            from partage.brokers.load.model import known_capacity

            if known_capacity(problem, name) is not None:
                yield f"the limit of {name}, {share}, is above the network capacity of the brokers"


def _given_warnings(problem: Problem) -> Iterable[str]:
    """Warnings about another tool's replica lists, before they are applied."""
    cluster = problem.cluster
    reassignment = problem.options.reassignment
    if problem.given is None or reassignment is None or problem.options.no_moves:
        return
    if reassignment.in_log_dirs:
        named = plural(reassignment.in_log_dirs, "partition")
        chooser = "each broker" if cluster.log_dirs is None else "the plan"
        yield f"log_dirs are ignored, {chooser} chooses: {named}"
    today, wanted = one_width(cluster.replicas, problem.given)
    old, new = cluster.replication_factor, (wanted >= 0).sum(axis=1)
    changed = (today != wanted).any(axis=1)
    fetched = not_in(wanted, today)
    dead = ~np.append(cluster.alive, True)[wanted]

    left = changed & ~problem.chosen
    if left.any():
        yield f"the topics left out have changes that are not made: {some(cluster, left)}"
    other = problem.chosen & (old != new)
    if other.any():
        row = int(other.argmax())
        change = f"from {old[row]} to {new[row]}"
        yield f"another replication factor for {some(cluster, other)} {change}"
    held_up = problem.chosen & fetched.any(axis=1) & dead.any(axis=1)
    if held_up.any():
        yield (
            f"a replica stays on a dead broker while others move: {some(cluster, held_up)}; Kafka "
            "ends such a move only when that broker is back"
        )
    many = ~changed & (old > int(problem.usable.sum()))
    if many.any():
        yield f"more replicas than live brokers, left as they are: {some(cluster, many)}"
