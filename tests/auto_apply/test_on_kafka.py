"""``partage watch --apply`` on a real cluster with traffic: a dry run, kill -9, a resume, records
read from the cluster itself; and faults while it acts."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyspark")
pytest.importorskip("kafka")

from kafka import KafkaAdminClient, KafkaProducer, TopicPartition
from kafka.admin import ConfigResource, ConfigResourceType

import partage
from partage.auto_apply.keeper import Keeper, Settings
from partage.auto_apply.ledger import HALTED, PLANS, Ledger
from partage.auto_apply.policy import Limits
from partage.live.admin.connection import Connection
from partage.live.admin.snapshot import read_partitions, read_throttles
from partage.pipeline.sources import kafka as source
from partage.pipeline.watch import Judgement
from tests.auto_apply.conftest import profile
from tests.live.execution.kafka_topics import (
    LISTS,
    RATES,
    SIZE,
    SLOW,
    configured,
    fill,
    remove,
    until,
)

pytestmark = [pytest.mark.long, pytest.mark.kafka, pytest.mark.spark]

NAME = "kept-balanced"
ON_BROKER_1 = 6


@pytest.fixture
def topic(kafka: Any, admin: KafkaAdminClient) -> Iterator[str]:
    """Six partitions are on broker 1 only, one is on each other broker; records keep coming."""
    lists = {number: [1] for number in range(ON_BROKER_1)} | {6: [2], 7: [3]}
    admin.create_topics({NAME: {"assignments": lists}})
    fill(kafka, NAME, len(lists))
    done = threading.Event()

    def write() -> None:
        producer = KafkaProducer(bootstrap_servers=kafka.bootstrap_servers, acks="all")
        while not done.wait(0.1):
            for number in lists:
                producer.send(NAME, b"x" * 100, partition=number)
        producer.close()

    traffic = threading.Thread(target=write)
    traffic.start()
    yield NAME
    done.set()
    traffic.join()
    remove(admin, NAME)


Start = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def start(kafka: Any, tmp_path: Path) -> Start:
    """Start ``partage watch RECORDS -o watch --json --apply --plan moves`` with more options."""

    def call(records: str, throttle: int, *more: str) -> subprocess.Popen[str]:
        words = f"{records} -o watch --json --window 5 --allowed-lateness 0 --apply"
        limits = f"--plan moves --bytes-per-day {ON_BROKER_1 * 2 * SIZE} --throttle {throttle}"
        command = (sys.executable, "-m", "partage", "watch")
        server = ("--bootstrap-server", kafka.bootstrap_servers)
        return subprocess.Popen(
            [*command, *words.split(), *limits.split(), *server, *more],
            stdout=subprocess.PIPE,
            text=True,
            cwd=tmp_path,
            env=os.environ,
        )

    return call


def placed(admin: KafkaAdminClient) -> dict[int, tuple[int, ...]]:
    return {one.partition: one.replicas for one in read_partitions(admin, [NAME])}


def unthrottled(admin: KafkaAdminClient) -> None:
    """Wait until no throttle is left."""
    until(lambda: read_throttles(admin, [1, 2, 3], [NAME]).topics == {})
    assert read_throttles(admin, [1, 2, 3], [NAME]).brokers == {}


def test_dry_run_kill_and_resume(
    kafka: Any, admin: KafkaAdminClient, topic: str, start: Start, tmp_path: Path
) -> None:
    (tmp_path / "records").mkdir()
    last = int(time.time()) - 240

    def add_records(name: str) -> None:
        """Until now, every partition receives the same."""
        nonlocal last
        now = int(time.time())
        lines = [
            {"topic": topic, "partition": number, "offset": 0, "timestamp": at * 1000}
            | {"key": None, "value_bytes": 100}
            for at in range(last, now)
            for number in range(ON_BROKER_1 + 2)
        ]
        last = now
        text = "".join(f"{json.dumps(line)}\n" for line in lines)
        (tmp_path / "records" / name).write_text(text)

    def watch(throttle: int, *more: str) -> subprocess.Popen[str]:
        return start("records", throttle, "--once", "--over", "200", *more)

    def applied(process: subprocess.Popen[str]) -> list[dict[str, Any]]:
        assert process.stdout is not None
        events = [json.loads(line) for line in process.stdout]
        assert process.wait() == 0
        return [event for event in events if event["event"] == "apply"]

    before = placed(admin)
    add_records("1.jsonl")
    (would,) = applied(watch(SLOW))
    assert would["state"] == "would", would
    assert placed(admin) == before
    assert read_throttles(admin, [1, 2, 3], [topic]).topics == {}

    add_records("2.jsonl")
    process = watch(SLOW, "--yes")
    assert process.stdout is not None
    for line in process.stdout:
        event = json.loads(line)
        if event["event"] == "progress" and event["bytes_done"] > 0:
            break
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stdout.close()
    (run,) = Ledger(tmp_path / "watch").runs
    assert run.state == "running"
    assert any(one.adding for one in read_partitions(admin, [topic]))

    states = [event["state"] for event in applied(watch(50 * SIZE, "--yes"))]
    assert states == ["resumed", "ended"]
    (ended,) = Ledger(tmp_path / "watch").runs
    assert (ended.plan, ended.state, ended.bytes) == (run.plan, "done", run.bytes)
    led = [replicas[0] for replicas in placed(admin).values()]
    assert max(map(led.count, (1, 2, 3))) <= 1.2 * len(led) / 3 + 1
    assert led.count(1) < ON_BROKER_1
    unthrottled(admin)


def test_from_records_of_the_cluster_to_an_even_load_and_back(
    kafka: Any,
    admin: KafkaAdminClient,
    topic: str,
    start: Start,
    connector: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Records are read from the cluster that is balanced: an alert before, the end of it after, and
    a rollback."""
    monkeypatch.setenv(source.CONNECTOR, str(connector))
    before, ends = placed(admin), set[str]()
    process = start(
        f"kafka://{kafka.bootstrap_servers}/{topic}",
        50 * SIZE,
        *("--yes", "--over", "15", "--every", "2", "--alert-command", "tee -a alerts.jsonl"),
    )
    assert process.stdout is not None
    seen: list[dict[str, Any]] = []
    for line in process.stdout:
        seen.append(json.loads(line))
        last = seen[-1].get("state", seen[-1]["event"])
        if last in ("ended", "fair"):
            ends.add(last)
            if len(ends) == 2:
                process.send_signal(signal.SIGTERM)
    assert process.wait() == 0
    process.stdout.close()

    alerts = [json.loads(line) for line in (tmp_path / "alerts.jsonl").read_text().splitlines()]
    assert alerts == [event for event in seen if event["event"] in ("alert", "fair", "apply")]
    by = {event.get("state", event["event"]): event for event in alerts}
    happened = [one for one in by if one != "refused"]
    assert happened[:2] == ["alert", "started"]
    assert set(happened[2:]) == ends
    alert, ended, fair = by["alert"], by["ended"], by["fair"]
    assert (alert["broker"], alert["plan"]) == (1, None)
    assert alert["fairness"] > 2
    assert fair["fairness"] <= 1.2
    assert 0 < ended["bytes"] <= ON_BROKER_1 * 2 * SIZE
    (run,) = Ledger(tmp_path / "watch").runs
    assert (run.state, run.bytes) == ("done", ended["bytes"])
    assert placed(admin) != before
    unthrottled(admin)

    plan = tmp_path / ended["plan"]
    assert partage.rollback(plan, admin=admin).state == "done"
    assert placed(admin) == before


# ---------------------------------------------------------------------- faults


class Kept:
    """A keeper of the cluster, with all partitions at the same rate. ``events`` so far."""

    def __init__(self, kafka: Any, directory: Path) -> None:
        self.directory = directory / "watch"
        (self.directory / PLANS).mkdir(parents=True)
        self.events: list[dict[str, Any]] = []
        self._connection = Connection.of(kafka.bootstrap_servers)

    def judged(
        self,
        budget: int,
        throttle: int = 50 * SIZE,
        during: Callable[[dict[str, Any]], None] = lambda _: None,
    ) -> list[str]:
        """A watch starts, and windows close; the states of its events. ``during`` gets each."""
        seen: list[dict[str, Any]] = []

        def emit(event: dict[str, Any]) -> None:
            seen.append(event)
            during(event)

        second = timedelta(seconds=1)
        limits = Limits(budget, None, None, settling=second, oldest=60 * second)
        settings = Settings(limits, 1.2, moves=True, throttle=throttle, act=True)
        keeper = Keeper(self.directory, self._connection.admin, settings, emit)
        keeper.begin()
        end = int(time.time() * 1e6)
        rates = profile([500.0] * (ON_BROKER_1 + 2), NAME)
        keeper.judged(Judgement(end - 2 * 10**6, end, True, None, rates))
        self.events = [event for event in seen if event["event"] == "apply"]
        return [event.get("reason", event["state"]) for event in self.events]


@pytest.fixture
def kept(kafka: Any, topic: str, tmp_path: Path) -> Kept:
    return Kept(kafka, tmp_path)


def test_a_broker_that_dies_halts_and_the_plan_can_be_rolled_back(
    kafka: Any, admin: KafkaAdminClient, kept: Kept
) -> None:
    before = placed(admin)

    def kill(event: dict[str, Any]) -> None:
        alive = {one["broker_id"] for one in admin.describe_cluster()["brokers"]}
        if event["event"] == "progress" and event["bytes_done"] > 0 and 3 in alive:
            kafka.kill_broker(3)

    try:
        assert kept.judged(ON_BROKER_1 * 2 * SIZE, SLOW, kill) == ["started", "failed"]
    finally:
        kafka.start_broker(3)
    failed = kept.events[-1]
    assert "broker 3 does not answer" in failed["problems"].values()
    assert failed["remove"] == str(kept.directory / HALTED)
    (run,) = Ledger(kept.directory).runs
    assert (run.state, run.bytes) == ("failed", failed["bytes"])
    assert not any(one.adding or one.removing for one in read_partitions(admin, [NAME]))

    now = placed(admin)
    assert kept.judged(ON_BROKER_1 * 2 * SIZE) == ["halted"]
    assert placed(admin) == now
    assert partage.rollback(failed["plan"], admin=admin).state == "done"
    assert placed(admin) == before
    unthrottled(admin)


def test_a_reassignment_of_someone_else_is_left_alone(
    admin: KafkaAdminClient, topic: str, kept: Kept
) -> None:
    before, theirs = placed(admin), TopicPartition(topic, 6)
    slow = ConfigResource(ConfigResourceType.BROKER, "3", {RATES[1]: "1000"})
    lists = ConfigResource(ConfigResourceType.TOPIC, topic, dict.fromkeys(LISTS, "*"))
    with configured(admin, slow, lists):
        time.sleep(1)  # brokers learn of it a moment later
        admin.alter_partition_reassignments({theirs: [3]})
        until(lambda: admin.list_partition_reassignments())
        assert kept.judged(ON_BROKER_1 * 2 * SIZE) == ["reassignment in progress"]
        assert "1 partition" in kept.events[0]["problem"]
        assert Ledger(kept.directory).runs == ()
        assert set(admin.list_partition_reassignments()) == {theirs}
        admin.alter_partition_reassignments({theirs: None})
        until(lambda: not admin.list_partition_reassignments())
        assert read_throttles(admin, [3], [topic]).brokers == {3: {RATES[1]: "1000"}}
    until(lambda: placed(admin) == before)
    assert kept.judged(ON_BROKER_1 * 2 * SIZE) == ["started", "ended"]
    unthrottled(admin)


def test_an_exhausted_budget_is_not_exceeded(admin: KafkaAdminClient, kept: Kept) -> None:
    budget = int(1.5 * SIZE)
    assert kept.judged(budget) == ["started", "ended"]
    (run,) = Ledger(kept.directory).runs
    assert (run.moves, run.bytes <= budget) == (1, True)
    now = placed(admin)
    time.sleep(5)  # its effect is measured
    assert kept.judged(budget) == ["no plan"]
    assert kept.judged(SIZE) == ["budget"]
    assert Ledger(kept.directory).runs == (run,)
    assert placed(admin) == now
    assert kept.judged(3 * SIZE) == ["started", "ended"]
    assert sum(one.bytes for one in Ledger(kept.directory).runs) <= 3 * SIZE
