"""Share: the assignment of a share group, in which members read a partition together (KIP-932).

With P partitions and M members, every partition is shared by ceil(M / P) members, and these places
are spread over the members as evenly as possible. Where subscriptions differ, each topic is shared
among its subscribers by itself. Members keep what they have, except what is beyond their share, and
then what is shared by too many. Partitions shared by too few then go in turn to the members below
their share. When all of these have the partition already, it is left as it is, and so are those
after it: members may stay below their share.

Members and partitions come in the order of the coordinator's hash tables
(``consumers.java_order``), as if topic ids ascended with the names. All claims count, as several
members may have the same partition.

Source: KIP-932 and Kafka's org.apache.kafka.coordinator.group.assignor.SimpleAssignor and its two
assignment builders, 4.3, whose results it reproduces.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from partage.consumers.java_order import JavaTable, copied_order, java_order
from partage.consumers.shared_assignment import SharedAssignment
from partage.group import Group


def share(group: Group) -> SharedAssignment:
    """Which members share which partition."""
    order = java_order([member.id for member in group.members])
    claims = _claims(group, order)
    first = frozenset(group.members[0].topics)
    if all(frozenset(member.topics) == first for member in group.members):
        topics = group.class_topics[0].tolist()
        found = _Sharing(group, topics, range(len(order)), claims, together=True).build()
    else:
        found = set()
        for topic in range(len(group.topics)):
            subscribes = group.subscribes[group.class_of[order], topic]
            able = np.flatnonzero(subscribes).tolist()
            found |= _Sharing(group, [topic], able, claims, together=False).build()
    pairs = sorted((order[place], row) for place, row in found)
    columns = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    return SharedAssignment.of_pairs(group, columns[:, 0], columns[:, 1])


def _claims(group: Group, order: list[int]) -> list[list[int]]:
    """[M] partitions that each member has, topic by topic in the order of Java's sets."""
    held: dict[tuple[int, int], list[int]] = {}
    for member, row in zip(*(column.tolist() for column in group.claims), strict=True):
        held.setdefault((member, int(group.topic[row])), []).append(row)
    found: list[list[int]] = [[] for _ in order]
    place = {member: at for at, member in enumerate(order)}
    for (member, topic), rows in held.items():
        start = int(group.offset[topic])
        found[place[member]] += [start + n for n in copied_order([row - start for row in rows])]
    return found


class _Sharing:
    """Some topics and the members (places in the coordinator's order) that share them.

    ``together``: whether all topics are shared together; Kafka's tables then have other keys.
    """

    def __init__(
        self,
        group: Group,
        topics: list[int],
        members: Sequence[int],
        claims: list[list[int]],
        *,
        together: bool,
    ) -> None:
        self._group, self._together = group, together
        self._rows = [
            row
            for topic in topics
            for row in range(int(group.offset[topic]), int(group.offset[topic + 1]))
        ]
        self._sharers = math.ceil(len(members) / len(self._rows)) if self._rows else 0
        self._wanted = self._shares(members)
        self._members, rows = members, set(self._rows)
        self._listed = JavaTable[int](int((len(self._rows) + 1) / 0.75 + 1), computed=True)
        self._held: dict[int, JavaTable[int]] = {at: JavaTable[int]() for at in members}
        self._holders: dict[int, JavaTable[int]] = {row: JavaTable[int]() for row in rows}
        for at in members:
            for row in claims[at]:
                if row in rows:
                    self._listed.add(row, self._hash(row))
                    self._holders[row].add(at, at)
                    self._held[at].add(row, self._hash(row))

    def _shares(self, members: Sequence[int]) -> dict[int, int]:
        """Partitions of each member, at most one more than of another."""
        each = self._sharers * len(self._rows) / len(members) if members else 0.0
        return {
            place: math.ceil(each * (at + 1)) - math.ceil(each * at)
            for at, place in enumerate(members)
        }

    def build(self) -> set[tuple[int, int]]:
        """(member, partition) pairs."""
        for at in self._members:
            held = list(self._held[at])
            for row in held[: max(0, len(held) - self._wanted[at])]:
                self._drop(at, row)
        for row in self._listed:
            holders = list(self._holders[row])
            for at in holders[: max(0, len(holders) - self._sharers)]:
                self._drop(at, row)
        for row in self._rows:
            self._listed.add(row, self._hash(row))
        kept = {(at, row) for at in self._members for row in self._held[at]}
        return kept | self._assign()

    def _assign(self) -> set[tuple[int, int]]:
        """The pairs that are new."""
        waiting = [at for at in self._members if len(self._held[at]) < self._wanted[at]]
        found: set[tuple[int, int]] = set()
        turn, assigned = 0, False  # since the first turn
        for row in self._listed:
            holders = set(self._holders[row])  # those of now: none of the new ones
            needs = self._sharers - len(holders)
            while needs > 0:
                if turn == len(waiting):
                    if not assigned or not waiting:
                        break
                    turn, assigned = 0, False
                at = waiting[turn]
                if at in holders:
                    turn += 1
                    continue
                self._held[at].add(row, self._hash(row))
                found.add((at, row))
                needs, assigned = needs - 1, True
                if len(self._held[at]) >= self._wanted[at]:
                    del waiting[turn]
                else:
                    turn += 1
        return found

    def _drop(self, at: int, row: int) -> None:
        self._holders[row].remove(at)
        self._held[at].remove(row)

    def _hash(self, row: int) -> int:
        """The hash of the partition, or of its number within a topic."""
        topic = int(self._group.topic[row])
        number = row - int(self._group.offset[topic])
        return 31 * topic + number if self._together else number
