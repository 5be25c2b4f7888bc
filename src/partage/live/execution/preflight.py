"""What must hold before anything is asked of the cluster: each refusal is a sentence.

A plan is of one cluster at one moment. Where the cluster has changed since, the plan may do what
nobody was shown, so the first differences are named and nothing is done. Topics that are new since
are none of the plan's business; they are mentioned.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from partage.live.execution.job import Job, Key, Standing
from partage.live.snapshot import BrokerState, PartitionState, Snapshot

_SHOWN = 3


@dataclass(frozen=True)
class Verdict:
    """``refusals``: why not to begin. ``remarks``: what to know."""

    refusals: list[str] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)


def preflight(
    job: Job, now: Snapshot, *, throttle: int | None, ours: Iterable[Key] = ()
) -> Verdict:
    """Whether the job can begin, or go on, with the cluster as it is ``now``.

    ``throttle`` is in bytes per second; ``ours`` are partitions that an earlier run of the same job
    has asked to be moved.
    """
    found = Verdict()
    known = {(one.topic, one.partition): one for one in now.partitions}
    _same_cluster(job, now, found)
    _same_state(job, known, set(ours), found)
    _nothing_else_moves(job, now, set(ours), found)
    _targets(job, now, known, found)
    _disks(job, now, known, found)
    if throttle is not None:
        _throttle(job, throttle, found)
    return found


def _same_cluster(job: Job, now: Snapshot, found: Verdict) -> None:
    if job.cluster_id is None:
        found.remarks.append("the plan names no cluster: it is told by its partitions alone")
    elif job.cluster_id != now.cluster_id:
        found.refusals.append(f"the plan is of cluster {job.cluster_id}, this is {now.cluster_id}")


def _same_state(
    job: Job, known: Mapping[Key, PartitionState], ours: set[Key], found: Verdict
) -> None:
    differences = []
    for key, listed in job.lists.items():
        name, one = f"{key[0]}-{key[1]}", known.get(key)
        change = job.changes.get(key)
        if one is None:
            differences.append(f"{name} is not there")
        elif change is None:
            if one.replicas != listed:
                differences.append(f"{name} is on {_ids(one.replicas)}, not {_ids(listed)}")
        elif one.replicas not in (change.origin, change.goal) and (
            key not in ours or change.standing(one) is Standing.ELSEWHERE
        ):
            differences.append(f"{name} is on {_ids(one.replicas)}, not {_ids(change.origin)}")
    if differences:
        found.refusals.append(f"the cluster is not the plan's: {_some(differences)}; plan again")
    new = sorted({topic for topic, _ in known} - {topic for topic, _ in job.lists})
    if new:
        found.remarks.append(f"topics that the plan does not know: {_some(new)}")


def _nothing_else_moves(job: Job, now: Snapshot, ours: set[Key], found: Verdict) -> None:
    foreign = []
    for one in now.reassigning:
        key = (one.topic, one.partition)
        change = job.changes.get(key)
        if change is None or (one.replicas != change.goal and key not in ours):
            foreign.append(f"{one.topic}-{one.partition}")
    if foreign:
        found.refusals.append(
            f"others are reassigning {_some(foreign)}: let that finish, or cancel it"
        )


def _targets(job: Job, now: Snapshot, known: Mapping[Key, PartitionState], found: Verdict) -> None:
    brokers = {broker.id: broker for broker in now.brokers}
    wanted = {
        broker
        for change in job.changes.values()
        if change.standing(known.get(change.key)) is Standing.WAITING
        for broker in change.adding
    }
    for broker in sorted(wanted):
        if broker not in brokers:
            found.refusals.append(f"broker {broker} is not in the cluster")
        elif not brokers[broker].alive:
            found.refusals.append(f"broker {broker} is to get replicas and does not answer")
        elif brokers[broker].cordoned:
            found.refusals.append(f"broker {broker} is to get replicas and is cordoned")


def _disks(job: Job, now: Snapshot, known: Mapping[Key, PartitionState], found: Verdict) -> None:
    """Wave by wave: a new replica comes before the old one goes."""
    free = {broker.id: space for broker in now.brokers if (space := _free(broker)) is not None}
    for number, wave in enumerate(job.waves, 1):
        freed: dict[int, int] = {}
        for key in wave:
            change, one = job.changes[key], known.get(key)
            if one is None or change.standing(one) is Standing.DONE:
                continue
            size = one.size_bytes if one.size_bytes is not None else change.size_bytes or 0
            for broker in change.adding:
                if broker in free and broker not in one.adding:
                    free[broker] -= size
            for broker in change.origin:
                if broker not in change.goal:
                    freed[broker] = freed.get(broker, 0) + one.sizes.get(broker, size)
        short = [broker for broker, space in sorted(free.items()) if space < 0]
        if short:
            lack = ", ".join(f"{broker} by {-free[broker]:,} bytes" for broker in short[:_SHOWN])
            found.refusals.append(f"wave {number} would overfill the disks of broker {lack}")
            return
        for broker, size in freed.items():
            if broker in free:
                free[broker] += size


def _free(broker: BrokerState) -> int | None:
    usable = [one.usable_bytes for one in broker.log_dirs if one.offline is None]
    known = [size for size in usable if size is not None]
    return sum(known) if known and len(known) == len(usable) else None


def _throttle(job: Job, throttle: int, found: Verdict) -> None:
    """A broker must fetch faster than its new replicas grow, or it never arrives."""
    for number, wave in enumerate(job.waves, 1):
        incoming: dict[int, float] = {}
        for key in wave:
            for broker in job.changes[key].adding:
                grows = job.changes[key].bytes_per_second or 0.0
                incoming[broker] = incoming.get(broker, 0.0) + grows
        for broker, rate in sorted(incoming.items()):
            if rate >= throttle:
                found.refusals.append(
                    f"the throttle of {throttle:,} bytes per second is too low: in wave {number} "
                    f"what broker {broker} fetches grows by {rate:,.0f}"
                )
                return


def _ids(brokers: Iterable[int]) -> str:
    return ",".join(map(str, brokers))


def _some(names: list[str]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more
