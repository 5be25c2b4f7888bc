"""The planning problem: a cluster and the options, resolved into arrays.

All options are checked against the cluster once, here, so that strategies can rely on the result:
which brokers are usable, which partitions are chosen, how many replicas each must have.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cached_property
from typing import NamedTuple

import numpy as np
from msgspec import Struct, field, structs

from partage.arrays import Bools, Floats, Ints
from partage.brokers.budget import Budgeted, within_limits
from partage.brokers.figures import not_in, one_width, rack_violations
from partage.brokers.option_values import LogDirOfBroker, NewBroker, Replacement
from partage.brokers.options import GIVEN, PlanOptions
from partage.brokers.search_clock import SearchClock
from partage.cluster import Broker, Cluster
from partage.cluster.broker import MAX_BYTES
from partage.errors import InputError, shown
from partage.flow.assignment import LOAD, MOVES, SPREAD, Assignment, AssignmentProblem
from partage.flow.count_search import CountSearch
from partage.patterns import compile_pattern, matcher
from partage.units import Percent, did_you_mean, listed, plural

_MAX_WEIGHT = 20_000

_WEEK = 7 * 86_400
"""Seconds: Kafka's default of ``log.retention.hours``."""


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

    @classmethod
    def resolve(
        cls, cluster: Cluster, options: PlanOptions, bytes_per_second: Floats | None = None
    ) -> Problem:
        """Check every option against the cluster. Raises InputError."""
        brokers = _brokers(cluster, options)
        cluster = cluster.with_brokers([*cluster.brokers, *brokers.added.values()])
        excluded = np.isin(cluster.broker_ids, list(brokers.excluded))
        added = np.isin(cluster.broker_ids, list(brokers.added))
        _check_broker_set(cluster, options)
        usable = cluster.alive & ~excluded & ~_outside(cluster, options)
        if not usable.any():
            raise InputError("brokers", "none is left: all are removed or dead")
        given = None if options.reassignment is None else options.reassignment.on(cluster)
        chosen = _chosen(cluster, options.topics)
        if given is not None and not options.no_moves:
            chosen &= ~_beyond(cluster, given, int(usable.sum()))
        target = _target(cluster, options, chosen, given)
        own_rates = options.leaders == "rate" and bytes_per_second is None
        if own_rates:
            bytes_per_second = _own_rates(cluster)
        if not options.no_moves:
            _check_replicas(cluster, usable, excluded, chosen, target)
        elif options.counts_loads:
            _check_alive(cluster, usable, chosen, options)
        if options.by_size or options.counts_loads or options.max_bytes_moved is not None:
            _check_sizes(cluster, options)
        _check_log_dirs(cluster, options, chosen)
        problem = cls(
            cluster,
            options,
            usable,
            excluded,
            added,
            chosen,
            target,
            bytes_per_second,
            given=given,
        )
        if options.counts_loads or problem._loads_known:
            problem = problem.with_rates()
        if own_rates:
            problem.loads.insert(0, "rates: bytes_in_per_second of the cluster file")
            problem.warnings.extend(_unknown_rates(cluster, cluster.bytes_in))
        held = np.maximum(target, cluster.replication_factor).astype(object)
        if int((held * np.maximum(cluster.size_bytes, 0)).sum()) > MAX_BYTES:
            raise InputError("sizes", "the replicas asked for add up to more than an exbibyte")
        problem.warnings.extend(_warnings(problem))
        _check_leader_racks(problem)
        _check_demoted(problem)
        if options.prefer_zone:
            _check_zones(cluster)
        return problem

    @cached_property
    def outside(self) -> Bools:
        """[B] brokers that are not in ``broker_set``, where one is given."""
        return _outside(self.cluster, self.options)

    @property
    def _loads_known(self) -> bool:
        """Whether every load of the brokers can be counted: rates and sizes are known, and what
        stays is on usable brokers."""
        on = np.append(self.usable, True)[self.cluster.replicas[self.chosen]]
        if self.options.no_moves and not on.all():
            return False
        known = self.bytes_per_second is not None or self.cluster.bytes_in is not None
        return known and not (self.cluster.size_bytes < 0).any()

    def with_rates(self) -> Problem:
        """The problem with rates, and where they come from."""
        rates, loads, warnings = _rates(self.cluster, self.bytes_per_second)
        return structs.replace(self, rates=rates, loads=loads, warnings=warnings)

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
        return self._weighed[0]

    @cached_property
    def _weighed(self) -> tuple[Ints, bool]:
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


def _check_alive(cluster: Cluster, usable: Bools, chosen: Bools, options: PlanOptions) -> None:
    """Raise InputError for a replica on a dead broker: without moves it is a load of none."""
    asked = "`prefer_zone`" if options.prefer_zone else "`balance` load"
    lost = chosen[:, None] & ~np.append(usable, True)[cluster.replicas]
    if lost.any():
        row, column = np.argwhere(lost)[0].tolist()
        broker = cluster.broker_ids[cluster.replicas[row, column]]
        raise InputError(
            "no_moves",
            f"with {asked} no replica may be on a dead broker, but partition "
            f"{cluster.names[row]} has one on broker {broker}: leave out `no_moves`",
        )


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


def usual_broker(cluster: Cluster, new: NewBroker) -> Broker:
    """A broker to add: with the most common capacity, and with the most common disk and network if
    all brokers have one."""

    def usual(known: Iterable[int | None]) -> int | None:
        counts = Counter(known)
        return None if None in counts else counts.most_common(1)[0][0]

    brokers = cluster.brokers
    return Broker(
        new.id,
        new.rack,
        usual(broker.disk_bytes for broker in brokers),
        Counter(broker.capacity for broker in brokers).most_common(1)[0][0],
        network_in=usual(broker.network_in for broker in brokers),
        network_out=usual(broker.network_out for broker in brokers),
    )


class _Brokers(Struct, dict=True):
    """The brokers that the options add and remove."""

    cluster: Cluster
    added: dict[int, Broker] = field(default_factory=dict)
    excluded: set[int] = field(default_factory=set)

    @cached_property
    def known(self) -> dict[int, Broker]:
        return {broker.id: broker for broker in self.cluster.brokers}

    def add(self, new: NewBroker) -> None:
        where = f"add_broker {new}"
        if new.id in self.known or new.id in self.added:
            raise InputError(where, f"broker {new.id} is already in the cluster")
        if self.cluster.rack_names and not new.rack:
            raise InputError(where, f"needs its rack: {new.id}:RACK")
        if new.rack and not self.cluster.rack_names:
            raise InputError(where, "the other brokers have no racks")
        self.added[new.id] = usual_broker(self.cluster, new)

    def exclude(self, identity: int, where: str) -> Broker:
        if identity not in self.known:
            raise InputError(where, f"broker {identity} is not in the cluster")
        if identity in self.excluded:
            raise InputError(where, f"broker {identity} is removed twice")
        self.excluded.add(identity)
        return self.known[identity]

    def replace(self, pair: Replacement) -> None:
        old = self.exclude(pair.old, f"replace_broker {pair}")
        if pair.new not in self.known and pair.new not in self.added:
            self.added[pair.new] = replace(old, id=pair.new, alive=True, log_dirs=())


def _brokers(cluster: Cluster, options: PlanOptions) -> _Brokers:
    found = _Brokers(cluster)
    for identity in options.remove_broker:
        found.exclude(identity, f"remove_broker {identity}")
    for new in options.add_broker:
        found.add(new)
    for pair in options.replace_broker:
        found.replace(pair)
    both = found.excluded & set(found.added)
    if both:
        raise InputError(f"add_broker {min(both)}", "is also removed")
    for pair in options.replace_broker:
        if pair.new in found.excluded:
            raise InputError(f"replace_broker {pair}", "the new broker is removed")
    return found


def _check_broker_set(cluster: Cluster, options: PlanOptions) -> None:
    if unknown := sorted(set(options.broker_set or ()) - set(cluster.broker_ids.tolist())):
        where = f"broker_set {options.broker_set}"
        raise InputError(where, f"broker {unknown[0]} is not in the cluster")


def _outside(cluster: Cluster, options: PlanOptions) -> Bools:
    if options.broker_set is None:
        return np.zeros(len(cluster.brokers), dtype=np.bool_)
    return np.asarray(~np.isin(cluster.broker_ids, options.broker_set))


def _chosen(cluster: Cluster, topics: re.Pattern[str] | None) -> Bools:
    if topics is None:
        return np.ones(cluster.partitions, dtype=np.bool_)
    match = np.array(list(map(matcher(topics), cluster.topics)))
    if not match.any():
        raise InputError(f"topics {shown(topics.pattern)}", _no_match(topics, cluster.topics))
    return np.asarray(match[cluster.topic], dtype=np.bool_)


def _no_match(topics: re.Pattern[str], names: Sequence[str]) -> str:
    """Why no topic matches, and what would."""
    problem = "matches no topic of the cluster"
    listing = topics.pattern.replace(",", "|")
    if listing != topics.pattern and any(map(matcher(compile_pattern(listing)), names)):
        return f"{problem}: it is a regular expression; {listing} matches either name"
    parts = list(filter(matcher(compile_pattern(f".*({topics.pattern}).*")), names))
    if parts and topics.pattern:
        alike = parts == list(filter(matcher(compile_pattern(f".*{topics.pattern}.*")), names))
        within = topics.pattern if alike else f"({topics.pattern})"
        found = listed(parts[:3], 3, len(parts))
        return f"{problem}: the whole name must match; .*{within}.* matches {found}"
    return f"{problem}{did_you_mean(topics.pattern, names)}"


def _rows_of(cluster: Cluster, chosen: Bools, topic: str, where: str) -> Bools:
    """[P] the chosen partitions of a topic that an option names."""
    if topic not in cluster.topics:
        raise InputError(where, f"topic {topic!r} is not in the cluster")
    rows = chosen & (cluster.topic == cluster.topics.index(topic))
    if not rows.any():
        raise InputError(where, f"topic {topic!r} is left out by `topics`")
    return np.asarray(rows)


def _beyond(cluster: Cluster, given: Ints, usable: int) -> Bools:
    """[P] partitions that a reassignment does not change and that have more replicas than there
    are usable brokers. No plan can repair that, and this one does not have to."""
    today, wanted = one_width(cluster.replicas, given)
    return np.asarray((today == wanted).all(axis=1) & (cluster.replication_factor > usable))


def _target(cluster: Cluster, options: PlanOptions, chosen: Bools, given: Ints | None) -> Ints:
    target = cluster.replication_factor.copy()
    if given is not None:
        target[chosen] = (given >= 0).sum(axis=1)[chosen]
    seen: set[str | None] = set()
    # the general factor first, in any order of the options, then those of topics
    for word in sorted(options.replication_factor, key=lambda word: word.topic is not None):
        where = f"replication_factor {shown(word)}"
        if word.topic in seen:
            raise InputError(where, f"{word.topic or 'the general factor'} is given twice")
        seen.add(word.topic)
        rows = chosen
        if word.topic is not None:
            rows = _rows_of(cluster, chosen, word.topic, where)
        target[rows] = word.factor
    return target


def _check_leader_racks(problem: Problem) -> None:
    cluster = problem.cluster
    seen: set[str | None] = set()
    for one in problem.options.leader_racks:
        where = f"leader_racks {shown(one)}"
        if one.topic in seen:
            raise InputError(where, f"racks of {one.topic or 'all topics'} are given twice")
        seen.add(one.topic)
        for rack in one.racks:
            if rack not in cluster.rack_names:
                known = ", ".join(cluster.rack_names) or "the brokers have no racks"
                raise InputError(where, f"no broker is in rack {shown(rack)} ({known})")
        if one.topic is not None:
            _rows_of(problem.cluster, problem.chosen, one.topic, where)


def _check_demoted(problem: Problem) -> None:
    demoted = problem.options.demote_broker
    known = set(problem.cluster.broker_ids.tolist())
    for identity in demoted:
        where = f"demote_broker {identity}"
        if identity not in known:
            raise InputError(where, f"broker {identity} is not in the cluster")
        if demoted.count(identity) > 1:
            raise InputError(where, f"broker {identity} is demoted twice")
    left = problem.cluster.broker_ids[problem.slot_brokers]
    if np.isin(left, demoted).all():
        raise InputError("demote_broker", "leaves no broker that may lead: name fewer")


def _check_zones(cluster: Cluster) -> None:
    racks = cluster.rack_names
    if len(racks) < 2:
        found = f"all brokers are in rack {racks[0]}" if racks else "the brokers have no racks"
        raise InputError("prefer_zone", f"needs brokers in two racks or more: {found}")


def _check_replicas(
    cluster: Cluster, usable: Bools, excluded: Bools, chosen: Bools, target: Ints
) -> None:
    count = int(usable.sum())
    wanting = np.flatnonzero(chosen & (target > count))
    if len(wanting):
        row = int(wanting[0])
        raise InputError(
            "replication factor",
            f"{cluster.names[row]} needs {target[row]} live brokers, {count} can be used: lower "
            "the replication factor or add a broker",
        )
    on_excluded = np.append(excluded, False)[cluster.replicas].any(axis=1)
    stuck = np.flatnonzero(~chosen & on_excluded)
    if len(stuck):
        row = int(stuck[0])
        identity = next(b for b in cluster.replicas[row].tolist() if b >= 0 and excluded[b])
        raise InputError(
            "topics",
            f"leaves out {cluster.names[row]}, which has a replica on broker "
            f"{cluster.broker_ids[identity]} that is to be removed",
        )


def _own_rates(cluster: Cluster) -> Floats:
    """[P] bytes per second that the cluster's file has, 0 where unknown. Raises InputError."""
    if cluster.bytes_in is None:
        raise InputError(
            "leaders rate", "needs rates: give `profile`, or bytes_in_per_second of partitions"
        )
    return np.asarray(np.nan_to_num(cluster.bytes_in))


def _unknown_rates(cluster: Cluster, known: Floats | None) -> list[str]:
    """A warning about partitions without a rate, if there are any."""
    missing = np.isnan([] if known is None else known)
    return [f"unknown rates count as 0: {some(cluster, missing)}"] if missing.any() else []


def _rates(cluster: Cluster, measured: Floats | None) -> tuple[Rates, list[str], list[str]]:
    """The rates of the partitions, where they come from, and warnings."""
    loads = []
    known = cluster.bytes_in if measured is None else measured
    if known is None:
        loads.append("bytes in: no rates are known, taken as what fills the sizes in a week")
        known = np.maximum(cluster.size_bytes, 0) / _WEEK
    bytes_in = np.nan_to_num(known)
    read = np.full(len(bytes_in), np.nan) if cluster.bytes_out is None else cluster.bytes_out
    if np.isnan(read).any():
        loads.append("bytes out: where unknown, as if one consumer read everything")
    bytes_out = np.where(np.isnan(read), bytes_in, read)
    return Rates(bytes_in, bytes_out), loads, _unknown_rates(cluster, known)


def _check_sizes(cluster: Cluster, options: PlanOptions) -> None:
    limits = ("relieve", "max_bytes_moved")
    usual = "prefer_zone" if options.prefer_zone else f"balance {options.balance}"
    asked = next((name for name in limits if getattr(options, name)), usual)
    if (cluster.size_bytes < 0).all():
        raise InputError(asked, "the size of no partition is known: give `sizes`")
    of_disks = isinstance(options.relieve, Percent) or "disk" in dict(options.relieved)
    if of_disks and (cluster.disk_bytes < 0).all():
        raise InputError(asked, "the disk_bytes of no broker are known")


def _position(cluster: Cluster, broker: int, path: str) -> tuple[int, int]:
    """The positions of a broker and of its log dir, which ``_check_log_dirs`` has found."""
    place = cluster.broker_position(broker)
    assert place is not None
    return place, [one.path for one in cluster.brokers[place].log_dirs].index(path)


def _check_log_dirs(cluster: Cluster, options: PlanOptions, chosen: Bools) -> None:
    """Raise InputError for a log dir to empty that is not there or cannot be emptied, and where
    there are no log dirs to balance."""
    seen: set[LogDirOfBroker] = set()
    for one in options.remove_log_dir:
        where = f"remove_log_dir {one}"
        if one in seen:
            raise InputError(where, "is given twice")
        seen.add(one)
        _check_removed(cluster, one, where, chosen)
    if not options.balance_disks:
        return
    if cluster.log_dirs is None:
        raise InputError(
            "balance_disks",
            "no broker is known to have several log dirs with known contents: take a snapshot",
        )
    if (cluster.size_bytes < 0).all():
        raise InputError("balance_disks", "the size of no partition is known: give `sizes`")


def _check_removed(cluster: Cluster, one: LogDirOfBroker, where: str, chosen: Bools) -> None:
    place = cluster.broker_position(one.broker)
    if place is None:
        raise InputError(where, f"broker {one.broker} is not in the cluster")
    broker = cluster.brokers[place]
    paths = [log_dir.path for log_dir in broker.log_dirs]
    if not paths:
        raise InputError(where, f"the log dirs of broker {one.broker} are not known")
    if one.path not in paths:
        known = f"broker {one.broker} has {listed(paths, 3, len(paths))}"
        raise InputError(where, f"{known}{did_you_mean(one.path, paths)}")
    if len(paths) == 1:
        raise InputError(
            where, f"is its only log dir: empty the broker with --remove-broker {one.broker}"
        )
    at = paths.index(one.path)
    if not broker.alive or broker.log_dirs[at].offline is not None:
        raise InputError(where, "is offline: nothing can be copied out of it")
    if (offline := broker.offline_log_dir) is not None:
        raise InputError(
            where,
            f"Kafka moves nothing between the log dirs of broker {broker.id} while {offline} is "
            "offline: repair it and restart the broker first",
        )
    if cluster.log_dirs is None or not has_known_log_dirs(cluster, place):
        raise InputError(where, f"the contents of the log dirs of broker {one.broker} are unknown")
    inside = ((cluster.replicas == place) & (cluster.log_dirs == at)).any(axis=1)
    if (stuck := np.flatnonzero(inside & ~chosen)).size:
        raise InputError(
            "topics", f"leaves out {cluster.names[int(stuck[0])]}, which has a replica in {one}"
        )


def has_known_log_dirs(cluster: Cluster, broker: int) -> bool:
    """Whether a broker has several log dirs, and it is known what is in them: all its replicas, or
    all but those that an offline one hides."""
    own = cluster.brokers[broker].log_dirs
    if len(own) < 2 or cluster.log_dirs is None:
        return False
    if any(one.offline is not None for one in own):
        return True
    return not ((cluster.replicas == broker) & (cluster.log_dirs < 0)).any()


def _warnings(problem: Problem) -> Iterable[str]:
    cluster = problem.cluster
    yield from cluster.notes
    if cluster.maybe_dead or not cluster.alive.all():
        from partage.brokers.degraded import of_brokers

        yield from of_brokers(problem)
    yield from _new_racks(problem)
    alive = np.append(cluster.alive, False)
    capacities = {b.capacity for b in cluster.brokers}
    if problem.added.any() and len(capacities) > 1:
        shown = float(cluster.brokers[int(np.flatnonzero(problem.added)[0])].capacity)
        yield f"added brokers count with capacity {shown:g}; where theirs differs, list them"
    disks = {b.disk_bytes for b in cluster.brokers}
    if problem.added.any() and len(disks) > 1:
        disk = cluster.brokers[int(np.flatnonzero(problem.added)[0])].disk_bytes
        size = "an unlimited disk" if disk is None else f"a disk of {disk:,} bytes"
        yield f"added brokers count with {size}; where theirs differs, list them"
    if not cluster.racks_known:
        yield (
            "the input has no place for racks: where the cluster has some, a plan may put two "
            "replicas into one; plan from a file of partage snapshot, or from JSON that lists the "
            "brokers with their racks"
        )
    weights, exact = problem._weighed
    if not exact:
        yield (
            "capacities have no small common measure: their shares are rounded by up to "
            f"{50 / int(weights.min()):.2g} %"
        )
    out = ~_chosen(cluster, problem.options.topics)
    stuck = out & (~alive[cluster.replicas] & (cluster.replicas >= 0)).any(axis=1)
    if stuck.any() and not problem.options.no_moves:
        yield f"the topics left out keep replicas on dead brokers: {some(cluster, stuck)}"
    lost = np.asarray(~alive[cluster.replicas].any(axis=1))
    if lost.any():
        yield (
            f"no live replica to copy from: {some(cluster, lost)}; Kafka cannot move these until "
            "a broker that holds one is back"
        )
    yield from _given_warnings(problem)
    yield from _limit_warnings(problem)
    if cluster.min_insync_replicas:
        from partage.brokers.degraded import of_min_insync

        yield from of_min_insync(problem)
    for broker in cluster.brokers if problem.options.balance_disks else ():
        if broker.alive and (offline := broker.offline_log_dir) is not None:
            yield (
                f"the log dirs of broker {broker.id} are not balanced: Kafka moves nothing between "
                f"them while {offline} is offline"
            )
    unknown = cluster.size_bytes < 0
    if unknown.any() and not unknown.all():
        yield f"unknown sizes count as 0 bytes: {some(cluster, unknown)}"


def some(cluster: Cluster, rows: Bools) -> str:
    """How many partitions, and the first of them."""
    first = cluster.names[int(rows.argmax())]
    many = int(rows.sum())
    return f"1 partition, {first}" if many == 1 else f"{many:,} partitions, among them {first}"


def _new_racks(problem: Problem) -> Iterable[str]:
    """Racks that only added brokers are in: new ones, or misspelled."""
    there: set[str] = set()
    new: dict[str, int] = {}
    for broker, added in zip(problem.cluster.brokers, problem.added.tolist(), strict=True):
        if broker.rack is not None and not added:
            there.add(broker.rack)
        elif broker.rack is not None:
            new.setdefault(broker.rack, broker.id)
    existing = ", ".join(sorted(there))
    for rack, identity in new.items():
        if existing and rack not in there:
            yield f"broker {identity} is in a new rack, {rack} (existing: {existing})"


def _limit_warnings(problem: Problem) -> Iterable[str]:
    """Limits of loads above what the brokers' networks can do."""
    for name, share in problem.options.relieved:
        if share > 1:
            from partage.brokers.load.model import known_capacity

            if known_capacity(problem, name) is not None:
                yield f"the limit of {name}, {share}, is above the network capacity of the brokers"


def _given_warnings(problem: Problem) -> Iterable[str]:
    """Warnings about another tool's replica lists, before they are applied."""
    cluster = problem.cluster
    reassignment = problem.options.reassignment
    if problem.given is None or reassignment is None or problem.options.no_moves:
        return
    if reassignment.in_log_dirs:
        named = plural(reassignment.in_log_dirs, "partition")
        chooser = "each broker" if cluster.log_dirs is None else "the plan"
        yield f"log_dirs are ignored, {chooser} chooses: {named}"
    today, wanted = one_width(cluster.replicas, problem.given)
    old, new = cluster.replication_factor, (wanted >= 0).sum(axis=1)
    changed = (today != wanted).any(axis=1)
    fetched = not_in(wanted, today)
    dead = ~np.append(cluster.alive, True)[wanted]

    left = changed & ~problem.chosen
    if left.any():
        yield f"the topics left out have changes that are not made: {some(cluster, left)}"
    other = problem.chosen & (old != new)
    if other.any():
        row = int(other.argmax())
        change = f"from {old[row]} to {new[row]}"
        yield f"another replication factor for {some(cluster, other)} {change}"
    held_up = problem.chosen & fetched.any(axis=1) & dead.any(axis=1)
    if held_up.any():
        yield (
            f"a replica stays on a dead broker while others move: {some(cluster, held_up)}; Kafka "
            "ends such a move only when that broker is back"
        )
    many = ~changed & (old > int(problem.usable.sum()))
    if many.any():
        yield f"more replicas than live brokers, left as they are: {some(cluster, many)}"
