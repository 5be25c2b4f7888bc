"""Descriptions of groups that the broker assigns, for which kafka-python 3.0 has no requests:
consumer groups of the newer protocol (KIP-848), share groups (KIP-932) and Streams groups
(KIP-1071).

kafka-python makes the class of a request from its JSON schema, which is in ``schemas/``; encoding,
versions and connections are kafka-python's own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kafka import KafkaAdminClient
from kafka import errors as kafka_errors
from kafka.protocol.api_message import ApiMessage

from partage.live.admin import schemas
from partage.live.compat_kafka_python import send_to_coordinators


class ConsumerGroupDescribeRequest(ApiMessage, load_json=schemas):  # type: ignore[call-arg, misc]
    """Names groups, and goes to their coordinator."""


class ConsumerGroupDescribeResponse(ApiMessage, load_json=schemas):  # type: ignore[call-arg, misc]
    """Groups with their members; assignments by topic name."""


class ShareGroupDescribeRequest(ApiMessage, load_json=schemas):  # type: ignore[call-arg, misc]
    """The same for share groups."""


class ShareGroupDescribeResponse(ApiMessage, load_json=schemas):  # type: ignore[call-arg, misc]
    """Groups with their members; assignments by topic name."""


class StreamsGroupDescribeRequest(ApiMessage, load_json=schemas):  # type: ignore[call-arg, misc]
    """The same for Streams groups."""


class StreamsGroupDescribeResponse(ApiMessage, load_json=schemas):  # type: ignore[call-arg, misc]
    """Groups with their topology and members; assignments by task."""


REQUESTS = {
    "consumer": ConsumerGroupDescribeRequest,
    "share": ShareGroupDescribeRequest,
    "streams": StreamsGroupDescribeRequest,
}
"""Requests by type of group, as ListGroups reports it, in lower case."""


def describe_newer_groups(
    admin: KafkaAdminClient, kind: str, names: Sequence[str]
) -> dict[str, dict[str, Any]]:
    """Descriptions of these groups of one type by name, with the schema's field names (with
    underscores). Raises what kafka-python raises; groups that no longer exist are left out."""
    if not names:
        return {}

    def request(groups: list[str]) -> ApiMessage:
        return REQUESTS[kind](group_ids=groups, include_authorized_operations=False)

    responses = send_to_coordinators(admin, names, request)
    found = {}
    for group in (group for response in responses for group in response.groups):
        error = kafka_errors.for_code(group.error_code)
        if error is kafka_errors.GroupIdNotFoundError:
            continue
        if error is not kafka_errors.NoError:
            raise error(group.error_message)
        found[group.group_id] = group.to_dict()
    return found
