"""Options, checked against a cluster: the planning problem.

All options are checked once, here, so that strategies can rely on the result.
"""

from __future__ import annotations

import numpy as np

from partage.arrays import Bools, Floats, Ints
from partage.brokers.figures import one_width
from partage.brokers.options import PlanOptions
from partage.brokers.posing.broker_changes import broker_changes
from partage.brokers.posing.known_rates import loads_known, own_rates, unknown_rates, with_rates
from partage.brokers.posing.problem_warnings import warnings_of
from partage.brokers.posing.topic_choice import chosen_by, rows_of
from partage.brokers.problem import Problem, outside_of
from partage.cluster import Cluster
from partage.cluster.broker import MAX_BYTES
from partage.errors import InputError, shown
from partage.units import Percent


def resolve(
    cluster: Cluster, options: PlanOptions, bytes_per_second: Floats | None = None
) -> Problem:
    """Check every option against the cluster. Raises InputError."""
    brokers = broker_changes(cluster, options)
    cluster = cluster.with_brokers([*cluster.brokers, *brokers.added.values()])
    excluded = np.isin(cluster.broker_ids, list(brokers.excluded))
    added = np.isin(cluster.broker_ids, list(brokers.added))
    _check_broker_set(cluster, options)
    usable = cluster.alive & ~excluded & ~outside_of(cluster, options)
    if not usable.any():
        raise InputError("brokers", "none is left: all are removed or dead")
    given = None if options.reassignment is None else options.reassignment.on(cluster)
    chosen = chosen_by(cluster, options.topics)
    if given is not None and not options.no_moves:
        chosen &= ~_beyond(cluster, given, int(usable.sum()))
    target = _target(cluster, options, chosen, given)
    by_own_rates = options.leaders == "rate" and bytes_per_second is None
    if by_own_rates:
        bytes_per_second = own_rates(cluster)
    if not options.no_moves:
        _check_replicas(cluster, usable, excluded, chosen, target)
    elif options.counts_loads:
        _check_alive(cluster, usable, chosen, options)
    if options.by_size or options.counts_loads or options.max_bytes_moved is not None:
        _check_sizes(cluster, options)
    if options.remove_log_dir or options.balance_disks:
        from partage.brokers.posing.log_dir_options import check_log_dirs

        check_log_dirs(cluster, options, chosen)
    problem = Problem(
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
    if options.counts_loads or loads_known(problem):
        problem = with_rates(problem)
    if by_own_rates:
        problem.loads.insert(0, "rates: bytes_in_per_second of the cluster file")
        problem.warnings.extend(unknown_rates(cluster, cluster.bytes_in))
    held = np.maximum(target, cluster.replication_factor).astype(object)
    if int((held * np.maximum(cluster.size_bytes, 0)).sum()) > MAX_BYTES:
        raise InputError("sizes", "the replicas asked for add up to more than an exbibyte")
    problem.warnings.extend(warnings_of(problem))
    _check_leader_racks(problem)
    _check_demoted(problem)
    if options.prefer_zone:
        _check_zones(cluster)
    return problem


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


def _check_broker_set(cluster: Cluster, options: PlanOptions) -> None:
    if unknown := sorted(set(options.broker_set or ()) - set(cluster.broker_ids.tolist())):
        where = f"broker_set {options.broker_set}"
        raise InputError(where, f"broker {unknown[0]} is not in the cluster")


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
            rows = rows_of(cluster, chosen, word.topic, where)
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
            rows_of(problem.cluster, problem.chosen, one.topic, where)


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


def _check_sizes(cluster: Cluster, options: PlanOptions) -> None:
    limits = ("relieve", "max_bytes_moved")
    usual = "prefer_zone" if options.prefer_zone else f"balance {options.balance}"
    asked = next((name for name in limits if getattr(options, name)), usual)
    if (cluster.size_bytes < 0).all():
        raise InputError(asked, "the size of no partition is known: give `sizes`")
    of_disks = isinstance(options.relieve, Percent) or "disk" in dict(options.relieved)
    if of_disks and (cluster.disk_bytes < 0).all():
        raise InputError(asked, "the disk_bytes of no broker are known")
