"""Roundrobin: partitions in order go round the members in order (Kafka's RoundRobinAssignor).

Topics come by name and partitions by number; one circle of members turns on from partition to
partition and is never rewound; a member that does not subscribe to the partition's topic is passed
over.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from partage.consumers.member_order import sorted_members
from partage.group import Group
from partage.group.model import NOBODY

Ints = npt.NDArray[np.int64]


def roundrobin(group: Group, mode: str) -> Ints:
    """[P] the member of each partition."""
    owner = np.full(group.partitions, NOBODY, dtype=np.int64)
    circle = np.array(sorted_members(group), dtype=np.int64)
    turn = 0
    for topic, count in enumerate(group.topics.values()):
        subscribed = np.flatnonzero(group.subscribes[group.class_of[circle], topic])
        if len(subscribed) == 0 or count == 0:
            continue
        # those who subscribe, from whose turn it is
        first = int(np.searchsorted(subscribed, turn)) % len(subscribed)
        places = subscribed[(first + np.arange(count)) % len(subscribed)]
        start = int(group.offset[topic])
        owner[start : start + count] = circle[places]
        turn = (int(places[-1]) + 1) % len(circle)
    return owner
