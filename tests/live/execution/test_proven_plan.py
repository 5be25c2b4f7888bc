"""A plan directory that breaks a rule is refused before the first request, whatever was edited."""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Iterator
from contextlib import suppress
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("kafka")

import partage
from partage.brokers.directory import fingerprint
from partage.errors import InputError, PartageError
from partage.live.execution.execution_plan import Direction, ExecutionPlan
from partage.live.execution.proven_plan import read_proven
from partage.testing import FakeCluster
from tests.profiles import seeds

FILES = ("plan.json", "reassignment.json", "rollback.json", "waves/001.json")
ORIGINAL = {("t", n): ((1, 2), (2, 1))[n % 2] for n in range(4)}
RACKS = {1: "a", 2: "b", 3: "a", 4: "b"}


def cluster() -> FakeCluster:
    """Four partitions on brokers 1 and 2, in racks a and b; brokers 3 and 4 are empty."""
    return FakeCluster(ORIGINAL, RACKS)


def apply(directory: Path, on: FakeCluster, run: Any = partage.apply) -> Any:
    return run(directory, admin=on.admin, clock=on.clock, sleep=on.sleep)


def refusal(directory: Path, on: FakeCluster) -> str | None:
    """Why the plan is not applied; None if it is."""
    try:
        apply(directory, on)
    except PartageError as error:
        return str(error)
    return None


def write(directory: Path, name: str, value: Any) -> None:
    """Write a file of the plan; plan.json gets the fingerprint that goes with it."""
    if name == "plan.json":
        value["fingerprint"] = fingerprint(value)
    (directory / name).write_text(json.dumps(value))


def read(directory: Path, name: str) -> Any:
    return json.loads((directory / name).read_text())


def forge(directory: Path, lists: dict[tuple[str, int], list[int]], column: str = "after") -> None:
    """Give partitions other replicas, in every file that has them."""
    plan = read(directory, "plan.json")
    part = plan["partitions"]
    for (_, number), replicas in lists.items():
        part[column][part["partition"].index(number)] = replicas
    write(directory, "plan.json", plan)
    rows = [
        (number, before, after)
        for number, before, after in zip(
            part["partition"], part["before"], part["after"], strict=True
        )
        if before != after
    ]
    targets = {number: after for number, _, after in rows}
    for name in ("reassignment.json", "rollback.json"):
        entries = [
            {"topic": "t", "partition": n, "replicas": before if name[1] == "o" else after}
            for n, before, after in rows
        ]
        write(directory, name, {"version": 1, "partitions": entries})
    for path in (directory / "waves").iterdir():
        wave = json.loads(path.read_text())
        for entry in wave["partitions"]:
            entry["replicas"] = targets.get(entry["partition"], entry["replicas"])
        path.write_text(json.dumps(wave))


@pytest.fixture(params=["replicas", "load"])
def directory(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """A plan with this ``balance``."""
    live = cluster()
    found = partage.snapshot(admin=live.admin, sleep=live.sleep)
    partage.plan(found, balance=request.param).write(tmp_path / "plan")
    return tmp_path / "plan"


def test_a_plan_cut_to_one_replica(directory: Path) -> None:
    key, change = next(iter(ExecutionPlan.read(directory).changes.items()))
    forge(directory, {key: [change.target[0]]})
    live = cluster()
    with pytest.raises(InputError) as refused:
        apply(directory, live)
    assert str(refused.value).startswith(
        f"{directory}: plan.json: t-{key[1]}: has 1 replicas, expected 2"
    )
    assert f"use partage check {directory} to see all, and plan again" in str(refused.value)
    assert live.requests == []
    assert not (directory / "journal.jsonl").exists()


def test_a_rollback_repairs_what_such_a_plan_has_done(directory: Path) -> None:
    key, change = next(iter(ExecutionPlan.read(directory).changes.items()))
    forge(directory, {key: [change.target[0]]})
    changes = ExecutionPlan.read(directory).changes
    live = FakeCluster(ORIGINAL | {k: one.target for k, one in changes.items()}, RACKS)
    warnings = read_proven(directory, Direction.ROLLBACK).warnings
    assert any("has 1 replicas, expected 2" in one for one in warnings)
    assert apply(directory, live, partage.rollback).state == "done"
    assert live.replicas == ORIGINAL


def test_a_rollback_lowers_no_replication_factor_that_the_plan_did_not_raise(
    directory: Path,
) -> None:
    key, change = next(iter(ExecutionPlan.read(directory).changes.items()))
    forge(directory, {key: [change.origin[0]]}, "before")
    plan = read(directory, "plan.json")
    row = plan["partitions"]["partition"].index(key[1])
    plan["partitions"]["replication_factor"][row] = 1
    write(directory, "plan.json", plan)
    with pytest.raises(InputError, match="has 2 replicas, expected 1"):
        read_proven(directory, Direction.ROLLBACK)


def test_a_plan_that_is_not_optimal_is_applied(directory: Path) -> None:
    """Its proof is gone, its rules hold."""
    plan = read(directory, "plan.json")
    plan["certificate"]["stages"] = []
    plan["figures"]["after"]["optimal"] = False
    write(directory, "plan.json", plan)
    live = cluster()
    assert apply(directory, live).state == "done"
    assert apply(directory, live, partage.rollback).state == "done"
    assert live.replicas == ORIGINAL


@pytest.mark.parametrize("strategy", ["generate", "greedy", "rack-greedy", "leader-flow"])
def test_plans_of_other_strategies(tmp_path: Path, strategy: str) -> None:
    live = cluster()
    made = partage.plan(partage.snapshot(admin=live.admin, sleep=live.sleep), strategy=strategy)
    made.write(tmp_path / "plan")
    assert apply(tmp_path / "plan", live).state == "done"


@pytest.mark.parametrize(
    ("replicas", "problem"),
    [([3], "has 1 replicas, expected 2"), ([3, 2], "has a replica on broker 3")],
)
def test_a_forged_replan(directory: Path, replicas: list[int], problem: str) -> None:
    number = next(iter(ExecutionPlan.read(directory).changes))[1]
    entries = [{"topic": "t", "partition": number, "replicas": replicas, "wave": 1}]
    value = {"version": 1, "without": [3] if len(replicas) > 1 else [], "partitions": entries}
    write(directory, "replan-1.json", value)
    for direction in Direction:
        with pytest.raises(InputError, match=problem):
            read_proven(directory, direction)


def test_a_replan_keeps_the_racks(directory: Path) -> None:
    """Those that were left: brokers 3 and 4 are all that is left of their racks in turn."""
    number = next(iter(ExecutionPlan.read(directory).changes))[1]

    def replan(replicas: list[int], *without: int) -> None:
        entries = [{"topic": "t", "partition": number, "replicas": replicas, "wave": 1}]
        value = {"version": 1, "without": without, "partitions": entries}
        write(directory, "replan-1.json", value)

    for replicas in ([1, 3], [4, 2]):
        replan(replicas)
        with pytest.raises(InputError, match=r"replan-1\.json: t-[0-9]: .* breaks the rack rule"):
            read_proven(directory)
        assert "rack rule" in str(read_proven(directory, Direction.ROLLBACK).warnings)
    for replicas, without in (([3, 4], []), ([1, 3], [2, 4]), ([4, 2], [1, 3]), ([1, 9], [])):
        replan(replicas, *without)
        assert read_proven(directory).changes["t", number].target == tuple(replicas)


def test_what_is_proven_is_what_is_run(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file is exchanged while it is read, and proven is the sound one."""
    found = ExecutionPlan.read(directory)
    forge(directory, {key: list(one.target[:1]) for key, one in found.changes.items()})
    forged = ExecutionPlan.read(directory)
    monkeypatch.setattr(ExecutionPlan, "read", lambda _: forged)
    forge(directory, {key: list(one.target) for key, one in found.changes.items()})
    with pytest.raises(InputError, match=r"plan\.json has changed meanwhile"):
        read_proven(directory)


def leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The path of every value in a JSON value, lists and objects included."""
    yield path
    if isinstance(value, (dict, list)):
        for key in value if isinstance(value, dict) else range(len(value)):
            yield from leaves(value[key], (*path, key))


def mutated(value: Any, path: tuple[Any, ...], rng: random.Random) -> Any:
    """The value with another one at ``path``."""
    if not path:
        return rng.choice([None, [], {}, 0])
    value = deepcopy(value)
    inner = value
    for key in path[:-1]:
        inner = inner[key]
    old = inner[path[-1]]
    choices: list[Any] = [None, -1, "x", [], {}]
    if isinstance(old, bool):
        choices = [not old]
    elif isinstance(old, int):
        choices += [old + 1, old - 1, 0, 1, 2, 3, 4]
    elif isinstance(old, list):
        choices += [old[:-1], old[1:], old[::-1], old * 2]
    inner[path[-1]] = rng.choice([one for one in choices if one != old])
    return value


def test_any_edit_is_refused_or_changes_nothing(directory: Path, tmp_path: Path) -> None:
    """Any value of any file: the run does what the plan did before, or nothing."""
    live = cluster()
    shutil.copytree(directory, tmp_path / "sound")
    assert apply(tmp_path / "sound", live).state == "done"
    expected, refused = live.replicas, 0
    assert expected != ORIGINAL
    places = [(name, path) for name in FILES for path in leaves(read(directory, name))]
    rng = random.Random(0)
    for place in seeds(600):
        name, path = rng.choice(places)
        edited, live = tmp_path / f"edited-{place}", cluster()
        shutil.copytree(directory, edited)
        value = mutated(read(directory, name), path, rng)
        (edited / name).write_text(json.dumps(value))
        if isinstance(value, dict) and name == "plan.json" and path[0] != "fingerprint":
            with suppress(KeyError, TypeError, AttributeError):  # no longer a plan
                write(edited, name, value)
        reason = refusal(edited, live)
        if reason is None:
            assert live.replicas == expected, (name, path)
        else:
            assert "\n" not in reason
            assert (live.requests, live.replicas) == ([], ORIGINAL), (name, path, reason)
            refused += 1
        shutil.rmtree(edited)
    assert refused > 0


def test_any_consistent_forgery_is_refused_or_keeps_the_rules(
    directory: Path, tmp_path: Path
) -> None:
    """Random replicas in all files at once: whatever is applied has two replicas in two racks."""
    rng = random.Random(1)
    keys = sorted(ExecutionPlan.read(directory).changes)
    outcomes = set()
    for place in seeds(340, fewest=34):
        forged, live = tmp_path / f"forged-{place}", cluster()
        shutil.copytree(directory, forged)
        chosen = rng.sample(keys, rng.randint(1, len(keys)))
        forge(forged, {key: rng.sample(range(1, 5), rng.choice([1, 2, 2, 2, 3])) for key in chosen})
        if refusal(forged, live) is not None:
            assert live.requests == []
        for replicas in live.replicas.values():
            assert {RACKS[broker] for broker in replicas} == {"a", "b"}
            assert len(replicas) == 2
        outcomes.add(live.replicas != ORIGINAL)
        shutil.rmtree(forged)
    assert outcomes == {False, True}
