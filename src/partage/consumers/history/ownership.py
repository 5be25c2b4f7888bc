"""When each member was in the group and what it owned when, from its events.

A member owns a partition from the event that assigns it to the event that revokes it.

A member may end without an event; a later generation without it shows that. It is taken to have
owned its partitions until its last event or, where the session timeout is known, until that long
before the other members began to join, whichever is later: the coordinator waits as long. The same
holds for a member that finds out that it was removed.

A member whose log is missing is only known from the leaders' assignments: it owns what they assign
to it. Of an assignor's target it gets the partitions that no other member still owns.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from partage.consumers.history.events import EventKind, Partition
from partage.consumers.history.generations import Generation, Generations
from partage.consumers.history.members import MemberEvent
from partage.consumers.history.model import (
    Held,
    MemberSession,
    RecordedRound,
    RecordedSpan,
    add,
    seconds,
)
from partage.consumers.history.timestamps import MICROSECONDS, format_timestamp

_CHANGES = (
    EventKind.HELD,
    EventKind.ADDED,
    EventKind.REVOKED,
    EventKind.LOST,
    EventKind.LEFT,
)
_TAKES_PART = (EventKind.JOINING, EventKind.JOINED, EventKind.HELD, EventKind.ADDED)
_BEFORE_IT_JOINS = (EventKind.SETTINGS, EventKind.SUBSCRIBED)


class Ownership:
    """The members of a group and their spans. ``read`` adds the members one by one, ``read_plans``
    those without a log; both fill in the changes of the rounds.

    - ``members``, ``spans``, ``unknown``: the results, the last in sentences
    - ``trailing``: what was revoked after the last round
    - ``silences``: the microseconds from a member's last event to the round that shows its end
    - ``alive_until``: by file of a single consumer, when its last line was written
    """

    def __init__(
        self,
        generations: Generations,
        start: int,
        until: int,
        zoned: bool,
        session_timeout: float | None,
        alive_until: Mapping[str, int],
    ) -> None:
        self.generations, self.start, self.until = generations, start, until
        self.zoned = zoned
        self.session_timeout = session_timeout
        self.alive_until = alive_until
        self.members: dict[str, MemberSession] = {}
        self.spans: list[RecordedSpan] = []
        self.unknown: list[str] = []
        self.silences: list[int] = []
        self.trailing = RecordedRound(0, None)

    def read(self, member: str, events: Sequence[MemberEvent]) -> None:
        """Add a member with all its events, in order."""
        _MemberReader(self, member, events).read()

    def read_plans(self) -> None:
        """Add the members that only the leaders' assignments contain, after all others."""
        planned = [one for one in self.generations if one.plan is not None]
        for member in sorted({m for one in planned for m in one.members} - self.members.keys()):
            self._read_plans_of(member, planned)
            self.unknown.append(
                f"{member}: its log is missing; when it got and revoked partitions is taken from "
                "the leader's assignments"
            )

    def _read_plans_of(self, member: str, planned: Sequence[Generation]) -> None:
        session = MemberSession(member, None, None, None, ended="gone")
        self.members[member] = session
        owned = Holdings(member, self.spans)
        for one in planned:
            if one.has(member):
                if session.ended:
                    session.joins = min(session.joins or one.begins, one.begins)
                    session.ends = session.ended = None
                now = self._granted(one, member)
                self.change(owned, now, one.at, one.round)
                one.assigned[member] = (one.at, now)
            elif not session.ended:
                self.note(one, "lost", owned, owned.now, one.begins)
                owned.drop(owned.now, one.begins)
                session.ends, session.ended = one.begins, "gone"
        owned.drop(owned.now, self.until, revoked=False)

    def _granted(self, one: Generation, member: str) -> frozenset[Partition]:
        """What the leader's assignment gives a member at once."""
        assert one.plan is not None
        target = frozenset(one.plan.plan[member])
        if one.plan.final:
            return target
        return target - {span.partition for span in self.spans if span.start <= one.at < span.end}

    # -- what both need

    def change(
        self, owned: Holdings, held: frozenset[Partition], at: int, given: RecordedRound | None
    ) -> None:
        """The member owns these partitions from now on, assigned in a round."""
        old, new = owned.now - held, held - owned.now
        if given is not None:
            add(given.added, owned.member, new)
            add(given.revoked, owned.member, old)
        owned.drop(old, at)
        owned.take(new, at, given)

    def note(
        self,
        into: Generation | None,
        name: str,
        owned: Holdings,
        partitions: Iterable[Partition],
        at: int,
    ) -> None:
        """Add the partitions to ``revoked`` or ``lost`` of a round, or of ``trailing``."""
        gone = set(partitions)
        found = self.trailing if into is None else into.round
        if into is None and gone:
            self.trailing.at = max(self.trailing.at, at)
        held: Held = getattr(found, name)
        add(held, owned.member, gone)

    def silent_since(self, last_sign: int, missed: Generation, latest: int | None = None) -> int:
        """When a member that is missing in a generation stopped owning its partitions."""
        latest = missed.begins if latest is None else min(latest, missed.begins)
        if last_sign < missed.begins:
            self.silences.append(missed.begins - last_sign)
        if self.session_timeout is None:
            return min(last_sign, latest)
        guess = missed.begins - round(self.session_timeout * MICROSECONDS)
        return min(max(last_sign, guess), latest)

    def format(self, at: int) -> str:
        """A time as the logs show it."""
        return format_timestamp(at, self.zoned)


class _MemberReader:
    """Reads the events of one member, in order."""

    def __init__(self, ownership: Ownership, member: str, events: Sequence[MemberEvent]) -> None:
        self.ownership, self.events = ownership, events
        self.owned = Holdings(member, ownership.spans)
        self._generation: Generation | None = None
        self._removed_at = 0
        self._last_sign = events[0].event.at
        # when it revoked all its partitions, if it did not join again since
        self._revoked_all: int | None = None
        first = events[0].event
        listed = [one.event for one in events]
        joins = next((one for one in listed if one.kind not in _BEFORE_IT_JOINS), first)
        self.session = MemberSession(
            member,
            first.client,
            first.consumer or None,
            first.source,
            next((one.instance for one in listed if one.instance), None),
            joins=joins.at,
        )

    def read(self) -> None:
        """Add the session and the spans to the ownership."""
        self.ownership.members[self.session.id] = self.session
        changes = [one.event for one in self.events if one.event.kind in _CHANGES]
        if changes and changes[0].owned:  # what it owned when its log begins
            self.owned.take(changes[0].owned, self.ownership.start, None)
        for at, one in enumerate(self.events):
            self._generation = self.ownership.generations.of(one) or self._generation
            if one.event.kind in _TAKES_PART:
                self._revoked_all = None
            self._read(at, one)
            self._last_sign = one.event.at
        if self.session.ended is None:
            self._end()

    def _read(self, at: int, one: MemberEvent) -> None:
        event, owned = one.event, self.owned
        match event.kind:
            case EventKind.HELD | EventKind.ADDED:
                given = None if self._generation is None else self._generation.round
                self.ownership.change(owned, one.held, event.at, given)
            case EventKind.REVOKED:
                self._revoke(at, owned.now.intersection(event.partitions or ()))
                self._revoked_all = None if owned.now else event.at
            case EventKind.LOST:
                gone = owned.now.intersection(event.partitions or ())
                if gone:
                    self._removed_at = self._lose(gone, event.at)
            case EventKind.LEFT:
                self._revoke(at, owned.now)
                # a consumer that closes first revokes its partitions
                self.session.ends = self._revoked_all or event.at
                self.session.ended = "left"
            case EventKind.JOINED if self.session.ended is not None:
                self.session.ends = self.session.ended = None
            case _:
                pass

    def _revoke(self, at: int, gone: frozenset[Partition]) -> None:
        time = self.events[at].event.at
        into = self.ownership.generations.next_after(self.events, at)
        self.ownership.note(into, "revoked", self.owned, gone, time)
        self.owned.drop(gone, time)

    def _lose(self, gone: frozenset[Partition], at: int) -> int:
        """It finds out at a time that it was removed. Returns until when it is taken to have owned
        its partitions."""
        ownership = self.ownership
        missed = ownership.generations.first_without(self.session.id, self._generation)
        end = at if missed is None else ownership.silent_since(self._last_sign, missed, at)
        if end < at:
            ownership.unknown.append(
                f"{self.session.id}: learned at {ownership.format(at)} that it was removed from "
                "the group; whether it still read before that is not in the logs. Counted until "
                f"{ownership.format(end)}"
            )
        ownership.note(missed, "lost", self.owned, gone, at)
        self.owned.drop(gone, end)
        return end

    def _end(self) -> None:
        """There is no event of its end: find out whether and when it ended."""
        ownership, owned = self.ownership, self.owned
        last = self.events[-1].event.at
        missed = ownership.generations.first_missing(self.session.id, last)
        if self._removed_at and not owned.now:
            self.session.ends, self.session.ended = self._removed_at, "gone"
        elif missed is not None:
            alive_until = ownership.alive_until
            self._vanish(
                missed, max(last, *(alive_until.get(one.event.source, 0) for one in self.events))
            )
        else:
            owned.drop(owned.now, ownership.until, revoked=False)

    def _vanish(self, missed: Generation, alive: int) -> None:
        """It ended without an event, and a generation is without it."""
        ownership, owned = self.ownership, self.owned
        end = ownership.silent_since(alive, missed)
        session_timeout = ownership.session_timeout
        if session_timeout is None or alive >= end:
            early = seconds(max(missed.begins - end, 0))
            counted = f"counted until its last line, which is at most {early:.3f} s too early"
        else:
            counted = f"counted until a session timeout ({session_timeout:g} s) before that"
        ownership.unknown.append(
            f"{self.session.id}: no line shows that it left, and at "
            f"{ownership.format(missed.begins)} the others began to join without it; {counted}, "
            f"{ownership.format(end)}"
        )
        ownership.note(missed, "lost", owned, owned.now, end)
        owned.drop(owned.now, end)
        self.session.ends, self.session.ended = end, "gone"


class Holdings:
    """The partitions of a member while its events are read; ``drop`` adds to ``spans``."""

    def __init__(self, member: str, spans: list[RecordedSpan]) -> None:
        self.member = member
        self._since: dict[Partition, tuple[int, RecordedRound | None]] = {}
        self._spans = spans

    @property
    def now(self) -> frozenset[Partition]:
        return frozenset(self._since)

    def take(self, partitions: Iterable[Partition], at: int, given: RecordedRound | None) -> None:
        """Own these partitions from a time on, assigned in a round."""
        self._since |= dict.fromkeys(sorted(partitions), (at, given))

    def drop(self, partitions: Iterable[Partition], at: int, revoked: bool = True) -> None:
        """Own these partitions no longer."""
        for partition in sorted(partitions):
            start, given = self._since.pop(partition)
            self._spans.append(
                RecordedSpan(partition, self.member, start, max(at, start), given, revoked)
            )
