"""Every private part of kafka-python that partage uses.

No other module may. ``tests/live/test_compat_kafka_python.py`` checks each part against the release
in use, so that an upgrade which changes one fails there first. kafka-python offers no public way to
what is here; each function gives the reason.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sized
from functools import partial
from types import FrameType
from typing import Any, TypeVar

from kafka import KafkaAdminClient
from kafka import errors as kafka_errors
from kafka.coordinator.assignors.abstract import RebalanceProtocol
from kafka.coordinator.consumer import ConsumerCoordinator
from kafka.protocol.admin import DescribeClusterRequest, DescribeLogDirsRequest

T = TypeVar("T")


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


class PatchedAdminClient(KafkaAdminClient):  # type: ignore[misc]  # has no types
    """KafkaAdminClient without five mistakes."""

    def __init__(self, **configs: Any) -> None:
        super().__init__(**configs)
        self._manager.run = partial(again_where_not_sent, self._manager.run)

    async def _describe_cluster(self) -> dict[str, Any]:
        """Accept the answers of brokers before Kafka 3.7, which do not name the kind of their
        endpoint: the original looks for it in every answer."""
        try:
            described: dict[str, Any] = await super()._describe_cluster()
        except KeyError:
            request = DescribeClusterRequest(include_cluster_authorized_operations=True)
            answer = await self._manager.send(request)
            if answer.error_code:
                raise kafka_errors.for_code(answer.error_code)(answer.error_message) from None
            described = answer.to_dict()
            self._process_acl_operations(described)
        return described

    async def _send_request_to_controller(self, *args: Any, **kwargs: Any) -> Any:
        """Look up the controller each time: the original keeps sending requests to a controller
        that has died."""
        self._controller_id = None
        return await super()._send_request_to_controller(*args, **kwargs)

    async def _async_describe_log_dirs(
        self, topic_partitions: Any = (), brokers: Iterable[int] | None = None
    ) -> list[dict[str, Any]]:
        """Raise where log directories may not be read: the original returns none, as if the broker
        had none."""
        if brokers is None:
            brokers = [broker.node_id for broker in self._manager.cluster.brokers()]
        found = []
        for broker in brokers:
            request = DescribeLogDirsRequest(topics=topic_partitions)
            answer = await self._manager.send(request, node_id=broker)
            if answer.error_code:
                raise kafka_errors.for_code(answer.error_code)()
            found.append({"broker": broker, "log_dirs": [one.to_dict() for one in answer.results]})
        return found

    @classmethod
    def _describe_configs_process_responses(cls, responses: Any, config_filter: Any) -> Any:
        """Raise where a configuration may not be read: the original returns an empty one, and
        settings would be lost when they are restored."""
        responses = list(responses)
        for response in responses:
            for result in response.results:
                if result.error_code:
                    raise kafka_errors.for_code(result.error_code)(result.error_message)
        return super()._describe_configs_process_responses(responses, config_filter)


_ATTEMPTS = 4
_PAUSE_SECONDS = 0.25


def again_where_not_sent(run: Callable[..., T], *request: Any) -> T:
    """Try again to send a request for which a connection was refused, or not even tried as one was
    refused just before: for some seconds after its death a broker is still chosen for requests that
    any broker answers, and the original client gives up."""
    for _ in range(_ATTEMPTS - 1):
        try:
            return run(*request)
        except kafka_errors.NodeNotReadyError:
            pass
        except kafka_errors.KafkaConnectionError as error:
            if "ECONNREFUSED" not in str(error):
                raise
        time.sleep(_PAUSE_SECONDS)
    return run(*request)


def accept_all_brokers(admin: KafkaAdminClient) -> None:
    """Let the client read and change the configuration of all brokers together, which Kafka names
    with an empty text; the original takes only numbers."""
    group = getattr(admin, "_group_config_resources", None)
    if group is None or getattr(group, "accepts_all_brokers", False):
        return

    def grouped(resources: Iterable[Any]) -> tuple[Any, list[Any]]:
        resources = list(resources)
        brokers, others = group([one for one in resources if one.name])
        return brokers, [*others, *(one for one in resources if not one.name)]

    grouped.accepts_all_brokers = True  # type: ignore[attr-defined]
    admin._group_config_resources = grouped


def learn_brokers(admin: KafkaAdminClient, brokers: Collection[int]) -> None:
    """Refresh the client's metadata if it lacks one of these brokers: it cannot send requests to
    brokers that are new, or back, for up to five minutes otherwise."""
    known = {broker.node_id for broker in admin._manager.cluster.brokers()}
    if not known.issuperset(brokers):
        admin._manager.run(admin._manager.cluster.refresh_metadata)


def send_to_coordinators(
    admin: KafkaAdminClient, groups: Iterable[str], request: Callable[[list[str]], Any]
) -> list[Any]:
    """The responses of the groups' coordinators, each to the ``request`` for its groups. The public
    methods send only requests that they know."""

    async def send(names: list[str]) -> list[Any]:
        by_coordinator: dict[int, list[str]] = {}
        for name, coordinator in (await admin._find_coordinator_ids(names)).items():
            by_coordinator.setdefault(coordinator, []).append(name)
        return [
            await admin._manager.send(request(some), node_id=coordinator)
            for coordinator, some in by_coordinator.items()
        ]

    found: list[Any] = admin._manager.run(send, list(groups))
    return found
