"""The generations of a group, from its members' events.

A generation is known from the leader's assignment or, without that, from its members' events. It
begins when the first of its members sends a JoinGroup request.

Generation numbers rise by one until Kafka has deleted the group and counts from the beginning. A
number that occurred before, with an assignment that has none of the present members, belongs to a
new *life* of the group.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from statistics import median_low

from partage.consumers.history.events import Event, EventKind, Partition
from partage.consumers.history.members import GroupEvents, MemberEvent
from partage.consumers.history.model import RecordedRound
from partage.consumers.protocol import COOPERATIVE, EAGER

_NUMBERED = (EventKind.JOINED, EventKind.PLAN, EventKind.HELD, EventKind.ADDED)

Key = tuple[int, int]
"""(life, generation): in the order of time."""


@dataclass
class Generation:
    """What the events contain about a generation.

    - ``plan``: the leader's assignment
    - ``joined``, ``assigned``: by member, when it joined, and what it was assigned when
    - ``begins``: when the first of its members sent a JoinGroup request
    - ``round``: the resulting round, filled in while the members are read
    """

    key: Key
    begins: int
    plan: Event | None = None
    joined: dict[str, int] = field(default_factory=dict)
    assigned: dict[str, tuple[int, frozenset[Partition]]] = field(default_factory=dict)
    cooperative: bool | None = None
    assignor: str = ""
    round: RecordedRound = field(default_factory=lambda: RecordedRound(0, None))

    @property
    def at(self) -> int:
        """When it was assigned, or its first event."""
        if self.plan is not None:
            return self.plan.at
        times = [at for at, _ in self.assigned.values()] or list(self.joined.values())
        return min(times, default=self.begins)

    @property
    def members(self) -> set[str]:
        """Its known members."""
        planned = set[str]() if self.plan is None else set(self.plan.plan)
        return planned.union(self.joined, self.assigned)

    def has(self, member: str) -> bool:
        """Whether a member is in it. Without the leader's assignment: as far as known."""
        if self.plan is not None:
            return member in self.plan.plan
        return member in self.joined or member in self.assigned

    def add(self, one: MemberEvent) -> None:
        """Add an event."""
        event = one.event
        self.assignor = event.assignor or self.assignor
        if event.kind is EventKind.PLAN:
            self.plan = event
        elif event.kind is EventKind.JOINED:
            self.joined.setdefault(one.member, event.at)
        else:
            self.assigned[one.member] = (event.at, one.held)
            if event.cooperative is not None:
                self.cooperative = bool(self.cooperative) or event.cooperative
            elif event.kind is EventKind.ADDED and self.cooperative is None:
                self.cooperative = False

    def assigned_round(self) -> RecordedRound:
        """The round, with its assignment."""
        if self.plan is not None and self.plan.final:
            self.round.assignment = dict(self.plan.plan)
        else:
            self.round.assignment = {m: tuple(sorted(has)) for m, (_, has) in self.assigned.items()}
        return self.round


class Generations:
    """All generations of a group, in order."""

    def __init__(self, events: GroupEvents) -> None:
        self._of: dict[MemberEvent, Generation] = {}
        self._by_key: dict[Key, Generation] = {}
        self._number([*(one for own in events.of.values() for one in own), *events.plans])
        for own in events.of.values():
            self._find_begins(own)
        self.listed = [self._by_key[key] for key in sorted(self._by_key)]
        self._first: dict[str, Generation] = {}
        for one in self.listed:
            for member in one.members:
                self._first.setdefault(member, one)
        for one in self.listed:
            one.round.at, one.round.generation = one.at, one.key[1]
        self._find_assignors(events.subscriptions)
        self._find_protocols()

    def __iter__(self) -> Iterator[Generation]:
        return iter(self.listed)

    def of(self, one: MemberEvent) -> Generation | None:
        """The generation that an event belongs to."""
        return self._of.get(one)

    def first_without(self, member: str, after: Generation | None) -> Generation | None:
        """The first generation without a member, after one that it was in."""
        later = (one for one in self.listed if after is None or one.key > after.key)
        return next((one for one in later if not one.has(member)), None)

    def first_missing(self, member: str, since: int) -> Generation | None:
        """The first generation after a time that has members, but not this one."""
        later = (one for one in self.listed if one.round.at > since and one.members)
        return next((one for one in later if not one.has(member)), None)

    def noticed(self, missed: Generation) -> int:
        """When the coordinator knew that a member would be missing in a generation: when the others
        began to join. A new member joins for its own reason, and may wait until the session of the
        missing one expires: with one, when the generation was assigned."""
        new = any(self._first[member] is missed for member in missed.members)
        return missed.round.at if new else missed.begins

    def next_after(self, own: Sequence[MemberEvent], at: int) -> Generation | None:
        """The generation that a member's event at a position leads to."""
        for number in range(at + 1, len(own)):
            one = own[number]
            if one.event.kind is EventKind.LEFT:
                break
            if one.event.kind is EventKind.JOINED and one in self._of:
                return self._of[one]
        return next((one for one in self.listed if one.round.at >= own[at].event.at), None)

    def latency(self) -> int:
        """Half of the time of a leader's SyncGroup, from its assignment to the first member that
        receives it: the median of all generations. 0 where no log has both."""
        took = [
            max(min(at for at, _ in one.assigned.values()) - one.plan.at, 0)
            for one in self.listed
            if one.plan is not None and one.assigned
        ]
        return median_low(took) // 2 if took else 0

    def _number(self, events: Sequence[MemberEvent]) -> None:
        """Find the generation of each event."""
        life, top = 0, -1
        known: set[str] = set()
        numbered = [e for e in events if e.generation >= 0 and e.event.kind in _NUMBERED]
        for one in sorted(numbered, key=lambda one: one.event.at):
            names = set(one.event.plan) or {one.member}
            if one.generation <= top and self._is_other(life, one, names) and not names & known:
                life, top, known = life + 1, -1, set()
            key = (life, one.generation)
            top = max(top, one.generation)
            known |= names
            found = self._by_key.setdefault(key, Generation(key, one.event.at))
            found.add(one)
            self._of[one] = found

    def _is_other(self, life: int, one: MemberEvent, names: set[str]) -> bool:
        """Whether an event cannot belong to the known generation of its number."""
        before = self._by_key.get((life, one.generation))
        return before is None or (before.plan is not None and not names & before.members)

    def _find_begins(self, own: Sequence[MemberEvent]) -> None:
        asked: int | None = None
        for one in own:
            if one.event.kind is EventKind.JOINING:
                asked = one.event.at if asked is None else asked
            elif one.event.kind is EventKind.JOINED and (found := self._of.get(one)):
                found.begins = min(found.begins, one.event.at if asked is None else asked)
                asked = None

    def _find_assignors(self, subscriptions: Sequence[Event]) -> None:
        """The leader logs the assignor with the subscriptions, just before it assigns."""
        ordered = sorted(self.listed, key=lambda one: one.round.at)
        for event in subscriptions:
            number = bisect_left(ordered, event.at, key=lambda one: one.round.at)
            if event.assignor and number < len(ordered):
                ordered[number].assignor = ordered[number].assignor or event.assignor

    def _find_protocols(self) -> None:
        """A generation that does not show its protocol has that of the one before, or else that of
        the next."""
        for one in self.listed:
            if one.cooperative is None and one.assignor == "cooperative-sticky":
                one.cooperative = True
        shown = [one.cooperative for one in self.listed if one.cooperative is not None]
        known = shown[0] if shown else None
        for one in self.listed:
            known = known if one.cooperative is None else one.cooperative
            if known is not None:
                one.round.protocol = COOPERATIVE if known else EAGER
            one.round.assignor = one.assignor or None
