"""Whose each line is: events of one group → events of its members.

A line names its consumer as that client does, which need not tell its members apart: two processes
may share a client id, and Java's ``Updating assignment`` names no member at all. So a *stream* is
what one consumer's name says in one file, and within it a nameless line belongs to

- the member that the last line with a member id named, unless
- it tells what was owned, or gives up, or gets what the leader decided, and only another member of
  the stream fits that.

Rotated files (``app.log.1``, ``app.log``) are one.

A consumer of which no line tells the member id (older Java without DEBUG) gets it from the
leader's decisions, where just one member id always was assigned what it says it got.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import PurePath

from partage.consumers.history.events import Event, EventKind, Partition

Held = frozenset[Partition]

_ASSIGNED = (EventKind.HELD, EventKind.ADDED)
_GIVEN_UP = (EventKind.REVOKED, EventKind.LOST)
_OF_CONSUMER = (EventKind.JOINING, EventKind.SETTINGS)
_ROTATED = re.compile(r"(\.gz|\.\d+|[-.]\d{4}-?\d\d-?\d\d(?:[-T.]\d+)*)+$")


@dataclass(frozen=True, eq=False)
class MemberEvent:
    """An event of a member; ``generation`` is that of the member then, -1 for unknown. ``held`` is
    what it had after the event."""

    event: Event
    member: str
    generation: int
    held: Held = frozenset()


@dataclass(frozen=True)
class GroupLines:
    """The events of one group.

    - ``of``: by member, each one's in order; members in the order of their first line
    - ``plans``: the leaders' decisions; ``roster``: every member's subscription, as a leader sees
      it
    - ``notes``: which member ids had to be guessed, in sentences
    """

    of: dict[str, list[MemberEvent]]
    plans: list[MemberEvent]
    roster: list[Event]
    notes: list[str]


@dataclass
class _Seat:
    """A member of a stream."""

    name: str
    named: bool
    held: Held = frozenset()
    generation: int = -1
    fresh: bool = False  # it joined, and its assignment has not come yet
    out: bool = False
    told: list[MemberEvent] = field(default_factory=list)


def members_of(events: Sequence[Event]) -> GroupLines:
    """Of one group: files in any order, the lines of a file in theirs."""
    streams = _streams(events)
    plans = sorted(
        (plan for stream in streams for plan in _plans_of(stream)), key=lambda plan: plan.at
    )
    seats = [seat for stream in streams for seat in _Stream(stream, plans).seats if seat.told]
    notes = _named_by_plan(seats, plans)
    found: dict[str, list[MemberEvent]] = {}
    for seat in sorted(seats, key=lambda seat: (seat.told[0].event.at, seat.name)):
        lines = found.setdefault(seat.name, [])
        several = bool(lines)
        lines += [replace(one, member=seat.name) for one in seat.told]
        if several:  # it wrote into more than one log
            lines.sort(key=lambda one: one.event.at)
    return GroupLines(
        found,
        [MemberEvent(plan, "", plan.generation) for plan in plans],
        [one for one in events if one.of_roster],
        notes,
    )


def family(source: str) -> str:
    """A file's name without what rotation adds to it."""
    return _ROTATED.sub("", source)


def _streams(events: Iterable[Event]) -> list[list[Event]]:
    found: dict[tuple[str, str, str], dict[str, list[Event]]] = {}
    for one in events:
        key = (one.client, one.consumer, family(one.source))
        found.setdefault(key, {}).setdefault(one.source, []).append(one)
    streams = []
    for key in sorted(found):
        files = sorted(found[key].values(), key=lambda of_file: of_file[0].at)
        streams.append([one for of_file in files for one in of_file])
    return streams


def _plans_of(stream: Iterable[Event]) -> Iterator[Event]:
    """Those that do not say their generation have that of the last line that does."""
    generation = -1
    for one in stream:
        if one.kind is EventKind.JOINED:
            generation = one.generation
        elif one.kind is EventKind.PLAN:
            yield replace(one, generation=generation) if one.generation < 0 else one


class _Stream:
    """Reads one stream, line by line."""

    def __init__(self, events: Sequence[Event], plans: Sequence[Event]) -> None:
        self.plans = plans
        self.seats: list[_Seat] = []
        self._current: _Seat | None = None
        self._waiting: list[Event] = []  # of a member that is not known yet
        self._subscribed: Event | None = None
        self._place = f"{events[0].consumer or events[0].client}@{PurePath(events[0].source).name}"
        for event in events:
            self._read(event)
        for event in self._waiting:
            if self._current is not None:
                self._tell(self._current, event)

    def _read(self, event: Event) -> None:
        if event.kind is EventKind.PLAN or event.of_roster:
            return
        if event.kind is EventKind.SEEN and sum(not seat.out for seat in self.seats) > 1:
            return  # a sign of life of any of them
        if event.kind is EventKind.SUBSCRIBED:
            self._subscribed = event
        if event.kind is EventKind.JOINED:
            self._joined(event)
        elif event.kind in _OF_CONSUMER or event.kind in (EventKind.SUBSCRIBED, EventKind.SEEN):
            if self._current is None or self._current.out:
                self._waiting.append(event)
            else:
                self._tell(self._current, event)
        elif event.kind is EventKind.LEFT:
            seat = self._seat(event.member) if event.member else self._whose(event)
            seat.held, seat.out = frozenset(), True
            self._tell(seat, event)
        else:
            self._changed(self._whose(event), event)

    def _joined(self, event: Event) -> None:
        seat = self._seat(event.member) if event.member else self._current or self._seat("")
        others = [one for one in self.seats if one is not seat]
        if self._subscribed and others and not seat.told and all(one.out for one in others):
            self._tell(seat, self._subscribed)  # the same consumer under another id
        seat.generation, seat.fresh, seat.out = event.generation, True, False
        self._current = seat
        for before in self._waiting:
            self._tell(seat, before)
        self._waiting.clear()
        self._tell(seat, event)

    def _seat(self, name: str) -> _Seat:
        """The member's; a nameless one becomes that of the first name that comes."""
        for seat in self.seats:
            if seat.named and seat.name == name:
                return seat
        nameless = [seat for seat in self.seats if not seat.named]
        if name and len(nameless) == len(self.seats) == 1:
            nameless[0].name, nameless[0].named = name, True
            return nameless[0]
        place = self._place + (f"#{len(nameless) + 1}" if nameless else "")
        seat = _Seat(name or place, bool(name))
        self.seats.append(seat)
        return seat

    def _whose(self, event: Event) -> _Seat:
        here = [seat for seat in self.seats if not seat.out]
        if not here:
            return self._current or self._seat("")
        best = max(here, key=lambda seat: self._fits(seat, event))
        if not best.named and event.owned is not None and frozenset(event.owned) != best.held:
            return self._seat("")  # another one, nameless too
        return best

    def _fits(self, seat: _Seat, event: Event) -> int:
        score = int(seat is self._current)
        if event.owned is not None:
            score += 4 if frozenset(event.owned) == seat.held else -4
        if event.kind in _GIVEN_UP and event.partitions:
            given_up = frozenset(event.partitions)  # mostly all that it has
            score += 6 if seat.held == given_up else 4 if seat.held > given_up else -4
        if event.kind in _ASSIGNED and (plan := self._plan(event.at)) and seat.name in plan.plan:
            score += 2 if frozenset(plan.plan[seat.name]) == _after(seat.held, event) else -1
        return score

    def _plan(self, at: int) -> Event | None:
        """The last before a time."""
        number = bisect_right(self.plans, at, key=lambda plan: plan.at)
        return self.plans[number - 1] if number else None

    def _changed(self, seat: _Seat, event: Event) -> None:
        if event.kind in _ASSIGNED:
            plan = self._plan(event.at)
            if not seat.fresh and plan is not None and plan.generation > seat.generation:
                seat.generation = plan.generation
            seat.fresh = False
            if event.owned is not None and not seat.told:
                seat.held = frozenset(event.owned)  # the file begins in the middle of its life
        gone = event
        if event.kind in _GIVEN_UP:
            listed = seat.held if event.partitions is None else event.partitions
            gone = replace(event, partitions=tuple(sorted(listed)))
            if not seat.told and event.partitions:
                seat.held = frozenset(event.partitions)
        seat.held = _after(seat.held, gone)
        seat.out = seat.out or event.kind is EventKind.LOST  # it joins again, perhaps by another id
        self._current = self._current or seat
        self._tell(seat, gone)

    def _tell(self, seat: _Seat, event: Event) -> None:
        seat.told.append(MemberEvent(event, seat.name, seat.generation, seat.held))


def _after(held: Held, event: Event) -> Held:
    named = frozenset(event.partitions or ())
    if event.kind is EventKind.HELD:
        return named
    return held | named if event.kind is EventKind.ADDED else held - named


def _named_by_plan(seats: Sequence[_Seat], plans: Sequence[Event]) -> list[str]:
    """Give nameless members the ids that fit them alone."""
    taken = {seat.name for seat in seats if seat.named}
    listed = {member: None for plan in plans for member in plan.plan if member not in taken}
    fits: dict[int, list[str]] = {}
    nameless = [seat for seat in seats if not seat.named]
    for at, seat in enumerate(nameless):
        got = [(one.event.at, one.held) for one in seat.told if one.event.kind in _ASSIGNED]
        fits[at] = [
            member
            for member in listed
            if got
            and all(
                (plan := next((p for p in reversed(plans) if p.at <= when), None)) is not None
                and frozenset(plan.plan.get(member, ("?",))) == held
                for when, held in got
            )
        ]
    notes = []
    for at, seat in enumerate(nameless):
        others = {member for other, found in fits.items() if other != at for member in found}
        if len(fits[at]) == 1 and fits[at][0] not in others:
            notes.append(
                f"{seat.name}: no line tells its member id (Java tells it at DEBUG, in "
                f'"Executing onJoinComplete"); taken for {fits[at][0]}, the only one that the '
                "leader gave what it got"
            )
            seat.name = fits[at][0]
        else:
            notes.append(
                f"{seat.name}: no line tells its member id, and the leader's decisions do not "
                "tell it either"
            )
    return notes
