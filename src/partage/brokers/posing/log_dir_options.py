"""Checks of the log dirs that options empty or balance."""

from __future__ import annotations

import numpy as np

from partage.arrays import Bools
from partage.brokers.option_values import LogDirOfBroker
from partage.brokers.options import PlanOptions
from partage.cluster import Cluster
from partage.errors import InputError
from partage.units import did_you_mean, listed


def check_log_dirs(cluster: Cluster, options: PlanOptions, chosen: Bools) -> None:
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
    if cluster.log_dirs is None or not cluster.has_known_log_dirs(place):
        raise InputError(where, f"the contents of the log dirs of broker {one.broker} are unknown")
    inside = ((cluster.replicas == place) & (cluster.log_dirs == at)).any(axis=1)
    if (stuck := np.flatnonzero(inside & ~chosen)).size:
        raise InputError(
            "topics", f"leaves out {cluster.names[int(stuck[0])]}, which has a replica in {one}"
        )
