"""The tasks of a group's Streams application as columns, with who runs and holds what.

A task is one number of a subtopology: that partition of all of its topics. Which member runs it is
told by the members' claims: who owns most of its partitions, the first of equals. Where a member
has standbys it says under ``standbys``. A member is a thread of the process that it names (itself,
where it names none); what a process says of itself (rack, tags) its first thread says.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from partage.consumers.streams.config import UNKNOWN_LAG, StreamsConfig
from partage.consumers.streams.tasks import Tasks
from partage.group import Group
from partage.group.model import NOBODY

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Topology:
    """T tasks of R partitions in all, M members in N processes.

    - ``row``, ``task`` [R]: the partitions of each task
    - ``tasks``; ``had`` [T, M]: which member held a standby of which
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
            owner=np.where(owned.any(axis=1), owned.argmax(axis=1), NOBODY).astype(np.int64),
            holds=holds,
            process=process,
            tag=_tags(group, process),
        )
        stateful = np.array(config.stateful, dtype=np.bool_)[kind]
        return cls(group, config, row, task, tasks, had, stateful, tuple(processes.tolist()))

    def lag(self) -> Ints:
        """[T, N] how far behind the state of a task is on a process: as told; where it runs and
        nothing is told, not at all; elsewhere ``UNKNOWN_LAG``."""
        table = np.full((len(self.stateful), len(self.processes)), UNKNOWN_LAG, dtype=np.int64)
        runs = np.flatnonzero(self.tasks.owner != NOBODY)
        table[runs, self.tasks.process[self.tasks.owner[runs]]] = 0
        first = np.searchsorted(self.tasks.kind, np.arange(len(self.config.subtopologies)))
        for name, of_process in (self.config.lags or {}).items():
            process = self.processes.index(name)
            for (kind, number), records in of_process.items():
                table[first[kind] + number, process] = records
        return table

    def rows(self, tasks: Ints) -> tuple[Ints, Ints]:
        """(which of the tasks given, partition) of all their partitions."""
        order = np.argsort(self.task, kind="stable")
        start = np.searchsorted(self.task[order], np.arange(len(self.stateful) + 1))
        count = np.diff(start)[tasks]
        of = np.repeat(np.arange(len(tasks)), count)
        within = np.arange(len(of)) - np.repeat(np.cumsum(count) - count, count)
        return of, self.row[order[start[tasks][of] + within]]

    # -- racks

    def without_rack(self) -> str | None:
        """Why racks cannot be told apart, in a sentence's beginning; None where they can: every
        process in one rack, every partition's replicas in known ones (as Kafka demands)."""
        rack, of = self.group.member_rack, self.tasks.process
        for at, name in enumerate(self.processes):
            racks = np.unique(rack[of == at])
            if len(racks) > 1 or racks[0] == NOBODY:
                return f"process {name!r} has {'several racks' if len(racks) > 1 else 'no rack'}"
        unknown = ~self.group.in_rack[self.row].any(axis=1)
        if unknown.any():
            topic, number = self.group.named(int(self.row[unknown.argmax()]))
            return f"racks says nothing of {topic}-{number}"
        return None

    def far(self) -> Ints:
        """[T, N] partitions of a task of which no replica lies in the process's rack."""
        racks = self.group.member_rack[np.unique(self.tasks.process, return_index=True)[1]]
        found = np.zeros((len(self.stateful), len(racks)), dtype=np.int64)
        np.add.at(found, self.task, ~self.group.in_rack[self.row][:, racks])
        return found


def _layout(group: Group, config: StreamsConfig) -> tuple[Ints, Ints, Ints]:
    """Subtopology of each task; partition and task of each partition."""
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
    """[T, M] which member says that it holds a standby of which task."""
    found = np.zeros((tasks, len(group.members)), dtype=np.bool_)
    task_of = np.full(group.partitions, NOBODY, dtype=np.int64)
    task_of[row] = task
    for at, member in enumerate(group.members):
        for topic, number in member.standbys:
            place = group.position(topic)
            if place is not None and 0 <= number < group.topics[topic]:
                held = int(task_of[group.offset[place] + number])
                if held != NOBODY:
                    found[held, at] = True
    return found


def _tags(group: Group, process: Ints) -> Ints:
    """[G, N] values of the tags by process, as numbers; -1 where it has none."""
    first = {int(at): member for at, member in zip(process[::-1], group.members[::-1], strict=True)}
    keys = sorted({key for member in first.values() for key in member.tags})
    values = [[first[at].tags.get(key) for at in sorted(first)] for key in keys]
    racks = [first[at].rack or None for at in sorted(first)]
    if not keys and any(racks):
        values = [racks]
    table = np.full((len(values), len(first)), NOBODY, dtype=np.int64)
    for row, texts in enumerate(values):
        number = {text: at for at, text in enumerate(sorted({t for t in texts if t is not None}))}
        table[row] = [NOBODY if text is None else number[text] for text in texts]
    return table
