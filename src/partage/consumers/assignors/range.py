"""Range: contiguous ranges of each topic to its subscribers (Kafka's RangeAssignor).

Topics are assigned one by one. With P partitions and M subscribers, sorted, each subscriber gets
P // M consecutive partitions and the first P % M get one more.

Racks (KIP-881) come first where they can make a difference: some subscriber's rack has replicas of
the topic, and not every partition has replicas in all racks of the topic. Then each subscriber in
turn takes, up to its share, the first partitions with a replica in its rack; a subscriber without a
rack takes any. Topics of equal size with the same subscribers are matched together, so that one
member gets the same partition number of all of them: that number goes to the first member below its
share in whose rack all these topics have a replica of it. What is left is assigned in ranges, up to
each member's share.

The group coordinator's assignor of that name (KIP-848) does the same without racks.

Source: KIP-881 and Kafka's org.apache.kafka.clients.consumer.RangeAssignor and
org.apache.kafka.coordinator.group.assignor.RangeAssignor, whose results it reproduces.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

import numpy as np

from partage.arrays import Bools, Ints
from partage.consumers.member_order import sorted_members
from partage.group import Group
from partage.group.model import NO_MEMBER


def range_(group: Group) -> Ints:
    """[P] the member of each partition, as clients assign it."""
    return _ranges(group, use_racks=bool(group.racks))


def broker_range(group: Group) -> Ints:
    """[P] the member of each partition, as the group coordinator assigns it."""
    return _ranges(group, use_racks=False)


def _ranges(group: Group, *, use_racks: bool) -> Ints:
    owner = np.full(group.partitions, NO_MEMBER, dtype=np.int64)
    order = np.array(sorted_members(group), dtype=np.int64)
    shares: list[_TopicShares] = []
    for topic, count in enumerate(group.topics.values()):
        members = order[group.subscribes[group.class_of[order], topic]]
        if len(members) and count:
            shares.append(_TopicShares.of(topic, members, count))
    if use_racks:
        _match_racks(group, shares, owner)
    for share in shares:
        _assign_ranges(group, share, owner)
    return owner


@dataclass(eq=False)
class _TopicShares:
    """The shares of a topic's subscribers, and what each has taken.

    ``members`` [M] sorted. Each one's share is ``each`` partitions; ``more`` of them may still take
    one beyond that. ``taken`` [M] partitions so far.
    """

    topic: int
    members: Ints
    count: int
    each: int
    more: int
    taken: list[int] = field(default_factory=list)

    @classmethod
    def of(cls, topic: int, members: Ints, count: int) -> _TopicShares:
        each, more = divmod(count, len(members))
        return cls(topic, members, count, each, more, [0] * len(members))

    def remaining(self, at: int) -> int:
        """Partitions that the member at this position may still take."""
        return max(0, self.each + (self.more > 0) - self.taken[at])

    def take(self, at: int, count: int) -> None:
        self.taken[at] += count
        if count and self.taken[at] > self.each:
            self.more -= 1


def _assign_ranges(group: Group, share: _TopicShares, owner: Ints) -> None:
    """Assign the topic's partitions without an owner in ranges."""
    start = int(group.offset[share.topic])
    part = owner[start : start + share.count]
    free = np.flatnonzero(part == NO_MEMBER)
    sizes = np.zeros(len(share.members), dtype=np.int64)
    left = len(free)
    for at in range(len(share.members)):
        if not left:
            break
        size = min(share.remaining(at), left)
        share.take(at, size)
        sizes[at], left = size, left - size
    part[free] = np.repeat(share.members, sizes)


def _match_racks(group: Group, shares: list[_TopicShares], owner: Ints) -> None:
    """Assign partitions to members whose rack has a replica of them."""
    matters = {share.topic: _racks_matter(group, share) for share in shares}
    if not any(matters.values()):
        return
    together: dict[tuple[bytes, int], list[_TopicShares]] = {}
    for share in shares:
        together.setdefault((share.members.tobytes(), share.count), []).append(share)
    for alike in together.values():
        if len(alike) > 1:
            _match_together(group, alike, owner)
        elif matters[alike[0].topic]:
            _match_alone(group, alike[0], owner)


def _racks_matter(group: Group, share: _TopicShares) -> bool:
    replicas = _replica_racks(group, share)
    racks = group.member_rack[share.members]
    everywhere: Bools = np.asarray(replicas.any(axis=0))
    return bool(everywhere[racks[racks >= 0]].any() and (replicas != everywhere).any())


def _match_alone(group: Group, share: _TopicShares, owner: Ints) -> None:
    replicas = _replica_racks(group, share)
    start = int(group.offset[share.topic])
    part = owner[start : start + share.count]
    for at, member in enumerate(share.members.tolist()):
        rack = group.member_rack[member]
        near = replicas[:, rack] if rack >= 0 else np.ones(share.count, dtype=np.bool_)
        found = np.flatnonzero((part == NO_MEMBER) & near)[: share.remaining(at)]
        share.take(at, len(found))
        part[found] = member


def _match_together(group: Group, alike: list[_TopicShares], owner: Ints) -> None:
    """Each partition number to the first member below its share in whose rack all the topics have a
    replica of it."""
    first = alike[0]
    near = np.logical_and.reduce([_replica_racks(group, share) for share in alike])
    starts = np.array([int(group.offset[share.topic]) for share in alike])
    # positions of the members by rack; the last queue is for members without a rack
    waiting: list[deque[int]] = [deque() for _ in range(near.shape[1] + 1)]
    for at, member in enumerate(first.members.tolist()):
        waiting[int(group.member_rack[member])].append(at)
    for number in range(first.count):
        heads: list[tuple[int, int]] = []
        for rack in (*np.flatnonzero(near[number]).tolist(), near.shape[1]):
            while waiting[rack] and not first.remaining(waiting[rack][0]):
                waiting[rack].popleft()
            if waiting[rack]:
                heads.append((waiting[rack][0], rack))
        if heads:
            at, _ = min(heads)
            for share in alike:
                share.take(at, 1)
            owner[starts + number] = first.members[at]


def _replica_racks(group: Group, share: _TopicShares) -> Bools:
    """[count, racks] whether a partition of the topic has a replica in a rack."""
    start = int(group.offset[share.topic])
    return group.in_rack[start : start + share.count]
