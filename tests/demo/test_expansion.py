"""A real cluster is expanded under load: the results match what other clients see on it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("kafka")

from kafka import KafkaAdminClient, KafkaConsumer, TopicPartition

from partage.demo.expansion import Size, expand
from partage.demo.status import Status
from partage.report.live_page import render

pytestmark = [pytest.mark.long, pytest.mark.kafka]

TOPICS = {"orders": 5, "payments": 3}
SMALL = Size(
    topics=TOPICS, members=2, fill_bytes=500_000, throttle=2_000_000, concurrency=4, quiet=1.5
)


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


class Witness:
    """Reads the cluster with its own clients, at two moments of the run."""

    def __init__(self) -> None:
        self.home = Path()
        self.servers: list[str] = []
        self.pids: list[int] = []
        self.lists: dict[tuple[str, int], list[int]] = {}
        self.keys: dict[tuple[str, int], list[int]] = {}
        self.status = Status()
        self.steps: list[str] = []
        self.records: list[tuple[int, int]] = []

    def __call__(self, step: str) -> None:
        assert self.status.step == step
        self.steps.append(step)
        self.records.append(self.status.records())
        if step.startswith("starting a Kafka of 3 brokers in "):
            self.home = Path(step.rpartition(" ")[2])
        if step == "verifying":
            state = json.loads((self.home / "sandbox" / "sandbox.json").read_text())
            self.pids = [node["pid"] for node in state["nodes"]]
            self.servers = [f"127.0.0.1:{node['port']}" for node in state["nodes"] if node["id"]]
            self.read_lists()
        if step == "stopping Kafka":
            self.read_keys()

    def read_lists(self) -> None:
        admin = KafkaAdminClient(bootstrap_servers=self.servers)
        for topic in admin.describe_topics():
            for part in topic["partitions"]:
                self.lists[topic["name"], part["partition_index"]] = part["replica_nodes"]
        admin.close()

    def read_keys(self) -> None:
        """The keys of all records that have one."""
        consumer = KafkaConsumer(bootstrap_servers=self.servers, check_crcs=False)
        partitions = [TopicPartition(t, n) for t, count in TOPICS.items() for n in range(count)]
        ends = consumer.end_offsets(partitions)
        consumer.assign(partitions)
        consumer.seek_to_beginning()
        while any(consumer.position(one) < ends[one] for one in partitions):
            for one, batch in consumer.poll(timeout_ms=500).items():
                found = self.keys.setdefault((one.topic, one.partition), [])
                found += [int.from_bytes(record.key, "big") for record in batch if record.key]
        consumer.close()


@pytest.fixture(scope="module")
def expanded(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], Path, Witness]:
    folder, witness = tmp_path_factory.mktemp("expanded"), Witness()
    return expand(folder, SMALL, witness, witness.status), folder, witness


def test_every_acknowledged_record_exists_and_was_read(expanded: Any) -> None:
    results, _, witness = expanded
    records = results["records"]
    existing = sum(map(len, witness.keys.values()))
    assert set(witness.keys) == {(t, n) for t, count in TOPICS.items() for n in range(count)}
    assert all(keys == list(range(len(keys))) for keys in witness.keys.values())
    assert records["acknowledged"] == records["read"] == existing > 100
    assert records["missing"] == 0


def test_the_status_has_steps_records_and_bytes(expanded: Any) -> None:
    results, _, witness = expanded
    at = {step: number for number, step in enumerate(witness.steps)}
    assert witness.records[at["writing data"]] == (0, 0)
    assert all(written > 0 < read for written, read in witness.records[at["verifying"] : -1])
    assert any(step.startswith(f"wave 1 of {len(results['waves'])}, ") for step in witness.steps)
    assert witness.status.copied == results["apply"]["bytes_copied"]
    assert 0 < witness.status.copied <= 1.5 * witness.status.to_copy


def test_the_cluster_has_the_lists_of_the_plan(expanded: Any) -> None:
    results, folder, witness = expanded
    plan = json.loads((folder / "plan" / "plan.json").read_text())
    part = plan["partitions"]
    names = [plan["topics"][at] for at in part["topic"]]
    planned = dict(zip(zip(names, part["partition"], strict=True), part["after"], strict=True))
    assert witness.lists == planned
    assert part["before"] != part["after"]
    assert results["verified"] == {
        "state": "done",
        "lists_as_planned": True,
        "throttles_put_back": True,
    }
    held = [broker for replicas in planned.values() for broker in replicas]
    assert results["replicas"]["after"] == [held.count(broker) for broker in range(1, 6)]
    assert results["replicas"]["before"][3:] == [0, 0]
    assert min(results["replicas"]["after"]) >= max(results["replicas"]["after"]) - 1


def test_the_figures_are_consistent(expanded: Any) -> None:
    results, folder, _ = expanded
    assert (
        results["plan"]["moves"]
        == results["plan"]["moves_lower_bound"]
        == sum(wave["moves"] for wave in results["waves"])
    )
    assert results["apply"]["bytes_copied"] == sum(wave["bytes"] for wave in results["waves"])
    # each of these partitions has at least one replica on a new broker
    assert results["apply"]["bytes_copied"] > 500_000 * len(results["waves"])
    assert results["apply"]["from"] < results["apply"]["to"] < results["until"] < results["seconds"]
    for side in ("producing", "consuming"):
        counts = results["per_second"][side]
        assert len(counts) == int(results["until"])
        longest = results["pauses"][side]["during"]["seconds"]
        assert results["every"] / 2 < longest < results["until"]
    before, after = (json.loads((folder / f"{n}.json").read_text()) for n in ("before", "after"))
    assert [broker["id"] for broker in before["brokers"]] == [1, 2, 3]
    assert [broker["id"] for broker in after["brokers"]] == [1, 2, 3, 4, 5]
    assert after["throttles"] == before["throttles"] == {"brokers": {}, "topics": {}}
    assert json.loads((folder / "live.json").read_text()) == results


def test_the_page_shows_the_results(expanded: Any) -> None:
    results, _, _ = expanded
    page = render(results)
    assert "3 brokers became 5" in page
    assert f"{results['records']['acknowledged']:,} records acknowledged" in page
    assert page.count('<tr><th scope="row">') == 5 + len(results["waves"])
    assert "<script" not in page
    assert 'class="verdict bad"' not in page


def test_no_process_and_no_other_file_is_left(expanded: Any) -> None:
    _, folder, witness = expanded
    assert not witness.home.exists()
    assert len(witness.pids) == 6
    assert not any(map(alive, witness.pids))
    names = {path.name for path in folder.iterdir()}
    assert names == {"before.json", "after.json", "plan", "live.json"}


def test_an_interrupt_ends_every_process(tmp_path: Path) -> None:
    """Ctrl-C twice, as impatient people do."""
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    run = subprocess.Popen(
        [sys.executable, "-m", "partage", "demo", "--live", "-o", "out"],
        cwd=tmp_path,
        env={**os.environ, "TMPDIR": str(temporary)},
        stderr=subprocess.PIPE,
        text=True,
    )
    pids: list[int] = []
    deadline = time.monotonic() + 90
    while len(pids) < 4:
        assert time.monotonic() < deadline, "it never started"
        time.sleep(0.2)
        for state in temporary.glob("*/sandbox/sandbox.json"):
            pids = [n["pid"] for n in json.loads(state.read_text())["nodes"] if n["pid"]]
    run.send_signal(signal.SIGINT)
    time.sleep(0.2)
    run.send_signal(signal.SIGINT)
    _, printed = run.communicate(timeout=90)
    assert (run.returncode, "Traceback" in printed) == (130, False)
    assert not any(map(alive, pids))
    assert list(temporary.iterdir()) == []
    assert [path.name for path in tmp_path.iterdir()] == ["temporary"]
