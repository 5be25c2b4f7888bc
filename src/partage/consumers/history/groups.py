"""Members' events → the group's history: generations, who owned what when, what had no owner.

A *round* is a generation that got its assignment, as in a simulation. It is known from the leader's
decision, or else from what its members say. A member owns a partition from the line that tells of
it to the line that gives it up. Whoever has gone without a word is missed by a later round; it is
taken to have owned its partitions until its last line or, where the session timeout is known, until
that long before the others began to join, whichever is later: the coordinator waits as long.

A partition has no owner between two owners, as long as some member is there. Such a gap belongs to
the round that ends it. Times are seconds from the first event of the group.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import PurePath
from typing import Any

from partage.consumers.history.events import Event, Kind, Partition
from partage.consumers.history.members import Told, members_of
from partage.consumers.history.stamps import MICROSECONDS, shown
from partage.consumers.reading import Span

COOPERATIVE, EAGER = "cooperative", "eager"
Held = dict[str, tuple[Partition, ...]]
Key = tuple[int, int]
"""Of a round: which life of the group (its generations begin anew when Kafka has forgotten it), and
the generation in it."""

_CHANGES = (Kind.HELD, Kind.ADDED, Kind.REVOKED, Kind.LOST, Kind.LEFT)


@dataclass
class Round:
    """One generation. ``generation`` is None for what was given up after the last one.

    ``lost`` also says what a member had that was put out, or gone, without a word. ``unowned``:
    seconds that partitions had no owner until this round gave them one.
    """

    at: float
    time: str
    generation: int | None
    protocol: str | None = None
    assignor: str | None = None
    assignment: Held = field(default_factory=dict)
    added: Held = field(default_factory=dict)
    revoked: Held = field(default_factory=dict)
    lost: Held = field(default_factory=dict)
    unowned: dict[Partition, float] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """The value in ``rounds``."""
        return {
            "at": round(self.at, 6),
            "time": self.time,
            "generation": self.generation,
            "protocol": self.protocol,
            "assignor": self.assignor,
            **{
                name: {
                    member: [list(pair) for pair in held]
                    for member, held in sorted(getattr(self, name).items())
                }
                for name in ("assignment", "added", "revoked", "lost")
            },
            "unowned": seconds_of(self.unowned),
        }


@dataclass
class Member:
    """One member of the group, from ``joins_at`` to ``ends_at``.

    ``ended``: ``left`` with a word, ``gone`` without one, None where it is still there at the end.
    ``topics``: its subscription, empty where no line tells it. ``source``: None where it is known
    from the leader's decisions alone.
    """

    id: str
    client: str | None
    consumer: str | None
    source: str | None
    instance_id: str | None = None
    topics: tuple[str, ...] = ()
    joins_at: float = 0.0
    ends_at: float | None = None
    ended: str | None = None

    def to_json(self) -> dict[str, Any]:
        """The value in ``members``."""
        return {
            "id": self.id,
            "client": self.client,
            "consumer": self.consumer,
            "source": self.source,
            "instance_id": self.instance_id,
            "topics": list(self.topics),
            "joins_at": round(self.joins_at, 6),
            "ends_at": None if self.ends_at is None else round(self.ends_at, 6),
            "ended": self.ended,
        }


@dataclass(frozen=True)
class History:
    """Of one group.

    - ``start``: when it begins; ``start_at``: the same in microseconds since 1970
    - ``until``: seconds from then to its last event
    - ``unowned``: seconds without an owner by partition; ``empty``: seconds without a member
    - ``moved``: times that a partition came to another member
    - ``settings``: seconds by name, where a log tells them
    - ``unknown``: what the logs leave open, in sentences
    """

    group: str
    start: str
    start_at: int
    until: float
    members: tuple[Member, ...]
    rounds: tuple[Round, ...]
    spans: tuple[Span, ...]
    topics: Mapping[str, int]
    settings: Mapping[str, float]
    unowned: Mapping[Partition, float]
    moved: int
    empty: float
    unknown: tuple[str, ...]

    @property
    def unowned_seconds(self) -> float:
        """Of all partitions together."""
        return sum(self.unowned.values())

    def to_json(self) -> dict[str, Any]:
        """The value in ``groups``, without the replay."""
        return {
            "start": self.start,
            "until": round(self.until, 6),
            "members": [member.to_json() for member in self.members],
            "topics": dict(self.topics),
            "generations": [one.generation for one in self.rounds if one.generation is not None],
            "rounds": [one.to_json() for one in self.rounds],
            "unowned": seconds_of(self.unowned),
            "unowned_partition_seconds": round(self.unowned_seconds, 6),
            "moved": self.moved,
            "empty_seconds": round(self.empty, 6),
            "unknown": list(self.unknown),
        }


def seconds_of(unowned: Mapping[Partition, float]) -> dict[str, float]:
    """By ``topic-partition``, without those that always had an owner."""
    return {f"{t}-{n}": round(unowned[t, n], 6) for t, n in sorted(unowned) if unowned[t, n]}


def histories(events: Iterable[Event]) -> dict[str, History]:
    """Every group's, by name. Events in any order of the files, a file's lines in order."""
    of_file: dict[str, Event] = {}
    listed = []
    for one in events:
        if one.kind is Kind.SEEN and not one.client:
            of_file[one.source] = one
        else:
            listed.append(one)
    by_group: dict[str, list[Event]] = {}
    told_groups: dict[tuple[str, str], set[str]] = {}
    for one in listed:
        if one.group and one.group != "null":
            told_groups.setdefault((one.source, one.client), set()).add(one.group)
    for one in listed:
        around = told_groups.get((one.source, one.client), set())
        group = one.group or (next(iter(around)) if len(around) == 1 else "")
        if group and group != "null":
            by_group.setdefault(group, []).append(one)
    streams: dict[str, set[tuple[str, str, str]]] = {}
    for one in listed:
        streams.setdefault(one.source, set()).add((one.client, one.group, one.consumer))
    # A file of one consumer shows with every line that its process lives.
    alone = {
        source: end.at
        for source, end in of_file.items()
        if len({key for key in streams.get(source, ()) if key[1]}) == 1
    }
    return {
        group: _Assembly(group, found, alone).history()
        for group, found in sorted(by_group.items())
        if any(one.kind in (Kind.JOINED, Kind.PLAN, *_CHANGES) for one in found)
    }


@dataclass
class _Round:
    key: Key
    plan: Event | None = None
    joined: dict[str, int] = field(default_factory=dict)
    begins: int = 0
    assigned: dict[str, tuple[int, frozenset[Partition]]] = field(default_factory=dict)
    cooperative: bool | None = None
    assignor: str = ""
    view: Round = field(default_factory=lambda: Round(0.0, "", None))

    @property
    def at(self) -> int:
        if self.plan is not None:
            return self.plan.at
        times = [at for at, _ in self.assigned.values()] or list(self.joined.values())
        return min(times, default=self.begins)

    def has(self, member: str) -> bool:
        if self.plan is not None:
            return member in self.plan.plan
        return member in self.joined or member in self.assigned


@dataclass
class _Owned:
    """A member has a partition from a time on, by a round."""

    partition: Partition
    member: str
    start: int
    end: int
    key: Key | None


class _Assembly:
    """Puts one group together; times are microseconds until the very end."""

    def __init__(self, group: str, events: Sequence[Event], alone: Mapping[str, int]) -> None:
        self.group = group
        told, self.unknown = members_of(events)
        self.told = told
        self.alone = alone
        self.zones = {one.event.zoned for one in told}
        self.start = min(one.event.at for one in told)
        self.until = max(one.event.at for one in told)
        self.by_member: dict[str, list[Told]] = {}
        for one in told:
            if one.event.kind is not Kind.PLAN and not self._of_roster(one):
                self.by_member.setdefault(one.member, []).append(one)
        self.settings: dict[str, float] = {}
        for one in told:
            self.settings |= one.event.settings
        self.rounds = self._rounds()
        self.members: dict[str, Member] = {}
        self.owned: list[_Owned] = []
        self.trailing = Round(0.0, "", None)
        self.trailing_at = 0

    @staticmethod
    def _of_roster(one: Told) -> bool:
        return one.event.kind is Kind.SUBSCRIBED and bool(one.event.member)

    def history(self) -> History:
        for member, told in self.by_member.items():
            self._with_log(member, told)
        self._without_log()
        self._subscriptions()
        self._first_seen()
        rounds = self._views()
        owned = self._cut()
        unowned, gaps = self._gaps(owned)
        for key, partition, length in gaps:
            if key is not None:
                view = self.rounds[key].view
                before = view.unowned.get(partition, 0.0)
                view.unowned[partition] = before + length / MICROSECONDS
        topics = self._topics(owned)
        self._tell_unknown(topics)
        members = sorted(self.members.values(), key=lambda one: (one.joins_at, one.id))
        return History(
            group=self.group,
            start=self._shown(self.start),
            start_at=self.start,
            until=self._seconds(self.until),
            members=tuple(members),
            rounds=tuple(rounds),
            spans=tuple(
                Span(o.partition, o.member, self._seconds(o.start), self._seconds(o.end))
                for o in owned
                if o.end > o.start
            ),
            topics=topics,
            settings=self.settings,
            unowned=unowned,
            moved=self._moved(owned),
            empty=self._empty(),
            unknown=tuple(self.unknown),
        )

    def _shown(self, at: int) -> str:
        return shown(at, False not in self.zones)

    def _seconds(self, at: int) -> float:
        return (at - self.start) / MICROSECONDS

    # -- rounds

    def _rounds(self) -> dict[Key, _Round]:
        """All, by key; the keys are in the order of time."""
        found: dict[Key, _Round] = {}
        life, top, known = 0, -1, set[str]()
        self.key_of: dict[int, Key] = {}
        numbered = [
            one
            for one in self.told
            if one.generation >= 0
            and (one.event.kind in (Kind.JOINED, Kind.PLAN, Kind.HELD, Kind.ADDED))
        ]
        for one in sorted(numbered, key=lambda one: one.event.at):
            names = set(one.event.plan) or {one.member}
            key = (life, one.generation)
            if one.generation < top and key not in found and not names & known:
                life, top, known = life + 1, -1, set()
                key = (life, one.generation)
            top, known = max(top, one.generation), known | names
            this = found.setdefault(key, _Round(key, begins=one.event.at))
            self.key_of[id(one)] = key
            this.assignor = one.event.assignor or this.assignor
            if one.event.kind is Kind.PLAN:
                this.plan = one.event
            elif one.event.kind is Kind.JOINED:
                this.joined.setdefault(one.member, one.event.at)
            else:
                this.assigned[one.member] = (one.event.at, one.held)
                if one.event.cooperative is not None:
                    this.cooperative = bool(this.cooperative) or one.event.cooperative
                elif one.event.kind is Kind.ADDED and this.cooperative is None:
                    this.cooperative = False
        for told in self.by_member.values():
            asked: int | None = None
            for one in told:
                if one.event.kind is Kind.JOINING and asked is None:
                    asked = one.event.at
                elif one.event.kind is Kind.JOINED and id(one) in self.key_of:
                    this = found[self.key_of[id(one)]]
                    this.begins = min(this.begins, asked or one.event.at)
                    asked = None
        for one in self.told:
            if self._of_roster(one) and one.event.assignor:
                after = [this for this in found.values() if this.at >= one.event.at]
                if after and not after[0].assignor:
                    after[0].assignor = one.event.assignor
        return dict(sorted(found.items()))

    def _lacking(self, member: str, since: int) -> _Round | None:
        """The first round after a time that the member has no part in."""
        for this in self.rounds.values():
            # One that shows no other member either says nothing.
            if this.at > since and not this.has(member) and (this.plan or this.joined):
                return this
        return None

    def _following(self, told: Sequence[Told], at: int) -> _Round | None:
        """The round that what a member gives up at a point of its log leads to."""
        for one in told[at + 1 :]:
            if one.event.kind is Kind.LEFT:
                break
            if one.event.kind is Kind.JOINED and id(one) in self.key_of:
                return self.rounds[self.key_of[id(one)]]
        when = told[at].event.at
        return next((this for this in self.rounds.values() if this.at >= when), None)

    # -- members

    def _with_log(self, member: str, told: Sequence[Told]) -> None:
        first, last = told[0].event, told[-1].event
        alive = max([last.at, *(self.alone.get(one.event.source, 0) for one in told)])
        seat = Member(
            member,
            first.client,
            first.consumer or None,
            first.source,
            next((one.event.instance for one in told if one.event.instance), None),
            joins_at=self._seconds(max(first.at, self.start)),
        )
        self.members[member] = seat
        held: dict[Partition, tuple[int, Key | None]] = {}
        owned = next((one.event.owned for one in told if one.event.kind in _CHANGES), None)
        for partition in owned or ():  # what it had when its log begins
            held[partition] = (self.start, None)
        key: Key | None = None
        gone_at, last_sign = 0, first.at
        for number, one in enumerate(told):
            event = one.event
            key = self.key_of.get(id(one), key)
            if event.kind in (Kind.HELD, Kind.ADDED):
                this = self.rounds[key] if key is not None else None
                new = one.held - held.keys()
                old = held.keys() - one.held
                self._note(this, "added", member, new, event.at)
                self._note(this, "revoked", member, old, event.at)
                self._release(held, member, old, event.at)
                held |= dict.fromkeys(sorted(new), (event.at, key))
            elif event.kind in (Kind.REVOKED, Kind.LOST):
                gone = frozenset(event.partitions or ()) & held.keys()
                unheard = event.kind is Kind.LOST
                put_out = self._put_out(member, key) if unheard and gone else None
                end = event.at if put_out is None else self._died(last_sign, put_out, event.at)
                if end < event.at:
                    self.unknown.append(
                        f"{member}: found itself put out at {self._shown(event.at)}; whether it "
                        f"still read before that no line tells. Counted to {self._shown(end)}"
                    )
                into = put_out or self._following(told, number)
                self._note(into, "lost" if unheard else "revoked", member, gone, event.at)
                self._release(held, member, gone, end)
                gone_at = end if unheard and gone else gone_at
            elif event.kind is Kind.LEFT:
                self._note(self._following(told, number), "revoked", member, held, event.at)
                self._release(held, member, list(held), event.at)
                seat.ends_at, seat.ended = self._seconds(event.at), "left"
            elif event.kind is Kind.JOINED and seat.ended is not None:
                seat.ends_at = seat.ended = None
            last_sign = event.at
        if seat.ended is not None:
            return
        missed = self._lacking(member, last.at)
        if gone_at and not held:
            seat.ends_at, seat.ended = self._seconds(gone_at), "gone"
        elif missed is not None:
            self._vanished(seat, held, missed, alive)
        else:
            self._release(held, member, list(held), self.until)

    def _put_out(self, member: str, key: Key | None) -> _Round | None:
        """The first round without the member, after the last that it had part in."""
        after = [this for this in self.rounds.values() if key is None or this.key > key]
        return next((this for this in after if not this.has(member)), None)

    def _died(self, last_sign: int, missed: _Round, known: int | None = None) -> int:
        """When it fell silent, ``known``: at the latest."""
        latest = missed.begins if known is None else min(known, missed.begins)
        session = self.settings.get("session_timeout")
        if session is None:
            return min(last_sign, latest)
        guess = missed.begins - round(session * MICROSECONDS)
        return min(max(last_sign, guess), latest)

    def _vanished(
        self,
        seat: Member,
        held: dict[Partition, tuple[int, Key | None]],
        missed: _Round,
        alive: int,
    ) -> None:
        end = self._died(alive, missed)
        self._note(missed, "lost", seat.id, held, end)
        session = self.settings.get("session_timeout")
        late = max(missed.begins - end, 0) / MICROSECONDS
        counted = (
            f"counted from its last line, which is at most {late:.3f} s too early"
            if session is None or alive >= end
            else f"counted from a session timeout ({session:g} s) before that"
        )
        self.unknown.append(
            f"{seat.id}: no line tells that it left, and at {self._shown(missed.begins)} the "
            f"others began to join without it; {counted}, {self._shown(end)}"
        )
        self._release(held, seat.id, list(held), end)
        seat.ends_at, seat.ended = self._seconds(end), "gone"

    def _release(
        self,
        held: dict[Partition, tuple[int, Key | None]],
        member: str,
        gone: Iterable[Partition],
        at: int,
    ) -> None:
        for partition in sorted(gone):
            start, key = held.pop(partition)
            self.owned.append(_Owned(partition, member, start, max(at, start), key))

    def _note(
        self, into: _Round | None, name: str, member: str, partitions: Iterable[Partition], at: int
    ) -> None:
        listed = set(partitions)
        if not listed:
            return
        view = self.trailing if into is None else into.view
        if into is None:
            self.trailing_at = max(self.trailing_at, at)
        told: Held = getattr(view, name)
        told[member] = tuple(sorted({*told.get(member, ()), *listed}))

    def _without_log(self) -> None:
        """Members that only the leader's decisions tell of."""
        planned = [this for this in self.rounds.values() if this.plan is not None]
        names = {m: None for this in planned for m in (this.plan.plan if this.plan else ())}
        for member in sorted(names.keys() - self.members.keys()):
            seat = Member(member, None, None, None)
            self.members[member] = seat
            held: dict[Partition, tuple[int, Key | None]] = {}
            there = False
            for this in planned:
                assert this.plan is not None
                if member in this.plan.plan:
                    if not there:
                        seat.joins_at, there = self._seconds(this.begins), True
                        seat.ends_at = seat.ended = None
                    now = self._granted(this, member)
                    old, new = held.keys() - now, now - held.keys()
                    self._note(this, "added", member, new, this.at)
                    self._note(this, "revoked", member, old, this.at)
                    self._release(held, member, old, this.at)
                    held |= dict.fromkeys(sorted(new), (this.at, this.key))
                    this.assigned[member] = (this.at, now)
                elif there:
                    self._note(this, "lost", member, held, this.begins)
                    self._release(held, member, list(held), this.begins)
                    seat.ends_at, seat.ended, there = self._seconds(this.begins), "gone", False
            self._release(held, member, list(held), self.until)
            self.unknown.append(
                f"{member}: none of the logs is its own; when it took and gave up partitions is "
                "taken from the leader's decisions"
            )

    def _granted(self, this: _Round, member: str) -> frozenset[Partition]:
        """What the leader gave it: of what the assignor aims at, what nobody else still has."""
        assert this.plan is not None
        aim = frozenset(this.plan.plan[member])
        if this.plan.planned:
            return aim
        others = {o.partition for o in self.owned if o.start <= this.at < o.end}
        return aim - others

    def _subscriptions(self) -> None:
        for one in self.told:
            seat = self.members.get(one.member)
            if one.event.kind is Kind.SUBSCRIBED and seat is not None:
                if one.event.topics:
                    seat.topics = tuple(sorted(one.event.topics))
                seat.instance_id = seat.instance_id or one.event.instance or None

    def _first_seen(self) -> None:
        """A member is there from the round that it has part in, whenever its own log begins."""
        for this in self.rounds.values():
            for member in {*this.joined, *this.assigned, *(this.plan.plan if this.plan else ())}:
                seat = self.members[member]
                seat.joins_at = min(seat.joins_at, self._seconds(this.begins))

    # -- what it comes to

    def _views(self) -> list[Round]:
        found = []
        cooperative: bool | None = None
        listed = list(self.rounds.values())
        flags = [this.cooperative for this in listed if this.cooperative is not None]
        for this in listed:
            if this.cooperative is None and this.assignor == "cooperative-sticky":
                this.cooperative = True
            cooperative = this.cooperative if this.cooperative is not None else cooperative
            known = cooperative if cooperative is not None else (flags[0] if flags else None)
            view = this.view
            view.at, view.time = self._seconds(this.at), self._shown(this.at)
            view.generation = this.key[1]
            view.protocol = None if known is None else COOPERATIVE if known else EAGER
            view.assignor = this.assignor or None
            if this.plan is not None and this.plan.planned:
                view.assignment = dict(this.plan.plan)
            else:
                view.assignment = {m: tuple(sorted(held)) for m, (_, held) in this.assigned.items()}
            found.append(view)
        if self.trailing_at:
            self.trailing.at = self._seconds(self.trailing_at)
            self.trailing.time = self._shown(self.trailing_at)
            found.append(self.trailing)
        return found

    def _cut(self) -> list[_Owned]:
        """By partition and time, without overlaps: the later owner is the owner."""
        owned = sorted(self.owned, key=lambda o: (o.partition, o.start, o.end, o.member))
        worst: dict[tuple[str, str], int] = {}
        for one, other in pairwise(owned):
            if one.partition == other.partition and other.start < one.end:
                if one.member != other.member:
                    pair = (one.member, other.member)
                    worst[pair] = max(worst.get(pair, 0), one.end - other.start)
                one.end = other.start
        for (one_id, other_id), length in sorted(worst.items()):
            self.unknown.append(
                f"{other_id} took partitions up to {length / MICROSECONDS:.3f} s before the log of "
                f"{one_id} gives them up: their clocks differ, or both read them"
            )
        return owned

    def _presence(self) -> list[tuple[int, int]]:
        """Times at which some member is there, merged."""
        spans = sorted(
            (
                self.start + round(m.joins_at * MICROSECONDS),
                self.until if m.ends_at is None else self.start + round(m.ends_at * MICROSECONDS),
            )
            for m in self.members.values()
        )
        merged: list[tuple[int, int]] = []
        for start, end in spans:
            if merged and start <= merged[-1][1]:
                merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
            else:
                merged.append((start, end))
        return merged

    def _gaps(
        self, owned: Sequence[_Owned]
    ) -> tuple[dict[Partition, float], list[tuple[Key | None, Partition, int]]]:
        presence = self._presence()
        gaps: list[tuple[Key | None, Partition, int]] = []
        last: dict[Partition, int] = {}

        def gap(partition: Partition, start: int, end: int, key: Key | None) -> None:
            length = sum(max(min(end, b) - max(start, a), 0) for a, b in presence)
            if length:
                gaps.append((key, partition, length))

        for one in owned:
            if one.partition in last:
                gap(one.partition, last[one.partition], one.start, one.key)
            last[one.partition] = max(one.end, last.get(one.partition, 0))
        for partition, end in last.items():
            gap(partition, end, self.until, None)
        total: dict[Partition, int] = {}
        for _, partition, length in gaps:
            total[partition] = total.get(partition, 0) + length
        return {p: total[p] / MICROSECONDS for p in sorted(total)}, gaps

    def _empty(self) -> float:
        there = sum(end - start for start, end in self._presence())
        return (self.until - self.start - there) / MICROSECONDS

    def _moved(self, owned: Sequence[_Owned]) -> int:
        moved = 0
        for one, other in pairwise(owned):
            if one.partition == other.partition and one.member != other.member:
                instance = self.members[one.member].instance_id
                moved += instance is None or instance != self.members[other.member].instance_id
        return moved

    def _topics(self, owned: Sequence[_Owned]) -> dict[str, int]:
        counts: dict[str, int] = {}
        seen = [o.partition for o in owned]
        for this in self.rounds.values():
            for held in (this.plan.plan if this.plan else {}).values():
                seen += held
        for topic, number in seen:
            counts[topic] = max(counts.get(topic, 0), number + 1)
        told: dict[str, int] = {}
        for one in self.told:
            for topic, count in one.event.counts.items():
                told[topic] = max(told.get(topic, 0), count)
        guessed = sorted(counts.keys() - told.keys())
        if guessed:
            self.unknown.append(
                "partition counts: not in the logs; as many as were ever assigned: "
                + ", ".join(f"{topic} {counts[topic]}" for topic in guessed)
            )
        return {
            topic: max(counts.get(topic, 0), told.get(topic, 0))
            for topic in sorted(counts.keys() | told.keys())
        }

    def _tell_unknown(self, topics: Mapping[str, int]) -> None:
        """Sentences about what no line told."""
        silent = sorted(m.id for m in self.members.values() if not m.topics)
        if silent:
            self.unknown.append(
                f"subscriptions of {_some(silent)}: not in the logs (told at DEBUG); taken to be "
                f"{_some(sorted(topics)) or 'nothing'}"
            )
        if "session_timeout" not in self.settings:
            self.unknown.append("session timeout: not in the logs; the replay takes Kafka's 45 s")
        if not any(this.assignor for this in self.rounds.values()):
            self.unknown.append("assignor: no line names it")
        generations = [key for key in self.rounds if key[1] >= 0]
        if generations and generations[0][1] > 1:
            self.unknown.append(
                f"the logs begin in generation {generations[0][1]}: what was before is unknown"
            )
        missing = [
            number
            for one, other in pairwise(generations)
            if one[0] == other[0]
            for number in range(one[1] + 1, other[1])
        ]
        if missing:
            self.unknown.append(
                f"generations {_some([str(number) for number in missing])}: in none of the logs"
            )
        untold = sorted(
            (this.key[1], member)
            for this in self.rounds.values()
            if this.plan is None
            for member in this.joined.keys() - this.assigned.keys()
        )
        for generation, member in untold:
            self.unknown.append(
                f"generation {generation}: what {member} was assigned is in none of the logs"
            )
        if self.zones == {False}:
            self.unknown.append("time zone: no line names one; times are shown as they stand")
        elif len(self.zones) > 1:
            self.unknown.append(
                "time zone: some lines name one and others do not; those are taken as UTC"
            )


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - 8} more" if len(names) > 8 else ""
    return ", ".join(PurePath(name).name if "/" in name else name for name in names[:8]) + more
