"""Every part of aiokafka that partage uses and that aiokafka does not document.

No other module may. ``tests/live/test_compat_aiokafka.py`` checks each part against the release in
use, so that an upgrade which changes one fails there first.
"""

from __future__ import annotations

from aiokafka.coordinator.assignors.abstract import AbstractPartitionAssignor
from aiokafka.coordinator.protocol import ConsumerProtocolMemberAssignment
from aiokafka.protocol.struct import Struct
from aiokafka.protocol.types import Array, Bytes, Int16, Int32, Schema, String

__all__ = [
    "AbstractPartitionAssignor",
    "ConsumerProtocolMemberAssignment",
    "ConsumerProtocolSubscription",
]


class ConsumerProtocolSubscription(Struct):  # type: ignore[misc]
    """A subscription as Kafka's consumers write it since KIP-881 (version 3). aiokafka's own class
    has the fields of version 0 only."""

    SCHEMA = Schema(
        ("version", Int16),
        ("topics", Array(String("utf-8"))),
        ("user_data", Bytes),
        ("owned_partitions", Array(("topic", String("utf-8")), ("partitions", Array(Int32)))),
        ("generation_id", Int32),
        ("rack_id", String("utf-8")),
    )
