"""What Kafka's own tool proposes, carried out in batches on a real cluster, and undone."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("kafka")

from kafka import KafkaAdminClient, KafkaProducer

from partage.cli import main
from partage.java import find_java
from partage.live.admin.connection import Connection
from partage.live.admin.snapshot import read_partitions
from partage.live.admin.states import PartitionState
from partage.live.sandbox.jars import kafka_jars
from tests.live.execution.kafka_topics import reassign_tool, until

pytestmark = [pytest.mark.long, pytest.mark.kafka]

TOPIC = "given"
PARTITIONS = 4


@pytest.fixture
def admin(kafka: Any) -> Iterator[KafkaAdminClient]:
    """With a topic that lies on brokers 1 and 2 alone."""
    with Connection.of(kafka.bootstrap_servers).admin() as client:
        lists = {number: [1 + number % 2, 2 - number % 2] for number in range(PARTITIONS)}
        client.create_topics({TOPIC: {"assignments": lists}})
        producer = KafkaProducer(bootstrap_servers=kafka.bootstrap_servers, acks="all")
        for number in range(PARTITIONS):
            producer.send(TOPIC, b"x" * 100_000, partition=number)
        producer.close()
        yield client
        client.delete_topics([TOPIC])
        while TOPIC in client.list_topics():
            time.sleep(0.1)


def generated(kafka: Any, folder: Path) -> str:
    """What Kafka's ``--generate`` prints for the topic over all three brokers."""
    (folder / "topics.json").write_text(json.dumps({"version": 1, "topics": [{"topic": TOPIC}]}))
    java = str(find_java("Kafka") / "bin" / "java")
    jars = str(kafka_jars(kafka.kafka) / "*")
    tool = reassign_tool(kafka.kafka)
    asked = ("--topics-to-move-json-file", "topics.json", "--broker-list", "1,2,3", "--generate")
    done = subprocess.run(
        [java, "-cp", jars, tool, "--bootstrap-server", kafka.bootstrap_servers, *asked],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_generated_by_kafka_applied_in_batches_and_rolled_back(
    kafka: Any,
    admin: KafkaAdminClient,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PARTAGE_BOOTSTRAP_SERVERS", kafka.bootstrap_servers)

    def partage(*arguments: str) -> tuple[int, str, str]:
        capsys.readouterr()
        monkeypatch.setattr(sys, "argv", ["partage", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        assert isinstance(ended.value.code, int)
        return ended.value.code, *capsys.readouterr()

    def state() -> list[PartitionState]:
        return list(read_partitions(admin, [TOPIC]))

    def lists() -> list[list[int]]:
        return [list(one.replicas) for one in state()]

    def events(name: str) -> int:
        journal = (tmp_path / "proposal-plan" / "journal.jsonl").read_text()
        return [json.loads(line)["event"] for line in journal.splitlines()].count(name)

    text = generated(kafka, tmp_path)
    current, proposed = (
        {p["partition"]: p["replicas"] for p in json.loads(line)["partitions"]}
        for line in text.splitlines()
        if line.startswith("{")
    )
    before = lists()
    assert before == [current[number] for number in range(PARTITIONS)]
    wanted = [proposed[number] for number in range(PARTITIONS)]
    changed = sum(old != new for old, new in zip(before, wanted, strict=True))
    assert changed >= 2
    (tmp_path / "proposal.txt").write_text(text)

    code, out, err = partage("apply", "proposal.txt", "--batch", "2", "--yes")
    assert code == 0, out + err
    assert "Written: proposal-plan" in out
    assert lists() == wanted
    assert all(set(one.isr) == set(one.replicas) for one in state())
    # brokers learn of elections a moment later
    until(lambda: all(one.leader == one.replicas[0] for one in state()))
    waves = sorted((tmp_path / "proposal-plan" / "waves").iterdir())
    sizes = [len(json.loads(wave.read_text())["partitions"]) for wave in waves]
    assert max(sizes) <= 2
    assert sum(sizes) == changed
    assert events("submitted") == len(waves)

    code, out, _ = partage("apply", "proposal.txt", "--batch", "2", "--yes")  # once more
    assert code == 0
    assert out.startswith("Resuming proposal-plan\n")
    assert events("submitted") == len(waves)
    assert partage("verify", "proposal-plan")[0] == 0

    code, out, err = partage("rollback", "proposal-plan", "--yes")
    assert code == 0, out + err
    assert lists() == before
    assert all(one.leader == one.replicas[0] for one in state())
