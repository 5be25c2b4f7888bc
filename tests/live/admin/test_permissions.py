"""What a cluster tells of ACLs, and what it does not: on answers made by hand."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest

pytest.importorskip("kafka")

from kafka import errors as kafka_errors

from partage.errors import PartageError
from partage.live.admin.connection import describe_error
from partage.live.admin.permissions import (
    NEEDS,
    acl_to_see_all_topics,
    raise_if_forbidden,
    require_acls,
)

FORBIDDEN, UNKNOWN = 29, 3


@dataclass
class Cluster:
    """In place of an admin client. ``allowed``: operations on the cluster, None where it does not
    tell; ``topics``: operations on each, or an error code."""

    allowed: list[str] | None
    topics: dict[str, list[str] | int | None] = field(default_factory=dict)
    names: list[str] | Exception = field(default_factory=list)

    def describe_cluster(self) -> dict[str, Any]:
        return {"authorized_operations": self.allowed}

    def describe_topics(self, names: list[str]) -> list[dict[str, Any]]:
        return [self._described(name, self.topics.get(name, UNKNOWN)) for name in names]

    @staticmethod
    def _described(name: str, said: list[str] | int | None) -> dict[str, Any]:
        if isinstance(said, int):
            return {"name": name, "error_code": said, "authorized_operations": None}
        return {"name": name, "error_code": 0, "authorized_operations": said}

    def list_config_resources(self, kinds: list[str]) -> dict[str, list[str]]:
        assert kinds == ["TOPIC"]
        if isinstance(self.names, Exception):
            raise self.names
        return {"topic": self.names} if self.names else {}


ALL = ["DESCRIBE", "DESCRIBE_CONFIGS", "ALTER", "ALTER_CONFIGS"]


@pytest.mark.parametrize(
    ("command", "allowed", "t", "u", "missing"),
    [
        ("apply", ALL, ALL, ALL, None),
        ("apply", None, None, None, None),
        ("apply", ["DESCRIBE", "ALTER"], ["DESCRIBE", "DESCRIBE_CONFIGS"], ["DESCRIBE"], None),
        ("apply", ["DESCRIBE"], ALL, ALL, "ACL: Alter on the cluster"),
        ("apply --throttle", [], ALL, ALL, "ACL: Alter on the cluster"),
        ("apply", ALL, ["DESCRIBE"], ALL, "ACL: DescribeConfigs on topic t"),
        ("apply", ALL, FORBIDDEN, FORBIDDEN, "ACL: Describe on topic t and 1 more"),
        ("apply", ALL, UNKNOWN, ALL, None),
        (
            "apply --throttle",
            ["DESCRIBE"],
            ["DESCRIBE"],
            ["DESCRIBE"],
            "ACLs: Alter on the cluster, AlterConfigs on the cluster, AlterConfigs on topic t",
        ),
    ],
)
def test_missing_permissions_before_a_change(
    command: str, allowed: list[str] | None, t: Any, u: Any, missing: str | None
) -> None:
    """The plan is of topics t, which changes, and u."""
    cluster = Cluster(allowed, {"t": t, "u": u})
    if missing is None:
        require_acls(cluster, NEEDS[command], ["t", "u"], ["t"])
        return
    with pytest.raises(PartageError) as raised:
        require_acls(cluster, NEEDS[command], ["t", "u"], ["t"])
    assert str(raised.value) == f"not allowed: missing {missing}"


def test_hidden_topics() -> None:
    seen = {"t": ALL, "new": ALL, "old": FORBIDDEN, "older": FORBIDDEN}
    assert acl_to_see_all_topics(Cluster(ALL, seen, ["t", "new", "gone"]), ["t"]) is None
    found = acl_to_see_all_topics(Cluster(ALL, seen, ["t", "old", "older"]), ["t"])
    assert found == "Describe on topic old and 1 more"
    assert acl_to_see_all_topics(Cluster(None, seen, ["t"]), ["t"]) is None
    assert acl_to_see_all_topics(Cluster([], seen, ["t"]), ["t"]) == "Describe on the cluster"
    refused = Cluster(["DESCRIBE"], seen, kafka_errors.ClusterAuthorizationFailedError())
    assert acl_to_see_all_topics(refused, ["t"]) == "DescribeConfigs on the cluster"
    older = Cluster(["DESCRIBE"], seen, kafka_errors.IncompatibleBrokerVersion())
    assert acl_to_see_all_topics(older, ["t"]) is None


def test_a_topic_that_is_gone_is_not_forbidden() -> None:
    cluster = Cluster(ALL, {"t": ALL, "old": FORBIDDEN})
    raise_if_forbidden(cluster.describe_topics(["t", "gone"]))
    with pytest.raises(PartageError, match=r"missing ACL: Describe on topic old$"):
        raise_if_forbidden(cluster.describe_topics(["t", "gone", "old"]))


def test_errors_name_the_operation_where_it_is_known() -> None:
    known = kafka_errors.GroupAuthorizationFailedError("Describe")
    assert describe_error(known) == "not allowed: missing ACL: Describe on the group"
    unknown = kafka_errors.TopicAuthorizationFailedError("Topic authorization failed.")
    assert describe_error(unknown) == "not allowed: missing ACL: an operation on the topic"
    assert describe_error(kafka_errors.ClusterAuthorizationFailedError) == (
        "not allowed: missing ACL: an operation on the cluster"
    )
