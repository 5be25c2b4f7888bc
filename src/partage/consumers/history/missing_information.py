"""What the logs do not contain, and what is assumed instead, in sentences."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from itertools import chain, islice, pairwise

from partage.consumers.history.generations import Generations
from partage.consumers.history.members import GroupEvents, unrotated
from partage.consumers.history.model import (
    HEARTBEAT_INTERVAL,
    SESSION_TIMEOUT,
    MemberSession,
    seconds,
)
from partage.consumers.history.timestamps import format_timestamp
from partage.consumers.protocol import COOPERATIVE
from partage.units import duration, listed

_MAX_NAMES = 8
_SET_BACK = 600
"""Seconds that a clock is set back at least; less may be a correction of the clock."""


def missing_information(
    members: Iterable[MemberSession],
    generations: Generations,
    topics: Mapping[str, int],
    guessed: Mapping[str, int],
    session_timeout: float | None,
    settings: Mapping[str, float],
    zones: Set[bool],
) -> list[str]:
    """What the logs of a group do not contain.

    - ``guessed``: the partition counts among ``topics`` that are not in the logs
    - ``session_timeout``: the one in the logs; ``settings``: those that the replay uses
    - ``zones``: whether lines have a time zone
    """
    found = []
    if guessed:
        counts = [f"{topic} {count}" for topic, count in guessed.items()]
        found.append(
            "partition counts: not in the logs; counted from the assigned partitions: "
            f"{_some(counts)}"
        )
    if silent := sorted(member.id for member in members if not member.topics):
        found.append(
            f"subscriptions of {_some(silent)}: not in the logs (needs DEBUG); taken to be "
            f"{_some(list(topics)) or 'nothing'}"
        )
    found += _settings(session_timeout, settings)
    if not any(one.assignor for one in generations):
        cooperative = {one.round.protocol for one in generations} == {COOPERATIVE}
        taken = "; taken to be cooperative-sticky, as rounds are cooperative" if cooperative else ""
        found.append(f"assignor: not in the logs{taken}")
    if not generations.listed:
        found.append("generations: not in the logs (KIP-848 has none), so there are no rounds")
    return found + _generations(generations) + _zone(zones)


def clocks_set_back(events: GroupEvents) -> list[str]:
    """Where the times of a log go back, as at the end of summer time: a sentence for each log and
    place."""
    found: dict[str, None] = {}
    for own in events.of.values():
        lines = sorted((one.event for one in own), key=lambda event: event.line)
        first = {event.source: event.at for event in reversed(lines)}
        # a stable sort: the logs, their rotated files as they were read, the lines of a file
        lines.sort(key=lambda event: (unrotated(event.source), first[event.source], event.source))
        for before, after in pairwise(lines):
            same_log = unrotated(before.source) == unrotated(after.source)
            if same_log and seconds(before.at - after.at) >= _SET_BACK:
                found[
                    f"{after.source}: times go back by {duration(seconds(before.at - after.at))} "
                    f"before line {after.line}, {format_timestamp(after.at, after.zoned)}, as at "
                    "the end of summer time; the order of events and times without an owner are "
                    "wrong: correct these times, or leave out the lines before"
                ] = None
    return list(found)


def _settings(session_timeout: float | None, settings: Mapping[str, float]) -> list[str]:
    found = []
    if session_timeout is None:
        taken = settings.get("session_timeout")
        found.append(
            "session timeout: not in the logs; the replay uses Kafka's default, "
            f"{SESSION_TIMEOUT:g} s"
            if taken is None
            else f"session timeout: not in the logs; the replay uses {taken:.3f} s, the shortest "
            "silence after which the group rebalanced without a member"
        )
    if "heartbeat_interval" not in settings:
        found.append(
            "heartbeat interval: not in the logs; the replay uses Kafka's default, "
            f"{HEARTBEAT_INTERVAL:g} s, or a third of a shorter session timeout: how long it takes "
            "until members learn of a rebalance"
        )
    return found


def _generations(generations: Generations) -> list[str]:
    found = []
    keys = [one.key for one in generations]
    if keys and keys[0][1] > 1:
        found.append(f"the logs begin in generation {keys[0][1]}: the ones before are unknown")
    gaps = [range(a[1] + 1, b[1]) for a, b in pairwise(keys) if a[0] == b[0]]
    if missing := sum(map(len, gaps)):
        first = [str(number) for number in islice(chain.from_iterable(gaps), _MAX_NAMES)]
        found.append(f"generations {_some(first, missing)}: in none of the logs")
    for one in generations:
        if one.plan is None:
            found += [
                f"generation {one.key[1]}: the assignment of {member} is in none of the logs"
                for member in sorted(one.joined.keys() - one.assigned.keys())
            ]
    return found


def _zone(zones: Set[bool]) -> list[str]:
    if zones == {False}:
        return ["time zone: not in the logs; times are shown as they are"]
    if len(zones) > 1:
        return ["time zone: in some lines only; times without one are taken as UTC"]
    return []


def _some(names: Sequence[str], count: int | None = None) -> str:
    """The first names, and how many more of the ``count`` there are (default: all are given)."""
    return listed(names, _MAX_NAMES, count)
