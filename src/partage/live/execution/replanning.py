"""The changes that a dead broker blocks, planned again without it.

The rest of the plan is kept. The planner gets the cluster as the rest of the plan will leave it,
without the dead brokers, and may change only the blocked partitions, starting from where they are
now: the most even placement with the fewest moves. Replicas of other partitions on a dead broker
stay: it may come back.

The result is a file beside the plan, ``replan-1.json``, in the format of Kafka's reassignment JSON,
each partition with its ``wave``. ``ExecutionPlan.read`` applies it over the plan. The original
replicas stay the same, so a rollback restores the placement from before the first run.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace
from pathlib import Path

import numpy as np
from msgspec import structs

from partage.brokers.check.replan_files import replan_number, replans
from partage.brokers.option_values import LeaderRacks
from partage.brokers.options import PlanOptions
from partage.brokers.plan import Plan
from partage.brokers.posing.resolving import resolve
from partage.brokers.problem import Problem
from partage.brokers.solving import solve
from partage.cluster import Cluster
from partage.errors import CannotError
from partage.files import to_json
from partage.live.admin.states import Key, Snapshot
from partage.live.execution.changes import Change, MoveStatus
from partage.live.execution.execution_plan import Direction, ExecutionPlan
from partage.outputs import write_file


def blocking_brokers(change: Change, dead: Collection[int]) -> set[int]:
    """Which of the dead brokers block a change: those that it needs, or all in its origin if no
    other has the data."""
    origin = set(change.origin)
    targeted = set(change.needs.intersection(dead))
    return targeted or (origin if origin <= set(dead) else set())


def replannable(
    plan: ExecutionPlan, cluster: Snapshot, dead: Collection[int], candidates: Iterable[Change]
) -> set[Key]:
    """Which of these changes are blocked and can be planned again: a live broker has the data."""
    statuses = plan.statuses(cluster.partitions)
    all_dead = {broker.id for broker in cluster.brokers if not broker.alive} | set(dead)
    return {
        change.key
        for change in candidates
        if not change.only_log_dirs
        and blocking_brokers(change, dead)
        and set(change.origin) - all_dead
        and statuses.get(change.key) not in (None, MoveStatus.DONE, MoveStatus.GONE)
    }


def replan_without(
    plan: ExecutionPlan,
    cluster: Snapshot,
    dead: Collection[int],
    keys: Collection[Key],
    concurrency: int,
) -> tuple[Path, int]:
    """Plan the changes ``keys`` again without dead brokers and write the replan file; returns it
    and how many replicas move. Raises CannotError where no placement exists: too few live brokers,
    or no live replica to copy from."""
    problem = _problem(plan, cluster, dead, keys, concurrency)
    planned = _solved(problem)
    earlier = replans(plan.directory)
    number = replan_number(earlier[-1]) + 1 if earlier else 1
    path = Path(plan.directory) / f"replan-{number}.json"
    placed = problem.cluster
    after = planned.after.replica_lists()
    wave = {row: n for n, one in enumerate(planned.waves, 1) for row in one.rows.tolist()}
    entries = [
        {
            "topic": placed.topics[int(placed.topic[row])],
            "partition": int(placed.partition[row]),
            "replicas": after[row],
            "wave": wave.get(row, 0),
        }
        for row in np.flatnonzero(problem.chosen).tolist()
    ]
    alive = {broker.id for broker in cluster.brokers if broker.alive}
    without = sorted(
        {*dead, *(set(plan.racks) - alive)}
    )  # ``check`` counts the racks that are left
    text = to_json({"version": 1, "without": without, "partitions": entries})
    write_file(path, text, new=True, root=plan.directory)
    return path, planned.moves


def _solved(problem: Problem) -> Plan:
    """The plan; without ``leader_racks`` where a partition gets no replica in these racks."""
    try:
        return solve(problem)
    except CannotError:
        if not problem.options.leader_racks:
            raise
        return solve(structs.replace(problem, options=replace(problem.options, leader_racks=())))


def _leader_racks(plan: ExecutionPlan, expected: Cluster) -> tuple[LeaderRacks, ...]:
    """The plan's, as far as the cluster still has these topics and racks; none of a rollback."""
    if plan.direction is Direction.ROLLBACK:
        return ()
    topics, racks = {None, *expected.topics}, set(expected.rack_names)
    left = [(one.topic, tuple(r for r in one.racks if r in racks)) for one in plan.leader_racks]
    return tuple(LeaderRacks(topic, own) for topic, own in left if own and topic in topics)


def _demoted(plan: ExecutionPlan, usable: Collection[int]) -> list[int]:
    """The plan's of the usable brokers, unless no other is left; none of a rollback."""
    found = [broker for broker in plan.demoted if broker in usable]
    forward = plan.direction is not Direction.ROLLBACK
    return found if forward and len(found) < len(usable) else []


def _problem(
    plan: ExecutionPlan,
    cluster: Snapshot,
    dead: Collection[int],
    keys: Collection[Key],
    concurrency: int,
) -> Problem:
    """The planning problem: the partitions ``keys`` where they are now, the others on their target,
    dead brokers left out; as many replicas as the plan wanted, none on excluded brokers."""
    all_dead = {broker.id for broker in cluster.brokers if not broker.alive} | set(dead)
    states, replicas = [], []
    for state in cluster.partitions:
        change = plan.changes.get(state.key)
        if change is None:
            placed = state.replicas
        else:
            placed = change.origin if state.key in keys else change.target
        live = [broker for broker in placed if broker not in all_dead]
        if live:
            states.append(state)
            replicas.append(live)
        elif state.key in keys:
            raise CannotError(f"{state.name} has no live replica to copy from")
    expected = Cluster.build(
        [broker for broker in cluster.cluster().brokers if broker.id not in all_dead],
        [state.topic for state in states],
        [state.partition for state in states],
        replicas,
        [-1 if state.size_bytes is None else state.size_bytes for state in states],
    )
    brokers = set(expected.broker_ids.tolist())
    options = PlanOptions(
        leader_racks=[str(one) for one in _leader_racks(plan, expected)],
        demote_broker=_demoted(plan, brokers.difference(plan.excluded)),
        remove_broker=[broker for broker in plan.excluded if broker in brokers],
        concurrency=concurrency,
        batch=plan.batch,
    )
    problem = resolve(expected, options)
    chosen = np.array([state.key in keys for state in states])
    # ``Cluster.build`` sorts by topic and number, as a snapshot is sorted
    target = expected.replication_factor.copy()
    usable = int(problem.usable.sum())
    for row in np.flatnonzero(chosen).tolist():
        target[row] = len(plan.changes[states[row].key].target)
        if target[row] > usable:
            raise CannotError(f"{states[row].name} needs {target[row]} live brokers, {usable} are")
    return structs.replace(problem, chosen=chosen, target=target)
