"""The log dirs of brokers, and which of them each replica is in, read from names.

A partition names the log dirs of its replicas in the order of its replicas, as Kafka's reassignment
JSON does, with ``any`` where one is not known. A broker with a single log dir has all its replicas
there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from partage.arrays import Ints
from partage.cluster.broker import ANY, Broker
from partage.errors import InputError, shown

MAX_LOG_DIRS = 1000
"""Of a broker."""


def check_log_dirs(broker: Broker, where: str) -> None:
    """Raise InputError for a log dir that is listed twice, and for too many of them."""
    paths = [one.path for one in broker.log_dirs]
    if len(paths) > MAX_LOG_DIRS:
        problem = f"{len(paths)} log dirs, expected up to {MAX_LOG_DIRS}"
        raise InputError(where, f"broker {broker.id}: {problem}")
    twice = next((path for path in paths if paths.count(path) > 1), None)
    if twice is not None:
        raise InputError(where, f"broker {broker.id}: log dir {shown(twice)} is listed twice")


def log_dir_positions(
    brokers: Sequence[Broker],
    replicas: Ints,
    named: Sequence[Sequence[str] | None],
    name_of: Callable[[int], str],
    where: str,
    order: Ints,
) -> Ints | None:
    """[P, R] the position of each replica's log dir among its broker's, -1 where unknown, for
    ``replicas`` in the ``order`` of their rows; None where no broker has several log dirs.

    ``named``: paths by partition, None where none are known; or empty. Raises InputError.
    """
    if all(len(broker.log_dirs) < 2 for broker in brokers):
        return None
    single = np.array([0 if len(b.log_dirs) == 1 else -1 for b in brokers] + [-1], dtype=np.int64)
    found = single[replicas]
    places = [{one.path: i for i, one in enumerate(broker.log_dirs)} for broker in brokers]
    for row, paths in enumerate(named):
        if paths is None:
            continue
        held = [broker for broker in replicas[row].tolist() if broker >= 0]
        if len(paths) != len(held):
            problem = f"{len(paths)} log dirs for {len(held)} replicas"
            raise InputError(where, f"{name_of(row)}: {problem}")
        for column, (broker, path) in enumerate(zip(held, paths, strict=True)):
            if path == ANY or not places[broker]:
                continue
            if path not in places[broker]:
                problem = f"broker {brokers[broker].id} has no log dir {shown(path)}"
                raise InputError(where, f"{name_of(row)}: {problem}")
            found[row, column] = places[broker][path]
    return np.asarray(found[order])
