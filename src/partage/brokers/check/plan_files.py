"""Are the files beside plan.json the plan, and does the rollback restore what was?"""

from __future__ import annotations

from pathlib import Path

from partage.brokers.check.plan_file import MalformedError, PlanFile, read_json
from partage.brokers.check.replans import replan_problem, replans
from partage.brokers.check.shape import COUNT, IDS, ONE, TEXT, Shape, misfit, same
from partage.brokers.directory import MARKER, REASSIGNMENT, ROLLBACK, wave_name

_ASSIGNMENT: Shape = {
    "version": ONE,
    "partitions": [{"topic": TEXT, "partition": COUNT, "replicas": IDS}],
}


def assignment(root: Path, label: str) -> dict[str, list[int]]:
    """``topic-partition`` -> brokers of a file in Kafka's reassignment form. Raises
    MalformedError."""
    if not (root / label).is_file():
        raise MalformedError(f"{label}: missing")
    value = read_json(root, label)
    problem = misfit(value, _ASSIGNMENT)
    if problem is not None:
        raise MalformedError(f"{label}: not in Kafka's reassignment form ({problem})")
    lists: dict[str, list[int]] = {}
    for row in value["partitions"]:
        name = f"{row['topic']}-{row['partition']}"
        if name in lists:
            raise MalformedError(f"{label}: {name} is listed twice")
        lists[name] = row["replicas"]
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
    return found + _check_replans(plan)


def _check_replans(plan: PlanFile) -> list[str]:
    keys = [(plan.topics[t], n) for t, n in zip(plan.topic.tolist(), plan.number, strict=True)]
    lists = zip(keys, plan.before, plan.after, strict=True)
    changing = {key: before for key, before, after in lists if before != after}
    for path in replans(plan.root):
        value = read_json(plan.root, path.name)
        problem = replan_problem(value, changing)
        if problem is not None:
            return [f"{path.name}: is not what a run wrote ({problem})"]
        for entry in value["partitions"]:
            key = entry["topic"], entry["partition"]
            if changing[key] == entry["replicas"]:
                del changing[key]  # it stays where it was
    return []


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
        stated = [wave["partitions"], wave["moves"], wave["bytes"]]
        if not same(stated, [len(lists), sum(new.values()), total]):
            found.append(f"{MARKER}: waves: the figures of {label} are not what it holds")
    return found + _differs("waves", _changed(plan), seen)
