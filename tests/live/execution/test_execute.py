"""A plan checked against a cluster and run: what one run leaves to the next."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("kafka")

import partage
from partage.brokers.directory import JOURNAL
from partage.errors import InputError, PartageError
from partage.live.admin.states import RATES
from partage.live.execution.execute import execute
from partage.live.execution.execution_plan import ExecutionPlan
from partage.live.execution.executor import Interrupts
from partage.live.execution.preflight import prepare
from partage.testing import FakeCluster

MISSING = "missing ACL: AlterConfigs on the cluster"
ORIGINAL = {(topic, n): (1, 2) for topic in ("t", "u") for n in range(2)}


@pytest.mark.parametrize("replicas", [(1, 2), (2, 1), (3, 2), (3, 4)])
def test_a_topic_created_again_between_two_runs(tmp_path: Path, replicas: tuple[int, int]) -> None:
    """It is neither moved nor rolled back, whatever replicas it has; its neighbour is."""
    live = FakeCluster(ORIGINAL, range(1, 5))
    times: Any = {"clock": live.clock, "sleep": live.sleep}
    partage.plan(partage.snapshot(admin=live.admin, sleep=live.sleep), spread="topic").write(
        tmp_path
    )
    assert partage.apply(tmp_path, admin=live.admin, **times).state == "done"
    moved = dict(live.replicas)
    assert all(moved[key] != original for key, original in ORIGINAL.items())
    live.delete_topic("t")
    live.create_topic("t", [replicas, replicas])
    recreated = {("t", 0): replicas, ("t", 1): replicas}
    for run in (partage.apply, partage.rollback):
        outcome = run(tmp_path, admin=live.admin, **times)
        assert set(outcome.problems) == {"t-0", "t-1"}
        wanted = moved if run is partage.apply else ORIGINAL
        assert live.replicas == wanted | recreated
    assert live.throttles == {}


def test_partitions_that_others_moved_stop_apply_but_not_rollback(tmp_path: Path) -> None:
    """One of the plan's changes and one that it does not change stay; another order is restored."""
    others = {("v", 0): (1, 2), ("w", 0): (3, 4)}
    live = FakeCluster(ORIGINAL | others, range(1, 7))
    times: Any = {"clock": live.clock, "sleep": live.sleep}
    snapshot = partage.snapshot(admin=live.admin, sleep=live.sleep)
    partage.plan(snapshot, topics="[tu]", spread="topic").write(tmp_path)
    live.reassign(("t", 0), (5, 6))
    live.sleep(1000)
    with pytest.raises(PartageError, match="t-0 is on 5,6, not 4,5; plan again"):
        partage.rollback(tmp_path, admin=live.admin, **times)
    live.reassign(("t", 0), (1, 2))
    live.sleep(1000)
    assert partage.apply(tmp_path, admin=live.admin, **times).state == "done"
    moved = dict(live.replicas)
    taken = {("t", 0): (5, 6), ("w", 0): (6, 5)}
    reordered = {("u", 1): tuple(reversed(moved["u", 1]))}
    for key, replicas in (taken | reordered).items():
        live.reassign(key, replicas)
    live.sleep(1000)
    with pytest.raises(PartageError, match=r"t-0 is on 5,6, not [^;]*w-0 is on 6,5, not 3,4; plan"):
        partage.apply(tmp_path, admin=live.admin, **times)
    assert live.replicas == moved | taken | reordered
    plan = ExecutionPlan.read(tmp_path).reversed()
    ready = prepare(plan, live.admin, throttle=None, submitted=plan.changes)
    (warning,) = [one for one in ready.warnings if "someone else" in one]
    assert warning.startswith("moved by someone else, and not rolled back: t-0 is on 5,6, not ")
    assert "w-0 is on 6,5, not 3,4" in warning
    outcome = partage.rollback(tmp_path, admin=live.admin, **times)
    assert outcome.state == "differs"
    assert outcome.problems == {"t-0": "someone else moved it to [5, 6]"}
    assert not outcome.resumable
    assert live.replicas == ORIGINAL | others | taken
    assert live.throttles == {}


@pytest.mark.parametrize("run", [partage.apply, partage.rollback])
@pytest.mark.parametrize("topic", ["t", "u"])
def test_a_topic_created_again_before_the_first_run(tmp_path: Path, topic: str, run: Any) -> None:
    """With the same replicas, so that only its id differs. The plan has no change for u."""
    live = FakeCluster(ORIGINAL, range(1, 5))
    times: Any = {"clock": live.clock, "sleep": live.sleep}
    partage.plan(partage.snapshot(admin=live.admin), topics="t").write(tmp_path)
    live.delete_topic(topic)
    live.create_topic(topic, [(1, 2), (1, 2)])
    with pytest.raises(PartageError, match=f"{topic}-0 was deleted and created again"):
        run(tmp_path, admin=live.admin, **times)
    assert (live.replicas, live.requests) == (ORIGINAL, [])


@pytest.fixture
def cluster() -> FakeCluster:
    return FakeCluster({("t", n): (1, 2) for n in range(6)}, brokers=[1, 2, 3, 4])


@pytest.fixture
def begun(tmp_path: Path, cluster: FakeCluster) -> Path:
    """A plan whose run was stopped in the middle; a broker had a throttle of its own before."""
    cluster.configs["broker", "1"] = dict.fromkeys(RATES, "777777")
    directory = tmp_path / "plan"
    partage.plan(partage.snapshot(admin=cluster.admin, sleep=cluster.sleep)).write(directory)
    interrupts = Interrupts()
    cluster.at(5, interrupts)
    cluster.at(6, interrupts)
    plan = ExecutionPlan.read(directory)
    execute(
        plan,
        cluster.admin,
        throttle=10**6,
        interrupts=interrupts,
        clock=cluster.clock,
        sleep=cluster.sleep,
    )
    return directory


def rolled_back(directory: Path, cluster: FakeCluster) -> list[str]:
    """Roll back; gives the warnings."""
    warnings: list[str] = []
    outcome = execute(
        ExecutionPlan.read(directory).reversed(),
        cluster.admin,
        confirm=lambda ready: warnings.extend(ready.warnings),
        clock=cluster.clock,
        sleep=cluster.sleep,
    )
    assert outcome.state == "done"
    assert set(cluster.replicas.values()) == {(1, 2)}
    return warnings


@pytest.mark.parametrize("damage", [b'{"at":"x","event":"submitt', b"\x00" * 50, b"[]", b""])
def test_a_damaged_journal_stops_apply_but_not_rollback(
    begun: Path, cluster: FakeCluster, damage: bytes
) -> None:
    path = begun / JOURNAL
    lines = path.read_bytes().splitlines()
    numbers = [at for at, line in enumerate(lines) if b'"submitted"' in line]
    for at in numbers:
        lines[at] = damage
    path.write_bytes(b"\n".join(lines) + b"\n")
    with pytest.raises(InputError, match="partage rollback, which does not need it"):
        partage.apply(begun, admin=cluster.admin, clock=cluster.clock, sleep=cluster.sleep)
    warnings = rolled_back(begun, cluster)
    assert [one for one in warnings if f"line {numbers[0] + 1}: is not a journal entry" in one]
    assert cluster.configs["broker", "1"] == dict.fromkeys(RATES, "777777")


@pytest.mark.parametrize("run", [partage.apply, partage.rollback])
@pytest.mark.parametrize("damage", [b"", b"[]\n"])
def test_a_journal_of_another_plan(
    begun: Path, cluster: FakeCluster, run: Any, damage: bytes
) -> None:
    """It would say which partitions are the plan's own doing; damaged, for rollback too."""
    if damage and run is partage.apply:
        pytest.skip("refuses any damaged journal")
    with (begun / JOURNAL).open("ab") as journal:
        journal.write(damage)
    other = begun.with_name("other")
    now = partage.snapshot(admin=cluster.admin, sleep=cluster.sleep)
    partage.plan(now, concurrency=1).write(other)
    shutil.copytree(other, begun, dirs_exist_ok=True)
    before, journal_before = dict(cluster.replicas), (begun / JOURNAL).read_bytes()
    cluster.requests.clear()
    with pytest.raises(InputError, match=r"a run has begun with another plan\.json"):
        run(begun, admin=cluster.admin, clock=cluster.clock, sleep=cluster.sleep)
    assert (cluster.replicas, cluster.requests) == (before, [])
    assert (begun / JOURNAL).read_bytes() == journal_before


def test_a_journal_of_an_older_version_names_no_plan(begun: Path, cluster: FakeCluster) -> None:
    path = begun / JOURNAL
    entries = [json.loads(line) for line in path.read_text().splitlines()]
    path.write_text("".join(json.dumps(one | {"plan": None}) + "\n" for one in entries))
    assert rolled_back(begun, cluster) == []


def test_rollback_without_a_journal_of_ours(begun: Path, cluster: FakeCluster) -> None:
    (begun / JOURNAL).write_bytes(b"years of work\n")
    rolled_back(begun, cluster)
    assert (begun / JOURNAL).read_bytes().startswith(b"years of work\n")


@pytest.mark.parametrize("moment", range(3, 48, 3))
def test_the_acl_for_throttles_is_taken_away(tmp_path: Path, moment: int) -> None:
    """The run ends with the reason; once the ACL is back, the same command does the rest and
    restores all throttles, those of another tool too."""
    live = FakeCluster(ORIGINAL, range(1, 5))
    live.configs["broker", "3"] = {"follower.replication.throttled.rate": "9000000"}
    before = dict(live.throttles)
    options: Any = {"admin": live.admin, "clock": live.clock, "sleep": live.sleep}
    partage.plan(
        partage.snapshot(admin=live.admin, sleep=live.sleep), spread="topic", concurrency=1
    ).write(tmp_path)
    live.at(moment, lambda: setattr(live, "configs_forbidden", True))
    for _ in range(2):  # a second run is refused as well
        with pytest.raises(PartageError, match=MISSING):
            partage.apply(tmp_path, throttle="1MB", **options)
    live.configs_forbidden = False
    live.sleep(60)
    assert partage.apply(tmp_path, throttle="1MB", **options).state == "done"
    assert live.throttles == before
    assert partage.rollback(tmp_path, throttle="1MB", **options).state == "done"
    assert (live.replicas, live.throttles) == (ORIGINAL, before)


def forged_journal(directory: Path, topic: str) -> None:
    """A journal of this plan, as a run writes it: another throttle of a broker, and of a topic."""
    digest = ExecutionPlan.read(directory).digest
    entries: list[dict[str, Any]] = [
        {"event": "started", "plan": digest},
        {
            "event": "throttles saved",
            "brokers": {"1": dict.fromkeys(RATES, "1")},
            "topics": {topic: {"leader.replication.throttled.replicas": "*"}},
        },
    ]
    stamped = [{"at": "2026-01-01T00:00:00Z", **entry} for entry in entries]
    (directory / JOURNAL).write_text("".join(json.dumps(one) + "\n" for one in stamped))


@pytest.fixture
def forged(tmp_path: Path) -> tuple[Path, FakeCluster]:
    """A plan that changes t, not u."""
    live = FakeCluster(ORIGINAL, range(1, 5))
    made = partage.plan(partage.snapshot(admin=live.admin, sleep=live.sleep), topics="t")
    made.write(tmp_path / "plan")
    return tmp_path / "plan", live


def test_a_journal_restores_no_throttle_of_a_topic_that_does_not_change(
    forged: tuple[Path, FakeCluster],
) -> None:
    directory, live = forged
    forged_journal(directory, "u")
    with pytest.raises(InputError, match="saved throttles of u, which does not change"):
        partage.apply(directory, admin=live.admin, clock=live.clock, sleep=live.sleep)
    assert (live.requests, live.throttles) == ([], {})
    warnings: list[str] = []
    execute(
        ExecutionPlan.read(directory).reversed(),
        live.admin,
        confirm=lambda ready: warnings.extend(ready.warnings),
        clock=live.clock,
        sleep=live.sleep,
    )
    assert any("saved throttles of u" in one for one in warnings)
    assert live.throttles == {}


def test_throttles_of_a_journal_are_named_before_they_are_set(
    forged: tuple[Path, FakeCluster],
) -> None:
    directory, live = forged
    forged_journal(directory, "t")

    def confirm(ready: Any) -> None:
        (found,) = (one for one in ready.warnings if "set again at the end: broker 1" in one)
        assert f"{RATES[0]}=1" in found
        raise PartageError("not confirmed")

    with pytest.raises(PartageError, match="not confirmed"):
        execute(ExecutionPlan.read(directory), live.admin, confirm=confirm, sleep=live.sleep)
    assert live.throttles == {}


def test_a_refused_plan_sets_no_throttle_where_none_was_left(
    forged: tuple[Path, FakeCluster],
) -> None:
    directory, live = forged
    forged_journal(directory, "t")
    live.delete_topic("u")
    live.create_topic("u", [(3, 4), (3, 4)])
    with pytest.raises(PartageError, match="plan again"):
        partage.apply(directory, admin=live.admin, clock=live.clock, sleep=live.sleep)
    assert live.throttles == {}


def test_a_plan_without_topic_ids_is_named(tmp_path: Path) -> None:
    """It cannot know a topic that was created again."""
    live = FakeCluster(ORIGINAL, range(1, 5))
    partage.plan(partage.snapshot(admin=live.admin), topics="t").write(tmp_path)
    plan = ExecutionPlan.read(tmp_path)
    for known in (plan, replace(plan, topic_ids={})):
        warnings = prepare(known, live.admin, throttle=None, concurrency=None).warnings
        assert any("no topic id of t:" in one for one in warnings) is (known is not plan)


def test_sizes_are_those_of_now(tmp_path: Path) -> None:
    """Topics grow between a plan and its run: what is announced and reported is what is copied."""
    live = FakeCluster(ORIGINAL, range(1, 5), partition_bytes=1_000)
    times: Any = {"clock": live.clock, "sleep": live.sleep}
    partage.plan(partage.snapshot(admin=live.admin, sleep=live.sleep)).write(tmp_path)
    plan = ExecutionPlan.read(tmp_path)
    for number in range(2):
        live.resize(("t", number), 5_000)
    ready = prepare(plan, live.admin, throttle=None)
    assert {key: one.size_bytes for key, one in ready.plan.changes.items()} == {
        key: 5_000 if key[0] == "t" else 1_000 for key in plan.changes
    }
    totals: dict[int, int] = {}
    partage.apply(
        tmp_path,
        admin=live.admin,
        progress=lambda update: totals.update({update.wave: update.bytes_total}),
        **times,
    )
    assert sum(totals.values()) == sum(one.bytes_to_copy or 0 for one in ready.left)
