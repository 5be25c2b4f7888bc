"""The undocumented parts of aiokafka that partage uses, in the release installed.

A failure here means that ``partage.live.compat_aiokafka`` must change, and nothing else.
"""

from __future__ import annotations

import inspect

import pytest

pytest.importorskip("aiokafka")

from aiokafka.coordinator.protocol import ConsumerProtocol

from partage.live.compat_aiokafka import (
    AbstractPartitionAssignor,
    ConsumerProtocolMemberAssignment,
    ConsumerProtocolSubscription,
)


def test_the_interface_of_an_assignor() -> None:
    names = {"name", "assign", "metadata", "on_assignment"}
    assert AbstractPartitionAssignor.__abstractmethods__ == names
    for name, expected in (
        ("assign", ["cluster", "members"]),
        ("metadata", ["topics"]),
        ("on_assignment", ["assignment"]),
    ):
        parameters = inspect.signature(getattr(AbstractPartitionAssignor, name)).parameters
        assert list(parameters) == expected


def test_a_subscription_of_version_3_is_readable_as_one_of_version_0() -> None:
    """Its types and Struct encode it; what a leader in aiokafka reads of it."""
    sent = ConsumerProtocolSubscription(3, ["t", "u"], b"data", [("t", [0, 1])], 7, "a")
    assert ConsumerProtocolSubscription.decode(sent.encode()) == sent
    read = ConsumerProtocol.METADATA.decode(sent.encode())
    assert (read.version, read.subscription, read.user_data) == (3, ["t", "u"], b"data")


def test_a_subscription_may_lack_user_data_and_rack() -> None:
    sent = ConsumerProtocolSubscription(3, ["t"], None, [], -1, None)
    read = ConsumerProtocolSubscription.decode(sent.encode())
    assert (read.user_data, read.rack_id, read.generation_id) == (None, None, -1)


def test_an_assignment() -> None:
    sent = ConsumerProtocolMemberAssignment(0, [("t", [0, 2])], b"y")
    read = ConsumerProtocol.ASSIGNMENT.decode(sent.encode())
    assert (read.assignment, read.user_data) == ([("t", [0, 2])], b"y")
    assert sorted((p.topic, p.partition) for p in read.partitions()) == [("t", 0), ("t", 2)]
