"""Replay a group's history: the same membership with other assignors and protocols.

The membership becomes a ``Scenario``: a member that left leaves, as does one whose log is missing;
one that ended without a log line crashes when it fell silent. The session timeout, the heartbeat
interval and the latency are those of the logs, or Kafka's defaults. Subscriptions and partition
counts are those of ``History``.

Nothing happens in a stable group. So the time between two changes is shortened to what a group
needs at most to become stable, and a history of weeks is simulated in a moment. After the last
change the scenario continues for that long, so that no rebalance is counted in part.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

from partage.consumers.assignors import ASSIGNORS
from partage.consumers.history.model import (
    HEARTBEAT_INTERVAL,
    SESSION_TIMEOUT,
    History,
    MemberSession,
    seconds,
)
from partage.consumers.history.saving import KAFKA
from partage.consumers.protocol import CONSUMER, PROTOCOLS
from partage.consumers.record_flow import OwnershipSpan
from partage.consumers.scenario import CONSUMER_HEARTBEAT, Scenario, ScenarioMember
from partage.consumers.simulation import SimulatedRound, Simulation, simulate
from partage.errors import PartageError

_STABLE_AFTER = 20
"""Heartbeats after which a group is stable; three rounds need a few."""
_MIN_SECONDS = 0.001
_LONGEST_COMMON = 60.0
"""Seconds."""


def scenario_of(history: History, *, shortened: bool = True) -> Scenario:
    """The membership as a scenario, by member id. ``shortened``: with shorter times between
    changes, and time to become stable at the end."""
    session = history.settings.get("session_timeout", SESSION_TIMEOUT)
    beat = min(history.settings.get("heartbeat_interval", HEARTBEAT_INTERVAL), session / 3)
    stays = [_stay(member, history) for member in history.members]
    until = history.since_start(history.until)
    quiet = session + _STABLE_AFTER * beat
    times = [0.0, until, *(time for stay in stays for time in stay)]
    at = _shortening(times, quiet, _common(beat)) if shortened else float
    members = tuple(
        ScenarioMember(
            id=member.id,
            topics=_topics(member, history),
            joins_at=at(joins),
            leaves_at=None if member.ended is None or member.crashed else at(ends),
            crashes_at=at(ends) if member.crashed else None,
            instance_id=member.instance_id,
        )
        for member, (joins, ends) in zip(history.members, stays, strict=True)
    )
    generations = [one.generation for one in history.rounds if one.generation is not None]
    return Scenario(
        topics=dict(history.topics),
        members=members,
        until=at(until) + quiet if shortened else max(until, _MIN_SECONDS),
        session_timeout=session,
        heartbeat_interval=beat,
        latency=min(seconds(history.latency), beat / 4),
        generation=max(generations[0] - 1, 0) if generations else 0,
    )


def replay(scenario: Scenario, assignor: str, protocol: str) -> dict[str, Any]:
    """``moved``, ``unowned_partition_seconds`` and ``rounds`` (those with members, as in the logs),
    or ``cannot``: the reason."""
    try:
        found = simulate(scenario, assignor, protocol)
    except PartageError as why:
        return {"cannot": str(why)}
    return {
        "moved": found.moved,
        "unowned_partition_seconds": round(found.unowned, 3),
        "rounds": sum(bool(one.assignment) for one in found.rounds),
    }


def cases() -> list[tuple[str, str]]:
    """(assignor, protocol): Kafka's assignors under both protocols, and the broker's default. Other
    assignors need what logs do not contain: loads, lags, priorities or tasks."""
    classic = [(name, protocol) for name in ASSIGNORS if name in KAFKA for protocol in PROTOCOLS]
    return [*classic, ("uniform", CONSUMER)]


def to_text(scenario: Scenario) -> str:
    """A scenario as SCENARIO.json."""
    return json.dumps(asdict(scenario), sort_keys=True)


def as_simulation(history: History, names: Mapping[str, str]) -> Simulation:
    """The history as a simulation with other names of the members, for pictures."""
    scenario = scenario_of(history, shortened=False)
    members = tuple(replace(member, id=names[member.id]) for member in scenario.members)
    since = history.since_start
    return Simulation(
        scenario=replace(scenario, members=members),
        assignor="",
        protocol="",
        rounds=tuple(
            SimulatedRound(since(one.at), one.generation, {})
            for one in history.rounds
            if one.generation is not None
        ),
        spans=tuple(
            OwnershipSpan(one.partition, names[one.member], since(one.start), since(one.end))
            for one in history.owned
            if one.end > one.start
        ),
        unowned=0.0,
        moved=0,
        refused={},
        violations=(),
    )


def _topics(member: MemberSession, history: History) -> tuple[str, ...]:
    if not member.topics:
        return tuple(history.topics)
    return tuple(topic for topic in member.topics if topic in history.topics)


def _stay(member: MemberSession, history: History) -> tuple[float, float]:
    end = history.until if member.ends is None else member.ends
    return history.since_start(member.joins), history.since_start(max(end, member.joins))


def _common(beat: float) -> float:
    """A multiple of the clients' heartbeat interval and of the broker's, so that both kinds of
    replay are shortened alike; where it would be long, the clients' alone."""
    found = math.lcm(max(round(1000 * beat), 1), round(1000 * CONSUMER_HEARTBEAT)) / 1000
    return found if found <= _LONGEST_COMMON else beat


def _shortening(times: Sequence[float], quiet: float, beat: float) -> Callable[[float], float]:
    """Maps times so that no time between two changes is much longer than ``quiet`` seconds. Whole
    heartbeat intervals are left out, so that every event stays at the same place between two
    heartbeats."""
    new: dict[float, float] = {}
    before, now = 0.0, 0.0
    for time in sorted(set(times)):
        cut = max(time - before - quiet, 0.0) // beat
        now += time - before - cut * beat
        new[time], before = now, time
    return new.__getitem__
