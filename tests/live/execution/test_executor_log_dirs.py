"""What a run does about the log dirs that its plan names."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

pytest.importorskip("kafka")

from partage import plan
from partage.cluster import Cluster
from partage.live.admin.snapshot import take_snapshot
from partage.live.execution.changes import Change
from partage.live.execution.execution_plan import ExecutionPlan
from partage.live.execution.outcome import Outcome
from partage.live.execution.preflight import preflight
from partage.live.execution.rescheduling import reschedule
from partage.live.execution.verify import verify
from partage.testing import FakeCluster
from tests.live.execution.test_executor import MB, Scenario, no_throttle_left

DIRS = ("/d1", "/d2", "/d3")


def a_move(to: str = "/d3", number: int = 0) -> Change:
    """From broker 2 to broker 3, into a log dir; back it goes to the one where it was."""
    return Change(
        "t",
        number,
        (1, 2),
        (1, 3),
        10 * MB,
        origin_dirs=((1, "/d1"), (2, "/d1")),
        target_dirs=((1, "/d1"), (3, to)),
    )


def within(to: str = "/d2") -> Change:
    """From one log dir of broker 1 to another."""
    dirs = {"origin_dirs": ((1, "/d1"), (2, "/d1")), "target_dirs": ((1, to), (2, "/d1"))}
    return Change("t", 0, (1, 2), (1, 2), 10 * MB, **dirs)  # type: ignore[arg-type]


def scenario_of(folder: Path, *changes: Change) -> Scenario:
    scenario = Scenario(folder, list(changes))
    lists = {change.key: change.origin for change in changes}
    scenario.cluster = FakeCluster(lists, range(1, 7), log_dirs=DIRS)
    return scenario


def test_named_before_the_replica_is_created(tmp_path: Path) -> None:
    scenario = scenario_of(tmp_path, a_move())
    assert scenario.cluster.log_dirs_of(("t", 0)) == {1: "/d1", 2: "/d1"}
    with no_throttle_left(scenario):
        assert scenario.run() == Outcome("done")
    assert scenario.cluster.log_dirs_of(("t", 0)) == {1: "/d1", 3: "/d3"}
    assert verify(scenario.plan, scenario.cluster.admin)["state"] == "done"  # type: ignore[arg-type]
    scenario.plan = scenario.plan.reversed()
    assert scenario.run() == Outcome("done")
    assert scenario.cluster.log_dirs_of(("t", 0)) == {1: "/d1", 2: "/d1"}


def test_a_broker_that_forgot(tmp_path: Path) -> None:
    """It creates the replica elsewhere; it is moved once it is in sync, at the throttle's rate."""
    scenario = scenario_of(tmp_path, a_move())
    scenario.cluster.admin.alter_replica_log_dirs = _forgetting(scenario)  # type: ignore[method-assign]
    rates: list[str | None] = []
    config = scenario.cluster.configs
    for second in range(1, 30):
        scenario.cluster.at(second, lambda: rates.append(config.get(("broker", "3"), {}).get(RATE)))
    with no_throttle_left(scenario):
        assert scenario.run(throttle=MB) == Outcome("done")
    before, *meanwhile, after = rates
    assert (before, set(meanwhile), after) == (None, {str(MB)}, None)
    assert len(meanwhile) > 2 * 10, "copied twice, 10 MB each"
    assert scenario.cluster.log_dirs_of(("t", 0)) == {1: "/d1", 3: "/d3"}


def _forgetting(scenario: Scenario) -> object:
    real = scenario.cluster.admin.alter_replica_log_dirs

    def forgets(assignments: dict[tuple[str, int, int], str]) -> object:
        answer = real(assignments)
        scenario.cluster._named.clear()
        return answer

    return forgets


def test_resumed_when_only_the_log_dir_is_left(tmp_path: Path) -> None:
    """Another run ended when the replicas were there, in another log dir."""
    scenario = scenario_of(tmp_path, a_move())
    scenario.cluster.reassign(("t", 0), (1, 3))
    scenario.cluster.sleep(60)
    assert scenario.cluster.log_dirs_of(("t", 0))[3] != "/d3"
    found = verify(scenario.plan, scenario.cluster.admin)  # type: ignore[arg-type]
    assert (found["state"], found["moving"]) == ("in progress", 1)
    assert found["log_dirs"] == {"t-0": "on broker 3 in log dir /d1, not /d3"}
    assert scenario.run() == Outcome("done")
    assert scenario.cluster.log_dirs_of(("t", 0)) == {1: "/d1", 3: "/d3"}


def test_an_offline_log_dir(tmp_path: Path) -> None:
    """Its partition stays where it is, with the reason; others move."""
    scenario = scenario_of(tmp_path, a_move(), a_move("/d2", number=1))
    scenario.cluster.offline = {(3, "/d3")}
    problems = {"t-0": "log dir /d3 of broker 3 is offline"}
    assert scenario.run() == Outcome("differs", problems)
    assert scenario.cluster.replicas == {("t", 0): (1, 2), ("t", 1): (1, 3)}


def test_another_log_dir_is_offline(tmp_path: Path) -> None:
    """Kafka then moves nothing between the log dirs of the broker. New replicas it takes."""
    scenario = scenario_of(tmp_path, within(), a_move(number=1))
    scenario.cluster.offline = {(1, "/d3"), (3, "/d1")}
    problems = {"t-0": "broker 1 moves nothing between its log dirs while /d3 is offline"}
    assert scenario.run() == Outcome("differs", problems)
    assert scenario.cluster.log_dirs_of(("t", 1))[3] == "/d3"
    snapshot = take_snapshot(scenario.cluster.admin, sleep=scenario.cluster.sleep)  # type: ignore[arg-type]
    assert preflight(scenario.plan, snapshot, throttle=None).errors[1:] == [
        "replicas should move between the log dirs of broker 1: Kafka moves none while /d3 is "
        "offline"
    ]


def test_a_log_dir_that_is_not_there(tmp_path: Path) -> None:
    scenario = scenario_of(tmp_path, a_move("/gone"))
    problems = {"t-0": "log dir /gone of broker 3 is not there"}
    assert scenario.run() == Outcome("differs", problems)


def test_within_a_broker_and_back(tmp_path: Path) -> None:
    scenario = scenario_of(tmp_path, within())
    assert verify(scenario.plan, scenario.cluster.admin)["state"] == "not begun"  # type: ignore[arg-type]
    with no_throttle_left(scenario):
        assert scenario.run() == Outcome("done")
    assert scenario.cluster.log_dirs_of(("t", 0)) == {1: "/d2", 2: "/d1"}
    scenario.plan = scenario.plan.reversed()
    with no_throttle_left(scenario):
        assert scenario.run() == Outcome("done")
    assert scenario.cluster.log_dirs_of(("t", 0)) == {1: "/d1", 2: "/d1"}


def test_a_log_dir_that_fails_in_mid_move(tmp_path: Path) -> None:
    scenario = scenario_of(tmp_path, within())
    rate = {"replica.alter.log.dirs.io.max.bytes.per.second": str(MB)}
    scenario.cluster.configs["broker", "1"] = rate
    scenario.cluster.at(5, lambda: scenario.cluster.offline.add((1, "/d2")))
    problems = {"t-0": "log dir /d2 of broker 1 is offline"}
    assert scenario.run() == Outcome("differs", problems)
    assert scenario.cluster.log_dirs_of(("t", 0)) == {1: "/d1", 2: "/d1"}


def test_cancelled_within_a_broker(tmp_path: Path) -> None:
    scenario = scenario_of(tmp_path, within())
    rate = {"replica.alter.log.dirs.io.max.bytes.per.second": str(MB)}
    scenario.cluster.configs["broker", "1"] = rate
    for _ in range(2):
        scenario.cluster.at(4, scenario.interrupts)
    outcome = scenario.run()
    assert outcome.state == "stopped"
    scenario.cluster.sleep(60)
    assert scenario.cluster.log_dirs_of(("t", 0)) == {1: "/d1", 2: "/d1"}


def test_a_plan_of_a_snapshot(tmp_path: Path) -> None:
    """From the snapshot to the run, and back."""
    lists = {("t", number): (1, 2) for number in range(6)}
    cluster = FakeCluster(lists, (1, 2, 3), log_dirs=DIRS)
    taken = take_snapshot(cluster.admin, sleep=cluster.sleep)  # type: ignore[arg-type]
    made = plan(Cluster.from_json(json.loads(json.dumps(taken.to_json()))))
    made.write(tmp_path / "plan")
    read = ExecutionPlan.read(tmp_path / "plan")
    named = Counter(path for change in read.changes.values() for path in change.placing.values())
    assert sorted(named.values()) == [1, 1, 2]
    scenario = scenario_of(tmp_path / "plan")
    scenario.cluster, scenario.plan = cluster, read
    before = {key: cluster.log_dirs_of(key) for key in lists}
    assert scenario.run() == Outcome("done")
    for change in read.changes.values():
        assert cluster.log_dirs_of(change.key) == dict(change.target_dirs)
    scenario.plan = read.reversed()
    assert scenario.run() == Outcome("done")
    assert {key: cluster.log_dirs_of(key) for key in lists} == before


RATE = "replica.alter.log.dirs.io.max.bytes.per.second"


@pytest.mark.parametrize("before", [None, "777"])
def test_between_log_dirs_at_a_separate_rate(before: str | None, tmp_path: Path) -> None:
    """It is set while replicas move there, and the one of before comes back; a run that is killed
    leaves it to the next one."""
    scenario = scenario_of(tmp_path, within())
    if before is not None:
        scenario.cluster.configs["broker", "1"] = {RATE: before}
    seen: list[str | None] = []
    at = "broker", "1"
    scenario.cluster.at(3, lambda: seen.append(scenario.cluster.configs[at].get(RATE)))
    assert scenario.run(throttle=MB) == Outcome("done")
    assert seen == [str(MB)]
    assert scenario.cluster.configs[at].get(RATE) == before
    assert scenario.cluster.log_dirs_of(("t", 0)) == {1: "/d2", 2: "/d1"}


def test_killed_between_log_dirs_and_resumed(tmp_path: Path) -> None:
    scenario = scenario_of(tmp_path, within())

    def kill() -> None:
        raise KeyboardInterrupt

    scenario.cluster.at(4, kill)
    with pytest.raises(KeyboardInterrupt):
        scenario.run(throttle=MB)
    found = verify(scenario.plan, scenario.cluster.admin)  # type: ignore[arg-type]
    assert (found["state"], found["moving"]) == ("in progress", 1)
    with no_throttle_left(scenario):
        assert scenario.run(throttle=MB) == Outcome("done")
    assert scenario.cluster.log_dirs_of(("t", 0)) == {1: "/d2", 2: "/d1"}


def test_another_concurrency_keeps_the_waves_between_log_dirs(tmp_path: Path) -> None:
    lists = {("t", number): (1, 2) for number in range(6)}
    cluster = FakeCluster(lists, (1, 2), log_dirs=DIRS)
    taken = take_snapshot(cluster.admin, sleep=cluster.sleep)  # type: ignore[arg-type]
    made = plan(Cluster.from_json(taken.to_json()), remove_log_dir="1:/d2", no_moves=True)
    made.write(tmp_path / "plan")
    read = ExecutionPlan.read(tmp_path / "plan")
    again = reschedule(read, taken, 1)
    inside = {key for key, change in read.changes.items() if change.only_log_dirs}
    assert inside
    assert inside <= {key for wave in again.waves for key in wave}
