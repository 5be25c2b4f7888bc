"""The consumer groups of a running cluster: members with their partitions, lag, and the exact
assignment for comparison.

Consumer groups of the classic protocol and of the newer one (KIP-848), share groups (KIP-932) and
Streams groups (KIP-1071) are read with members, subscriptions, racks and owned partitions. What a
Streams member owns are the source partitions of its active tasks. Only consumer groups are compared
with an exact assignment.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any

from kafka import KafkaAdminClient
from kafka import errors as kafka_errors
from kafka.admin import OffsetSpec

from partage.consumers.assign import assign
from partage.consumers.assignment import Assignment
from partage.errors import InputError
from partage.group import Group, Member
from partage.group.model import NO_MEMBER
from partage.live.admin.connection import ask_together_or_singly, chunks, describe_error
from partage.live.admin.newer_group_describe import REQUESTS, describe_newer_groups
from partage.units import listed, plural

CHUNK = 200
"""Groups per request."""

_FORBIDDEN = (
    kafka_errors.GroupAuthorizationFailedError,
    kafka_errors.TopicAuthorizationFailedError,  # on a topic that a member reads
)


@dataclass(frozen=True)
class LiveMember:
    """A member as its coordinator knows it. ``tasks``: of Streams, ``active``, ``standby`` and
    ``warmup``, each like ``0_3``: subtopology and partition."""

    id: str
    client_id: str
    host: str
    instance_id: str | None
    rack: str | None
    topics: tuple[str, ...]
    owned: tuple[tuple[str, int], ...]
    tasks: dict[str, list[str]] | None = None


@dataclass(frozen=True)
class LiveGroup:
    """A group. ``members`` is None where they cannot be read; ``topics``: subscribed topics, with
    the racks of the replicas of each partition; ``lag``: records after the committed offset of each
    partition, None for a partition without one, or None where lags are not read.

    For ``exact``: ``racks_first`` and ``max_skew`` as in ``partage.assign``, and ``bytes_in`` per
    1,000 seconds, by topic and partition, where they were measured."""

    name: str
    kind: str
    state: str
    assignor: str | None
    members: tuple[LiveMember, ...] | None
    topics: dict[str, list[list[str]]] = field(default_factory=dict)
    lag: dict[tuple[str, int], int | None] | None = None
    racks_first: bool = False
    max_skew: float | None = None
    bytes_in: dict[str, dict[int, int]] | None = None

    @property
    def exact_assignor(self) -> str:
        """The assignor of ``exact``: failover if the group uses it, else sticky, which is optimally
        fair with the fewest moves."""
        return "failover" if self.assignor == "failover" else "sticky"

    @cached_property
    def group(self) -> Group | None:
        """The group as assignors see it, with the partitions that members own now; None without
        members or topics, and for Streams groups, whose topologies are not part of it."""
        members = self.members or ()
        if not members or not self.topics or self.kind == "streams":
            return None
        return Group(
            {topic: len(racks) for topic, racks in self.topics.items()},
            [
                Member(
                    member.id,
                    [topic for topic in member.topics if topic in self.topics],
                    owned=[pair for pair in member.owned if pair[0] in self.topics],
                    generation=0,
                    rack=member.rack,
                    instance_id=member.instance_id,
                )
                for member in members
            ],
            racks=self.topics if any(member.rack for member in members) else None,
        )

    @cached_property
    def exact(self) -> Assignment | None:
        """What partage would assign now; None without members or topics, and for share and Streams
        groups."""
        group = self.group
        if group is None or self.kind == "share":
            return None
        if self.bytes_in is not None and self.topics.keys() & self.bytes_in.keys():
            group = group.with_weights(self.bytes_in, byte_rates=True, where="rates")
        if self.exact_assignor != "sticky":
            return assign(group, self.exact_assignor)
        return assign(group, "sticky", racks_first=self.racks_first, max_skew=self.max_skew)

    @property
    def co_partitioning_lost(self) -> tuple[str, ...]:
        """Topics of which range gives partitions of the same number to one member, as joins need,
        and ``exact`` does not. Empty for other assignors."""
        exact = self.exact
        if exact is None or self.assignor != "range":
            return ()
        group = exact.group
        together: dict[bytes, list[int]] = {}
        rows = [slice(*group.offset[at : at + 2].tolist()) for at in range(len(group.names))]
        for at, of_topic in enumerate(rows):
            owners = group.owner[of_topic]
            if not (owners == NO_MEMBER).any():
                together.setdefault(owners.tobytes(), []).append(at)
        lost = [
            group.names[at]
            for topics in together.values()
            if len({exact.target[rows[at]].tobytes() for at in topics}) > 1
            for at in topics
        ]
        return tuple(sorted(lost))

    def to_group_file(self) -> dict[str, Any]:
        """The content of a GROUP.json. Raises InputError for a group without one."""
        group = self.group
        if group is None:
            why = "its topology is not read" if self.kind == "streams" else "no subscriptions"
            raise InputError(
                f"group {self.name}", f"cannot be written: {self.kind}, {self.state}, {why}"
            )
        members = [
            {
                "id": member.id,
                "topics": list(member.topics),
                "owned": [list(pair) for pair in member.owned],
                "generation": member.generation,
                "instance_id": member.instance_id,
                "rack": member.rack,
            }
            for member in group.members
        ]
        racks = {} if group.racks is None else {"racks": group.racks}
        return {"topics": group.topics, "members": members, **racks}

    def to_json(self) -> dict[str, Any]:
        """The group in a snapshot and in ``partage groups --json``."""
        return {
            "group": self.name,
            "type": self.kind,
            "state": self.state,
            "assignor": self.assignor,
            "members": None
            if self.members is None
            else [
                {
                    "id": member.id,
                    "client_id": member.client_id,
                    "host": member.host,
                    "instance_id": member.instance_id,
                    "rack": member.rack,
                    "topics": list(member.topics),
                    "owned": [list(pair) for pair in member.owned],
                    **({} if member.tasks is None else {"tasks": member.tasks}),
                }
                for member in self.members
            ],
            "lag": None if self.lag is None else _by_topic(self.lag),
        }

    def described(self) -> dict[str, Any]:
        """``to_json`` with loads, the exact assignment, and the total lag: None where no partition
        has a committed offset, else of the partitions with one."""
        loads = [len(member.owned) for member in self.members or ()]
        exact = self.exact
        found = {} if exact is None else exact.to_json()
        reads = {"reads": found["reads"]} if "reads" in found else {}
        lags = list((self.lag or {}).values())
        known = [lag for lag in lags if lag is not None]
        return self.to_json() | {
            "loads": [min(loads), max(loads)] if loads else None,
            "total_lag": sum(known) if known else None,
            "partitions_without_commit": None if self.lag is None else len(lags) - len(known),
            "exact": None
            if exact is None
            else {
                "assignor": self.exact_assignor,
                "loads": [int(exact.loads.min()), int(exact.loads.max())],
                "moves": exact.moves,
                "assignment": found["assignment"],
                "co_partitioning_lost": list(self.co_partitioning_lost),
                **reads,
            },
        }


def _by_topic(lag: dict[tuple[str, int], int | None]) -> dict[str, list[int | None]]:
    """The lag by topic and partition, None where it is unknown."""
    counts: dict[str, int] = {}
    for topic, number in sorted(lag):
        counts[topic] = number + 1
    return {
        topic: [lag.get((topic, number)) for number in range(count)]
        for topic, count in counts.items()
    }


def read_groups(
    admin: KafkaAdminClient, warnings: list[str], names: Sequence[str] | None = None
) -> tuple[LiveGroup, ...]:
    """All groups, or the named ones, by name. What may not be read becomes a warning.

    Raises InputError for a named group that does not exist, and what kafka-python raises.
    """
    listed = {group["group_id"]: group for group in admin.list_groups()}
    if names is not None:
        for name in names:
            if name not in listed:
                raise InputError(
                    name,
                    "no such group, or not visible: `partage groups` lists the visible ones",
                )
        listed = {name: listed[name] for name in names}

    def forbidden(name: str, error: Exception) -> None:
        warnings.append(f"group {name} cannot be described: {describe_error(error)}")

    asked: list[str] = []
    described: dict[str, Any] = {}
    requests = {kind: partial(describe_newer_groups, admin, kind) for kind in REQUESTS}
    for kind, ask in {"classic": admin.describe_groups, **requests}.items():
        some = [name for name, one in listed.items() if _kind(one) == kind]
        asked += some
        for part in chunks(some, CHUNK):
            described |= ask_together_or_singly(ask, part, _FORBIDDEN, forbidden)
    topics = _topics(admin)
    found = []
    for name in sorted(listed):
        group = _group(name, listed[name], described.get(name), topics)
        if group.kind == "share" or (name in asked and name not in described):
            found.append(group)  # a share group has no committed offsets
            continue
        try:
            found.append(replace(group, lag=_lag(admin, group, topics, warnings)))
        except kafka_errors.KafkaError as error:
            warnings.append(f"group {name}: its lag cannot be read: {describe_error(error)}")
            found.append(group)
    return tuple(found)


def _kind(listed: dict[str, Any]) -> str:
    return str(listed.get("group_type") or "classic").lower()


def _topics(admin: KafkaAdminClient) -> dict[str, list[list[str]]]:
    """The racks of the replicas, by topic and partition."""
    rack = {b["broker_id"]: b["rack"] for b in admin.describe_cluster()["brokers"]}
    return {
        topic["name"]: [
            sorted({name for b in partition["replica_nodes"] if (name := rack.get(b))})
            for partition in sorted(topic["partitions"], key=lambda p: int(p["partition_index"]))
        ]
        for topic in admin.describe_topics()
        if not topic["error_code"]
    }


_CONSUMERS = ("consumer", "")
"""Protocol types of classic groups whose members are consumers."""


def _group(
    name: str,
    listed: dict[str, Any],
    described: dict[str, Any] | None,
    topics: dict[str, list[list[str]]],
) -> LiveGroup:
    state = str(listed.get("group_state") or (described or {}).get("group_state") or "Unknown")
    kind = _kind(listed)
    members = None
    if described is not None and (kind in REQUESTS or listed.get("protocol_type") in _CONSUMERS):
        read: Callable[[dict[str, Any]], LiveMember]
        read = _member if kind == "classic" else _newer_member
        if kind == "streams":
            read = partial(_streams_member, _source_topics(described))
        members = tuple(sorted((read(one) for one in described["members"]), key=lambda one: one.id))
    used = {topic for member in members or () for topic in member.topics}
    return LiveGroup(
        name=name,
        kind=kind,
        state=state,
        assignor=(described or {}).get("protocol_data")
        or (described or {}).get("assignor_name")
        or None,
        members=members,
        topics={topic: topics[topic] for topic in sorted(used) if topic in topics},
    )


def _member(described: dict[str, Any]) -> LiveMember:
    subscription = described["member_metadata"]
    assignment = described["member_assignment"]
    # bytes: empty, or of another protocol
    subscribed = subscription if isinstance(subscription, dict) else {}
    assigned = assignment if isinstance(assignment, dict) else {}
    return LiveMember(
        id=described["member_id"],
        client_id=described["client_id"],
        host=described["client_host"].removeprefix("/"),
        instance_id=described.get("group_instance_id"),
        rack=subscribed.get("rack_id") or None,  # librdkafka sends an empty text
        topics=tuple(sorted(subscribed.get("topics") or ())),
        owned=tuple(
            sorted(
                (part["topic"], number)
                for part in assigned.get("assigned_partitions") or ()
                for number in part["partitions"]
            )
        ),
    )


def _newer_member(described: dict[str, Any]) -> LiveMember:
    """A member of the newer protocol. If it subscribes by a regular expression, Kafka reports no
    topics: those of its partitions count."""
    owned = sorted(
        (part["topic_name"], number)
        for part in described["assignment"]["topic_partitions"]
        for number in part["partitions"]
    )
    return LiveMember(
        id=described["member_id"],
        client_id=described["client_id"],
        host=described["client_host"].removeprefix("/"),
        instance_id=described.get("instance_id"),
        rack=described["rack_id"] or None,
        topics=tuple(
            sorted({*described["subscribed_topic_names"], *(topic for topic, _ in owned)})
        ),
        owned=tuple(owned),
    )


def _source_topics(described: dict[str, Any]) -> dict[str, list[str]]:
    """The topics that each subtopology of a Streams group reads."""
    return {
        one["subtopology_id"]: [
            *one["source_topics"],
            *(topic["name"] for topic in one["repartition_source_topics"]),
        ]
        for one in (described.get("topology") or {}).get("subtopologies") or ()
    }


def _streams_member(sources: dict[str, list[str]], described: dict[str, Any]) -> LiveMember:
    """A member of a Streams group; ``sources``: topics by subtopology."""
    assigned = described["assignment"]
    tasks = {
        kind: [(part["subtopology_id"], number) for part in parts for number in part["partitions"]]
        for kind in ("active", "standby", "warmup")
        for parts in (assigned[f"{kind}_tasks"],)
    }
    owned = {(topic, number) for of, number in tasks["active"] for topic in sources.get(of, ())}
    return LiveMember(
        id=described["member_id"],
        client_id=described["client_id"],
        host=described["client_host"].removeprefix("/"),
        instance_id=described["instance_id"],
        rack=described["rack_id"] or None,
        topics=tuple(sorted({topic for topics in sources.values() for topic in topics})),
        owned=tuple(sorted(owned)),
        tasks={kind: [f"{of}_{number}" for of, number in sorted(tasks[kind])] for kind in tasks},
    )


def _lag(
    admin: KafkaAdminClient,
    group: LiveGroup,
    topics: dict[str, list[list[str]]],
    warnings: list[str],
) -> dict[tuple[str, int], int | None]:
    """The lag of each partition of the topics that the group subscribes to or has committed offsets
    of. An offset beyond the end becomes a warning, and its lag is 0."""
    offsets = {
        partition: committed.offset
        for partition, committed in admin.list_group_offsets(group.name)[group.name].items()
        if committed.offset >= 0 and partition.partition < len(topics.get(partition.topic, ()))
    }
    specs = dict.fromkeys(offsets, OffsetSpec.LATEST)
    ends = admin.list_partition_offsets(specs) if specs else {}
    lag: dict[tuple[str, int], int | None] = {
        (topic, number): None
        for topic in sorted({*group.topics, *(partition.topic for partition in offsets)})
        for number in range(len(topics[topic]))
    }
    beyond = []
    for partition, offset in sorted(offsets.items()):
        records = ends[partition].offset - offset
        lag[partition.topic, partition.partition] = max(records, 0)
        if records < 0:
            beyond.append(f"{partition.topic}-{partition.partition} by {-records:,}")
    if beyond:
        warnings.append(
            f"group {group.name}: {plural(len(beyond), 'committed offset')} beyond the end of the "
            f"log, as after a topic was created again, lag counted as 0: {listed(beyond, 3)}"
        )
    return lag
