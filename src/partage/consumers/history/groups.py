"""Events → the history of every group."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from partage.consumers.history.events import HEARTBEATS_SEEN, Event, EventKind
from partage.consumers.history.generations import Generations
from partage.consumers.history.members import GroupEvents, members_of, unrotated
from partage.consumers.history.missing_information import clocks_set_back, missing_information
from partage.consumers.history.model import (
    SESSION_TIMEOUT,
    History,
    MemberSession,
    RecordedSpan,
    seconds,
)
from partage.consumers.history.ownership import Ownership
from partage.consumers.history.unowned import (
    count_moves,
    presence,
    unowned_times,
    without_overlaps,
)

_NO_GROUP = ("", "null")
_SHOWS_OWNERS = (EventKind.PLAN, EventKind.HELD, EventKind.ADDED)
_MAKES_A_HISTORY = (
    *_SHOWS_OWNERS,
    EventKind.JOINED,
    EventKind.REVOKED,
    EventKind.LOST,
    EventKind.LEFT,
)


class EventGroups:
    """Finds the group of every event of one log. An event without a group belongs to the only group
    of its client in the log, which is known at the end."""

    def __init__(self) -> None:
        self._consumers: set[tuple[str, str, str]] = set()  # client, group, consumer
        self._waiting: list[tuple[int, Event]] = []

    def add(self, place: int, event: Event) -> str:
        """Add the next event, and return its group; empty if that is not known yet, or if the event
        has none. ``place``: its number in the log."""
        if event.group in _NO_GROUP or not event.client:
            if not event.group:
                self._waiting.append((place, event))
            return ""
        self._consumers.add((event.client, event.group, event.consumer))
        return event.group

    def rest(self) -> Iterator[tuple[int, str, Event]]:
        """Place, group and event of those whose group was not known before the end."""
        for place, event in self._waiting:
            # Every line of a log with a single consumer shows that its process is alive.
            if _is_end(event):
                own = [group for _, group, _ in self._consumers]
            else:
                own = list({group for of, group, _ in self._consumers if of == event.client})
            if len(own) == 1:
                yield place, own[0], event


def _is_end(event: Event) -> bool:
    """Whether it is the last line of a log, of any client or none."""
    return event.kind is EventKind.SEEN and not event.client


def history_of(group: str, events: Iterable[Event]) -> History | None:
    """The history of one group from its events, those of a log in order; None where they make
    none."""
    listed = list(events)
    if not any(one.kind in _MAKES_A_HISTORY for one in listed):
        return None
    alive_until = {unrotated(one.source): one.at for one in listed if _is_end(one)}
    return _history(group, [one for one in listed if not _is_end(one)], alive_until)


def _history(group: str, events: Sequence[Event], alive_until: Mapping[str, int]) -> History:
    by_member = members_of(events)
    generations = Generations(by_member)
    start, until = min(one.at for one in events), max(one.at for one in events)
    zones = {one.zoned for one in events}
    zoned = zones == {True}
    settings = _settings(events)
    session_timeout = settings.get("session_timeout")
    ownership = Ownership(generations, start, until, zoned, settings, alive_until)
    for member, own in by_member.of.items():
        ownership.read(member, own)
    ownership.read_plans()
    ownership.end_replaced()
    if session_timeout is None and ownership.silences:
        shortest = seconds(min(ownership.silences))
        if shortest < SESSION_TIMEOUT:  # a longer one does not contradict Kafka's default
            settings["session_timeout"] = shortest
    members = ownership.members
    _complete(members, by_member, generations)
    owners_known = any(map(_shows_owners, events))
    spans, overlaps = without_overlaps(ownership.spans)
    present = presence(members.values(), until)
    unowned = unowned_times(spans, present, until)
    topics, guessed = _partition_counts(events, spans)
    rounds = [one.assigned_round() for one in generations]
    if ownership.trailing.at:
        rounds.append(ownership.trailing)
    return History(
        group=group,
        start=start,
        until=until,
        zoned=zoned,
        members=tuple(sorted(members.values(), key=lambda one: (one.joins, one.id))),
        rounds=tuple(rounds),
        owned=tuple(spans),
        topics=topics,
        settings=settings,
        latency=generations.latency(),
        unowned={partition: unowned[partition] for partition in sorted(unowned)},
        moved=count_moves(spans, members),
        owners_known=owners_known,
        empty=until - start - sum(end - begin for begin, end in present),
        unknown=(
            *by_member.notes,
            *ownership.unknown,
            *overlaps,
            *clocks_set_back(by_member),
            *_missing_owners(by_member, owners_known),
            *missing_information(
                members.values(), generations, topics, guessed, session_timeout, settings, zones
            ),
        ),
    )


def _missing_owners(events: GroupEvents, owners_known: bool) -> list[str]:
    """Whose partitions no line shows, in sentences."""
    if not owners_known:
        return [
            "owners: no line shows which member owned a partition, so moves and time without an "
            "owner are unknown"
        ]
    return [
        f"{member}: no line shows what it owned; its partitions count as without an owner"
        for member, own in events.of.items()
        if not any(_shows_owners(one.event) for one in own)
    ]


def _shows_owners(event: Event) -> bool:
    return event.kind in _SHOWS_OWNERS or bool(event.partitions)


def _complete(
    members: Mapping[str, MemberSession], events: GroupEvents, generations: Generations
) -> None:
    """Fill in what events other than the changes of ownership contain about the members."""
    listed = [(event.member, event) for event in events.subscriptions]
    listed += [(one.member, one.event) for own in events.of.values() for one in own]
    for member, event in listed:
        session = members.get(member)
        if event.kind is EventKind.SUBSCRIBED and session is not None:
            session.topics = tuple(sorted(event.topics)) or session.topics
            session.instance_id = session.instance_id or event.instance or None
    # A member is present from the first generation that it is in, even if its log begins later.
    for one in generations:
        for member in one.members:
            members[member].joins = min(members[member].joins, one.begins)


def _settings(events: Sequence[Event]) -> dict[str, float]:
    """Seconds by name. The heartbeat interval may also follow from the heartbeats."""
    found: dict[str, float] = {}
    for event in events:
        found |= {name: value for name, value in event.settings.items() if value > 0}
    if HEARTBEATS_SEEN in found:
        del found[HEARTBEATS_SEEN]
        beats = (event.settings.get(HEARTBEATS_SEEN, 0) for event in events)
        found.setdefault("heartbeat_interval", max(beats))
    return found


def _partition_counts(
    events: Iterable[Event], spans: Iterable[RecordedSpan]
) -> tuple[dict[str, int], dict[str, int]]:
    """Partition counts by topic, and those of them that are not in the logs but follow from the
    partitions that were ever assigned."""
    logged: dict[str, int] = {}
    assigned: dict[str, int] = {}
    for event in events:
        for topic, count in event.counts.items():
            logged[topic] = max(logged.get(topic, 0), count)
    planned = (pair for one in events for held in one.plan.values() for pair in held)
    for topic, number in (*planned, *(span.partition for span in spans)):
        assigned[topic] = max(assigned.get(topic, 0), number + 1)
    topics = {
        topic: max(logged.get(topic, 0), assigned.get(topic, 0))
        for topic in sorted({*logged, *assigned})
    }
    return topics, {topic: topics[topic] for topic in topics if topic not in logged}
