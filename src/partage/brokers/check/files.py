"""Do the files beside plan.json make its changes, and does the rollback undo them?"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from partage.brokers.check.plan_columns import MAX_DEFECTS, PlanColumns, read_json
from partage.brokers.check.replan_files import replan_problem, replans
from partage.brokers.check.schema import (
    COUNT,
    IDS,
    ONE,
    TEXT,
    MalformedError,
    Schema,
    identical,
    mismatch,
)
from partage.brokers.directory import MARKER, REASSIGNMENT, ROLLBACK, wave_name

_REASSIGNMENT: Schema = {
    "version": ONE,
    "partitions": [{"topic": TEXT, "partition": COUNT, "replicas": IDS, "log_dirs?": [TEXT]}],
}


def read_reassignment(plan: PlanColumns, file_name: str) -> dict[str, list[int]]:
    """Broker ids by partition name, from a file of the plan in the JSON format of
    kafka-reassign-partitions. Raises MalformedError."""
    return {name: entry["replicas"] for name, entry in read_entries(plan, file_name).items()}


def read_entries(plan: PlanColumns, file_name: str) -> dict[str, dict[str, Any]]:
    """The entries of such a file by partition name, read once for all checks. Raises
    MalformedError."""
    if file_name not in plan.entries:
        plan.entries[file_name] = _entries(plan.root, file_name)
    return plan.entries[file_name]


def _entries(root: Path, name: str) -> dict[str, dict[str, Any]]:
    if not (root / name).is_file():
        raise MalformedError(f"{name}: missing")
    value = read_json(root, name)
    problem = mismatch(value, _REASSIGNMENT)
    if problem is not None:
        raise MalformedError(f"{name}: not in Kafka's reassignment format ({problem})")
    entries: dict[str, dict[str, Any]] = {}
    for row in value["partitions"]:
        partition = f"{row['topic']}-{row['partition']}"
        if partition in entries:
            raise MalformedError(f"{name}: {partition} is listed twice")
        entries[partition] = row
    return entries


def check_files(plan: PlanColumns) -> list[str]:
    """Defects of reassignment.json, rollback.json, replan-*.json and of ``changes``."""
    changes = plan.changes()
    before = dict(zip(plan.names, plan.before, strict=True))
    after = dict(zip(plan.names, plan.after, strict=True))
    found = _differences(REASSIGNMENT, changes, read_reassignment(plan, REASSIGNMENT))
    rollback = read_reassignment(plan, ROLLBACK)
    found += _differences(ROLLBACK, {name: before[name] for name in changes}, rollback)
    if not found and after | rollback != before:
        found.append(f"{ROLLBACK}: does not restore the original placement")
    if plan.value["changes"] is not bool(changes):
        found.append(f"{MARKER}: changes is {plan.value['changes']}, expected {bool(changes)}")
    return found + _check_replans(plan)


def _differences(
    label: str, expected: dict[str, list[int]], found: dict[str, list[int]]
) -> list[str]:
    every = expected.keys() | found.keys()
    differing = sorted(name for name in every if expected.get(name) != found.get(name))
    return [
        f"{label}: {name} is {found.get(name, 'missing')}, expected {expected.get(name, 'nothing')}"
        for name in differing[:MAX_DEFECTS]
    ]


def _check_replans(plan: PlanColumns) -> list[str]:
    keys = [(plan.topics[t], n) for t, n in zip(plan.topic.tolist(), plan.number, strict=True)]
    changed = plan.changes()
    rows = zip(keys, plan.names, plan.before, strict=True)
    before = {key: old for key, name, old in rows if name in changed}
    changing = {key: plan.after[plan.row_of[f"{key[0]}-{key[1]}"]] for key in before}
    excluded = [b["id"] for b in plan.value["brokers"] if b["excluded"]]
    for path in replans(plan.root):
        value = read_json(plan.root, path.name)
        problem = replan_problem(value, changing, excluded)
        if problem is not None:
            return [f"{path.name}: cannot have been written by a run ({problem})"]
        for entry in value["partitions"]:
            key = entry["topic"], entry["partition"]
            if before[key] == entry["replicas"]:
                del changing[key]  # its original list: no later run changes it
    return []


def check_waves(plan: PlanColumns) -> list[str]:
    """Defects of the wave files, and of their partitions, moves and bytes in plan.json."""
    names = [wave_name(number) for number in range(1, len(plan.value["waves"]) + 1)]
    found = [f"{extra}: not a wave of the plan" for extra in sorted(_wave_files(plan) - set(names))]
    seen: dict[str, list[int]] = {}
    for name, wave in zip(names, plan.value["waves"], strict=True):
        if wave["file"] != name:
            raise MalformedError(f"{MARKER}: waves: file is {wave['file']!r}, expected {name!r}")
        lists = read_reassignment(plan, name)
        repeated = sorted(lists.keys() & seen.keys())
        found += [f"{name}: {partition} is also in an earlier wave" for partition in repeated]
        seen |= lists
        found += _wrong_totals(plan, name, wave, lists)
    return found + _differences("waves", plan.changes(), seen)


def _wave_files(plan: PlanColumns) -> set[str]:
    folder = plan.root / "waves"
    return {f"waves/{file.name}" for file in folder.iterdir()} if folder.is_dir() else set()


def _wrong_totals(
    plan: PlanColumns, name: str, wave: dict[str, object], lists: dict[str, list[int]]
) -> Iterator[str]:
    moves = total = 0
    for partition, brokers in lists.items():
        row = plan.row_of.get(partition)
        new = len(set(brokers) - set([] if row is None else plan.before[row]))
        moves += new
        total += 0 if row is None else new * int(plan.copied[row])
    counted = {"partitions": len(lists), "moves": moves, "bytes": total if plan.sized else None}
    for key, value in counted.items():
        if not identical(wave[key], value):
            yield f"{MARKER}: waves: {key} of {name} is {wave[key]}, expected {value}"
