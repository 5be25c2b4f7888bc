"""Two plans on one cluster: one is applied, the other refused, and no configuration is left."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("kafka")

from kafka import errors as kafka_errors

import partage
from partage.errors import PartageError
from partage.live.execution.claim import Claim, TakenOverError
from partage.live.execution.journal import Journal
from partage.live.execution.progress import ProgressUpdate
from partage.live.execution.retrying_admin import RetryingAdmin
from partage.testing import FakeCluster
from tests.live.execution.builders import Clock

ORIGINAL = {(topic, n): (1, 2) for topic in ("t", "u") for n in range(2)}
ALL_BROKERS = ("broker", "")
THEIRS = "partage.run.elsewhere.0a"


@pytest.fixture
def cluster() -> FakeCluster:
    live = FakeCluster(ORIGINAL, range(1, 5))
    live.configs["broker", "3"] = {"follower.replication.throttled.rate": "9000000"}
    return live


def planned(live: FakeCluster, directory: Path) -> Path:
    partage.plan(
        partage.snapshot(admin=live.admin, sleep=live.sleep), spread="topic", concurrency=1
    ).write(directory)
    return directory


def apply(live: FakeCluster, directory: Path, **options: Any) -> Any:
    times: Any = {"clock": live.clock, "sleep": live.sleep, "throttle": "1MB"} | options
    return partage.apply(directory, admin=live.admin, **times)


def claimed(live: FakeCluster, directory: Path) -> Claim:
    admin = RetryingAdmin(live.admin, 1.0, live.clock, live.sleep)
    return Claim(admin, Journal.open(directory), lambda _: None)


def test_a_claim_during_the_run(cluster: FakeCluster, tmp_path: Path) -> None:
    before, seen = dict(cluster.throttles), set[str]()
    directory = planned(cluster, tmp_path / "plan")
    cluster.at(10, lambda: seen.update(cluster.configs[ALL_BROKERS]))
    assert apply(cluster, directory).state == "done"
    (name,) = seen
    assert name.startswith("partage.run.")
    assert cluster.throttles == before


def test_another_plan_is_refused(cluster: FakeCluster, tmp_path: Path) -> None:
    directory = planned(cluster, tmp_path / "plan")
    cluster.configs[ALL_BROKERS] = {THEIRS: "1"}
    before = dict(cluster.throttles)
    with pytest.raises(PartageError) as refused:
        apply(cluster, directory)
    assert "from host elsewhere" in str(refused.value)
    assert f"--delete-config {THEIRS}" in str(refused.value)
    assert (cluster.requests, cluster.throttles) == ([], before)
    assert not (directory / "journal.jsonl").exists()


def test_the_same_plan_goes_on_after_a_kill(cluster: FakeCluster, tmp_path: Path) -> None:
    directory = planned(cluster, tmp_path / "plan")
    with Journal.open(directory) as journal:
        journal.write("claimed", name=THEIRS)
    cluster.configs[ALL_BROKERS] = {THEIRS: "1"}
    updates: list[ProgressUpdate] = []
    assert apply(cluster, directory, progress=updates.append).state == "done"
    assert updates[0].note == (
        "an earlier run of this plan, from host elsewhere, has not ended: checking for 10 s "
        "whether it still runs"
    )
    assert cluster.configs[ALL_BROKERS] == {}


def test_a_refused_command_removes_what_a_kill_left(cluster: FakeCluster, tmp_path: Path) -> None:
    directory = planned(cluster, tmp_path / "plan")
    with Journal.open(directory) as journal:
        journal.write("claimed", name=THEIRS)
    cluster.configs[ALL_BROKERS] = {THEIRS: "1"}
    cluster.reassign(("t", 0), (4, 3))
    cluster.sleep(1000)
    with pytest.raises(PartageError, match="the cluster has changed"):
        apply(cluster, directory)
    assert cluster.configs[ALL_BROKERS] == {}


def test_two_at_the_same_moment(cluster: FakeCluster, tmp_path: Path) -> None:
    """Both have looked before either has set its claim: at most one goes on."""
    first, second = (claimed(cluster, planned(cluster, tmp_path / name)) for name in "ab")
    alter = cluster.admin.alter_configs
    refused = []

    def meanwhile(*resources: Any, **options: Any) -> Any:
        cluster.admin.alter_configs = alter  # type: ignore[method-assign]
        second.take(lambda: None)
        return alter(*resources, **options)

    cluster.admin.alter_configs = meanwhile  # type: ignore[method-assign]
    try:
        first.take(lambda: None)
    except PartageError as error:
        refused.append(str(error))
    assert len(refused) == 1
    assert len(cluster.configs[ALL_BROKERS]) == 1
    second.release()
    assert cluster.configs[ALL_BROKERS] == {}


@pytest.mark.parametrize("moment", range(6, 40, 2))
def test_another_plan_at_any_moment(cluster: FakeCluster, tmp_path: Path, moment: int) -> None:
    """Whenever it starts after the first one's checks, it changes nothing, and the first one ends
    as if it were alone."""
    first, second = planned(cluster, tmp_path / "first"), planned(cluster, tmp_path / "second")
    before, refused = dict(cluster.throttles), []

    def other() -> None:
        with pytest.raises(PartageError) as error:
            apply(cluster, second, clock=(own := Clock()), sleep=own.sleep)
        refused.append(str(error.value))

    cluster.at(moment, other)
    assert apply(cluster, first).state == "done"
    assert cluster.now > 40
    assert len(refused) == 1
    assert not (second / "journal.jsonl").exists()
    assert cluster.throttles == before


def test_a_copy_of_the_directory_is_refused(cluster: FakeCluster, tmp_path: Path) -> None:
    """Its journal has the claim of the run, which shows that it still runs."""
    first = claimed(cluster, planned(cluster, tmp_path / "first"))
    first.take(lambda: None)
    shutil.copytree(tmp_path / "first", tmp_path / "copy")
    copy = claimed(cluster, tmp_path / "copy")
    with pytest.raises(PartageError, match="another partage is applying this plan, from host "):
        copy.take(lambda: first.check(lambda: None))
    first.check(lambda: pytest.fail("its claim is missing"))
    assert len(cluster.configs[ALL_BROKERS]) == 1


def test_a_refused_copy_leaves_the_run_its_claim(cluster: FakeCluster, tmp_path: Path) -> None:
    first = claimed(cluster, planned(cluster, tmp_path / "first"))
    first.take(lambda: None)
    shutil.copytree(tmp_path / "first", tmp_path / "copy")
    cluster.reassign(("t", 0), (4, 3))
    cluster.sleep(1000)

    def sleep(seconds: float) -> None:
        cluster.sleep(seconds)
        first.check(lambda: None)

    with pytest.raises(PartageError, match="the cluster has changed"):
        apply(cluster, tmp_path / "copy", sleep=sleep)
    first.check(lambda: pytest.fail("its claim is missing"))


@pytest.mark.parametrize("moment", range(8, 24, 2))
def test_a_run_that_slept_while_a_copy_was_applied_ends(
    cluster: FakeCluster, tmp_path: Path, moment: int
) -> None:
    """It changes nothing more, also no throttle."""
    first, copy = planned(cluster, tmp_path / "first"), tmp_path / "copy"
    before, ended = dict(cluster.throttles), []

    def other() -> None:
        shutil.copytree(first, copy)
        ended.append(apply(cluster, copy).state)

    cluster.at(moment, other)
    with pytest.raises(TakenOverError, match="another partage has taken over"):
        apply(cluster, first)
    assert (ended, cluster.throttles) == (["done"], before)


def test_a_claim_that_one_broker_does_not_know(cluster: FakeCluster, tmp_path: Path) -> None:
    """As one that is just back."""
    directory = planned(cluster, tmp_path / "plan")
    describe = cluster.admin.describe_configs

    def some(resources: Any, **options: Any) -> Any:
        found = describe(resources, **options)
        if "" in found.get("broker", {}) and int(cluster.now) % 3 == 0:
            found["broker"][""] = {}
        return found

    cluster.admin.describe_configs = some  # type: ignore[method-assign]
    assert apply(cluster, directory).state == "done"


def test_throttles_of_a_moment_before_are_restored(cluster: FakeCluster, tmp_path: Path) -> None:
    """Broker 2 answers for topics, and learns seconds later what was set."""
    directory = planned(cluster, tmp_path / "plan")
    cluster.configs["topic", "t"] = {"leader.replication.throttled.replicas": "0:1"}
    before = dict(cluster.throttles)
    describe = cluster.admin.describe_configs
    learned = cluster.now + 7

    def late(resources: Any, **options: Any) -> Any:
        found = describe(resources, **options)
        for kind, name in (("topic", "t"), ("broker", "2")):
            if cluster.now < learned and name in found.get(kind, {}):
                found[kind][name] = {}
        return found

    cluster.admin.describe_configs = late  # type: ignore[method-assign]
    assert apply(cluster, directory).state == "done"
    assert cluster.throttles == before


def test_a_broker_that_never_shows_the_claim(cluster: FakeCluster, tmp_path: Path) -> None:
    directory = planned(cluster, tmp_path / "plan")
    describe = cluster.admin.describe_configs

    def never(resources: Any, **options: Any) -> Any:
        found = describe(resources, **options)
        for name in found.get("broker", {}):
            if name == "2":
                found["broker"][name] = {}
        return found

    cluster.admin.describe_configs = never  # type: ignore[method-assign]
    updates: list[ProgressUpdate] = []
    assert apply(cluster, directory, progress=updates.append).state == "done"
    assert updates[0].note == (
        "broker 2 does not show this run's claim: throttles that were set just now may not be "
        "restored"
    )


def test_an_unreachable_broker_is_not_waited_for(cluster: FakeCluster, tmp_path: Path) -> None:
    directory = planned(cluster, tmp_path / "plan")
    describe = cluster.admin.describe_configs
    asked: list[str] = []

    def unreachable(resources: Any, **options: Any) -> Any:
        for one in resources:
            asked.append(one.name)
            if one.name == "4":
                raise kafka_errors.NodeNotReadyError("4")
        return describe(resources, **options)

    claim = claimed(cluster, directory)
    cluster.admin.describe_configs = unreachable  # type: ignore[method-assign]
    claim.take(lambda: pytest.fail("it waits"))
    assert asked.count("4") == 1


def test_without_the_acl_the_run_goes_on(cluster: FakeCluster, tmp_path: Path) -> None:
    directory = planned(cluster, tmp_path / "plan")
    cluster.configs_forbidden = True
    updates: list[ProgressUpdate] = []
    outcome = apply(cluster, directory, throttle=None, progress=updates.append)
    assert outcome.state == "done"
    assert updates[0].note == (
        "another partage on this cluster will not be noticed: that needs AlterConfigs on the "
        "cluster"
    )


def test_a_rollback_with_a_damaged_journal_goes_on(cluster: FakeCluster, tmp_path: Path) -> None:
    """The claim that a killed run left may be its own, and is named."""
    directory = planned(cluster, tmp_path / "plan")
    assert apply(cluster, directory).state == "done"
    (directory / "journal.jsonl").write_text("damaged\n")
    cluster.configs[ALL_BROKERS] = {THEIRS: "1"}
    notes: list[str | None] = []
    outcome = partage.rollback(
        directory,
        admin=cluster.admin,
        clock=cluster.clock,
        sleep=cluster.sleep,
        progress=lambda update: notes.append(update.note),
    )
    assert (outcome.state, cluster.replicas) == ("done", ORIGINAL)
    assert any(note and THEIRS in note for note in notes)
