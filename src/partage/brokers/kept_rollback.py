"""A plan directory whose rollback.json may still be needed is not replaced by another plan.

Nothing records that the waves of a plan were executed with ``kafka-reassign-partitions.sh``. So the
placement itself decides: where a partition has the replicas that the plan gave it, and had others,
the plan was executed, at least in part. One that was not has nothing to undo and can be replaced.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
from msgspec import DecodeError, Struct, json

from partage.brokers.directory import MARKER, REASSIGNMENT, ROLLBACK
from partage.cluster import Cluster
from partage.cluster.broker import ANY
from partage.cluster.reassignment import ReassignmentEntry, ReassignmentFile
from partage.errors import InputError, shown
from partage.files import read_text

_REMEDY = "name another directory, or delete this one if you do not need that rollback"


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
        old, new = _entries(path / ROLLBACK), _entries(path / REASSIGNMENT)
    except (DecodeError, RecursionError):
        problem = f"has a plan whose {ROLLBACK} cannot be read: name another directory"
        raise InputError(where, problem) from None
    if old and None not in (planned, before.cluster_id) and planned != before.cluster_id:
        problem = f"has the {ROLLBACK} of a plan for another cluster, {planned}"
        raise InputError(where, f"{problem}: {_REMEDY}")
    keys = [key for key in old if key in new and key in before.row_of]
    rows = np.array([before.row_of[key] for key in keys], dtype=np.int64)
    for key, row, replicas in zip(keys, rows.tolist(), before.replica_lists(rows), strict=True):
        target, origin = new[key], old[key]
        if replicas != target.replicas or not _in_log_dirs(before, row, target):
            continue
        if replicas != origin.replicas or not _in_log_dirs(before, row, origin):
            name = shown(f"{target.topic}-{target.partition}")
            other = "" if planned and planned == before.cluster_id else ", or for another cluster"
            problem = f"has the {ROLLBACK} of a plan that was executed{other}"
            problem = f"{problem} ({name} is where it put it)"
            raise InputError(where, f"{problem}: {_REMEDY}")


def _entries(path: Path) -> dict[tuple[str, int], ReassignmentEntry]:
    file = json.decode(read_text(path), type=ReassignmentFile)
    return {(entry.topic, entry.partition): entry for entry in file.partitions}


def _in_log_dirs(cluster: Cluster, row: int, entry: ReassignmentEntry) -> bool:
    """Whether the replicas of a partition are in the log dirs of an entry, if it has some."""
    if not entry.log_dirs:
        return True
    pairs = zip(entry.log_dirs, cluster.log_dir_paths(row), strict=False)
    return all(ANY in pair or pair[0] == pair[1] for pair in pairs)
