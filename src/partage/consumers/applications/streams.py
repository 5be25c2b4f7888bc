"""A Streams application over time: standbys, warm-ups and probing rebalances (KIP-441).

Each round is one of the assignor ``streams``. Between rounds, the application keeps which thread
has which standby or warm-up, and how far the state of each task is behind on each process:

- A process without any state of a task has all its records to restore (``restore.records``).
- A process with a copy of a task, active or not, restores it at ``restore.rate``, and then stays
  caught up. An active task that is behind does not process anything until it has caught up.
- The state that a process keeps on its disk without a copy of the task falls behind by what is
  produced.

When the application starts, nothing has been processed and every copy is complete. Without
``restore`` lags are unknown, and tasks move at once.

While tasks wait for their state, the group rebalances after ``probing_rebalance_interval_ms``.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TypeAlias

from partage.consumers.applications import Application, Clock
from partage.consumers.assign import run_assignor
from partage.consumers.assignment import Assignment
from partage.consumers.assignors import ASSIGNORS
from partage.consumers.protocol.leader import Subscriptions
from partage.consumers.protocol.messages import Partition, Partitions
from partage.consumers.scenario import Scenario
from partage.consumers.streams.config import StreamsConfig
from partage.errors import InputError
from partage.group import Group, Member

_Copy: TypeAlias = tuple[str, int, int]
"""(process, subtopology, partition)."""


class StreamsApplication(Application):
    """The threads of a scenario with a ``streams`` object."""

    assignor = "streams"

    def __init__(self, scenario: Scenario, clock: Clock) -> None:
        super().__init__(scenario, clock)
        if "lags" in (scenario.streams or {}):
            raise InputError("scenario", "streams.lags: leave it out, the simulation computes lags")
        threads = [Member(member.id, member.topics) for member in scenario.members]
        group = self._group(threads)
        config = StreamsConfig.of(group)
        self._task_of: dict[str, int] = {}
        self._stateful = [subtopology.stateful for subtopology in config.subtopologies]
        for kind, subtopology in enumerate(config.subtopologies):
            self._task_of |= {group.names[topic]: kind for topic in subtopology.topics}
        self._member = {member.id: member for member in scenario.members}
        self._standbys: dict[str, list[Partition]] = {}
        self._behind: dict[_Copy, float] = {}
        self._active: set[_Copy] = set()
        self._copies: set[_Copy] = set()
        self._updated: float | None = None
        self.restoring = None if scenario.restore is None else 0.0

    def lead(self, leader: str, subscriptions: Subscriptions) -> Mapping[str, Partitions]:
        self._advance()
        members = []
        process_of: dict[str, str] = {}
        for member_id, (instance_id, sent) in subscriptions.items():
            member = self._member[sent.client]
            process_of[member_id] = member.process or member.id
            members.append(
                Member(
                    member_id,
                    sent.topics,
                    owned=sent.owned,
                    generation=sent.generation,
                    rack=sent.rack,
                    instance_id=instance_id,
                    process=process_of[member_id],
                    tags=member.tags,
                    standbys=self._standbys.get(member_id, ()),
                )
            )
        found = run_assignor(ASSIGNORS["streams"], self._group(members, process_of))
        self._remember(found, process_of)
        return {member: tuple(held) for member, held in found.as_dict().items()}

    def end(self) -> None:
        self._advance()

    def _group(self, members: list[Member], process_of: Mapping[str, str] | None = None) -> Group:
        streams = dict(self.scenario.streams or {})
        if self.scenario.restore is not None and process_of is not None:
            lags: dict[str, dict[str, int]] = {}
            for (process, kind, number), behind in sorted(self._behind.items()):
                if process in process_of.values():
                    lags.setdefault(process, {})[f"{kind}_{number}"] = math.ceil(behind)
            streams["lags"] = lags
        return Group(
            self.scenario.topics,
            members,
            racks=self.scenario.racks,
            streams=streams,
            where="scenario",
        )

    def _remember(self, found: Assignment, process_of: Mapping[str, str]) -> None:
        """The copies of this round, and when the next one is due."""
        standbys, warmups = found.standbys_by_id, found.warmups_by_id
        self._standbys = {member: [*standbys[member], *warmups[member]] for member in process_of}
        self._active = self._places(found.as_dict(), process_of)
        self._copies = self._active | self._places(self._standbys, process_of)
        if self.scenario.restore is not None:
            records = 0.0 if self._updated is None else self.scenario.restore.records
            for copy in sorted(self._copies):
                self._behind.setdefault(copy, records)
        self._updated = self.clock()
        self.details = {"standbys": _as_json(standbys)}
        if found.warming is not None:
            self.details |= {
                "warmups": _as_json(warmups),
                "waiting": found.warming.waiting,
                "probing_rebalance_ms": found.warming.probing_ms,
            }
        due = found.warming.probing_ms if found.warming is not None else None
        self.rejoin_after = None if due is None else due / 1000

    def _places(
        self, held: Mapping[str, list[Partition]], process_of: Mapping[str, str]
    ) -> set[_Copy]:
        """The stateful tasks by process."""
        return {
            (process_of[member], self._task_of[topic], number)
            for member, pairs in held.items()
            for topic, number in pairs
            if topic in self._task_of and self._stateful[self._task_of[topic]]
        }

    def _advance(self) -> None:
        """Let time pass since the last round."""
        restore, now = self.scenario.restore, self.clock()
        if restore is None or self._updated is None:
            return
        passed, self._updated = now - self._updated, now
        for copy, behind in list(self._behind.items()):
            if copy in self._copies:
                if copy in self._active and self.restoring is not None:
                    self.restoring += min(passed, behind / restore.rate)
                self._behind[copy] = max(0.0, behind - passed * restore.rate)
                continue
            self._behind[copy] = behind + passed * self._produced(copy[1])
            if self._behind[copy] >= restore.records:
                del self._behind[copy]

    def _produced(self, kind: int) -> float:
        """Records per second into a task of a subtopology."""
        topics = (topic for topic, of in self._task_of.items() if of == kind)
        return sum(self.scenario.produce.get(topic, 0.0) for topic in topics)


def _as_json(held: Mapping[str, list[Partition]]) -> dict[str, list[list[object]]]:
    return {member: [list(pair) for pair in pairs] for member, pairs in sorted(held.items())}
