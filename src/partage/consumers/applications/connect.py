"""A Connect cluster over time (KIP-415).

Each round is one of the assignor ``connect``; the leader remembers between rounds

- the workers that left, with their tasks and when it noticed: these tasks wait until
  ``scheduled.rebalance.max.delay.ms`` is over. A worker that returns within the delay has none, so
  it gets them then;
- whether the last round stopped tasks to balance the workers: then the next one does not do so at
  once. It schedules a rebalance that may, after 40 ms, and 1.6 s and 64 s if that goes on.

The memory is the leader's. If the leader leaves, the next one takes what it misses for new tasks
and assigns it at once, as in Kafka.

Source: KIP-415, KAFKA-12495 and Kafka's IncrementalCooperativeAssignor.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from partage.consumers.applications import Application, Clock
from partage.consumers.assignment import Assignment
from partage.consumers.assignors.connect import configured_tasks, connect
from partage.consumers.protocol.leader import Subscriptions
from partage.consumers.protocol.messages import Partitions
from partage.consumers.scenario import Scenario
from partage.errors import InputError
from partage.group import Group, Member


class ConnectCluster(Application):
    """The workers of a scenario's ``connect`` object: its tasks are partitions of topics that are
    named after their connectors."""

    assignor = "connect"

    def __init__(self, scenario: Scenario, clock: Clock) -> None:
        super().__init__(_with_tasks(scenario), clock)
        self._leader = ""
        self._forget()

    def _forget(self) -> None:
        self._previous: dict[str, Partitions] = {}
        self._departed: dict[str, tuple[Partitions, int]] = {}
        self._stopped_before, self._put_off, self._allowed_at = False, 0, 0

    def lead(self, leader: str, subscriptions: Subscriptions) -> Mapping[str, Partitions]:
        now = round(1000 * self.clock())
        if leader != self._leader:
            self._leader = leader
            self._forget()
        for worker, tasks in self._previous.items():
            if worker not in subscriptions:
                self._departed[worker] = (tasks, now)
        if self._put_off and now >= self._allowed_at:
            self._stopped_before = False
        found = connect(self._group(subscriptions, now))
        waits = bool(found.notes)
        if not waits:
            self._departed.clear()
        self._back_off(found, waits, now)
        delay = found.delay_ms or 0
        if delay and not waits:
            delay = self._allowed_at - now
        self.rejoin_after = delay / 1000 if delay else None
        self.details = {"delay_ms": delay, "lost_tasks_wait": waits}
        assignment = {member: tuple(held) for member, held in found.as_dict().items()}
        self._previous = assignment
        return assignment

    def _group(self, subscriptions: Subscriptions, now: int) -> Group:
        present = [
            Member(member_id, (), owned=sent.owned, generation=sent.generation)
            for member_id, (_, sent) in subscriptions.items()
        ]
        gone = [
            Member(worker, (), owned=tasks, left_at_ms=at)
            for worker, (tasks, at) in self._departed.items()
        ]
        rounds = self._put_off + 1 if self._stopped_before else 0
        settings = {**(self.scenario.connect or {}), "now_ms": now, "revoked_rounds": rounds}
        return Group({}, [*present, *gone], connect=settings, where="scenario")

    def _back_off(self, found: Assignment, waits: bool, now: int) -> None:
        """Remember whether this round stopped tasks to balance the workers, or put that off."""
        if waits:
            self._stopped_before = False
        elif found.delay_ms:
            if now >= self._allowed_at:
                self._put_off += 1
                self._allowed_at = now + found.delay_ms
        elif found.revoke_first:
            self._stopped_before = True
        elif self._stopped_before:
            self._stopped_before, self._put_off = False, 0


def _with_tasks(scenario: Scenario) -> Scenario:
    """The scenario with connectors as topics, to which all members subscribe."""
    sizes: dict[str, int] = {}
    workers = [Member(member.id, ()) for member in scenario.members]
    given = Group({}, workers, connect=scenario.connect, where="scenario")
    for connector, number in configured_tasks(given):
        if number != sizes.get(connector, 0):
            raise InputError(
                "scenario", f"connect.tasks: {connector}: expected tasks 0, 1, 2 and so on"
            )
        sizes[connector] = number + 1
    members = tuple(replace(member, topics=tuple(sizes)) for member in scenario.members)
    return replace(scenario, topics=sizes, members=members)
