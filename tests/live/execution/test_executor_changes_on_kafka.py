"""Changes during a run: overrides, the cluster's health, dead brokers, new partitions."""

from __future__ import annotations

import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("kafka")

from kafka import KafkaAdminClient, KafkaProducer, TopicPartition
from kafka.admin import ConfigResource, ConfigResourceType
from kafka.errors import TopicAlreadyExistsError

from partage.cli import main
from partage.errors import PartageError, SeveralError
from partage.java import find_java
from partage.live.execution import (
    executor,
    health,
    rate_control,
    retrying_admin,
    throttle_controller,
)
from partage.live.execution.changes import Change
from partage.live.execution.execution_plan import ExecutionPlan
from partage.live.execution.outcome import Outcome
from partage.live.execution.overrides import Overrides
from partage.live.execution.preflight import prepare
from partage.live.execution.verify import verify
from partage.live.sandbox.jars import kafka_jars
from partage.units import AUTO
from tests.live.execution.kafka_topics import (
    SIZE,
    Background,
    Topic,
    config_tool,
    fill,
    made_topic,
    remove,
    until,
)

pytestmark = [pytest.mark.long, pytest.mark.kafka]

MINIMUM, START = 100_000, 500_000
"""Bytes per second: low enough that the rate goes up and down within a test."""


@pytest.fixture
def topic(
    kafka: Any, admin: KafkaAdminClient, tmp_path: Path, request: pytest.FixtureRequest
) -> Iterator[Topic]:
    """Broker 3 receives its replicas one by one."""
    with made_topic(kafka, admin, tmp_path, request.node.name, 6, concurrency=1) as made:
        yield made


@contextmanager
def written_to(kafka: Any, name: str, bytes_per_second: int) -> Iterator[Callable[[], int]]:
    """A producer that keeps writing to partition 0 of a topic; yields how many bytes so far."""
    ended = threading.Event()
    written = 0

    def write() -> None:
        nonlocal written
        producer = KafkaProducer(bootstrap_servers=kafka.bootstrap_servers, acks="all", linger_ms=0)
        while not ended.wait(0.1):
            producer.send(name, b"x" * (bytes_per_second // 10), partition=0).get(30)
            written += bytes_per_second // 10
        producer.close()

    thread = threading.Thread(target=write, daemon=True)
    thread.start()
    try:
        yield lambda: written
    finally:
        ended.set()
        thread.join(30)


def test_higher_concurrency_and_new_partitions(
    topic: Topic, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []
    alter = topic.admin.alter_partition_reassignments

    def counted(lists: Mapping[Any, Any]) -> Any:
        asked.append(len(lists))
        return alter(lists)

    monkeypatch.setattr(retrying_admin, "PARTITIONS_PER_REQUEST", 2)
    monkeypatch.setattr(topic.admin, "alter_partition_reassignments", counted)
    plan = topic.plan
    copying = [c.key for c in plan.changes.values() if c.adding]
    assert len(copying) == 4
    assert len(plan.waves) >= 4
    background = topic.begun()
    topic.admin.create_partitions({topic.name: 8})
    new = topic.lists()[6:]
    Overrides(throttle=100 * SIZE).write(str(topic.directory))
    Overrides(concurrency=3).write(str(topic.directory))
    outcome = background.outcome()
    assert outcome == Outcome("done")
    (said,) = (note for note in topic.notes() if "concurrency" in note)
    assert said.startswith("the concurrency is now 3; waves left: ")
    assert topic.updates[-1].waves < len(plan.waves)
    assert max(asked) == 2  # the three that were left moved at once, in two requests
    lists = {(one.topic, one.partition): one.replicas for one in topic.state()}
    assert {key: lists[key] for key in plan.changes} == {
        k: c.target for k, c in plan.changes.items()
    }
    assert topic.lists()[6:] == new
    assert topic.throttles_soon(({}, {})) == ({}, {})
    back = prepare(plan.reversed(), topic.admin, throttle=None, concurrency=4)
    assert len(back.plan.waves) < len(plan.waves)
    new_partitions = f"{topic.name}-6, {topic.name}-7"
    assert f"partitions that are not in the plan: {new_partitions}" in back.warnings
    assert topic.run(back.plan) == Outcome("done")
    assert verify(plan.reversed(), topic.admin)["state"] == "done"


def test_a_refused_partition_does_not_stop_the_others(topic: Topic) -> None:
    plan = topic.plan
    wave = plan.waves[0]
    bad = plan.changes[next(key for key in plan.changes if key not in wave)]
    twice = replace(bad, target=(2, 2), origin=(1, 2))
    one = replace(
        plan, changes={wave[0]: plan.changes[wave[0]], bad.key: twice}, waves=((wave[0], bad.key),)
    )
    outcome = topic.run(one)
    assert outcome.state == "differs"
    assert outcome.problems == {bad.name: "invalid replication assignment"}
    assert verify(replace(one, changes={wave[0]: one.changes[wave[0]]}), topic.admin)["done"] == 1


def test_write_rates_are_measured(topic: Topic) -> None:
    plan = topic.plan
    busy = Change(topic.name, 0, (1, 2), (1, 3))
    one = replace(plan, changes={busy.key: busy}, waves=((busy.key,),))
    with written_to(topic.kafka, topic.name, 400_000) as written:
        until(written)
        before, began = written(), time.monotonic()
        ready = prepare(one, topic.admin, throttle=50 * SIZE)
        rate = (written() - before) / (time.monotonic() - began)
        # the leader sends it to the follower, and to the new replica
        assert ready.required == pytest.approx(2 * rate, rel=0.2)
        assert ready.source == "measured for 3 s"
        with pytest.raises(SeveralError, match="a throttle of 400,000 bytes per second is too low"):
            prepare(one, topic.admin, throttle=400_000)


def test_every_reason_not_to_start_is_a_line(
    topic: Topic, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["partage", "apply", str(topic.directory), "--throttle", "5MB", "--concurrency", "2"]
    monkeypatch.setattr(
        sys, "argv", [*words, "--yes", "--bootstrap-server", topic.kafka.bootstrap_servers]
    )
    moved = {TopicPartition(topic.name, number): [3, 1] for number in range(6)}
    topic.admin.alter_partition_reassignments(moved)
    until(lambda: set(topic.lists()) == {(3, 1)} and not topic.admin.list_partition_reassignments())
    topic.kafka.kill_broker(3)
    try:
        until(lambda: len(topic.alive()) == 2)
        with pytest.raises(SystemExit) as ended:
            main()
    finally:
        topic.kafka.start_broker(3)
    assert ended.value.code == 1
    first, second = capsys.readouterr().err.splitlines()
    where = f"partage: {topic.directory}: "
    assert first.startswith(where + "the cluster has changed since the plan was made: ")
    assert f"{topic.name}-0 is on" in first
    assert second == where + "broker 3 should receive replicas: it does not answer"


def test_a_topic_created_again_with_the_same_replicas(
    topic: Topic, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Between the plan and its first run: only the topic's id differs."""
    lists = topic.lists()
    first = topic.plan.topic_ids[topic.name]
    remove(topic.admin, topic.name)
    again = {topic.name: {"assignments": dict(enumerate(map(list, lists)))}}

    def gone() -> bool:
        with suppress(TopicAlreadyExistsError):  # ZooKeeper keeps it for a moment
            topic.admin.create_topics(again)
            return True
        return False

    until(gone)

    def created() -> bool:
        with suppress(PartageError):  # a broker that has not learnt of it
            return topic.lists() == lists and topic.state()[0].topic_id != first
        return False

    until(created)
    for command in ("apply", "rollback"):
        words = ["partage", command, str(topic.directory), "--yes", "--bootstrap-server"]
        monkeypatch.setattr(sys, "argv", [*words, topic.kafka.bootstrap_servers])
        with pytest.raises(SystemExit) as ended:
            main()
        assert ended.value.code == 1
        (line,) = capsys.readouterr().err.splitlines()
        assert f"{topic.name}-0 was deleted and created again" in line
        assert topic.lists() == lists


def test_a_quota_on_requests_during_a_run(topic: Topic) -> None:
    """Kafka delays what the executor asks; the run goes on, and ends whole when it is gone."""

    def quota(how: str) -> None:
        java, jars = find_java("Kafka") / "bin" / "java", kafka_jars(topic.kafka.kafka)
        tool = [str(java), "-cp", f"{jars}/*", config_tool(topic.kafka.kafka), "--alter"]
        to = ["--bootstrap-server", topic.kafka.bootstrap_servers]
        of = ["--entity-type", "clients", "--entity-name", "partage"]
        subprocess.run([*tool, *to, *of, *how.split()], check=True, capture_output=True)

    background = topic.begun()
    quota("--add-config request_percentage=0.1,controller_mutation_rate=0.1")
    try:
        before = len(topic.updates)
        until(lambda: len(topic.updates) > before)
        assert background.is_alive()
    finally:
        quota("--delete-config request_percentage,controller_mutation_rate")
    Overrides(throttle=100 * SIZE).write(str(topic.directory))
    assert background.outcome() == Outcome("done")
    assert verify(topic.plan, topic.admin)["state"] == "done"
    assert topic.throttles_soon(({}, {})) == ({}, {})


def moving(
    topic: Topic, number: int, origin: tuple[int, ...], target: tuple[int, ...]
) -> ExecutionPlan:
    """A plan of one partition of the topic."""
    change = Change(topic.name, number, origin, target, SIZE)
    return replace(topic.plan, changes={change.key: change}, waves=((change.key,),))


def test_the_rate_follows_the_clusters_health(
    topic: Topic, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(health, "UNMOVED_SECONDS", 0.2)
    monkeypatch.setattr(throttle_controller, "replica_lag_seconds", lambda *_: 1.0)
    monkeypatch.setattr(rate_control, "LOWEST_MINIMUM_RATE", MINIMUM)
    monkeypatch.setattr(rate_control, "INITIAL_RATE", START)
    # so low that the partition is on its way until all of this happened
    monkeypatch.setattr(rate_control, "MAX_RATE", 2 * START)
    other, alone = (f"{topic.name}-{name}" for name in ("other", "alone"))
    topic.admin.create_topics({other: {"assignments": {0: [1, 3]}}})
    least = ConfigResource(ConfigResourceType.TOPIC, other, {"min.insync.replicas": "2"})
    topic.admin.alter_configs([least], raise_on_unknown=False)
    # nothing of it is on broker 3
    topic.admin.create_topics({alone: {"assignments": {0: [1]}}})
    fill(topic.kafka, alone, 1, times=32)
    change = Change(alone, 0, (1,), (2,), 32 * SIZE)
    plan = replace(topic.plan, changes={change.key: change}, waves=((change.key,),))

    def last() -> int | None:
        return topic.updates[-1].throttle if topic.updates else None

    try:
        background = Background(lambda: topic.run(plan, throttle=AUTO))
        until(lambda: last() == MINIMUM + START)
        until(lambda: (last() or 0) >= 2 * START)
        topic.kafka.kill_broker(3)
        try:
            until(lambda: last() == MINIMUM)
            (note,) = (note for note in topic.notes() if "slowed down" in note)
            assert note.startswith(f"slowed down to {MINIMUM:,} bytes per second: ")
            # there may be more of them, of other tests
            assert re.search(r"\d below min\.insync\.replicas ", note)

            def rate_of_two() -> str:
                return topic.throttles()[0][2]["follower.replication.throttled.rate"]

            until(lambda: rate_of_two() == str(MINIMUM))  # a broker learns of it a moment later
            Overrides(throttle=START).write(str(topic.directory))
            until(lambda: f"the throttle is now {START:,} bytes per second" in topic.notes())
            assert last() == MINIMUM
        finally:
            topic.kafka.start_broker(3)
        until(
            lambda: "all partitions are in sync again: no longer slowed down" in topic.notes(),
            patience=180.0,
        )
        until(lambda: last() == START)
        monkeypatch.setattr(rate_control, "MAX_RATE", 100 * START)
        Overrides(throttle=AUTO).write(str(topic.directory))
        assert background.outcome() == Outcome("done")
        assert max(one.throttle or 0 for one in topic.updates) >= 4 * START
        assert topic.throttles_soon(({}, {})) == ({}, {})
    finally:
        remove(topic.admin, other)
        remove(topic.admin, alone)


def test_moves_to_a_dead_broker_are_planned_again(
    topic: Topic, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(executor, "DEAD_SECONDS", 2.0)
    before = topic.lists()
    background = topic.begun(on_failure="replan")
    topic.kafka.kill_broker(3)
    try:
        until(lambda: any("planned again without it" in note for note in topic.notes()))
        Overrides(throttle=100 * SIZE).write(str(topic.directory))
        outcome = background.outcome()
        assert outcome.dead == [3]
        led = re.compile(r"is led by broker [12] instead of 3\b.*")
        assert all(led.fullmatch(why) for why in outcome.problems.values())
        assert (topic.directory / "replan-1.json").exists()
        again = ExecutionPlan.read(topic.directory)
        found = {(one.topic, one.partition): one.replicas for one in topic.state()}
        for key, change in topic.plan.changes.items():
            assert found[key] == change.target
        assert verify(again, topic.admin)["differs"] == {}
    finally:
        topic.kafka.start_broker(3)
    until(lambda: len(topic.alive()) == 3)
    assert topic.run(ExecutionPlan.read(topic.directory).reversed()).state == "done"
    assert topic.lists() == before
    assert topic.throttles_soon(({}, {})) == ({}, {})
