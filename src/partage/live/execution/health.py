"""Whether a cluster is well: who has fallen behind, and where producers cannot write any more.

Only replicas that are there already count: new ones are not in sync before their move ends. Those
on a broker that is dead, and taken care of, are excused.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from kafka import errors as kafka_errors
from kafka.admin import ConfigResource, ConfigResourceType

from partage.live.admin.connection import chunks, of_those_that_answer
from partage.live.admin.snapshot import CHUNK
from partage.live.admin.states import Key, PartitionState
from partage.live.execution.asking import Asking
from partage.live.execution.watching import Sparing

OTHERS_SECONDS = 5.0

_MIN_ISR = "min.insync.replicas"

_REFUSALS = (kafka_errors.UnknownTopicOrPartitionError, kafka_errors.AuthorizationError)


@dataclass(frozen=True)
class Health:
    """Names of partitions: ``behind`` with a replica out of sync, ``starved`` those of them that
    have fewer in sync than their topic's min.insync.replicas."""

    behind: tuple[str, ...] = ()
    starved: tuple[str, ...] = ()

    def __str__(self) -> str:
        """``3 partitions are out of sync, t-0; 1 below min.insync.replicas, t-0``."""
        some = "partition is" if len(self.behind) == 1 else "partitions are"
        said = f"{len(self.behind)} {some} out of sync, {self.behind[0]}" if self.behind else "well"
        if self.starved:
            said += f"; {len(self.starved)} below {_MIN_ISR}, {self.starved[0]}"
        return said


class HealthWatch:
    """The cluster's health, round by round: what is moved is looked at each time, the rest no more
    often than every ``OTHERS_SECONDS``, and less often where there is much of it."""

    def __init__(self, asking: Asking, clock: Callable[[], float]) -> None:
        self._asking, self._clock = asking, clock
        self._due = Sparing(clock, OTHERS_SECONDS)
        self._behind: list[PartitionState] = []

    def look(self, moved: Mapping[Key, PartitionState], excused: Collection[int]) -> Health:
        """With what is ``moved`` as it is now; ``excused``: as in ``behind``."""
        if self._due.due:
            began = self._clock()
            self._behind = behind(self._asking.partitions(), excused)
            self._due.did(began)
        others = [one for one in self._behind if one.key not in moved]
        return health_of([*others, *behind(moved.values(), excused)], self._asking)

    def of_what_stays(self, excused: Collection[int]) -> Health:
        """Of all partitions that are not being reassigned, as they are now."""
        states = self._asking.partitions()
        still = [one for one in states if not one.adding and not one.removing]
        return health_of(behind(still, excused), self._asking)


def behind(states: Iterable[PartitionState], excused: Collection[int] = ()) -> list[PartitionState]:
    """Those with a replica out of sync; ``excused``: brokers whose replicas do not count."""
    return [
        one
        for one in states
        if any(
            broker not in one.isr and broker not in excused
            for broker in one.current
            if broker not in one.adding
        )
    ]


def health_of(troubled: Iterable[PartitionState], asking: Asking) -> Health:
    """What of these, which are behind, is starved: their topics are asked for the setting."""
    states = sorted(troubled, key=lambda one: one.key)
    if not states:
        return Health()
    topics = sorted({one.topic for one in states})
    least: dict[str, int] = {}
    for part in chunks(topics, CHUNK):
        least |= _least_in_sync(asking, part)
    return Health(
        tuple(one.name for one in states),
        tuple(one.name for one in states if len(one.isr) < least.get(one.topic, 1)),
    )


def _least_in_sync(asking: Asking, topics: Sequence[str]) -> dict[str, int]:
    """The setting by topic; one that is deleted, or of which it may not be read, is left out."""

    def ask(some: Sequence[str]) -> dict[str, int]:
        kind = ConfigResourceType.TOPIC
        resources = [ConfigResource(kind, topic, {_MIN_ISR: None}) for topic in some]
        described = asking.admin.describe_configs(resources, config_filter="all")
        return {
            topic: int(configs[_MIN_ISR]["value"])
            for topic, configs in described.get("topic", {}).items()
            if _MIN_ISR in configs
        }

    return asking.patiently(lambda: of_those_that_answer(ask, topics, _REFUSALS))
