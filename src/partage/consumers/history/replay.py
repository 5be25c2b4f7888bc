"""A group's history played again: the same members, under other assignors and protocols.

Who was there from when to when becomes a ``Scenario``: who left leaves, who went without a word
crashes when it fell silent, and the session timeout and heartbeat interval are those of the logs or
else Kafka's. Subscriptions and partition counts that no log tells are those of ``History``.

Nothing happens in a stable group, however long it lasts. So the quiet between two changes is
shortened to what a group needs at most to settle, and a history of weeks is played in a moment.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from partage.consumers.assignors import ASSIGNORS
from partage.consumers.history.groups import History, Member
from partage.consumers.protocol import PROTOCOLS
from partage.consumers.scenario import Actor, Scenario
from partage.consumers.simulation import Round, Simulation, simulate
from partage.errors import PartageError

_SESSION_TIMEOUT, _HEARTBEAT_INTERVAL = 45.0, 3.0
_SETTLES = 20
"""Heartbeats after which a group has settled; three rounds need a few."""
_LEAST = 0.001


def scenario_of(history: History, *, shortened: bool = True) -> Scenario:
    """The membership as a scenario, by member id; ``shortened``: with its quiet times cut."""
    session = history.settings.get("session_timeout", _SESSION_TIMEOUT)
    beat = min(history.settings.get("heartbeat_interval", _HEARTBEAT_INTERVAL), session / 3)
    times = [0.0, history.until]
    for member in history.members:
        times += [member.joins_at, _end(member, history)]
    quiet = session + _SETTLES * beat
    at = _shortening(times, quiet) if shortened else float
    members = []
    for member in history.members:
        joins, ends = at(member.joins_at), at(_end(member, history))
        members.append(
            Actor(
                id=member.id,
                topics=_topics(member, history),
                joins_at=joins,
                leaves_at=ends if member.ended == "left" else None,
                crashes_at=ends if member.ended == "gone" else None,
                instance_id=member.instance_id,
            )
        )
    generations = [one.generation for one in history.rounds if one.generation is not None]
    return Scenario(
        topics=dict(history.topics),
        members=tuple(members),
        until=max(at(history.until), _LEAST),
        session_timeout=session,
        heartbeat_interval=beat,
        generation=max(generations[0] - 1, 0) if generations else 0,
    )


def replay(scenario: Scenario, assignor: str, protocol: str) -> dict[str, Any]:
    """``moved``, ``unowned_partition_seconds`` and ``rounds``, or ``cannot``: why not."""
    try:
        found = simulate(scenario, assignor, protocol)
    except PartageError as why:
        return {"cannot": str(why)}
    return {
        "moved": found.moved,
        "unowned_partition_seconds": round(found.unowned, 3),
        "rounds": len(found.rounds),
    }


def cases() -> list[tuple[str, str]]:
    """(assignor, protocol), all that there are."""
    return [(assignor, protocol) for assignor in ASSIGNORS for protocol in PROTOCOLS]


def to_text(scenario: Scenario) -> str:
    """A scenario as SCENARIO.json has it."""
    return json.dumps(asdict(scenario), sort_keys=True)


def as_simulation(history: History, names: Mapping[str, str]) -> Simulation:
    """What was observed in the form of what is simulated, members by other names: for pictures."""
    scenario = asdict(scenario_of(history, shortened=False))
    members = [Actor(**{**actor, "id": names[actor["id"]]}) for actor in scenario.pop("members")]
    last = history.rounds[-1] if history.rounds else None
    return Simulation(
        scenario=Scenario(members=tuple(members), **scenario),
        assignor=(last.assignor if last else None) or "unknown",
        protocol=(last.protocol if last else None) or "unknown",
        rounds=tuple(Round(one.at, one.generation or 0, {}) for one in history.rounds),
        spans=tuple(
            type(span)(span.partition, names[span.member], span.start, span.end)
            for span in history.spans
        ),
        unowned=history.unowned_seconds,
        moved=history.moved,
        refused={},
        violations=(),
    )


def _topics(member: Member, history: History) -> tuple[str, ...]:
    if not member.topics:
        return tuple(history.topics)
    return tuple(topic for topic in member.topics if topic in history.topics)


def _end(member: Member, history: History) -> float:
    end = history.until if member.ends_at is None else member.ends_at
    return max(end, member.joins_at)


def _shortening(times: Sequence[float], quiet: float) -> Callable[[float], float]:
    """A time → the time when no stretch without a change is longer than ``quiet``."""
    new: dict[float, float] = {}
    before, now = 0.0, 0.0
    for time in sorted(set(times)):
        now += min(time - before, quiet)
        new[time], before = now, time
    return new.__getitem__
