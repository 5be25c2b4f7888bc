"""What must hold before anything is asked of the cluster: each refusal is a sentence.

A plan is of one cluster at one moment. Where the cluster has changed since, the plan may do what
nobody was shown, so the first differences are named and nothing is done. Topics that are new since
are none of the plan's business; they are mentioned.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from kafka import KafkaAdminClient

from partage.errors import SeveralError
from partage.live.admin.permissions import NEEDS, require
from partage.live.admin.snapshot import take
from partage.live.admin.states import BrokerState, Key, PartitionState, Snapshot
from partage.live.execution.job import Job, Standing
from partage.live.execution.measuring import MEASURED_SECONDS, measured, needs
from partage.live.execution.recutting import recut

_SHOWN = 3


@dataclass(frozen=True)
class Verdict:
    """``refusals``: why not to begin. ``remarks``: what to know."""

    refusals: list[str] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Prepared:
    """A job that can begin with the cluster as it is ``now``. ``need``: what comes in meanwhile at
    the busiest broker, in bytes per second, and by ``source``; None where nobody asked."""

    job: Job
    now: Snapshot
    remarks: list[str]
    need: float | None = None
    source: str = ""


def prepare(
    job: Job,
    admin: KafkaAdminClient,
    *,
    throttle: int | str | None,
    concurrency: int | None = None,
    ours: Iterable[Key] = (),
    replanned: bool = False,
    tell: Callable[[str], None] = lambda _: None,
) -> Prepared:
    """Look at the cluster, cut the waves anew for another ``concurrency``, measure what comes in
    where a throttle is to be judged and the plan does not know, and check.

    Raises SeveralError with the reasons not to begin, PartageError where an ACL is missing.
    """
    tell("looking at the cluster")
    needed = NEEDS["apply" if throttle is None else "apply --throttle"]
    require(admin, needed, sorted({topic for topic, _ in job.lists}), job.topics)
    now, ours = take(admin, groups=False, throttles=False, whole=False), set(ours)
    if concurrency is not None:
        job = recut(job, now, concurrency)
    verdict = preflight(job, now, throttle=None, ours=ours, replanned=replanned)
    _begin_only_if(verdict, job)
    if throttle is None:
        return Prepared(job, now, verdict.remarks)
    known = {change.bytes_per_second is not None for change in job.changes.values()}
    source = "by the plan's profile" if known == {True} else f"measured for {MEASURED_SECONDS:g} s"
    job = measured(job, admin, now.partitions, tell=tell)
    rate = throttle if isinstance(throttle, int) else None
    verdict = preflight(job, now, throttle=rate, ours=ours, replanned=replanned)
    _begin_only_if(verdict, job)
    need, *_ = busiest(job, {one.key: one for one in now.partitions})
    return Prepared(job, now, verdict.remarks, need, source)


def _begin_only_if(verdict: Verdict, job: Job) -> None:
    if verdict.refusals:
        raise SeveralError(f"{job.directory}: {why}" for why in verdict.refusals)


def preflight(
    job: Job,
    now: Snapshot,
    *,
    throttle: int | None,
    ours: Iterable[Key] = (),
    replanned: bool = False,
) -> Verdict:
    """Whether the job can begin, or go on, with the cluster as it is ``now``.

    ``throttle`` is in bytes per second; ``ours`` are partitions that an earlier run of the same job
    has asked to be moved; ``replanned``: what a dead broker is to get will be planned anew.
    """
    found = Verdict()
    known = {one.key: one for one in now.partitions}
    _same_cluster(job, now, found)
    _same_state(job, known, set(ours), found)
    _nothing_else_moves(job, now, set(ours), found)
    _targets(job, now, known, found, replanned)
    _disks(job, now, known, found)
    if throttle is not None:
        _throttle(job, throttle, known, found)
    return found


def _same_cluster(job: Job, now: Snapshot, found: Verdict) -> None:
    if job.cluster_id is None:
        found.remarks.append("the plan names no cluster: it is told by its partitions alone")
    elif job.cluster_id != now.cluster_id:
        found.refusals.append(f"the plan is of cluster {job.cluster_id}, this is {now.cluster_id}")


def _same_state(
    job: Job, known: Mapping[Key, PartitionState], ours: set[Key], found: Verdict
) -> None:
    differences: list[str] = []
    gone: list[str] = []
    for key, listed in job.lists.items():
        name, one = f"{key[0]}-{key[1]}", known.get(key)
        change = job.changes.get(key)
        if one is None:
            # a plan that has begun goes on without what was deleted meanwhile
            (gone if ours else differences).append(f"{name} is not there")
        elif change is None:
            if one.replicas != listed:
                differences.append(f"{name} is on {_ids(one.replicas)}, not {_ids(listed)}")
        elif one.replicas not in (change.origin, change.goal) and (
            key not in ours or change.standing(one) is Standing.ELSEWHERE
        ):
            differences.append(f"{name} is on {_ids(one.replicas)}, not {_ids(change.origin)}")
    if differences:
        found.refusals.append(f"the cluster is not the plan's: {_some(differences)}; plan again")
    if gone:
        found.remarks.append(f"deleted since the plan was begun: {_some(gone)}")
    topics = {topic for topic, _ in job.lists}
    new = sorted({topic for topic, _ in known} - topics)
    if new:
        found.remarks.append(f"topics that the plan does not know: {_some(new)}")
    more = [f"{t}-{p}" for t, p in sorted(known.keys() - job.lists.keys()) if t in topics]
    if more:
        found.remarks.append(f"partitions that the plan does not know: {_some(more)}")


def _nothing_else_moves(job: Job, now: Snapshot, ours: set[Key], found: Verdict) -> None:
    foreign = []
    for one in now.reassigning:
        change = job.changes.get(one.key)
        if change is None or (one.replicas != change.goal and one.key not in ours):
            foreign.append(one.name)
    if foreign:
        found.refusals.append(
            f"others are reassigning {_some(foreign)}: let that finish, or cancel it"
        )


def _targets(
    job: Job,
    now: Snapshot,
    known: Mapping[Key, PartitionState],
    found: Verdict,
    replanned: bool,
) -> None:
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
            said = found.remarks if replanned else found.refusals
            said.append(f"broker {broker} is to get replicas and does not answer")
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


def _throttle(job: Job, throttle: int, known: Mapping[Key, PartitionState], found: Verdict) -> None:
    """Only what is above the need of a broker copies anything: at the need or below it, it never
    ends."""
    need, broker, number, verb = busiest(job, known)
    if need >= throttle:
        found.refusals.append(
            f"the throttle of {throttle:,} bytes per second is too low: in wave {number} "
            f"broker {broker} {verb} {need:,.0f} of what comes in meanwhile"
        )


def busiest(job: Job, known: Mapping[Key, PartitionState]) -> tuple[float, int, int, str]:
    """What comes in of a wave's partitions, in bytes per second, at the broker that has most of it
    to send or to fetch: how much, which broker, in which wave, and which of the two."""
    leaders = {key: one.leader for key, one in known.items()}
    most = (0.0, -1, 0, "sends")
    for number, wave in enumerate(job.waves, 1):
        changes = [job.changes[key] for key in wave]
        rates = {c.key: c.bytes_per_second or 0.0 for c in changes}
        for verb, loads in zip(("sends", "fetches"), needs(changes, rates, leaders), strict=True):
            for broker, load in sorted(loads.items()):
                if load > most[0]:
                    most = (load, broker, number, verb)
    return most


def _ids(brokers: Iterable[int]) -> str:
    return ",".join(map(str, brokers))


def _some(names: list[str]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more
