"""Whether a cluster answers, and what it says of itself."""

from __future__ import annotations

from dataclasses import dataclass

from kafka import KafkaAdminClient
from kafka import errors as kafka_errors

from partage.live.admin.connection import alive_brokers

_ASKED = 30


@dataclass(frozen=True)
class Reached:
    """A cluster that answered. ``alive`` of its ``brokers`` are not fenced; ``releases`` of Kafka,
    ascending: several while it is being upgraded. A client knows a release by what it can do, so a
    newer one than kafka-python knows is told as the newest that it does."""

    cluster_id: str
    alive: int
    brokers: int
    releases: tuple[str, ...]


def reach(admin: KafkaAdminClient) -> Reached:
    """Ask it, and some of its brokers. Raises what kafka-python raises."""
    described = admin.describe_cluster()
    alive = alive_brokers(described)
    found = set()
    for broker in sorted(alive)[:_ASKED]:
        try:
            found.add(tuple(admin.get_broker_version_data(broker).broker_version))
        except kafka_errors.KafkaError:  # it died a moment ago
            continue
    return Reached(
        cluster_id=str(described["cluster_id"]),
        alive=len(alive),
        brokers=len(described["brokers"]),
        releases=tuple(".".join(map(str, one)) for one in sorted(found)),
    )
