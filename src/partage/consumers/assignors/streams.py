"""Streams: tasks of Kafka Streams, active and standby (StreamsPartitionAssignor's job, exactly).

The group says ``streams``: ``subtopologies``, each with its ``topics`` and whether it is
``stateful`` (false unless given), and how many ``standbys`` every stateful task shall have. A task
is one number of a subtopology: that partition of all of its topics, always on one member. A member
is a thread of the process that it names (itself, where it names none); the ``tags`` of a process
say where it runs (its rack, where no process has any).

Loads are counted in tasks. How actives and standbys are shared out: ``consumers.tasks``. Which task
a member has is told by its claims: who owns most of a task's partitions owns it. Where a member
had standbys it says under ``standbys``, in the form in which they are given here.

Kafka also delays a move until the new place has caught up (warm-up replicas and probing
rebalances, KIP-441); that depends on lags the group does not tell, and is not done here. Of the
costs of KIP-925 there are none either: tags are honoured before even loads.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from partage.consumers.assignment import Assignment
from partage.consumers.tasks import Tasks, deal_standbys, share_actives, share_standbys
from partage.errors import InputError
from partage.group import Group
from partage.group.model import NOBODY

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

_KEYS, _OF_ONE = ("subtopologies", "standbys"), ("topics", "stateful")
_MOST_STANDBYS = 1_000


def streams(group: Group, mode: str) -> Assignment:
    """Partitions of the active tasks, with the standbys. Raises InputError where the group's
    ``streams`` is no good."""
    subtopologies, copies = _settings(group)
    layout = _Layout.of(group, subtopologies)
    tasks, had = _tasks(group, layout, subtopologies)
    active = share_actives(tasks)
    owner = np.full(group.partitions, NOBODY, dtype=np.int64)
    owner[layout.row] = active[layout.task]
    stateful = np.array([s.stateful for s in subtopologies], dtype=np.bool_)[layout.kind]
    holds = share_standbys(tasks, active, stateful, copies)
    dealt = deal_standbys(tasks, active, holds, had)
    rows = [np.flatnonzero(layout.task == task) for _, task in dealt]
    member = np.repeat([at for at, _ in dealt], [len(r) for r in rows]).astype(np.int64)
    partition = layout.row[np.concatenate(rows)] if rows else np.zeros(0, dtype=np.int64)
    order = np.lexsort((partition, member))
    wanted = copies * int((stateful & (active != NOBODY)).sum())
    notes = []
    if len(dealt) < wanted:
        notes.append(f"{wanted - len(dealt)} of {wanted} standbys find no process of their own")
    elsewhere = group.partitions - len(layout.row)
    if elsewhere:
        notes.append(f"{elsewhere} partitions are of topics in no subtopology: left out")
    return Assignment(
        group, owner, owner, standbys=(member[order], partition[order]), notes=tuple(notes)
    )


@dataclass(frozen=True)
class _Subtopology:
    topics: tuple[int, ...]
    stateful: bool


@dataclass(frozen=True, eq=False)
class _Layout:
    """``kind`` [T] subtopology of each task; ``row``, ``task`` [R]: the partitions of each."""

    kind: Ints
    row: Ints
    task: Ints

    @classmethod
    def of(cls, group: Group, subtopologies: list[_Subtopology]) -> _Layout:
        kind: list[int] = []
        row: list[Ints] = []
        task: list[Ints] = []
        sizes = np.diff(group.offset)
        for number, subtopology in enumerate(subtopologies):
            for topic in subtopology.topics:
                of_topic = np.arange(int(sizes[topic]))
                row.append(group.offset[topic] + of_topic)
                task.append(len(kind) + of_topic)
            kind.extend([number] * max(int(sizes[topic]) for topic in subtopology.topics))
        none = np.zeros(0, dtype=np.int64)
        return cls(
            np.array(kind, dtype=np.int64),
            np.concatenate([none, *row]),
            np.concatenate([none, *task]),
        )


def _tasks(group: Group, layout: _Layout, subtopologies: list[_Subtopology]) -> tuple[Tasks, Bools]:
    """The tasks, and which member held a standby of which [T, M]."""
    members, count = len(group.members), len(layout.kind)
    subscribes = group.subscribes[group.class_of]  # [M, T]
    open_to = np.array(
        [subscribes[:, list(s.topics)].all(axis=1) for s in subtopologies], dtype=np.bool_
    ).reshape(len(subtopologies), members)
    # whoever owns most of its partitions, the first of equals
    owned = np.zeros((count, members), dtype=np.int64)
    owns = group.owner[layout.row]
    np.add.at(owned, (layout.task[owns >= 0], owns[owns >= 0]), 1)
    owned[~open_to[layout.kind]] = 0
    owner = np.where(owned.any(axis=1), owned.argmax(axis=1), NOBODY)
    had = np.zeros((count, members), dtype=np.bool_)
    task_of = np.full(group.partitions, NOBODY, dtype=np.int64)
    task_of[layout.row] = layout.task
    for at, member in enumerate(group.members):
        for topic, number in member.standbys:
            place = group.position(topic)
            if place is not None and 0 <= number < group.topics[topic]:
                task = int(task_of[group.offset[place] + number])
                if task != NOBODY:
                    had[task, at] = True
    names = [member.process or member.id for member in group.members]
    processes, process = np.unique(names, return_inverse=True)
    process = process.ravel().astype(np.int64)
    holds = np.zeros((count, len(processes)), dtype=np.bool_)
    of, thread = np.nonzero((owned > 0) | had)
    holds[of, process[thread]] = True
    tasks = Tasks(
        kind=layout.kind,
        open_to=open_to,
        owner=owner.astype(np.int64),
        holds=holds,
        process=process,
        tag=_tags(group, process),
    )
    return tasks, had


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


def _settings(group: Group) -> tuple[list[_Subtopology], int]:
    where, said = group.where, group.streams
    if said is None:
        raise InputError(where, 'streams: expected {"subtopologies": [...], "standbys": ...}')
    for key in said:
        if key not in _KEYS:
            raise InputError(where, f"streams: has no {key!r}: expected {', '.join(_KEYS)}")
    listed, copies = said.get("subtopologies"), said.get("standbys", 0)
    if not isinstance(listed, (list, tuple)):
        raise InputError(where, "streams.subtopologies: expected a list")
    if type(copies) is not int or not 0 <= copies <= _MOST_STANDBYS:
        raise InputError(
            where, f"streams.standbys: {copies!r}: expected a number up to {_MOST_STANDBYS}"
        )
    found: list[_Subtopology] = []
    seen: set[int] = set()
    for at, entry in enumerate(listed):
        place = f"streams.subtopologies[{at}]"
        if not isinstance(entry, dict) or not set(entry) <= set(_OF_ONE):
            raise InputError(where, f'{place}: expected {{"topics": [...], "stateful": ...}}')
        names, stateful = entry.get("topics"), entry.get("stateful", False)
        if not isinstance(names, (list, tuple)) or not names:
            raise InputError(where, f"{place}.topics: expected topics")
        if type(stateful) is not bool:
            raise InputError(where, f"{place}.stateful: expected true or false")
        topics: list[int] = []
        for name in names:
            topic = group.position(name) if isinstance(name, str) else None
            if topic is None:
                raise InputError(where, f"{place}.topics: {name!r} is not listed under topics")
            if topic in seen:
                raise InputError(where, f"{place}.topics: {name!r} is in two places")
            seen.add(topic)
            topics.append(topic)
        found.append(_Subtopology(tuple(topics), stateful))
    return found, copies
