"""The coordinator and its members on one virtual clock, with messages that take time.

Events happen in the order of time. At the same time, first come the scheduled events and the
messages that arrive, in the order in which they were scheduled or sent, then the members'
heartbeats, then the coordinator's time-outs. Messages between a process and the coordinator never
overtake each other, as on one TCP connection.

A process may still hold partitions after the group has removed it (it was stopped for too long, or
another process has taken its instance id); the coordinator rejects its commits because of its
member id or its generation. So a process ``counts`` as an owner only while the coordinator accepts
it. The protocols guarantee that a partition then never has two owners.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import count
from typing import Protocol, TypeAlias

from partage.consumers.protocol.consumer import SimulatedConsumer
from partage.consumers.protocol.coordinator import Coordinator, State
from partage.consumers.protocol.messages import Answer, Partitions, Request

Latency: TypeAlias = Callable[[], float]
Action: TypeAlias = Callable[[], None]


class GroupMember(Protocol):
    """A member as its coordinator knows it."""

    @property
    def client(self) -> str: ...
    @property
    def assignment(self) -> Partitions: ...


class GroupCoordinator(Protocol):
    """What a coordinator of any protocol offers; see ``coordinator.Coordinator``."""

    removed: list[tuple[float, str, str]]

    @property
    def leader(self) -> str | None: ...
    @property
    def assignor(self) -> str: ...
    @property
    def generation(self) -> int: ...
    @property
    def state(self) -> State: ...
    @property
    def members(self) -> Mapping[str, GroupMember]: ...
    @property
    def deadline(self) -> float: ...
    def handle(self, now: float, request: Request) -> list[Answer]: ...
    def tick(self, now: float) -> list[Answer]: ...
    def counts(self, consumer: SimulatedConsumer) -> bool: ...
    def settled(self, running: Sequence[SimulatedConsumer]) -> bool: ...


class Network:
    """Schedule events with ``at`` and process them one by one with ``step``.

    - ``latency``: returns the seconds that the next message takes
    - ``touched``: the processes that events concerned, until the observer clears it
    """

    def __init__(self, coordinator: GroupCoordinator, latency: Latency | None = None) -> None:
        self.coordinator = coordinator
        self.now = 0.0
        self.processes: dict[str, SimulatedConsumer] = {}
        self.touched: set[str] = set()
        self._latency = latency or (lambda: 0.0)
        self._events: list[tuple[float, int, Action]] = []
        self._number = count()
        self._last: dict[tuple[str, bool], float] = {}
        self._heartbeats: list[tuple[float, str]] = []

    # -- processes

    def at(self, time: float, action: Action) -> None:
        """Schedule an event."""
        heapq.heappush(self._events, (time, next(self._number), action))

    def start(self, consumer: SimulatedConsumer) -> None:
        """Start a process, which subscribes."""
        self.processes[consumer.client] = consumer
        self._send(consumer.client, consumer.start())

    def close(self, client: str) -> None:
        """Close the consumer of a process and end it."""
        if client in self.processes:
            self._send(client, self.processes[client].close())
            self.crash(client)

    def subscribe(self, client: str, topics: Iterable[str]) -> None:
        """Let a process change its subscription, if it still runs; it joins again."""
        if client in self.processes:
            self._send(client, self.processes[client].subscribe(topics))

    def rejoin(self, client: str) -> None:
        """Let a process ask for a rebalance, if it still runs."""
        if client in self.processes:
            self._send(client, self.processes[client].rejoin())

    def crash(self, client: str) -> None:
        """End a process without a LeaveGroup request."""
        self.touched.add(client)
        self.processes.pop(client, None)

    # -- time

    def next_time(self) -> float:
        """The time of the next event, infinity if there is none."""
        planned = self._events[0][0] if self._events else math.inf
        return max(self.now, min(planned, self._next_heartbeat()[0], self.coordinator.deadline))

    def step(self, until: float = math.inf) -> bool:
        """Process the next event up to ``until``. Returns whether there was one."""
        time = self.next_time()
        if time > until or time == math.inf:
            return False
        self.now = time
        if self._events and self._events[0][0] <= time:
            heapq.heappop(self._events)[2]()
            return True
        heartbeat, client = self._next_heartbeat()
        if heartbeat <= time:
            self._send(client, self.processes[client].tick(time))
        else:
            self._answer(self.coordinator.tick(time))
        return True

    def _next_heartbeat(self) -> tuple[float, str]:
        """The earliest heartbeat. Outdated entries are removed from the heap on the way."""
        while self._heartbeats:
            time, client = self._heartbeats[0]
            consumer = self.processes.get(client)
            if consumer is not None and consumer.deadline == time:
                return time, client
            heapq.heappop(self._heartbeats)
        return math.inf, ""

    def skip(self, seconds: float) -> None:
        """Let time pass for a settled classic group. A multiple of the heartbeat interval changes
        nothing but the time: in between there are only heartbeats."""
        assert isinstance(self.coordinator, Coordinator)
        self.now += seconds
        self.coordinator.skip(seconds)
        for consumer in self.processes.values():
            consumer.skip(seconds)
        self._heartbeats = [(one.deadline, name) for name, one in self.processes.items()]
        heapq.heapify(self._heartbeats)

    # -- messages

    def _send(self, client: str, requests: list[Request]) -> None:
        """Send the requests of a process."""
        self.touched.add(client)
        deadline = self.processes[client].deadline if client in self.processes else math.inf
        if deadline < math.inf:
            heapq.heappush(self._heartbeats, (deadline, client))
        for request in requests:
            arrives = self._arrival(request.client, True)
            self.at(arrives, lambda r=request: self._receive(r))  # type: ignore[misc]

    def _receive(self, request: Request) -> None:
        self._answer(self.coordinator.handle(self.now, request))

    def _answer(self, answers: list[Answer]) -> None:
        for answer in answers:
            client = answer.to.client
            arrives = self._arrival(client, False)
            self.at(arrives, lambda c=client, a=answer: self._deliver(c, a))  # type: ignore[misc]

    def _deliver(self, client: str, answer: Answer) -> None:
        if client in self.processes:
            self._send(client, self.processes[client].receive(self.now, answer))

    def _arrival(self, client: str, up: bool) -> float:
        time = max(self.now + self._latency(), self._last.get((client, up), 0.0))
        self._last[client, up] = time
        return time

    # -- owners

    def counts(self, consumer: SimulatedConsumer) -> bool:
        """Whether the group accepts the process as the owner of what it holds."""
        return self.coordinator.counts(consumer)

    def settled(self) -> bool:
        """Whether only heartbeats are left: all running processes have what they should have."""
        running = [consumer for consumer in self.processes.values() if consumer.error is None]
        return not self._events and self.coordinator.settled(running)
