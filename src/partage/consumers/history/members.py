"""Which member of the group each event belongs to.

A line has the name that the client gives the consumer, which need not be unique: two processes may
share a client id, and Java's ``Updating assignment`` lines name no member. So events are grouped
into *streams*, one per consumer name and log; rotated files (``app.log.1``, ``app.log``) are one
log. Within a stream, an event without a member id belongs to

- the member whose id was logged last, unless
- it contains the owned partitions, revokes partitions or receives the leader's assignment, and only
  another member of the stream fits that.

A consumer whose member id is in no line (older Java without DEBUG) gets the id from the leaders'
assignments, if exactly one member id was always assigned what this consumer received.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import PurePath

from partage.consumers.history.events import Event, EventKind, Partition

Held = frozenset[Partition]

_ASSIGNED = (EventKind.HELD, EventKind.ADDED)
_GIVEN_UP = (EventKind.REVOKED, EventKind.LOST)
_OF_CONSUMER = (EventKind.JOINING, EventKind.SETTINGS, EventKind.SUBSCRIBED, EventKind.SEEN)
_ROTATED = re.compile(r"(?:\.gz|[-.]\d{4}-?\d\d-?\d\d(?:[-T.]\d+)*|\.\d+)$")
"""One suffix: a pattern for several could be matched in a number of ways that doubles with each."""


@dataclass(frozen=True, eq=False)
class MemberEvent:
    """An event of a member. ``generation``: the member's at that time, -1 if unknown; ``held``: its
    partitions after the event."""

    event: Event
    member: str
    generation: int
    held: Held = frozenset()


@dataclass(frozen=True)
class GroupEvents:
    """The events of one group.

    - ``of``: by member, in order; members in the order of their first event
    - ``plans``: the leaders' assignments; ``subscriptions``: those in the leaders' logs
    - ``notes``: the member ids that had to be guessed, in sentences
    """

    of: dict[str, list[MemberEvent]]
    plans: list[MemberEvent]
    subscriptions: list[Event]
    notes: list[str]


@dataclass
class _StreamMember:
    """A member of a stream while its events are read."""

    name: str
    named: bool
    held: Held = frozenset()
    generation: int = -1
    joined: bool = False  # and has not received its assignment yet
    ended: bool = False
    events: list[MemberEvent] = field(default_factory=list)


def members_of(events: Sequence[Event]) -> GroupEvents:
    """The members of one group: logs in any order, the events of a log in order."""
    streams = _streams(events)
    plans = sorted(
        (plan for stream in streams for plan in _plans_of(stream)), key=lambda plan: plan.at
    )
    members = [one for stream in streams for one in _Stream(stream, plans).members if one.events]
    notes = _name_by_plans(members, plans)
    found: dict[str, list[MemberEvent]] = {}
    for member in sorted(members, key=lambda one: (one.events[0].event.at, one.name)):
        of_member = found.setdefault(member.name, [])
        several = bool(of_member)
        of_member += [replace(one, member=member.name) for one in member.events]
        if several:  # it wrote to several logs
            of_member.sort(key=lambda one: one.event.at)
    return GroupEvents(
        found,
        [MemberEvent(plan, "", plan.generation) for plan in plans],
        [one for one in events if one.is_from_leader],
        notes,
    )


def unrotated(source: str) -> str:
    """The name of a file's log: without the suffixes of rotation."""
    while suffix := _ROTATED.search(source):
        source = source[: suffix.start()]
    return source


def _streams(events: Iterable[Event]) -> list[list[Event]]:
    found: dict[tuple[str, str, str], list[Event]] = {}
    for one in events:
        key = (one.client, one.consumer, unrotated(one.source))
        found.setdefault(key, []).append(one)
    return [found[key] for key in sorted(found)]


def _plans_of(stream: Iterable[Event]) -> Iterator[Event]:
    """The plans of a stream. One without a generation gets that of the last JOINED before it."""
    generation = -1
    for one in stream:
        if one.kind is EventKind.JOINED:
            generation = one.generation
        elif one.kind is EventKind.PLAN:
            yield replace(one, generation=generation) if one.generation < 0 else one


class _Stream:
    """Assigns the events of one stream to its ``members``."""

    def __init__(self, events: Sequence[Event], plans: Sequence[Event]) -> None:
        self.plans = plans
        self.members: list[_StreamMember] = []
        self._current: _StreamMember | None = None
        self._waiting: list[Event] = []  # of a member that is not known yet
        self._subscribed: Event | None = None
        self._place = f"{events[0].consumer or events[0].client}@{PurePath(events[0].source).name}"
        for event in events:
            self._read(event)
        for event in self._waiting:
            if self._current is not None:
                self._record(self._current, event)

    def _read(self, event: Event) -> None:
        if event.kind is EventKind.PLAN or event.is_from_leader:
            return
        if event.kind is EventKind.SEEN and sum(not one.ended for one in self.members) > 1:
            return  # it could be any of them
        if event.kind is EventKind.SUBSCRIBED:
            self._subscribed = event
        if event.kind is EventKind.JOINED:
            self._joined(event)
        elif event.kind in _OF_CONSUMER:
            self._of_consumer(event)
        else:
            member = self._member(event.member) if event.member else self._best_fit(event)
            if event.kind is EventKind.LEFT:
                member.held, member.ended = frozenset(), True
                self._record(member, event)
            else:
                self._changed(member, event)

    def _of_consumer(self, event: Event) -> None:
        """An event of the consumer, whichever member it is or will be."""
        if self._current is None or self._current.ended:
            self._waiting.append(event)
        else:
            self._record(self._current, event)

    def _joined(self, event: Event) -> None:
        member = self._member(event.member) if event.member else self._current or self._member("")
        others = [one for one in self.members if one is not member]
        if self._subscribed and others and not member.events and all(one.ended for one in others):
            self._record(member, self._subscribed)  # the same consumer with another member id
        member.generation, member.joined, member.ended = event.generation, True, False
        self._current = member
        for before in self._waiting:
            self._record(member, before)
        self._waiting.clear()
        self._record(member, event)

    def _member(self, name: str) -> _StreamMember:
        """The member of this id. The only member without an id takes the first id that appears."""
        for member in self.members:
            if member.named and member.name == name:
                return member
        nameless = [member for member in self.members if not member.named]
        if name and len(nameless) == len(self.members) == 1:
            nameless[0].name, nameless[0].named = name, True
            return nameless[0]
        place = self._place + (f"#{len(nameless) + 1}" if nameless else "")
        member = _StreamMember(name or place, bool(name))
        self.members.append(member)
        return member

    def _best_fit(self, event: Event) -> _StreamMember:
        """The member that an event without a member id fits best."""
        here = [member for member in self.members if not member.ended]
        if not here:
            return self._current or self._member("")
        best = max(here, key=lambda member: self._score(member, event))
        if not best.named and event.owned is not None and frozenset(event.owned) != best.held:
            return self._member("")  # another member without an id
        return best

    def _score(self, member: _StreamMember, event: Event) -> int:
        score = int(member is self._current)
        if event.owned is not None:
            score += 4 if frozenset(event.owned) == member.held else -4
        if event.kind in _GIVEN_UP and event.partitions:
            given_up = frozenset(event.partitions)  # usually all of its partitions
            score += 6 if member.held == given_up else 4 if member.held > given_up else -4
        if event.kind in _ASSIGNED:
            score += self._plan_score(member, event)
        return score

    def _plan_score(self, member: _StreamMember, event: Event) -> int:
        plan = self._plan_before(event.at)
        if plan is None or member.name not in plan.plan:
            return 0
        return 2 if frozenset(plan.plan[member.name]) == _held_after(member.held, event) else -1

    def _plan_before(self, at: int) -> Event | None:
        """The last plan up to a time."""
        number = bisect_right(self.plans, at, key=lambda plan: plan.at)
        return self.plans[number - 1] if number else None

    def _changed(self, member: _StreamMember, event: Event) -> None:
        """The member's partitions change."""
        if event.kind in _ASSIGNED:
            self._assigned(member, event)
        elif event.kind in _GIVEN_UP:
            listed = member.held if event.partitions is None else event.partitions
            if not member.events and event.partitions:
                member.held = frozenset(event.partitions)
            event = replace(event, partitions=tuple(sorted(listed)))
        member.held = _held_after(member.held, event)
        # after LOST it joins again, possibly with another member id
        member.ended = member.ended or event.kind is EventKind.LOST
        self._current = self._current or member
        self._record(member, event)

    def _assigned(self, member: _StreamMember, event: Event) -> None:
        plan = self._plan_before(event.at)
        if not member.joined and plan is not None and plan.generation > member.generation:
            member.generation = plan.generation
        member.joined = False
        if event.owned is not None and not member.events:
            member.held = frozenset(event.owned)  # the log begins during its membership

    def _record(self, member: _StreamMember, event: Event) -> None:
        member.events.append(MemberEvent(event, member.name, member.generation, member.held))


def _held_after(held: Held, event: Event) -> Held:
    named = frozenset(event.partitions or ())
    if event.kind is EventKind.HELD:
        return named
    return held | named if event.kind is EventKind.ADDED else held - named


def _name_by_plans(members: Sequence[_StreamMember], plans: Sequence[Event]) -> list[str]:
    """Give members without an id the id that fits only them. Returns a note for each."""
    nameless = [member for member in members if not member.named]
    free = _unused_ids(members, plans)
    fits = [[name for name in free if _was_assigned(name, one, plans)] for one in nameless]
    uses = Counter(chain.from_iterable(fits))
    notes = []
    for at, member in enumerate(nameless):
        if len(fits[at]) == 1 and uses[fits[at][0]] == 1:
            notes.append(
                f"{member.name}: no line contains its member id (Java logs it at DEBUG, in "
                f'"Executing onJoinComplete"); taken to be {fits[at][0]}, the only member that was '
                "assigned what it received"
            )
            member.name = fits[at][0]
        else:
            notes.append(
                f"{member.name}: no line contains its member id, and it cannot be derived from "
                "the leader's assignments"
            )
    return notes


def _unused_ids(members: Sequence[_StreamMember], plans: Sequence[Event]) -> list[str]:
    """The member ids in the plans that no member has."""
    taken = {member.name for member in members if member.named}
    listed = dict.fromkeys(name for plan in plans for name in plan.plan)
    return [name for name in listed if name not in taken]


def _was_assigned(name: str, member: _StreamMember, plans: Sequence[Event]) -> bool:
    """Whether each assignment that the member received is what the last plan before it has for this
    id. False for a member that received none."""
    received = [(one.event.at, one.held) for one in member.events if one.event.kind in _ASSIGNED]
    for at, held in received:
        plan = next((plan for plan in reversed(plans) if plan.at <= at), None)
        if plan is None or name not in plan.plan or frozenset(plan.plan[name]) != held:
            return False
    return bool(received)
