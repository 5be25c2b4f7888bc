"""Topics on the tests' Kafka, with plans that move them."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kafka import KafkaAdminClient, KafkaProducer
from kafka.admin import ConfigResource

import partage
from partage.live.admin.connection import alive_brokers
from partage.live.admin.snapshot import read_partitions, read_throttles, take_snapshot
from partage.live.admin.states import PartitionState
from partage.live.execution.execution_plan import ExecutionPlan
from partage.live.execution.executor import Executor, Interrupts
from partage.live.execution.journal import Journal
from partage.live.execution.outcome import Outcome
from partage.live.execution.progress import ProgressUpdate

RECORDS, VALUE = 16, b"x" * 100_000
SIZE = RECORDS * len(VALUE)
SLOW = SIZE // 10
"""A rate, in bytes per second, at which a wave takes many seconds."""

LISTS = ("leader.replication.throttled.replicas", "follower.replication.throttled.replicas")
RATES = ("leader.replication.throttled.rate", "follower.replication.throttled.rate")

Throttled = tuple[dict[int, dict[str, str]], dict[str, dict[str, str]]]
"""The throttles of each broker and of each topic."""


def reassign_tool(version: str) -> str:
    """The class of Kafka's reassignment tool."""
    before = version_of(version) < (3, 7)
    package = "kafka.admin" if before else "org.apache.kafka.tools.reassign"
    return f"{package}.ReassignPartitionsCommand"


def config_tool(version: str) -> str:
    """The class of Kafka's tool for settings."""
    package = "kafka.admin" if version_of(version) < (4, 4) else "org.apache.kafka.tools"
    return f"{package}.ConfigCommand"


def version_of(text: str) -> tuple[int, ...]:
    """``"3.9.2"`` as numbers."""
    return tuple(map(int, text.split(".")))


@dataclass
class Topic:
    """A topic, and a plan for it."""

    kafka: Any
    admin: KafkaAdminClient
    name: str
    directory: Path
    updates: list[ProgressUpdate] = field(default_factory=list)
    interrupts: Interrupts = field(default_factory=Interrupts)

    @property
    def plan(self) -> ExecutionPlan:
        return ExecutionPlan.read(self.directory)

    def state(self) -> list[PartitionState]:
        return list(read_partitions(self.admin, [self.name]))

    def lists(self) -> list[tuple[int, ...]]:
        return [one.replicas for one in self.state()]

    def run(self, plan: ExecutionPlan, **options: Any) -> Outcome:
        with Journal.open(self.directory) as journal:
            return Executor(
                plan,
                self.admin,
                journal,
                progress=self.updates.append,
                interrupts=self.interrupts,
                poll_seconds=0.2,
                **options,
            ).run()

    def begun(self, throttle: int | str | None = SLOW, **options: Any) -> Background:
        """The plan being applied in the background, with bytes already copied."""
        background = Background(lambda: self.run(self.plan, throttle=throttle, **options))
        until(lambda: any(one.bytes_done > 0 and one.moving for one in self.updates))
        return background

    def throttles(self) -> Throttled:
        found = read_throttles(self.admin, self.alive(), [self.name])
        return found.brokers, found.topics

    def throttles_soon(self, expected: Throttled) -> Throttled:
        """The throttles once they are ``expected``, or what they are after ten seconds.

        A broker learns of a change a moment after the controller has confirmed it.
        """
        with suppress(TimeoutError):
            until(lambda: self.throttles() == expected, patience=10)
        return self.throttles()

    def notes(self) -> list[str]:
        return [one.note for one in self.updates if one.note]

    def alive(self) -> list[int]:
        return sorted(alive_brokers(self.admin.describe_cluster()))

    def events(self) -> list[str]:
        lines = (self.directory / "journal.jsonl").read_text().splitlines()
        return [json.loads(line)["event"] for line in lines]

    def is_healthy(self) -> bool:
        """Whether all are in sync and led by their preferred leader."""
        return all(
            set(one.isr) == set(one.replicas) and one.leader == one.replicas[0]
            for one in self.state()
        )


class Background(threading.Thread):
    def __init__(self, call: Callable[[], Outcome]) -> None:
        super().__init__(daemon=True)
        self._call = call
        self._outcome: Outcome | BaseException | None = None
        self.start()

    def run(self) -> None:
        try:
            self._outcome = self._call()
        except BaseException as error:
            self._outcome = error

    def outcome(self, patience: float = 90.0) -> Outcome:
        self.join(patience)
        assert not self.is_alive(), "the run never ended"
        if isinstance(self._outcome, BaseException):
            raise self._outcome
        assert self._outcome is not None
        return self._outcome


def until(done: Callable[[], Any], patience: float = 60.0) -> None:
    deadline = time.monotonic() + patience
    while not done():
        if time.monotonic() > deadline:
            raise TimeoutError("it never happened")
        time.sleep(0.1)


@contextmanager
def made_topic(
    kafka: Any,
    admin: KafkaAdminClient,
    folder: Path,
    test: str,
    partitions: int,
    **options: Any,
) -> Iterator[Topic]:
    """A topic with data on brokers 1 and 2 only, and a plan that moves some of it to broker 3."""
    name = test.replace("_", "-")
    lists = {number: [1 + number % 2, 2 - number % 2] for number in range(partitions)}
    admin.create_topics({name: {"assignments": lists}})
    fill(kafka, name, partitions)
    cluster = take_snapshot(admin, groups=False).cluster()
    plan = partage.plan(cluster, topics=name, spread="topic", **options)
    assert plan.moves >= 2
    plan.write(folder / "plan")
    yield Topic(kafka, admin, name, folder / "plan")
    remove(admin, name)


def fill(kafka: Any, name: str, partitions: int, times: int = 1) -> None:
    """Write ``SIZE`` bytes to each partition, ``times`` over."""
    producer = KafkaProducer(bootstrap_servers=kafka.bootstrap_servers, acks="all")
    for number in range(partitions):
        for _ in range(RECORDS * times):
            producer.send(name, VALUE, partition=number)
    producer.close()


def remove(admin: KafkaAdminClient, name: str) -> None:
    if name in admin.list_topics():
        admin.delete_topics([name])
        until(lambda: name not in admin.list_topics())


@contextmanager
def configured(admin: KafkaAdminClient, *resources: ConfigResource) -> Iterator[None]:
    def copies() -> list[ConfigResource]:
        return [ConfigResource(one.resource_type, one.name, dict(one.configs)) for one in resources]

    admin.alter_configs(copies(), raise_on_unknown=False)
    try:
        yield
    finally:
        admin.reset_configs(copies(), raise_on_unknown=False)
