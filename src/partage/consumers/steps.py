"""The steps of a scenario, and what each of them costs.

A pause is a time without an owner between two owners of a partition, or until the partition or the
scenario ends. It counts for the step in which it begins.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from math import inf
from typing import Any, Protocol

from partage.consumers.protocol.messages import Partition
from partage.consumers.record_flow import OwnershipSpan
from partage.consumers.scenario import Step

_LEAST = 1e-6
"""Seconds; a shorter pause is a rounding error."""


class Round(Protocol):
    """A generation: see ``SimulatedRound``."""

    @property
    def at(self) -> float: ...
    @property
    def assignor(self) -> str: ...
    @property
    def assignment(self) -> Mapping[str, Sequence[Partition]]: ...
    @property
    def revoked(self) -> Mapping[str, Sequence[Partition]]: ...


@dataclass(frozen=True)
class Pause:
    """A partition without an owner from ``at`` on, for ``seconds``."""

    partition: Partition
    at: float
    seconds: float


@dataclass(frozen=True)
class PauseCost:
    """Pauses together: how many ``partitions`` had one, the ``longest`` in seconds, and the sum of
    all in ``partition_seconds``."""

    partitions: int
    longest: float
    partition_seconds: float

    @classmethod
    def of(cls, pauses: Sequence[Pause]) -> PauseCost:
        """The cost of these."""
        return cls(
            len({pause.partition for pause in pauses}),
            max((pause.seconds for pause in pauses), default=0.0),
            sum(pause.seconds for pause in pauses),
        )

    def to_json(self) -> dict[str, Any]:
        """The keys of a simulation, and of each object in ``steps``."""
        return {
            "paused": self.partitions,
            "longest_pause": round(self.longest, 3),
            "paused_partition_seconds": round(self.partition_seconds, 3),
        }


@dataclass(frozen=True)
class StepCost:
    """What happened in a step.

    - ``assignors``, ``protocols``: those that the coordinator chose, and that members played
    - ``revoked``: how many partitions members revoked; ``pauses``: those that began
    """

    name: str
    at: float
    rounds: int
    assignors: tuple[str, ...]
    protocols: tuple[str, ...]
    revoked: int
    pauses: PauseCost

    def to_json(self) -> dict[str, Any]:
        """The JSON object in ``steps``."""
        return {
            "name": self.name,
            "at": self.at,
            "rounds": self.rounds,
            "assignors": list(self.assignors),
            "protocols": list(self.protocols),
            "revoked": self.revoked,
            **self.pauses.to_json(),
        }


def step_costs(
    steps: Sequence[Step],
    rounds: Sequence[Round],
    pauses: Sequence[Pause],
    protocols: Mapping[str, str],
) -> list[StepCost]:
    """What each step costs. ``protocols``: by member."""
    found = []
    for step, end in pairwise([*steps, Step("", inf)]):
        inside = [one for one in rounds if step.at <= one.at < end.at]
        found.append(
            StepCost(
                step.name,
                step.at,
                len(inside),
                tuple(dict.fromkeys(one.assignor for one in inside if one.assignor)),
                tuple(dict.fromkeys(protocols[id] for one in inside for id in one.assignment)),
                sum(len(held) for one in inside for held in one.revoked.values()),
                PauseCost.of([pause for pause in pauses if step.at <= pause.at < end.at]),
            )
        )
    return found


def pauses_of(spans: Iterable[OwnershipSpan], ends: Mapping[Partition, float]) -> list[Pause]:
    """The pauses between these spans. ``ends``: until when each partition exists, in seconds."""
    found = []
    ordered = sorted(spans, key=lambda span: (span.partition, span.start))
    for partition, of in groupby(ordered, key=lambda span: span.partition):
        owned = [(span.start, span.end) for span in of]
        last = ends[partition]
        for (_, end), (start, _) in pairwise([*owned, (last, last)]):
            if start - end > _LEAST:
                found.append(Pause(partition, end, start - end))
    return found
