"""Are replicas in log dirs that take them, within their disks, and as full as stated?"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from partage.brokers.check.broker_disks import disks_of, is_open
from partage.brokers.check.files import read_listed
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
    expected = None if before is None or after is None else _figures(plan)
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
        for partition in read_listed(plan, name).log_dirs:
            yield f"{name}: {partition} names log dirs, {MARKER} has none"


def _wave_names(plan: PlanColumns) -> list[str]:
    return [wave_name(number) for number in range(1, len(plan.value["waves"]) + 1)]


def _held(lists: Lists, columns: Lists, row: int) -> dict[int, int]:
    """Log dir by broker."""
    return dict(zip(lists[row], columns[row], strict=True))


def _misplaced(plan: PlanColumns, before: Lists, after: Lists) -> Iterator[str]:
    """Replicas that change their log dir although nothing asks for it, that go to one that takes
    none, or that are in one that must be empty."""
    for row, name in enumerate(plan.names):
        old, new = _held(plan.before, before, row), _held(plan.after, after, row)
        moves = plan.asked.moves_log_dirs and plan.chosen[row] and old.keys() == new.keys()
        for broker, log_dir in new.items():
            problem = _problem(plan, broker, old.get(broker), log_dir, bool(moves))
            if problem is not None:
                yield f"{MARKER}: {name} on broker {broker}: {problem}"


def _problem(plan: PlanColumns, broker: int, was: int | None, now: int, moves: bool) -> str | None:
    """What is wrong with a replica's log dir after the plan; ``was``: before, None if it is new;
    ``moves``: its partition keeps its brokers, and log dirs are balanced or emptied."""
    if now == was or (now < 0 and was is None):
        path = _must_be_empty(plan, broker, now)
        return None if path is None else f"is in log dir {path}, which must be empty"
    if now < 0 or was == -1:
        return "its log dir changes, although the replica stays"
    chosen = _log_dirs(plan, broker)[now]
    if _must_be_empty(plan, broker, now) is not None:
        return f"is in log dir {chosen['path']}, which must be empty"
    if not is_open(chosen):
        return f"log dir {chosen['path']} is cordoned or offline"
    if was is not None and not all(d["offline"] is None for d in _log_dirs(plan, broker)):
        return "its log dir changes, although another one of the broker is offline"
    if was is None or _must_be_empty(plan, broker, was) is not None:
        return None
    if moves and is_open(_log_dirs(plan, broker)[was]):
        return None
    return "its log dir changes, although the replica stays"


def _must_be_empty(plan: PlanColumns, broker: int, log_dir: int) -> str | None:
    """The path of a log dir that must be empty."""
    if log_dir < 0:
        return None
    path: str = _log_dirs(plan, broker)[log_dir]["path"]
    return path if (broker, path) in plan.asked.removed_log_dirs else None


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
        listed = read_listed(plan, file)
        for partition in (plan.names[row] for row in listed.rows.tolist()):
            named = listed.log_dirs.get(partition)
            if named != expected[partition]:
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
        for row in read_listed(plan, name).rows.tolist():
            old, new = _held(plan.before, before, row), _held(plan.after, after, row)
            for broker in new.keys() - old.keys():
                coming[broker, new[broker]] += int(plan.size[row])
            for broker in old.keys() - new.keys():
                going[broker, old[broker]] += int(plan.size[row])
            for broker, (was, now) in plan.between_log_dirs.get(row, {}).items():
                coming[broker, now] += int(plan.size[row])
                going[broker, was] += int(plan.size[row])
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


def _figures(plan: PlanColumns) -> dict[str, Any] | None:
    """The share of the fullest log dir where the plan chose some, and a lower bound; what moves
    between log dirs."""
    found: dict[str, Any] = {}
    levels = [
        disks.fullness
        for disks in disks_of(plan).values()
        if any(map(disks.is_free, disks.replicas)) and all(disks.disks)
    ]
    if levels:
        fullest, bound = (max(column) for column in zip(*levels, strict=True))
        found |= {"fullest": float(fullest), "bound": float(bound)}
    if (stage := plan.stages.get("log dirs")) is not None:
        found |= {
            "moves": sum(map(len, plan.between_log_dirs.values())),
            "bytes_moved": stage["value"],
            "bytes_moved_lower_bound": stage["bound"],
        }
    return found or None
