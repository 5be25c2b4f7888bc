"""The assignment of Apache Kafka's AbstractStickyAssignor: its loads and its moves.

*Equal subscriptions.* With P partitions and M members, each member keeps up to P // M of its
partitions, in the order of (number, topic). Members that own more keep one more, until P % M
members have it. The free partitions, in the order of (topic, number), go in turn to the members
below P // M, in the order of their ids, and then one each to the members that may still have one
more.

*Until 3.7.0* (before KAFKA-16277) these were kept in the order in which the member lists them. With
racks (since 3.5.0, before KAFKA-15170) members that reach P // M by rack could have one more,
however many already had it: another is then left below P // M, and the class fails. A partition
that its member gave up because of its rack was not withheld for a round by cooperative-sticky, and
one that it gave up for its number was, even where it went back to the same member.

*Different subscriptions.* Each member keeps what it owns. Free partitions go to the subscriber with
the fewest partitions, topics with few subscribers first. Then the class passes over all partitions
again and again: a partition whose owner has at least two more than some subscriber moves to the
subscriber with the fewest (or back to an earlier claimant, if that one has two fewer). If another
partition of the topic has just moved the opposite way between the two members, that one moves back
instead. If the result is not more even than before, all of this is undone.

*Racks* (KIP-881) count where some member's rack has replicas and not every partition has replicas
in every rack. Members then give up partitions without a replica in their rack. Free partitions go
first to members in a rack of one of their replicas; partitions with few such members come first.

Part of Kafka's order comes from its hash tables (which members keep one more, which of several
partitions moves back). It is reproduced as far as it is defined, with members inserted in the order
of their ids (``consumers.java_order``).

Source: Kafka's org.apache.kafka.clients.consumer.internals.AbstractStickyAssignor. Claims are those
of ``Group.owner``; so claims that make that class fail (beyond a topic's end, or of topics that the
member does not subscribe to) are ignored.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping

import numpy as np

from partage.arrays import Bools, Ints
from partage.consumers.java_order import JavaTable, java_order, string_hash
from partage.errors import CannotError
from partage.group import Group
from partage.group.model import NO_MEMBER


def java_sticky(group: Group) -> Ints:
    """[P] the member of each partition, ``NO_MEMBER`` where none subscribes."""
    racks = _Racks(group)
    if _equal_subscriptions(group):
        return _Constrained(group, racks).build()
    return _General(group, racks).build()


def java_sticky_3_7_0(group: Group) -> tuple[Ints, Bools | None]:
    """The same of Kafka 2.5.1 to 3.7.0 (racks: from 3.5.0), and [P] what its cooperative-sticky
    withholds, None where that is what its members must revoke first. Raises CannotError where the
    class fails."""
    racks = _Racks(group)
    if not _equal_subscriptions(group):
        return _General(group, racks).build(), None
    builder = _EarlierConstrained(group, racks)
    owner = builder.build()
    member, partition = group.claims
    contested = (group.owner[partition] == NO_MEMBER) & (owner[partition] != member)
    withheld = builder.cut
    withheld[partition[contested]] = True
    return owner, withheld


def _equal_subscriptions(group: Group) -> bool:
    first = frozenset(group.members[0].topics)
    return all(frozenset(member.topics) == first for member in group.members)


class _Racks:
    """Which members are in a rack of which partition.

    ``used``: whether racks count at all; ``rack`` [M]: of each member, -1 if unknown.
    """

    def __init__(self, group: Group) -> None:
        subscribed = group.is_subscribed[group.topic]
        member_rack = group.member_rack
        known = member_rack[member_rack >= 0]
        replicas = group.in_rack[subscribed]
        everywhere: Bools = np.asarray(replicas.any(axis=0))
        self.used = bool(len(known) and everywhere[known].any() and (replicas != everywhere).any())
        self.rack: list[int] = member_rack.tolist()
        self.replicas = group.in_rack
        in_rack = np.bincount(known, minlength=group.in_rack.shape[1])
        self.members_near: Ints = self.replicas @ in_rack
        """[P] number of members in the racks of a partition."""

    def mismatch(self, member: int, partition: int) -> bool:
        rack = self.rack[member]
        return self.used and rack >= 0 and not self.replicas[partition, rack]

    def near(self, member: int, partition: int) -> bool:
        rack = self.rack[member]
        return rack >= 0 and bool(self.replicas[partition, rack])


# -- equal subscriptions


class _Constrained:
    def __init__(self, group: Group, racks: _Racks) -> None:
        self.group, self.racks = group, racks
        members = len(group.members)
        self.listed = group.is_subscribed[group.topic]
        self.least, self.expected = divmod(int(self.listed.sum()), members)
        self.most = self.least + (self.expected > 0)
        self.above = 0
        """Number of members with one more than ``least``."""
        self.load = [0] * members
        self.owner = np.full(group.partitions, NO_MEMBER, dtype=np.int64)
        self.cut = np.zeros(group.partitions, dtype=np.bool_)
        """[P] what a member gave up because it owned too many."""
        self.below: list[int] = []
        """Members below ``least``."""
        self.at_least: deque[int] = deque()
        """Members with ``least`` partitions that may have one more."""

    def build(self) -> Ints:
        self._keep()
        free = np.flatnonzero(self.listed & (self.owner == NO_MEMBER))
        # from here on by id, which is the order of the positions
        self.below.sort()
        self.at_least = deque(sorted(self.at_least))
        if any(rack >= 0 for rack in self.racks.rack):
            free = free[np.argsort(self.racks.members_near[free], kind="stable")]
        rest: Iterable[int] = free.tolist()
        if self.racks.used:
            rest = self._assign_by_rack(rest)
        self._assign_rest(rest)
        return self.owner

    def _keep(self) -> None:
        group = self.group
        owned: list[list[int]] = [[] for _ in group.members]
        held = np.flatnonzero(group.owner != NO_MEMBER)
        number = held - group.offset[group.topic[held]]
        for partition in held[np.lexsort((held, number))].tolist():
            member = int(group.owner[partition])
            if not self.racks.mismatch(member, partition):
                owned[member].append(partition)
        for member in java_order([member.id for member in group.members]):
            has = self._in_order(member, owned[member])
            if len(has) < self.least:
                keeps = len(has)
                self.below.append(member)
            elif len(has) >= self.most and self.above < self.expected:
                keeps = self.most
                self.above += 1
                if self.above == self.expected:
                    self.at_least.clear()
            else:
                keeps = self.least
                if self.above < self.expected:
                    self.at_least.append(member)
            self.owner[has[:keeps]] = member
            self.cut[has[keeps:]] = True
            self.load[member] = keeps

    def _in_order(self, _: int, owned: list[int]) -> list[int]:
        """What a member owns, what it keeps first."""
        return owned

    def _assign_by_rack(self, free: Iterable[int]) -> list[int]:
        """Assign partitions to members in their racks. Returns the partitions that are left."""
        left: list[int] = []
        turn = 0
        for partition in free:
            found = self._next_in_rack(partition, self.below, turn)
            if found is not None:
                member = self.below[found]
                count = self.load[member] + 1
                if count >= self.least:
                    del self.below[found]
                    if count < self.most:
                        self._reached_least(member)
                else:
                    found += 1
                turn = found % len(self.below) if self.below else 0
            else:
                found = self._next_in_rack(partition, self.at_least, 0)
                if found is None:
                    left.append(partition)
                    continue
                member = self.at_least[found]
                if self.load[member] + 1 == self.most:
                    del self.at_least[found]
                    self._reached_most()
            self._give(partition, member)
        return left

    def _reached_least(self, member: int) -> None:
        """A member has ``least`` by rack."""
        if self.above < self.expected:
            self.at_least.append(member)

    def _reached_most(self) -> None:
        """A member has one more by rack."""
        self.above += 1
        if self.above == self.expected:
            self.at_least.clear()

    def _next_in_rack(
        self, partition: int, members: list[int] | deque[int], turn: int
    ) -> int | None:
        """Position of the first member from ``turn`` on, circularly, in a rack of it."""
        for step in range(len(members)):
            place = (turn + step) % len(members)
            if self.racks.near(members[place], partition):
                return place
        return None

    def _assign_rest(self, free: Iterable[int]) -> None:
        turn = 0
        for partition in free:
            if not self.below:
                self._give(partition, self.at_least.popleft())
                continue
            turn = turn if turn < len(self.below) else 0
            member = self.below[turn]
            self._give(partition, member)
            if self.load[member] == self.least:
                del self.below[turn]
                self.at_least.append(member)
            else:
                turn += 1

    def _give(self, partition: int, member: int) -> None:
        self.owner[partition] = member
        self.load[member] += 1


class _EarlierConstrained(_Constrained):
    """The class as it was from Kafka 2.5.1 to 3.7.0."""

    def _in_order(self, member: int, owned: list[int]) -> list[int]:
        """In the order in which the member lists them."""
        listed = self.group.members[member].owned
        if isinstance(listed, Mapping):
            listed = [(topic, int(n)) for topic, numbers in listed.items() for n in numbers]
        place = {partition: at for at, partition in reversed(list(enumerate(listed)))}
        return sorted(owned, key=lambda partition: place[self.group.named(partition)])

    def _reached_least(self, member: int) -> None:
        self.at_least.append(member)

    def _reached_most(self) -> None:
        """Not counted."""

    def _assign_rest(self, free: Iterable[int]) -> None:
        super()._assign_rest(free)
        if self.below:
            raise CannotError(
                "Kafka 3.7.0's class fails for this group (IllegalStateException): it gives too "
                "many members one partition more by rack; use --mode java or optimal"
            )


# -- different subscriptions


class _General:
    def __init__(self, group: Group, racks: _Racks) -> None:
        self.group, self.racks = group, racks
        open_to = group.subscribes[group.class_of]  # [M, T]
        self.subscribers = [np.flatnonzero(column) for column in open_to.T]
        """Members by topic, ascending."""
        self.owner = group.owner.copy()
        self.topic: list[int] = group.topic.tolist()
        wide = np.array([len(members) for members in self.subscribers], dtype=np.int64)
        # topics with few subscribers first
        by_width = np.lexsort((np.arange(len(wide)), wide))
        self.all = [
            partition
            for topic in by_width[wide[by_width] > 0].tolist()
            for partition in range(int(group.offset[topic]), int(group.offset[topic + 1]))
        ]
        self.shared = wide >= 2
        self.moved = _Movements(group)

    def build(self) -> Ints:
        revoked = _claims_elsewhere(self.group)
        if self.racks.used:
            for partition in np.flatnonzero(self.owner != NO_MEMBER).tolist():
                if self.racks.mismatch(int(self.owner[partition]), partition):
                    self.owner[partition] = NO_MEMBER
                    revoked = True
        members = len(self.group.members)
        held = self.owner[self.owner != NO_MEMBER]
        self.load = np.bincount(held, minlength=members).astype(np.int64)
        fresh = not self.load.any()
        free = [partition for partition in self.all if self.owner[partition] == NO_MEMBER]
        if self.racks.used:
            for partition in free:
                self._give(partition, near=True)
        for partition in free:
            if self.owner[partition] == NO_MEMBER:
                self._give(partition, near=False)
        self._balance(free, revoked, fresh)
        return self.owner

    def _give(self, partition: int, near: bool) -> None:
        """Assign a partition to the subscriber with the fewest; with ``near``, only among those in
        a rack of the partition or without a rack."""
        members = self.subscribers[self.topic[partition]]
        if near:
            rack = np.asarray(self.racks.rack)[members]
            members = members[(rack < 0) | self.racks.replicas[partition, np.maximum(rack, 0)]]
            if len(members) == 0:
                return
        member = int(members[self.load[members].argmin()])
        self.owner[partition] = member
        self.load[member] += 1

    def _balance(self, free: list[int], revoked: bool, fresh: bool) -> None:
        partitions = [p for p in self.all if self.shared[self.topic[p]]]
        takes_part = self._taking_part()
        owner, load = self.owner.copy(), self.load.copy()
        earlier = self._earlier()
        if not revoked:
            self._move_until_stable([p for p in free if self.shared[self.topic[p]]], earlier)
        changed = self._move_until_stable(partitions, earlier)
        if (
            changed
            and not fresh
            and _unevenness(self.load[takes_part]) >= _unevenness(load[takes_part])
        ):
            self.owner, self.load = owner, load

    def _taking_part(self) -> Bools:
        """[M] members that could get more or other partitions."""
        sizes = np.diff(self.group.offset)
        most = (self.group.subscribes @ sizes)[self.group.class_of]
        part: Bools = self.load < most
        shared = self.shared[self.group.topic] & (self.owner != NO_MEMBER)
        part[self.owner[shared]] = True
        return part

    def _earlier(self) -> dict[int, int]:
        """By partition, the member that claims it in the latest generation before the last."""
        member, partition = self.group.claims
        last = max(int(self.group.generation.max()), -1)
        generation = self.group.generation[member]
        older = np.flatnonzero(generation < last)
        place = np.empty(len(self.group.members), dtype=np.int64)
        place[java_order([m.id for m in self.group.members])] = np.arange(len(place))
        # the last entry wins: the latest generation, of equals the first member
        order = older[np.lexsort((-place[member[older]], generation[older]))]
        return dict(zip(partition[order].tolist(), member[order].tolist(), strict=True))

    def _move_until_stable(self, partitions: list[int], earlier: Mapping[int, int]) -> bool:
        """Move partitions to members with fewer, pass after pass. Returns whether any moved."""
        ever = False
        while True:
            moved = False
            least: dict[int, int] = {}
            for partition in partitions:
                topic = self.topic[partition]
                if topic not in least:
                    members = self.subscribers[topic]
                    least[topic] = int(members[self.load[members].argmin()])
                has = self.load[self.owner[partition]]
                to = least[topic]
                if has <= self.load[to] + 1:
                    continue
                before = earlier.get(partition)
                if before is not None and has > self.load[before] + 1:
                    to = before
                self._move(partition, to)
                least.clear()
                moved = ever = True
            if not moved:
                return ever

    def _move(self, partition: int, to: int) -> None:
        moves = self.moved.instead(partition, int(self.owner[partition]), to)
        giver = int(self.owner[moves])
        self.moved.record(moves, giver, to)
        self.owner[moves] = to
        self.load[giver] -= 1
        self.load[to] += 1


def _claims_elsewhere(group: Group) -> bool:
    """Whether a member claims partitions of a topic that only other members subscribe to."""
    wanted = group.is_subscribed
    for at, member in enumerate(group.members):
        names = member.owned if isinstance(member.owned, Mapping) else (t for t, _ in member.owned)
        for topic in map(group.position, set(names)):
            if topic is None or not wanted[topic]:
                continue
            if not group.subscribes[group.class_of[at], topic]:
                return True
    return False


def _unevenness(load: Ints) -> int:
    """Sum of the absolute differences of all pairs."""
    ordered = np.sort(load)
    return int((ordered * (2 * np.arange(len(ordered)) - len(ordered) + 1)).sum())


class _Movements:
    """The moves so far, so that two partitions of a topic do not swap their owners."""

    def __init__(self, group: Group) -> None:
        self._group = group
        self._pair: dict[int, tuple[int, int]] = {}
        self._between: dict[tuple[int, int, int], JavaTable[int]] = {}
        self._hash = [string_hash(name) for name in group.names]

    def instead(self, partition: int, giver: int, to: int) -> int:
        """The partition to move: this one, or one of its topic that moves back instead."""
        if partition in self._pair:
            giver = self._pair[partition][0]
        back = self._between.get((self._topic(partition), to, giver))
        return back.first() if back else partition

    def record(self, partition: int, giver: int, to: int) -> None:
        topic = self._topic(partition)
        if partition in self._pair:
            first, last = self._pair.pop(partition)
            self._between[topic, first, last].remove(partition)
            if first == to:
                return
            giver = first
        self._pair[partition] = (giver, to)
        number = partition - int(self._group.offset[topic])
        together = self._between.setdefault((topic, giver, to), JavaTable[int]())
        # Kafka removes an emptied set and creates a new one
        if not together:
            together = self._between[topic, giver, to] = JavaTable[int]()
        together.add(partition, 31 * (31 + number) + self._hash[topic])

    def _topic(self, partition: int) -> int:
        return int(self._group.topic[partition])
