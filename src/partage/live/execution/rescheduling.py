"""The remaining changes of a plan in new waves, with another concurrency."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from partage.brokers.waves import schedule_waves
from partage.cluster import Broker, Cluster
from partage.live.admin.states import Key, Snapshot
from partage.live.execution.changes import MoveStatus
from partage.live.execution.execution_plan import ExecutionPlan


def reschedule(
    plan: ExecutionPlan, cluster: Snapshot, concurrency: int, keys: Iterable[Key] | None = None
) -> ExecutionPlan:
    """The plan in waves in which a broker receives, or sends as leader, at most ``concurrency`` new
    replicas; ``keys``: the changes to schedule, all that are not done if None. Where only log dirs
    may be left to change, the waves stay, after the others.

    Disk space, sizes and live brokers are those of ``cluster``. Raises CannotError where no
    schedule fits the disks.
    """
    wanted = set(plan.changes if keys is None else keys)
    statuses = plan.statuses(cluster.partitions)
    left = {
        key
        for key in wanted
        if statuses[key] not in (MoveStatus.DONE, MoveStatus.GONE)
        and not plan.changes[key].only_log_dirs
    }
    kept = wanted - left
    inside = (
        tuple(key for key in wave if key in kept and plan.changes[key].placing)
        for wave in plan.waves
    )
    last = tuple(filter(None, inside))
    if not left:
        return replace(plan, waves=last, concurrency=concurrency)
    columnar = cluster.cluster()
    used = (b for k in left for b in (*plan.changes[k].origin, *plan.changes[k].target))
    brokers = _with_missing_brokers(columnar, used)
    before = _with_replicas(columnar, brokers, {key: plan.changes[key].origin for key in left})
    after = _with_replicas(columnar, brokers, {key: plan.changes[key].target for key in left})
    schedule = schedule_waves(before, after, concurrency, batch=plan.batch)
    names = list(zip([before.topics[t] for t in before.topic], before.partition, strict=True))
    waves = tuple(
        tuple((topic, int(number)) for topic, number in (names[row] for row in wave.rows))
        for wave in schedule.waves
    )
    return replace(plan, waves=(*waves, *last), concurrency=concurrency)


def _with_missing_brokers(cluster: Cluster, used: Iterable[int]) -> list[Broker]:
    """The cluster's brokers, and used ones that are not in the cluster as dead brokers."""
    missing = sorted(set(used) - set(cluster.broker_ids.tolist()))
    rack = "unknown" if cluster.rack_names else None
    return [*cluster.brokers, *(Broker(b, rack, alive=False) for b in missing)]


def _with_replicas(
    cluster: Cluster, brokers: list[Broker], replicas: Mapping[Key, tuple[int, ...]]
) -> Cluster:
    """The cluster with other replicas for some partitions."""
    names = list(zip([cluster.topics[t] for t in cluster.topic], cluster.partition, strict=True))
    return Cluster.build(
        brokers,
        [topic for topic, _ in names],
        cluster.partition.tolist(),
        [
            replicas.get((topic, int(number)), own)
            for (topic, number), own in zip(names, cluster.replica_lists(), strict=True)
        ],
        cluster.size_bytes.tolist(),
        copy_bytes=cluster.copy_list(),
    )
