"""A plan that brings the busiest broker below the threshold again, with the fewest bytes moved.

It aims at half of the excess that the threshold allows, so that a small change does not raise the
next alert. Where the rules or the budget do not allow that, it goes as far as they do, in steps; a
plan that removes less than a tenth of the excess is not worth its moves.

With racks, only partitions change whose new replicas and leader are on brokers of these racks.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from partage.brokers.figures import changed_rows, new_replicas
from partage.brokers.plan import Plan
from partage.brokers.planning import plan
from partage.cluster import Cluster
from partage.errors import CannotError
from partage.measured_loads import Profile
from partage.pipeline.watch.fairness import Fairness, fairness

_STEPS = 4
_LEAST_GAIN = 0.1
_LARGEST_LIMIT = 9.99
"""Limits in percent end below 1000 %."""


@dataclass(frozen=True)
class Relief:
    """A plan, and the fairness before and after it."""

    plan: Plan
    before: Fairness
    after: Fairness


def relief(
    cluster: Cluster,
    profile: Profile,
    threshold: float,
    *,
    moves: bool,
    most_bytes: int,
    racks: Collection[str] | None = None,
) -> Relief | None:
    """The plan; None if the load is not above the threshold in this cluster. ``moves``: replicas
    may move, ``most_bytes`` in all; otherwise only leaders change. Raises CannotError."""
    rates = profile.aligned(cluster).bytes_per_second
    before = fairness(cluster, rates)
    if before is None or before.value <= threshold:
        return None
    problem = None
    for limit in _limits(before.value, threshold):
        try:
            found = _planned(cluster, profile, limit, moves=moves, most_bytes=most_bytes)
            if racks is not None:
                found = _within(found, cluster, profile, racks)
        except CannotError as error:
            problem = problem or error
            continue
        after = fairness(found.after, rates)
        if after is None or before.value - after.value < _LEAST_GAIN * (before.value - 1):
            continue
        rows, _ = new_replicas(found.before, found.after)
        known = bool((cluster.size_bytes[rows] >= 0).all())
        if not known or (found.bytes_moved or 0) > most_bytes:
            size = found.bytes_moved if known else "an unknown number of"
            problem = problem or CannotError(f"it would move {size} bytes")
            continue
        return Relief(found, before, after)
    raise problem or CannotError("no fairer plan was found")


def _limits(now: float, threshold: float) -> Iterator[float]:
    yield 1 + (threshold - 1) / 2
    for step in range(_STEPS):
        yield threshold + (now - threshold) * step / _STEPS


def _planned(
    cluster: Cluster, profile: Profile, limit: float, *, moves: bool, most_bytes: int
) -> Plan:
    return plan(
        cluster,
        profile=profile,
        relieve={"leader_in": min(limit, _LARGEST_LIMIT)},
        no_moves=not moves,
        max_bytes_moved=most_bytes if moves else None,
    )


def _within(found: Plan, cluster: Cluster, profile: Profile, racks: Collection[str]) -> Plan:
    """The changes of the plan that bring replicas and leaders only to brokers of these racks."""
    inside = {broker.id for broker in cluster.brokers if broker.rack in racks}
    before, after = found.before.replica_lists(), found.after.replica_lists()
    kept = [
        row
        for row in changed_rows(found.before, found.after).tolist()
        if inside.issuperset(set(after[row]) - set(before[row]))
        and (after[row][0] == before[row][0] or after[row][0] in inside)
    ]
    if not kept:
        raise CannotError("no change within the racks makes it fairer")
    entries = [
        {
            "topic": cluster.topics[int(cluster.topic[row])],
            "partition": int(cluster.partition[row]),
            "replicas": after[row],
        }
        for row in kept
    ]
    return plan(cluster, profile=profile, reassignment={"version": 1, "partitions": entries})
