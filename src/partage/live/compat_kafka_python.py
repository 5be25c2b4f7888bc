"""Every private part of kafka-python that partage uses.

No other module may. ``tests/live/test_compat_kafka_python.py`` checks each part against the release
in use, so that an upgrade which changes one fails there first. kafka-python offers no public way to
what is here; each function gives the reason.
"""

from __future__ import annotations

from collections.abc import Mapping, Sized
from types import FrameType
from typing import Any

from kafka.coordinator.assignors.abstract import RebalanceProtocol
from kafka.coordinator.consumer import ConsumerCoordinator


def owned_partitions(frame: FrameType | None) -> list[tuple[str, int]] | None:
    """The partitions that the consumer owns whose coordinator called the function of ``frame``;
    None if anything else called it.

    An assignor is called with topics only, and is made before its consumer. So the coordinator can
    only be found as the caller. It owns nothing when it joins as an eager member: then it has just
    revoked everything.
    """
    caller = frame.f_back if frame is not None else None
    coordinator = caller.f_locals.get("self") if caller is not None else None
    if not isinstance(coordinator, ConsumerCoordinator):
        return None
    if coordinator._rebalance_protocol != RebalanceProtocol.COOPERATIVE:
        return []
    return [(p.topic, p.partition) for p in coordinator._subscription.assigned_partitions()]


def waiting_batches(producer: Any) -> Mapping[tuple[str, int], Sized] | None:
    """The batches that wait in a ``KafkaProducer`` by topic and partition, updated as they change;
    None if it has none. Its public metrics count them for all partitions together only."""
    batches = getattr(getattr(producer, "_accumulator", None), "_batches", None)
    return batches if isinstance(batches, dict) else None
