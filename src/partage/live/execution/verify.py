"""How far a plan is, by what the cluster says."""

from __future__ import annotations

from collections import Counter
from typing import Any

from kafka import KafkaAdminClient

from partage.live.admin.snapshot import read_partitions
from partage.live.execution.job import Job, Standing


def compare(job: Job, admin: KafkaAdminClient) -> dict[str, Any]:
    """``state``: done, not begun, in progress or differs; how many partitions are ``done``,
    ``moving``, ``waiting``; ``differs``: by name, where they are; ``leaders``: partitions that
    another than their preferred leader leads; ``out_of_sync``: with replicas that lag behind."""
    now = {one.key: one for one in read_partitions(admin, job.topics)}
    standings = {key: change.standing(now.get(key)) for key, change in job.changes.items()}
    counts = Counter(standing.value for standing in standings.values())
    differs = {
        job.changes[key].name: list(now[key].replicas) if key in now else None
        for key, standing in standings.items()
        if standing in (Standing.GONE, Standing.ELSEWHERE)
    }
    mine = [now[key] for key in job.changes if key in now]
    out = [one.name for one in mine if set(one.isr) < set(one.replicas)]
    leaders = [one.name for one in mine if one.leader != one.replicas[0]]
    if differs:
        state = "differs"
    elif counts["done"] == len(standings):
        state = "done" if not out and not leaders else "in progress"
    else:
        state = "not begun" if counts["waiting"] == len(standings) else "in progress"
    return {
        "state": state,
        "partitions": len(standings),
        "done": counts["done"],
        "moving": counts["moving"],
        "waiting": counts["waiting"],
        "differs": differs,
        "leaders": leaders,
        "out_of_sync": out,
    }
