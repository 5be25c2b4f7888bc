"""A plan directory whose rollback.json may still be needed is not replaced by another plan.

Nothing records that the waves of a plan were executed with ``kafka-reassign-partitions.sh``. So the
placement itself decides: where a partition has the replicas that the plan gave it, and had others,
the plan was executed, at least in part. One that was not has nothing to undo and can be replaced.
"""

from __future__ import annotations

import os
from pathlib import Path

from msgspec import DecodeError, Struct, json

from partage.brokers.directory import MARKER, REASSIGNMENT, ROLLBACK
from partage.cluster import Cluster
from partage.cluster.broker import ANY
from partage.errors import InputError, shown
from partage.files import read_text

_REMEDY = "name another directory, or delete this one if you do not need that rollback"


class _Entry(Struct):
    topic: str
    partition: int
    replicas: list[int]
    log_dirs: list[str] | None = None


class _Reassignment(Struct):
    partitions: list[_Entry]


class _Plan(Struct):
    cluster_id: str | None = None


def check_rollback(directory: str | os.PathLike[str], before: Cluster) -> None:
    """Raise InputError if the directory has a plan that changes another cluster than ``before``, by
    their ids, or that was executed there."""
    path, where = Path(directory), os.fspath(directory)
    if not where or not all((path / name).is_file() for name in (MARKER, ROLLBACK, REASSIGNMENT)):
        return
    try:
        planned = json.decode(read_text(path / MARKER), type=_Plan).cluster_id
        old, new = (
            json.decode(read_text(path / name), type=_Reassignment).partitions
            for name in (ROLLBACK, REASSIGNMENT)
        )
    except (DecodeError, RecursionError):
        problem = f"has a plan whose {ROLLBACK} cannot be read: name another directory"
        raise InputError(where, problem) from None
    if old and None not in (planned, before.cluster_id) and planned != before.cluster_id:
        problem = f"has the {ROLLBACK} of a plan for another cluster, {planned}"
        raise InputError(where, f"{problem}: {_REMEDY}")
    targets = {(entry.topic, entry.partition): entry for entry in new}
    for entry in old:
        target = targets.get((entry.topic, entry.partition))
        if target is not None and _has(before, target) and not _has(before, entry):
            name = shown(f"{entry.topic}-{entry.partition}")
            problem = f"has the {ROLLBACK} of a plan that was executed ({name} is where it put it)"
            raise InputError(where, f"{problem}: {_REMEDY}")


def _has(cluster: Cluster, entry: _Entry) -> bool:
    """Whether the partition is in the cluster with these replicas, in these log dirs."""
    row = cluster.row_of.get((entry.topic, entry.partition))
    if row is None or cluster.replica_lists(slice(row, row + 1)) != [entry.replicas]:
        return False
    pairs = zip(entry.log_dirs or (), cluster.log_dir_paths(row), strict=False)
    return all(ANY in pair or pair[0] == pair[1] for pair in pairs)
