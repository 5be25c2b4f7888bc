"""What is left of a job, cut into waves anew: with another concurrency than it was planned with."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from partage.brokers.waves import schedule_waves
from partage.cluster import Broker, Cluster
from partage.live.admin.states import Key, Snapshot
from partage.live.execution.job import Job, Standing


def recut(job: Job, now: Snapshot, concurrency: int, left: Iterable[Key] | None = None) -> Job:
    """The job in waves of at most ``concurrency`` new replicas that a broker receives, or sends as
    leader; ``left``: the changes that are to be done, all that are not done if None.

    Disks, sizes and who answers are as they are ``now``. Raises CannotError where no order of waves
    fits the disks.
    """
    wanted = set(job.changes if left is None else left)
    standings = job.standings(now.partitions)
    keys = {
        key
        for key in wanted
        if standings[key] is not Standing.DONE and standings[key] is not Standing.GONE
    }
    if not keys:
        return replace(job, waves=(), concurrency=concurrency)
    cluster = now.cluster()
    brokers = _with_all(cluster, (b for k in keys for b in _ids(job, k)))
    before = _placed(cluster, brokers, {key: job.changes[key].origin for key in keys})
    after = _placed(cluster, brokers, {key: job.changes[key].goal for key in keys})
    schedule = schedule_waves(before, after, concurrency, batch=job.batch)
    name = list(zip([before.topics[t] for t in before.topic], before.partition, strict=True))
    waves = tuple(
        tuple((topic, int(number)) for topic, number in (name[row] for row in wave.rows))
        for wave in schedule.waves
    )
    return replace(job, waves=waves, concurrency=concurrency)


def _ids(job: Job, key: Key) -> tuple[int, ...]:
    return (*job.changes[key].origin, *job.changes[key].goal)


def _with_all(cluster: Cluster, used: Iterable[int]) -> list[Broker]:
    """The cluster's brokers, and as dead ones those that only lists name."""
    missing = sorted(set(used) - set(cluster.broker_ids.tolist()))
    rack = "unknown" if cluster.rack_names else None
    return [*cluster.brokers, *(Broker(b, rack, alive=False) for b in missing)]


def _placed(
    cluster: Cluster, brokers: list[Broker], lists: Mapping[Key, tuple[int, ...]]
) -> Cluster:
    """The cluster with these lists."""
    known = list(zip([cluster.topics[t] for t in cluster.topic], cluster.partition, strict=True))
    return Cluster.build(
        brokers,
        [topic for topic, _ in known],
        cluster.partition.tolist(),
        [
            lists.get((topic, int(number)), own)
            for (topic, number), own in zip(known, cluster.replica_lists(), strict=True)
        ],
        cluster.size_bytes.tolist(),
    )
