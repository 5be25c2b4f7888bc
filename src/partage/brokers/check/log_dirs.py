"""Are new replicas in log dirs that take them, within their disks, and as full as stated?"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from partage.brokers.check.files import read_entries, read_reassignment
from partage.brokers.check.plan_columns import MAX_DEFECTS, Lists, PlanColumns
from partage.brokers.check.schema import MalformedError, identical
from partage.brokers.directory import MARKER, REASSIGNMENT, ROLLBACK, wave_name

ANY = "any"

LogDir = tuple[int, int]
"""A broker's id, and the position of one of its log dirs."""


def check_log_dirs(plan: PlanColumns) -> list[str]:
    """Defects of the log dirs in plan.json, and of those that its files name."""
    before, after = _columns(plan)
    if before is None or after is None:
        found = [*_named_without_columns(plan)]
    else:
        found = [*_misplaced(plan, before, after), *_other_names(plan, before, after)]
        found = found or [*_overfull(plan, before, after)]
    stated = plan.value["figures"]["after"].get("log_dirs")
    expected = None if before is None or after is None else _fullness(plan, before, after)
    if not identical(stated, expected):
        found.append(f"{MARKER}: figures.after.log_dirs is {stated}, expected {expected}")
    return found[:MAX_DEFECTS]


def _columns(plan: PlanColumns) -> tuple[Lists | None, Lists | None]:
    """The log dirs before and after. Raises MalformedError."""
    part, brokers = plan.value["partitions"], plan.value["brokers"]
    for broker in brokers:
        paths = [one["path"] for one in broker.get("log_dirs", ())]
        if paths != sorted(set(paths)):
            raise MalformedError(f"{MARKER}: broker {broker['id']}: paths of log dirs must ascend")
    before, after = part.get("log_dirs_before"), part.get("log_dirs_after")
    several = any(len(broker.get("log_dirs", ())) > 1 for broker in brokers)
    if (before is None) is not (after is None) or (before is not None and not several):
        raise MalformedError(f"{MARKER}: partitions: log_dirs of both, where a broker has several")
    for lists, columns in ((plan.before, before), (plan.after, after)):
        for row, log_dirs in enumerate(columns or ()):
            held = [len(_log_dirs(plan, b)) for b in lists[row]]
            if len(held) != len(log_dirs) or any(
                not -1 <= one < count for one, count in zip(log_dirs, held, strict=True)
            ):
                raise MalformedError(
                    f"{MARKER}: {plan.names[row]}: {log_dirs} are not its brokers' log dirs"
                )
    return before, after


def _log_dirs(plan: PlanColumns, broker: int) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = plan.value["brokers"][plan.place[broker]].get("log_dirs", [])
    return found


def _named_without_columns(plan: PlanColumns) -> Iterator[str]:
    for name in (REASSIGNMENT, ROLLBACK, *_wave_names(plan)):
        for partition, entry in read_entries(plan, name).items():
            if "log_dirs" in entry:
                yield f"{name}: {partition} names log dirs, {MARKER} has none"


def _wave_names(plan: PlanColumns) -> list[str]:
    return [wave_name(number) for number in range(1, len(plan.value["waves"]) + 1)]


def _held(lists: Lists, columns: Lists, row: int) -> dict[int, int]:
    """Log dir by broker."""
    return dict(zip(lists[row], columns[row], strict=True))


def _misplaced(plan: PlanColumns, before: Lists, after: Lists) -> Iterator[str]:
    """Replicas that stay and change their log dir, or go to one that takes none."""
    for row, name in enumerate(plan.names):
        old = _held(plan.before, before, row)
        for broker, log_dir in _held(plan.after, after, row).items():
            place = f"{MARKER}: {name} on broker {broker}"
            if broker in old:
                if old[broker] != log_dir:
                    yield f"{place}: its log dir changes, although the replica stays"
            elif log_dir >= 0:
                chosen = _log_dirs(plan, broker)[log_dir]
                if chosen["cordoned"] or chosen["offline"] is not None:
                    yield f"{place}: log dir {chosen['path']} is cordoned or offline"


def _other_names(plan: PlanColumns, before: Lists, after: Lists) -> Iterator[str]:
    """Files that name other log dirs than those of new replicas, and for the rollback those of
    dropped ones."""
    forward, back = {}, {}
    for row, name in enumerate(plan.names):
        old, new = _held(plan.before, before, row), _held(plan.after, after, row)
        forward[name] = _paths(plan, new, old)
        back[name] = _paths(plan, old, new)
    for file in (REASSIGNMENT, *_wave_names(plan), ROLLBACK):
        expected = back if file == ROLLBACK else forward
        for partition, entry in read_entries(plan, file).items():
            named = entry.get("log_dirs")
            if partition in expected and named != expected[partition]:
                where = f"{file}: log_dirs of {partition}"
                yield f"{where} is {named}, expected {expected[partition]}"


def _paths(plan: PlanColumns, own: dict[int, int], other: dict[int, int]) -> list[str] | None:
    """The paths of replicas that are not there in the other placement; None where there is none."""
    paths = [
        ANY
        if log_dir < 0 or other.get(broker) == log_dir
        else _log_dirs(plan, broker)[log_dir]["path"]
        for broker, log_dir in own.items()
    ]
    return None if set(paths) == {ANY} else paths


def _bytes(plan: PlanColumns, lists: Lists, columns: Lists) -> defaultdict[LogDir, int]:
    found: defaultdict[LogDir, int] = defaultdict(int)
    for row, size in enumerate(plan.size.tolist()):
        for held in _held(lists, columns, row).items():
            found[held] += size
    return found


def _overfull(plan: PlanColumns, before: Lists, after: Lists) -> Iterator[str]:
    """Log dirs that new replicas overfill in a wave, while old copies are still there."""
    used, over = _bytes(plan, plan.before, before), set[LogDir]()
    for name in _wave_names(plan):
        coming: defaultdict[LogDir, int] = defaultdict(int)
        going: defaultdict[LogDir, int] = defaultdict(int)
        for partition in read_reassignment(plan, name):
            if (row := plan.row_of.get(partition)) is None:
                continue
            old, new = _held(plan.before, before, row), _held(plan.after, after, row)
            for broker in new.keys() - old.keys():
                coming[broker, new[broker]] += int(plan.size[row])
            for broker in old.keys() - new.keys():
                going[broker, old[broker]] += int(plan.size[row])
        for at, size in sorted(coming.items()):
            used[at] += size
            broker, log_dir = at
            chosen = _log_dirs(plan, broker)[log_dir] if log_dir >= 0 else {"disk_bytes": None}
            disk = chosen["disk_bytes"]
            if disk is not None and size and used[at] > disk and at not in over:
                over.add(at)
                yield (
                    f"{name}: broker {broker}: {used[at]} bytes in log dir {chosen['path']} with a "
                    f"disk of {disk}"
                )
        for at, size in going.items():
            used[at] -= size


def _fullness(plan: PlanColumns, before: Lists, after: Lists) -> dict[str, float] | None:
    """The share of the fullest log dir where new replicas had a choice, and a lower bound."""
    new: defaultdict[int, list[int]] = defaultdict(list)
    kept: defaultdict[LogDir, int] = defaultdict(int)
    for row, size in enumerate(plan.size.tolist()):
        old = _held(plan.before, before, row)
        for broker, log_dir in _held(plan.after, after, row).items():
            if broker in old:
                kept[broker, log_dir] += size
            elif log_dir >= 0 and len(_log_dirs(plan, broker)) > 1:
                new[broker].append(size)
    used, fullest, bound = _bytes(plan, plan.after, after), Fraction(0), Fraction(0)
    chose = False
    for broker, sizes in new.items():
        open_dirs = {
            (broker, i): one["disk_bytes"]
            for i, one in enumerate(_log_dirs(plan, broker))
            if not one["cordoned"] and one["offline"] is None
        }
        if not open_dirs or not all(open_dirs.values()):
            continue
        chose = True
        fullest = max(fullest, *(Fraction(used[at], disk) for at, disk in open_dirs.items()))
        together = Fraction(sum(used[at] for at in open_dirs), sum(open_dirs.values()))
        alone = min(Fraction(kept[at] + max(sizes), disk) for at, disk in open_dirs.items())
        fixed = (Fraction(kept[at], disk) for at, disk in open_dirs.items())
        bound = max(bound, together, alone, *fixed)
    return {"fullest": float(fullest), "bound": float(bound)} if chose else None
