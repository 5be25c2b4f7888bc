"""Roundrobin: all partitions in turn to the members in turn (Kafka's RoundRobinAssignor).

Partitions are visited topic by topic in the order of names, then by number. One pointer moves
around the members and is never reset; it skips a member that does not subscribe to the topic.
"""

from __future__ import annotations

import numpy as np

from partage.arrays import Ints
from partage.consumers.member_order import sorted_members
from partage.group import Group
from partage.group.model import NO_MEMBER


def roundrobin(group: Group) -> Ints:
    """[P] the member of each partition."""
    owner = np.full(group.partitions, NO_MEMBER, dtype=np.int64)
    members = np.array(sorted_members(group), dtype=np.int64)
    pointer = 0
    for topic, count in enumerate(group.topics.values()):
        subscribed = np.flatnonzero(group.subscribes[group.class_of[members], topic])
        if len(subscribed) == 0 or count == 0:
            continue
        first = int(np.searchsorted(subscribed, pointer)) % len(subscribed)
        places = subscribed[(first + np.arange(count)) % len(subscribed)]
        start = int(group.offset[topic])
        owner[start : start + count] = members[places]
        pointer = (int(places[-1]) + 1) % len(members)
    return owner
