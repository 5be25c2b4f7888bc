"""The fake cluster and its admin client.

How it behaves like Kafka:

- a new replica is in sync once it has fetched all bytes, at the follower's throttle rate;
- a reassignment ends when all target replicas are in sync;
- a broker that stops leaves the ISR at once, and rejoins it when it has started again; the next
  in-sync replica becomes leader. Without a leader nothing is fetched;
- a new replica is in the log dir that was named before, or where the fewest replicas are; a broker
  that stops forgets the names. A replica that is named another log dir is copied there at the
  broker's rate for that, then changes over;
- configurations, reassignments and elections need a controller and, for brokers, a running broker;
  what is set for all brokers together is in force on each where nothing else is set.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

from kafka import TopicPartition
from kafka import errors as kafka_errors
from kafka.admin import ConfigResource, OffsetSpec
from kafka.structs import OffsetAndMetadata, OffsetAndTimestamp, TopicPartitionReplica

Key = tuple[str, int]
"""Topic and partition number."""

_UNTHROTTLED = 1e12
_FOLLOWER_RATE = "follower.replication.throttled.rate"
_LOG_DIR_RATE = "replica.alter.log.dirs.io.max.bytes.per.second"
_MIN_ISR = "min.insync.replicas"


@dataclass
class _Partition:
    """``replicas``: while it is reassigned, the target and the replicas being removed."""

    replicas: list[int]
    isr: list[int]
    size: float
    leader: int | None
    adding: list[int] = field(default_factory=list)
    removing: list[int] = field(default_factory=list)
    fetched: dict[int, float] = field(default_factory=dict)
    first_offset: int = 0
    next_offset: int = 0
    local_offset: int = 0
    uploaded_offset: int = -1

    @property
    def target(self) -> list[int]:
        return [broker for broker in self.replicas if broker not in self.removing]


@dataclass
class _Future:
    """A replica that is copied to another log dir of its broker."""

    path: str
    copied: float = 0.0


class FakeCluster:
    """``replicas`` by (topic, partition), preferred leader first, all in sync; ``brokers``: ids, or
    racks by id; ``partition_bytes``: of every replica, see ``resize``; ``log_dirs``: the paths of
    each broker. ``now``: seconds since the start.

    Attributes to change at any time: ``has_controller``; ``configs_forbidden``: the ACL to alter
    configurations is missing; ``min_insync_replicas`` of all topics; ``configs``: by ("broker" or
    "topic", name); ``offline``: (broker, path) of log dirs that fail. ``requests``: the partitions
    of each reassignment request so far.
    """

    def __init__(
        self,
        replicas: Mapping[Key, Sequence[int]],
        brokers: Iterable[int] | Mapping[int, str | None],
        *,
        partition_bytes: float = 10e6,
        log_dirs: Sequence[str] = ("/data",),
    ) -> None:
        self._partitions = {
            key: _Partition(list(own), list(own), partition_bytes, own[0])
            for key, own in replicas.items()
        }
        racks = brokers if isinstance(brokers, Mapping) else dict.fromkeys(brokers)
        self.racks: dict[int, str | None] = dict(sorted(racks.items()))
        self.running = set(self.racks)
        self.configs: dict[tuple[str, str], dict[str, str]] = {}
        self.min_insync_replicas = 1
        self.configs_forbidden = False
        self.has_controller = True
        self.requests: list[list[Key]] = []
        self.now = 0.0
        self.admin = FakeAdminClient(self)
        self._topics_made = Counter[str]()
        self._commits: dict[str, dict[Key, int]] = {}
        self._actions: list[tuple[float, Callable[[], None]]] = []
        self.log_dirs = tuple(log_dirs)
        self.offline: set[tuple[int, str]] = set()
        self._placed: dict[tuple[Key, int], str] = {}
        self._named: dict[tuple[Key, int], str] = {}
        self._futures: dict[tuple[Key, int], _Future] = {}
        self._held = Counter[tuple[int, str]]()
        for key in sorted(self._partitions):
            self._place_replicas(key)

    # ------------------------------------------------------------------ time

    def clock(self) -> float:
        """``now``, as a clock argument."""
        return self.now

    def at(self, moment: float, action: Callable[[], None]) -> None:
        """Call ``action`` when the clock reaches this moment."""
        self._actions.append((moment, action))
        self._actions.sort(key=lambda one: one[0])

    def sleep(self, seconds: float) -> None:
        """Let time pass: due actions are called, replicas fetch, reassignments end."""
        self.now += seconds
        while self._actions and self._actions[0][0] <= self.now:
            self._actions.pop(0)[1]()
        for key, partition in self._partitions.items():
            self._fetch(key, partition, seconds)
        self._copy_to_log_dirs(seconds)

    # ------------------------------------------------------------------ changes

    def stop_broker(self, broker: int) -> None:
        """It is fenced, and leaves the ISR of its partitions."""
        self.running.discard(broker)
        self._named = {at: path for at, path in self._named.items() if at[1] != broker}
        self._elect_leaders()

    def start_broker(self, broker: int) -> None:
        """It answers again, and rejoins the ISR of its partitions."""
        self.running.add(broker)
        self._elect_leaders()

    def resize(self, key: Key, size: float) -> None:
        """Give all replicas of a partition this many bytes."""
        self._partitions[key].size = size

    def produce(self, key: Key, records: int, record_bytes: float) -> None:
        """Append records of this size to all replicas of a partition."""
        one = self._partitions[key]
        one.next_offset += records
        one.size += records * record_bytes

    def delete_records(self, key: Key, before: int, size: float) -> None:
        """Delete the records before an offset, as retention does; ``size``: bytes that remain."""
        one = self._partitions[key]
        one.first_offset, one.size = before, size

    def commit(self, group: str, key: Key, offset: int) -> None:
        """Commit an offset of a consumer group, which exists from its first commit on."""
        self._commits.setdefault(group, {})[key] = offset

    def create_topic(self, topic: str, replicas: Sequence[Sequence[int]]) -> None:
        """A topic with these replicas by partition, empty and with a new id."""
        for number, own in enumerate(replicas):
            self._partitions[topic, number] = _Partition(list(own), list(own), 0.0, own[0])
            self._place_replicas((topic, number))
        self._topics_made[topic] += 1

    def reassign(self, key: Key, target: Sequence[int] | None) -> None:
        """Reassign a partition, as another tool would; None cancels."""
        self._reassign(key, None if target is None else list(target))

    def delete_topic(self, topic: str) -> None:
        for key in [key for key in self._partitions if key[0] == topic]:
            self._remove_replicas(key, self._partitions.pop(key).replicas)
        self.configs.pop(("topic", topic), None)

    # ------------------------------------------------------------------ state

    @property
    def replicas(self) -> dict[Key, tuple[int, ...]]:
        """By partition; those being removed by a reassignment included."""
        return {key: tuple(one.replicas) for key, one in self._partitions.items()}

    @property
    def leaders(self) -> dict[Key, int | None]:
        """By partition, None without a leader."""
        return {key: one.leader for key, one in self._partitions.items()}

    @property
    def reassigning(self) -> list[Key]:
        """Partitions with a reassignment in progress."""
        return [key for key, one in self._partitions.items() if one.adding or one.removing]

    @property
    def throttles(self) -> dict[tuple[str, str], dict[str, str]]:
        """The configurations that are set now."""
        return {resource: own for resource, own in self.configs.items() if own}

    # ------------------------------------------------------------------ replication

    def _elect_leaders(self) -> None:
        for one in self._partitions.values():
            in_sync = [broker for broker in one.isr if broker in self.running]
            one.isr = in_sync or one.isr
            if one.leader not in in_sync:
                one.leader = next((b for b in one.replicas if b in in_sync), None)

    def _fetch(self, key: Key, one: _Partition, seconds: float) -> None:
        complete = len(one.isr) == len(one.replicas) and not one.adding and not one.removing
        if complete or one.leader is None:
            return
        for broker in one.replicas:
            if broker in one.isr or broker not in self.running:
                continue
            config = self.configs.get(("broker", str(broker)), {})
            rate = float(config.get(_FOLLOWER_RATE, _UNTHROTTLED))
            start = 0.0 if broker in one.adding else one.size
            one.fetched[broker] = one.fetched.get(broker, start) + rate * seconds
            if one.fetched[broker] >= one.size:
                one.isr.append(broker)
        if (one.adding or one.removing) and set(one.target) <= set(one.isr):
            removed = one.removing
            one.replicas, one.adding, one.removing = one.target, [], []
            one.isr = [broker for broker in one.isr if broker in one.replicas]
            if one.leader not in one.replicas:
                one.leader = one.isr[0]
            self._remove_replicas(key, removed)

    # ------------------------------------------------------------------ log dirs

    def log_dirs_of(self, key: Key) -> dict[int, str]:
        """The log dir of each replica of a partition, by broker."""
        return {b: self._placed[key, b] for b in self._partitions[key].replicas}

    def _place_replicas(self, key: Key) -> None:
        """Put the new replicas of a partition into log dirs."""
        for broker in sorted(
            b for b in self._partitions[key].replicas if (key, b) not in self._placed
        ):
            usable = [at for one in self.log_dirs if (at := (broker, one)) not in self.offline]
            path = self._named.pop((key, broker), min(usable, key=self._held.__getitem__)[1])
            self._placed[key, broker] = path
            self._held[broker, path] += 1

    def _remove_replicas(self, key: Key, brokers: Iterable[int]) -> None:
        for broker in brokers:
            self._held[broker, self._placed.pop((key, broker))] -= 1
            self._futures.pop((key, broker), None)

    def _copy_to_log_dirs(self, seconds: float) -> None:
        for (key, broker), future in list(self._futures.items()):
            if (broker, future.path) in self.offline:
                del self._futures[key, broker]
            elif broker in self.running:
                config = self.configs.get(("broker", str(broker)), {})
                future.copied += float(config.get(_LOG_DIR_RATE, _UNTHROTTLED)) * seconds
                if future.copied >= self._partitions[key].size:
                    self._held[broker, self._placed[key, broker]] -= 1
                    self._held[broker, future.path] += 1
                    self._placed[key, broker] = future.path
                    del self._futures[key, broker]

    def _move(self, key: Key, broker: int, path: str) -> type[Exception]:
        if path not in self.log_dirs:
            return kafka_errors.LogDirNotFoundError  # type: ignore[no-any-return]
        if (broker, path) in self.offline:
            return kafka_errors.KafkaStorageError  # type: ignore[no-any-return]
        at = key, broker
        if at not in self._placed:
            self._named[at] = path
            return kafka_errors.ReplicaNotAvailableError  # type: ignore[no-any-return]
        if path != self._placed[at] and any(b == broker for b, _ in self.offline):
            return kafka_errors.KafkaStorageError  # type: ignore[no-any-return]
        if at in self._futures and self._futures[at].path != path:
            del self._futures[at]
        if self._placed[at] != path and at not in self._futures:
            self._futures[at] = _Future(path)
        return kafka_errors.NoError  # type: ignore[no-any-return]

    def _reassign(self, key: Key, target: list[int] | None) -> type[Exception] | None:
        one = self._partitions.get(key)
        if one is None:
            return kafka_errors.UnknownTopicOrPartitionError  # type: ignore[no-any-return]
        before = [broker for broker in one.replicas if broker not in one.adding]
        if target is None:
            if not one.adding and not one.removing:
                return kafka_errors.NoReassignmentInProgressError  # type: ignore[no-any-return]
            target = before
        if len(set(target)) < len(target) or not set(target) <= set(self.racks):
            return kafka_errors.InvalidReplicationAssignmentError  # type: ignore[no-any-return]
        given_up = [broker for broker in one.adding if broker not in target]
        one.adding = [broker for broker in target if broker not in before]
        one.removing = [broker for broker in before if broker not in target]
        one.replicas = [*target, *one.removing]
        one.isr = [broker for broker in one.isr if broker in one.replicas]
        one.fetched = {b: size for b, size in one.fetched.items() if b in one.adding}
        self._remove_replicas(key, given_up)
        self._place_replicas(key)
        return None


class FakeAdminClient:
    """The methods of kafka-python's ``KafkaAdminClient`` that partage calls, with the same
    arguments and results, on a fake cluster. Assign to a method to make it fail."""

    def __init__(self, cluster: FakeCluster) -> None:
        self._cluster = cluster

    def close(self) -> None:
        """Nothing to close."""

    # ------------------------------------------------------------------ reading

    def describe_cluster(self) -> dict[str, Any]:
        cluster = self._cluster
        brokers = [
            {
                "broker_id": broker,
                "rack": rack,
                "host": "fake",
                "port": 9092,
                "is_fenced": broker not in cluster.running,
            }
            for broker, rack in cluster.racks.items()
        ]
        return {
            "cluster_id": "fake",
            "controller_id": min(cluster.racks, default=-1),
            "brokers": brokers,
            "authorized_operations": ["ALTER", "DESCRIBE"] if cluster.configs_forbidden else None,
        }

    def describe_topics(self, topics: Sequence[str] | None = None) -> list[dict[str, Any]]:
        found: dict[str, list[dict[str, Any]]] = {}
        wanted = None if topics is None else set(topics)
        for (topic, number), one in sorted(self._cluster._partitions.items()):
            if wanted is None or topic in wanted:
                found.setdefault(topic, []).append(
                    {
                        "partition_index": number,
                        "replica_nodes": list(one.replicas),
                        "leader_id": -1 if one.leader is None else one.leader,
                        "isr_nodes": list(one.isr),
                    }
                )
        return [
            {
                "name": topic,
                "topic_id": f"{topic}-{self._cluster._topics_made[topic]}",
                "error_code": 0,
                "partitions": partitions,
            }
            for topic, partitions in found.items()
        ]

    def list_config_resources(self, resource_types: Sequence[str]) -> dict[str, list[str]]:
        return {"topic": sorted({topic for topic, _ in self._cluster._partitions})}

    def list_groups(self) -> list[dict[str, Any]]:
        return [
            {"group_id": group, "group_state": "Empty", "group_type": "classic"}
            for group in sorted(self._cluster._commits)
        ]

    def describe_groups(self, group_ids: Sequence[str]) -> dict[str, Any]:
        """Groups without members."""
        return {group: {"group_state": "Empty", "members": []} for group in group_ids}

    def list_group_offsets(
        self, group_specs: str
    ) -> dict[str, dict[TopicPartition, OffsetAndMetadata]]:
        committed = self._cluster._commits.get(group_specs, {})
        return {
            group_specs: {
                TopicPartition(*key): OffsetAndMetadata(offset, "", -1)
                for key, offset in committed.items()
            }
        }

    def list_partition_offsets(
        self,
        topic_partition_specs: Mapping[TopicPartition, OffsetSpec],
        isolation_level: Any = None,
        timeout_ms: int | None = None,
    ) -> dict[TopicPartition, OffsetAndTimestamp]:
        found = {}
        for at, spec in topic_partition_specs.items():
            one = self._cluster._partitions.get((at.topic, at.partition))
            if one is None:
                raise kafka_errors.UnknownTopicOrPartitionError
            if one.leader is None:
                raise kafka_errors.NotLeaderForPartitionError
            offset = {
                OffsetSpec.EARLIEST: one.first_offset,
                OffsetSpec.EARLIEST_LOCAL: max(one.first_offset, one.local_offset),
                OffsetSpec.LATEST_TIERED: one.uploaded_offset,
                OffsetSpec.LATEST: one.next_offset,
            }[spec]
            found[at] = OffsetAndTimestamp(offset, -1, -1)
        return found

    def list_partition_reassignments(self) -> dict[TopicPartition, dict[str, list[int]]]:
        self._need_controller()
        return {
            TopicPartition(*key): {
                "replicas": list(one.replicas),
                "adding_replicas": list(one.adding),
                "removing_replicas": list(one.removing),
            }
            for key, one in self._cluster._partitions.items()
            if one.adding or one.removing
        }

    def describe_log_dirs(
        self,
        topic_partitions: Mapping[str, Sequence[int]] | None = None,
        brokers: Sequence[int] = (),
    ) -> list[dict[str, Any]]:
        return [
            {
                "broker": broker,
                "log_dirs": [
                    {
                        "log_dir": path,
                        "error_code": kafka_errors.KafkaStorageError.errno if offline else 0,
                        "topics": []
                        if offline
                        else self._replicas_in(broker, path, topic_partitions),
                    }
                    for path in self._cluster.log_dirs
                    for offline in [(broker, path) in self._cluster.offline]
                ],
            }
            for broker in brokers
        ]

    def alter_replica_log_dirs(
        self, replica_assignments: Mapping[tuple[str, int, int], str]
    ) -> dict[TopicPartitionReplica, type[Exception]]:
        for _, _, broker in replica_assignments:
            self._need_running(broker)
        return {
            TopicPartitionReplica(topic, number, broker): self._cluster._move(
                (topic, number), broker, path
            )
            for (topic, number, broker), path in replica_assignments.items()
        }

    def _replicas_in(
        self, broker: int, path: str, partitions: Mapping[str, Sequence[int]] | None
    ) -> list[dict[str, Any]]:
        self._need_running(broker)
        every = self._cluster._partitions
        wanted: Iterable[Key] = every
        if partitions is not None:
            named = ((topic, number) for topic, own in partitions.items() for number in own)
            wanted = (key for key in named if key in every)
        found = []
        for key in wanted:
            one = every[key]
            if self._cluster._placed.get((key, broker)) == path:
                size = one.size if broker in one.isr else one.fetched.get(broker, 0.0)
                found.append((key, size, False))
            future = self._cluster._futures.get((key, broker))
            if future is not None and future.path == path:
                found.append((key, future.copied, True))
        return [
            {
                "name": topic,
                "partitions": [
                    {
                        "partition_index": number,
                        "partition_size": int(size),
                        "is_future_key": is_future,
                    }
                ],
            }
            for (topic, number), size, is_future in found
        ]

    def describe_configs(
        self, config_resources: Sequence[ConfigResource], config_filter: str = "modified"
    ) -> dict[str, dict[str, Any]]:
        found: dict[str, dict[str, Any]] = {}
        for resource in config_resources:
            kind = resource.resource_type.name
            own = self._cluster.configs.get((kind.lower(), resource.name), {})
            sources = dict.fromkeys(own, f"DYNAMIC_{kind}_CONFIG")
            if kind == "BROKER" and resource.name:
                defaults = self._cluster.configs.get(("broker", ""), {})
                own = defaults | own
                sources = dict.fromkeys(defaults, "DYNAMIC_DEFAULT_BROKER_CONFIG") | sources
            values = {
                name: {"value": own[name], "config_source": sources[name]}
                for name in resource.configs or own
                if name in own
            }
            if _MIN_ISR in (resource.configs or ()):
                default = str(self._cluster.min_insync_replicas)
                values[_MIN_ISR] = {"value": default, "config_source": "DEFAULT_CONFIG"}
            found.setdefault(kind.lower(), {})[resource.name] = values
        return found

    # ------------------------------------------------------------------ changing

    def alter_partition_reassignments(
        self, reassignments: Mapping[TopicPartition, list[int] | None]
    ) -> dict[TopicPartition, type[Exception] | None]:
        self._need_controller()
        self._cluster.requests.append([(at.topic, at.partition) for at in reassignments])
        return {
            at: self._cluster._reassign((at.topic, at.partition), target)
            for at, target in reassignments.items()
        }

    def elect_leaders(
        self,
        election_type: int,
        topic_partitions: Mapping[str, Sequence[int]],
        raise_errors: bool = True,
    ) -> Any:
        """Preferred leaders that are in sync become leaders."""
        self._need_controller()
        for topic, numbers in topic_partitions.items():
            for number in numbers:
                one = self._cluster._partitions[topic, number]
                if one.replicas[0] in one.isr:
                    one.leader = one.replicas[0]
        return SimpleNamespace(replica_election_results=[])

    def alter_configs(
        self, config_resources: Sequence[ConfigResource], raise_on_unknown: bool = True
    ) -> dict[str, dict[str, str]]:
        """``config_resources`` with operations by name: ("SET", value) or ("DELETE", None)."""
        results: dict[str, dict[str, str]] = {}
        for resource in config_resources:
            kind = resource.resource_type.name.lower()
            if kind == "broker" and resource.name:  # an empty name: all brokers
                self._need_running(int(resource.name))
            results.setdefault(kind, {})[resource.name] = self._alter(kind, resource)
        return results

    def _alter(self, kind: str, resource: ConfigResource) -> str:
        if self._cluster.configs_forbidden:
            return str(kafka_errors.ClusterAuthorizationFailedError("AlterConfigs"))
        if not self._cluster.has_controller:
            return str(kafka_errors.NotControllerError("no controller"))
        own = self._cluster.configs.setdefault((kind, resource.name), {})
        for name, (operation, value) in resource.configs.items():
            own.pop(name, None)
            if operation == "SET":
                own[name] = value
        return "OK"

    def _need_controller(self) -> None:
        if not self._cluster.has_controller:
            raise kafka_errors.NotControllerError

    def _need_running(self, broker: int) -> None:
        if broker not in self._cluster.running:
            raise kafka_errors.KafkaTimeoutError
