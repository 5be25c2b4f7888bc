"""Events → every group's history: whose each line is, what rounds there were, who owned what."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from partage.consumers.history import unowned as unowned_spans
from partage.consumers.history.events import HEARTBEATS_SEEN, Event, EventKind
from partage.consumers.history.generations import Generations
from partage.consumers.history.members import GroupLines, members_of
from partage.consumers.history.missing_information import missing_information
from partage.consumers.history.model import (
    SESSION_TIMEOUT,
    History,
    MemberSession,
    RecordedSpan,
    seconds,
)
from partage.consumers.history.ownership import Ownership

_NO_GROUP = ("", "null")
_TELLS_A_HISTORY = (
    EventKind.JOINED,
    EventKind.PLAN,
    EventKind.HELD,
    EventKind.ADDED,
    EventKind.REVOKED,
    EventKind.LOST,
    EventKind.LEFT,
)


def histories(events: Iterable[Event]) -> dict[str, History]:
    """Every group's, by name. Events in any order of the files, a file's lines in order."""
    listed = list(events)
    ends = {one.source: one.at for one in listed if one.kind is EventKind.SEEN and not one.client}
    listed = [one for one in listed if one.client]
    groups: dict[tuple[str, str], set[str]] = {}
    consumers: dict[str, set[tuple[str, str, str]]] = {}
    for one in listed:
        if one.group not in _NO_GROUP:
            groups.setdefault((one.source, one.client), set()).add(one.group)
            consumers.setdefault(one.source, set()).add((one.client, one.group, one.consumer))
    # A file of one consumer shows with every line that its process lives.
    alone = {source: at for source, at in ends.items() if len(consumers.get(source, ())) == 1}
    by_group: dict[str, list[Event]] = {}
    for one in listed:
        around = groups.get((one.source, one.client), set())
        # A line without a group is the group's, where its file tells of just one.
        group = one.group or (next(iter(around)) if len(around) == 1 else "")
        if group not in _NO_GROUP:
            by_group.setdefault(group, []).append(one)
    return {
        group: _history(group, found, alone)
        for group, found in sorted(by_group.items())
        if any(one.kind in _TELLS_A_HISTORY for one in found)
    }


def _history(group: str, events: Sequence[Event], alone: Mapping[str, int]) -> History:
    lines = members_of(events)
    rounds = Generations(lines)
    start, until = min(one.at for one in events), max(one.at for one in events)
    zones = {one.zoned for one in events}
    zoned = zones == {True}
    settings = _settings(events)
    session = settings.get("session_timeout")
    ownership = Ownership(rounds, start, until, zoned, session, alone)
    for member, own in lines.of.items():
        ownership.read(member, own)
    ownership.read_plans()
    if session is None and ownership.silences:
        settings["session_timeout"] = min(seconds(min(ownership.silences)), SESSION_TIMEOUT)
    members = ownership.members
    _complete(members, lines, rounds)
    owned, overlaps = unowned_spans.one_owner_each(ownership.owned)
    there = unowned_spans.presence(members.values(), until)
    unowned = unowned_spans.without_owner(owned, there, until)
    told_counts, seen_counts = _counts(events, owned)
    topics = {
        topic: max(told_counts.get(topic, 0), seen_counts.get(topic, 0))
        for topic in sorted({*told_counts, *seen_counts})
    }
    guessed = {topic: topics[topic] for topic in topics if topic not in told_counts}
    listed = [one.decided() for one in rounds]
    return History(
        group=group,
        start=start,
        until=until,
        zoned=zoned,
        members=tuple(sorted(members.values(), key=lambda one: (one.joins, one.id))),
        rounds=(*listed, ownership.trailing) if ownership.trailing.at else tuple(listed),
        owned=tuple(owned),
        topics=topics,
        settings=settings,
        latency=rounds.latency(),
        unowned={partition: unowned[partition] for partition in sorted(unowned)},
        moved=unowned_spans.moves(owned, members),
        empty=until - start - sum(end - begin for begin, end in there),
        unknown=(
            *lines.notes,
            *ownership.unknown,
            *overlaps,
            *missing_information(
                members.values(), rounds, topics, guessed, session, settings, zones
            ),
        ),
    )


def _complete(members: Mapping[str, MemberSession], lines: GroupLines, rounds: Generations) -> None:
    """What is known of members from elsewhere than their own changes."""
    listed = [(event.member, event) for event in lines.roster]
    listed += [(one.member, one.event) for told in lines.of.values() for one in told]
    for member, event in listed:
        seat = members.get(member)
        if event.kind is EventKind.SUBSCRIBED and seat is not None:
            seat.topics = tuple(sorted(event.topics)) or seat.topics
            seat.instance_id = seat.instance_id or event.instance or None
    # A member is there from the round that it has part in, whenever its own log begins.
    for one in rounds:
        for member in one.members:
            members[member].joins = min(members[member].joins, one.begins)


def _settings(events: Iterable[Event]) -> dict[str, float]:
    """Seconds by name; the heartbeat interval also where the heartbeats show it."""
    found: dict[str, float] = {}
    for event in events:
        found |= event.settings
    beats = [
        event.settings[HEARTBEATS_SEEN] for event in events if HEARTBEATS_SEEN in event.settings
    ]
    if beats:
        del found[HEARTBEATS_SEEN]
        found.setdefault("heartbeat_interval", max(beats))
    return found


def _counts(
    events: Iterable[Event], owned: Iterable[RecordedSpan]
) -> tuple[dict[str, int], dict[str, int]]:
    """Partitions by topic: as the lines tell, and as many as were ever assigned."""
    told: dict[str, int] = {}
    seen: dict[str, int] = {}
    for event in events:
        for topic, count in event.counts.items():
            told[topic] = max(told.get(topic, 0), count)
    planned = (pair for one in events for held in one.plan.values() for pair in held)
    for topic, number in (*planned, *(one.partition for one in owned)):
        seen[topic] = max(seen.get(topic, 0), number + 1)
    return told, seen
