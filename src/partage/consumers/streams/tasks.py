"""Tasks of Kafka Streams as columns.

A *task* is one partition number of a subtopology: that partition of each of its topics. Threads
(members) belong to processes. A process has the state of the tasks that its threads ran or held a
standby of.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from partage.arrays import Bools, Floats, Ints
from partage.flow.network import Squares
from partage.group.model import NO_MEMBER

_MAX_SCALE = 5040
"""Largest common multiple of the thread counts that processes are scaled by; beyond it, scales are
rounded."""
MARGIN = 2
"""How far from the guess the squares of a flow are exact arcs."""


@dataclass(frozen=True, eq=False)
class Tasks:
    """T tasks of K subtopologies, M threads in N processes, G tags.

    - ``kind`` [T]; ``open_to`` [K, M]: which threads may run a subtopology
    - ``owner`` [T]: the thread that runs it, or ``NO_MEMBER``
    - ``holds`` [T, N]: whether a process has its state
    - ``process`` [M] of each thread; ``tag`` [G, N]: values of the tags of each process
    """

    kind: Ints
    open_to: Bools
    owner: Ints
    holds: Bools
    process: Ints
    tag: Ints

    @property
    def threads(self) -> Ints:
        """[N] number of threads of each process."""
        return np.bincount(self.process).astype(np.int64)

    @property
    def scale(self) -> Ints:
        """[N] the weight of one task on a process: the more threads, the smaller."""
        common = math.lcm(*np.unique(self.threads).tolist())
        return np.asarray(np.rint(min(common, _MAX_SCALE) / self.threads), dtype=np.int64)

    def process_of(self, thread: Ints) -> Ints:
        """[T] the process of the thread of each task, ``NO_MEMBER`` where it has none."""
        return np.where(thread == NO_MEMBER, NO_MEMBER, self.process[thread])

    @property
    def open_process(self) -> Bools:
        """[K, N] processes with a thread that may run the subtopology."""
        table = np.zeros((len(self.open_to), len(self.threads)), dtype=np.bool_)
        kind, thread = np.nonzero(self.open_to)
        table[kind, self.process[thread]] = True
        return table


def squares_near(guess: Floats, tail: Ints, head: Ints, weight: Ints, capacity: Ints) -> Squares:
    """Squares of flows that are probably close to ``guess``."""
    return Squares(
        tail=tail,
        head=head,
        capacity=capacity,
        weight=weight,
        base=np.zeros(len(tail), dtype=np.int64),
        low=np.floor(guess).astype(np.int64) - MARGIN,
        high=np.ceil(guess).astype(np.int64) + MARGIN,
    )
