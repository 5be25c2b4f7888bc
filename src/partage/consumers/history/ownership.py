"""When each member was in the group and what it owned when, from its events.

A member owns a partition from the event that assigns it to the event that revokes it.

A member may end without an event; a later generation without it shows that or, under KIP-848, that
others got its partitions.

- If that is sooner after its last line than its session can expire, it left, at most a heartbeat
  interval before: others learn of it with their next heartbeat.
- Otherwise it is taken to have owned its partitions until its last event or, where the session
  timeout is known, until that long before the other members began to join, whichever is later: the
  coordinator waits as long. The same holds for a member that finds out that it was removed.

A member whose log is missing is only known from the leaders' assignments: it owns what they assign
to it, in an eager round from the assignment on and until the next round begins. Of an assignor's
target it gets the partitions that no other member still owns. Whether it left or crashed is
unknown; it is taken to leave when the others begin to join without it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from partage.consumers.history.events import EventKind, Partition
from partage.consumers.history.generations import Generation, Generations
from partage.consumers.history.members import MemberEvent, unrotated
from partage.consumers.history.model import (
    HEARTBEAT_INTERVAL,
    SESSION_TIMEOUT,
    SHORTEST_SESSION,
    Held,
    MemberSession,
    RecordedRound,
    RecordedSpan,
    add,
    seconds,
)
from partage.consumers.history.timestamps import MICROSECONDS, format_timestamp
from partage.consumers.protocol import EAGER
from partage.consumers.scenario import CONSUMER_HEARTBEAT

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
    those without a log; both fill in the changes of the rounds. ``end_replaced`` ends members of
    KIP-848 whose partitions others got.

    - ``members``, ``spans``, ``unknown``: the results, the last in sentences
    - ``trailing``: what was revoked after the last round
    - ``silences``: the microseconds from a crashed member's last event to the round that shows it
    - ``alive_until``: by log of a single consumer, when its last line was written
    """

    def __init__(
        self,
        generations: Generations,
        start: int,
        until: int,
        zoned: bool,
        settings: Mapping[str, float],
        alive_until: Mapping[str, int],
    ) -> None:
        self.generations, self.start, self.until = generations, start, until
        self.zoned = zoned
        self.session_timeout = settings.get("session_timeout")
        if generations.listed:
            self.shortest_session = self.session_timeout or SHORTEST_SESSION
            beat = settings.get("heartbeat_interval", HEARTBEAT_INTERVAL)
        else:  # the broker's settings for KIP-848
            self.shortest_session, beat = SESSION_TIMEOUT, CONSUMER_HEARTBEAT
        self.heartbeat_interval = min(beat, self.shortest_session / 3)
        self.alive_until = alive_until
        self.members: dict[str, MemberSession] = {}
        self.spans: list[RecordedSpan] = []
        self.unknown: list[str] = []
        self.silences: list[int] = []
        self.trailing = RecordedRound(0, None)
        self._last_signs: dict[str, int] = {}

    def read(self, member: str, events: Sequence[MemberEvent]) -> None:
        """Add a member with all its events, in order."""
        logs = {unrotated(one.event.source) for one in events}
        signs = [events[-1].event.at, *(self.alive_until.get(log, 0) for log in logs)]
        self._last_signs[member] = max(signs)
        _MemberReader(self, member, events, max(signs)).read()

    def read_plans(self) -> None:
        """Add the members that only the leaders' assignments contain, after all others."""
        planned = [one for one in self.generations if one.plan is not None]
        for member in sorted({m for one in planned for m in one.members} - self.members.keys()):
            self._read_plans_of(member, planned)
            text = (
                f"{member}: its log is missing; when it got and revoked partitions is taken from "
                "the leader's assignments"
            )
            ends = self.members[member].ends
            if ends is not None:
                text += (
                    "; whether it crashed, and for how long its partitions had no owner until the "
                    f"group rebalanced without it at {self.format(ends)}, is unknown: taken to "
                    "leave then"
                )
            self.unknown.append(text)

    def end_replaced(self) -> None:
        """End the members without generations (KIP-848) whose partitions others got after their
        last line, after all are added."""
        if self.generations.listed:
            return
        starts: dict[Partition, list[int]] = {}
        kept: dict[str, list[RecordedSpan]] = {}
        for span in self.spans:
            starts.setdefault(span.partition, []).append(span.start)
            if not span.revoked:
                kept.setdefault(span.member, []).append(span)
        for member, own in kept.items():
            later = [at for one in own for at in starts[one.partition] if at > one.start]
            if later and self._last_signs[member] <= min(later):
                self._end_replaced(self.members[member], own, min(later))

    def _end_replaced(
        self, session: MemberSession, own: Iterable[RecordedSpan], taken: int
    ) -> None:
        last_sign = self._last_signs[session.id]
        if self.can_expire(last_sign, taken):
            timeout = self.shortest_session
            end = max(last_sign, taken - round(timeout * MICROSECONDS))
            session.ended = "gone"
            self.unknown.append(
                f"{session.id}: no line shows that it left, and at {self.format(taken)} others got "
                f"its partitions; counted until {self.format(end)}, at most a session timeout "
                f"({timeout:g} s, the broker's default) before that"
            )
        else:
            end = self.left_at(session.id, last_sign, taken, "others got its partitions")
            session.ended = "left"
        session.ends = end
        for span in own:
            span.end, span.revoked = end, True

    def _read_plans_of(self, member: str, planned: Sequence[Generation]) -> None:
        session = MemberSession(member, None, None, None, ended="gone")
        self.members[member] = session
        owned = Holdings(member, self.spans)
        for one in planned:
            if one.has(member):
                if session.ended:
                    session.joins = min(session.joins or one.begins, one.begins)
                    session.ends = session.ended = None
                if one.round.protocol == EAGER:
                    self.note(one, "revoked", owned, owned.now, one.begins)
                    owned.drop(owned.now, one.begins)
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

    def silent_since(self, last_sign: int, noticed: int, latest: int | None = None) -> int:
        """When a member stopped owning its partitions whose session expired until ``noticed``."""
        latest = noticed if latest is None else min(latest, noticed)
        if self.can_expire(last_sign, noticed):
            self.silences.append(noticed - last_sign)
        if self.session_timeout is None:
            return min(last_sign, latest)
        guess = noticed - round(self.session_timeout * MICROSECONDS)
        return min(max(last_sign, guess), latest)

    def can_expire(self, last_sign: int, noticed: int) -> bool:
        """Whether a session can have expired: a session timeout after the last heartbeat, which was
        at most an interval before the last sign of life."""
        shortest = self.shortest_session - self.heartbeat_interval
        return seconds(noticed - last_sign) >= shortest

    def left_at(self, member: str, last_sign: int, noticed: int, shown_by: str) -> int:
        """When a member left whose session cannot have expired."""
        silence = seconds(noticed - last_sign)
        end = max(last_sign, noticed - round(self.heartbeat_interval * MICROSECONDS))
        if end == last_sign:
            counted = f"its last line, at most {silence:.3f} s too early"
        else:
            counted = f"a heartbeat interval ({self.heartbeat_interval:g} s) before that"
        self.unknown.append(
            f"{member}: no line shows that it left, but at {self.format(noticed)} {shown_by}, "
            f"{silence:.3f} s after its last line: too soon for a session to expire, so it left; "
            f"counted until {counted}, {self.format(end)}"
        )
        return end

    def format(self, at: int) -> str:
        """A time as the logs show it."""
        return format_timestamp(at, self.zoned)


class _MemberReader:
    """Reads the events of one member, in order. ``alive``: its last sign of life."""

    def __init__(
        self, ownership: Ownership, member: str, events: Sequence[MemberEvent], alive: int
    ) -> None:
        self.ownership, self.events, self.alive = ownership, events, alive
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
        end = at
        if missed is not None:
            noticed = ownership.generations.noticed(missed)
            end = ownership.silent_since(self._last_sign, noticed, at)
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
            self._vanish(missed)
        else:
            owned.drop(owned.now, ownership.until, revoked=False)

    def _vanish(self, missed: Generation) -> None:
        """It ended without an event, and a generation is without it."""
        ownership, owned = self.ownership, self.owned
        noticed = ownership.generations.noticed(missed)
        if self.alive <= noticed and not ownership.can_expire(self.alive, noticed):
            shown_by = "the group rebalanced without it"
            end = ownership.left_at(self.session.id, self.alive, noticed, shown_by)
            how, self.session.ended = "revoked", "left"
        else:
            end = self._crash(noticed)
            how, self.session.ended = "lost", "gone"
        ownership.note(missed, how, owned, owned.now, end)
        owned.drop(owned.now, end)
        self.session.ends = end

    def _crash(self, noticed: int) -> int:
        """Its session expired. Returns until when it is taken to have owned its partitions."""
        ownership, alive = self.ownership, self.alive
        end = ownership.silent_since(alive, noticed)
        session_timeout = ownership.session_timeout
        if session_timeout is None or alive >= end:
            early = seconds(max(noticed - end, 0))
            counted = f"counted until its last line, which is at most {early:.3f} s too early"
        else:
            counted = f"counted until a session timeout ({session_timeout:g} s) before that"
        ownership.unknown.append(
            f"{self.session.id}: no line shows that it left, and at "
            f"{ownership.format(noticed)} the group rebalanced without it; {counted}, "
            f"{ownership.format(end)}"
        )
        return end


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
