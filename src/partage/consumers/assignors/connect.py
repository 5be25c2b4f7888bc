"""Connect: tasks of Kafka Connect on workers, rebalanced incrementally (KIP-415).

The group says ``connect``: ``tasks``, as [connector, number] or "connector-number"; ``delay_ms``
(scheduled.rebalance.max.delay.ms, 300,000 unless given); ``now_ms``, the time by the clock of
``left_at_ms``, the latest of these unless given. Members are workers, their claims the tasks that
they run; one whose ``left_at_ms`` has come is gone, and what it claims was lost with it.

- Whoever runs a task goes on with it. What runs twice is stopped on both.
- Lost tasks wait until the delay has run out since the first of their workers left: it may come
  back. Then they go, in turn, to the workers that joined empty, or if there is none count as new.
- New tasks go to those who have least, at once.
- Where nothing waits and some worker runs more than its even share (one more for the first of those
  that have it), the rest is stopped there. It starts elsewhere one round later, once that has
  happened: ``target`` says where. After rounds in a row that stopped something (``revoked_rounds``
  of ``connect`` says how many, 0 unless given) it is put off, by 40 ms, 1.6 s, 64 s, at most the
  delay.

Source: KIP-415 and Kafka's IncrementalCooperativeAssignor.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from partage.consumers.assignment import Assignment, loads_of
from partage.errors import InputError
from partage.group import Group, Member
from partage.group.model import MAX_PARTITIONS, NOBODY

Ints = npt.NDArray[np.int64]

DELAY_MS, MAX_MS = 300_000, 2**62
_KEYS = ("tasks", "delay_ms", "now_ms", "revoked_rounds")
_BACKOFF = 40


def connect(group: Group, mode: str) -> Assignment:
    """The tasks as partitions of topics called like their connectors, on the workers that are
    there. Raises InputError where the group's ``connect`` is no good."""
    tasks, delay, now, rounds = _settings(group)
    there = [m for m in group.members if m.left_at_ms is None or m.left_at_ms > now]
    gone = [m for m in group.members if m.left_at_ms is not None and m.left_at_ms <= now]
    if not there:
        raise InputError(group.where, f"members: no worker is there at {now} ms")
    sizes: dict[str, int] = {}
    for connector, number in tasks:
        sizes[connector] = max(sizes.get(connector, 0), number + 1)
    if sum(sizes.values()) > MAX_PARTITIONS:
        raise InputError(group.where, f"connect.tasks: numbers beyond {MAX_PARTITIONS}")
    listed = replace(
        group,
        topics=sizes,
        members=[replace(member, topics=tuple(sizes)) for member in there],
        racks=None,
        weights=None,
    )
    every = [_row(listed, task) for task in tasks]
    exists = np.zeros(listed.partitions, dtype=np.bool_)
    exists[every] = True
    runs = np.bincount(listed.claims[1], minlength=listed.partitions)
    owner = np.where(exists & (runs == 1), listed.owner, NOBODY)
    lost = _lost(listed, gone, exists & (runs == 0))
    wait = max(0, min(lost.values()) + delay - now) if lost else 0
    new = [row for row in every if not runs[row] and row not in lost]
    empty = [at for at, load in enumerate(loads_of(owner, len(there)).tolist()) if not load]
    if lost and not wait:
        if empty and delay:
            for turn, row in enumerate(lost):
                owner[row] = empty[turn % len(empty)]
        else:
            new = sorted([*new, *lost])
    stopped = [] if wait else _above_even(listed, owner, len(every))
    put_off = min(delay, _BACKOFF**rounds) if stopped and rounds else 0
    if not put_off:
        owner[stopped] = NOBODY
    _to_those_with_least(listed, owner, new)
    target = owner.copy()
    again = [row for row in every if target[row] == NOBODY and not (wait and row in lost)]
    _to_those_with_least(listed, target, again)
    waiting = f"{len(lost)} tasks of workers that left wait {wait} ms for them to come back"
    notes = (waiting,) if wait else ()
    return Assignment(listed, owner, target, delay_ms=wait or put_off, notes=notes)


def _settings(group: Group) -> tuple[list[tuple[str, int]], int, int, int]:
    """Tasks ascending, the delay, now, rounds in a row that revoked."""
    if group.connect is None:
        raise InputError(group.where, 'connect: expected {"tasks": [...], "delay_ms": ...}')
    said = group.connect
    for key in said:
        if key not in _KEYS:
            raise InputError(group.where, f"connect: has no {key!r}: expected {', '.join(_KEYS)}")
    listed = said.get("tasks")
    if not isinstance(listed, (list, tuple)):
        raise InputError(group.where, "connect.tasks: expected a list")
    tasks = [_task(group, at, entry) for at, entry in enumerate(listed)]
    tasks.sort()
    for one, other in pairwise(tasks):
        if one == other:
            raise InputError(group.where, f"connect.tasks: {one[0]}-{one[1]} is listed twice")
    latest = max((m.left_at_ms for m in group.members if m.left_at_ms is not None), default=0)
    delay = _number(group, said, "delay_ms", DELAY_MS, least=0)
    now = _number(group, said, "now_ms", latest, least=-MAX_MS)
    return tasks, delay, now, min(_number(group, said, "revoked_rounds", 0, least=0), 64)


def _task(group: Group, at: int, entry: Any) -> tuple[str, int]:
    if isinstance(entry, str) and entry:
        connector, dash, number = entry.rpartition("-")
        if dash and connector and number.isdecimal() and len(number) < 10:
            return connector, int(number)
        return entry, 0
    if isinstance(entry, (list, tuple)) and len(entry) == 2:
        connector, number = entry
        if isinstance(connector, str) and connector and type(number) is int and number >= 0:
            return connector, number
    raise InputError(
        group.where, f"connect.tasks[{at}]: {entry!r}: expected [connector, number] or a name"
    )


def _number(group: Group, said: Mapping[str, Any], key: str, default: int, least: int) -> int:
    value = said.get(key)
    if value is None:
        return default
    if type(value) is not int or not least <= value <= MAX_MS:
        raise InputError(
            group.where, f"connect.{key}: {value!r}: expected a number from {least} to {MAX_MS}"
        )
    return value


def _row(group: Group, task: tuple[str, int]) -> int:
    at = group.position(task[0])
    assert at is not None
    return int(group.offset[at]) + task[1]


def _lost(group: Group, gone: Iterable[Member], free: npt.NDArray[np.bool_]) -> dict[int, int]:
    """When the last worker that ran it left, by task that nobody runs, ascending."""
    left: dict[int, int] = {}
    for worker in gone:
        assert worker.left_at_ms is not None
        alone = replace(group, members=[replace(worker, topics=group.names)])
        for row in alone.claims[1].tolist():
            if free[row]:
                left[row] = max(left.get(row, worker.left_at_ms), worker.left_at_ms)
    return dict(sorted(left.items()))


def _above_even(group: Group, owner: Ints, tasks: int) -> list[int]:
    """What runs beyond the even share of its worker, its first tasks."""
    each, more = divmod(tasks, len(group.members))
    stopped: list[int] = []
    for at, has in enumerate(loads_of(owner, len(group.members)).tolist()):
        if has <= each:
            continue
        most = each + (more > 0)
        more = max(0, more - 1)
        stopped.extend(np.flatnonzero(owner == at)[: max(0, has - most)].tolist())
    return stopped


def _to_those_with_least(group: Group, owner: Ints, tasks: list[int]) -> None:
    load = loads_of(owner, len(group.members))
    for row in tasks:
        worker = int(load.argmin())
        owner[row] = worker
        load[worker] += 1
