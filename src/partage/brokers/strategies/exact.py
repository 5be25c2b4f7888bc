"""Exact: the fairest placement with the fewest moves, then the fairest leaders and followers.

Stages 1 to 3 (fair loads, fewest moves, topic spread) choose the replica sets in the kernel's
``flow.sharing``; disks that would overflow are then relieved by ``brokers.disks``. Stages 4 to 7
order each list in ``brokers.leaders``. With ``no_moves`` only the latter.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from partage.brokers.disks import relieve_disks
from partage.brokers.leaders import lead
from partage.brokers.task import Task


def exact(task: Task) -> npt.NDArray[np.int64]:
    """Replica lists [P, R] that are optimal in the order of the design's objective."""
    if task.options.no_moves:
        return lead(task, task.cluster.replicas).replicas
    return lead(task, relieve_disks(task, task.replicas_of(task.share.slots))).replicas
