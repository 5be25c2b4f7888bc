"""The steps of a scenario, and what each of them costs.

A pause is a time without an owner between two owners of a partition, or until the end. It counts
for the step in which it begins.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
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
class StepCost:
    """What happened in a step.

    - ``assignors``, ``protocols``: those that the coordinator chose, and that members played
    - ``revoked``: how many partitions members revoked
    - ``paused``: how many partitions had a pause; ``longest``: the longest, in seconds;
      ``partition_seconds``: the sum of all
    """

    name: str
    at: float
    rounds: int
    assignors: tuple[str, ...]
    protocols: tuple[str, ...]
    revoked: int
    paused: int
    longest: float
    partition_seconds: float

    def to_json(self) -> dict[str, Any]:
        """The JSON object in ``steps``."""
        return {
            "name": self.name,
            "at": self.at,
            "rounds": self.rounds,
            "assignors": list(self.assignors),
            "protocols": list(self.protocols),
            "revoked": self.revoked,
            "paused": self.paused,
            "longest_pause": round(self.longest, 3),
            "paused_partition_seconds": round(self.partition_seconds, 3),
        }


def step_costs(
    steps: Sequence[Step],
    rounds: Sequence[Round],
    spans: Iterable[OwnershipSpan],
    protocols: Mapping[str, str],
    until: float,
) -> list[StepCost]:
    """What each step costs. ``protocols``: by member; ``until``: the end of the last step."""
    pauses = list(_pauses(spans, until))
    found = []
    for step, end in pairwise([*steps, Step("", until + 1)]):
        inside = [one for one in rounds if step.at <= one.at < end.at]
        lengths = [(which, length) for which, at, length in pauses if step.at <= at < end.at]
        found.append(
            StepCost(
                step.name,
                step.at,
                len(inside),
                tuple(dict.fromkeys(one.assignor for one in inside if one.assignor)),
                tuple(dict.fromkeys(protocols[id] for one in inside for id in one.assignment)),
                sum(len(held) for one in inside for held in one.revoked.values()),
                len({which for which, _ in lengths}),
                max((length for _, length in lengths), default=0.0),
                sum(length for _, length in lengths),
            )
        )
    return found


def _pauses(
    spans: Iterable[OwnershipSpan], until: float
) -> Iterator[tuple[Partition, float, float]]:
    """(partition, beginning, seconds) of each pause."""
    ordered = sorted(spans, key=lambda span: (span.partition, span.start))
    for partition, of in groupby(ordered, key=lambda span: span.partition):
        owned = [(span.start, span.end) for span in of]
        for (_, end), (start, _) in pairwise([*owned, (until, until)]):
            if start - end > _LEAST:
                yield partition, end, start - end
