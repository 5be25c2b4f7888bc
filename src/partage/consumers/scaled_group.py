"""Play a group whose number of members changes, in the simulator: what a schedule, or a lag-based
scaler, does to its lag and its partitions.

Members process records at their rate, join and leave as processes do, and rebalance by the protocol
with Kafka's time-outs; the newest members leave first. The rates of partitions change with the
windows. One minute without records comes first, in which the first members join; it is not counted.
Between two changes a stable group only sends heartbeats, so the clock skips whole intervals of
them: the result is the same.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Protocol

from partage.arrays import Floats
from partage.consumers.assignors import assignor_name, find_assignor
from partage.consumers.backlog import Backlog
from partage.consumers.lag_scaler import LagScaler
from partage.consumers.protocol import Coordinator
from partage.consumers.scenario import Scenario, ScenarioMember
from partage.consumers.schedule import PER_SECONDS, GroupLoads, Schedule, Stretch
from partage.consumers.simulation.run import Run
from partage.consumers.steps import PauseCost, pauses_of

_BEFORE = 60.0
"""Seconds in which the first members join."""
_AFTER = 60.0
"""Seconds after the last window, in which a last change still ends."""


@dataclass(frozen=True)
class Played:
    """What a run does.

    - ``changes``: (seconds from the first window, members), at the start and with each decision
    - ``rebalances``: generations after the first members have joined
    - ``most_lag``: the highest lag of all partitions together, in the unit of the loads
    - ``moved``: partitions that changed their member; ``paused``: what they waited for the next one
    """

    assignor: str
    changes: tuple[tuple[float, int], ...]
    rebalances: int
    member_seconds: float
    most_lag: float
    moved: int
    paused: PauseCost

    def to_json(self, record: float) -> dict[str, Any]:
        """``record``: bytes of a record, on average."""
        return {
            "changes": len(self.changes) - 1,
            "rebalances": self.rebalances,
            "member_hours": round(self.member_seconds / 3600, 3),
            "worst_lag": round(self.most_lag / record),
            "moved": self.moved,
            **self.paused.to_json(),
        }


class Plan(Protocol):
    """Decides how many members there should be. Times are seconds from the first window."""

    def next(self, now: float) -> float:
        """When it decides next after ``now``; infinity: never."""
        ...

    def members(self, now: float, lag: float, members: int) -> int | None:
        """How many from now on, where there are ``members``; None: the group stays as it is.
        ``lag``: as committed offsets show it."""
        ...

    def until(self, now: float) -> int:
        """Before which window the assignment that is made now may end."""
        ...


@dataclass(frozen=True)
class Scheduled:
    """The plan of a schedule."""

    schedule: Schedule

    def next(self, now: float) -> float:
        starts = (one.first * self.schedule.loads.seconds for one in self.schedule.stretches)
        return min((float(at) for at in starts if at > now), default=math.inf)

    def members(self, now: float, lag: float, members: int) -> int | None:
        one = self._stretch(now)
        return one.members if one.first * self.schedule.loads.seconds == now else None

    def until(self, now: float) -> int:
        return self._stretch(now).end

    def _stretch(self, now: float) -> Stretch:
        seconds = self.schedule.loads.seconds
        return next(one for one in self.schedule.stretches if now < one.end * seconds)


@dataclass(frozen=True)
class ByLag:
    """The plan of a lag-based scaler, with windows of so many ``seconds``."""

    scaler: LagScaler
    seconds: int

    def next(self, now: float) -> float:
        return (now // self.scaler.interval + 1) * self.scaler.interval

    def members(self, now: float, lag: float, members: int) -> int | None:
        wanted = self.scaler.members(now, lag, members)
        return None if wanted == members else wanted

    def until(self, now: float) -> int:
        return int(now // self.seconds) + 1


def play(loads: GroupLoads, plan: Plan, first: int, rate: float, assignor: str) -> Played:
    """Play the windows. ``first``: members at the start; ``rate``: what each processes per second.

    Raises InputError for an unknown assignor.
    """
    return _Player(loads, plan, rate, assignor_name(assignor)).play(first)


class _Player:
    """The clock of ``run`` and ``backlog`` is ``_BEFORE`` ahead."""

    def __init__(self, loads: GroupLoads, plan: Plan, rate: float, assignor: str) -> None:
        self.loads, self.plan, self.assignor = loads, plan, assignor
        self.length = float(len(loads.start) * loads.seconds)
        topics = {topic: loads.group.topics[topic] for topic, _ in loads.names}
        until = _BEFORE + self.length + _AFTER
        self.clients = [f"m{n + 1}" for n in range(max(1, len(loads.names)))]
        members = (
            # starts when the plan needs it
            ScenarioMember(one, tuple(topics), until + 1, rate=rate, assignors=(assignor,))
            for one in self.clients
        )
        scenario = Scenario(topics, tuple(members), until)
        self.run = Run(scenario, None, {assignor: find_assignor(assignor)}, None, Coordinator())
        self.backlog = Backlog(rate, loads.names)
        self.running, self.known = 0, -1

    def play(self, first: int) -> Played:
        self._resize(first, 0.0)
        self._advance(0.0)
        began, moved = len(self.run.rounds), self.run.ownership.moved
        changes, member_seconds = [(0.0, first)], 0.0
        now = 0.0
        for window in range(len(self.loads.start)):
            end = float((window + 1) * self.loads.seconds)
            self._produce(self.loads.load[window] / PER_SECONDS)
            if now > 0:
                self._decide(now, changes)
            while now < end:
                then = min(self.plan.next(now), end)
                self._advance(then)
                member_seconds += self.running * (then - now)
                now = then
                if now < end:
                    self._decide(now, changes)
        most = self.backlog.most
        self._advance(self.length + _AFTER)
        found = self.run.end(self.assignor)
        ends = dict.fromkeys(self.loads.names, found.scenario.until)
        pauses = [one for one in pauses_of(found.spans, ends) if one.at >= _BEFORE]
        return Played(
            self.assignor,
            tuple(changes),
            len(found.rounds) - began,
            member_seconds,
            most,
            found.moved - moved,
            PauseCost.of(pauses),
        )

    def _decide(self, now: float, changes: list[tuple[float, int]]) -> None:
        """Let the plan decide; note a change."""
        wanted = self.plan.members(now, self.backlog.reported, self.running)
        if wanted is not None:
            changes.append((now, wanted))
            self._resize(wanted, now)

    def _resize(self, members: int, now: float) -> None:
        """Start or stop the newest members, or only assign again."""
        self._weigh(now)
        leader = self.run.network.coordinator.leader
        for client in self.clients[self.running : members]:
            self.run.start(client)
        for client in reversed(self.clients[members : self.running]):
            self.run.stop(client)
        if members == self.running and leader is not None:
            self.run.network.rejoin(self.run.network.coordinator.members[leader].client)
        self.running = members
        self._owners_changed()

    def _weigh(self, now: float) -> None:
        """Weigh partitions by their highest rate for as long as the assignment may last."""
        first = int(now // self.loads.seconds)
        peak = self.loads.load[first : self.plan.until(now)].max(axis=0).tolist()
        weights: dict[str, list[int]] = {}
        for (topic, _), weight in zip(self.loads.names, peak, strict=True):
            weights.setdefault(topic, []).append(weight)
        self.run.weights = weights

    def _produce(self, rates: Floats) -> None:
        """From now on this comes in per second."""
        self.backlog.produce = dict(zip(self.loads.names, rates.tolist(), strict=True))

    def _advance(self, until: float) -> None:
        """Let the group run until a time."""
        until += _BEFORE
        network, interval = self.run.network, self.run.scenario.heartbeat_interval
        while network.now < until:
            beats = (until - network.now) // interval - 1
            if beats > 0 and network.settled():
                self.backlog.advance(network.now + beats * interval)
                network.skip(beats * interval)
            self.backlog.advance(min(network.next_time(), until))
            if not self.run.step(until):
                network.now = until
            self._owners_changed()

    def _owners_changed(self) -> None:
        if self.known != self.run.ownership.changes:
            self.known = self.run.ownership.changes
            self.backlog.own(self.run.ownership.owners())
