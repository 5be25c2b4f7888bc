"""What is to be carried out: a plan directory, as the executor needs it.

A job goes one of two ways, *forth* to the plan's placement or *back* to the one before. Where a
partition stands on that way follows from the cluster alone, never from what an earlier run thought.

Beside the plan there may be ``replan-1.json`` and so on: other goals for some partitions, out of
what a run had to plan anew (``replanning.py``). They are laid over the plan in this order.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from enum import Enum
from functools import cached_property
from pathlib import Path
from typing import Any, Self

from partage.brokers.check.replan_files import replan_problem, replans
from partage.brokers.directory import MARKER, fingerprint
from partage.errors import MISSHAPEN, InputError
from partage.files import parse_json, read_text
from partage.live.admin.states import Key, OfPartition, PartitionState


class Standing(Enum):
    """Where a partition is on its way."""

    WAITING = "waiting"
    MOVING = "moving"
    DONE = "done"
    GONE = "gone"
    """The topic, or the partition, is not there any more."""
    ELSEWHERE = "elsewhere"
    """Neither where it was nor where it shall be, or on a way of others."""


@dataclass(frozen=True)
class Change(OfPartition):
    """One partition: from where to where (broker ids, preferred leader first). ``size_bytes`` of a
    replica and measured ``bytes_per_second`` are None where they are not known."""

    origin: tuple[int, ...]
    goal: tuple[int, ...]
    size_bytes: int | None = None
    bytes_per_second: float | None = None

    @property
    def adding(self) -> tuple[int, ...]:
        """Brokers that have to fetch it."""
        return tuple(broker for broker in self.goal if broker not in self.origin)

    def standing(self, now: PartitionState | None) -> Standing:
        """Where it is, by what the cluster says of it.

        The order of its replicas may be another than it was: Kafka, when it cancels a move, takes
        out the new ones and leaves the rest as the move had ordered them.
        """
        if now is None:
            return Standing.GONE
        if now.adding or now.removing:
            return Standing.MOVING if now.replicas == self.goal else Standing.ELSEWHERE
        if now.replicas == self.goal:
            return Standing.DONE
        near = sorted(now.replicas) in (sorted(self.origin), sorted(self.goal))
        return Standing.WAITING if near else Standing.ELSEWHERE

    def back(self) -> Change:
        """The way back."""
        return replace(self, origin=self.goal, goal=self.origin)


@dataclass(frozen=True)
class Job:
    """Changes by (topic, number), in ``waves``; ``lists``: how every partition of the plan's
    cluster lay, those that do not change included. ``excluded``: brokers that are to be empty;
    ``dead``: those that did not answer when it was planned, or planned anew; ``concurrency`` and
    ``batch`` as ``partage plan`` was asked."""

    directory: str
    cluster_id: str | None
    changes: Mapping[Key, Change]
    waves: tuple[tuple[Key, ...], ...]
    lists: Mapping[Key, tuple[int, ...]]
    forth: bool = True
    excluded: tuple[int, ...] = ()
    dead: tuple[int, ...] = ()
    concurrency: int = 2
    batch: int | None = None

    @classmethod
    def read(cls, directory: str | os.PathLike[str]) -> Self:
        """A directory that ``partage plan -o`` wrote. Raises InputError for anything else."""
        where = os.fspath(directory)
        if Path(directory).is_file():
            raise InputError(where, "is a file, expected a plan directory")
        marker = Path(directory) / MARKER
        value = _json(marker)
        try:
            part = value["partitions"]
            names = [value["topics"][t] for t in part["topic"]]
            keys = list(zip(names, part["partition"], strict=True))
            rates = part["bytes_per_second"] or [None] * len(keys)
            columns = (part["before"], part["after"], part["size_bytes"], rates)
            changes = {
                key: Change(*key, tuple(before), tuple(after), size, rate)
                for key, before, after, size, rate in zip(keys, *columns, strict=True)
                if before != after
            }
            lists = {key: tuple(before) for key, before in zip(keys, part["before"], strict=True)}
            waves = tuple(
                tuple(_wave(Path(directory) / wave["file"], changes)) for wave in value["waves"]
            )
            intact = value["fingerprint"] == fingerprint(value)
            options = value["options"]
            excluded = tuple(b["id"] for b in value["brokers"] if b["excluded"])
            dead = tuple(b["id"] for b in value["brokers"] if not b["alive"])
            cluster_id = value.get("cluster_id")
            concurrency, batch = options.get("concurrency", 2), options.get("batch")
        except MISSHAPEN as error:
            problem = f"is no plan that can be carried out ({type(error).__name__}: {error})"
            raise InputError(str(marker), problem) from None
        if not intact:
            raise InputError(str(marker), "was changed since it was planned: its fingerprint tells")
        if sorted(key for wave in waves for key in wave) != sorted(changes):
            raise InputError(where, "the waves are not the plan: partage check says more")
        job = cls(
            directory=where,
            cluster_id=cluster_id,
            changes=changes,
            waves=waves,
            lists=lists,
            excluded=excluded,
            dead=dead,
            concurrency=concurrency,
            batch=batch,
        )
        for path in replans(directory):
            job = job._with(path)
        return job

    def _with(self, path: Path) -> Self:
        """The job with the goals that a file gives some partitions. InputError where no run wrote
        it so."""
        value = _json(path)
        problem = replan_problem(value, self.changes)
        if problem is not None:
            raise InputError(str(path), f"is not what a run wrote ({problem})")
        changes = dict(self.changes)
        waves: dict[int, list[Key]] = {}
        named = {(entry["topic"], entry["partition"]): entry for entry in value["partitions"]}
        dead = tuple(sorted({*self.dead, *value["without"]}))
        for key, entry in named.items():
            changes[key] = replace(changes[key], goal=tuple(entry["replicas"]))
            if changes[key].goal == changes[key].origin:
                del changes[key]
            else:
                waves.setdefault(entry["wave"], []).append(key)
        kept = (tuple(key for key in wave if key not in named) for wave in self.waves)
        new = (tuple(waves[number]) for number in sorted(waves))
        return replace(self, changes=changes, waves=(*filter(None, kept), *new), dead=dead)

    def again(self) -> Self:
        """As its directory says now, with the rates that are known."""
        fresh = self.read(self.directory)
        rates = {key: change.bytes_per_second for key, change in self.changes.items()}
        changes = {
            key: replace(change, bytes_per_second=rates.get(key, change.bytes_per_second))
            for key, change in fresh.changes.items()
        }
        return replace(fresh, changes=changes)

    def back(self) -> Job:
        """The job of undoing it: the last wave first."""
        return replace(
            self,
            changes={key: change.back() for key, change in self.changes.items()},
            waves=tuple(reversed(self.waves)),
            forth=not self.forth,
        )

    def standings(self, now: Iterable[PartitionState]) -> dict[Key, Standing]:
        """Where every change is."""
        states = {one.key: one for one in now}
        return {key: change.standing(states.get(key)) for key, change in self.changes.items()}

    @cached_property
    def involved(self) -> frozenset[int]:
        """Brokers that have, or shall have, what changes."""
        changes = self.changes.values()
        return frozenset(b for change in changes for b in (*change.origin, *change.goal))

    @property
    def topics(self) -> list[str]:
        """Those with a change, ascending."""
        return sorted({topic for topic, _ in self.changes})


def _json(path: Path) -> Any:
    return parse_json(read_text(path), os.fspath(path))


def _wave(path: Path, changes: Mapping[Key, Change]) -> list[Key]:
    keys = []
    for entry in _json(path)["partitions"]:
        key = entry["topic"], entry["partition"]
        if changes[key].goal != tuple(entry["replicas"]):
            raise InputError(os.fspath(path), f"{key[0]}-{key[1]}: other replicas than in {MARKER}")
        keys.append(key)
    return keys
