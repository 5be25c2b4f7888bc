"""A plan directory as the executor needs it: which partitions change, in which waves, and in which
direction.

How far a partition is follows from the cluster alone, never from what an earlier run recorded.

Beside the plan there may be files ``replan-1.json`` and so on: new targets for some partitions,
which a run computed after a broker died (``replanning.py``). They override the plan, in this order.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cached_property
from pathlib import Path
from typing import Any, Self

from partage.brokers import plan_file
from partage.brokers.check.replan_files import replan_problem, replans
from partage.brokers.directory import MARKER
from partage.brokers.option_values import LeaderRacks, broker_id
from partage.errors import MISSHAPEN, InputError
from partage.files import parse_json, read_text
from partage.live.admin.states import Key, PartitionState
from partage.live.execution.changes import Change, MoveStatus


class Direction(StrEnum):
    """Whether a run moves partitions to the plan's placement, or back to the original one."""

    FORWARD = "forward"
    ROLLBACK = "rollback"


@dataclass(frozen=True)
class ExecutionPlan:
    """``changes`` by partition, in ``waves``.

    ``original_replicas``: of every partition of the plan's cluster, unchanged ones included;
    ``excluded``: brokers that should end up empty; ``dead``: brokers that did not answer when the
    plan, or a replan, was made; ``concurrency`` and ``batch`` as ``partage plan`` was given them;
    ``changed_topics``: those with a change in plan.json, whatever was replanned;
    ``topic_ids`` where known: another topic of the same name is not the plan's; ``racks`` of the
    brokers that may get replicas; ``leader_racks`` and ``demoted`` as the options;
    ``warnings``: rules that it breaks, where that does not forbid the run (``proven_plan.py``);
    ``digest``: SHA-256 (hex) of plan.json.
    """

    directory: str
    cluster_id: str | None
    changes: Mapping[Key, Change]
    waves: tuple[tuple[Key, ...], ...]
    original_replicas: Mapping[Key, tuple[int, ...]]
    direction: Direction = Direction.FORWARD
    excluded: tuple[int, ...] = ()
    dead: tuple[int, ...] = ()
    concurrency: int = 2
    batch: int | None = None
    changed_topics: frozenset[str] = frozenset()
    topic_ids: Mapping[str, str] = field(default_factory=dict)
    racks: Mapping[int, str | None] = field(default_factory=dict)
    leader_racks: tuple[LeaderRacks, ...] = ()
    demoted: tuple[int, ...] = ()
    warnings: tuple[str, ...] = ()
    digest: str | None = None

    @classmethod
    def read(cls, directory: str | os.PathLike[str]) -> Self:
        """Read a directory that ``partage plan -o`` wrote. Raises InputError for anything else."""
        where = os.fspath(directory)
        file, digest = plan_file.read_to_run(directory)
        keys, columns = file.keys, file.partitions
        copies = columns.copies
        rates: Sequence[float | None] = columns.bytes_per_second or [None] * len(keys)
        changes = {
            key: Change(
                *key,
                tuple(before),
                tuple(after),
                size,
                rate,
                origin_dirs=_log_dirs(file, row, before, columns.log_dirs_before),
                target_dirs=_log_dirs(file, row, after, columns.log_dirs_after),
                copy_bytes=copies[row],
            )
            for row, (key, before, after, size, rate) in enumerate(
                zip(keys, columns.before, columns.after, columns.size_bytes, rates, strict=True)
            )
        }
        changes = {key: one for key, one in changes.items() if one.reassigns or one.placing}
        waves = tuple(
            tuple(_read_wave(Path(directory) / wave.file, changes)) for wave in file.waves
        )
        if sorted(key for wave in waves for key in wave) != sorted(changes):
            raise InputError(
                where, "waves/ and plan.json differ: run partage check for the details"
            )
        concurrency, batch = file.options.get("concurrency"), file.options.get("batch")
        led, demoted = (file.options.get(name) for name in ("leader_racks", "demote_broker"))
        plan = cls(
            directory=where,
            digest=digest,
            cluster_id=file.cluster_id,
            changes=changes,
            waves=waves,
            original_replicas=dict(zip(keys, map(tuple, columns.before), strict=True)),
            excluded=tuple(b.id for b in file.brokers if b.excluded or b.outside),
            dead=tuple(broker.id for broker in file.brokers if not broker.alive),
            concurrency=concurrency if isinstance(concurrency, int) else 2,
            batch=batch if isinstance(batch, int) else None,
            changed_topics=frozenset(topic for topic, _ in changes),
            racks={broker.id: broker.rack for broker in file.brokers if broker.usable},
            leader_racks=tuple(map(LeaderRacks.of, led)) if isinstance(led, list) else (),
            demoted=tuple(map(broker_id, demoted)) if isinstance(demoted, list) else (),
        ).with_topic_ids(file.id_of_topic)
        for path in replans(directory):
            plan = plan.with_replan(path)
        return plan

    def with_replan(self, path: Path) -> Self:
        """The plan with the targets of a replan file. Raises InputError for a file that no run can
        have written."""
        value = _json(path)
        wanted = {key: change.target for key, change in self.changes.items()}
        problem = replan_problem(value, wanted, self.excluded)
        if problem is not None:
            raise InputError(str(path), f"was not written by a run ({problem})")
        changes = dict(self.changes)
        waves: dict[int, list[Key]] = {}
        entries = {(entry["topic"], entry["partition"]): entry for entry in value["partitions"]}
        dead = tuple(sorted({*self.dead, *value["without"]}))
        for key, entry in entries.items():
            # in log dirs that the brokers choose
            changes[key] = replace(changes[key], target=tuple(entry["replicas"]), target_dirs=())
            if changes[key].target == changes[key].origin:
                del changes[key]
            else:
                waves.setdefault(entry["wave"], []).append(key)
        kept = (tuple(key for key in wave if key not in entries) for wave in self.waves)
        new = (tuple(waves[number]) for number in sorted(waves))
        return replace(self, changes=changes, waves=(*filter(None, kept), *new), dead=dead)

    def with_topic_ids(self, topic_ids: Mapping[str, str]) -> Self:
        """The plan for the topics with these ids; ids that it has already stay."""
        known = {**topic_ids, **self.topic_ids}
        changes = {
            key: replace(change, topic_id=known.get(change.topic))
            for key, change in self.changes.items()
        }
        return replace(self, topic_ids=known, changes=changes)

    def with_current_sizes(self, states: Iterable[PartitionState]) -> Self:
        """The plan with the sizes that its partitions have now, where they are known."""
        changes = dict(self.changes)
        for state in states:
            change, size = changes.get(state.key), state.size_bytes
            if change is None or size is None or state.is_other_topic(change.topic_id):
                continue
            changes[state.key] = replace(change, size_bytes=size)
        return replace(self, changes=changes)

    def reversed(self) -> ExecutionPlan:
        """The plan that undoes this one, last wave first."""
        forward = self.direction is Direction.FORWARD
        return replace(
            self,
            changes={key: change.reversed() for key, change in self.changes.items()},
            waves=tuple(reversed(self.waves)),
            direction=Direction.ROLLBACK if forward else Direction.FORWARD,
        )

    def statuses(self, states: Iterable[PartitionState]) -> dict[Key, MoveStatus]:
        """How far every change is; one whose replicas are known to be in other log dirs waits."""
        by_key = {state.key: state for state in states}
        found = {key: change.status(by_key.get(key)) for key, change in self.changes.items()}
        for key, change in self.changes.items():
            if found[key] is MoveStatus.DONE:
                known = by_key[key].log_dirs
                if any(known.get(b, path) != path for b, path in change.placing.items()):
                    found[key] = MoveStatus.WAITING
        return found

    @cached_property
    def brokers(self) -> frozenset[int]:
        """Brokers that a change moves a partition from or to, or keeps it on."""
        changes = self.changes.values()
        return frozenset(b for change in changes for b in (*change.origin, *change.target))

    @property
    def topics(self) -> list[str]:
        """Topics with a change, ascending."""
        return sorted({topic for topic, _ in self.changes})


def _log_dirs(
    file: plan_file.PlanFile, row: int, replicas: Sequence[int], column: list[list[int]] | None
) -> tuple[tuple[int, str], ...]:
    """The paths of a partition's log dirs by broker, where the plan has them."""
    if column is None:
        return ()
    paths = file.log_dir_paths
    pairs = zip(replicas, column[row], strict=True)
    return tuple((broker, paths[broker][one]) for broker, one in pairs if one >= 0)


def _json(path: Path) -> Any:
    return parse_json(read_text(path, regular=True), os.fspath(path))


def _read_wave(path: Path, changes: Mapping[Key, Change]) -> list[Key]:
    """The partitions of a wave file. Raises InputError where it differs from the plan's changes."""
    try:
        entries = [
            ((entry["topic"], entry["partition"]), tuple(entry["replicas"]))
            for entry in _json(path)["partitions"]
        ]
        for (topic, number), replicas in entries:
            if changes[topic, number].target != replicas:
                problem = f"{topic}-{number}: its replicas differ from {MARKER}"
                raise InputError(os.fspath(path), problem)
    except MISSHAPEN as error:
        problem = f"not a wave of {MARKER} ({type(error).__name__}: {error})"
        raise InputError(os.fspath(path), problem) from None
    return [key for key, _ in entries]
