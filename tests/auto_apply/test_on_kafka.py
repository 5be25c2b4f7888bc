"""``partage watch --apply`` on a real cluster with traffic: a dry run, kill -9, a resume."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyspark")
pytest.importorskip("kafka")

from kafka import KafkaAdminClient, KafkaProducer

from partage.auto_apply.ledger import Ledger
from partage.live.admin.snapshot import read_partitions, read_throttles
from tests.live.execution.kafka_topics import SIZE, SLOW, fill, remove, until

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


def test_dry_run_kill_and_resume(
    kafka: Any, admin: KafkaAdminClient, topic: str, tmp_path: Path
) -> None:
    (tmp_path / "records").mkdir()

    def add_records(name: str) -> None:
        """A minute until now, in which every partition receives the same."""
        now = int(time.time())
        lines = [
            {"topic": topic, "partition": number, "offset": 0, "timestamp": at * 1000}
            | {"key": None, "value_bytes": 100}
            for at in range(now - 60, now)
            for number in range(ON_BROKER_1 + 2)
        ]
        text = "".join(f"{json.dumps(line)}\n" for line in lines)
        (tmp_path / "records" / name).write_text(text)

    def placed() -> dict[int, tuple[int, ...]]:
        return {one.partition: one.replicas for one in read_partitions(admin, [topic])}

    def watch(throttle: int, *more: str) -> subprocess.Popen[str]:
        words = "records -o watch --once --json --window 5 --over 600 --allowed-lateness 0 --apply"
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

    def applied(process: subprocess.Popen[str]) -> list[dict[str, Any]]:
        assert process.stdout is not None
        events = [json.loads(line) for line in process.stdout]
        assert process.wait() == 0
        return [event for event in events if event["event"] == "apply"]

    before = placed()
    add_records("1.jsonl")
    (would,) = applied(watch(SLOW))
    assert would["state"] == "would", would
    assert placed() == before
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
    led = [replicas[0] for replicas in placed().values()]
    assert max(map(led.count, (1, 2, 3))) <= 1.2 * len(led) / 3 + 1
    assert led.count(1) < ON_BROKER_1
    until(lambda: read_throttles(admin, [1, 2, 3], [topic]).topics == {})
    assert read_throttles(admin, [1, 2, 3], [topic]).brokers == {}
