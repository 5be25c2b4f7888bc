"""Moves between the log dirs of real brokers: killed and resumed, rolled back, with a broker that
restarts and a log dir that fails. Where the replicas are is read from the brokers' folders."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("kafka")

from kafka import KafkaAdminClient, KafkaConsumer, TopicPartition
from kafka.admin import ConfigResource, ConfigResourceType

import partage
from partage.cluster import Cluster
from partage.errors import InputError
from partage.live.admin.connection import Connection
from partage.live.admin.snapshot import take_snapshot
from partage.live.admin.states import Key
from partage.live.execution.changes import RECREATED
from partage.live.execution.outcome import Outcome
from partage.live.execution.overrides import Overrides
from partage.live.execution.verify import verify
from partage.live.sandbox import Sandbox
from tests.live.execution.kafka_topics import SIZE, SLOW, Topic, configured, fill, remove, until
from tests.on_disk import At, OnDisk, on_disk

pytestmark = [pytest.mark.kafka, pytest.mark.long, pytest.mark.xdist_group("log dirs")]

RATE = "replica.alter.log.dirs.io.max.bytes.per.second"
THEIRS = "123456789"
PARTITIONS = 4
FAST = 100 * SIZE


@pytest.fixture(scope="module")
def brokers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandbox]:
    """Two brokers with three log dirs each."""
    folder = tmp_path_factory.mktemp("log-dirs") / "sandbox"
    with Sandbox.start(folder, brokers=2, log_dirs=3) as sandbox:
        yield sandbox


@dataclass
class Disks:
    """A topic whose replicas are all in the first log dir of their broker."""

    sandbox: Sandbox
    admin: KafkaAdminClient
    topic: str
    folder: Path

    def log_dir(self, broker: int, number: int) -> str:
        name = "data" if number == 1 else f"data-{number}"
        return str(Path(self.sandbox.directory) / f"broker-{broker}" / name)

    def on_disk(self) -> OnDisk:
        numbers = [(broker, number) for broker in (1, 2) for number in (1, 2, 3)]
        return on_disk((broker, Path(self.log_dir(broker, n))) for broker, n in numbers)

    def places(self) -> dict[At, list[str]]:
        """The log dirs of the topic's replicas."""
        now = self.on_disk().now
        return {at: now[at] for at in sorted(now) if at.topic == self.topic}

    def cluster(self) -> Cluster:
        return Cluster.from_json(
            json.loads(json.dumps(take_snapshot(self.admin, groups=False).to_json()))
        )

    def plan(self, name: str, **options: Any) -> Topic:
        """A plan that only moves replicas between log dirs."""
        made = partage.plan(self.cluster(), no_moves=True, topics=self.topic, **options)
        made.write(self.folder / name)
        return Topic(self.sandbox, self.admin, self.topic, self.folder / name)

    def rates(self) -> dict[int, str | None]:
        """The throttle between the log dirs of each broker."""
        kind = ConfigResourceType.BROKER
        resources = [ConfigResource(kind, str(broker)) for broker in (1, 2)]
        found = self.admin.describe_configs(resources)["broker"]
        return {int(b): own.get(RATE, {}).get("value") for b, own in found.items()}

    def records(self) -> dict[Key, str]:
        """A digest of all records of each partition."""
        partitions = [TopicPartition(self.topic, number) for number in range(PARTITIONS)]
        digests = {partition: hashlib.sha256() for partition in partitions}
        consumer = KafkaConsumer(bootstrap_servers=self.sandbox.bootstrap_servers)
        consumer.assign(partitions)
        consumer.seek_to_beginning()
        ends = consumer.end_offsets(partitions)
        while any(consumer.position(one) < end for one, end in ends.items()):
            for partition, records in consumer.poll(timeout_ms=1000).items():
                for record in records:
                    digests[partition].update(b"%d:%s" % (record.offset, record.value))
        consumer.close()
        return {(one.topic, one.partition): own.hexdigest() for one, own in digests.items()}


@pytest.fixture
def disks(brokers: Sandbox, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Disks]:
    with Connection.of(brokers.bootstrap_servers).admin() as admin:
        name = request.node.name.replace("_", "-")
        found = Disks(brokers, admin, name, tmp_path)
        # brokers remember the log dir of a replica that they do not have yet
        for broker in (1, 2):
            first = found.log_dir(broker, 1)
            admin.alter_replica_log_dirs({(name, n, broker): first for n in range(PARTITIONS)})
        admin.create_topics({name: {"assignments": {n: [1, 2] for n in range(PARTITIONS)}}})
        fill(brokers, name, PARTITIONS)
        assert {path for (path,) in found.places().values()} == {
            found.log_dir(broker, 1) for broker in (1, 2)
        }
        yield found
        remove(admin, name)


def planned(topic: Topic) -> dict[At, list[str]]:
    """The log dirs of replicas that should change it."""
    return {
        At(*key, broker): [path]
        for key, change in topic.plan.changes.items()
        for broker, path in change.placing.items()
    }


def test_killed_resumed_and_rolled_back(disks: Disks) -> None:
    before, records = disks.places(), disks.records()
    topic = disks.plan("even", balance_disks=True)
    wanted = planned(topic)
    assert {at.broker for at in wanted} == {1, 2}
    theirs = ConfigResource(ConfigResourceType.BROKER, "1", {RATE: THEIRS})
    with configured(disks.admin, theirs):
        until(lambda: disks.rates() == {1: THEIRS, 2: None})
        command = [
            sys.executable,
            "-m",
            "partage",
            "apply",
            str(topic.directory),
            "--yes",
            "--json",
        ]
        environment = {
            **os.environ,
            "PARTAGE_BOOTSTRAP_SERVERS": disks.sandbox.bootstrap_servers,
        }
        with subprocess.Popen(
            [*command, "--throttle", f"{SLOW}B"], env=environment, stdout=subprocess.PIPE, text=True
        ) as first:
            assert first.stdout is not None
            assert any(json.loads(line)["bytes_done"] > 0 for line in first.stdout)
            first.kill()
        assert disks.on_disk().future
        assert disks.rates() == {1: str(SLOW), 2: str(SLOW)}
        assert verify(topic.plan, disks.admin)["state"] == "in progress"
        assert topic.run(topic.plan, throttle=FAST) == Outcome("done")
        assert disks.places() == before | wanted
        assert not disks.on_disk().future
        until(lambda: disks.rates() == {1: THEIRS, 2: None})
        assert topic.is_healthy()
        assert disks.records() == records
        assert topic.run(topic.plan.reversed(), throttle=FAST) == Outcome("done")
        until(lambda: disks.rates() == {1: THEIRS, 2: None})
        assert disks.places() == before
        assert disks.records() == records


def test_a_broker_that_restarts_in_mid_move(disks: Disks) -> None:
    records = disks.records()
    topic = disks.plan("empty", remove_log_dir=f"1:{disks.log_dir(1, 1)}")
    wanted = planned(topic)
    assert {at.broker for at in wanted} == {1}
    background = topic.begun(on_failure="wait")  # however slowly it starts
    disks.sandbox.kill_broker(1)
    disks.sandbox.start_broker(1)
    Overrides(throttle=FAST).write(str(topic.directory))
    assert background.outcome() == Outcome("done")
    assert {at: path for at, path in disks.places().items() if at.broker == 1} == wanted
    assert disks.rates()[1] is None
    assert disks.records() == records


def test_a_log_dir_that_fails_in_mid_move(disks: Disks) -> None:
    """Its replica stays where it is. Kafka then moves nothing between the log dirs of the broker,
    so no plan does; when the log dir is back, the same plan resumes."""
    before, records = disks.places(), disks.records()
    topic = disks.plan("even", balance_disks=True)
    wanted, failing = planned(topic), Path(disks.log_dir(1, 3))
    assert [str(failing)] in wanted.values()
    background = topic.begun()
    until(lambda: [str(failing)] in disks.on_disk().future.values())
    failing.rename(failing.with_name("away"))
    Overrides(throttle=FAST).write(str(topic.directory))
    outcome = background.outcome()
    assert outcome.state == "differs"
    assert set(outcome.problems.values()) <= {
        f"log dir {failing} of broker 1 is offline",
        f"broker 1 moves nothing between its log dirs while {failing} is offline",
    }
    assert disks.rates() == {1: None, 2: None}
    made = partage.plan(disks.cluster(), no_moves=True, topics=disks.topic, balance_disks=True)
    assert [one for one in made.warnings if f"while {failing} is offline" in one]
    after = {path for row in range(PARTITIONS) for path in made.after.log_dir_paths(row)}
    assert after >= {path for at, (path,) in disks.places().items() if at.broker == 1}
    assert made.moves == 0
    with pytest.raises(InputError, match=f"while {failing} is offline: repair it"):
        disks.plan("empty", remove_log_dir=f"1:{disks.log_dir(1, 1)}")
    disks.sandbox.kill_broker(1)
    failing.with_name("away").rename(failing)
    disks.sandbox.start_broker(1)
    until(lambda: all(len(one.isr) == 2 for one in topic.state()))
    assert topic.run(topic.plan, throttle=FAST) == Outcome("done")
    assert disks.places() == before | wanted
    assert disks.records() == records


def test_its_topic_is_deleted_in_mid_move(disks: Disks) -> None:
    """The run ends with what it could do, and leaves nothing on the brokers; another topic of the
    same name stays where Kafka puts it."""
    topic = disks.plan("even", balance_disks=True)
    changes = {change.name for change in topic.plan.changes.values()}
    background = topic.begun()
    until(lambda: bool(disks.on_disk().future))
    disks.admin.delete_topics([disks.topic])
    outcome = background.outcome()
    assert (outcome.state, set(outcome.problems)) == ("differs", changes)
    assert set(outcome.problems.values()) == {"it no longer exists"}
    assert disks.rates() == {1: None, 2: None}
    until(lambda: not disks.places() and not disks.on_disk().future)
    disks.admin.create_topics({disks.topic: {"num_partitions": 4, "replication_factor": 2}})
    until(lambda: len(disks.places()) == 8)
    placed = disks.places()
    again = topic.run(topic.plan)
    assert set(again.problems.values()) == {RECREATED}
    assert disks.places() == placed
    assert disks.rates() == {1: None, 2: None}


def test_a_cordoned_log_dir_is_planned_around(disks: Disks) -> None:
    kind = ConfigResourceType.BROKER
    cordoned = ConfigResource(kind, "1", {"cordoned.log.dirs": disks.log_dir(1, 3)})
    with configured(disks.admin, cordoned):
        until(lambda: any(one.cordoned for one in disks.cluster().brokers[0].log_dirs))
        topic = disks.plan("even", balance_disks=True)
        assert {path for at, (path,) in planned(topic).items() if at.broker == 1} == {
            disks.log_dir(1, 2)
        }
        assert topic.run(topic.plan) == Outcome("done")
        assert disks.places().items() >= planned(topic).items()
