"""Members' lines → the group's rounds.

A round is known from the leader's decision, or else from what its members say of it. It begins when
the first of its members asks to join.

Generations go up by one, until Kafka has forgotten the group and counts anew; a number that was
there before, under a decision that has none of the members of now, belongs to a new *life*.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from statistics import median_low

from partage.consumers.history.events import Event, EventKind, Partition
from partage.consumers.history.members import GroupLines, MemberEvent
from partage.consumers.history.model import RecordedRound
from partage.consumers.protocol import COOPERATIVE, EAGER

_NUMBERED = (EventKind.JOINED, EventKind.PLAN, EventKind.HELD, EventKind.ADDED)

Key = tuple[int, int]
"""Life, generation: in the order of time."""


@dataclass
class Generation:
    """What the lines tell of one.

    - ``plan``: the leader's decision; ``joined``, ``assigned``: what members say, with the time
    - ``begins``: when the first of them asked to join
    - ``round``: what comes of it, filled by whoever reads the members
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
        """When it was decided, or the first line that tells of it."""
        if self.plan is not None:
            return self.plan.at
        times = [at for at, _ in self.assigned.values()] or list(self.joined.values())
        return min(times, default=self.begins)

    @property
    def members(self) -> set[str]:
        """All that are known to be in it."""
        planned = set[str]() if self.plan is None else set(self.plan.plan)
        return planned.union(self.joined, self.assigned)

    def has(self, member: str) -> bool:
        """Whether a member is in it; without the leader's decision as far as is known."""
        if self.plan is not None:
            return member in self.plan.plan
        return member in self.joined or member in self.assigned

    def take(self, one: MemberEvent) -> None:
        """A line that tells of it."""
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

    def decided(self) -> RecordedRound:
        """The round, with who has what in it."""
        if self.plan is not None and self.plan.planned:
            self.round.assignment = dict(self.plan.plan)
        else:
            self.round.assignment = {m: tuple(sorted(has)) for m, (_, has) in self.assigned.items()}
        return self.round


class Generations:
    """All generations of a group, in order."""

    def __init__(self, lines: GroupLines) -> None:
        self._of: dict[MemberEvent, Generation] = {}
        self._by_key: dict[Key, Generation] = {}
        self._number([*(one for told in lines.of.values() for one in told), *lines.plans])
        for told in lines.of.values():
            self._begins(told)
        self.listed = [self._by_key[key] for key in sorted(self._by_key)]
        for one in self.listed:
            one.round.at, one.round.generation = one.at, one.key[1]
        self._assignors(lines.roster)
        self._protocols()

    def __iter__(self) -> Iterator[Generation]:
        return iter(self.listed)

    def of(self, one: MemberEvent) -> Generation | None:
        """The generation that a line tells of."""
        return self._of.get(one)

    def without(self, member: str, after: Generation | None) -> Generation | None:
        """The first without a member, after one that it had part in."""
        later = (one for one in self.listed if after is None or one.key > after.key)
        return next((one for one in later if not one.has(member)), None)

    def missing(self, member: str, since: int) -> Generation | None:
        """The first after a time that others are in and a member is not."""
        later = (one for one in self.listed if one.round.at > since and one.members)
        return next((one for one in later if not one.has(member)), None)

    def following(self, told: Sequence[MemberEvent], at: int) -> Generation | None:
        """That to which what a member gives up, at a place of its log, leads."""
        for number in range(at + 1, len(told)):
            one = told[number]
            if one.event.kind is EventKind.LEFT:
                break
            if one.event.kind is EventKind.JOINED and one in self._of:
                return self._of[one]
        return next((one for one in self.listed if one.round.at >= told[at].event.at), None)

    def latency(self) -> int:
        """Half of what a leader's SyncGroup took: from its decision to the first assignment, the
        median of all rounds. 0 where no log has both."""
        took = [
            max(min(at for at, _ in one.assigned.values()) - one.plan.at, 0)
            for one in self.listed
            if one.plan is not None and one.assigned
        ]
        return median_low(took) // 2 if took else 0

    def _number(self, told: Sequence[MemberEvent]) -> None:
        life, top = 0, -1
        known: set[str] = set()
        numbered = [one for one in told if one.generation >= 0 and one.event.kind in _NUMBERED]
        for one in sorted(numbered, key=lambda one: one.event.at):
            names = set(one.event.plan) or {one.member}
            before = self._by_key.get((life, one.generation))
            other = before is None or (before.plan is not None and not names & before.members)
            if one.generation <= top and other and not names & known:
                life, top, known = life + 1, -1, set()
            key = (life, one.generation)
            top = max(top, one.generation)
            known |= names
            found = self._by_key.setdefault(key, Generation(key, one.event.at))
            found.take(one)
            self._of[one] = found

    def _begins(self, told: Sequence[MemberEvent]) -> None:
        asked: int | None = None
        for one in told:
            if one.event.kind is EventKind.JOINING:
                asked = one.event.at if asked is None else asked
            elif one.event.kind is EventKind.JOINED and (found := self._of.get(one)):
                found.begins = min(found.begins, one.event.at if asked is None else asked)
                asked = None

    def _assignors(self, roster: Sequence[Event]) -> None:
        """The leader names it with the subscriptions, just before it decides."""
        ordered = sorted(self.listed, key=lambda one: one.round.at)
        for event in roster:
            number = bisect_left(ordered, event.at, key=lambda one: one.round.at)
            if event.assignor and number < len(ordered):
                ordered[number].assignor = ordered[number].assignor or event.assignor

    def _protocols(self) -> None:
        """Of a generation that does not show it, that of the one before, or else the next."""
        for one in self.listed:
            if one.cooperative is None and one.assignor == "cooperative-sticky":
                one.cooperative = True
        known = next((one.cooperative for one in self.listed if one.cooperative is not None), None)
        for one in self.listed:
            known = known if one.cooperative is None else one.cooperative
            if known is not None:
                one.round.protocol = COOPERATIVE if known else EAGER
            one.round.assignor = one.assignor or None
