"""The assignment of Apache Kafka's UniformAssignor, which runs in the group coordinator (KIP-848).

*Equal subscriptions.* With P partitions and M members, each member's share is P // M, and P % M
members get one more: the first that own as many, and the last members where there are too few of
these. Topic by topic, a member keeps what it owns up to its share. What it gives up comes after the
partitions without an owner; they go to the members below their share, one member after the other.

*Different subscriptions.* Each member keeps what it owns. Topics are visited by partitions per
subscriber, descending, then by subscribers, ascending. Free partitions go to the subscribers with
the fewest partitions. Then, in up to 16 passes over the topics, the fullest subscribers give their
last partitions of a topic to the emptiest ones, until these differ by at most one; a member gives
up only what it owned when the topic's turn began.

The answer is often not the fairest where subscriptions differ, and moves more than necessary.

Members come in the order of the coordinator's hash table (``consumers.java_order``). Its topics
come in the order of their ids, which are random: here, they are in the order of their names.

Source: Kafka's org.apache.kafka.coordinator.group.assignor.UniformAssignor and its two assignment
builders, 4.3. It is given what a broker would give it: an owner per partition, one that
subscribes to the topic. So claims are those of ``Group.owner``.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from partage.arrays import Ints
from partage.consumers.java_order import copied_order, java_order
from partage.group import Group
from partage.group.model import NO_MEMBER

_PASSES = 16


def java_uniform(group: Group) -> Ints:
    """[P] the member of each partition, ``NO_MEMBER`` where none subscribes."""
    order = java_order([member.id for member in group.members])
    first = frozenset(group.members[0].topics)
    if all(frozenset(member.topics) == first for member in group.members):
        return _equal(group, order)
    return _Different(group, order).build()


def _equal(group: Group, order: list[int]) -> Ints:
    subscribed = group.class_topics[0].tolist()
    starts = {topic: int(group.offset[topic]) for topic in subscribed}
    total = sum(int(group.offset[topic + 1]) - start for topic, start in starts.items())
    each, more = divmod(total, len(order))
    owner = group.owner.copy()
    wanted = np.isin(group.topic, subscribed)
    free = np.flatnonzero(wanted & (owner == NO_MEMBER)).tolist()
    owned: list[dict[int, list[int]]] = [{} for _ in order]
    for row in np.flatnonzero(owner != NO_MEMBER).tolist():
        owned[int(owner[row])].setdefault(int(group.topic[row]), []).append(row)
    missing: list[tuple[int, int]] = []
    for place, member in enumerate(order):
        extra = more > 0
        share = each + extra
        for topic, rows in owned[member].items():
            if len(rows) > share:
                start = starts[topic]
                rows = [start + number for number in copied_order([row - start for row in rows])]
            free += rows[share:]
            share -= min(share, len(rows))
        if extra and share and len(order) - place > more:
            extra, share = False, share - 1
        more -= extra
        missing.append((member, share))
    at = 0
    for member, count in missing:
        owner[free[at : at + count]] = member
        at += count
    return owner


class _Different:
    """A group with different subscriptions. Members are numbered in the coordinator's order.

    ``owner`` [P] number of each partition's member; ``size`` [M] partitions of each member.
    """

    def __init__(self, group: Group, order: list[int]) -> None:
        self._group, self._order = group, np.array(order, dtype=np.int64)
        subscribes = group.subscribes[group.class_of[self._order]]
        self._subscribers: list[list[int]] = [
            np.flatnonzero(column).tolist() for column in subscribes.T
        ]
        number = np.append(np.argsort(self._order), NO_MEMBER)
        self._owner: list[int] = number[group.owner].tolist()
        self._size: list[int] = np.bincount(
            number[group.owner[group.owner != NO_MEMBER]], minlength=len(order)
        ).tolist()

    def build(self) -> Ints:
        topics = sorted(
            (topic for topic, able in enumerate(self._subscribers) if able), key=self._rank
        )
        for topic in topics:
            takers = _emptiest(self._by_size(topic), self._size)
            for row in self._rows(topic):
                if self._owner[row] == NO_MEMBER:
                    self._give(row, next(takers)[0])
        self._balance([topic for topic in topics if len(self._subscribers[topic]) > 1])
        members = np.append(self._order, NO_MEMBER)
        return np.asarray(members[np.array(self._owner, dtype=np.int64)])

    def _rank(self, topic: int) -> tuple[float, int, int]:
        able = len(self._subscribers[topic])
        return -len(self._rows(topic)) / able, able, topic

    def _rows(self, topic: int) -> range:
        return range(int(self._group.offset[topic]), int(self._group.offset[topic + 1]))

    def _by_size(self, topic: int) -> list[int]:
        return sorted(self._subscribers[topic], key=lambda member: (self._size[member], member))

    def _give(self, row: int, member: int) -> None:
        if self._owner[row] != NO_MEMBER:
            self._size[self._owner[row]] -= 1
        self._owner[row] = member
        self._size[member] += 1

    def _balance(self, topics: list[int]) -> None:
        """Pass over the topics until none has changed since its last turn."""
        last = None
        for _ in range(_PASSES):
            for topic in topics:
                if topic == last:
                    return
                if self._balance_topic(topic) or last is None:
                    last = topic

    def _balance_topic(self, topic: int) -> bool:
        """Move partitions of the topic from its fullest to its emptiest subscribers. Returns
        whether any moved."""
        order = self._by_size(topic)
        if self._size[order[-1]] - self._size[order[0]] <= 1:
            return False
        gives: dict[int, list[int]] = {}
        for row in self._rows(topic):
            gives.setdefault(self._owner[row], []).append(row)
        givers, takers = _Fullest(order, self._size, gives), _emptiest(order, self._size)
        moved = False
        while (giver := givers.next()) is not None:
            row = gives[giver].pop()
            taker, level = next(takers)
            if givers.level - level <= 1:
                break
            self._give(row, taker)
            moved = True
        return moved


def _emptiest(order: list[int], size: list[int]) -> Iterator[tuple[int, int]]:
    """Members in the order in which they get one partition each, so that the emptiest rise together
    to the level of the next; with the level from which each rises."""
    count, level = 0, size[order[0]] - 1
    while True:
        level += 1
        while count < len(order) and size[order[count]] == level:
            count += 1
        for at in range(count):
            yield order[at], level


class _Fullest:
    """Members in the order in which they give up one partition each, so that the fullest sink
    together to the level of the next; a member with nothing left to give is passed over.

    ``level``: that from which the last one sinks.
    """

    def __init__(self, order: list[int], size: list[int], gives: dict[int, list[int]]) -> None:
        self._order, self._size, self._gives = order, size, gives
        self._start = self._end = len(order)  # of the members on the level
        self._at = len(order) - 1
        self.level = size[order[-1]] + 1

    def next(self) -> int | None:
        """The next member, None when no member has anything to give."""
        while True:
            if self._at < self._start:
                self._sink()
            if self._at < 0:
                return None
            member = self._order[self._at]
            if self._gives.get(member):
                self._at -= 1
                return member
            # the last member on the level takes its place, which has been passed already
            self._end -= 1
            self._order[self._at] = self._order[self._end]
            self._order[self._end] = member
            self._at -= 1

    def _sink(self) -> None:
        """Go down a level, and take in the members that are on it."""
        if self._end <= self._start and self._start > 0:
            self.level = self._size[self._order[self._start - 1]]
        else:
            self.level -= 1
        while self._start > 0 and self._size[self._order[self._start - 1]] == self.level:
            self._start -= 1
        self._at = self._end - 1
