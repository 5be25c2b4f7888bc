"""A cluster that moves partitions on a clock of its own, as an admin client sees it.

What it knows of Kafka: a reassignment ends when all its targets are in sync; a new replica is in
sync when it has fetched all of it, at the follower's throttle; who dies leaves the ISR at once, and
who is back is in it again; without a leader nothing is fetched.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

from kafka import TopicPartition
from kafka import errors as kafka_errors
from kafka.admin import ConfigResource

from partage.live.admin.states import Key

UNTHROTTLED = 1e12


@dataclass
class Partition:
    replicas: list[int]
    isr: list[int]
    size: float = 10e6
    adding: list[int] = field(default_factory=list)
    removing: list[int] = field(default_factory=list)
    has: dict[int, float] = field(default_factory=dict)
    leader: int | None = None

    @property
    def target(self) -> list[int]:
        return [broker for broker in self.replicas if broker not in self.removing]


class Simulated:
    """``lists``: by partition, where it is. ``forbidden``: nobody may change settings."""

    def __init__(self, lists: dict[Key, tuple[int, ...]], brokers: Iterable[int]) -> None:
        self.partitions = {
            key: Partition(list(replicas), list(replicas), leader=replicas[0])
            for key, replicas in lists.items()
        }
        self.brokers = sorted(brokers)
        self.alive = set(self.brokers)
        self.settings: dict[tuple[str, str], dict[str, str]] = {}
        self.least_in_sync = 1
        self.forbidden = False
        self.controlled = True
        """Whether there is a controller: without one nothing can be changed or listed."""

        self.moment = 0.0
        self.submitted: list[list[Key]] = []
        self._events: list[tuple[float, Callable[[], None]]] = []

    # ------------------------------------------------------------------ time

    def clock(self) -> float:
        return self.moment

    def at(self, moment: float, event: Callable[[], None]) -> None:
        """Do something then."""
        self._events.append((moment, event))
        self._events.sort(key=lambda one: one[0])

    def sleep(self, seconds: float) -> None:
        self.moment += seconds
        while self._events and self._events[0][0] <= self.moment:
            self._events.pop(0)[1]()
        for one in self.partitions.values():
            self._fetch(one, seconds)

    def die(self, broker: int) -> None:
        self.alive.discard(broker)
        self._lead()

    def come_back(self, broker: int) -> None:
        self.alive.add(broker)
        self._lead()

    def _lead(self) -> None:
        for one in self.partitions.values():
            left = [b for b in one.isr if b in self.alive]
            one.isr = left or one.isr
            if one.leader not in left:
                one.leader = next((b for b in one.replicas if b in left), None)

    def _fetch(self, one: Partition, seconds: float) -> None:
        if one.leader is None:
            return
        for broker in one.replicas:
            if broker in one.isr or broker not in self.alive:
                continue
            own = self.settings.get(("broker", str(broker)), {})
            rate = float(own.get("follower.replication.throttled.rate", UNTHROTTLED))
            start = 0.0 if broker in one.adding else one.size
            one.has[broker] = one.has.get(broker, start) + rate * seconds
            if one.has[broker] >= one.size:
                one.isr.append(broker)
        if (one.adding or one.removing) and set(one.target) <= set(one.isr):
            one.replicas, one.adding, one.removing = one.target, [], []
            one.isr = [b for b in one.isr if b in one.replicas]
            if one.leader not in one.replicas:
                one.leader = one.isr[0]

    # ------------------------------------------------------------------ as an admin client

    def describe_cluster(self) -> dict[str, Any]:
        brokers = [
            {"broker_id": b, "rack": None, "host": "h", "port": 9, "is_fenced": b not in self.alive}
            for b in self.brokers
        ]
        allowed = ["ALTER", "DESCRIBE"] if self.forbidden else None
        return {
            "cluster_id": "id",
            "controller_id": 1,
            "brokers": brokers,
            "authorized_operations": allowed,
        }

    def _need_controller(self) -> None:
        if not self.controlled:
            raise kafka_errors.NotControllerError

    def list_partition_reassignments(self) -> dict[TopicPartition, Any]:
        self._need_controller()
        return {
            TopicPartition(*key): {
                "replicas": list(one.replicas),
                "adding_replicas": list(one.adding),
                "removing_replicas": list(one.removing),
            }
            for key, one in self.partitions.items()
            if one.adding or one.removing
        }

    def describe_topics(self, topics: list[str] | None = None) -> list[dict[str, Any]]:
        found: dict[str, Any] = {}
        for (topic, number), one in sorted(self.partitions.items()):
            if topics is None or topic in topics:
                found.setdefault(topic, []).append(
                    {
                        "partition_index": number,
                        "replica_nodes": list(one.replicas),
                        "leader_id": -1 if one.leader is None else one.leader,
                        "isr_nodes": list(one.isr),
                    }
                )
        return [{"name": t, "error_code": 0, "partitions": own} for t, own in found.items()]

    def describe_log_dirs(self, partitions: Any = None, brokers: Any = ()) -> list[dict[str, Any]]:
        (broker,) = brokers
        if broker not in self.alive:
            raise kafka_errors.KafkaTimeoutError
        topics = [
            {
                "name": topic,
                "partitions": [
                    {
                        "partition_index": number,
                        "partition_size": int(
                            one.size if broker in one.isr else one.has.get(broker, 0.0)
                        ),
                        "is_future_key": False,
                    }
                ],
            }
            for (topic, number), one in self.partitions.items()
            if broker in one.replicas
            and (partitions is None or number in partitions.get(topic, ()))
        ]
        return [
            {"broker": broker, "log_dirs": [{"log_dir": "/d", "error_code": 0, "topics": topics}]}
        ]

    def alter_partition_reassignments(self, wanted: dict[TopicPartition, Any]) -> dict[Any, Any]:
        self._need_controller()
        self.submitted.append([(at.topic, at.partition) for at in wanted])
        return {at: self._reassign(at, target) for at, target in wanted.items()}

    def _reassign(self, at: TopicPartition, target: list[int] | None) -> Any:
        one = self.partitions.get((at.topic, at.partition))
        if one is None:
            return kafka_errors.UnknownTopicOrPartitionError
        if target is None:
            if not one.adding and not one.removing:
                return kafka_errors.NoReassignmentInProgressError
            target = [b for b in one.replicas if b not in one.adding]
        if len(set(target)) < len(target):
            return kafka_errors.InvalidReplicationAssignmentError
        there = [b for b in one.replicas if b not in one.adding]
        one.adding = [b for b in target if b not in there]
        one.removing = [b for b in there if b not in target]
        one.replicas = [*target, *one.removing]
        one.isr = [b for b in one.isr if b in one.replicas]
        one.has = {b: size for b, size in one.has.items() if b in one.adding}
        return None

    def elect_leaders(self, _: int, by_topic: dict[str, list[int]], raise_errors: bool) -> Any:
        assert not raise_errors
        self._need_controller()
        for topic, numbers in by_topic.items():
            for number in numbers:
                one = self.partitions[topic, number]
                if one.replicas[0] in one.isr:
                    one.leader = one.replicas[0]
        return SimpleNamespace(replica_election_results=[])

    def describe_configs(self, resources: list[ConfigResource], config_filter: str) -> Any:
        assert config_filter == "all"
        found: dict[str, Any] = {}
        for resource in resources:
            kind = resource.resource_type.name
            own = dict(self.settings.get((kind.lower(), resource.name), {}))
            values = {
                key: {"value": own[key], "config_source": f"DYNAMIC_{kind}_CONFIG"}
                for key in resource.configs
                if key in own
            }
            if "min.insync.replicas" in resource.configs:
                values["min.insync.replicas"] = {
                    "value": str(self.least_in_sync),
                    "config_source": "DEFAULT_CONFIG",
                }
            found.setdefault(kind.lower(), {})[resource.name] = values
        return found

    def alter_configs(self, resources: list[ConfigResource], raise_on_unknown: bool) -> Any:
        assert not raise_on_unknown
        assert not self.forbidden
        answers: dict[str, Any] = {}
        for resource in resources:
            kind = resource.resource_type.name.lower()
            if kind == "broker" and int(resource.name) not in self.alive:
                raise kafka_errors.KafkaTimeoutError
            if not self.controlled:
                said = str(kafka_errors.NotControllerError("not this one"))
                answers.setdefault(kind, {})[resource.name] = said
                continue
            own = self.settings.setdefault((kind, resource.name), {})
            for name, (operation, value) in resource.configs.items():
                own.pop(name, None)
                if operation == "SET":
                    own[name] = value
            answers.setdefault(kind, {})[resource.name] = "OK"
        return answers

    @property
    def throttles(self) -> dict[tuple[str, str], dict[str, str]]:
        """What is set now."""
        return {where: own for where, own in self.settings.items() if own}
