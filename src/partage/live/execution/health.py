"""Whether a cluster is healthy: which partitions are out of sync, and which have fewer replicas in
sync than ``min.insync.replicas``, so that producers with ``acks=all`` cannot write to them.

Only existing replicas count: new ones are not in sync before their move ends. Replicas on a dead
broker that the run already handles are ignored.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from kafka import errors as kafka_errors
from kafka.admin import ConfigResource, ConfigResourceType

from partage.cluster.min_insync import MIN_INSYNC
from partage.live.admin.connection import ask_together_or_singly, chunks
from partage.live.admin.snapshot import CHUNK
from partage.live.admin.states import Key, PartitionState
from partage.live.execution.cooldown import Cooldown
from partage.live.execution.retrying_admin import RetryingAdmin

UNMOVED_SECONDS = 5.0
"""How often the partitions that are not being moved are checked."""

_REFUSALS = (kafka_errors.UnknownTopicOrPartitionError, kafka_errors.AuthorizationError)


@dataclass(frozen=True)
class Health:
    """Names of partitions: ``out_of_sync`` have a replica out of sync, ``under_min_isr`` are those
    of them with fewer in sync than their topic's min.insync.replicas."""

    out_of_sync: tuple[str, ...] = ()
    under_min_isr: tuple[str, ...] = ()

    def __str__(self) -> str:
        """``3 partitions are out of sync (t-0, …); 1 below min.insync.replicas (t-0)``."""
        if not self.out_of_sync:
            return "all partitions are in sync"
        are = "partition is" if len(self.out_of_sync) == 1 else "partitions are"
        text = f"{len(self.out_of_sync)} {are} out of sync ({_first(self.out_of_sync)})"
        if self.under_min_isr:
            text += f"; {len(self.under_min_isr)} below {MIN_INSYNC} ({_first(self.under_min_isr)})"
        return text


class HealthMonitor:
    """The cluster's health, round by round. Partitions being moved are checked every round, the
    others at most every ``UNMOVED_SECONDS``, less often in a large cluster."""

    def __init__(self, admin: RetryingAdmin, clock: Callable[[], float]) -> None:
        self._admin, self._clock = admin, clock
        self._cooldown = Cooldown(clock, UNMOVED_SECONDS)
        self._out_of_sync: list[PartitionState] = []

    def check(self, moving: Mapping[Key, PartitionState], ignored: Collection[int]) -> Health:
        """The health of the cluster, whose ``moving`` partitions have just been read; ``ignored``:
        brokers whose replicas do not count."""
        if self._cooldown.is_over:
            began = self._clock()
            self._out_of_sync = out_of_sync(self._admin.partitions(), ignored)
            self._cooldown.restart(began)
        others = [state for state in self._out_of_sync if state.key not in moving]
        return health_of([*others, *out_of_sync(moving.values(), ignored)], self._admin)

    def check_unmoved(self, ignored: Collection[int]) -> Health:
        """The health of all partitions that are not being reassigned."""
        states = self._admin.partitions()
        unmoved = [state for state in states if not state.adding and not state.removing]
        return health_of(out_of_sync(unmoved, ignored), self._admin)


def out_of_sync(
    states: Iterable[PartitionState], ignored: Collection[int] = ()
) -> list[PartitionState]:
    """Partitions with a replica out of sync; replicas on ``ignored`` brokers do not count."""
    return [
        state
        for state in states
        if any(
            broker not in state.isr and broker not in ignored
            for broker in state.current
            if broker not in state.adding
        )
    ]


def health_of(lagging: Iterable[PartitionState], admin: RetryingAdmin) -> Health:
    """The health of a cluster with these partitions out of sync; reads min.insync.replicas of their
    topics."""
    states = sorted(lagging, key=lambda state: state.key)
    if not states:
        return Health()
    min_isr = read_min_isr(admin, {state.topic for state in states})
    return Health(
        tuple(state.name for state in states),
        tuple(state.name for state in states if len(state.isr) < min_isr.get(state.topic, 1)),
    )


def _first(names: Sequence[str]) -> str:
    return names[0] + (", …" if len(names) > 1 else "")


def read_min_isr(admin: RetryingAdmin, topics: Iterable[str]) -> dict[str, int]:
    """min.insync.replicas by topic, without topics that are deleted or may not be read."""

    def read(some: Sequence[str]) -> dict[str, int]:
        kind = ConfigResourceType.TOPIC
        resources = [ConfigResource(kind, topic, {MIN_INSYNC: None}) for topic in some]
        described = admin.client.describe_configs(resources, config_filter="all")
        return {
            topic: int(configs[MIN_INSYNC]["value"])
            for topic, configs in described.get("topic", {}).items()
            if MIN_INSYNC in configs
        }

    found: dict[str, int] = {}
    for part in chunks(sorted(topics), CHUNK):
        found |= admin.retry(partial(ask_together_or_singly, read, part, _REFUSALS))
    return found
