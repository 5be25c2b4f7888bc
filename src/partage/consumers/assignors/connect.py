"""Connect: tasks of Kafka Connect on workers, rebalanced incrementally (KIP-415).

The group's ``connect`` object has

- ``tasks``: a list of [connector, number] or "connector-number"
- ``delay_ms``: scheduled.rebalance.max.delay.ms, default 300,000
- ``now_ms``: the present, by the same clock as the members' ``left_at_ms``; default is the latest
  of these
- ``revoked_rounds``: how many rounds in a row revoked something, default 0

Members are workers, and their claims are the tasks that they run. A worker with a ``left_at_ms`` of
``now_ms`` or earlier has left, and its tasks are lost. One round decides in this order:

1. A worker keeps the tasks that it runs. A task that runs on two workers is stopped on both.
2. Lost tasks wait until the delay since the departure of the first of their workers is over,
   because a worker may return. Then they go in turn to the workers without tasks; without such a
   worker, or with a delay of 0, they count as new tasks.
3. New tasks go at once to the workers with the fewest tasks.
4. Where no task waits, workers above the even share stop their excess tasks. These start elsewhere
   one round later, when they have stopped: ``target`` shows where. After earlier rounds that
   revoked something this is put off by 40 ms, 1.6 s or 64 s, at most by the delay.

Source: KIP-415 and Kafka's IncrementalCooperativeAssignor.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Annotated, TypeAlias

import numpy as np
from msgspec import Meta, Struct

from partage.arrays import Bools, Ints
from partage.consumers.assignment import Assignment, loads_of
from partage.errors import InputError
from partage.group import Group, Member
from partage.group.model import MAX_PARTITIONS, NO_MEMBER
from partage.json_input import Name, check_json

DELAY_MS, MAX_MS = 300_000, 2**62
_BACKOFF_MS = 40
_MAX_ROUNDS = 64


@dataclass(frozen=True)
class _Settings:
    """The group's ``connect``: (connector, number) of the tasks, ascending, and the times."""

    tasks: list[tuple[str, int]]
    delay_ms: int
    now_ms: int
    revoked_rounds: int


def connect(group: Group) -> Assignment:
    """The workers that have not left, with the tasks as partitions of topics named after their
    connectors. Raises InputError for an invalid ``connect`` object."""
    settings = _settings(group)
    workers = _worker_group(group, settings)
    every = [_row(workers, task) for task in settings.tasks]
    exists = np.zeros(workers.partitions, dtype=np.bool_)
    exists[every] = True
    runs = np.bincount(workers.claims[1], minlength=workers.partitions)
    owner = np.where(exists & (runs == 1), workers.owner, NO_MEMBER)
    lost = _lost(workers, _departed(group, settings.now_ms), exists & (runs == 0))
    wait = _remaining_delay_ms(settings, lost)
    new = [row for row in every if not runs[row] and row not in lost]
    expired = {} if wait else lost
    new = _place_lost(owner, expired, new, len(workers.members), settings.delay_ms)
    excess = [] if wait else _excess(workers, owner, len(every))
    put_off = _backoff_ms(settings) if excess else 0
    if not put_off:
        owner[excess] = NO_MEMBER
    _assign_to_least_loaded(workers, owner, new)
    target = owner.copy()
    waiting = set(lost) if wait else set[int]()
    stopped = [row for row in every if target[row] == NO_MEMBER and row not in waiting]
    _assign_to_least_loaded(workers, target, stopped)
    note = f"{len(waiting)} tasks of departed workers wait {wait} ms for these to return"
    notes = (note,) if waiting else ()
    return Assignment(workers, owner, target, delay_ms=wait or put_off, notes=notes)


def _remaining_delay_ms(settings: _Settings, lost: Mapping[int, int]) -> int:
    """For how long the lost tasks still wait; ``lost``: when their workers left."""
    if not lost:
        return 0
    return max(0, min(lost.values()) + settings.delay_ms - settings.now_ms)


def _departed(group: Group, now_ms: int) -> list[Member]:
    return [m for m in group.members if m.left_at_ms is not None and m.left_at_ms <= now_ms]


def _worker_group(group: Group, settings: _Settings) -> Group:
    """The group of the workers that have not left, with connectors as topics."""
    now = settings.now_ms
    present = [m for m in group.members if m.left_at_ms is None or m.left_at_ms > now]
    if not present:
        raise InputError(group.where, f"members: all workers have left by {now} ms")
    sizes: dict[str, int] = {}
    for connector, number in settings.tasks:
        sizes[connector] = max(sizes.get(connector, 0), number + 1)
    if sum(sizes.values()) > MAX_PARTITIONS:
        raise InputError(group.where, f"connect.tasks: numbers beyond {MAX_PARTITIONS}")
    return replace(
        group,
        topics=sizes,
        members=[replace(member, topics=tuple(sizes)) for member in present],
        racks=None,
        weights=None,
    )


def _place_lost(
    owner: Ints, lost: Iterable[int], new: list[int], workers: int, delay_ms: int
) -> list[int]:
    """Give the lost tasks whose delay is over to the workers without tasks, in turn; else count
    them as new tasks. Returns the new tasks."""
    empty = np.flatnonzero(loads_of(owner, workers) == 0).tolist()
    if not (empty and delay_ms):
        return sorted([*new, *lost])
    for turn, row in enumerate(lost):
        owner[row] = empty[turn % len(empty)]
    return new


def _backoff_ms(settings: _Settings) -> int:
    """For how long revoking is put off after earlier rounds that revoked something."""
    rounds = settings.revoked_rounds
    return min(settings.delay_ms, _BACKOFF_MS**rounds) if rounds else 0


def _lost(group: Group, departed: Iterable[Member], free: Bools) -> dict[int, int]:
    """When the last worker that ran it left, by lost task, ascending. ``free`` [P]: existing tasks
    that no present worker runs."""
    left: dict[int, int] = {}
    for worker in departed:
        assert worker.left_at_ms is not None
        alone = replace(group, members=[replace(worker, topics=group.names)])
        for row in alone.claims[1].tolist():
            if free[row]:
                left[row] = max(left.get(row, worker.left_at_ms), worker.left_at_ms)
    return dict(sorted(left.items()))


def _excess(group: Group, owner: Ints, tasks: int) -> list[int]:
    """The first tasks of each worker that runs more than its even share, as many as the excess."""
    each, more = divmod(tasks, len(group.members))
    excess: list[int] = []
    for at, load in enumerate(loads_of(owner, len(group.members)).tolist()):
        if load <= each:
            continue
        share = each + (more > 0)
        more = max(0, more - 1)
        excess.extend(np.flatnonzero(owner == at)[: max(0, load - share)].tolist())
    return excess


def _assign_to_least_loaded(group: Group, owner: Ints, tasks: Iterable[int]) -> None:
    load = loads_of(owner, len(group.members))
    for row in tasks:
        worker = int(load.argmin())
        owner[row] = worker
        load[worker] += 1


def _row(group: Group, task: tuple[str, int]) -> int:
    at = group.position(task[0])
    assert at is not None
    return int(group.offset[at]) + task[1]


# -- reading the group's ``connect``


def configured_tasks(group: Group) -> list[tuple[str, int]]:
    """(connector, number) of the tasks in a group's ``connect``, ascending. Raises InputError."""
    return _settings(group).tasks


_Milliseconds: TypeAlias = Annotated[
    int, Meta(ge=0, le=MAX_MS, description="a whole number from 0")
]
_Task: TypeAlias = Annotated[
    tuple[Name, Annotated[int, Meta(ge=0)]], Meta(description="[connector, number]")
]


class _Connect(Struct, forbid_unknown_fields=True):
    tasks: Annotated[list[Name | _Task], Meta(description="a list of tasks")]
    delay_ms: _Milliseconds | None = None
    now_ms: Annotated[int, Meta(ge=-MAX_MS, le=MAX_MS, description="a whole number")] | None = None
    revoked_rounds: _Milliseconds | None = None


class _GroupPart(Struct):
    connect: _Connect


def _settings(group: Group) -> _Settings:
    given = check_json({"connect": group.connect}, _GroupPart, group.where).connect
    tasks = sorted(map(_task, given.tasks))
    for one, other in pairwise(tasks):
        if one == other:
            raise InputError(group.where, f"connect.tasks: {one[0]}-{one[1]} is listed twice")
    latest = max((m.left_at_ms for m in group.members if m.left_at_ms is not None), default=0)
    return _Settings(
        tasks,
        delay_ms=DELAY_MS if given.delay_ms is None else given.delay_ms,
        now_ms=latest if given.now_ms is None else given.now_ms,
        revoked_rounds=min(given.revoked_rounds or 0, _MAX_ROUNDS),
    )


def _task(entry: str | tuple[str, int]) -> tuple[str, int]:
    """(connector, number) of a task; a name without a number is task 0."""
    if not isinstance(entry, str):
        return entry
    connector, dash, number = entry.rpartition("-")
    if dash and connector and number.isdecimal() and len(number) < 10:
        return connector, int(number)
    return entry, 0
