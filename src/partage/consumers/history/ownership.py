"""Each member's lines → when it was there, and what it owned from when to when.

A member owns a partition from the line that tells of it to the line that gives it up. Whoever has
gone without a word is missed by a later round. It is taken to have owned its partitions until its
last line or, where the session timeout is known, until that long before the others began to join,
whichever is later: the coordinator waits as long. So is a member that was put out and finds out.

A member whose log is not there is known from the leader's decisions alone: it owns what they give
it. Of what an assignor only aims at it gets what nobody else still has.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from partage.consumers.history.events import Event, EventKind, Partition
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

_CHANGES = (EventKind.HELD, EventKind.ADDED, EventKind.REVOKED, EventKind.LOST, EventKind.LEFT)
_TAKES_PART = (EventKind.JOINING, EventKind.JOINED, EventKind.HELD, EventKind.ADDED)
_BEFORE_IT_JOINS = (EventKind.SETTINGS, EventKind.SUBSCRIBED)


class Ownership:
    """Reads one member after the other; ``members``, ``owned``, ``unknown`` and the rounds' own
    values are what comes of it. ``trailing``: what was given up after the last round;
    ``silences``: from the last sign of members to the round that misses them."""

    def __init__(
        self,
        rounds: Generations,
        start: int,
        until: int,
        zoned: bool,
        session_timeout: float | None,
        alone: Mapping[str, int],
    ) -> None:
        self.rounds, self.start, self.until, self.zoned = rounds, start, until, zoned
        self.session = session_timeout
        self._alone = alone
        self.members: dict[str, MemberSession] = {}
        self.owned: list[RecordedSpan] = []
        self.unknown: list[str] = []
        self.silences: list[int] = []
        self.trailing = RecordedRound(0, None)

    # -- a member with a log

    def read(self, member: str, told: Sequence[MemberEvent]) -> None:
        """All lines of one member, in order."""
        first, last = told[0].event, told[-1].event
        there = next((one.event for one in told if one.event.kind not in _BEFORE_IT_JOINS), first)
        seat = MemberSession(
            member,
            first.client,
            first.consumer or None,
            first.source,
            next((one.event.instance for one in told if one.event.instance), None),
            joins=there.at,
        )
        self.members[member] = seat
        has = _Has(member, self.owned)
        changes = [one.event for one in told if one.event.kind in _CHANGES]
        if changes and changes[0].owned:  # what it had when its log begins
            has.take(changes[0].owned, self.start, None)
        generation: Generation | None = None
        put_out_at, last_sign = 0, first.at
        gave_up: int | None = None  # all that it had, and did not ask to join again
        for number, one in enumerate(told):
            event = one.event
            generation = self.rounds.of(one) or generation
            gave_up = None if event.kind in _TAKES_PART else gave_up
            match event.kind:
                case EventKind.HELD | EventKind.ADDED:
                    given = None if generation is None else generation.round
                    self._changed(has, one.held, event.at, given)
                case EventKind.REVOKED:
                    gone = has.now.intersection(event.partitions or ())
                    self._note(self.rounds.following(told, number), "revoked", has, gone, event.at)
                    has.drop(gone, event.at)
                    gave_up = None if has.now else event.at
                case EventKind.LOST:
                    gone = has.now.intersection(event.partitions or ())
                    if gone:
                        put_out_at = self._put_out(has, gone, event, last_sign, generation)
                case EventKind.LEFT:
                    into = self.rounds.following(told, number)
                    self._note(into, "revoked", has, has.now, event.at)
                    has.drop(has.now, event.at)
                    # To close, a consumer first gives up what it has.
                    seat.ends, seat.ended = gave_up or event.at, "left"
                case EventKind.JOINED if seat.ended is not None:
                    seat.ends = seat.ended = None
                case _:
                    pass
            last_sign = event.at
        if seat.ended is not None:
            return
        missed = self.rounds.missing(member, last.at)
        if put_out_at and not has.now:
            seat.ends, seat.ended = put_out_at, "gone"
        elif missed is not None:
            alive = max([last.at, *(self._alone.get(one.event.source, 0) for one in told)])
            self._vanished(seat, has, missed, alive)
        else:
            has.drop(has.now, self.until, given_up=False)

    def _changed(
        self, has: _Has, held: frozenset[Partition], at: int, given: RecordedRound | None
    ) -> None:
        """It has other partitions than before."""
        old, new = has.now - held, held - has.now
        if given is not None:
            add(given.added, has.member, new)
            add(given.revoked, has.member, old)
        has.drop(old, at)
        has.take(new, at, given)

    def _put_out(
        self,
        has: _Has,
        gone: frozenset[Partition],
        event: Event,
        last_sign: int,
        generation: Generation | None,
    ) -> int:
        """It finds itself put out: until when it is taken to have read."""
        missed = self.rounds.without(has.member, generation)
        end = event.at if missed is None else self._fell_silent(last_sign, missed, event.at)
        if end < event.at:
            self.unknown.append(
                f"{has.member}: found itself put out at {self._shown(event.at)}; whether it still "
                f"read before that no line tells. Counted to {self._shown(end)}"
            )
        self._note(missed, "lost", has, gone, event.at)
        has.drop(gone, end)
        return end

    def _fell_silent(self, last_sign: int, missed: Generation, latest: int | None = None) -> int:
        """When, of a member that a round misses."""
        latest = missed.begins if latest is None else min(latest, missed.begins)
        if last_sign < missed.begins:
            self.silences.append(missed.begins - last_sign)
        if self.session is None:
            return min(last_sign, latest)
        guess = missed.begins - round(self.session * MICROSECONDS)
        return min(max(last_sign, guess), latest)

    def _vanished(self, seat: MemberSession, has: _Has, missed: Generation, alive: int) -> None:
        """It has gone without a word."""
        end = self._fell_silent(alive, missed)
        late = seconds(max(missed.begins - end, 0))
        if self.session is None or alive >= end:
            counted = f"counted from its last line, which is at most {late:.3f} s too early"
        else:
            counted = f"counted from a session timeout ({self.session:g} s) before that"
        self.unknown.append(
            f"{seat.id}: no line tells that it left, and at {self._shown(missed.begins)} the "
            f"others began to join without it; {counted}, {self._shown(end)}"
        )
        self._note(missed, "lost", has, has.now, end)
        has.drop(has.now, end)
        seat.ends, seat.ended = end, "gone"

    def _note(
        self,
        into: Generation | None,
        name: str,
        has: _Has,
        partitions: Iterable[Partition],
        at: int,
    ) -> None:
        """It gives them up on the way to a round."""
        gone = set(partitions)
        told = self.trailing if into is None else into.round
        if into is None and gone:
            self.trailing.at = max(self.trailing.at, at)
        held: Held = getattr(told, name)
        add(held, has.member, gone)

    # -- members without a log

    def read_plans(self) -> None:
        """Members that only the leader's decisions tell of, once all others are read."""
        planned = [one for one in self.rounds if one.plan is not None]
        for member in sorted({m for one in planned for m in one.members} - self.members.keys()):
            self._read_plans_of(member, planned)
            self.unknown.append(
                f"{member}: none of the logs is its own; when it took and gave up partitions is "
                "taken from the leader's decisions"
            )

    def _read_plans_of(self, member: str, planned: Sequence[Generation]) -> None:
        seat = MemberSession(member, None, None, None, ended="gone")
        self.members[member] = seat
        has = _Has(member, self.owned)
        for one in planned:
            if one.has(member):
                if seat.ended:
                    seat.joins = min(seat.joins or one.begins, one.begins)
                    seat.ends = seat.ended = None
                now = self._granted(one, member)
                self._changed(has, now, one.at, one.round)
                one.assigned[member] = (one.at, now)
            elif not seat.ended:
                self._note(one, "lost", has, has.now, one.begins)
                has.drop(has.now, one.begins)
                seat.ends, seat.ended = one.begins, "gone"
        has.drop(has.now, self.until, given_up=False)

    def _granted(self, one: Generation, member: str) -> frozenset[Partition]:
        assert one.plan is not None
        aim = frozenset(one.plan.plan[member])
        if one.plan.planned:
            return aim
        return aim - {o.partition for o in self.owned if o.start <= one.at < o.end}

    def _shown(self, at: int) -> str:
        return format_timestamp(at, self.zoned)


class _Has:
    """What a member has while its lines go by."""

    def __init__(self, member: str, owned: list[RecordedSpan]) -> None:
        self.member = member
        self._since: dict[Partition, tuple[int, RecordedRound | None]] = {}
        self._owned = owned

    @property
    def now(self) -> frozenset[Partition]:
        return frozenset(self._since)

    def take(self, partitions: Iterable[Partition], at: int, given: RecordedRound | None) -> None:
        self._since |= dict.fromkeys(sorted(partitions), (at, given))

    def drop(self, partitions: Iterable[Partition], at: int, given_up: bool = True) -> None:
        for partition in sorted(partitions):
            start, given = self._since.pop(partition)
            self._owned.append(
                RecordedSpan(partition, self.member, start, max(at, start), given, given_up)
            )
