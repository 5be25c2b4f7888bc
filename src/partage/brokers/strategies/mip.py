"""MIP: fewest moves within a window of loads, as one integer program.

A binary variable for each partition and broker states whether the broker holds a replica. Then

1. each partition keeps its number of replicas;
2. a leader on a broker that may hold replicas stays there: its variable is fixed at 1. Brokers that
   must be empty have no variables;
3. each broker holds between ``floor(0.9 average)`` and ``ceil(1.0 average)`` replicas, where the
   average is all replicas divided by the brokers that may hold some;
4. the number of replicas that brokers must newly fetch is minimal. (The tool minimises half the sum
   of added and removed replicas: the same, since both numbers are equal.)

A list starts with its leader, then the followers that stay, in their order, then the new ones by
broker id; in the tool the order is that of a hash map. If the leader's broker must be empty, the
tool shuffles the new list (here with a fixed seed), so a broker that must fetch everything may
lead. Leaders are not balanced. The method ignores racks, disks and capacities.

The tool gives all replicas the same weight, unless it is asked to weight partitions by their last
offset. This option, and factors other than 0.9 and 1.0, are not implemented. The tool reads the
chosen topics only: topics that are left out stay and do not count as load. It cannot change a
replication factor, and it fails if no placement satisfies all rules, for example if a broker leads
more partitions than it may hold. It computes the window in floating point; here it is exact. It
refuses to start while a replica is out of sync; here a dead broker is treated like a removed one.

Such placements are flows from partitions to brokers, so the linear relaxation has integer solutions
and the solver hardly has to branch. The limit is the number of variables, partitions times brokers.
HiGHS, with its fixed seed, replaces lp_solve, so that the same input gives the same output. As in
the tool, an answer that is not proven optimal is an error.

Source: github.com/everpeace/kafka-reassign-optimizer 0.4.0 (Scala, lp_solve through Optimus), class
``ReassignOptimizationProblem``, based on an idea of killerwhile/kafka-assignment-optimizer.
"""

from __future__ import annotations

from random import Random

import numpy as np

from partage.arrays import Bools, Ints
from partage.brokers.problem import Problem
from partage.brokers.strategies.lists import refuse_other_factors
from partage.errors import CannotError

LEAST_FACTOR = (9, 10)
"""The least load as a fraction of the average: the tool's ``--balanced-factor-min``. Its
``--balanced-factor-max`` is 1."""

MOST_VARIABLES = 500_000
"""Partitions times brokers that may hold replicas: about 20 seconds and 800 MB."""

SECONDS = 60.0
"""Time limit of the solver; after that there is no answer, since none is proven optimal."""

SEED = 41
"""Seed of the shuffles; with any seed, the tool could give the same lists."""


def mip(problem: Problem) -> Ints:
    """Replica lists [P, R] with the fewest moves of all that keep the leaders and the window.

    Raises CannotError with ``no_moves``, for a changed replication factor, if no placement
    satisfies all rules, and above MOST_VARIABLES or SECONDS.
    """
    _check(problem)
    own = problem.broker_slot[problem.cluster.replicas[problem.items]]
    slots = len(problem.slot_brokers)
    holds = _solve(own, problem.target[problem.items], slots)
    return problem.replicas_of(_lists(own, holds))


def window(replicas: int, brokers: int) -> tuple[int, int]:
    """The least and the most replicas that a broker may hold."""
    numerator, denominator = LEAST_FACTOR
    return replicas * numerator // (brokers * denominator), -(-replicas // brokers)


def _check(problem: Problem) -> None:
    if problem.options.no_moves:
        raise CannotError("balances by moving replicas, and keeps all leaders that it can")
    refuse_other_factors(problem, "has no way to change a replication factor")
    partitions, slots = len(problem.items), len(problem.slot_brokers)
    if partitions * slots > MOST_VARIABLES:
        raise CannotError(
            f"{partitions} partitions on {slots} brokers make {partitions * slots} variables, "
            f"more than the limit of {MOST_VARIABLES}"
        )


def _solve(own: Ints, factor: Ints, slots: int) -> Bools:
    """[I, E] which slot holds which partition. ``own`` [I, R]: current slots, leader first, -1
    padded."""
    from scipy.optimize import Bounds, LinearConstraint, milp
    from scipy.sparse import eye_array, kron, vstack

    items = len(own)
    held = np.zeros((items, slots), dtype=np.bool_)
    row, column = np.nonzero(own >= 0)
    held[row, own[row, column]] = True
    pinned = np.zeros((items, slots))
    led = np.flatnonzero(own[:, 0] >= 0)
    pinned[led, own[led, 0]] = 1

    # one row per partition, then one per broker: every variable is in one of each
    per_partition = kron(eye_array(items), np.ones((1, slots)))
    per_broker = kron(np.ones((1, items)), eye_array(slots))
    low, high = window(int(factor.sum()), slots)
    least = np.concatenate((factor, np.full(slots, low)))
    most = np.concatenate((factor, np.full(slots, high)))
    result = milp(
        np.where(held, 0.0, 1.0).ravel(),
        integrality=np.ones(items * slots, dtype=np.int64),
        bounds=Bounds(pinned.ravel(), np.ones(items * slots)),
        constraints=LinearConstraint(vstack((per_partition, per_broker)), least, most),
        options={"mip_rel_gap": 0.0, "time_limit": SECONDS},
    )
    if result.status == 1:
        raise CannotError(
            f"the solver has not finished after {SECONDS:g} s with {items * slots} variables"
        )
    if result.status == 2:
        leaders = np.bincount(own[led, 0], minlength=slots)
        raise CannotError(
            f"no placement keeps all leaders, {leaders.min()} to {leaders.max()} per broker, "
            f"and gives every broker {low} to {high} replicas"
        )
    if result.status != 0:
        raise AssertionError(f"HiGHS: {result.message}")
    return np.asarray(result.x.reshape(items, slots) > 0.5)


def _lists(own: Ints, holds: Bools) -> Ints:
    """[I, R] slots: the current order, then new ones; shuffled if the leader must leave its
    broker."""
    random = Random(SEED)
    lists = np.full_like(own, -1)
    for i, (before, after) in enumerate(zip(own.tolist(), holds, strict=True)):
        replicas = [b for b in before if b >= 0 and after[b]]
        replicas += [b for b in np.flatnonzero(after).tolist() if b not in before]
        if before[0] < 0:
            # only random() gives the same numbers in all Python versions
            replicas.sort(key=lambda _: random.random())
        lists[i, : len(replicas)] = replicas
    return lists
