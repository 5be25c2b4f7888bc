"""Are the files beside plan.json the plan, and does the rollback restore what was?"""

from __future__ import annotations

from pathlib import Path

from partage.brokers.check.plan_file import MalformedError, PlanFile, read_json, whole_numbers
from partage.brokers.directory import MARKER, REASSIGNMENT, ROLLBACK, wave_name


def assignment(root: Path, label: str) -> dict[str, list[int]]:
    """``topic-partition`` -> brokers of a file in Kafka's reassignment form. Raises
    MalformedError."""
    if not (root / label).is_file():
        raise MalformedError(f"{label}: missing")
    value = read_json(root, label)
    lists: dict[str, list[int]] = {}
    try:
        if value["version"] != 1:
            raise MalformedError(f"{label}: version is not 1")
        if type(value["partitions"]) is not list:
            raise TypeError("partitions is no list")
        for row in value["partitions"]:
            topic, number, replicas = row["topic"], row["partition"], row["replicas"]
            if type(topic) is not str or not whole_numbers([number]) or not whole_numbers(replicas):
                raise TypeError(f"{topic!r}, {number!r}, {replicas!r}")
            name = f"{topic}-{number}"
            if name in lists:
                raise MalformedError(f"{label}: {name} is listed twice")
            lists[name] = replicas
    except (KeyError, TypeError) as error:
        raise MalformedError(f"{label}: not in Kafka's reassignment form ({error})") from None
    return lists


def _changed(plan: PlanFile) -> dict[str, list[int]]:
    return {
        name: new
        for name, old, new in zip(plan.names, plan.before, plan.after, strict=True)
        if old != new
    }


def _differs(label: str, wanted: dict[str, list[int]], found: dict[str, list[int]]) -> list[str]:
    defects = []
    for name in sorted(wanted.keys() | found.keys()):
        if wanted.get(name) != found.get(name):
            have = found.get(name, "missing")
            defects.append(f"{label}: {name} is {have}, expected {wanted.get(name, 'nothing')}")
    return defects[:20]


def check_files(plan: PlanFile) -> list[str]:
    changed = _changed(plan)
    was = dict(zip(plan.names, plan.before, strict=True))
    found = _differs(REASSIGNMENT, changed, assignment(plan.root, REASSIGNMENT))
    back = assignment(plan.root, ROLLBACK)
    found += _differs(ROLLBACK, {name: was[name] for name in changed}, back)
    restored = dict(zip(plan.names, plan.after, strict=True)) | back
    if not found and restored != was:
        found.append(f"{ROLLBACK}: does not restore the placement before")
    if plan.value["changes"] is not bool(changed):
        found.append(f"{MARKER}: changes is {plan.value['changes']}")
    return found


def check_waves(plan: PlanFile) -> list[str]:
    found: list[str] = []
    seen: dict[str, list[int]] = {}
    before = dict(zip(plan.names, plan.before, strict=True))
    size = dict(zip(plan.names, plan.size.tolist(), strict=True))
    listed = map(wave_name, range(1, len(plan.value["waves"]) + 1))
    folder = plan.root / "waves"
    there = sorted(f"waves/{f.name}" for f in folder.iterdir()) if folder.is_dir() else []
    found += [f"{extra}: is no wave of the plan" for extra in sorted(set(there) - set(listed))]
    for number, wave in enumerate(plan.value["waves"], start=1):
        label = wave_name(number)
        if wave["file"] != label:
            raise MalformedError(f"{MARKER}: waves: {wave['file']!r}, expected {label!r}")
        lists = assignment(plan.root, label)
        twice = sorted(lists.keys() & seen.keys())
        found += [f"{label}: {name} is in an earlier wave too" for name in twice]
        seen |= lists
        new = {n: len(set(r) - set(before.get(n, []))) for n, r in lists.items()}
        total = sum(size.get(n, 0) * k for n, k in new.items()) if plan.sized else None
        if (len(lists), sum(new.values()), total) != (
            wave["partitions"],
            wave["moves"],
            wave["bytes"],
        ):
            found.append(f"{MARKER}: waves: the figures of {label} are not what it holds")
    return found + _differs("waves", _changed(plan), seen)
