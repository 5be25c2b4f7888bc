"""Range: each topic in contiguous ranges over its subscribers (Kafka's RangeAssignor).

Topic by topic, among the members that subscribe to it in their order: with P partitions and M
members everyone gets P // M in a row, and the first P % M one more.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from partage.consumers.order import by_instance
from partage.group import Group
from partage.group.model import NOBODY

Ints = npt.NDArray[np.int64]


def range_(group: Group, mode: str) -> Ints:
    """[P] the member of each partition."""
    owner = np.full(group.partitions, NOBODY, dtype=np.int64)
    members = np.array(by_instance(group), dtype=np.int64)
    for topic, count in enumerate(group.topics.values()):
        subscribed = members[group.subscribes[group.class_of[members], topic]]
        if len(subscribed) == 0 or count == 0:
            continue
        each, more = divmod(count, len(subscribed))
        sizes = each + (np.arange(len(subscribed)) < more)
        start = int(group.offset[topic])
        owner[start : start + count] = np.repeat(subscribed, sizes)
    return owner
