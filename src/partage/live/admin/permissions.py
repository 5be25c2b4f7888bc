"""Which ACLs the commands need, and which of them are missing.

``NEEDS`` has the fewest ACLs with which each command works, tested against Kafka's standard
authorizer. ACLs that another implies are not listed: Alter implies Describe, AlterConfigs implies
DescribeConfigs.

Where Kafka refuses a request, its error names the kind of resource; the operation follows from the
request (``NamingAdminClient``). Where a refusal in the middle of the work would do harm, ACLs are
checked before: Kafka reports the allowed operations with a description of the cluster and of each
topic (KIP-430). Kafka silently leaves out topics that may not be described; those are found by
comparing with the names of all configured topics (``acl_to_see_all_topics``; KIP-1142, Kafka 4.1).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from functools import wraps
from typing import Any, NamedTuple

from kafka import KafkaAdminClient
from kafka import errors as kafka_errors

from partage.errors import PartageError
from partage.live.compat_kafka_python import PatchedAdminClient


class Acl(NamedTuple):
    """An operation on the cluster, or on all topics or groups that the command concerns."""

    operation: str
    resource: str


CLUSTER, TOPIC, GROUP = "cluster", "topic", "group"

_VERIFY = (Acl("Describe", CLUSTER), Acl("Describe", TOPIC))
_READ_CLUSTER = (Acl("Describe", CLUSTER), Acl("DescribeConfigs", CLUSTER), Acl("Describe", TOPIC))
_REASSIGN = (Acl("Alter", CLUSTER), Acl("Describe", TOPIC), Acl("DescribeConfigs", TOPIC))
_REASSIGN_THROTTLED = (
    Acl("Alter", CLUSTER),
    Acl("AlterConfigs", CLUSTER),
    Acl("Describe", TOPIC),
    Acl("AlterConfigs", TOPIC),
)
_READ_RECORDS = (Acl("Read", TOPIC),)

NEEDS: dict[str, tuple[Acl, ...]] = {
    "plan": (*_READ_CLUSTER, Acl("DescribeConfigs", TOPIC)),
    "verify": _VERIFY,
    "place --create": (*_READ_CLUSTER, Acl("DescribeConfigs", TOPIC), Acl("Create", TOPIC)),
    "groups": (*_READ_CLUSTER, Acl("Describe", GROUP)),
    "snapshot": (*_READ_CLUSTER, Acl("DescribeConfigs", TOPIC), Acl("Describe", GROUP)),
    "apply": _REASSIGN,
    "rollback": _REASSIGN,
    "apply --throttle": _REASSIGN_THROTTLED,
    "rollback --throttle": _REASSIGN_THROTTLED,
    "profile": _READ_RECORDS,
    "keys": _READ_RECORDS,
    "watch": _READ_RECORDS,
}
"""By command. ``place --create`` needs Create for a new topic; for more partitions of one that
exists, Alter on it instead."""

_FORBIDDEN = kafka_errors.TopicAuthorizationFailedError.errno

_SPELT = {
    "Alter": "ALTER",
    "AlterConfigs": "ALTER_CONFIGS",
    "Describe": "DESCRIBE",
    "DescribeConfigs": "DESCRIBE_CONFIGS",
}
"""As kafka-python spells them."""

_REQUESTS = {
    "create_topics": "Create",
    "create_partitions": "Alter",
    "list_partition_reassignments": "Describe",
    "describe_topics": "Describe",
    "describe_groups": "Describe",
    "list_group_offsets": "Describe",
    "list_partition_offsets": "Describe",
    "describe_log_dirs": "Describe",
    "describe_configs": "DescribeConfigs",
    "alter_configs": "AlterConfigs",
    "alter_partition_reassignments": "Alter",
    "alter_replica_log_dirs": "Alter",
    "elect_leaders": "Alter",
}
"""The operation that each request needs."""


class NamingAdminClient(PatchedAdminClient):
    """An admin client whose authorization errors name the operation."""


def _naming(name: str, operation: str) -> Callable[..., Any]:
    request = getattr(PatchedAdminClient, name)

    @wraps(request)
    def named(self: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            return request(self, *args, **kwargs)
        except kafka_errors.AuthorizationError as error:
            raise type(error)(operation) from None

    return named


for _name, _operation in _REQUESTS.items():
    setattr(NamingAdminClient, _name, _naming(_name, _operation))


def require_acls(
    admin: KafkaAdminClient,
    needs: Iterable[Acl],
    topics: Sequence[str],
    changing: Collection[str] | None = None,
) -> None:
    """Raise PartageError that names every missing ACL: on the cluster, Describe on these topics,
    and the other operations on the ``changing`` ones of them (all if None).

    Where Kafka does not report allowed operations, nothing counts as missing.
    """
    needs = list(needs)
    on_cluster = [acl.operation for acl in needs if acl.resource == CLUSTER]
    on_topic = [acl.operation for acl in needs if acl.resource == TOPIC]
    changing = set(topics if changing is None else changing)
    described = admin.describe_cluster()
    if described["authorized_operations"] == []:
        # Kafka reports nothing without Describe, which the first ACL needed implies
        on_cluster = on_cluster[:1]
    missing = [f"{one} on the cluster" for one in on_cluster if _lacks(described, one)]
    described_topics = admin.describe_topics(list(topics)) if topics else []
    for operation in on_topic:
        lacking = [
            topic["name"]
            for topic in described_topics
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
        raise missing_acls(missing)


def acl_to_see_all_topics(admin: KafkaAdminClient, topics: Iterable[str]) -> str | None:
    """The missing ACL because of which Kafka may hide topics other than these; None where it hides
    none, or before Kafka 4.1, which does not report it.

    Topics that were created a moment ago do not count as hidden.
    """
    if _lacks(admin.describe_cluster(), "Describe"):
        return "Describe on the cluster"
    try:
        listed = admin.list_config_resources(["TOPIC"]).get("topic", [])
    except kafka_errors.ClusterAuthorizationFailedError:
        return "DescribeConfigs on the cluster"
    except (kafka_errors.IncompatibleBrokerVersion, kafka_errors.UnsupportedVersionError):
        return None
    unseen = sorted(set(listed) - set(topics))
    forbidden = _forbidden(admin.describe_topics(unseen)) if unseen else []
    return f"Describe on {_topics(forbidden)}" if forbidden else None


def raise_if_forbidden(topics: Iterable[dict[str, Any]]) -> None:
    """Raise PartageError if some of these described topics may not be described."""
    if forbidden := _forbidden(topics):
        raise missing_acls([f"Describe on {_topics(forbidden)}"])


def _forbidden(topics: Iterable[dict[str, Any]]) -> list[str]:
    return sorted(topic["name"] for topic in topics if topic["error_code"] == _FORBIDDEN)


def missing_acls(missing: Sequence[str]) -> PartageError:
    """The error for missing ACLs, each like "Alter on the cluster"."""
    which = "ACL" if len(missing) == 1 else "ACLs"
    return PartageError(f"not allowed: missing {which}: {', '.join(missing)}")


def _lacks(described: dict[str, Any], operation: str) -> bool:
    """Whether a description of the cluster or a topic shows that an operation is not allowed."""
    allowed = described.get("authorized_operations")
    return allowed is not None and _SPELT[operation] not in allowed


def _topics(names: Sequence[str]) -> str:
    more = f" and {len(names) - 1} more" if len(names) > 1 else ""
    return f"topic {names[0]}{more}"
