"""Given: the lists of another tool's reassignment JSON, as they are.

Nothing is decided here. What a tool proposes becomes a plan like any other: with figures beside the
bounds of the exact answer, waves and a way back. Partitions that it does not name stay where they
are. Its lists are kept to the letter, order included, whatever rules they break: ``partage check``
names those. They are no answer only where they contradict what was asked for besides.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from partage.brokers.figures import one_width
from partage.brokers.task import Task
from partage.errors import CannotError

Ints = npt.NDArray[np.int64]


def given(task: Task) -> Ints:
    """The replica lists [P, any] of ``--reassignment``.

    Raises CannotError where they leave a replica on a broker that is to be emptied, have another
    replication factor than asked for, or move replicas with ``no_moves``.
    """
    if task.given is None:
        raise CannotError("decides nothing itself: --reassignment does")
    today, wanted = one_width(task.cluster.replicas, task.given)
    replicas = np.where(task.chosen[:, None], wanted, today)
    left = np.append(task.excluded, False)[replicas] & task.chosen[:, None]
    if left.any():
        row, column = (int(i) for i in np.argwhere(left)[0])
        broker = task.cluster.broker_ids[replicas[row, column]]
        raise CannotError(
            f"{task.cluster.names[row]} has a replica on broker {broker}, which is to be emptied"
        )
    if task.options.no_moves:
        moved = (np.sort(replicas, axis=1) != np.sort(today, axis=1)).any(axis=1)
        if moved.any():
            row = int(moved.argmax())
            raise CannotError(f"--no-moves forbids the moves of {task.cluster.names[row]}")
        return replicas
    factor = (replicas >= 0).sum(axis=1)
    other = task.chosen & (factor != task.target)
    if other.any():
        row = int(other.argmax())
        name, asked = task.cluster.names[row], task.target[row]
        raise CannotError(f"{name} has {factor[row]} replicas, {asked} are asked for")
    return replicas
