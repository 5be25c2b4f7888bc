"""The coordinator and its members under one virtual clock, with messages that take time.

Events come in the order of time; at one instant first what was planned and what arrives, in the
order in which it was sent, then the members' heartbeats, then the coordinator's time-outs. Messages
between a process and the coordinator never overtake each other, as on one TCP connection.

A process may believe that it holds a partition after the group has put it out (it stood still, or
another took its instance id); the coordinator refuses its commits, by its member id or by its
generation. So a process ``counts`` as holding only while the coordinator has it in the present
generation, by an assignment of a generation since which it missed none. That no partition then has
two holders is what the protocol promises.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable
from itertools import count
from typing import TypeAlias

from partage.consumers.protocol.consumer import Phase, SimulatedConsumer
from partage.consumers.protocol.coordinator import Coordinator, State
from partage.consumers.protocol.messages import Answer, Request

Latency: TypeAlias = Callable[[], float]
Action: TypeAlias = Callable[[], None]


class Network:
    """Plan what happens with ``at``, then let it happen, event by event, with ``step``. ``latency``
    gives the seconds that a message takes; ``touched`` collects the processes to which something
    happened, for whoever watches and empties it."""

    def __init__(self, coordinator: Coordinator, latency: Latency | None = None) -> None:
        self.coordinator = coordinator
        self.now = 0.0
        self.processes: dict[str, SimulatedConsumer] = {}
        self.touched: set[str] = set()
        self._latency = latency or (lambda: 0.0)
        self._events: list[tuple[float, int, Action]] = []
        self._number = count()
        self._last: dict[tuple[str, bool], float] = {}
        self._beats: list[tuple[float, str]] = []

    # -- what happens to processes

    def at(self, time: float, action: Action) -> None:
        """Something that happens then."""
        heapq.heappush(self._events, (time, next(self._number), action))

    def start(self, consumer: SimulatedConsumer) -> None:
        """A process starts and subscribes."""
        self.processes[consumer.client] = consumer
        self._send(consumer.client, consumer.start())

    def close(self, client: str) -> None:
        """It closes its consumer, and ends."""
        if client in self.processes:
            self._send(client, self.processes[client].close())
            self.crash(client)

    def crash(self, client: str) -> None:
        """It is gone, without a word."""
        self.touched.add(client)
        self.processes.pop(client, None)

    # -- time

    def next_time(self) -> float:
        """When the next event is, infinity if nothing will ever happen."""
        planned = self._events[0][0] if self._events else math.inf
        return max(self.now, min(planned, self._next_beat()[0], self.coordinator.deadline))

    def step(self, until: float = math.inf) -> bool:
        """The next event, unless it is later than that; whether there was one."""
        time = self.next_time()
        if time > until or time == math.inf:
            return False
        self.now = time
        if self._events and self._events[0][0] <= time:
            heapq.heappop(self._events)[2]()
            return True
        beat, client = self._next_beat()
        if beat <= time:
            self._send(client, self.processes[client].tick(time))
        else:
            self._answer(self.coordinator.tick(time))
        return True

    def _next_beat(self) -> tuple[float, str]:
        """The earliest heartbeat; what is out of date in the heap goes when it comes up."""
        while self._beats:
            time, client = self._beats[0]
            consumer = self.processes.get(client)
            if consumer is not None and consumer.deadline == time:
                return time, client
            heapq.heappop(self._beats)
        return math.inf, ""

    # -- messages

    def _send(self, client: str, requests: list[Request]) -> None:
        """What a process sends after something happened to it."""
        self.touched.add(client)
        deadline = self.processes[client].deadline if client in self.processes else math.inf
        if deadline < math.inf:
            heapq.heappush(self._beats, (deadline, client))
        for request in requests:
            arrives = self._arrival(request.client, True)
            self.at(arrives, lambda r=request: self._hear(r))  # type: ignore[misc]

    def _hear(self, request: Request) -> None:
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

    # -- who reads what

    def counts(self, consumer: SimulatedConsumer) -> bool:
        """Whether what the process holds is its own in the eyes of the group."""
        seat = self.coordinator.seat_of(consumer.client, consumer.member_id)
        return seat is not None and consumer.held_since >= seat.since

    def settled(self) -> bool:
        """Nothing but heartbeats will happen: the group is stable, or has no member."""
        if self._events:
            return False
        here = [c for c in self.processes.values() if c.error is None]
        if self.coordinator.state is State.EMPTY:
            return not here
        if self.coordinator.state is not State.STABLE:
            return False
        seated = {seat.client for seat in self.coordinator.seats.values()}
        return seated == {c.client for c in here} and all(
            c.phase is Phase.MEMBER and self.counts(c) for c in here
        )
