"""What a broker that died was still to receive, planned anew without it.

The rest of the plan is kept. The planner is given the cluster as it will be when that is done,
without the brokers that do not answer, and may change only the partitions that cannot go where they
should: these start from where they are now, so that the fairest share is reached with the fewest
moves. What other partitions have on a dead broker stays: it may come back.

The answer is a file beside the plan, ``replan-1.json``, in the form of Kafka's reassignment JSON,
each partition with its ``wave``. ``Job.read`` lays it over the plan. Where everything came from
does not change, so a rollback still brings back what was before the first run.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace
from pathlib import Path

import numpy as np

from partage.brokers.check.replan_files import replans
from partage.brokers.options import Options
from partage.brokers.plan import solve
from partage.brokers.problem import Problem
from partage.cluster import Cluster
from partage.errors import CannotError
from partage.files import to_json, write_text
from partage.live.admin.states import Key, Snapshot
from partage.live.execution.job import Change, Job, Standing


def holders(change: Change, dead: Collection[int]) -> set[int]:
    """Which of the dead brokers hold a change up: those that are to have it, or all that have."""
    origin = set(change.origin)
    return set(change.goal).intersection(dead) or (origin if origin <= set(dead) else set())


def to_plan_anew(
    job: Job, now: Snapshot, dead: Collection[int], candidates: Iterable[Change]
) -> set[Key]:
    """Which of these changes are held up and can be planned anew: somebody still has the data."""
    standings = job.standings(now.partitions)
    gone = {broker.id for broker in now.brokers if not broker.alive} | set(dead)
    return {
        change.key
        for change in candidates
        if holders(change, dead)
        and set(change.origin) - gone
        and standings.get(change.key) not in (None, Standing.DONE, Standing.GONE)
    }


def plan_without(
    job: Job, now: Snapshot, dead: Collection[int], hit: Collection[Key], concurrency: int
) -> tuple[Path, int]:
    """Plan the changes ``hit`` anew and write the answer; gives its file and how many replicas
    move. Raises CannotError where there is no answer: too few brokers, or nobody has the data."""
    gone = {broker.id for broker in now.brokers if not broker.alive} | set(dead)
    rows, lists, chosen = [], [], []
    for one in now.partitions:
        change = job.changes.get(one.key)
        if one.key in hit and change is not None:
            list_now = change.origin
        else:
            list_now = one.replicas if change is None else change.goal
        live = [broker for broker in list_now if broker not in gone]
        if not live and one.key in hit:
            raise CannotError(f"{one.name} has no live replica to copy from")
        if live:
            rows.append(one)
            lists.append(live)
            chosen.append(one.key in hit)
    cluster = Cluster.build(
        [broker for broker in now.cluster().brokers if broker.id not in gone],
        [one.topic for one in rows],
        [one.partition for one in rows],
        lists,
        [-1 if one.size_bytes is None else one.size_bytes for one in rows],
    )
    problem = _problem(job, cluster, concurrency, np.array(chosen))
    planned = solve(problem)
    number = len(replans(job.directory)) + 1
    path = Path(job.directory) / f"replan-{number}.json"
    after = planned.after.replica_lists()
    names = [cluster.topics[t] for t in cluster.topic.tolist()]
    wave = {row: n for n, one in enumerate(planned.waves, 1) for row in one.rows.tolist()}
    entries = [
        {
            "topic": names[row],
            "partition": int(cluster.partition[row]),
            "replicas": after[row],
            "wave": wave.get(row, 0),
        }
        for row in np.flatnonzero(problem.chosen).tolist()
    ]
    write_text(path, to_json({"version": 1, "without": sorted(dead), "partitions": entries}))
    return path, planned.moves


def _problem(
    job: Job, cluster: Cluster, concurrency: int, chosen: np.typing.NDArray[np.bool_]
) -> Problem:
    """The planner's job: as many replicas as the plan wanted, and nothing on brokers that are to be
    empty."""
    there = set(cluster.broker_ids.tolist())
    options = Options.of(
        remove_broker=[str(broker) for broker in job.excluded if broker in there],
        concurrency=concurrency,
        batch=job.batch,
    )
    problem = Problem.resolve(cluster, options)
    # ``Cluster.build`` sorts as a snapshot is sorted: by topic and number
    target = cluster.replication_factor.copy()
    for row in np.flatnonzero(chosen).tolist():
        key = cluster.topics[int(cluster.topic[row])], int(cluster.partition[row])
        target[row] = len(job.changes[key].goal)
        if target[row] > problem.usable.sum():
            name = cluster.names[row]
            raise CannotError(
                f"{name} needs {target[row]} live brokers, {problem.usable.sum()} are"
            )
    return replace(problem, chosen=chosen, target=target)
