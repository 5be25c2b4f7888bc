"""Plays a scenario: members start and stop, topics change, rounds are recorded.

The members are simulated consumers on the virtual clock of ``consumers.protocol``. Their heartbeats
are staggered: after an assignment, member k of M sends its first heartbeat after k/M of the
interval, so that the members learn of a rebalance one after the other, the last after a whole
interval. With ``in_step`` every member sends its first heartbeat after a whole interval.

A member plays the most advanced protocol that all of its assignors support, as a client does
(Kafka's ConsumerCoordinator): cooperative-sticky alone is cooperative, with range beside it the
member is eager.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial

from partage.consumers.applications import Application
from partage.consumers.assignors import Assignor
from partage.consumers.assignors.failover import priority_of
from partage.consumers.custom import MemberAssignor
from partage.consumers.protocol import (
    CONSUMER,
    COOPERATIVE,
    EAGER,
    Callback,
    ConsumerGroupCoordinator,
    ConsumerProtocolMember,
    Coordinator,
    MigratingCoordinator,
    Network,
    Partition,
    SimulatedConsumer,
    State,
    make_leader,
)
from partage.consumers.protocol.consumer import Phase
from partage.consumers.protocol.leader import Instances, Leader, Subscriptions
from partage.consumers.protocol.messages import Partitions
from partage.consumers.scenario import Scenario, ScenarioMember, TopicChange
from partage.consumers.simulation.ownership import Ownership
from partage.consumers.simulation.result import Held, SimulatedRound, Simulation
from partage.consumers.topic_metadata import TopicMetadata
from partage.units import plural

Weights = Mapping[str, Sequence[int]]
"""Whole numbers by topic and partition."""


class Run:
    """Plays a scenario and records what changes with every event. ``weights``: by topic and
    partition, for assignors that balance by weight."""

    def __init__(
        self,
        scenario: Scenario,
        protocol: str | None,
        assignors: Mapping[str, Assignor],
        mode: str | None,
        coordinator: Coordinator | ConsumerGroupCoordinator | MigratingCoordinator,
        application: type[Application] | None = None,
    ) -> None:
        self.assignors, self.mode, self.coordinator = assignors, mode, coordinator
        self.network = Network(coordinator, lambda: scenario.latency)
        self.application: Application | None = None
        if application is not None:
            self.application = application(scenario, lambda: self.network.now)
        self.scenario = scenario = self.application.scenario if self.application else scenario
        self.metadata = TopicMetadata(scenario.topics, scenario.metadata_max_age)
        self.weights: Weights | None = _weights(scenario)
        self._wanted = {m.id: m.subscription(scenario.topics) for m in scenario.members}
        self._deleted: set[str] = set()
        self.rounds: list[SimulatedRound] = []
        self.refused: dict[str, str] = {}
        self.violations: list[str] = []
        instances = {m.id: m.instance_id for m in scenario.members}
        self.ownership = Ownership(instances, lambda: self.network.now, self.violations)
        self.callbacks: list[tuple[float, str, Callback]] = []
        # collects the callbacks on the way to the next generation
        self._next = SimulatedRound(0.0, 0, {})
        # per process: callbacks seen, whether it ran, whether it had failed
        self._seen: dict[str, tuple[int, bool, bool]] = {}
        self._removed = 0
        self._lost: set[tuple[str, Partition]] = set()
        self._state: tuple[object, ...] = ()
        self._consumers: dict[str, SimulatedConsumer] = {}
        for number, member in enumerate(scenario.members):
            consumer = self._consumer(number, member, protocol)
            self._consumers[member.id] = consumer
            self._schedule(member, consumer)
        for change in scenario.topic_changes:
            self.network.at(change.at, partial(self._change_topic, change))

    def _consumer(
        self, number: int, member: ScenarioMember, protocol: str | None
    ) -> SimulatedConsumer:
        scenario = self.scenario
        stagger = 1 if scenario.in_step else (number + 1) / len(scenario.members)
        if protocol == CONSUMER or member.speaks_consumer:
            return ConsumerProtocolMember(
                member.id,
                member.topics,
                member.assignors[0],
                instance_id=member.instance_id,
                rack=member.rack,
                rebalance_timeout=scenario.rebalance_timeout,
                heartbeat_interval=scenario.consumer_heartbeat_interval,
                first_heartbeat_after=scenario.consumer_heartbeat_interval * stagger,
                pattern=member.pattern,
            )
        own = {name: self.assignors[name] for name in member.assignors}
        supported = COOPERATIVE if all(one.cooperative for one in own.values()) else EAGER
        return SimulatedConsumer(
            member.id,
            member.topics,
            member.assignors,
            self._leader_of(member.id),
            protocol=protocol or supported,
            instance_id=member.instance_id,
            rack=member.rack,
            priority=priority_of(member.id, member.priority, member.config, member.user_data),
            session_timeout=scenario.session_timeout,
            rebalance_timeout=scenario.rebalance_timeout,
            heartbeat_interval=scenario.heartbeat_interval,
            first_heartbeat_after=scenario.heartbeat_interval * stagger,
            instances={
                name: MemberAssignor(of.create, of.label, member.id, member.config)
                for name, of in own.items()
                if of.create is not None
            },
            user_data=member.user_data,
            refresh=None if member.pattern is None else partial(self._subscription, member),
            echoes=member.client == "librdkafka",
        )

    def _leader_of(self, client: str) -> Leader:
        application = self.application
        if application is not None:
            return lambda _, subscriptions, __: application.lead(client, subscriptions)

        def lead(
            assignor: str, subscriptions: Subscriptions, instances: Instances
        ) -> Mapping[str, Partitions]:
            named = sorted({topic for _, one in subscriptions.values() for topic in one.topics})
            topics = self.metadata.to_assign(client, named)
            assign = make_leader(
                topics,
                self.assignors,
                mode=self.mode,
                racks=self.scenario.racks,
                weights=self.weights,
            )
            return assign(assignor, subscriptions, instances)

        return lead

    def _schedule(self, member: ScenarioMember, consumer: SimulatedConsumer) -> None:
        at, until = self.network.at, self.scenario.until
        if member.client != "java" and self._mixes(member):
            if member.joins_at <= until:
                self.refused[member.id] = (
                    f"{member.client} does not start with cooperative and eager assignors in a list"
                )
            return
        if member.joins_at <= until:
            at(member.joins_at, lambda: self._start_process(member, consumer))
        if member.leaves_at is not None and member.leaves_at <= until:
            at(member.leaves_at, lambda: self.network.close(member.id))
        if member.crashes_at is not None and member.crashes_at <= until:
            at(member.crashes_at, lambda: self.network.crash(member.id))

    def _start_process(self, member: ScenarioMember, consumer: SimulatedConsumer) -> None:
        self.metadata.refresh(member, self.network.now)
        self.network.start(consumer)

    # -- topics

    def _change_topic(self, change: TopicChange) -> None:
        """Create a topic, add partitions, or delete it; the clients that look, or that fetch from
        it, learn of it now, the others later."""
        self.ownership.count_unowned()
        created = change.topic not in self.metadata.topics
        topics = {**self.metadata.topics, change.topic: change.partitions}
        if not change.partitions:
            del topics[change.topic]
            self._deleted.add(change.topic)
        self.metadata.topics = topics
        self._update_owners(self._consumers)
        self._wanted = {m.id: m.subscription(topics) for m in self.scenario.members}
        wanted = [self._wanted[client] for client, news in self._seen.items() if _runs(news)]
        self.ownership.replace_subscribers(wanted, topics)
        if not isinstance(self.coordinator, Coordinator):
            self.coordinator.topics_changed(topics, change.topic, created)
        running = [
            member
            for member in self.scenario.members
            if member.id in self.network.processes
            and self._consumers[member.id].protocol != CONSUMER
        ]
        for member in running:
            at = self.metadata.next_refresh(member.id, self.network.now)
            self.network.at(at, partial(self._refresh, member, planned=True))
            held = {topic for topic, _ in self._consumers[member.id].held}
            if not change.partitions and change.topic in held and member.client != "librdkafka":
                self._refresh(member)
            if created and self._leads(member.id):
                named = any(change.topic in self._consumers[other.id].topics for other in running)
                if named:
                    self._refresh(member)

    def _refresh(self, member: ScenarioMember, planned: bool = False) -> None:
        """A process that still runs refreshes its metadata, unless it did after the last change."""
        consumer, now = self.network.processes.get(member.id), self.network.now
        if consumer is None or consumer.error is not None or self.metadata.is_current(member.id):
            return
        if planned and not self.metadata.is_due(member.id, now):
            return
        topics = self.metadata.refresh(member, now)
        again = self._leads(member.id) and self.metadata.must_assign_again(member.id)
        if topics != consumer.topics or (again and consumer.phase is not Phase.JOINING):
            self.network.subscribe(member.id, topics)

    def _subscription(self, member: ScenarioMember) -> tuple[str, ...]:
        return self.metadata.refresh(member, self.network.now)

    def _leads(self, client: str) -> bool:
        leader = self.coordinator.members.get(self.coordinator.leader or "")
        return leader is not None and leader.client == client

    def _mixes(self, member: ScenarioMember) -> bool:
        """Whether a member lists cooperative and eager assignors."""
        own = () if member.speaks_consumer else member.assignors
        return len({self.assignors[name].cooperative for name in own}) > 1

    # -- processes that are started and stopped from outside

    def start(self, client: str) -> None:
        """A member of the scenario starts as a new process."""
        number = next(n for n, one in enumerate(self.scenario.members) if one.id == client)
        member = self.scenario.members[number]
        consumer = self._consumer(number, member, None)
        self._consumers[client] = consumer
        self._seen.pop(client, None)
        self._start_process(member, consumer)
        self._observe()

    def stop(self, client: str) -> None:
        """Close the consumer of a process."""
        self.network.close(client)
        self._observe()

    def step(self, until: float) -> bool:
        """Process the next event up to ``until``. Returns whether there was one."""
        more = self.network.step(until)
        if more:
            self._observe()
        return more

    # -- the whole scenario

    def play(self, assignor: str) -> Simulation:
        """Run the scenario from its start to its end. ``assignor``: its name in the result."""
        while self.step(self.scenario.until):
            pass
        return self.end(assignor)

    def end(self, assignor: str) -> Simulation:
        """What happened until now, at the end of the scenario."""
        network, until = self.network, self.scenario.until
        network.now = until
        self.ownership.count_unowned()
        if self.application is not None:
            self.application.end()
        self.ownership.end()
        if network.settled() and self.ownership.without_owner:
            self.violations.append(
                f"at {until:g} s the group is stable and without an owner are "
                f"{plural(self.ownership.without_owner, 'partition')}"
            )
        return Simulation(
            scenario=self.scenario,
            assignor=assignor,
            protocol=", ".join(dict.fromkeys(self.protocols.values())),
            rounds=tuple(self.rounds),
            spans=tuple(self.ownership.spans),
            unowned=self.ownership.unowned,
            moved=self.ownership.moved,
            refused=self.refused,
            violations=tuple(self.violations),
            restoring=self.restoring,
            protocols=self.protocols,
            callbacks=tuple(self.callbacks),
        )

    def _observe(self) -> None:
        """Record what the last event changed."""
        coordinator, touched = self.network.coordinator, sorted(self.network.touched)
        state = (
            coordinator.generation,
            len(coordinator.removed),
            coordinator.state,
            len(coordinator.members),
        )
        news = {client: self._news(client) for client in touched}
        self.network.touched.clear()
        if state == self._state and all(self._seen.get(c) == news[c] for c in touched):
            return
        # a new generation or a removal may end what any process owns
        concerned = touched if self._state[:2] == state[:2] else self._consumers
        self._state = state
        self.ownership.count_unowned()
        self._record_removals()
        self._record_round()
        for client in touched:
            consumer = self._consumers[client]
            seen = self._seen.get(client, (0, False, False))
            for call in consumer.callbacks[seen[0] :]:
                self.callbacks.append((self.network.now, client, call))
                self._record_callback(client, call.kind, call.partitions, call.generation)
            if consumer.error is not None and client not in self.refused:
                self.refused[client] = f"{consumer.error.name}: {consumer.error.value}"
            if change := _runs(news[client]) - _runs(seen):
                topics = self.metadata.topics
                self.ownership.add_subscriber(self._wanted[client], change, topics)
        self._seen.update(news)
        self._update_owners(concerned)

    def _news(self, client: str) -> tuple[int, bool, bool]:
        """The state of a process that is compared: its number of callbacks, whether it runs,
        whether it failed."""
        consumer = self._consumers[client]
        return len(consumer.callbacks), client in self.network.processes, consumer.error is not None

    def _update_owners(self, clients: Iterable[str]) -> None:
        """Record what these processes hold after an event."""
        held: dict[str, frozenset[Partition]] = {}
        for client in clients:
            consumer = self._consumers[client]
            counts = client in self.network.processes and self.network.counts(consumer)
            own = consumer.held if counts else frozenset()
            if self._deleted:
                own = frozenset(one for one in own if one[0] not in self._deleted)
            held[client] = own
        self.ownership.update(held)

    # -- rounds

    def _record_removals(self) -> None:
        removed = self.network.coordinator.removed
        for _, client, _ in removed[self._removed :]:
            held = tuple(sorted(self._consumers[client].held))
            if held:
                _add(self._next.lost, client, held)
                self._lost.update((client, partition) for partition in held)
        self._removed = len(removed)

    def _record_round(self) -> None:
        coordinator = self.network.coordinator
        known = self.rounds[-1].generation if self.rounds else self.scenario.generation
        new = coordinator.generation != known
        if new and coordinator.state in (State.STABLE, State.EMPTY):
            self._begin_round(coordinator.generation)
            if self.application is not None and coordinator.state is State.STABLE:
                self._follow_application(self.application)

    def _follow_application(self, application: Application) -> None:
        """Record what waits, and schedule the rebalance that the application asks for."""
        self.rounds[-1].details = application.details
        if application.rejoin_after is None:
            return
        generation = self.network.coordinator.generation

        def rejoin() -> None:
            coordinator = self.network.coordinator
            leader = coordinator.members.get(coordinator.leader or "")
            if coordinator.generation == generation and leader is not None:
                self.network.rejoin(leader.client)

        self.network.at(self.network.now + application.rejoin_after, rejoin)

    @property
    def protocols(self) -> dict[str, str]:
        """The protocol of each member."""
        return {name: consumer.protocol for name, consumer in self._consumers.items()}

    @property
    def restoring(self) -> float | None:
        """Task-seconds in which active tasks restored their state."""
        found = self.application.restoring if self.application is not None else None
        return None if found is None else round(found, 3)

    def _begin_round(self, generation: int) -> SimulatedRound:
        """Record the present assignment, with the callbacks collected so far, as a round."""
        found, self._next = self._next, SimulatedRound(0.0, 0, {})
        coordinator = self.network.coordinator
        found.at, found.generation = self.network.now, generation
        found.assignor, members = coordinator.assignor, coordinator.members
        found.assignment = {member.client: member.assignment for member in members.values()}
        found.leader = members[coordinator.leader].client if coordinator.leader else ""
        self.rounds.append(found)
        return found

    def _record_callback(
        self, client: str, kind: str, partitions: tuple[Partition, ...], generation: int | None
    ) -> None:
        into = self._next if generation is None else self._round_of(client, generation)
        if kind == "revoked" and generation is not None:
            self._check_revoked(client, partitions, into)
        elif kind == "revoked" and self._consumers[client].protocol == COOPERATIVE:
            self._check_early(client, partitions)
        if kind == "lost":
            partitions = tuple(p for p in partitions if (client, p) not in self._lost)
        if partitions:
            _add(getattr(into, "added" if kind == "assigned" else kind), client, partitions)

    def _round_of(self, client: str, generation: int) -> SimulatedRound:
        """The last round of a generation; a new one where a static member has just taken over the
        assignment of its former process within the generation."""
        last = next(r for r in reversed(self.rounds) if r.generation == generation)
        return last if client in last.assignment else self._begin_round(generation)

    # -- the guarantees of the protocol

    def _check_revoked(
        self, client: str, partitions: tuple[Partition, ...], found: SimulatedRound
    ) -> None:
        stays = set(partitions) & set(found.assignment.get(client, ()))
        if stays:
            self.violations.append(
                f"at {self.network.now:g} s {client} revokes partitions that it keeps: "
                f"{sorted(stays)}"
            )

    def _check_early(self, client: str, partitions: tuple[Partition, ...]) -> None:
        consumer = self._consumers[client]
        ended = client not in self.network.processes
        if not ended and any(topic in consumer.topics for topic, _ in partitions):
            self.violations.append(
                f"at {self.network.now:g} s {client} revokes partitions before it joins"
            )


def _weights(scenario: Scenario) -> Weights | None:
    """What is produced, for assignors that balance by weight: whole numbers by partition."""
    rates, topics = scenario.produce, scenario.all_topics
    if not any(rates.values()):
        return None
    return {topic: [round(1000 * rates.get(topic, 0.0))] * n for topic, n in topics.items()}


def _runs(news: tuple[int, bool, bool]) -> bool:
    """Whether a process runs and has not failed."""
    return news[1] and not news[2]


def _add(held: Held, client: str, partitions: tuple[Partition, ...]) -> None:
    held[client] = tuple(sorted({*held.get(client, ()), *partitions}))
