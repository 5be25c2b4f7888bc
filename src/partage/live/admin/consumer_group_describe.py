"""Groups of the newer protocol (KIP-848) described: a request that kafka-python 3.0 does not have.

It knows the request's number, 69, and makes the class of a request out of a schema in JSON. So the
schema is here (``schemas/``), and the rest is its own: encoding, versions, connections.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kafka import KafkaAdminClient
from kafka import errors as kafka_errors
from kafka.protocol.api_message import ApiMessage

from partage.live.admin import schemas


class ConsumerGroupDescribeRequest(ApiMessage, load_json=schemas):  # type: ignore[call-arg, misc]
    """By group ids, to their coordinator."""


class ConsumerGroupDescribeResponse(ApiMessage, load_json=schemas):  # type: ignore[call-arg, misc]
    """Groups with their members; assignments by topic name."""


def describe_consumer_groups(
    admin: KafkaAdminClient, names: Sequence[str]
) -> dict[str, dict[str, Any]]:
    """What the coordinators say of these groups, by name, in the words of the schema (with
    underscores). Raises what kafka-python raises; a group that is gone meanwhile is left out."""
    if not names:
        return {}
    found: dict[str, dict[str, Any]] = admin._manager.run(_described, admin, list(names))
    return found


async def _described(admin: KafkaAdminClient, names: list[str]) -> dict[str, dict[str, Any]]:
    by_coordinator: dict[int, list[str]] = {}
    for name, coordinator in (await admin._find_coordinator_ids(names)).items():
        by_coordinator.setdefault(coordinator, []).append(name)
    found = {}
    for coordinator, some in by_coordinator.items():
        request = ConsumerGroupDescribeRequest(group_ids=some, include_authorized_operations=False)
        answered = await admin._manager.send(request, node_id=coordinator)
        for group in answered.groups:
            error = kafka_errors.for_code(group.error_code)
            if error is kafka_errors.GroupIdNotFoundError:
                continue
            if error is not kafka_errors.NoError:
                raise error(group.error_message)
            found[group.group_id] = group.to_dict()
    return found
