"""Plans applied to a real cluster and rolled back, with interrupts, kills and dead brokers."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("kafka")

from kafka import KafkaAdminClient
from kafka.admin import ConfigResource, ConfigResourceType

from partage.java import find_java
from partage.live.admin.snapshot import take_snapshot
from partage.live.execution import executor
from partage.live.execution.changes import MoveStatus
from partage.live.execution.outcome import Outcome
from partage.live.execution.overrides import Overrides
from partage.live.execution.preflight import preflight
from partage.live.execution.verify import verify
from partage.live.sandbox.jars import kafka_jars
from tests.live.execution.kafka_topics import (
    LISTS,
    RATES,
    SIZE,
    SLOW,
    Topic,
    configured,
    made_topic,
    reassign_tool,
    until,
)

pytestmark = pytest.mark.kafka


@pytest.fixture
def topic(
    kafka: Any, admin: KafkaAdminClient, tmp_path: Path, request: pytest.FixtureRequest
) -> Iterator[Topic]:
    with made_topic(kafka, admin, tmp_path, request.node.name, 4, concurrency=2) as made:
        yield made


def test_apply_and_rollback(topic: Topic) -> None:
    before = topic.lists()
    plan = topic.plan
    assert verify(plan, topic.admin)["state"] == "not begun"
    assert (
        preflight(plan, take_snapshot(topic.admin, groups=False), throttle=50 * SIZE).errors == []
    )
    theirs = ConfigResource(ConfigResourceType.TOPIC, topic.name, {LISTS[0]: "0:1"})
    rate = ConfigResource(ConfigResourceType.BROKER, "1", {RATES[0]: "123456789"})
    with configured(topic.admin, theirs, rate):
        was = ({1: {RATES[0]: "123456789"}}, {topic.name: {LISTS[0]: "0:1"}})
        assert topic.throttles_soon(was) == was
        assert topic.run(plan, throttle=50 * SIZE) == Outcome("done")
        assert topic.throttles_soon(was) == was
        targets = {key: change.target for key, change in plan.changes.items()}
        expected = {**plan.original_replicas, **targets}
        assert topic.lists() == [expected[key] for key in sorted(expected) if key[0] == topic.name]
        assert topic.is_healthy()
        assert verify(plan, topic.admin)["state"] == "done"
        last = topic.updates[-1]
        assert last.moving == 0
        assert last.bytes_done == last.bytes_total
        submitted = topic.events().count("submitted")
        assert topic.run(plan) == Outcome("done")  # again: nothing is left to do
        assert topic.events().count("submitted") == submitted
        assert topic.run(plan.reversed(), throttle=50 * SIZE) == Outcome("done")
        assert topic.lists() == before
        assert topic.is_healthy()
        assert topic.throttles_soon(was) == was


@pytest.fixture
def topic_in_waves(
    kafka: Any, admin: KafkaAdminClient, tmp_path: Path, request: pytest.FixtureRequest
) -> Iterator[Topic]:
    """Broker 3 receives its replicas one by one."""
    with made_topic(kafka, admin, tmp_path, request.node.name, 4, concurrency=1) as made:
        yield made


@pytest.mark.long
def test_an_interrupt_lets_the_wave_finish(topic_in_waves: Topic) -> None:
    topic = topic_in_waves
    waves = len(topic.plan.waves)
    assert waves > 1
    background = topic.begun()
    assert set(topic.throttles()[0]) == {1, 2, 3}
    topic.interrupts()
    until(lambda: "finishing this wave; interrupt again to cancel it" in topic.notes())
    Overrides(throttle=100 * SIZE).write(str(topic.directory))  # so that it ends soon
    outcome = background.outcome()
    assert (outcome.state, outcome.waves_left) == ("stopped", waves - 1)
    assert topic.throttles_soon(({}, {})) == ({}, {})
    notes = [one.note for one in topic.updates if one.note]
    assert "finishing this wave; interrupt again to cancel it" in notes
    assert f"the throttle is now {100 * SIZE:,} bytes per second" in notes
    topic.interrupts.count = 0
    assert topic.run(topic.plan) == Outcome("done")
    assert topic.is_healthy()


@pytest.mark.long
def test_two_interrupts_cancel_the_wave(topic: Topic) -> None:
    before = topic.lists()
    background = topic.begun()
    topic.interrupts()
    topic.interrupts()
    outcome = background.outcome()
    assert (outcome.state, outcome.waves_left) == ("stopped", len(topic.plan.waves))
    until(lambda: all(not one.adding for one in topic.state()))
    statuses = topic.plan.statuses(topic.state())
    assert MoveStatus.WAITING in statuses.values()
    assert set(statuses.values()) <= {MoveStatus.WAITING, MoveStatus.DONE}
    assert topic.throttles_soon(({}, {})) == ({}, {})
    topic.interrupts.count = 0
    assert topic.run(topic.plan.reversed()) == Outcome("done")
    assert topic.lists() == before


@pytest.mark.long
def test_rollback_in_the_middle_of_a_move(topic: Topic) -> None:
    before = topic.lists()
    background = topic.begun()
    topic.interrupts()
    topic.interrupts.count = 1
    assert any(one.adding for one in topic.state())
    topic.interrupts()
    background.outcome()
    # start the move again and abandon it, as a run that is killed
    wanted = {key: change for key, change in topic.plan.changes.items() if change.adding}
    with configured(
        topic.admin,
        *[
            ConfigResource(ConfigResourceType.BROKER, b, dict.fromkeys(RATES, "1000"))
            for b in "123"
        ],
        ConfigResource(ConfigResourceType.TOPIC, topic.name, dict.fromkeys(LISTS, "*")),
    ):
        from kafka import TopicPartition

        topic.admin.alter_partition_reassignments(
            {TopicPartition(*key): list(change.target) for key, change in wanted.items()}
        )
        until(lambda: any(one.adding for one in topic.state()))
        topic.interrupts.count = 0
        assert topic.run(topic.plan.reversed()).state == "done"
        assert topic.lists() == before


def test_kill_and_resume(topic: Topic) -> None:
    command = [sys.executable, "-m", "partage", "apply", str(topic.directory), "--yes", "--json"]
    environment = {**os.environ, "PARTAGE_BOOTSTRAP_SERVERS": topic.kafka.bootstrap_servers}
    first = subprocess.Popen(
        [*command, "--throttle", f"{SLOW}B"],
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert first.stdout is not None
    for line in first.stdout:
        if json.loads(line)["bytes_done"] > 0:
            break
    first.send_signal(signal.SIGKILL)
    first.wait()
    first.stdout.close()
    assert topic.throttles()[0][3] == dict.fromkeys(RATES, str(SLOW))
    assert verify(topic.plan, topic.admin)["state"] == "in progress"
    again = subprocess.run(
        [*command, "--throttle", f"{50 * SIZE}B"],
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert again.returncode == 0, again.stderr
    assert json.loads(again.stdout.splitlines()[-1])["state"] == "done"
    assert topic.throttles_soon(({}, {})) == ({}, {})
    assert verify(topic.plan, topic.admin)["state"] == "done"


@pytest.mark.long
def test_a_removed_throttle_is_set_again(topic: Topic) -> None:
    background = topic.begun()
    mine = [ConfigResource(ConfigResourceType.BROKER, "3", dict.fromkeys(RATES, ""))]

    def noticed() -> bool:
        return any("removed the throttle" in (one.note or "") for one in topic.updates)

    for _ in range(6):
        # until the run has read its throttle once, a removal looks like a broker that is late
        topic.admin.reset_configs(mine, raise_on_unknown=False)
        with suppress(TimeoutError):
            until(noticed, patience=10)
            break
    assert noticed()
    until(lambda: topic.throttles()[0].get(3) == dict.fromkeys(RATES, str(SLOW)))
    topic.interrupts()
    topic.interrupts()
    background.outcome()


@pytest.mark.long
def test_a_topic_deleted_during_the_run(topic: Topic) -> None:
    background = topic.begun()
    topic.admin.delete_topics([topic.name])
    outcome = background.outcome()
    assert outcome.state == "differs"
    assert set(outcome.problems.values()) == {"it no longer exists"}
    assert topic.throttles_soon(({}, {}))[0] == {}


def outcome_keys(outcome: Outcome) -> list[tuple[str, int]]:
    """The partitions with problems."""
    named = [name.rpartition("-") for name in outcome.problems]
    return [(topic, int(number)) for topic, _, number in named]


@pytest.mark.long
def test_a_dead_broker_is_reported_and_its_moves_cancelled(
    topic: Topic, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(executor, "DEAD_SECONDS", 2.0)
    moves = {change.key: change.origin for change in topic.plan.changes.values() if change.adding}
    background = topic.begun()
    topic.kafka.kill_broker(3)
    try:
        outcome = background.outcome()
        assert outcome.state == "differs"
        assert set(outcome.problems.values()) == {"broker 3 does not answer"}
        assert outcome.dead == [3]
        found = {(one.topic, one.partition): one.replicas for one in topic.state()}
        assert {key: found[key] for key in outcome_keys(outcome)} == {
            key: moves[key] for key in outcome_keys(outcome)
        }
        assert topic.throttles_soon(({}, {})) == ({}, {})
    finally:
        topic.kafka.start_broker(3)
    until(lambda: len(topic.alive()) == 3)
    assert topic.throttles()[0] == {3: dict.fromkeys(RATES, str(SLOW))}
    assert topic.run(topic.plan) == Outcome("done")
    assert topic.throttles_soon(({}, {})) == ({}, {})
    assert topic.is_healthy()


@pytest.mark.long
def test_applied_with_kafkas_own_tool(topic: Topic) -> None:
    java = str(find_java("Kafka") / "bin" / "java")
    tool = reassign_tool(topic.kafka.kafka)
    jars = str(kafka_jars(topic.kafka.kafka) / "*")
    file = str(topic.directory / "reassignment.json")
    asked = ("--bootstrap-server", topic.kafka.bootstrap_servers, "--reassignment-json-file", file)
    done = subprocess.run(
        [java, "-cp", jars, tool, *asked, "--execute"],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert "Successfully started partition reassignment" in done.stdout, done.stdout + done.stderr
    until(lambda: verify(topic.plan, topic.admin)["done"] == len(topic.plan.changes))
    # it does not elect leaders: partage does the rest
    assert topic.run(topic.plan) == Outcome("done")
    assert verify(topic.plan, topic.admin)["state"] == "done"
