"""Lag: topic by topic, the partitions with the highest lag first.

The partitions of a topic are sorted by falling weight, ties by number. Each goes to the subscriber
with the fewest partitions of this topic so far, then the least weight of it, then the lowest id.
Owned partitions play no part.

Source: LagBasedPartitionAssignor of the project kafka-lag-based-assignor, which reads the lags
itself; here they are the group's ``weights``.
"""

from __future__ import annotations

import heapq

import numpy as np

from partage.arrays import Ints
from partage.group import Group
from partage.group.model import NO_MEMBER


def lag(group: Group) -> Ints:
    """[P] the member of each partition."""
    owner = np.full(group.partitions, NO_MEMBER, dtype=np.int64)
    for topic in range(len(group.topics)):
        members = np.flatnonzero(group.subscribes[group.class_of, topic]).tolist()
        start, end = int(group.offset[topic]), int(group.offset[topic + 1])
        weight = group.weight[start:end]
        heap = [(0, 0, member) for member in members]
        for row in np.argsort(-weight, kind="stable").tolist() if heap else ():
            count, load, member = heap[0]
            owner[start + row] = member
            heapq.heapreplace(heap, (count + 1, load + int(weight[row]), member))
    return owner
