"""Simulate a scenario: which member owns which partition when.

The members of the scenario are simulated consumers on the virtual clock of ``consumers.protocol``.
Their heartbeats are staggered: after an assignment, member k of M sends its first heartbeat after
k/M of the interval, so that the members learn of a rebalance one after the other, the last after a
whole interval. With ``in_step`` every member sends its first heartbeat after a whole interval.

A member plays the most advanced protocol that all of its assignors support, as a client does
(Kafka's ConsumerCoordinator): cooperative-sticky alone is cooperative, with range beside it the
member is eager.

What the members hold gives the ownership spans, and these give the lag of every partition
(``consumers.record_flow``).

- A partition is *unowned* while a running member subscribes to its topic and no member holds it.
- A partition has *moved* when a member other than its last holder gets it. A static member that
  returns as another process is the same member.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any

from partage.consumers.applications import Application
from partage.consumers.applications.registry import APPLICATIONS
from partage.consumers.assignors import (
    Assignor,
    assignor_name,
    check_mode,
    find_assignor,
    refuse_own,
)
from partage.consumers.assignors.failover import priority_of
from partage.consumers.custom import MemberAssignor
from partage.consumers.protocol import (
    CONSUMER,
    COOPERATIVE,
    EAGER,
    PROTOCOLS,
    Callback,
    ConsumerGroupCoordinator,
    ConsumerProtocolMember,
    Coordinator,
    MigratingCoordinator,
    MixedGroupCoordinator,
    Network,
    Partition,
    SimulatedConsumer,
    State,
    make_broker_assignor,
    make_leader,
)
from partage.consumers.protocol.consumer import Phase
from partage.consumers.protocol.coordinator import MemberIds
from partage.consumers.protocol.leader import Instances, Leader, Subscriptions
from partage.consumers.protocol.messages import Partitions
from partage.consumers.read_again import COMMIT_INTERVALS, read_again
from partage.consumers.record_flow import (
    LagCurve,
    OwnershipSpan,
    PushLoad,
    empty_polls,
    pull,
    push,
)
from partage.consumers.scenario import Scenario, ScenarioMember, TopicChange
from partage.consumers.steps import Pause, PauseCost, StepCost, pauses_of, step_costs
from partage.consumers.topic_metadata import TopicMetadata
from partage.errors import InputError, shown
from partage.frames import arrow_table, data_frame, html_table
from partage.units import plural

Held = dict[str, tuple[Partition, ...]]
"""Partitions by member."""

Weights = Mapping[str, Sequence[int]]
"""Whole numbers by topic and partition."""

_REMOTE = "group.remote.assignor"
"""In a consumer's configuration: what it asks the broker for."""


@dataclass
class SimulatedRound:
    """A generation that received its assignment, or that its last member left.

    ``assignor``: the one that the coordinator chose, ``leader``: the member that assigned; both
    empty without members.
    ``added``, ``revoked`` and ``lost`` are the callbacks of the members on the way to this round.
    ``lost`` also has the partitions of members that the coordinator removed without their
    knowledge. ``details``: with Streams and Connect, what waits (``Application.details``).
    """

    at: float
    generation: int
    assignment: Held
    assignor: str = ""
    added: Held = field(default_factory=dict)
    revoked: Held = field(default_factory=dict)
    lost: Held = field(default_factory=dict)
    details: Mapping[str, Any] = field(default_factory=dict)
    leader: str = ""

    def to_json(self) -> dict[str, Any]:
        """The JSON object in ``rounds``."""
        parts = {name: getattr(self, name) for name in ("assignment", "added", "revoked", "lost")}
        return {
            "at": round(self.at, 3),
            "generation": self.generation,
            **{
                name: {member: [list(p) for p in held[member]] for member in sorted(held)}
                for name, held in parts.items()
            },
            "assignor": self.assignor,
            **self.details,
        }


@dataclass(frozen=True, repr=False)
class Simulation:
    """The result of a simulation.

    - ``assignor``: of the members that do not list their own, or else all that are listed
    - ``protocol``: those of the members, in the order of the scenario
    - ``protocols``: that of each member; ``callbacks``: (time, member, callback)
    - ``spans``: the spans of ownership; ``unowned``: partition-seconds without an owner
    - ``moved``: how often a partition moved to another member
    - ``refused``: by member that the coordinator refused, its error message
    - ``violations``: broken guarantees of the protocol, in sentences
    - ``restoring``: with Streams, task-seconds in which active tasks restored their state; None
      where the scenario has no ``restore``
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
    restoring: float | None = None
    protocols: Mapping[str, str] = field(default_factory=dict)
    callbacks: tuple[tuple[float, str, Callback], ...] = ()

    @cached_property
    def produce(self) -> dict[Partition, float]:
        """Records per second into each partition, once it exists."""
        topics = self.scenario.all_topics
        return {
            (topic, number): float(self.scenario.produce.get(topic, 0.0))
            for topic in sorted(topics)
            for number in range(topics[topic])
        }

    @property
    def members(self) -> dict[str, ScenarioMember]:
        """The scenario's members by id."""
        return {member.id: member for member in self.scenario.members}

    @cached_property
    def lag(self) -> dict[Partition, LagCurve]:
        """The lag of each partition over time, when members pull."""
        scenario = self.scenario
        return pull(self.spans, self.produce, self.members, scenario.until, scenario.lifetimes)

    @cached_property
    def pushed(self) -> dict[str, PushLoad]:
        """By member, the load if the broker pushed records instead."""
        return push(self.spans, self.produce, self.members, self.scenario.lifetimes)

    @cached_property
    def steps(self) -> list[StepCost]:
        """What each step of the scenario costs."""
        return step_costs(self.scenario.steps, self.rounds, self._pauses, self.protocols)

    @property
    def pauses(self) -> PauseCost:
        """What partitions that had an owner waited for the next one."""
        return PauseCost.of(self._pauses)

    @cached_property
    def _pauses(self) -> list[Pause]:
        ends = {which: end for which, (_, end) in self.scenario.lifetimes.items()}
        return pauses_of(self.spans, ends)

    @cached_property
    def empty_polls(self) -> dict[str, int | None]:
        """By member, the polls that returned nothing; None for a member that polls in a busy
        loop."""
        return empty_polls(self.spans, self.lag, self.produce, self.members, self.scenario.until)

    def read_again(self, commit_interval: float) -> dict[Partition, float]:
        """Records by partition that are read twice because a member crashed, if members commit
        every ``commit_interval`` seconds."""
        consumer = {name for name, spoken in self.protocols.items() if spoken == CONSUMER}
        rounds = [(one.at, one.assignment.keys() - consumer) for one in self.rounds]
        # an epoch does not make members of the consumer protocol commit
        rounds += [(m.joins_at, {m.id}) for m in self.scenario.members if m.id in consumer]
        rounds.sort(key=lambda found: found[0])
        spans, lag = self.spans, self.lag
        return read_again(spans, rounds, lag, self.produce, self.members, commit_interval)

    def to_json(self, commit_intervals: Sequence[float] = COMMIT_INTERVALS) -> dict[str, Any]:
        """The JSON object that ``simulate --json`` prints; ``commit_intervals`` in seconds."""
        return {
            "rounds": [found.to_json() for found in self.rounds],
            "unowned_partition_seconds": round(self.unowned, 3),
            "moved": self.moved,
            **({} if self.restoring is None else {"restoring_task_seconds": self.restoring}),
            "lag": {
                f"{topic}-{number}": [[round(at, 3), round(lag, 3)] for at, lag in curve]
                for (topic, number), curve in self.lag.items()
            },
            **self.pauses.to_json(),
            "push": {
                name: {
                    "buffered": round(found.most, 3),
                    "overrun_at": None if found.overrun_at is None else round(found.overrun_at, 3),
                    "overrun": round(found.overrun, 3),
                }
                for name, found in self.pushed.items()
            },
            "empty_polls": self.empty_polls,
            "read_again": [
                {
                    "commit_interval": interval,
                    "records": round(sum(found.values()), 3),
                    "partitions": {f"{t}-{n}": round(found[t, n], 3) for t, n in sorted(found)},
                }
                for interval in commit_intervals
                for found in (self.read_again(interval),)
            ],
            **({"steps": [step.to_json() for step in self.steps]} if self.steps else {}),
            "protocols": dict(self.protocols),
            "refused": dict(self.refused),
            "invariants": list(self.violations) if self.violations else "hold",
        }

    # -- in a notebook

    def __repr__(self) -> str:
        return f"<Simulation of {self._summary()}>"

    def _repr_html_(self) -> str:
        header = ("at, s", "generation", "added", "revoked", "lost")
        rows = [
            [
                f"{one.at:,.2f}",
                one.generation,
                *(_named(held) for held in (one.added, one.revoked, one.lost)),
            ]
            for one in self.rounds
        ]
        return html_table(self._summary(), header, rows)

    def to_pandas(self) -> Any:
        """A ``pandas.DataFrame`` with a row per ownership span: ``topic``, ``partition``,
        ``member``, ``start_seconds``, ``end_seconds``. Raises PartageError where pandas is not
        installed."""
        return data_frame(self._columns())

    def to_arrow(self) -> Any:
        """The same table as ``to_pandas`` as a ``pyarrow.Table``. Raises PartageError where pyarrow
        is not installed."""
        return arrow_table(self._columns())

    def _columns(self) -> dict[str, list[Any]]:
        return {
            "topic": [span.partition[0] for span in self.spans],
            "partition": [span.partition[1] for span in self.spans],
            "member": [span.member for span in self.spans],
            "start_seconds": [span.start for span in self.spans],
            "end_seconds": [span.end for span in self.spans],
        }

    def _summary(self) -> str:
        return (
            f"{self.assignor}, {self.protocol}: {plural(len(self.rounds), 'round')}, "
            f"{plural(self.moved, 'partition')} moved, "
            f"{self.unowned:,.1f} partition-seconds without an owner"
        )


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
    scenario = scenario if isinstance(scenario, Scenario) else Scenario.read(scenario)
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


def _weights(scenario: Scenario) -> Weights | None:
    """What is produced, for assignors that balance by weight: whole numbers by partition."""
    rates, topics = scenario.produce, scenario.all_topics
    if not any(rates.values()):
        return None
    return {topic: [round(1000 * rates.get(topic, 0.0))] * n for topic, n in topics.items()}


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
        self.spans: list[OwnershipSpan] = []
        self.unowned = 0.0
        self.moved = 0
        self.owner_changes = 0
        self.refused: dict[str, str] = {}
        self.violations: list[str] = []
        self.callbacks: list[tuple[float, str, Callback]] = []
        # collects the callbacks on the way to the next generation
        self._next = SimulatedRound(0.0, 0, {})
        # per process: callbacks seen, whether it ran, whether it had failed
        self._seen: dict[str, tuple[int, bool, bool]] = {}
        self._removed = 0
        self._lost: set[tuple[str, Partition]] = set()
        self._held: dict[str, frozenset[Partition]] = {}
        self._holders: dict[Partition, list[str]] = {}
        self._start: dict[Partition, float] = {}
        self._last: dict[Partition, str] = {}
        # running processes by topic that one subscribes to, and the partitions of these topics
        self._subscribers: Counter[str] = Counter()
        self._subscribed = 0
        self._without_owner = 0
        self._since = 0.0
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
        self._count_unowned()
        created = change.topic not in self.metadata.topics
        topics = {**self.metadata.topics, change.topic: change.partitions}
        if not change.partitions:
            del topics[change.topic]
            self._deleted.add(change.topic)
        self.metadata.topics = topics
        self._update_owners(self._held)
        self._wanted = {m.id: m.subscription(topics) for m in self.scenario.members}
        self._count_subscribers_again()
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

    def owners(self) -> dict[Partition, str]:
        """The member that owns each partition now."""
        return {partition: holders[0] for partition, holders in self._holders.items()}

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
        self._count_unowned()
        if self.application is not None:
            self.application.end()
        for partition, holders in self._holders.items():
            self._end_span(partition, holders[0], self._start[partition])
        self.spans.sort(key=lambda span: (span.partition, span.start))
        if network.settled() and self._without_owner:
            self.violations.append(
                f"at {until:g} s the group is stable and without an owner are "
                f"{plural(self._without_owner, 'partition')}"
            )
        return Simulation(
            scenario=self.scenario,
            assignor=assignor,
            protocol=", ".join(dict.fromkeys(self.protocols.values())),
            rounds=tuple(self.rounds),
            spans=tuple(self.spans),
            unowned=self.unowned,
            moved=self.moved,
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
        self._count_unowned()
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
            self._count_subscriber(consumer, self._runs(news[client]) - self._runs(seen))
        self._seen.update(news)
        self._update_owners(concerned)

    def _news(self, client: str) -> tuple[int, bool, bool]:
        """The state of a process that is compared: its number of callbacks, whether it runs,
        whether it failed."""
        consumer = self._consumers[client]
        return len(consumer.callbacks), client in self.network.processes, consumer.error is not None

    def _count_unowned(self) -> None:
        self.unowned += self._without_owner * (self.network.now - self._since)
        self._since = self.network.now

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

    # -- owners

    @staticmethod
    def _runs(news: tuple[int, bool, bool]) -> bool:
        """Whether a process runs and has not failed."""
        return news[1] and not news[2]

    def _count_subscriber(self, consumer: SimulatedConsumer, change: int) -> None:
        """A process that subscribes has started (1), ended (-1), or neither (0)."""
        for topic in set(self._wanted[consumer.client]) if change else ():
            before = self._subscribers[topic]
            self._subscribers[topic] += change
            started = bool(before + change) - bool(before)
            self._subscribed += started * self.metadata.topics.get(topic, 0)

    def _count_subscribers_again(self) -> None:
        """Topics have changed."""
        running = [client for client, news in self._seen.items() if self._runs(news)]
        self._subscribers = Counter(t for client in running for t in set(self._wanted[client]))
        topics = self.metadata.topics
        self._subscribed = sum(topics.get(topic, 0) for topic in self._subscribers)
        self._without_owner = self._subscribed - len(self._holders)

    def _update_owners(self, clients: Iterable[str]) -> None:
        """Compare what these processes hold with what they held before the event."""
        gone: list[tuple[Partition, str]] = []
        come: list[tuple[Partition, str]] = []
        nothing: frozenset[Partition] = frozenset()
        for client in clients:
            consumer = self._consumers[client]
            counts = client in self.network.processes and self.network.counts(consumer)
            held = consumer.held if counts else nothing
            if self._deleted:
                held = frozenset(one for one in held if one[0] not in self._deleted)
            before = self._held.get(client, nothing)
            if held is not before:
                self._held[client] = held
                gone += [(partition, client) for partition in sorted(before - held)]
                come += [(partition, client) for partition in sorted(held - before)]
        self.owner_changes += len(gone) + len(come)
        for partition, client in gone:
            self._release(partition, client)
        for partition, client in come:
            self._take(partition, client)
        self._without_owner = self._subscribed - len(self._holders)

    def _release(self, partition: Partition, client: str) -> None:
        holders = self._holders[partition]
        if holders[0] == client:
            self._end_span(partition, client, self._start[partition])
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
        self._count_move(partition, client)

    def _count_move(self, partition: Partition, member: str) -> None:
        last = self._last.get(partition)
        self._last[partition] = member
        if last is None or last == member:
            return
        one, other = self._consumers[last].instance_id, self._consumers[member].instance_id
        self.moved += one is None or one != other

    def _end_span(self, partition: Partition, member: str, start: float) -> None:
        if self.network.now > start:
            self.spans.append(OwnershipSpan(partition, member, start, self.network.now))


def _add(held: Held, client: str, partitions: tuple[Partition, ...]) -> None:
    held[client] = tuple(sorted({*held.get(client, ()), *partitions}))


def _named(held: Held) -> str:
    return "; ".join(
        f"{member}: " + ", ".join(f"{topic}-{number}" for topic, number in held[member])
        for member in sorted(held)
    )
