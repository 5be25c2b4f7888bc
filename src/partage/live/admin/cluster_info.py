"""The id, brokers and releases of a running cluster."""

from __future__ import annotations

from dataclasses import dataclass

from kafka import KafkaAdminClient
from kafka import errors as kafka_errors
from kafka.protocol.broker_version_data import BROKER_API_VERSIONS

from partage.live.admin.connection import alive_brokers

_MAX_BROKERS = 30
"""How many brokers are asked for their release."""


@dataclass(frozen=True)
class ClusterInfo:
    """``alive``: how many of the ``brokers`` are not fenced; ``releases`` of Kafka, ascending:
    several during an upgrade. kafka-python derives a release from what a broker can do, so the
    newest that it knows may be a later one, and is named so."""

    cluster_id: str
    alive: int
    brokers: int
    releases: tuple[str, ...]


def read_cluster_info(admin: KafkaAdminClient) -> ClusterInfo:
    """Raises what kafka-python raises."""
    described = admin.describe_cluster()
    alive = alive_brokers(described)
    releases = set()
    for broker in sorted(alive)[:_MAX_BROKERS]:
        try:
            releases.add(tuple(admin.get_broker_version_data(broker).broker_version))
        except kafka_errors.KafkaError:  # it has just died
            continue
    return ClusterInfo(
        cluster_id=str(described["cluster_id"]),
        alive=len(alive),
        brokers=len(described["brokers"]),
        releases=tuple(map(_named, sorted(releases))),
    )


def _named(release: tuple[int, ...]) -> str:
    name = ".".join(map(str, release))
    return f"{name} or later" if release >= max(BROKER_API_VERSIONS) else name
