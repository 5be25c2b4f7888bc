"""Do the files beside plan.json make its changes, and does the rollback undo them?

A file is compared as text first: where each part between two braces is the entry of a partition
that changes, as partage writes it, there is nothing to parse. Other files are parsed.
"""

from __future__ import annotations

import json
from codecs import BOM_UTF8
from collections.abc import Iterator
from typing import Any

import msgspec
import numpy as np
from msgspec import Struct

from partage.arrays import Ints
from partage.brokers.check.plan_columns import (
    MAX_DEFECTS,
    Lists,
    PlanColumns,
    json_of,
    read_json,
    text_of,
)
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
from partage.files import GZIP_MAGIC

_REASSIGNMENT: Schema = {
    "version": ONE,
    "partitions": [{"topic": TEXT, "partition": COUNT, "replicas": IDS, "log_dirs?": [TEXT]}],
}


_HEAD, _BETWEEN, _TAIL = '{"version":1,"partitions":[{', "},{", "}]}\n"


class Listed(Struct):
    """The partitions in a file of the JSON format of kafka-reassign-partitions.

    - ``rows``: of the partitions that plan.json has, none twice
    - ``others``: by row, lists that are not those of plan.json
    - ``unknown``: by name, lists of partitions that plan.json does not have
    - ``log_dirs``: by name, the log dirs of partitions that have some in the file
    """

    rows: Ints
    others: dict[int, list[int]]
    unknown: dict[str, list[int]]
    log_dirs: dict[str, list[str]]


def read_listed(plan: PlanColumns, file_name: str) -> Listed:
    """What a file of the plan lists, read once for all checks: the lists before the plan in
    rollback.json, those after it in the others. Raises MalformedError."""
    if file_name not in plan.listed:
        if not (plan.root / file_name).is_file():
            raise MalformedError(f"{file_name}: missing")
        text = text_of(plan.root, file_name)
        with (plan.root / file_name).open("rb") as file:
            start = file.read(len(BOM_UTF8))
        if start == BOM_UTF8 or start.startswith(GZIP_MAGIC):
            problem = "is compressed or has a byte order mark"
            raise MalformedError(f"{file_name}: {problem}: Kafka's tool does not read it")
        side = "before" if file_name == ROLLBACK else "after"
        rows = _rows_by_text(text, _row_of_text(plan, side))
        plan.listed[file_name] = (
            _parsed(plan, text, file_name, getattr(plan, side))
            if rows is None
            else Listed(rows, {}, {}, {})
        )
    found: Listed = plan.listed[file_name]
    return found


def _row_of_text(plan: PlanColumns, side: str) -> dict[str, int]:
    """The row of each partition that changes, by the text of its entry without the braces."""
    if side not in plan.row_of_text:
        rows, lists = np.flatnonzero(plan.changes).tolist(), getattr(plan, side)
        replicas = msgspec.json.encode([lists[row] for row in rows]).decode()[2:-2].split("],[")
        topics = [json.dumps(name, ensure_ascii=False) for name in plan.topics]
        topic, number = plan.topic[rows].tolist(), plan.number[rows].tolist()
        plan.row_of_text[side] = {
            f'"topic":{topics[t]},"partition":{n},"replicas":[{brokers}]': row
            for row, t, n, brokers in zip(rows, topic, number, replicas, strict=False)
        }
    return plan.row_of_text[side]


def _rows_by_text(text: str, row_of_text: dict[str, int]) -> Ints | None:
    """The rows of the partitions that a file with this text lists; None where it has other text,
    or a partition twice."""
    if not (text.startswith(_HEAD) and text.endswith(_TAIL)):
        return None
    rows = [*map(row_of_text.get, text[len(_HEAD) : -len(_TAIL)].split(_BETWEEN))]
    if None in rows or len(set(rows)) < len(rows):
        return None
    return np.array(rows, dtype=np.int64)


def _parsed(plan: PlanColumns, text: str, file_name: str, lists: Lists) -> Listed:
    value = json_of(text, file_name)
    problem = mismatch(value, _REASSIGNMENT)
    if problem is not None:
        raise MalformedError(f"{file_name}: not in Kafka's reassignment format ({problem})")
    entries: dict[str, dict[str, Any]] = {}
    for entry in value["partitions"]:
        name = f"{entry['topic']}-{entry['partition']}"
        if name in entries:
            raise MalformedError(f"{file_name}: {name} is listed twice")
        entries[name] = entry
    given = {name: entry["replicas"] for name, entry in entries.items()}
    row_of = {plan.row_of[name]: name for name in given if name in plan.row_of}
    return Listed(
        rows=np.array(list(row_of), dtype=np.int64),
        others={row: given[name] for row, name in row_of.items() if given[name] != lists[row]},
        unknown={name: brokers for name, brokers in given.items() if name not in plan.row_of},
        log_dirs={name: one["log_dirs"] for name, one in entries.items() if "log_dirs" in one},
    )


def check_files(plan: PlanColumns) -> list[str]:
    """Defects of reassignment.json, rollback.json, replan-*.json and of ``changes``."""
    found = _differences(plan, REASSIGNMENT, plan.after, read_listed(plan, REASSIGNMENT))
    found += _differences(plan, ROLLBACK, plan.before, read_listed(plan, ROLLBACK))
    expected = bool(plan.changes.any())
    if plan.value["changes"] is not expected:
        found.append(f"{MARKER}: changes is {plan.value['changes']}, expected {expected}")
    return found + _check_replans(plan)


def _differences(plan: PlanColumns, label: str, lists: Lists, listed: Listed) -> list[str]:
    """Partitions that change and are not listed with these lists, and others that are listed."""
    wrong = plan.changes.copy()
    wrong[listed.rows] = ~plan.changes[listed.rows]
    wrong[list(listed.others)] = True
    rows, there = np.flatnonzero(wrong).tolist(), set(listed.rows.tolist())
    found = {plan.names[row]: listed.others.get(row, lists[row]) for row in rows if row in there}
    found |= listed.unknown
    expected = {plan.names[row]: lists[row] for row in rows if plan.changes[row]}
    return [
        f"{label}: {name} is {found.get(name, 'missing')}, expected {expected.get(name, 'nothing')}"
        for name in sorted(found.keys() | expected.keys())[:MAX_DEFECTS]
    ]


def _check_replans(plan: PlanColumns) -> list[str]:
    files = replans(plan.root)
    if not files:
        return []
    rows = np.flatnonzero(plan.changes).tolist()
    keys = [(plan.topics[plan.topic[row]], int(plan.number[row])) for row in rows]
    before = {key: plan.before[row] for key, row in zip(keys, rows, strict=True)}
    changing = {key: plan.after[row] for key, row in zip(keys, rows, strict=True)}
    excluded = [b["id"] for b in plan.value["brokers"] if b["excluded"]]
    for path in files:
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
    seen = np.zeros(len(plan.topic), dtype=np.bool_)
    others: dict[int, list[int]] = {}
    unknown: dict[str, list[int]] = {}
    for name, wave in zip(names, plan.value["waves"], strict=True):
        if wave["file"] != name:
            raise MalformedError(f"{MARKER}: waves: file is {wave['file']!r}, expected {name!r}")
        listed = read_listed(plan, name)
        again = {plan.names[row] for row in listed.rows[seen[listed.rows]].tolist()}
        again |= listed.unknown.keys() & unknown.keys()
        found += [f"{name}: {partition} is also in an earlier wave" for partition in sorted(again)]
        seen[listed.rows] = True
        others, unknown = others | listed.others, unknown | listed.unknown
        found += _wrong_totals(plan, name, wave, listed)
    every = Listed(np.flatnonzero(seen), others, unknown, {})
    return found + _differences(plan, "waves", plan.after, every)


def _wave_files(plan: PlanColumns) -> set[str]:
    folder = plan.root / "waves"
    return {f"waves/{file.name}" for file in folder.iterdir()} if folder.is_dir() else set()


def _wrong_totals(
    plan: PlanColumns, name: str, wave: dict[str, object], listed: Listed
) -> Iterator[str]:
    new = plan.new_replicas[listed.rows]
    for place, row in enumerate(listed.rows.tolist() if listed.others else ()):
        if row in listed.others:
            new[place] = len(set(listed.others[row]) - set(plan.before[row]))
    total = int((new * plan.copied[listed.rows]).sum())
    counted = {
        "partitions": len(listed.rows) + len(listed.unknown),
        "moves": int(new.sum()) + sum(map(len, listed.unknown.values())),
        "bytes": total if plan.sized else None,
        "replicas_deleted": int(plan.deleted[listed.rows].sum()) if plan.deleted.any() else None,
    }
    for key, value in counted.items():
        if not identical(wave.get(key), value):
            yield f"{MARKER}: waves: {key} of {name} is {wave.get(key)}, expected {value}"
