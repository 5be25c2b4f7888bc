"""An admin client that retries: a cluster may not answer for a moment, when a broker has just died
or the controller has just changed.

Kafka reports errors partition by partition. Transient ones are retried; the others are returned as
text, one per partition. A request names at most ``PARTITIONS_PER_REQUEST`` partitions.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import TypeVar

from kafka import KafkaAdminClient, TopicPartition
from kafka import errors as kafka_errors

from partage.live.admin.connection import alive_brokers, chunks, describe_error
from partage.live.admin.snapshot import read_partitions
from partage.live.admin.states import Key, PartitionState

PARTITIONS_PER_REQUEST = 1000
"""A KRaft controller takes 10,000 records per request, and a partition may need several."""

RETRY_SECONDS = 60.0

_PREFERRED = 0
_NOTHING_TO_DO = {
    None,
    0,
    kafka_errors.NoReassignmentInProgressError,  # it ended before it could be cancelled
    kafka_errors.NoError,
}

_PERMANENT = (
    kafka_errors.UnknownTopicOrPartitionError,
    kafka_errors.PreferredLeaderNotAvailableError,
    kafka_errors.EligibleLeadersNotAvailableError,
)
"""Retriable for kafka-python, but not solved by retrying for a minute."""

_TRANSIENT = (kafka_errors.RetriableError, kafka_errors.UnknownBrokerIdError)
"""What a client raises that should wait, or that picked a broker just when it went away."""

_ELECTED = (0, kafka_errors.ElectionNotNeededError.errno)

T = TypeVar("T")


class RetryingAdmin:
    """Retries every ``poll_seconds``, for ``RETRY_SECONDS`` at most. ``client`` does not retry.
    ``waiting`` takes the error and for how many seconds a request has failed, before each pause."""

    def __init__(
        self,
        client: KafkaAdminClient,
        poll_seconds: float,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
        waiting: Callable[[Exception, float], None] = lambda _error, _seconds: None,
    ) -> None:
        self.client, self._waiting = client, waiting
        self._poll, self._clock, self._sleep = poll_seconds, clock, sleep

    def retry(self, call: Callable[[], T]) -> T:
        """The result of ``call``. Raises what kafka-python raises once the time is up."""
        began = self._clock()
        while True:
            try:
                return call()
            except _TRANSIENT as error:
                seconds = self._clock() - began
                if seconds > RETRY_SECONDS:
                    raise
                self._waiting(error, seconds)
                self._sleep(self._poll)

    # ------------------------------------------------------------------ reading

    def partitions(self) -> tuple[PartitionState, ...]:
        """All partitions of the cluster."""
        return self.retry(lambda: read_partitions(self.client, sleep=self._sleep))

    def states(self, keys: Iterable[Key]) -> dict[Key, PartitionState]:
        """These partitions, without those that no longer exist."""
        wanted = set(keys)
        topics = sorted({topic for topic, _ in wanted})
        if not topics:
            return {}
        found = self.retry(lambda: read_partitions(self.client, topics, sleep=self._sleep))
        return {state.key: state for state in found if state.key in wanted}

    def alive_brokers(self) -> list[int]:
        """Ids of the brokers that are not fenced."""
        return sorted(alive_brokers(self.retry(self.client.describe_cluster)))

    def log_dirs(self, broker: int, keys: Iterable[Key]) -> list[tuple[Key, str, bool]]:
        """The log dirs of these partitions on a broker, and whether it is only being copied there;
        nothing from a broker that does not answer now."""
        try:
            (described,) = self.client.describe_log_dirs(_by_topic(keys), brokers=[broker])
        except kafka_errors.KafkaError:
            return []
        return [
            ((topic["name"], one["partition_index"]), log_dir["log_dir"], one["is_future_key"])
            for log_dir in described["log_dirs"]
            for topic in log_dir["topics"]
            for one in topic["partitions"]
        ]

    def offline_log_dirs(self, broker: int, keys: Iterable[Key]) -> list[str]:
        """The log dirs of a broker that are offline, read with these partitions; none from a broker
        that does not answer now."""
        try:
            (described,) = self.client.describe_log_dirs(_by_topic(keys), brokers=[broker])
        except kafka_errors.KafkaError:
            return []
        return [one["log_dir"] for one in described["log_dirs"] if one["error_code"]]

    # ------------------------------------------------------------------ changing

    def alter_log_dirs(
        self, broker: int, paths: Mapping[Key, str]
    ) -> dict[Key, type[BaseException]]:
        """Name the log dirs of partitions to a broker; returns the errors, none of them if it does
        not answer now."""
        wanted = {(*key, broker): path for key, path in paths.items()}
        try:
            results = self.client.alter_replica_log_dirs(wanted)
        except kafka_errors.AuthorizationError:
            raise
        except kafka_errors.KafkaError:
            return {}
        return {
            (at.topic, at.partition): error
            for at, error in results.items()
            if error not in _NOTHING_TO_DO
        }

    def reassign(self, targets: Mapping[Key, tuple[int, ...] | None]) -> dict[Key, str]:
        """Reassign partitions to these replicas, or cancel their reassignment (None). Returns the
        partitions that Kafka refused, with the reason."""
        refused: dict[Key, str] = {}
        for part in chunks(list(targets), PARTITIONS_PER_REQUEST):
            refused |= self._retry_partitions(part, lambda keys: self._reassign_once(keys, targets))
        return refused

    def elect_preferred_leaders(self, keys: Iterable[Key]) -> dict[Key, str]:
        """Returns the partitions whose election Kafka refused, with the reason."""
        refused: dict[Key, str] = {}
        for part in chunks(sorted(keys), PARTITIONS_PER_REQUEST):
            refused |= self._retry_partitions(part, self._elect_once)
        return refused

    def _retry_partitions(
        self,
        keys: Sequence[Key],
        request: Callable[[Sequence[Key]], dict[Key, type[BaseException]]],
    ) -> dict[Key, str]:
        """Repeat the request for the partitions with a transient error."""
        deadline = self._clock() + RETRY_SECONDS
        refused: dict[Key, str] = {}
        while keys:
            failed = self.retry(partial(request, keys))
            late = self._clock() > deadline
            keys = []
            for key, error in failed.items():
                transient = issubclass(error, kafka_errors.RetriableError)
                if transient and not issubclass(error, _PERMANENT) and not late:
                    keys.append(key)
                else:
                    refused[key] = describe_error(error)
            if keys:
                self._sleep(self._poll)
        return refused

    def _reassign_once(
        self, keys: Sequence[Key], targets: Mapping[Key, tuple[int, ...] | None]
    ) -> dict[Key, type[BaseException]]:
        wanted = {
            TopicPartition(*key): None if (target := targets[key]) is None else list(target)
            for key in keys
        }
        results = self.client.alter_partition_reassignments(wanted)
        return {
            (partition.topic, partition.partition): error
            for partition, error in results.items()
            if error not in _NOTHING_TO_DO
        }

    def _elect_once(self, keys: Sequence[Key]) -> dict[Key, type[BaseException]]:
        response = self.client.elect_leaders(_PREFERRED, _by_topic(keys), raise_errors=False)
        return {
            (result.topic, one.partition_id): kafka_errors.for_code(one.error_code)
            for result in response.replica_election_results
            for one in result.partition_result
            if one.error_code not in _ELECTED
        }


def _by_topic(keys: Iterable[Key]) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for topic, number in keys:
        found.setdefault(topic, []).append(number)
    return found
