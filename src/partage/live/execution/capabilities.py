"""What a running cluster allows, found out before anybody relies on it.

Releases, managed services and compatible brokers differ in what they support, and users in what
they may do. Each capability is tried by a request that Kafka checks like the real one but that
changes nothing: sizes are read, the list of reassignments to start is empty, throttles are only
validated.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from kafka import KafkaAdminClient
from kafka import errors as kafka_errors
from kafka.admin import ConfigResource, ConfigResourceType

from partage.errors import PartageError
from partage.live.admin.connection import alive_brokers, describe_error
from partage.live.admin.states import RATES, TOPIC_THROTTLES
from partage.live.execution.throttles import refusals

_VALIDATED_RATE = 1_000_000_000
"""Bytes per second; never set."""


@dataclass(frozen=True)
class Capability:
    """Whether a cluster allows one kind of request. ``problem``: None, or why it does not;
    ``without``: what partage cannot do then."""

    name: str
    problem: str | None
    without: str


def read_capabilities(admin: KafkaAdminClient) -> Iterator[Capability]:
    """Each capability of the cluster for the user who asks. Raises what kafka-python raises where
    the cluster cannot be described."""
    brokers = sorted(alive_brokers(admin.describe_cluster()))
    topics = [one["name"] for one in admin.describe_topics() if not one["is_internal"]]
    requests: Mapping[str, tuple[Callable[[], Any], str]] = {
        "replica sizes": (
            lambda: admin.describe_log_dirs(brokers=brokers[:1]),
            "plans do not know bytes and disks",
        ),
        "reassignment": (
            lambda: (
                admin.list_partition_reassignments(),
                admin.alter_partition_reassignments({}),
            ),
            "apply and rollback cannot run",
        ),
        "throttles": (
            lambda: _validate_throttles(admin, brokers, topics),
            "apply and rollback run without --throttle only",
        ),
        "groups": (admin.list_groups, "no groups and no lags"),
    }
    for name, (request, without) in requests.items():
        yield Capability(name, _problem(request), without)


def _problem(request: Callable[[], Any]) -> str | None:
    try:
        request()
    except kafka_errors.UnsupportedVersionError:
        return "not supported by this cluster"
    except kafka_errors.KafkaError as error:
        return describe_error(error)
    except PartageError as error:
        return str(error)
    return None


def _validate_throttles(admin: KafkaAdminClient, brokers: list[int], topics: list[str]) -> None:
    """As ``ReplicationThrottles`` sets them, on one broker and one topic."""
    rates = dict.fromkeys(RATES, ("SET", str(_VALIDATED_RATE)))
    resources = [ConfigResource(ConfigResourceType.BROKER, str(one), rates) for one in brokers[:1]]
    lists = dict.fromkeys(TOPIC_THROTTLES, ("SET", ",".join(f"0:{one}" for one in brokers[:1])))
    resources += [ConfigResource(ConfigResourceType.TOPIC, one, lists) for one in topics[:1]]
    response = admin.alter_configs(resources, validate_only=True, raise_on_unknown=False)
    for where, error, result in refusals(response):
        if issubclass(error, kafka_errors.AuthorizationError):
            raise error("AlterConfigs")
        raise PartageError(f"{where}: {result}")
