"""The tasks of a group's Streams application as columns, with their owners and the places of state.

A task is one partition number of a subtopology: that partition of all its topics. The member that
runs it is the one that owns most of its partitions according to the claims, the first of equals.
Members list the standbys that they hold under ``standbys``. A member is a thread of the process
that it names, or a process by itself where it names none; the rack and the tags of a process are
those of its first thread.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from partage.arrays import Bools, Ints
from partage.consumers.streams.config import UNKNOWN_LAG, StreamsConfig
from partage.consumers.streams.tasks import Tasks
from partage.group import Group, Member
from partage.group.model import NO_MEMBER


@dataclass(frozen=True, eq=False)
class Topology:
    """T tasks with R partitions in total, M members in N processes.

    - ``row``, ``task`` [R]: each partition and its task
    - ``tasks``; ``had`` [T, M]: which member held a standby of which task
    - ``stateful`` [T]; ``processes``: their names, ascending
    """

    group: Group
    config: StreamsConfig
    row: Ints
    task: Ints
    tasks: Tasks
    had: Bools
    stateful: Bools
    processes: tuple[str, ...]

    @classmethod
    def of(cls, group: Group, config: StreamsConfig) -> Topology:
        """The columns of a group."""
        kind, row, task = _layout(group, config)
        names = [member.process or member.id for member in group.members]
        processes, process = np.unique(names, return_inverse=True)
        process = process.ravel().astype(np.int64)
        open_to = _open_to(group, config)
        owned = _owned(group, row, task, len(kind))
        owned[~open_to[kind]] = 0
        had = _had(group, row, task, len(kind))
        holds = np.zeros((len(kind), len(processes)), dtype=np.bool_)
        of, thread = np.nonzero((owned > 0) | had)
        holds[of, process[thread]] = True
        tasks = Tasks(
            kind=kind,
            open_to=open_to,
            owner=np.where(owned.any(axis=1), owned.argmax(axis=1), NO_MEMBER).astype(np.int64),
            holds=holds,
            process=process,
            tag=_tags(group, process),
        )
        stateful = np.array(config.stateful, dtype=np.bool_)[kind]
        return cls(group, config, row, task, tasks, had, stateful, tuple(processes.tolist()))

    def lag(self) -> Ints:
        """[T, N] records that the state of a task is behind on a process: as configured; 0 where
        the task runs and no lag is given; elsewhere ``UNKNOWN_LAG``."""
        table = np.full((len(self.stateful), len(self.processes)), UNKNOWN_LAG, dtype=np.int64)
        runs = np.flatnonzero(self.tasks.owner != NO_MEMBER)
        table[runs, self.tasks.process[self.tasks.owner[runs]]] = 0
        first = np.searchsorted(self.tasks.kind, np.arange(len(self.config.subtopologies)))
        for name, of_process in (self.config.lags or {}).items():
            process = self.processes.index(name)
            for (kind, number), records in of_process.items():
                table[first[kind] + number, process] = records
        return table

    def rows(self, tasks: Ints) -> tuple[Ints, Ints]:
        """(position in ``tasks``, partition) of all partitions of these tasks."""
        order = np.argsort(self.task, kind="stable")
        start = np.searchsorted(self.task[order], np.arange(len(self.stateful) + 1))
        count = np.diff(start)[tasks]
        of = np.repeat(np.arange(len(tasks)), count)
        within = np.arange(len(of)) - np.repeat(np.cumsum(count) - count, count)
        return of, self.row[order[start[tasks][of] + within]]

    # -- racks

    def unknown_rack(self) -> str | None:
        """Why racks are not known well enough to count, None where they are: every process must be
        in one rack, and the racks of every partition's replicas known (as Kafka requires)."""
        rack, of = self.group.member_rack, self.tasks.process
        for at, name in enumerate(self.processes):
            racks = np.unique(rack[of == at])
            if len(racks) > 1 or racks[0] == NO_MEMBER:
                return f"process {name!r} has {'several racks' if len(racks) > 1 else 'no rack'}"
        unknown = ~self.group.in_rack[self.row].any(axis=1)
        if unknown.any():
            topic, number = self.group.named(int(self.row[unknown.argmax()]))
            return f"racks does not contain {topic}-{number}"
        return None

    def cross_rack(self) -> Ints:
        """[T, N] partitions of a task without a replica in the rack of the process."""
        racks = self.group.member_rack[np.unique(self.tasks.process, return_index=True)[1]]
        found = np.zeros((len(self.stateful), len(racks)), dtype=np.int64)
        np.add.at(found, self.task, ~self.group.in_rack[self.row][:, racks])
        return found


def _layout(group: Group, config: StreamsConfig) -> tuple[Ints, Ints, Ints]:
    """[T] subtopology of each task; [R] each partition and its task."""
    kind: list[int] = []
    row: list[Ints] = []
    task: list[Ints] = []
    sizes = np.diff(group.offset)
    for number, subtopology in enumerate(config.subtopologies):
        for topic in subtopology.topics:
            of_topic = np.arange(int(sizes[topic]))
            row.append(group.offset[topic] + of_topic)
            task.append(len(kind) + of_topic)
        kind.extend([number] * max(int(sizes[topic]) for topic in subtopology.topics))
    none = np.zeros(0, dtype=np.int64)
    return (
        np.array(kind, dtype=np.int64),
        np.concatenate([none, *row]),
        np.concatenate([none, *task]),
    )


def _open_to(group: Group, config: StreamsConfig) -> Bools:
    """[K, M] which members subscribe to all topics of a subtopology."""
    subscribes = group.subscribes[group.class_of]
    table = [subscribes[:, list(s.topics)].all(axis=1) for s in config.subtopologies]
    return np.array(table, dtype=np.bool_).reshape(len(table), len(group.members))


def _owned(group: Group, row: Ints, task: Ints, tasks: int) -> Ints:
    """[T, M] how many partitions of each task a member owns."""
    found = np.zeros((tasks, len(group.members)), dtype=np.int64)
    owner = group.owner[row]
    np.add.at(found, (task[owner >= 0], owner[owner >= 0]), 1)
    return found


def _had(group: Group, row: Ints, task: Ints, tasks: int) -> Bools:
    """[T, M] which member lists a standby of which task."""
    found = np.zeros((tasks, len(group.members)), dtype=np.bool_)
    task_of = np.full(group.partitions, NO_MEMBER, dtype=np.int64)
    task_of[row] = task
    for at, member in enumerate(group.members):
        for topic, number in member.standbys:
            place = group.position(topic)
            if place is not None and 0 <= number < group.topics[topic]:
                held = int(task_of[group.offset[place] + number])
                if held != NO_MEMBER:
                    found[held, at] = True
    return found


def _tags(group: Group, process: Ints) -> Ints:
    """[G, N] values of the tags by process, as numbers; -1 where a process does not have the tag.
    Where no process has tags, the rack is the only tag."""
    first = {int(at): member for at, member in zip(process[::-1], group.members[::-1], strict=True)}
    threads = [first[at] for at in sorted(first)]
    values = _tag_values(threads)
    table = np.full((len(values), len(threads)), NO_MEMBER, dtype=np.int64)
    for row, texts in enumerate(values):
        number = {text: at for at, text in enumerate(sorted({t for t in texts if t is not None}))}
        table[row] = [NO_MEMBER if text is None else number[text] for text in texts]
    return table


def _tag_values(threads: Sequence[Member]) -> list[list[str | None]]:
    """By tag, ascending: its value on each process, given the first thread of each."""
    keys = sorted({key for member in threads for key in member.tags})
    if keys:
        return [[member.tags.get(key) for member in threads] for key in keys]
    racks = [member.rack or None for member in threads]
    return [racks] if any(racks) else []
