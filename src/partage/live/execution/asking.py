"""What a run asks of the cluster, with patience: for a moment a cluster may not answer, when a
broker dies that was just asked, or the controller is another.

Errors come partition by partition. Those that pass by themselves are asked again; the rest, a
refusal each, are handed back in words. One request names no more than ``REQUEST`` partitions.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import TypeVar

from kafka import KafkaAdminClient, TopicPartition
from kafka import errors as kafka_errors

from partage.live.admin.connection import alive_brokers, chunks, told
from partage.live.admin.snapshot import read_partitions
from partage.live.admin.states import Key, PartitionState

REQUEST = 1000
"""Partitions that one request moves or elects leaders of; a KRaft controller takes 10,000 records,
and a partition may need several."""

PATIENCE_SECONDS = 60.0

_PREFERRED = 0
_SETTLED = {None, 0, kafka_errors.NoReassignmentInProgressError, kafka_errors.NoError}
"""Of one that has arrived meanwhile there is nothing to cancel."""

_LASTING = (
    kafka_errors.UnknownTopicOrPartitionError,
    kafka_errors.PreferredLeaderNotAvailableError,
    kafka_errors.EligibleLeadersNotAvailableError,
)
"""Retriable in a client's eyes, but no matter of moments."""

_PASSING = (kafka_errors.RetriableError, kafka_errors.UnknownBrokerIdError)
"""What a client raises that has to wait, or that has chosen a broker just when it went away."""

_ELECTED = (0, kafka_errors.ElectionNotNeededError.errno)

T = TypeVar("T")


class Asking:
    """An admin client, asked patiently: every ``poll_seconds`` again."""

    def __init__(
        self,
        admin: KafkaAdminClient,
        poll_seconds: float,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.admin = admin
        self._poll, self._clock, self._sleep = poll_seconds, clock, sleep

    def patiently(self, call: Callable[[], T]) -> T:
        """What the cluster answers. Raises what kafka-python raises where it goes on raising."""
        deadline = self._clock() + PATIENCE_SECONDS
        while True:
            try:
                return call()
            except _PASSING:
                if self._clock() > deadline:
                    raise
                self._sleep(self._poll)

    # ------------------------------------------------------------------ looking

    def partitions(self) -> tuple[PartitionState, ...]:
        """All that there are."""
        return self.patiently(lambda: read_partitions(self.admin))

    def now(self, keys: Iterable[Key]) -> dict[Key, PartitionState]:
        """These partitions, without those that are gone."""
        wanted = set(keys)
        topics = sorted({topic for topic, _ in wanted})
        if not topics:
            return {}
        found = self.patiently(lambda: read_partitions(self.admin, topics))
        return {one.key: one for one in found if one.key in wanted}

    def alive(self) -> list[int]:
        """Brokers that answer to the controller."""
        return sorted(alive_brokers(self.patiently(self.admin.describe_cluster)))

    # ------------------------------------------------------------------ changing

    def reassign(self, lists: Mapping[Key, tuple[int, ...] | None]) -> dict[Key, str]:
        """Ask for lists, None to cancel; gives those that are refused, and why."""
        refused: dict[Key, str] = {}
        for part in chunks(list(lists), REQUEST):
            refused |= self._until_settled(part, lambda keys: self._reassign_once(keys, lists))
        return refused

    def elect(self, keys: Iterable[Key]) -> dict[Key, str]:
        """Have preferred leaders lead; gives those that are refused, and why."""
        refused: dict[Key, str] = {}
        for part in chunks(sorted(keys), REQUEST):
            refused |= self._until_settled(part, self._elect_once)
        return refused

    def _until_settled(
        self,
        keys: Sequence[Key],
        ask: Callable[[Sequence[Key]], dict[Key, type[BaseException]]],
    ) -> dict[Key, str]:
        """Ask again for what only has to wait."""
        deadline = self._clock() + PATIENCE_SECONDS
        refused: dict[Key, str] = {}
        while keys:
            failed = self.patiently(partial(ask, keys))
            passing = [
                key
                for key, error in failed.items()
                if issubclass(error, kafka_errors.RetriableError)
                and not issubclass(error, _LASTING)
            ]
            if self._clock() > deadline:
                passing = []
            refused |= {k: told(error) for k, error in failed.items() if k not in passing}
            keys = passing
            if keys:
                self._sleep(self._poll)
        return refused

    def _reassign_once(
        self, keys: Sequence[Key], lists: Mapping[Key, tuple[int, ...] | None]
    ) -> dict[Key, type[BaseException]]:
        wanted = {
            TopicPartition(*key): None if (asked := lists[key]) is None else list(asked)
            for key in keys
        }
        answers = self.admin.alter_partition_reassignments(wanted)
        return {
            (partition.topic, partition.partition): error
            for partition, error in answers.items()
            if error not in _SETTLED
        }

    def _elect_once(self, keys: Sequence[Key]) -> dict[Key, type[BaseException]]:
        by_topic: dict[str, list[int]] = {}
        for topic, number in keys:
            by_topic.setdefault(topic, []).append(number)
        answer = self.admin.elect_leaders(_PREFERRED, by_topic, raise_errors=False)
        return {
            (result.topic, one.partition_id): kafka_errors.for_code(one.error_code)
            for result in answer.replica_election_results
            for one in result.partition_result
            if one.error_code not in _ELECTED
        }
