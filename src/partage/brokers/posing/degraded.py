"""Warnings about clusters in trouble: dead brokers, and too few replicas for ``acks=all``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from partage.arrays import Bools
from partage.brokers.figures import not_in
from partage.brokers.posing.problem_warnings import some
from partage.brokers.problem import Problem
from partage.cluster.min_insync import MIN_INSYNC, lowered_below
from partage.units import listed, plural

_IDS = 5
"""How many brokers a warning names."""


def of_brokers(problem: Problem) -> Iterator[str]:
    """Which brokers are dead, and which may be, of those that the options do not remove."""
    cluster, stays = problem.cluster, ~problem.excluded
    maybe = stays & np.isin(cluster.broker_ids, cluster.maybe_dead)
    if maybe.any():
        yield _may_be_dead(cluster.broker_ids[maybe].tolist())
    dead = stays & ~cluster.alive
    if dead.any():
        yield _are_dead(cluster.broker_ids[dead].tolist(), _replicas_off(problem, dead))


def _may_be_dead(ids: Sequence[int]) -> str:
    one = len(ids) == 1
    what = "it leads no partition and is" if one else "they lead no partition and are"
    option = ",".join(map(str, ids[:_IDS])) + (",…" if len(ids) > _IDS else "")
    return (
        f"{_named(ids)} may be dead: {what} in no leader's ISR; if so, add --remove-broker "
        f"{option}, or plan from a snapshot, which lists dead brokers"
    )


def _are_dead(ids: Sequence[int], moving: int) -> str:
    one = len(ids) == 1
    are, them, they = ("is", "it", "it") if one else ("are", "them", "they")
    if not moving:
        return f"{_named(ids)} {are} dead: no replicas move from {them} or to {them}"
    move = plural(moving, "replica moves", "replicas move")
    return (
        f"{_named(ids)} {are} dead: {move} from {them} to others; if {they} will be back soon, "
        f"wait for {them} and plan again"
    )


def _named(ids: Sequence[int]) -> str:
    """``broker 2``, ``brokers 2, 5``."""
    return f"{'broker' if len(ids) == 1 else 'brokers'} {listed(list(map(str, ids)), _IDS)}"


def _replicas_off(problem: Problem, brokers: Bools) -> int:
    """How many replicas move from ``brokers`` [B], none of which is usable, to others: not those
    that a lower replication factor drops."""
    if problem.options.no_moves:
        return 0
    replicas = problem.cluster.replicas
    if problem.given is None:
        stays = np.append(problem.usable, False)[replicas]
    else:
        stays = (replicas >= 0) & ~not_in(replicas, problem.given)
    leave = np.append(brokers, False)[replicas] & ~stays
    fetched = np.maximum(problem.target - stays.sum(axis=1), 0)
    return int(np.minimum(leave.sum(axis=1), fetched)[problem.chosen].sum())


def of_min_insync(problem: Problem) -> Iterator[str]:
    """Partitions to which producers with ``acks=all`` cannot write after the plan, or not while a
    broker is down."""
    cluster, known = problem.cluster, problem.cluster.min_insync_replicas
    before, after = cluster.replication_factor, problem.target
    least = np.array([known.get(topic, 0) for topic in cluster.topics])[cluster.topic]
    below = problem.chosen & (after < least)
    if below.any():
        columns = (one[below].tolist() for one in (before, after, least))
        rows = list(zip(*columns, strict=True))
        _, left, wanted = rows[0]
        refused = any(lowered_below(*row) for row in rows)
        yield (
            f"fewer replicas than {MIN_INSYNC}: {some(cluster, below)} ({left} of "
            f"{wanted}); before Kafka 3.7, producers with acks=all cannot write, since then their "
            "records have fewer copies"
            + (f"; apply refuses the plan until {MIN_INSYNC} is lowered" if refused else "")
        )
    just = problem.chosen & (after == least) & (after < before)
    if just.any():
        yield (
            f"only as many replicas as {MIN_INSYNC}: {some(cluster, just)} ({after[just][0]}); "
            "while one of their brokers is down, producers with acks=all cannot write"
        )
