"""What an assignor and a protocol make of a scenario: who owns what when, and what that costs.

The members of the scenario play on the virtual clock of ``consumers.protocol``. Their heartbeats
are not in step, unless the scenario says so: after an assignment, member k of M beats for the first
time after k/M of the interval, so that they learn of a rebalance one after the other, the last
after a whole interval. In step, each beats a whole interval after it.
From what they hold the spans of ownership follow, and from those how the records fare
(``consumers.record_flow``).

A partition has no owner while some running member subscribes to its topic and none holds it. It has
moved when it comes to another member than the one that held it last; a static member that comes
back as another process is the same member.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from partage.consumers.assign import MODES
from partage.consumers.assignors import Assignor, find_assignor
from partage.consumers.protocol import (
    COOPERATIVE,
    PROTOCOLS,
    Coordinator,
    Network,
    Partition,
    SimulatedConsumer,
    State,
    make_leader,
)
from partage.consumers.protocol.leader import Leader
from partage.consumers.record_flow import LagCurve, OwnershipSpan, PushLoad, empty_polls, pull, push
from partage.consumers.scenario import Scenario, ScenarioMember
from partage.errors import InputError

Held = dict[str, tuple[Partition, ...]]


@dataclass
class SimulatedRound:
    """A generation that got its assignment (or was left by its last member), and what its members
    were told on the way: before they joined and after. ``lost`` also says what a member had that
    was put out without hearing of it."""

    at: float
    generation: int
    assignment: Held
    added: Held = field(default_factory=dict)
    revoked: Held = field(default_factory=dict)
    lost: Held = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """The value in ``rounds``."""
        parts = {name: getattr(self, name) for name in ("assignment", "added", "revoked", "lost")}
        return {
            "at": round(self.at, 3),
            "generation": self.generation,
            **{
                name: {member: [list(p) for p in held[member]] for member in sorted(held)}
                for name, held in parts.items()
            },
        }


@dataclass(frozen=True)
class Simulation:
    """What happened.

    - ``spans``: who owned what when; ``unowned``: partition-seconds without an owner
    - ``moved``: times that a partition came to another member
    - ``refused``: members that the coordinator turned away, with its message
    - ``violations``: of what the protocol promises, in sentences
    """

    scenario: Scenario
    assignor: str
    protocol: str
    rounds: tuple[SimulatedRound, ...]
    spans: tuple[OwnershipSpan, ...]
    unowned: float
    moved: int
    refused: Mapping[str, str]
    violations: tuple[str, ...]

    @cached_property
    def produce(self) -> dict[Partition, float]:
        """Records per second into each partition."""
        return {
            (topic, number): float(self.scenario.produce.get(topic, 0.0))
            for topic in sorted(self.scenario.topics)
            for number in range(self.scenario.topics[topic])
        }

    @property
    def actors(self) -> dict[str, ScenarioMember]:
        """Members by id."""
        return {actor.id: actor for actor in self.scenario.members}

    @cached_property
    def lag(self) -> dict[Partition, LagCurve]:
        """Records that wait in each partition, over time, when members pull."""
        return pull(self.spans, self.produce, self.actors, self.scenario.until)

    @cached_property
    def pushed(self) -> dict[str, PushLoad]:
        """What would happen to each member if the broker pushed."""
        return push(self.spans, self.produce, self.actors, self.scenario.until)

    @cached_property
    def empty_polls(self) -> dict[str, int | None]:
        """Polls that returned nothing, None for a member that spins."""
        return empty_polls(self.spans, self.lag, self.produce, self.actors, self.scenario.until)

    def to_json(self) -> dict[str, Any]:
        """The value that ``simulate --json`` prints."""
        return {
            "rounds": [found.to_json() for found in self.rounds],
            "unowned_partition_seconds": round(self.unowned, 3),
            "moved": self.moved,
            "lag": {
                f"{topic}-{number}": [[round(at, 3), round(lag, 3)] for at, lag in curve]
                for (topic, number), curve in self.lag.items()
            },
            "push": {
                name: {
                    "buffered": round(found.most, 3),
                    "overrun_at": None if found.overrun_at is None else round(found.overrun_at, 3),
                    "overrun": round(found.overrun, 3),
                }
                for name, found in self.pushed.items()
            },
            "empty_polls": self.empty_polls,
            "refused": dict(self.refused),
            "invariants": list(self.violations) if self.violations else "hold",
        }


def simulate(
    scenario: Scenario,
    assignor: str,
    protocol: str = "eager",
    mode: str = "optimal",
) -> Simulation:
    """Play the scenario. ``assignor`` is for members that list none of their own. Raises
    InputError."""
    if protocol not in PROTOCOLS:
        raise InputError("--protocol", f"{protocol!r}: expected one of {', '.join(PROTOCOLS)}")
    if mode not in MODES:
        raise InputError("--mode", f"{mode!r}: expected one of {', '.join(MODES)}")
    names = {assignor}.union(*(actor.assignors for actor in scenario.members))
    # made once: one of a user's own goes on with its state from round to round
    assignors = {name: find_assignor(name) for name in sorted(names)}
    watched = _Watch(scenario, assignor, protocol, _leader(scenario, assignors, mode))
    watched.play()
    return Simulation(
        scenario=scenario,
        assignor=assignor,
        protocol=protocol,
        rounds=tuple(watched.rounds),
        spans=tuple(watched.spans),
        unowned=watched.unowned,
        moved=watched.moved,
        refused=watched.refused,
        violations=tuple(watched.violations),
    )


def _leader(scenario: Scenario, assignors: Mapping[str, Assignor], mode: str) -> Leader:
    rates = {t: scenario.produce.get(t, 0.0) for t in scenario.topics}
    weights = None
    if any(rates.values()):  # whole numbers, for assignors that go by load
        weights = {t: [round(1000 * rates[t])] * n for t, n in scenario.topics.items()}
    return make_leader(scenario.topics, assignors, mode=mode, racks=scenario.racks, weights=weights)


class _Watch:
    """Plays a scenario and writes down what it sees after every event."""

    def __init__(self, scenario: Scenario, assignor: str, protocol: str, lead: Leader) -> None:
        self.scenario = scenario
        self.protocol = protocol
        self.network = Network(
            Coordinator(scenario.generation, initial_delay=scenario.initial_delay),
            lambda: scenario.latency,
        )
        self.rounds: list[SimulatedRound] = []
        self.spans: list[OwnershipSpan] = []
        self.unowned = 0.0
        self.moved = 0
        self.refused: dict[str, str] = {}
        self.violations: list[str] = []
        self._next = SimulatedRound(
            0.0, 0, {}
        )  # collects what is told before its generation begins
        self._seen: dict[str, tuple[int, bool, bool]] = {}
        self._expelled = 0
        self._lost: set[tuple[str, Partition]] = set()
        self._held: dict[str, frozenset[Partition]] = {}
        self._holders: dict[Partition, list[str]] = {}
        self._start: dict[Partition, float] = {}
        self._last: dict[Partition, str] = {}
        self._without = 0
        self._since = 0.0
        self._state: tuple[object, ...] = ()
        self._consumers: dict[str, SimulatedConsumer] = {}
        members = scenario.members
        for number, actor in enumerate(members):
            consumer = SimulatedConsumer(
                actor.id,
                actor.topics,
                actor.assignors or (assignor,),
                lead,
                protocol=protocol,
                instance_id=actor.instance_id,
                rack=actor.rack,
                priority=actor.priority,
                session_timeout=scenario.session_timeout,
                rebalance_timeout=scenario.rebalance_timeout,
                heartbeat_interval=scenario.heartbeat_interval,
                beat_after=scenario.heartbeat_interval
                * (1 if scenario.in_step else (number + 1) / len(members)),
            )
            self._consumers[actor.id] = consumer
            self._plan(actor, consumer)

    def _plan(self, actor: ScenarioMember, consumer: SimulatedConsumer) -> None:
        at, until = self.network.at, self.scenario.until
        if actor.joins_at <= until:
            at(actor.joins_at, lambda: self.network.start(consumer))
        if actor.leaves_at is not None and actor.leaves_at <= until:
            at(actor.leaves_at, lambda: self.network.close(actor.id))
        if actor.crashes_at is not None and actor.crashes_at <= until:
            at(actor.crashes_at, lambda: self.network.crash(actor.id))

    def play(self) -> None:
        """From the start to the end."""
        network, until = self.network, self.scenario.until
        while network.step(until):
            self._look()
        network.now = until
        self._account()
        for partition, holders in self._holders.items():
            self._span(partition, holders[0], self._start[partition])
        self.spans.sort(key=lambda span: (span.partition, span.start))
        if network.settled() and self._without:
            self.violations.append(
                f"at {until:g} s all is quiet and {self._without} partitions have no owner"
            )

    def _look(self) -> None:
        coordinator, touched = self.network.coordinator, sorted(self.network.touched)
        state = (
            coordinator.generation,
            coordinator.state,
            len(coordinator.expelled),
            len(coordinator.seats),
        )
        news = {client: self._news(client) for client in touched}
        self.network.touched.clear()
        if state == self._state and all(self._seen.get(c) == news[c] for c in touched):
            return
        self._state = state
        self._account()
        self._expulsions()
        self._new_round()
        for client in touched:
            consumer = self._consumers[client]
            for call in consumer.calls[self._seen.get(client, (0,))[0] :]:
                self._call(client, call.kind, call.partitions, call.generation)
            if consumer.error is not None and client not in self.refused:
                self.refused[client] = f"{consumer.error.name}: {consumer.error.value}"
        self._seen.update(news)
        self._owners()

    def _news(self, client: str) -> tuple[int, bool, bool]:
        """What can be new about a process: callbacks, whether it runs, whether it gave up."""
        consumer = self._consumers[client]
        return len(consumer.calls), client in self.network.processes, consumer.error is not None

    def _account(self) -> None:
        self.unowned += self._without * (self.network.now - self._since)
        self._since = self.network.now

    def _expulsions(self) -> None:
        for _, client, _ in self.network.coordinator.expelled[self._expelled :]:
            held = tuple(sorted(self._consumers[client].held))
            if held:
                _add(self._next.lost, client, held)
                self._lost.update((client, partition) for partition in held)
        self._expelled = len(self.network.coordinator.expelled)

    def _new_round(self) -> None:
        coordinator = self.network.coordinator
        known = self.rounds[-1].generation if self.rounds else self.scenario.generation
        if coordinator.generation == known:
            return
        if coordinator.state in (State.STABLE, State.EMPTY):
            found, self._next = self._next, SimulatedRound(0.0, 0, {})
            found.at, found.generation = self.network.now, coordinator.generation
            found.assignment = {s.client: s.assignment for s in coordinator.seats.values()}
            self.rounds.append(found)

    def _call(
        self, client: str, kind: str, partitions: tuple[Partition, ...], generation: int | None
    ) -> None:
        into = self._next
        if generation is not None:
            into = next(r for r in reversed(self.rounds) if r.generation == generation)
            if client not in into.assignment:
                into = self._taken_over(client, into)
            if kind == "revoked":
                self._check_revoked(client, partitions, into)
        elif kind == "revoked" and self.protocol == COOPERATIVE:
            self._check_early(client, partitions)
        if kind == "lost":
            partitions = tuple(p for p in partitions if (client, p) not in self._lost)
        if partitions:
            _add(getattr(into, "added" if kind == "assigned" else kind), client, partitions)

    def _taken_over(self, client: str, before: SimulatedRound) -> SimulatedRound:
        """A static member took over a seat: the same generation with another process."""
        seats = self.network.coordinator.seats.values()
        taken, self._next = self._next, SimulatedRound(0.0, 0, {})
        taken.at, taken.generation = self.network.now, before.generation
        taken.assignment = {seat.client: seat.assignment for seat in seats}
        self.rounds.append(taken)
        return taken

    def _check_revoked(
        self, client: str, partitions: tuple[Partition, ...], found: SimulatedRound
    ) -> None:
        stays = set(partitions) & set(found.assignment.get(client, ()))
        if stays:
            self.violations.append(
                f"at {self.network.now:g} s {client} gives up what stays: {sorted(stays)}"
            )

    def _check_early(self, client: str, partitions: tuple[Partition, ...]) -> None:
        consumer = self._consumers[client]
        ended = client not in self.network.processes
        if not ended and any(topic in consumer.topics for topic, _ in partitions):
            self.violations.append(
                f"at {self.network.now:g} s {client} gives up partitions before it joins"
            )

    def _owners(self) -> None:
        """Who holds what has changed, perhaps."""
        gone: list[tuple[Partition, str]] = []
        come: list[tuple[Partition, str]] = []
        nothing: frozenset[Partition] = frozenset()
        for client, consumer in self._consumers.items():
            counts = client in self.network.processes and self.network.counts(consumer)
            held = consumer.held if counts else nothing
            before = self._held.get(client, nothing)
            if held is not before:
                self._held[client] = held
                gone += [(partition, client) for partition in sorted(before - held)]
                come += [(partition, client) for partition in sorted(held - before)]
        for partition, client in gone:
            self._release(partition, client)
        for partition, client in come:
            self._take(partition, client)
        running = [c for c in self.network.processes.values() if c.error is None]
        topics = {topic for consumer in running for topic in consumer.topics}
        listed = sum(self.scenario.topics.get(topic, 0) for topic in topics)
        self._without = listed - len(self._holders)

    def _release(self, partition: Partition, client: str) -> None:
        holders = self._holders[partition]
        if holders[0] == client:
            self._span(partition, client, self._start[partition])
            self._start[partition] = self.network.now
        holders.remove(client)
        if not holders:
            del self._holders[partition]

    def _take(self, partition: Partition, client: str) -> None:
        holders = self._holders.setdefault(partition, [])
        holders.append(client)
        if len(holders) > 1:
            topic, number = partition
            self.violations.append(
                f"at {self.network.now:g} s {topic}-{number} is owned by {' and '.join(holders)}"
            )
            return
        self._start[partition] = self.network.now
        self._moved(partition, client)

    def _moved(self, partition: Partition, member: str) -> None:
        last = self._last.get(partition)
        self._last[partition] = member
        if last is None or last == member:
            return
        one, other = self._consumers[last].instance_id, self._consumers[member].instance_id
        self.moved += one is None or one != other

    def _span(self, partition: Partition, member: str, start: float) -> None:
        if self.network.now > start:
            self.spans.append(OwnershipSpan(partition, member, start, self.network.now))


def _add(held: Held, client: str, partitions: tuple[Partition, ...]) -> None:
    held[client] = tuple(sorted({*held.get(client, ()), *partitions}))
