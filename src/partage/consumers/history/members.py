"""Whose each line is: events of one group → events of its members.

A line names its consumer as that client does, which need not tell its members apart: two processes
may share a client id, and Java's ``Updating assignment`` names no member at all. So a *stream* is
what one consumer's name says in one file, and within it a nameless line belongs to

- the member that the last line with a member id named, unless
- it tells what was owned, or gives up, or gets what the leader decided, and only another member of
  the stream fits that.

Rotated files (``app.log.1``, ``app.log``) are one.

A consumer of which no line tells the member id (Java before 2.5 without DEBUG) gets it from the
leader's decisions, where just one member id always was assigned what it says it got.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import PurePath

from partage.consumers.history.events import Event, Kind, Partition

Held = frozenset[Partition]

_ASSIGNED = (Kind.HELD, Kind.ADDED)
_GIVEN_UP = (Kind.REVOKED, Kind.LOST)
_OF_CONSUMER = (Kind.JOINING, Kind.SETTINGS)
_ROTATED = re.compile(r"(\.gz|\.\d+|[-.]\d{4}-?\d\d-?\d\d(?:[-T.]\d+)*)+$")


@dataclass(frozen=True)
class Told:
    """An event of a member; ``generation`` is that of the member then, -1 for unknown. ``held`` is
    what it had after the event."""

    event: Event
    member: str
    generation: int
    held: Held = frozenset()


@dataclass
class _Seat:
    """A member of a stream."""

    name: str
    named: bool
    held: Held = frozenset()
    generation: int = -1
    fresh: bool = False  # it joined, and its assignment has not come yet
    out: bool = False
    told: list[Told] = field(default_factory=list)


def members_of(events: Sequence[Event]) -> tuple[list[Told], list[str]]:
    """All events of one group (files in any order, lines of a file in theirs) by member, members in
    order of their first line and each member's events in order; and what had to be guessed."""
    plans = sorted(
        (one for one in _numbered(events) if one.kind is Kind.PLAN), key=lambda one: one.at
    )
    seats: list[_Seat] = []
    roster: list[Told] = []
    for stream in _streams(events):
        reader = _Stream(stream, plans)
        seats += reader.seats
        roster += reader.roster
    notes = _named_by_plan(seats, plans)
    seats.sort(key=lambda seat: (seat.told[0].event.at, seat.name) if seat.told else (0, seat.name))
    told = [replace(one, member=seat.name) for seat in seats for one in seat.told]
    told += [Told(plan, "", plan.generation) for plan in plans]
    return told + roster, notes


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


def _numbered(events: Sequence[Event]) -> list[Event]:
    """Plans that do not say their generation have that of the stream's last line that does."""
    found = []
    for stream in _streams(events):
        generation = -1
        for one in stream:
            if one.kind is Kind.JOINED:
                generation = one.generation
            elif one.kind is Kind.PLAN and one.generation < 0:
                one = replace(one, generation=generation)
            found.append(one)
    return found


class _Stream:
    """Reads one stream, line by line."""

    def __init__(self, events: Sequence[Event], plans: Sequence[Event]) -> None:
        self.plans = plans
        self.seats: list[_Seat] = []
        self.roster: list[Told] = []
        self._current: _Seat | None = None
        self._waiting: list[Event] = []  # of a member that is not known yet
        self._place = f"{events[0].consumer or events[0].client}@{PurePath(events[0].source).name}"
        for event in events:
            self._read(event)
        for event in self._waiting:
            if self._current is not None:
                self._tell(self._current, event)

    def _read(self, event: Event) -> None:
        if event.kind is Kind.PLAN:
            return
        if event.kind is Kind.SUBSCRIBED and event.member:
            self.roster.append(Told(event, event.member, -1))
        elif event.kind is Kind.JOINED:
            self._joined(event)
        elif event.kind in _OF_CONSUMER or event.kind in (Kind.SUBSCRIBED, Kind.SEEN):
            if self._current is None or self._current.out:
                self._waiting.append(event)
            else:
                self._tell(self._current, event)
        elif event.kind is Kind.LEFT:
            seat = self._seat(event.member) if event.member else self._whose(event)
            seat.held, seat.out = frozenset(), True
            self._tell(seat, event)
        else:
            self._changed(self._whose(event), event)

    def _joined(self, event: Event) -> None:
        seat = self._seat(event.member) if event.member else self._current or self._seat("")
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
            score += 4 if seat.held.issuperset(event.partitions) else -4
        if event.kind in _ASSIGNED and (plan := self._plan(event.at)) and seat.name in plan.plan:
            score += 2 if frozenset(plan.plan[seat.name]) == _after(seat.held, event) else -1
        return score

    def _plan(self, at: int) -> Event | None:
        return next((plan for plan in reversed(self.plans) if plan.at <= at), None)

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
        seat.out = seat.out or event.kind is Kind.LOST  # it joins again, perhaps by another id
        self._current = self._current or seat
        self._tell(seat, gone)

    def _tell(self, seat: _Seat, event: Event) -> None:
        seat.told.append(Told(event, seat.name, seat.generation, seat.held))


def _after(held: Held, event: Event) -> Held:
    named = frozenset(event.partitions or ())
    if event.kind is Kind.HELD:
        return named
    return held | named if event.kind is Kind.ADDED else held - named


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
