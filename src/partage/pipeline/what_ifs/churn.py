"""What if members come and go? A scenario's group with random events, for each assignor.

A run is the scenario with 1 to ``events`` additional events at uniformly random times. Each is,
with equal probability:

- a *join*: one more member, a copy of one in the scenario
- a *leave* or a *crash* of a present member, for good
- a *rolling restart*: the present members leave one after the other, and each is back after some
  seconds; the next one leaves when the previous one is back, or earlier if that would take longer
  than the scenario. A static member returns as the same member, any other as a new one.

The last present member neither leaves nor crashes: another joins instead. An event during a rolling
restart is delayed until after it. A run lasts until the effects of its last event are over, so that
no case gains from late events.

Every case (an assignor and a protocol) gets the same runs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from partage.consumers.assignors import Assignor, assignor_name, check_mode, find_assignor
from partage.consumers.protocol import CONSUMER
from partage.consumers.scenario import Scenario
from partage.consumers.simulation import Simulation, simulate
from partage.errors import InputError
from partage.units import MAX_COUNT

EVENTS = ("joins", "leaves", "crashes", "restarts")

_AWAY = (5.0, 30.0)
"""Shortest and longest duration of a restart, in seconds."""

_NO_THRESHOLDS: Mapping[str, float] = {}

_SCHEMA = pa.schema(
    [
        ("run", pa.int64()),
        ("assignor", pa.string()),
        ("protocol", pa.string()),
        *((name, pa.int32()) for name in EVENTS),
        ("moved", pa.int64()),
        ("paused_partition_seconds", pa.float64()),
        ("unowned_partition_seconds", pa.float64()),
        ("rounds", pa.int64()),
        ("lag_peak", pa.float64()),
        ("violations", pa.int32()),
    ]
)


@dataclass(frozen=True)
class Churn:
    """``cases``: (assignor, protocol). ``name``: the user's name for the scenario."""

    scenario: Scenario
    cases: tuple[tuple[str, str], ...]
    runs: int
    seed: int = 0
    events: int = 5
    mode: str | None = None
    name: str = "scenario"

    schema = _SCHEMA
    worth = 10
    by = ("assignor", "protocol")
    counted = ("violations",)
    worst_by = ()
    measures = (
        "moved",
        "paused_partition_seconds",
        "unowned_partition_seconds",
        "rounds",
        "lag_peak",
    )
    thresholds = _NO_THRESHOLDS

    def checked(self) -> Churn:
        """Self, or InputError for a number out of range, or a case that the scenario does not
        allow."""
        if not 1 <= self.runs <= MAX_COUNT:
            raise InputError("runs", f"{self.runs}: expected a number from 1 to {MAX_COUNT:,}")
        if self.seed < 0:
            raise InputError("seed", f"{self.seed}: expected a number from 0")
        if self.events < 1:
            raise InputError("events", f"{self.events}: expected a number from 1")
        used: dict[str, Assignor] = {}
        for assignor, protocol in self.cases:
            used |= self._assignors(assignor, protocol)
        check_mode(self.mode, used)
        for assignor, protocol in self.cases:
            simulate(self.scenario, assignor, protocol, self._mode(assignor, protocol))
        return replace(self, cases=tuple((assignor_name(a), p) for a, p in self.cases))

    def _mode(self, assignor: str, protocol: str) -> str | None:
        """The mode where an assignor of the case has it; else None."""
        used = self._assignors(assignor, protocol).values()
        return self.mode if any(self.mode in one.modes for one in used) else None

    def _modes(self) -> dict[str, str]:
        """The mode of each assignor that has modes."""
        used: dict[str, Assignor] = {}
        for case in self.cases:
            used |= self._assignors(*case)
        modes = {name: one.mode(self.mode) for name, one in used.items()}
        return {name: mode for name, mode in modes.items() if mode is not None}

    def _assignors(self, assignor: str, protocol: str) -> dict[str, Assignor]:
        """The assignors of a case: its own and, unless the broker assigns, those that members
        list."""
        if protocol == CONSUMER:
            return {assignor_name(assignor): find_assignor(assignor, CONSUMER)}
        listed = (member.assignors for member in self.scenario.members)
        names = {assignor_name(name) for name in {assignor}.union(*listed)}
        return {name: find_assignor(name) for name in sorted(names)}

    @property
    def rows(self) -> int:
        """A row per run and case."""
        return self.runs * len(self.cases)

    def of_row(self, row: int) -> list[dict[str, Any]]:
        """The results of a run for one case."""
        run, case = divmod(row, len(self.cases))
        assignor, protocol = self.cases[case]
        scenario, counts = self.future(run)
        found = simulate(scenario, assignor, protocol, self._mode(assignor, protocol))
        return [
            {
                "run": run,
                "assignor": assignor,
                "protocol": protocol,
                **counts,
                "moved": found.moved,
                "paused_partition_seconds": round(found.pauses.partition_seconds, 3),
                "unowned_partition_seconds": round(found.unowned, 3),
                "rounds": len(found.rounds),
                "lag_peak": _lag_peak(found),
                "violations": len(found.violations),
            }
        ]

    def future(self, run: int) -> tuple[Scenario, dict[str, int]]:
        """The scenario of a run, and the count of each type of event in it."""
        random = np.random.default_rng([self.seed, run])
        until = self.scenario.until
        group = _Group(self.scenario)
        counts = dict.fromkeys(EVENTS, 0)
        times = np.sort(random.uniform(0, until, int(random.integers(1, self.events + 1))))
        for time in times.tolist():
            at = max(round(time, 3), group.quiet_from)
            what = EVENTS[int(random.integers(len(EVENTS)))]
            present = group.present(at)
            if not present or (what in ("leaves", "crashes") and len(present) < 2):
                what = "joins"
            counts[what] += 1
            if what == "joins":
                group.join(at, int(random.integers(len(self.scenario.members))))
            elif what == "restarts":
                group.restart(at, present, float(random.uniform(*_AWAY)))
            else:
                group.end(present[int(random.integers(len(present)))], at, what == "crashes")
        settling = self.scenario.session_timeout + 4 * self.scenario.heartbeat_interval
        end = max(until, round(group.quiet_from + settling, 3))
        return replace(self.scenario, members=tuple(group.actors), until=end), counts

    def about(self, counts: Mapping[str, int]) -> dict[str, Any]:
        """The input, and the number of runs that violate an invariant of the protocol."""
        return {
            "what_if": "churn",
            "scenario": self.name,
            "runs": self.runs,
            "seed": self.seed,
            "events": self.events,
            "mode": self._modes(),
            "violations": counts["violations"],
        }


class _Group:
    """The members of a run while it is generated; ``quiet_from``: the time of the last event."""

    def __init__(self, scenario: Scenario) -> None:
        self.actors = list(scenario.members)
        self.quiet_from = 0.0
        self._first = scenario.members
        self._until = scenario.until
        self._names = {actor.id for actor in scenario.members}
        self._instances = {actor.instance_id for actor in scenario.members}

    def present(self, at: float) -> list[int]:
        """Positions of the members present at a time."""
        return [
            place for place, actor in enumerate(self.actors) if actor.joins_at <= at < actor.ends_at
        ]

    def join(self, at: float, of: int) -> None:
        """Add a copy of the scenario's member ``of``."""
        like = self._first[of]
        instance = like.instance_id and _unused(f"{like.instance_id}-more", self._instances)
        name = _unused(f"{like.id}-more", self._names)
        more = replace(like, id=name, instance_id=instance, joins_at=at)
        self.actors.append(replace(more, leaves_at=None, crashes_at=None))
        self.quiet_from = at

    def end(self, place: int, at: float, crashes: bool) -> None:
        """Let a member leave or crash; it does nothing after that."""
        self.actors[place] = replace(
            self.actors[place],
            leaves_at=None if crashes else at,
            crashes_at=at if crashes else None,
        )
        self.quiet_from = max(self.quiet_from, at)

    def restart(self, at: float, places: Sequence[int], away: float) -> None:
        """Restart members one after the other. One that ends meanwhile does not come back."""
        step = min(away, self._until / len(places))
        for turn, place in enumerate(places):
            actor = self.actors[place]
            leaves = round(at + turn * step, 3)
            back = round(leaves + away, 3)
            if actor.ends_at > leaves:
                self.end(place, leaves, crashes=False)
            if actor.ends_at > back:
                again = _unused(f"{actor.id}-again", self._names)
                self.actors.append(replace(actor, id=again, joins_at=back))
                self.quiet_from = max(self.quiet_from, back)


def _unused(name: str, taken: set[Any]) -> str:
    """The name, with a number appended if it is taken."""
    number, found = 1, name
    while found in taken:
        number += 1
        found = f"{name}-{number}"
    taken.add(found)
    return found


def _lag_peak(found: Simulation) -> float | None:
    """The largest lag of a partition, in records; None if nothing is produced."""
    if not any(found.produce.values()):
        return None
    return round(max(lag for curve in found.lag.values() for _, lag in curve), 3)
