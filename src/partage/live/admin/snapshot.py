"""Reads a running cluster, for ``partage snapshot`` and for plans.

What is read, and where:

- *brokers*: registered ones, from the cluster's description. Fenced ones do not answer; a broker
  that only replica lists name is dead as well. Capacity and cordoned log dirs (KIP-1066) come from
  each broker's log dirs (KIP-827);
- *replicas*: from the topics' metadata. While a partition is being reassigned, that list has both
  the target replicas and those being removed (KIP-455). The controller's list of reassignments
  has both separately, and the snapshot has the target. Reassignments are read before and after the
  topics; where they differ, the topics are read again;
- *sizes*: of every replica, from its broker's log dirs;
- *throttles*: replication throttles of brokers and topics, as configured at this moment;
- *remote storage*: which topics have it, and what of them stays on brokers (KIP-405). Log dirs
  report that part only. Where new replicas start at the last tiered offset, also how much they
  copy (``not_uploaded``);
- *groups*: states, members with their partitions, committed offsets and lag; where members have
  racks, whether brokers let them read from the closest replica.

A request names at most some hundreds of topics or groups.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from kafka import KafkaAdminClient, TopicPartition
from kafka import errors as kafka_errors
from kafka.admin import ConfigResource, ConfigResourceType

from partage.cluster.kafka_tools import LOCAL_RETENTION, TIERED, local_bytes, min_insync
from partage.cluster.min_insync import MIN_INSYNC
from partage.errors import PartageError
from partage.live.admin.connection import (
    alive_brokers,
    ask_together_or_singly,
    chunks,
    describe_error,
)
from partage.live.admin.groups import read_groups
from partage.live.admin.not_uploaded import not_uploaded
from partage.live.admin.permissions import (
    acl_to_see_all_topics,
    missing_acls,
    raise_if_forbidden,
)
from partage.live.admin.states import (
    BROKER_THROTTLES,
    TOPIC_THROTTLES,
    BrokerState,
    LogDir,
    PartitionState,
    Snapshot,
    Throttles,
)
from partage.units import listed

CHUNK = 500
"""Topics per request."""

_SELECTOR = "replica.selector.class"
_RACK_AWARE = "org.apache.kafka.common.replica.RackAwareReplicaSelector"
"""With it on brokers, consumers with a rack read from the closest replica (KIP-392)."""

_SKIPS_TIERED = "follower.fetch.last.tiered.offset.enable"
"""New replicas start at the last tiered offset (KIP-1023, Kafka 4.3)."""

_SKIPPED = (
    "new replicas on brokers {brokers}, not on others, start at the last tiered offset of topics "
    f"with remote storage ({_SKIPS_TIERED}): moves to them copy less than their sizes"
)

_SETTINGS = f"their remote storage and {MIN_INSYNC}"

_TRIES = 5

_METADATA_DELAY_SECONDS = 0.3
"""Brokers learn a moment later what the controller did: a reassignment that has just ended would
still show its intermediate list."""


def take_snapshot(
    admin: KafkaAdminClient,
    *,
    groups: bool = True,
    throttles: bool = True,
    settings: bool = True,
    complete: bool = True,
    progress: Callable[[str], None] = lambda _: None,
    sleep: Callable[[float], None] = time.sleep,
) -> Snapshot:
    """The cluster as it is now, with groups and throttles unless they are left out. The
    ``settings`` are those of topics that a plan heeds: remote storage and min.insync.replicas.

    Raises what kafka-python raises, PartageError where reassignments begin or end all the time,
    and, if the snapshot must be ``complete``, where Kafka may hide topics.
    """
    warnings: list[str] = []
    progress("brokers")
    described = admin.describe_cluster()
    progress("topics")
    partitions = read_partitions(admin, sleep=sleep)
    if complete and (missing := acl_to_see_all_topics(admin, {one.topic for one in partitions})):
        raise missing_acls([missing])
    brokers = read_brokers(described, partitions)
    progress("log dirs")
    brokers, partitions = _with_log_dirs(admin, brokers, partitions, warnings)
    configured = Throttles()
    tiered: dict[str, int | None] = {}
    least: dict[str, int] = {}
    alive = [one.id for one in brokers if one.alive]
    topics = sorted({one.topic for one in partitions})
    if throttles:
        progress("throttles")
        configured = read_throttles(admin, alive, topics, warnings)
    if settings:
        progress("topic settings")
        tiered, least = read_topic_settings(admin, topics, warnings)
        skipping = _set_to(admin, alive, _SKIPS_TIERED, "true", warnings) if tiered else []
        if skipping and skipping == alive:
            copied = not_uploaded(
                admin, [one for one in partitions if one.topic in tiered], warnings
            )
            partitions = tuple(replace(one, copy_bytes=copied.get(one.key)) for one in partitions)
        elif skipping:
            warnings.append(_SKIPPED.format(brokers=listed(list(map(str, skipping)), 3)))
    found: tuple[dict[str, Any], ...] = ()
    if groups:
        progress("groups")
        found = tuple(group.to_json() for group in read_groups(admin, warnings))
    closest = False
    if any(member["rack"] for group in found for member in group["members"] or ()):
        closest = _set_to(admin, alive, _SELECTOR, _RACK_AWARE, warnings) == alive
    return Snapshot(
        cluster_id=str(described["cluster_id"]),
        taken_at=datetime.now(UTC),
        controller=described["controller_id"] if described["controller_id"] >= 0 else None,
        brokers=brokers,
        partitions=partitions,
        throttles=configured,
        tiered=tiered,
        min_insync_replicas=least,
        groups=found,
        closest_replica=closest,
        warnings=tuple(warnings),
    )


def read_brokers(
    described: dict[str, Any], partitions: Iterable[PartitionState]
) -> tuple[BrokerState, ...]:
    """Registered brokers, and dead ones that only replica lists name, by id."""
    alive = alive_brokers(described)
    found = {
        broker["broker_id"]: BrokerState(
            id=broker["broker_id"],
            rack=broker["rack"],
            host=broker["host"],
            port=broker["port"],
            alive=broker["broker_id"] in alive,
        )
        for broker in described["brokers"]
    }
    racks = any(broker.rack is not None for broker in found.values())
    for number in sorted({broker for one in partitions for broker in one.current} - set(found)):
        # its rack is unknown; without racks in the cluster it has none
        found[number] = BrokerState(number, "unknown" if racks else None, None, None, alive=False)
    return tuple(found[number] for number in sorted(found))


def read_partitions(
    admin: KafkaAdminClient,
    topics: Sequence[str] | None = None,
    *,
    sleep: Callable[[float], None] = time.sleep,
) -> tuple[PartitionState, ...]:
    """All partitions, or those of some topics, ascending; topics that do not exist are left out.

    A partition whose reassignment began or ended meanwhile is read again, with its topic; so every
    partition is consistent, at slightly different moments. Raises PartageError where one of them
    is not after some tries.
    """
    found: dict[str, dict[int, PartitionState]] = {}
    wanted = topics
    for _ in range(_TRIES):
        before = admin.list_partition_reassignments()
        sleep(_METADATA_DELAY_SECONDS)
        described = describe_topics(admin, wanted)
        after = admin.list_partition_reassignments()
        unsure = {at for at in {*before, *after} if before.get(at) != after.get(at)}
        for topic in described:
            name, earlier = topic["name"], found.pop(topic["name"], {})
            if topic["error_code"]:
                continue
            own = found[name] = {}
            for partition in topic["partitions"]:
                number = partition["partition_index"]
                if TopicPartition(name, number) not in unsure:
                    own[number] = _partition(topic, partition, before)
                elif number in earlier and not earlier[number].is_other_topic(topic_id_of(topic)):
                    own[number] = earlier[number]
        missing = {at.topic for at in unsure if at.partition not in found.get(at.topic, ())}
        wanted = sorted(missing.intersection(*([topics] if topics else [])))
        if not wanted:
            return tuple(own[n] for _, own in sorted(found.items()) for n in sorted(own))
    raise PartageError(
        "reassignments keep beginning or ending: the cluster cannot be read consistently"
    )


def read_throttles(
    admin: KafkaAdminClient,
    brokers: Iterable[int],
    topics: Sequence[str],
    warnings: list[str] | None = None,
) -> Throttles:
    """What is configured on these brokers and topics themselves, without defaults. What cannot be
    read becomes a warning, or raises if there is no list of warnings."""
    found = Throttles()
    for broker in brokers:
        with _or_warning(warnings, f"broker {broker}: its throttles"):
            own = _configured(
                admin,
                ConfigResourceType.BROKER,
                [str(broker)],
                BROKER_THROTTLES,
                "DYNAMIC_BROKER_CONFIG",
            )
            found.brokers.update({int(name): values for name, values in own.items()})
    for part in chunks(topics, CHUNK):
        with _or_warning(warnings, f"topics from {part[0]} on: their throttles"):
            found.topics.update(_configured_topics(admin, part))
    return found


def read_topic_settings(
    admin: KafkaAdminClient, topics: Sequence[str], warnings: list[str]
) -> tuple[dict[str, int | None], dict[str, int]]:
    """Topics with remote storage, and the most bytes of a partition that stay on a broker, None
    where there is no limit; and min.insync.replicas of topics where it is above 1, Kafka's default.
    What cannot be read becomes a warning."""
    tiered: dict[str, int | None] = {}
    least: dict[str, int] = {}
    keys = (TIERED, *LOCAL_RETENTION, MIN_INSYNC)

    def ask(some: Sequence[str]) -> dict[str, dict[str, str]]:
        return _configured(admin, ConfigResourceType.TOPIC, some, keys)

    for part in chunks(topics, CHUNK):
        with _or_warning(warnings, f"topics from {part[0]} on: {_SETTINGS}"):
            unknown = (kafka_errors.UnknownTopicOrPartitionError,)
            for topic, settings in ask_together_or_singly(ask, part, unknown).items():
                if settings.get(TIERED) == "true":
                    tiered[topic] = local_bytes(settings)
                if (number := min_insync(settings)) > 1:
                    least[topic] = number
    return tiered, least


def _set_to(
    admin: KafkaAdminClient, brokers: Iterable[int], key: str, value: str, warnings: list[str]
) -> list[int]:
    """The brokers with this value of a setting. What cannot be read becomes a warning."""
    found: list[int] = []
    for broker in brokers:
        with _or_warning(warnings, f"broker {broker}: {key}"):
            own = _configured(admin, ConfigResourceType.BROKER, [str(broker)], (key,))
            if own.get(str(broker), {}).get(key) == value:
                found.append(broker)
    return found


def read_topic_ids(admin: KafkaAdminClient, topics: Sequence[str]) -> dict[str, str]:
    """The ids of those topics that exist and may be described, where Kafka has ids."""
    described = [one for part in chunks(topics, CHUNK) for one in admin.describe_topics(list(part))]
    ids = {topic["name"]: topic_id_of(topic) for topic in described if not topic["error_code"]}
    return {topic: found for topic, found in ids.items() if found is not None}


# ---------------------------------------------------------------------- parts


def describe_topics(admin: KafkaAdminClient, topics: Sequence[str] | None) -> list[dict[str, Any]]:
    """Descriptions of topics, of all if None. Raises PartageError for one that is forbidden."""
    if topics is None:
        return list(admin.describe_topics())
    found = [topic for part in chunks(topics, CHUNK) for topic in admin.describe_topics(list(part))]
    raise_if_forbidden(found)
    return found


def topic_id_of(topic: dict[str, Any]) -> str | None:
    """The id in the description of a topic, where Kafka has ids."""
    found = topic.get("topic_id")
    return str(found) if found and getattr(found, "int", True) else None


def _partition(
    topic: dict[str, Any],
    described: dict[str, Any],
    reassigned: dict[TopicPartition, dict[str, list[int]]],
) -> PartitionState:
    number = described["partition_index"]
    moving = reassigned.get(TopicPartition(topic["name"], number))
    adding = tuple(moving["adding_replicas"]) if moving else ()
    removing = tuple(moving["removing_replicas"]) if moving else ()
    listed = moving["replicas"] if moving else described["replica_nodes"]
    leader = described["leader_id"]
    return PartitionState(
        topic=topic["name"],
        partition=number,
        replicas=tuple(broker for broker in listed if broker not in removing),
        leader=leader if leader >= 0 else None,
        isr=tuple(sorted(described["isr_nodes"])),
        adding=adding,
        removing=removing,
        topic_id=topic_id_of(topic),
    )


def _with_log_dirs(
    admin: KafkaAdminClient,
    brokers: tuple[BrokerState, ...],
    partitions: tuple[PartitionState, ...],
    warnings: list[str],
) -> tuple[tuple[BrokerState, ...], tuple[PartitionState, ...]]:
    sizes: dict[tuple[str, int], dict[int, int]] = {}
    paths: dict[tuple[str, int], dict[int, str]] = {}
    found = []
    for broker in brokers:
        own: list[LogDir] = []
        total = 0
        with _or_warning(warnings, f"broker {broker.id}: its log dirs"):
            described = (
                admin.describe_log_dirs(brokers=[broker.id])[0]["log_dirs"] if broker.alive else []
            )
            for log_dir in described:
                held = 0
                for topic in log_dir["topics"]:
                    for entry in topic["partitions"]:
                        held += entry["partition_size"]
                        # a copy that moves to another log dir of the same broker takes space, too
                        if not entry["is_future_key"]:
                            key = (topic["name"], entry["partition_index"])
                            sizes.setdefault(key, {})[broker.id] = entry["partition_size"]
                            paths.setdefault(key, {})[broker.id] = log_dir["log_dir"]
                own.append(_log_dir(log_dir, held))
                total += held
        found.append(replace(broker, log_dirs=tuple(own), replica_bytes=total))
    return tuple(found), tuple(
        replace(one, sizes=sizes.get(one.key, {}), log_dirs=paths.get(one.key, {}))
        for one in partitions
    )


def _log_dir(described: dict[str, Any], replica_bytes: int) -> LogDir:
    error = described["error_code"]
    total, usable = (described.get(name, -1) for name in ("total_bytes", "usable_bytes"))
    return LogDir(
        path=described["log_dir"],
        total_bytes=total if total >= 0 else None,
        usable_bytes=usable if usable >= 0 else None,
        cordoned=bool(described.get("is_cordoned", False)),
        offline=describe_error(kafka_errors.for_code(error)) if error else None,
        replica_bytes=replica_bytes,
    )


def _configured_topics(admin: KafkaAdminClient, topics: Sequence[str]) -> dict[str, dict[str, str]]:
    """The throttles of topics; a topic that was just deleted has none."""

    def ask(some: Sequence[str]) -> dict[str, dict[str, str]]:
        kind, source = ConfigResourceType.TOPIC, "DYNAMIC_TOPIC_CONFIG"
        return _configured(admin, kind, some, TOPIC_THROTTLES, source)

    return ask_together_or_singly(ask, topics, (kafka_errors.UnknownTopicOrPartitionError,))


def _configured(
    admin: KafkaAdminClient,
    kind: ConfigResourceType,
    names: Sequence[str],
    keys: Sequence[str],
    source: str | None = None,
) -> dict[str, dict[str, str]]:
    """The values of these keys, by name of the resource; with ``source``, only those from there:
    set on the resources themselves."""
    resources = [ConfigResource(kind, name, dict.fromkeys(keys)) for name in names]
    described = admin.describe_configs(resources, config_filter="all")
    found = {}
    for name, configs in described.get(kind.name.lower(), {}).items():
        own = {
            key: config["value"]
            for key, config in configs.items()
            if key in keys
            and source in (None, config["config_source"])
            and config["value"] is not None
        }
        if own:
            found[name] = own
    return found


@contextmanager
def _or_warning(warnings: list[str] | None, what: str) -> Iterator[None]:
    """Turn Kafka's errors into a warning; without a list of warnings, raise them."""
    try:
        yield
    except kafka_errors.KafkaError as error:
        if warnings is None:
            raise
        warnings.append(f"{what} cannot be read: {describe_error(error)}")
