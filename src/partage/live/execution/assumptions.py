"""What a plan assumed about its cluster, compared with the cluster as it is now.

What could make the plan do something that was not reviewed is an error: the run is refused. What
only makes it less even, or concerns nothing that moves, is a warning: it is named. A rollback
restores a placement that existed, so that for it other racks are only named.
docs/how-to/apply-a-plan.md has the rules as a table.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from partage.cluster.min_insync import lowered_below
from partage.live.admin.states import Key, PartitionState, Snapshot
from partage.live.execution.changes import Change, MoveStatus
from partage.live.execution.execution_plan import Direction, ExecutionPlan
from partage.units import listed

_SHOWN = 3


@dataclass(frozen=True)
class Findings:
    """``errors``: why the run may not start; ``warnings``: what its operator should know."""

    errors: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


def compare_assumptions(
    plan: ExecutionPlan,
    cluster: Snapshot,
    submitted: set[Key],
    min_isr: Mapping[str, int],
    found: Findings,
) -> None:
    """Add every difference to ``found``. ``submitted``: partitions whose reassignment an earlier
    run has requested; ``min_isr``: min.insync.replicas by topic, where known."""
    states = {state.key: state for state in cluster.partitions}
    _compare_cluster_id(plan, cluster, found)
    _name_unknown_topics(plan, states, found)
    _compare_placement(plan, states, submitted, found)
    _compare_racks(plan, cluster, states, found)
    _compare_min_isr(plan, states, min_isr, found)
    _name_new(plan, cluster, states, found)
    _name_dead(plan, cluster, found)
    _name_leaders(plan, states, found)


def lowered_below_min_isr(change: Change, min_isr: Mapping[str, int]) -> bool:
    """Whether the change leaves fewer replicas than min.insync.replicas, where there are enough
    now: producers with ``acks=all`` could no longer write."""
    return lowered_below(len(change.origin), len(change.target), min_isr.get(change.topic, 1))


def lowered_topics(changes: Iterable[Change]) -> list[str]:
    """Topics of changes that lower a replication factor."""
    return sorted({c.topic for c in changes if len(c.target) < len(c.origin)})


def _compare_cluster_id(plan: ExecutionPlan, cluster: Snapshot, found: Findings) -> None:
    if plan.cluster_id is None:
        found.warnings.append(
            "the plan has no cluster id: only its brokers and partitions were compared with this "
            "cluster"
        )
    elif plan.cluster_id != cluster.cluster_id:
        found.errors.append(
            f"the plan was made for cluster {plan.cluster_id}, this is {cluster.cluster_id}"
        )


def _name_unknown_topics(
    plan: ExecutionPlan, states: Mapping[Key, PartitionState], found: Findings
) -> None:
    """Topics that Kafka has ids of, and the plan has not."""
    unknown = {
        topic
        for topic, number in plan.changes
        if topic not in plan.topic_ids
        and (state := states.get((topic, number))) is not None
        and state.topic_id is not None
    }
    if unknown:
        found.warnings.append(
            f"the plan has no topic id of {some(sorted(unknown))}: if it was created again since, "
            "the new topic is moved"
        )


def _compare_placement(
    plan: ExecutionPlan, states: Mapping[Key, PartitionState], submitted: set[Key], found: Findings
) -> None:
    moved: list[str] = []
    gone: list[str] = []
    undoes = bool(submitted) and plan.direction is Direction.ROLLBACK
    for key, original in plan.original_replicas.items():
        name, state = f"{key[0]}-{key[1]}", states.get(key)
        change = plan.changes.get(key)
        if state is None or state.is_other_topic(plan.topic_ids.get(key[0])):
            what = "does not exist" if state is None else "was deleted and created again"
            gone.append(f"{name} {what}")
        elif change is None:
            if state.replicas != original:
                moved.append(f"{name} is on {_ids(state.replicas)}, not {_ids(original)}")
        elif state.replicas not in (change.origin, change.target) and (
            change.status(state) is MoveStatus.ELSEWHERE or not (undoes or key in submitted)
        ):
            moved.append(f"{name} is on {_ids(state.replicas)}, not {_ids(change.origin)}")
    # A plan that has begun continues without partitions that were deleted since. A rollback, for
    # which there is no other plan, also continues without those that others have moved.
    refused = moved if submitted else gone + moved
    if submitted and gone:
        found.warnings.append(f"deleted since the plan was begun: {some(gone)}")
    if moved and undoes:
        found.warnings.append(f"moved by someone else, and not rolled back: {some(moved)}")
    elif refused:
        found.errors.append(
            f"the cluster has changed since the plan was made: {some(refused)}; plan again"
        )


def _compare_racks(
    plan: ExecutionPlan, cluster: Snapshot, states: Mapping[Key, PartitionState], found: Findings
) -> None:
    # a dead broker that only replica lists name has no known rack
    racks = {one.id: one.rack for one in cluster.brokers if one.alive or one.host is not None}
    _name_lost_racks(plan, racks, states, found)
    if not any(plan.racks.values()):
        return
    differences = [
        f"broker {broker} is in {_rack(racks[broker])}, not {_rack(planned)}"
        for broker, planned in sorted(plan.racks.items())
        if broker in racks and racks[broker] != planned
    ]
    if differences and plan.direction is Direction.FORWARD:
        found.errors.append(f"the plan assumed other racks: {some(differences)}; plan again")
    elif differences:
        found.warnings.append(f"the plan assumed other racks: {some(differences)}")


def _name_lost_racks(
    plan: ExecutionPlan,
    racks: Mapping[int, str | None],
    states: Mapping[Key, PartitionState],
    found: Findings,
) -> None:
    """A plan that knows no racks may put replicas together that were apart; so may a replan on
    brokers that the plan does not know."""

    def used(replicas: Iterable[int]) -> int:
        return len({racks[b] for b in replicas if racks.get(b) is not None})

    fewer = [
        f"{change.name} in {used(change.target)} instead of {used(change.origin)}"
        for change in _pending(plan, states)
        if used(change.target) < used(change.origin)
        and any(plan.racks.get(broker) is None for broker in change.target)
    ]
    if fewer:
        known = "not all" if any(plan.racks.values()) else "no"
        found.warnings.append(f"the plan knows {known} racks, and leaves fewer: {some(fewer)}")


def _compare_min_isr(
    plan: ExecutionPlan,
    states: Mapping[Key, PartitionState],
    min_isr: Mapping[str, int],
    found: Findings,
) -> None:
    short = [
        f"{change.name} would have {len(change.target)} of {min_isr[change.topic]}"
        for change in _pending(plan, states)
        if lowered_below_min_isr(change, min_isr)
    ]
    if short:
        found.errors.append(
            f"fewer replicas than min.insync.replicas: {some(short)}; producers with acks=all "
            "could not write: lower min.insync.replicas first, or plan again"
        )


def _name_new(
    plan: ExecutionPlan, cluster: Snapshot, states: Mapping[Key, PartitionState], found: Findings
) -> None:
    planned = {topic for topic, _ in plan.original_replicas}
    topics = sorted({topic for topic, _ in states} - planned)
    if topics:
        found.warnings.append(f"topics that are not in the plan: {some(topics)}")
    new = sorted(states.keys() - plan.original_replicas.keys())
    partitions = [f"{topic}-{number}" for topic, number in new if topic in planned]
    if partitions:
        found.warnings.append(f"partitions that are not in the plan: {some(partitions)}")
    if plan.racks:
        known = {*plan.racks, *plan.excluded, *plan.dead}
        brokers = [str(one.id) for one in cluster.brokers if one.alive and one.id not in known]
        if brokers:
            found.warnings.append(f"brokers that are not in the plan: {some(brokers)}")


def _name_dead(plan: ExecutionPlan, cluster: Snapshot, found: Findings) -> None:
    """Brokers that only lose or keep replicas, or that only count for the balance."""
    alive = {one.id for one in cluster.brokers if one.alive}
    receivers = {broker for change in plan.changes.values() for broker in change.adding}
    dead = [str(b) for b in sorted(plan.racks) if b not in alive and b not in receivers]
    if dead:
        found.warnings.append(f"brokers that do not answer: {some(dead)}")


def _name_leaders(
    plan: ExecutionPlan, states: Mapping[Key, PartitionState], found: Findings
) -> None:
    """Waves limit what a preferred leader sends, and the plan counts preferred leaders."""
    others, without = [], []
    for change in _pending(plan, states):
        leader = states[change.key].leader
        if leader is None:
            without.append(change.name)
        elif change.adding and leader != change.origin[0]:
            others.append(f"{change.name} by {leader}, not {change.origin[0]}")
    if without:
        found.warnings.append(f"no broker leads {some(without)}: nothing can be copied from it")
    if others:
        found.warnings.append(f"led by another broker than the plan assumed: {some(others)}")
    kept = [
        f"{state.name} by {state.leader}, not {state.replicas[0]}"
        for key in plan.original_replicas.keys() - plan.changes.keys()
        if (state := states.get(key)) is not None
        and not state.is_other_topic(plan.topic_ids.get(state.topic))
        and state.leader not in (None, state.replicas[0])
        and state.replicas[0] in state.isr
    ]
    if kept:
        found.warnings.append(
            f"not led by the preferred leader, and the plan does not change them: "
            f"{some(sorted(kept))}; kafka-leader-election.sh elects it"
        )


def _pending(plan: ExecutionPlan, states: Mapping[Key, PartitionState]) -> list[Change]:
    """The changes that have not begun."""
    return [c for c in plan.changes.values() if c.status(states.get(c.key)) is MoveStatus.WAITING]


def _rack(name: str | None) -> str:
    return "no rack" if name is None else f"rack {name}"


def _ids(brokers: Iterable[int]) -> str:
    return ",".join(map(str, brokers))


def some(names: list[str]) -> str:
    """The first few, and how many more there are."""
    return listed(names, _SHOWN)
