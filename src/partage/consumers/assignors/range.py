"""Range: each topic in contiguous ranges over its subscribers (Kafka's RangeAssignor).

Topic by topic, among the members that subscribe to it in their order: with P partitions and M
members everyone gets P // M in a row, and the first P % M one more.

Racks (KIP-881) come first where they matter: some subscriber's rack holds replicas of the topic,
and not every partition lies in all of the topic's racks. Then each member in turn takes, within its
share, the first partitions that lie in its rack; a member without a rack takes any. Topics of equal
size with the same subscribers are matched together, number by number, so that one number of all of
them stays with one member: it goes to the first member, still short of its share, in whose rack all
of them lie. What is left is dealt out in ranges, as far as everyone's share goes.

Source: KIP-881 and Kafka's org.apache.kafka.clients.consumer.RangeAssignor, whose results it has.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from partage.consumers.member_order import sorted_members
from partage.group import Group
from partage.group.model import NOBODY

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]


def range_(group: Group, mode: str) -> Ints:
    """[P] the member of each partition."""
    owner = np.full(group.partitions, NOBODY, dtype=np.int64)
    order = np.array(sorted_members(group), dtype=np.int64)
    shares: list[_Share] = []
    for topic, count in enumerate(group.topics.values()):
        members = order[group.subscribes[group.class_of[order], topic]]
        if len(members) and count:
            shares.append(_Share.of(topic, members, count))
    if group.racks:
        _match_racks(group, shares, owner)
    for share in shares:
        _deal(group, share, owner)
    return owner


@dataclass(eq=False)
class _Share:
    """How far the subscribers of a topic are from their shares of it.

    ``members`` in order; ``each`` for everyone, one more for ``more`` of them; ``taken`` so far.
    """

    topic: int
    members: Ints
    count: int
    each: int
    more: int
    taken: list[int] = field(default_factory=list)

    @classmethod
    def of(cls, topic: int, members: Ints, count: int) -> _Share:
        each, more = divmod(count, len(members))
        return cls(topic, members, count, each, more, [0] * len(members))

    def room(self, at: int) -> int:
        """Partitions that the member in this place may still take."""
        return max(0, self.each + (self.more > 0) - self.taken[at])

    def take(self, at: int, count: int) -> None:
        self.taken[at] += count
        if count and self.taken[at] > self.each:
            self.more -= 1


def _deal(group: Group, share: _Share, owner: Ints) -> None:
    """What nobody has yet, in ranges."""
    start = int(group.offset[share.topic])
    part = owner[start : start + share.count]
    free = np.flatnonzero(part == NOBODY)
    sizes = np.zeros(len(share.members), dtype=np.int64)
    left = len(free)
    for at in range(len(share.members)):
        if not left:
            break
        size = min(share.room(at), left)
        share.take(at, size)
        sizes[at], left = size, left - size
    part[free] = np.repeat(share.members, sizes)


def _match_racks(group: Group, shares: list[_Share], owner: Ints) -> None:
    """First what lies in the racks of those who get it."""
    matters = {share.topic: _racks_matter(group, share) for share in shares}
    if not any(matters.values()):
        return
    together: dict[tuple[bytes, int], list[_Share]] = {}
    for share in shares:
        together.setdefault((share.members.tobytes(), share.count), []).append(share)
    for alike in together.values():
        if len(alike) > 1:
            _match_together(group, alike, owner)
        elif matters[alike[0].topic]:
            _match_alone(group, alike[0], owner)


def _racks_matter(group: Group, share: _Share) -> bool:
    replicas = _replica_racks(group, share)
    racks = group.member_rack[share.members]
    everywhere: Bools = np.asarray(replicas.any(axis=0))
    return bool(everywhere[racks[racks >= 0]].any() and (replicas != everywhere).any())


def _match_alone(group: Group, share: _Share, owner: Ints) -> None:
    replicas = _replica_racks(group, share)
    start = int(group.offset[share.topic])
    part = owner[start : start + share.count]
    for at, member in enumerate(share.members.tolist()):
        rack = group.member_rack[member]
        near = replicas[:, rack] if rack >= 0 else np.ones(share.count, dtype=np.bool_)
        found = np.flatnonzero((part == NOBODY) & near)[: share.room(at)]
        share.take(at, len(found))
        part[found] = member


def _match_together(group: Group, alike: list[_Share], owner: Ints) -> None:
    """Number by number to the first member with room that has all topics' replicas in its rack."""
    first = alike[0]
    near = np.logical_and.reduce([_replica_racks(group, share) for share in alike])
    starts = np.array([int(group.offset[share.topic]) for share in alike])
    # the members by rack, in order: the last queue holds those without a rack
    waiting: list[deque[int]] = [deque() for _ in range(near.shape[1] + 1)]
    for at, member in enumerate(first.members.tolist()):
        waiting[int(group.member_rack[member])].append(at)
    for number in range(first.count):
        heads: list[tuple[int, int]] = []
        for rack in (*np.flatnonzero(near[number]).tolist(), near.shape[1]):
            while waiting[rack] and not first.room(waiting[rack][0]):
                waiting[rack].popleft()
            if waiting[rack]:
                heads.append((waiting[rack][0], rack))
        if heads:
            at, _ = min(heads)
            for share in alike:
                share.take(at, 1)
            owner[starts + number] = first.members[at]


def _replica_racks(group: Group, share: _Share) -> Bools:
    """[count, racks] where replicas of the topic lie."""
    start = int(group.offset[share.topic])
    return group.in_rack[start : start + share.count]
