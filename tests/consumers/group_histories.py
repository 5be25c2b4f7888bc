"""Groups on a virtual clock: a network that checks every step, and random histories."""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np

from partage.consumers.assign import assign
from partage.consumers.assignors import ASSIGNORS
from partage.consumers.protocol import (
    COOPERATIVE,
    EAGER,
    Coordinator,
    Network,
    Partition,
    SimulatedConsumer,
    make_leader,
)
from partage.consumers.protocol.leader import Instances, Leader, Subscriptions, group_of
from partage.consumers.protocol.messages import Answer, Partitions, Request

TOPICS = {"a": 3, "b": 4, "c": 1}


class Process(SimulatedConsumer):
    """A process that may pause (a long garbage collection): answers wait, no heartbeats."""

    asleep = False
    waiting: list[Answer]

    @property
    def deadline(self) -> float:
        return math.inf if self.asleep else super().deadline

    def receive(self, now: float, answer: Answer) -> list[Request]:
        if not self.asleep:
            return super().receive(now, answer)
        self.waiting.append(answer)
        return []

    def sleep(self) -> None:
        """Pause, if it is not paused already."""
        if not self.asleep:
            self.asleep, self.waiting = True, []


class ObservedNetwork(Network):
    """A network that checks the guarantees of the protocol after every step."""

    processes: dict[str, Process]  # type: ignore[assignment]

    def __init__(
        self,
        topics: Mapping[str, int],
        lead: Leader | None = None,
        *,
        seed: int | None = None,
        initial_delay: float = 0.0,
    ) -> None:
        self.random = random.Random(seed)
        super().__init__(
            Coordinator(initial_delay=initial_delay),
            None if seed is None else lambda: self.random.choice((0.0, 0.01, 0.3, 2.0)),
        )
        self.topics = dict(topics)
        self.lead = lead or make_leader(topics)
        self.wrong: list[str] = []
        self.rounds: dict[int, dict[str, tuple[Partition, ...]]] = {}
        self.everyone: list[Process] = []

    def member(
        self,
        client: str,
        topics: Iterable[str] | None = None,
        assignors: Iterable[str] = ("sticky",),
        protocol: str = EAGER,
        **options: object,
    ) -> Process:
        """Start a process."""
        consumer = Process(
            client,
            tuple(self.topics if topics is None else topics),
            assignors,
            self.lead,
            protocol=protocol,
            **options,  # type: ignore[arg-type]
        )
        self.everyone.append(consumer)
        self.start(consumer)
        return consumer

    def subscribe(self, client: str, topics: tuple[str, ...]) -> None:
        """Change the subscription of a process."""
        self._send(client, self.processes[client].subscribe(topics))

    def wake(self, client: str) -> None:
        """Resume a paused process."""
        process = self.processes[client]
        process.asleep = False
        for answer in process.waiting:
            self._deliver(client, answer)
        self._send(client, [])

    def holders(self) -> dict[Partition, list[str]]:
        """The processes that hold each partition: at most one if the protocol works."""
        found: dict[Partition, list[str]] = {}
        for client, consumer in self.processes.items():
            if consumer.held and self.counts(consumer):
                for partition in consumer.held:
                    found.setdefault(partition, []).append(client)
        return found

    def run(self, until: float) -> None:
        """Process all events up to a time."""
        while self.step(until):
            pass
        self.now = max(self.now, until)

    def step(self, until: float = math.inf) -> bool:
        before = {c.client: len(c.callbacks) for c in self.processes.values()}
        happened = super().step(until)
        for partition, holders in self.holders().items():
            if len(holders) > 1:
                self.wrong.append(f"{self.now}: {partition} is held by {holders}")
        for consumer in self.processes.values():
            calls = before.get(consumer.client, len(consumer.callbacks))
            if consumer.protocol == COOPERATIVE:
                for call in consumer.callbacks[calls:]:
                    if call.kind != "revoked":
                        continue
                    still = {t for t, _ in call.partitions} <= set(consumer.topics)
                    if call.generation is None and still:
                        self.wrong.append(f"{self.now}: {consumer.client} revoked before joining")
                    if call.generation is not None and consumer.held & set(call.partitions):
                        self.wrong.append(f"{self.now}: {consumer.client} revoked what stays")
        return happened

    def run_until_stable(self, limit: float = 2000.0) -> None:
        """Process events until only heartbeats are left."""
        end = self.now + limit
        while not self.settled() and self.next_time() <= end:
            self.step()
        assert self.settled(), f"not stable after {limit} s: {self.coordinator.state}"

    def asleep(self) -> list[str]:
        """The paused processes, ascending."""
        return sorted(client for client, process in self.processes.items() if process.asleep)

    def held(self) -> dict[str, list[Partition]]:
        """Partitions by process."""
        return {c.client: sorted(c.held) for c in self.processes.values() if c.error is None}

    def callbacks(self, client: str) -> list[tuple[str, tuple[Partition, ...]]]:
        """Its callbacks so far."""
        consumer = next(c for c in self.everyone if c.client == client)
        return [(call.kind, call.partitions) for call in consumer.callbacks]

    def check_stable(self) -> None:
        """In a stable group every subscribed partition has exactly one holder."""
        here = [c for c in self.processes.values() if c.error is None]
        subscribed = {t for c in here for t in c.topics}
        expected = {(t, p) for t, n in self.topics.items() if t in subscribed for p in range(n)}
        holders = self.holders()
        missing = expected - holders.keys()
        if missing:
            self.wrong.append(
                f"{self.now}: the group is stable and no member holds {sorted(missing)}"
            )


def hand_over(topics: Mapping[str, int], decides: str = "sticky") -> Leader:
    """A deliberately wrong leader: partitions go to their new owner at once, while the old one
    still holds them."""

    def lead(assignor: str, members: Subscriptions, _: Instances) -> Mapping[str, Partitions]:
        decided = assign(group_of(topics, members, ASSIGNORS[assignor]), decides)
        return {member: tuple(held) for member, held in decided.as_dict().items()}

    return lead


@dataclass
class History:
    """Random events of a group, until it is stable."""

    seed: int
    protocol: str
    assignor: str
    steps: int = 25
    lead: Leader | None = None
    static: bool = True
    happened: list[str] = field(default_factory=list)

    def play(self) -> ObservedNetwork:
        """The network after the last step."""
        chance = random.Random(self.seed)
        network = ObservedNetwork(
            TOPICS, self.lead, seed=self.seed, initial_delay=chance.choice((0.0, 3.0))
        )
        made = 0

        def join(instance: str | None = None, topics: tuple[str, ...] | None = None) -> None:
            nonlocal made
            client = f"m{made}"
            made += 1
            if topics is None:
                topics = tuple(t for t in TOPICS if chance.random() < 0.75) or ("a",)
            if instance is None and self.static and chance.random() < 0.3:
                instance = f"i{made}"
            self.happened.append(f"{network.now:.2f} join {client} {topics} {instance}")
            network.member(
                client,
                topics,
                (self.assignor,),
                self.protocol,
                instance_id=instance,
                session_timeout=chance.choice((10.0, 45.0)),
                rebalance_timeout=chance.choice((8.0, 20.0)),
                first_heartbeat_after=chance.choice((0.5, 3.0)),
            )

        join()
        for _ in range(self.steps):
            there = list(network.processes)
            what = chance.choice(
                ("join", "join", "close", "crash", "sleep", "wake", "subscribe", "again", "wait")
            )
            client = chance.choice(there) if there else ""
            if what == "join":
                join()
            elif what == "close" and there:
                self.happened.append(f"{network.now:.2f} close {client}")
                network.close(client)
            elif what == "crash" and there:
                self.happened.append(f"{network.now:.2f} crash {client}")
                network.crash(client)
            elif what == "sleep" and there:
                self.happened.append(f"{network.now:.2f} sleep {client}")
                network.processes[client].sleep()
            elif what == "wake" and (asleep := network.asleep()):
                awake = chance.choice(asleep)
                self.happened.append(f"{network.now:.2f} wake {awake}")
                network.wake(awake)
            elif what == "subscribe" and there:
                topics = tuple(t for t in TOPICS if chance.random() < 0.6) or ("b",)
                self.happened.append(f"{network.now:.2f} subscribe {client} {topics}")
                network.subscribe(client, topics)
            elif what == "again" and there:
                # the next process of a static member, while the previous one may still run
                before = network.processes[client]
                if before.instance_id is not None:
                    if chance.random() < 0.5:
                        network.crash(client)
                    join(before.instance_id, before.topics)
            network.run(network.now + chance.choice((0.0, 0.2, 1.0, 5.0, 30.0)))
        for client in network.asleep():
            network.wake(client)
        network.run_until_stable()
        network.check_stable()
        return network


def loads(network: ObservedNetwork) -> list[int]:
    """Partitions per member, ascending."""
    return sorted(len(held) for held in network.held().values())


def spread(network: ObservedNetwork) -> int:
    """Largest load less smallest."""
    found = np.array(loads(network))
    return int(found.max() - found.min())
