"""Which ACLs the commands need, and which of them are missing.

``NEEDS`` has the least that each command can do its work with, found by trying on Kafka's standard
authorizer. What an ACL brings along is not named twice: Alter brings Describe, AlterConfigs brings
DescribeConfigs.

Where Kafka refuses, its error says on what kind of resource something is not allowed, and which
request it was says what (``Named``). Where a refusal in the middle of the work would do harm, it is
asked before: the cluster tells with its own description and with each topic what is allowed
(KIP-430). And where Kafka is silent, as it is about topics that may not be described, the silence
is found out (``hidden``): whoever may describe the cluster's configuration is told the names of all
(KIP-1142, from Kafka 4.1 on).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from functools import wraps
from typing import Any, NamedTuple

from kafka import KafkaAdminClient
from kafka import errors as kafka_errors

from partage.errors import PartageError


class Acl(NamedTuple):
    """An operation on all resources of a kind that the command is about."""

    operation: str
    resource: str


CLUSTER, TOPIC, GROUP = "cluster", "topic", "group"

_VERIFY = (Acl("Describe", CLUSTER), Acl("Describe", TOPIC))
_LOOK = (Acl("Describe", CLUSTER), Acl("DescribeConfigs", CLUSTER), Acl("Describe", TOPIC))
_CHANGE = (Acl("Alter", CLUSTER), Acl("Describe", TOPIC), Acl("DescribeConfigs", TOPIC))
_CHANGE_THROTTLED = (
    Acl("Alter", CLUSTER),
    Acl("AlterConfigs", CLUSTER),
    Acl("Describe", TOPIC),
    Acl("AlterConfigs", TOPIC),
)
_READ = (Acl("Read", TOPIC),)

NEEDS: dict[str, tuple[Acl, ...]] = {
    "plan": _LOOK,
    "verify": _VERIFY,
    "groups": (*_LOOK, Acl("Describe", GROUP)),
    "snapshot": (*_LOOK, Acl("DescribeConfigs", TOPIC), Acl("Describe", GROUP)),
    "apply": _CHANGE,
    "rollback": _CHANGE,
    "apply --throttle": _CHANGE_THROTTLED,
    "rollback --throttle": _CHANGE_THROTTLED,
    "profile": _READ,
    "keys": _READ,
    "watch": _READ,
}
"""By command."""

_FORBIDDEN = kafka_errors.TopicAuthorizationFailedError.errno

_SPELT = {
    "Alter": "ALTER",
    "AlterConfigs": "ALTER_CONFIGS",
    "Describe": "DESCRIBE",
    "DescribeConfigs": "DESCRIBE_CONFIGS",
}
"""As kafka-python has them."""

_REQUESTS = {
    "list_partition_reassignments": "Describe",
    "describe_topics": "Describe",
    "describe_groups": "Describe",
    "list_group_offsets": "Describe",
    "list_partition_offsets": "Describe",
    "describe_configs": "DescribeConfigs",
    "alter_configs": "AlterConfigs",
    "alter_partition_reassignments": "Alter",
    "elect_leaders": "Alter",
}
"""The operation that must be allowed for a request."""


class Named(KafkaAdminClient):  # type: ignore[misc]  # has no types
    """kafka-python's admin client, whose errors of authorization name the operation."""


def _naming(name: str, operation: str) -> Callable[..., Any]:
    request = getattr(KafkaAdminClient, name)

    @wraps(request)
    def named(self: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            return request(self, *args, **kwargs)
        except kafka_errors.AuthorizationError as error:
            raise type(error)(operation) from None

    return named


for _name, _operation in _REQUESTS.items():
    setattr(Named, _name, _naming(_name, _operation))


def require(
    admin: KafkaAdminClient,
    needs: Iterable[Acl],
    topics: Sequence[str],
    changing: Collection[str] | None = None,
) -> None:
    """Raise PartageError that names every ACL that is missing: on the cluster, and on these topics
    Describe, on the ``changing`` ones of them (all if None) the rest.

    Where the cluster does not tell what is allowed, nothing is missing yet.
    """
    needs = list(needs)
    on_cluster = [acl.operation for acl in needs if acl.resource == CLUSTER]
    on_topic = [acl.operation for acl in needs if acl.resource == TOPIC]
    changing = topics if changing is None else changing
    described = admin.describe_cluster()
    if described["authorized_operations"] == []:
        # without Describe nothing is told; the first of the needs brings that along
        on_cluster = on_cluster[:1]
    missing = [f"{one} on the cluster" for one in on_cluster if _lacks(described, one)]
    asked = admin.describe_topics(list(topics)) if topics else []
    for operation in on_topic:
        lacking = [
            topic["name"]
            for topic in asked
            if (
                operation == "Describe"
                if topic["error_code"] == _FORBIDDEN
                else _lacks(topic, operation)
                and (operation == "Describe" or topic["name"] in changing)
            )
        ]
        if lacking:
            missing.append(f"{operation} on {_topics(lacking)}")
    if missing:
        raise refusal(missing)


def hidden(admin: KafkaAdminClient, topics: Iterable[str]) -> str | None:
    """The ACL without which more than these ``topics`` may be there, or without which it cannot be
    known; None where nothing is hidden, or a Kafka before 4.1 does not tell.

    Topics that were just made are not hidden.
    """
    if _lacks(admin.describe_cluster(), "Describe"):
        return "Describe on the cluster"
    try:
        there = admin.list_config_resources(["TOPIC"]).get("topic", [])
    except kafka_errors.ClusterAuthorizationFailedError:
        return "DescribeConfigs on the cluster"
    except (kafka_errors.IncompatibleBrokerVersion, kafka_errors.UnsupportedVersionError):
        return None
    unseen = sorted(set(there) - set(topics))
    forbidden = _forbidden(admin.describe_topics(unseen)) if unseen else []
    return f"Describe on {_topics(forbidden)}" if forbidden else None


def refuse_forbidden(topics: Iterable[dict[str, Any]]) -> None:
    """Raise PartageError if some of the topics, asked for by name, may not be described."""
    if forbidden := _forbidden(topics):
        raise refusal([f"Describe on {_topics(forbidden)}"])


def _forbidden(topics: Iterable[dict[str, Any]]) -> list[str]:
    return sorted(topic["name"] for topic in topics if topic["error_code"] == _FORBIDDEN)


def refusal(missing: Sequence[str]) -> PartageError:
    """The line about missing ACLs: "Alter on the cluster"."""
    which = "ACL" if len(missing) == 1 else "ACLs"
    return PartageError(f"not allowed: missing {which}: {', '.join(missing)}")


def _lacks(described: dict[str, Any], operation: str) -> bool:
    """Whether a description, of the cluster or a topic, tells that it is not allowed."""
    allowed = described.get("authorized_operations")
    return allowed is not None and _SPELT[operation] not in allowed


def _topics(names: Sequence[str]) -> str:
    more = f" and {len(names) - 1} more" if len(names) > 1 else ""
    return f"topic {names[0]}{more}"
