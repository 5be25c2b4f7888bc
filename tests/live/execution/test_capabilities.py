"""What a cluster allows is found without changing anything."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

pytest.importorskip("kafka")

from kafka import errors as kafka_errors

from partage.live.admin.connection import Connection
from partage.live.admin.permissions import NamingAdminClient
from partage.live.admin.snapshot import read_throttles
from partage.live.execution.capabilities import read_capabilities


@pytest.mark.parametrize(
    ("result", "problem"),
    [
        (
            "[Error 40] InvalidConfigError: unknown",
            "broker 7: [Error 40] InvalidConfigError: unknown",
        ),
        (
            "[Error 31] ClusterAuthorizationFailedError: no",
            "not allowed: missing ACL: AlterConfigs on the cluster",
        ),
    ],
)
def test_throttles_that_are_refused(result: str, problem: str) -> None:
    admin = Admin({}, validated=result)
    found = {one.name: one for one in read_capabilities(admin)}
    assert found["throttles"].problem == problem
    assert admin.asked == ["7", "orders"]


class Admin:
    """A cluster of one broker and one topic, on which some requests fail."""

    def __init__(self, failing: Mapping[str, Exception], validated: str = "OK") -> None:
        self.failing, self.validated = failing, validated
        self.asked: list[str] = []

    def describe_cluster(self) -> dict[str, Any]:
        return {"brokers": [{"broker_id": 7}]}

    def describe_topics(self) -> list[dict[str, Any]]:
        return [
            {"name": "__consumer_offsets", "is_internal": True},
            {"name": "orders", "is_internal": False},
        ]

    def alter_configs(self, resources: list[Any], **options: bool) -> dict[str, dict[str, str]]:
        assert options["validate_only"]
        self.asked += [one.name for one in resources]
        return {"broker": {"7": self.validated}}

    def __getattr__(self, name: str) -> Any:
        def request(*_: Any, **__: Any) -> list[Any]:
            if name in self.failing:
                raise self.failing[name]
            return []

        return request


@pytest.mark.parametrize(
    ("failing", "name", "problem"),
    [
        (
            {"describe_log_dirs": kafka_errors.IncompatibleBrokerVersion("x")},
            "replica sizes",
            "not supported by this cluster",
        ),
        (
            {"alter_partition_reassignments": kafka_errors.UnsupportedVersionError("x")},
            "reassignment",
            "not supported by this cluster",
        ),
        (
            {"list_partition_reassignments": kafka_errors.ClusterAuthorizationFailedError("Alter")},
            "reassignment",
            "not allowed: missing ACL: Alter on the cluster",
        ),
        ({"list_groups": kafka_errors.CoordinatorNotAvailableError()}, "groups", "coordinator"),
    ],
)
def test_a_request_that_fails(failing: dict[str, Exception], name: str, problem: str) -> None:
    found = {one.name: one for one in read_capabilities(Admin(failing))}
    assert str(found.pop(name).problem).startswith(problem)
    assert [one.problem for one in found.values()] == [None] * 3


@pytest.mark.kafka
def test_nothing_changes(kafka: Any, admin: NamingAdminClient) -> None:
    admin.create_topics({"tried": {"assignments": {0: [1, 2]}}}, wait_for_metadata=True)
    try:
        with Connection.of(kafka.bootstrap_servers).admin() as client:
            assert [one.problem for one in read_capabilities(client)] == [None] * 4
        throttles = read_throttles(admin, [1, 2, 3], ["tried"])
        assert not any(throttles.brokers.values())
        assert not any(throttles.topics.values())
        assert not admin.list_partition_reassignments()
    finally:
        admin.delete_topics(["tried"])
