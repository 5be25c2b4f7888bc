"""The planning problem: a cluster and the options, resolved into arrays.

Which brokers are usable, which partitions are chosen, how many replicas each must have and who may
lead; from these the placement as a problem of the kernel. ``brokers.posing`` checks the options.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cached_property
from typing import NamedTuple

import numpy as np
from msgspec import Struct, field, structs

from partage.arrays import Bools, Floats, Ints
from partage.brokers.budget import Budgeted, within_limits
from partage.brokers.figures import rack_violations
from partage.brokers.options import GIVEN, PlanOptions
from partage.brokers.search_clock import SearchClock
from partage.cluster import Cluster
from partage.errors import InputError
from partage.flow.assignment import LOAD, MOVES, SPREAD, Assignment, AssignmentProblem
from partage.flow.count_search import CountSearch

_MAX_WEIGHT = 20_000


class Rates(NamedTuple):
    """[P] bytes per second that producers write and consumers read."""

    bytes_in: Floats
    bytes_out: Floats


class Problem(Struct, frozen=True, eq=False, dict=True):
    """A cluster and the options, resolved.

    - ``cluster``: the current placement, including brokers that the options add
    - ``usable`` [B]: brokers that may hold replicas; ``excluded``, ``added`` [B]
    - ``chosen`` [P]: partitions that may change; ``target`` [P]: required replicas
    - ``bytes_per_second`` [P]: measured incoming bytes per second, or, where leaders are balanced
      by them and none are measured, those of the cluster's file; or None
    - ``rates``: what brokers receive and send; None where not known, unless ``balance`` is load
    - ``given`` [P, any]: the lists after ``reassignment``, or None without one
    - ``loads``: descriptions of the measurements that rates and sizes come from
    - ``clock``: how long the search for balanced loads may run
    - ``searches``: of leader counts; what they solved serves a second run, too
    - ``topic_first``: the topic whose leaders are spread before those of the cluster, if only its
      partitions are chosen
    """

    cluster: Cluster
    options: PlanOptions
    usable: Bools
    excluded: Bools
    added: Bools
    chosen: Bools
    target: Ints
    bytes_per_second: Floats | None = None
    rates: Rates | None = None
    given: Ints | None = None
    warnings: list[str] = field(default_factory=list)
    loads: list[str] = field(default_factory=list)
    clock: SearchClock = field(default_factory=SearchClock)
    searches: CountSearch = field(default_factory=CountSearch)
    topic_first: int | None = None

    @cached_property
    def outside(self) -> Bools:
        """[B] brokers that are not in ``broker_set``."""
        return outside_of(self.cluster, self.options)

    @cached_property
    def slot_brokers(self) -> Ints:
        """[E] positions of the usable brokers, which are the slots of the kernel."""
        return np.flatnonzero(self.usable)

    @cached_property
    def broker_slot(self) -> Ints:
        """[B + 1] slot of each broker, -1 for unusable brokers and for padding."""
        slot = np.full(len(self.usable) + 1, -1, dtype=np.int64)
        slot[self.slot_brokers] = np.arange(len(self.slot_brokers))
        return slot

    @cached_property
    def weights(self) -> Ints:
        """[E] integers proportional to 1 / capacity."""
        return self.weighed[0]

    @cached_property
    def weighed(self) -> tuple[Ints, bool]:
        """The ``weights``, and whether they are exact."""
        return capacity_weights([self.cluster.brokers[b].capacity for b in self.slot_brokers])

    @cached_property
    def leader_racks(self) -> Bools | None:
        """[T, racks + 1] whether brokers of a rack may lead a topic, the last one for padding; None
        if all may."""
        asked = self.options.leader_racks
        if not asked:
            return None
        cluster = self.cluster
        found = np.ones((len(cluster.topics), len(cluster.rack_names) + 1), dtype=np.bool_)
        # racks of all topics first, in any order of the options, then those of one
        for one in sorted(asked, key=lambda one: one.topic is not None):
            rows = slice(None) if one.topic is None else cluster.topics.index(one.topic)
            found[rows] = np.isin([*cluster.rack_names, ""], one.racks)
        return found

    def in_leader_racks(self, rows: Ints, brokers: Ints) -> Bools:
        """[N, any] which of the ``brokers`` [N, any] are usable, and in the racks that may lead the
        partitions ``rows`` [N]."""
        usable = np.append(self.usable, False)[brokers]
        if self.leader_racks is None:
            return usable
        rack = np.append(self.cluster.rack, -1)[brokers]
        in_rack = self.leader_racks[self.cluster.topic[rows][:, None], rack]
        return np.asarray(usable & (in_rack | ~self.chosen[rows][:, None]))

    def comes_last(self, rows: Ints, replicas: Ints) -> Bools:
        """[N, R] which of the ``replicas`` [N, R] of the partitions ``rows`` [N] come after the
        others: those on demoted brokers, if another may lead."""
        if not self.options.demote_broker:
            return np.zeros(replicas.shape, dtype=np.bool_)
        demoted = np.isin(self.cluster.broker_ids, self.options.demote_broker)
        last = np.append(demoted & self.usable, False)[replicas]
        others = (self.in_leader_racks(rows, replicas) & ~last).any(axis=1)
        return np.asarray(last & (others & self.chosen[rows])[:, None])

    def may_lead(self, rows: Ints, replicas: Ints) -> Bools:
        """[N, R] which of the ``replicas`` [N, R] of the partitions ``rows`` may come first."""
        return self.in_leader_racks(rows, replicas) & ~self.comes_last(rows, replicas)

    def may_follow(self, rows: Ints, replicas: Ints) -> Bools:
        """[N, R] which of the ``replicas`` [N, R] of the partitions ``rows`` may come second."""
        usable = np.append(self.usable, False)[replicas]
        if not self.options.demote_broker:
            return usable
        last = self.comes_last(rows, replicas)
        others = (usable & ~last).sum(axis=1) > 1
        return np.asarray(usable & ~(last & others[:, None]))

    def keeps_last(self, rows: Ints, lists: Ints) -> Bools:
        """[N] whether replicas that come last follow all others that are usable in the ``lists``
        [N, R] of the partitions ``rows``."""
        last = self.comes_last(rows, lists)
        others = np.append(self.usable, False)[lists] & ~last
        return np.asarray(~(np.logical_or.accumulate(last, axis=1) & others).any(axis=1))

    @cached_property
    def items(self) -> Ints:
        """[I] rows of the chosen partitions, which are the items of the kernel."""
        return np.flatnonzero(self.chosen)

    @cached_property
    def sharing(self) -> AssignmentProblem:
        """The placement as a problem of the kernel."""
        cluster, items = self.cluster, self.items
        slots = len(self.slot_brokers)
        names, family = np.unique(cluster.topic[items], return_inverse=True)
        # the replicas of the other partitions
        rest = np.flatnonzero(~self.chosen)
        row, column = np.nonzero(cluster.replicas[rest] >= 0)
        row = rest[row]
        at = self.broker_slot[cluster.replicas[row, column]]
        row, at = row[at >= 0], at[at >= 0]
        base_size = np.zeros(slots, dtype=np.int64)
        np.add.at(base_size, at, np.maximum(cluster.size_bytes[row], 0))
        beside = np.isin(cluster.topic[row], names)
        family_base = np.zeros((len(names), slots), dtype=np.int64)
        place = np.searchsorted(names, cluster.topic[row[beside]]), at[beside]
        np.add.at(family_base, place, 1)
        racks, zone = np.unique(cluster.rack[self.slot_brokers], return_inverse=True)
        return AssignmentProblem(
            family=family.astype(np.int64),
            demand=self.target[items],
            own=self.broker_slot[cluster.replicas[items]],
            zone=zone.astype(np.int64),
            weight=self.weights,
            base=np.bincount(at, minlength=slots).astype(np.int64),
            family_base=family_base,
            # with one broker per rack, the rack rule requires only distinct brokers
            zoned=bool(cluster.rack_names) and len(racks) < slots,
            size=np.maximum(cluster.size_bytes[items], 0),
            base_size=base_size,
            copied=None if cluster.copy_bytes is None else cluster.copied[items],
        )

    @cached_property
    def order(self) -> tuple[str, str, str]:
        """The costs in order of priority."""
        return (SPREAD, LOAD, MOVES) if self.options.spread == "topic" else (LOAD, MOVES, SPREAD)

    @cached_property
    def budgeted(self) -> Budgeted:
        """The exact solution within the limits, with which every strategy is compared."""
        return within_limits(self.sharing, self.order, self.options.limits)

    @property
    def aimed(self) -> AssignmentProblem:
        """The problem of the kernel, aimed at the loads that a budget allows."""
        return self.budgeted.sharing

    @property
    def share(self) -> Assignment:
        """The solution of ``aimed``."""
        return self.budgeted.share

    @cached_property
    def removed_log_dirs(self) -> frozenset[tuple[int, int]]:
        """Positions (broker, log dir) of the log dirs that should be empty."""
        asked = self.options.remove_log_dir
        return frozenset(_position(self.cluster, one.broker, one.path) for one in asked)

    def open_log_dirs(self, broker: int) -> list[int]:
        """The log dirs of a broker that may take replicas."""
        own = self.cluster.brokers[broker].log_dirs
        return [
            i
            for i, one in enumerate(own)
            if one.takes_replicas and (broker, i) not in self.removed_log_dirs
        ]

    def replicas_of(self, slots: Ints) -> Ints:
        """[P, R] broker positions: the kernel's ``slots`` [I, any], other rows unchanged."""
        width = max(slots.shape[1], self.cluster.replicas.shape[1])
        placed = np.full((self.cluster.partitions, width), -1, dtype=np.int64)
        placed[:, : self.cluster.replicas.shape[1]] = self.cluster.replicas
        broker = np.append(self.slot_brokers, -1)
        placed[self.items] = -1
        placed[self.items, : slots.shape[1]] = broker[slots]
        return placed

    def by_strategy(self, name: str) -> Problem:
        """The same problem for another strategy. It shares the exact solution, unless a budget,
        bytes or ``no_moves`` make it useless for other strategies."""
        lists = self.options.reassignment if name == GIVEN else None
        options = replace(self.options, strategy=name, reassignment=lists)
        other = structs.replace(self, options=options, warnings=list(self.warnings))
        other.__dict__["sharing"] = self.sharing
        alone = self.options.no_moves or self.options.by_size or self.options.limits.any
        if not alone:
            other.__dict__["budgeted"] = self.budgeted
        return other

    def timed(self, report: Callable[[str], None]) -> Problem:
        """The same problem for a search that starts now."""
        return structs.replace(self, clock=SearchClock(self.options.time_limit, report))

    def again(self, after: Cluster) -> Problem:
        """The same problem on the result of a plan: a stable strategy changes nothing."""
        return structs.replace(self, cluster=after, added=np.zeros_like(self.added), warnings=[])


def keeps_rules(problem: Problem, after: Cluster) -> bool:
    """Whether no chosen partition breaks the rack rule, and none is led by a broker that is not
    usable while others could lead it."""
    chosen, usable = problem.chosen, np.append(problem.usable, False)
    on = usable[after.replicas]
    if (chosen & on.any(axis=1) & ~on[:, 0]).any():
        return False
    if problem.options.no_moves or problem.options.relieve is not None:
        return True  # what breaks the rule may stay
    return not (rack_violations(after, problem.usable) & chosen).any()


def capacity_weights(capacity: Sequence[Fraction]) -> tuple[Ints, bool]:
    """Integers up to 20,000 proportional to 1 / capacity, and whether they are exact; otherwise
    they are rounded as finely as the limit allows. Raises InputError if the smallest capacity is
    too small compared with the largest."""
    largest = max(capacity)
    share_of = [largest / c for c in capacity]
    scale = math.lcm(*(s.denominator for s in share_of))
    if scale * max(share_of) <= _MAX_WEIGHT:
        return np.array([int(s * scale) for s in share_of], dtype=np.int64), True
    finest = math.floor(_MAX_WEIGHT / max(share_of))
    if finest < 1:
        raise InputError(
            "capacity",
            f"{float(max(capacity)):g} is more than {_MAX_WEIGHT} times {float(min(capacity)):g}",
        )
    return np.array([round(s * finest) for s in share_of], dtype=np.int64), False


def outside_of(cluster: Cluster, options: PlanOptions) -> Bools:
    """[B] brokers that are not in the options' ``broker_set``, where one is given."""
    if options.broker_set is None:
        return np.zeros(len(cluster.brokers), dtype=np.bool_)
    return np.asarray(~np.isin(cluster.broker_ids, options.broker_set))


def _position(cluster: Cluster, broker: int, path: str) -> tuple[int, int]:
    """The positions of a broker and of its log dir, which ``_check_log_dirs`` has found."""
    place = cluster.broker_position(broker)
    assert place is not None
    return place, [one.path for one in cluster.brokers[place].log_dirs].index(path)
