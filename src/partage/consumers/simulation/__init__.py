"""Simulate a scenario: which member owns which partition when.

``run`` plays the scenario. What the members hold gives the spans of ``ownership``, and these give
the lag of every partition (``consumers.record_flow``) in the ``result``.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace

from partage.consumers.applications.registry import APPLICATIONS
from partage.consumers.assignors import assignor_name, check_mode, find_assignor, refuse_own
from partage.consumers.protocol import (
    CONSUMER,
    COOPERATIVE,
    PROTOCOLS,
    ConsumerGroupCoordinator,
    Coordinator,
    MigratingCoordinator,
    MixedGroupCoordinator,
    make_broker_assignor,
)
from partage.consumers.protocol.coordinator import MemberIds
from partage.consumers.scenario import Scenario, ScenarioMember
from partage.consumers.simulation.result import SimulatedRound, Simulation
from partage.consumers.simulation.run import Run
from partage.errors import InputError, shown

__all__ = ["SimulatedRound", "Simulation", "simulate"]

_REMOTE = "group.remote.assignor"
"""In a consumer's configuration: what it asks the broker for."""


def simulate(
    scenario: Scenario | str | os.PathLike[str],
    assignor: str | Sequence[str] = (),
    protocol: str | None = None,
    mode: str | None = None,
) -> Simulation:
    """Simulate a consumer group over time: its rounds, owners and lag.

    - ``scenario``: a Scenario, or the path of a SCENARIO.json file
    - ``assignor``: for the members that do not list their own assignors; a registered name or
      ``module:Class``, or several, the preferred one first
    - ``protocol``: ``eager`` or ``cooperative``: what members revoke, and when; by default what all
      assignors of a member support. Streams and connect are always cooperative. ``consumer``: the
      broker assigns (KIP-848), with uniform, its default, or range, or what a member's ``config``
      has as ``group.remote.assignor``; the members' lists do not count. Without ``consumer``, only
      the members whose ``config`` has ``group.protocol=consumer`` speak it
    - ``mode``: as for ``partage.assign``; applies to the assignors that have modes

    Raises InputError for an unknown name and for a mode that no assignor of the scenario has.
    """
    scenario = Scenario.of(scenario)
    if protocol not in (None, *PROTOCOLS, CONSUMER):
        expected = ", ".join((*PROTOCOLS, CONSUMER))
        raise InputError(f"protocol {shown(protocol)}", f"expected one of {expected}")
    default = [assignor_name(n) for n in ([assignor] if isinstance(assignor, str) else assignor)]
    every = all(member.speaks_consumer for member in scenario.members)
    if protocol == CONSUMER or (protocol is None and (every or default == ["uniform"])):
        return _simulate_consumer_protocol(scenario, default, mode)
    scenario = _with_assignors(scenario, default)
    classic = [member for member in scenario.members if not member.speaks_consumer]
    listed = (name for member in classic for name in member.assignors)
    names = list(dict.fromkeys((*default, *listed)))
    assignors = {name: find_assignor(name) for name in names}
    check_mode(mode, assignors)
    application = next((APPLICATIONS[name] for name in names if name in APPLICATIONS), None)
    if application is not None:
        _check_application(scenario, application.assignor, names)
        if protocol not in (None, COOPERATIVE):
            problem = f"members of {application.assignor} are always {COOPERATIVE}: leave it out"
            raise InputError(f"protocol {shown(protocol)}", problem)
        protocol = COOPERATIVE
        members = [
            replace(member, topics=member.subscription(scenario.topics), pattern=None)
            for member in scenario.members
        ]
        scenario = replace(scenario, members=tuple(members))
    mixed = len(classic) < len(scenario.members)
    if mixed and application is not None:
        problem = "members with group.protocol=consumer: leave them out"
        raise InputError(f"assignor {application.assignor}", problem)
    coordinator = _migrating(scenario, mode) if mixed else _classic(scenario)
    run = Run(scenario, protocol, assignors, mode, coordinator, application)
    return run.play(", ".join(default or names))


def _simulate_consumer_protocol(
    scenario: Scenario, default: Sequence[str], mode: str | None
) -> Simulation:
    """Simulate with the consumer protocol; see ``simulate``."""
    _check_heartbeats(scenario)
    default = default or ["uniform"]
    if len(default) > 1:
        raise InputError("assignor", f"{', '.join(default)}: protocol consumer takes one")
    scenario = replace(
        scenario,
        members=tuple(_asking_broker(member, default[0]) for member in scenario.members),
    )
    names = dict.fromkeys(name for member in scenario.members for name in member.assignors)
    assignors = {name: find_assignor(name, CONSUMER) for name in names}
    check_mode(mode, assignors)
    coordinator = ConsumerGroupCoordinator(
        make_broker_assignor(mode, scenario.racks),
        scenario.generation,
        scenario.topics,
        scenario.session_timeout,
        scenario.assignment_interval,
    )
    return Run(scenario, CONSUMER, assignors, mode, coordinator).play(", ".join(names))


def _check_heartbeats(scenario: Scenario) -> None:
    if scenario.consumer_heartbeat_interval >= scenario.session_timeout:
        problem = "expected less than session_timeout"
        raise InputError("consumer_heartbeat_interval", problem)


def _asking_broker(member: ScenarioMember, default: str) -> ScenarioMember:
    """A member of the consumer protocol with the broker's assignor that it asks for as its list."""
    asked = member.config.get(_REMOTE)
    with _named_by(member, None if asked is None else f"config: {_REMOTE}"):
        asked = default if asked is None else asked
        refuse_own(asked)
        if asked not in ("uniform", "range"):
            problem = "protocol consumer needs one of uniform, range"
            raise InputError(f"assignor {shown(asked)}", problem)
    return replace(member, assignors=(assignor_name(asked),))


@contextmanager
def _named_by(member: ScenarioMember, key: str | None) -> Iterator[None]:
    """Name the member and its ``key`` in an error about an assignor, unless it is None."""
    try:
        yield
    except InputError as error:
        if key is None:
            raise
        raise InputError(f"members: {member.id!r}: {key}", str(error)) from None


def _classic(scenario: Scenario) -> Coordinator:
    return Coordinator(scenario.generation, initial_delay=scenario.initial_delay)


def _migrating(scenario: Scenario, mode: str | None) -> MigratingCoordinator:
    """The coordinator of members of both protocols."""
    _check_heartbeats(scenario)
    assign = make_broker_assignor(mode, scenario.racks)

    def mixed(epoch: int, ids: MemberIds, topics: Mapping[str, int]) -> MixedGroupCoordinator:
        timeout, interval = scenario.session_timeout, scenario.assignment_interval
        return MixedGroupCoordinator(assign, epoch, topics, timeout, interval, ids=ids)

    return MigratingCoordinator(scenario.generation, scenario.initial_delay, scenario.topics, mixed)


def _with_assignors(scenario: Scenario, default: Sequence[str]) -> Scenario:
    """The scenario with a list of assignors for every member."""
    members = []
    for member in scenario.members:
        if member.speaks_consumer:
            members.append(_asking_broker(member, "uniform"))
            continue
        names = tuple(dict.fromkeys(map(assignor_name, member.assignors or default)))
        if not names:
            problem = f"is missing: member {member.id!r} does not list its own assignors"
            raise InputError("assignor", problem)
        if "share" in names:
            problem = "share groups are not simulated: name another, or use assign"
            raise InputError("assignor share", problem)
        with _named_by(member, "assignors"):
            for name in member.assignors:
                find_assignor(name)
        members.append(replace(member, assignors=names))
    return replace(scenario, members=tuple(members))


def _check_application(scenario: Scenario, assignor: str, names: Collection[str]) -> None:
    """Raise InputError where Streams or Connect cannot be simulated."""
    if getattr(scenario, assignor) is None:
        raise InputError(f"assignor {assignor}", f"the scenario has no {assignor} object")
    if scenario.topic_changes:
        raise InputError(f"assignor {assignor}", "topic_changes of the scenario: leave them out")
    if len(names) > 1:
        others = ", ".join(sorted(set(names) - {assignor}))
        raise InputError(f"assignor {assignor}", f"members list other assignors, too: {others}")
