"""What a simulation found: rounds, spans of ownership, lag, pauses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from partage.consumers.protocol import CONSUMER, Callback, Partition
from partage.consumers.read_again import COMMIT_INTERVALS, read_again
from partage.consumers.record_flow import (
    LagCurve,
    OwnershipSpan,
    PushLoad,
    empty_polls,
    pull,
    push,
)
from partage.consumers.scenario import Scenario, ScenarioMember
from partage.consumers.steps import Pause, PauseCost, StepCost, pauses_of, step_costs
from partage.frames import arrow_table, data_frame, html_table
from partage.units import plural

Held = dict[str, tuple[Partition, ...]]
"""Partitions by member."""


@dataclass
class SimulatedRound:
    """A generation that received its assignment, or that its last member left.

    ``assignor``: the one that the coordinator chose, ``leader``: the member that assigned; both
    empty without members.
    ``added``, ``revoked`` and ``lost`` are the callbacks of the members on the way to this round.
    ``lost`` also has the partitions of members that the coordinator removed without their
    knowledge. ``details``: with Streams and Connect, what waits (``Application.details``).
    """

    at: float
    generation: int
    assignment: Held
    assignor: str = ""
    added: Held = field(default_factory=dict)
    revoked: Held = field(default_factory=dict)
    lost: Held = field(default_factory=dict)
    details: Mapping[str, Any] = field(default_factory=dict)
    leader: str = ""

    def to_json(self) -> dict[str, Any]:
        """The JSON object in ``rounds``."""
        parts = {name: getattr(self, name) for name in ("assignment", "added", "revoked", "lost")}
        return {
            "at": round(self.at, 3),
            "generation": self.generation,
            **{
                name: {member: [list(p) for p in held[member]] for member in sorted(held)}
                for name, held in parts.items()
            },
            "assignor": self.assignor,
            **self.details,
        }


@dataclass(frozen=True, repr=False)
class Simulation:
    """The result of a simulation.

    - ``assignor``: of the members that do not list their own, or else all that are listed
    - ``protocol``: those of the members, in the order of the scenario
    - ``protocols``: that of each member; ``callbacks``: (time, member, callback)
    - ``spans``: the spans of ownership; ``unowned``: partition-seconds without an owner
    - ``moved``: how often a partition moved to another member
    - ``refused``: by member that the coordinator refused, its error message
    - ``violations``: broken guarantees of the protocol, in sentences
    - ``restoring``: with Streams, task-seconds in which active tasks restored their state; None
      where the scenario has no ``restore``
    """

    scenario: Scenario
    assignor: str
    protocol: str
    rounds: tuple[SimulatedRound, ...]
    spans: tuple[OwnershipSpan, ...]
    unowned: float
    moved: int
    refused: Mapping[str, str]
    violations: tuple[str, ...]
    restoring: float | None = None
    protocols: Mapping[str, str] = field(default_factory=dict)
    callbacks: tuple[tuple[float, str, Callback], ...] = ()

    @cached_property
    def produce(self) -> dict[Partition, float]:
        """Records per second into each partition, once it exists."""
        topics = self.scenario.all_topics
        return {
            (topic, number): float(self.scenario.produce.get(topic, 0.0))
            for topic in sorted(topics)
            for number in range(topics[topic])
        }

    @property
    def members(self) -> dict[str, ScenarioMember]:
        """The scenario's members by id."""
        return {member.id: member for member in self.scenario.members}

    @cached_property
    def lag(self) -> dict[Partition, LagCurve]:
        """The lag of each partition over time, when members pull."""
        scenario = self.scenario
        return pull(self.spans, self.produce, self.members, scenario.until, scenario.lifetimes)

    @cached_property
    def pushed(self) -> dict[str, PushLoad]:
        """By member, the load if the broker pushed records instead."""
        return push(self.spans, self.produce, self.members, self.scenario.lifetimes)

    @cached_property
    def steps(self) -> list[StepCost]:
        """What each step of the scenario costs."""
        return step_costs(self.scenario.steps, self.rounds, self._pauses, self.protocols)

    @property
    def pauses(self) -> PauseCost:
        """What partitions that had an owner waited for the next one."""
        return PauseCost.of(self._pauses)

    @cached_property
    def _pauses(self) -> list[Pause]:
        ends = {which: end for which, (_, end) in self.scenario.lifetimes.items()}
        return pauses_of(self.spans, ends)

    @cached_property
    def empty_polls(self) -> dict[str, int | None]:
        """By member, the polls that returned nothing; None for a member that polls in a busy
        loop."""
        return empty_polls(self.spans, self.lag, self.produce, self.members, self.scenario.until)

    def read_again(self, commit_interval: float) -> dict[Partition, float]:
        """Records by partition that are read twice because a member crashed, if members commit
        every ``commit_interval`` seconds."""
        consumer = {name for name, spoken in self.protocols.items() if spoken == CONSUMER}
        rounds = [(one.at, one.assignment.keys() - consumer) for one in self.rounds]
        # an epoch does not make members of the consumer protocol commit
        rounds += [(m.joins_at, {m.id}) for m in self.scenario.members if m.id in consumer]
        rounds.sort(key=lambda found: found[0])
        spans, lag = self.spans, self.lag
        return read_again(spans, rounds, lag, self.produce, self.members, commit_interval)

    def to_json(self, commit_intervals: Sequence[float] = COMMIT_INTERVALS) -> dict[str, Any]:
        """The JSON object that ``simulate --json`` prints; ``commit_intervals`` in seconds."""
        return {
            "rounds": [found.to_json() for found in self.rounds],
            "unowned_partition_seconds": round(self.unowned, 3),
            "moved": self.moved,
            **({} if self.restoring is None else {"restoring_task_seconds": self.restoring}),
            "lag": {
                f"{topic}-{number}": [[round(at, 3), round(lag, 3)] for at, lag in curve]
                for (topic, number), curve in self.lag.items()
            },
            **self.pauses.to_json(),
            "push": {
                name: {
                    "buffered": round(found.most, 3),
                    "overrun_at": None if found.overrun_at is None else round(found.overrun_at, 3),
                    "overrun": round(found.overrun, 3),
                }
                for name, found in self.pushed.items()
            },
            "empty_polls": self.empty_polls,
            "read_again": [
                {
                    "commit_interval": interval,
                    "records": round(sum(found.values()), 3),
                    "partitions": {f"{t}-{n}": round(found[t, n], 3) for t, n in sorted(found)},
                }
                for interval in commit_intervals
                for found in (self.read_again(interval),)
            ],
            **({"steps": [step.to_json() for step in self.steps]} if self.steps else {}),
            "protocols": dict(self.protocols),
            "refused": dict(self.refused),
            "invariants": list(self.violations) if self.violations else "hold",
        }

    # -- in a notebook

    def __repr__(self) -> str:
        return f"<Simulation of {self._summary()}>"

    def _repr_html_(self) -> str:
        header = ("at, s", "generation", "added", "revoked", "lost")
        rows = [
            [
                f"{one.at:,.2f}",
                one.generation,
                *(_named(held) for held in (one.added, one.revoked, one.lost)),
            ]
            for one in self.rounds
        ]
        return html_table(self._summary(), header, rows)

    def to_pandas(self) -> Any:
        """A ``pandas.DataFrame`` with a row per ownership span: ``topic``, ``partition``,
        ``member``, ``start_seconds``, ``end_seconds``. Raises PartageError where pandas is not
        installed."""
        return data_frame(self._columns())

    def to_arrow(self) -> Any:
        """The same table as ``to_pandas`` as a ``pyarrow.Table``. Raises PartageError where pyarrow
        is not installed."""
        return arrow_table(self._columns())

    def _columns(self) -> dict[str, list[Any]]:
        return {
            "topic": [span.partition[0] for span in self.spans],
            "partition": [span.partition[1] for span in self.spans],
            "member": [span.member for span in self.spans],
            "start_seconds": [span.start for span in self.spans],
            "end_seconds": [span.end for span in self.spans],
        }

    def _summary(self) -> str:
        return (
            f"{self.assignor}, {self.protocol}: {plural(len(self.rounds), 'round')}, "
            f"{plural(self.moved, 'partition')} moved, "
            f"{self.unowned:,.1f} partition-seconds without an owner"
        )


def _named(held: Held) -> str:
    return "; ".join(
        f"{member}: " + ", ".join(f"{topic}-{number}" for topic, number in held[member])
        for member in sorted(held)
    )
