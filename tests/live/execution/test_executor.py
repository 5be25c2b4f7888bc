"""What a run does when brokers die, replicas fall out of sync, or something else interferes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("kafka")

from kafka import errors as kafka_errors

from partage.errors import InputError
from partage.files import to_json
from partage.live.admin.states import Key
from partage.live.execution.changes import Change
from partage.live.execution.execution_plan import ExecutionPlan
from partage.live.execution.executor import Executor, Interrupts
from partage.live.execution.journal import Journal
from partage.live.execution.outcome import Outcome
from partage.live.execution.overrides import Overrides
from partage.live.execution.progress import ProgressUpdate
from partage.report.execution_lines import Tally
from partage.testing import FakeCluster

MB = 10**6
RATE = MB
"""A partition of 10 MB takes ten seconds."""


class Scenario:
    """A run of changes, one wave each unless ``waves`` says otherwise."""

    def __init__(
        self,
        folder: Path,
        changes: list[Change],
        others: dict[Key, tuple[int, ...]] | None = None,
        waves: list[list[Key]] | None = None,
    ) -> None:
        keyed = {change.key: change for change in changes}
        lists = {key: change.origin for key, change in keyed.items()} | (others or {})
        waves_of = tuple(map(tuple, waves or [[key] for key in keyed]))
        self.folder = folder
        self.plan = ExecutionPlan(str(folder), "id", keyed, waves_of, lists)
        self.cluster = FakeCluster(lists, range(1, 7))
        self.updates: list[ProgressUpdate] = []
        self.interrupts = Interrupts()

    def run(self, throttle: Any = RATE, **options: Any) -> Outcome:
        with Journal.open(self.folder) as journal:
            run = Executor(
                self.plan,
                self.cluster.admin,
                journal,
                throttle=throttle,
                progress=self.updates.append,
                interrupts=self.interrupts,
                clock=self.cluster.clock,
                sleep=self._sleep,
                **options,
            )
            return run.run()

    def _sleep(self, seconds: float) -> None:
        assert self.cluster.now < 3600, "the run never ends"
        self.cluster.sleep(seconds)

    @property
    def notes(self) -> list[str]:
        return [one.note for one in self.updates if one.note]

    def lists(self) -> dict[Key, tuple[int, ...]]:
        return self.cluster.replicas


def moves(*pairs: tuple[tuple[int, ...], tuple[int, ...]]) -> list[Change]:
    return [Change("t", number, *pair, 10 * MB) for number, pair in enumerate(pairs)]


@contextmanager
def no_throttle_left(scenario: Scenario) -> Iterator[None]:
    """No throttle is left on brokers that answer."""
    yield
    alive = {("broker", str(broker)) for broker in scenario.cluster.running}
    left = {w for w in scenario.cluster.throttles if w[0] == "topic" or w in alive}
    assert left == set()


def test_nothing_goes_wrong(tmp_path: Path) -> None:
    scenario = Scenario(tmp_path, moves(((1, 2), (3, 2)), ((1, 2), (2, 4)), ((1, 2), (2, 1))))
    with no_throttle_left(scenario):
        assert scenario.run() == Outcome("done")
    assert scenario.lists() == {key: change.target for key, change in scenario.plan.changes.items()}
    assert list(scenario.cluster.leaders.values()) == [3, 2, 2]
    assert 20 <= scenario.cluster.now <= 40
    rates = [one.bytes_per_second for one in scenario.updates if one.bytes_per_second]
    assert rates
    assert all(rate == pytest.approx(RATE, rel=0.2) for rate in rates)


def test_wait(tmp_path: Path) -> None:
    scenario = Scenario(tmp_path, moves(((1, 2), (3, 2)), ((1, 2), (2, 4))))
    scenario.cluster.at(5, lambda: scenario.cluster.stop_broker(3))
    scenario.cluster.at(300, lambda: scenario.cluster.start_broker(3))
    with no_throttle_left(scenario):
        assert scenario.run(on_failure="wait") == Outcome("done")
    assert "waiting for broker 3, which does not answer" in scenario.notes
    assert scenario.cluster.now > 300


def test_stop(tmp_path: Path) -> None:
    scenario = Scenario(
        tmp_path,
        moves(((1, 2), (3, 2)), ((1, 2), (2, 4)), ((1, 2), (2, 5))),
        waves=[[("t", 0), ("t", 1)], [("t", 2)]],
    )
    for key in scenario.cluster.replicas:
        scenario.cluster.resize(key, 100e6)
    scenario.cluster.at(5, lambda: scenario.cluster.stop_broker(3))
    with no_throttle_left(scenario):
        outcome = scenario.run(on_failure="stop")
    assert (outcome.state, outcome.waves_left, outcome.dead) == ("stopped", 2, [3])
    assert scenario.lists() == {key: change.origin for key, change in scenario.plan.changes.items()}


def test_cancel_continues_with_the_rest(tmp_path: Path) -> None:
    scenario = Scenario(tmp_path, moves(((1, 2), (3, 2)), ((1, 2), (2, 4)), ((1, 2), (3, 1))))
    scenario.cluster.at(5, lambda: scenario.cluster.stop_broker(3))
    with no_throttle_left(scenario):
        outcome = scenario.run()
    assert outcome.problems == {
        "t-0": "broker 3 does not answer",
        "t-2": "broker 3 does not answer",
    }
    lists = scenario.lists()
    assert lists["t", 1] == (2, 4)
    assert (lists["t", 0], lists["t", 2]) == ((1, 2), (1, 2))
    named = next(one for one in scenario.updates if one.note and "broker 3 does not" in one.note)
    assert named is not None
    assert scenario.cluster.now < 60


@pytest.mark.parametrize("ends", ["done", "cancel", "stop", "interrupt"])
def test_bytes_of_a_wave_that_was_cut_short_do_not_count(tmp_path: Path, ends: str) -> None:
    """What the reports add up to is what the cluster holds; what is left is never too much."""
    scenario = Scenario(
        tmp_path,
        moves(((1, 2), (3, 2)), ((1, 2), (2, 4)), ((1, 2), (3, 1)), ((1, 2), (2, 5))),
        waves=[[("t", 0), ("t", 1)], [("t", 2), ("t", 3)]],
    )
    for number, size in enumerate((100, 4, 10, 10)):
        scenario.cluster.resize(("t", number), size * MB)
    if ends == "interrupt":
        for moment in (7, 8):
            scenario.cluster.at(moment, scenario.interrupts)
    elif ends != "done":
        scenario.cluster.at(7, lambda: scenario.cluster.stop_broker(3))
    scenario.run(on_failure="stop" if ends == "stop" else "cancel")
    tally, shown = Tally(), [one for one in scenario.updates if not one.note]
    for update in shown:
        tally.add(update)
        assert update.bytes_later is not None
        assert tally.copied + update.bytes_later <= 124 * MB
    tally.end_wave()
    held = {
        key: len({*replicas} - {*scenario.plan.changes[key].origin})
        for key, replicas in scenario.lists().items()
    }
    sizes = dict(zip(held, (100 * MB, 4 * MB, 10 * MB, 10 * MB), strict=True))
    assert tally.copied == sum(sizes[key] * copies for key, copies in held.items())
    assert held["t", 0] == (ends == "done")
    assert held["t", 1] == 1
    first = shown[0]
    assert first.bytes_later == 20 * MB
    if ends in ("done", "cancel"):
        assert shown[-1].bytes_later == 0


def test_a_restart_is_not_a_failure(tmp_path: Path) -> None:
    scenario = Scenario(tmp_path, moves(((1, 2), (3, 2)), ((1, 2), (3, 1))))
    # in the middle of a wave, and between two
    for moment in (4, 12, 20):
        scenario.cluster.at(moment, lambda: scenario.cluster.stop_broker(3))
        scenario.cluster.at(moment + 6, lambda: scenario.cluster.start_broker(3))
    assert scenario.run() == Outcome("done")


def test_the_last_broker_with_the_data_dies(tmp_path: Path) -> None:
    scenario = Scenario(tmp_path, moves(((1,), (3,)), ((2,), (4,))), waves=[[("t", 0), ("t", 1)]])
    scenario.cluster.at(3, lambda: scenario.cluster.stop_broker(1))
    outcome = scenario.run()
    assert outcome.problems["t-0"] == "broker 1 does not answer"
    assert scenario.lists()["t", 1] == (4,)


def test_replan(tmp_path: Path) -> None:
    scenario = Scenario(tmp_path, moves(((1, 2), (3, 2)), ((1, 2), (2, 4)), ((2, 1), (3, 1))))
    write_plan(scenario)
    scenario.cluster.at(5, lambda: scenario.cluster.stop_broker(3))
    with no_throttle_left(scenario):
        outcome = scenario.run(on_failure="replan")
    assert outcome.state == "done"
    assert outcome.problems == {}
    lists = scenario.lists()
    assert lists["t", 1] == (2, 4)
    assert all(3 not in replicas for replicas in lists.values())
    assert all(len(replicas) == 2 for replicas in lists.values())
    assert (tmp_path / "replan-1.json").exists()
    scenario.cluster.start_broker(3)
    scenario.plan = ExecutionPlan.read(tmp_path).reversed()
    assert scenario.run().state == "done"
    assert scenario.lists() == {("t", 0): (1, 2), ("t", 1): (1, 2), ("t", 2): (2, 1)}


def test_replan_ignores_unplanned_replicas_on_the_dead_broker(tmp_path: Path) -> None:
    """Also once the plan no longer involves that broker, which may never come back."""
    changes = moves(((1, 2), (3, 2)), ((1, 2), (4, 2)), ((2, 1), (4, 1)))
    scenario = Scenario(tmp_path, changes, {("other", 0): (3, 5)})
    write_plan(scenario)
    scenario.cluster.at(5, lambda: scenario.cluster.stop_broker(3))
    assert scenario.run(on_failure="replan").state == "done"
    assert all(3 not in replicas for key, replicas in scenario.lists().items() if key[0] == "t")


def test_replan_is_kept_by_a_later_run(tmp_path: Path) -> None:
    changes = moves(((1, 2), (3, 2)), ((1, 2), (4, 2)), ((2, 1), (4, 1)))
    scenario = Scenario(tmp_path, changes, {("other", 0): (3, 5)})
    write_plan(scenario)
    scenario.cluster.at(5, lambda: scenario.cluster.stop_broker(3))
    scenario.cluster.at(20, scenario.interrupts)
    assert scenario.run(on_failure="replan").state == "stopped"
    scenario.plan = ExecutionPlan.read(tmp_path)
    assert 3 not in scenario.plan.brokers
    scenario.interrupts.count = 0
    assert scenario.run().state == "done"


def test_replan_twice(tmp_path: Path) -> None:
    scenario = Scenario(tmp_path, moves(*[((1, 2), (3, 4)) for _ in range(4)]))
    write_plan(scenario)
    scenario.cluster.at(5, lambda: scenario.cluster.stop_broker(3))
    scenario.cluster.at(20, lambda: scenario.cluster.stop_broker(4))
    outcome = scenario.run(on_failure="replan")
    assert len(list(tmp_path.glob("replan-*.json"))) == 2
    assert outcome.state == "done"
    assert {b for replicas in scenario.lists().values() for b in replicas} <= {1, 2, 5, 6}


def test_replan_has_no_solution(tmp_path: Path) -> None:
    scenario = Scenario(tmp_path, moves(((1, 2, 4, 5, 6), (3, 1, 2, 4, 5, 6))))
    write_plan(scenario)
    scenario.cluster.at(5, lambda: scenario.cluster.stop_broker(3))
    outcome = scenario.run(on_failure="replan")
    assert outcome.problems == {"t-0": "broker 3 does not answer"}
    assert any("there is no plan without broker 3: t-0 needs 6" in note for note in scenario.notes)
    assert scenario.lists() == {("t", 0): (1, 2, 4, 5, 6)}


def test_a_rollback_cannot_replan(tmp_path: Path) -> None:
    scenario = Scenario(tmp_path, moves(((1, 2), (3, 2))))
    scenario.plan = scenario.plan.reversed()
    with pytest.raises(InputError, match="'replan': expected one of cancel, wait, stop"):
        scenario.run(on_failure="replan")


def write_plan(scenario: Scenario) -> None:
    """Write the directory from which a run reads its plan again."""
    from partage.brokers.directory import fingerprint

    (scenario.folder / "waves").mkdir()
    changes = sorted(scenario.plan.changes.items())
    for number, wave in enumerate(scenario.plan.waves, 1):
        entries = [
            {"topic": t, "partition": n, "replicas": list(scenario.plan.changes[t, n].target)}
            for t, n in wave
        ]
        (scenario.folder / f"waves/{number:03d}.json").write_text(
            to_json({"version": 1, "partitions": entries})
        )
    value: dict[str, Any] = {
        "format_version": 1,
        "cluster_id": "id",
        "options": {},
        "topics": ["t"],
        "brokers": [{"id": b, "excluded": False, "alive": True} for b in scenario.cluster.racks],
        "partitions": {
            "topic": [0] * len(changes),
            "partition": [number for (_, number), _ in changes],
            "size_bytes": [10 * MB] * len(changes),
            "bytes_per_second": None,
            "chosen": [True] * len(changes),
            "before": [list(change.origin) for _, change in changes],
            "after": [list(change.target) for _, change in changes],
        },
        "waves": [
            {"file": f"waves/{n:03d}.json", "partitions": len(wave), "moves": 0}
            for n, wave in enumerate(scenario.plan.waves, 1)
        ],
    }
    value["fingerprint"] = fingerprint(value)
    (scenario.folder / "plan.json").write_text(to_json(value))


OTHERS = {("other", 0): (5, 6), ("other", 1): (6, 5)}


def test_a_wave_slows_down_while_others_are_out_of_sync(tmp_path: Path) -> None:
    scenario = Scenario(tmp_path, moves(((1, 2), (3, 2)), ((1, 2), (4, 2))), OTHERS)
    scenario.cluster.resize(("t", 0), 100e6)
    scenario.cluster.min_insync_replicas = 2
    scenario.cluster.at(10, lambda: scenario.cluster.stop_broker(6))
    scenario.cluster.at(40, lambda: scenario.cluster.start_broker(6))
    # while the first wave ends, and before the second
    scenario.cluster.at(55, lambda: scenario.cluster.stop_broker(6))
    scenario.cluster.at(100, lambda: scenario.cluster.start_broker(6))
    with no_throttle_left(scenario):
        assert scenario.run(throttle=4 * MB) == Outcome("done")
    (slowed, *_) = (note for note in scenario.notes if note.startswith("slowed down"))
    assert slowed == (
        "slowed down to 1,000,000 bytes per second: 2 partitions are out of sync (other-0, …); "
        "2 below min.insync.replicas (other-0, …)"
    )
    assert "all partitions are in sync again: no longer slowed down" in scenario.notes
    assert {one.throttle for one in scenario.updates} >= {4 * MB, MB}


def test_no_wave_begins_while_others_are_out_of_sync(tmp_path: Path) -> None:
    scenario = Scenario(tmp_path, moves(((1, 2), (3, 2))), OTHERS)
    scenario.cluster.stop_broker(5)
    scenario.cluster.at(50, lambda: scenario.cluster.start_broker(5))
    assert scenario.run() == Outcome("done")
    assert scenario.notes[0] == "waiting: 2 partitions are out of sync (other-0, …)"
    assert scenario.cluster.requests
    assert scenario.cluster.now > 60


def test_without_a_throttle_one_is_set_while_others_are_out_of_sync(tmp_path: Path) -> None:
    scenario = Scenario(tmp_path, moves(((1, 2), (3, 2))), OTHERS)
    scenario.cluster.configs["broker", "3"] = {"follower.replication.throttled.rate": "100000"}
    before = dict(scenario.cluster.throttles)
    scenario.cluster.at(10, lambda: scenario.cluster.stop_broker(6))
    scenario.cluster.at(40, lambda: scenario.cluster.start_broker(6))
    assert scenario.run(throttle=None) == Outcome("done")
    assert scenario.cluster.throttles == before
    assert {one.throttle for one in scenario.updates} == {None, MB}


def test_a_missing_acl_prevents_slowing_down(tmp_path: Path) -> None:
    scenario = Scenario(tmp_path, moves(((1, 2), (3, 2))), OTHERS)
    scenario.cluster.configs["broker", "3"] = {"follower.replication.throttled.rate": "200000"}
    scenario.cluster.configs_forbidden = True
    scenario.cluster.at(10, lambda: scenario.cluster.stop_broker(6))
    scenario.cluster.at(30, lambda: scenario.cluster.start_broker(6))
    assert scenario.run(throttle=None) == Outcome("done")
    said = scenario.notes[0]
    assert said.startswith("cannot be slowed down: not allowed: missing ACL")
    assert "AlterConfigs on the cluster" in said


def test_auto_raises_the_rate_while_all_are_in_sync(tmp_path: Path) -> None:
    scenario = Scenario(tmp_path, moves(((1, 2), (3, 2))))
    scenario.cluster.resize(("t", 0), 20e9)
    with no_throttle_left(scenario):
        assert scenario.run(throttle="auto") == Outcome("done")
    rates = [one.throttle for one in scenario.updates if one.throttle]
    assert rates == sorted(rates)
    assert rates[0] == 11 * MB
    assert rates[-1] > 80 * MB


def test_overrides(tmp_path: Path) -> None:
    scenario = Scenario(tmp_path, moves(*[((1, 2), (2, 3 + number)) for number in range(4)]))
    scenario.cluster.at(5, lambda: Overrides("auto", 4).write(str(tmp_path)))
    with no_throttle_left(scenario):
        assert scenario.run() == Outcome("done")
    assert scenario.notes == [
        "the throttle is now auto",
        "the concurrency is now 4; waves left: 1",
    ]
    assert max(map(len, scenario.cluster.requests)) == 3


SET_AGAIN = "something removed the throttle: it is set again"


def test_a_removed_throttle_is_set_again(tmp_path: Path) -> None:
    """Although the controller does not answer at that moment."""
    scenario = Scenario(tmp_path, moves(((1, 2), (3, 2))))
    alter, refused = scenario.cluster.admin.alter_configs, ["topic"]

    def answer(resources: Any, **options: Any) -> Any:
        kind = resources[0].resource_type.name.lower()
        if scenario.cluster.now >= 5 and kind in refused:
            refused.remove(kind)
            return {kind: {"t": str(kafka_errors.NotControllerError("not this one"))}}
        return alter(resources, **options)

    scenario.cluster.admin.alter_configs = answer  # type: ignore[method-assign]
    scenario.cluster.at(5, lambda: scenario.cluster.configs["topic", "t"].clear())
    with no_throttle_left(scenario):
        assert scenario.run() == Outcome("done")
    assert refused == []
    assert scenario.notes == [SET_AGAIN]


@pytest.mark.parametrize(("lag", "removal"), [(3, None), (12, None), (2, 6)])
def test_throttles_that_brokers_do_not_report_yet_are_not_removed(
    tmp_path: Path, lag: int, removal: int | None
) -> None:
    """Brokers report settings as they were some seconds ago; two waves, each with its lists."""
    scenario = Scenario(tmp_path, moves(((1, 2), (3, 2)), ((1, 2), (2, 4))))
    cluster = scenario.cluster
    describe, alter = cluster.admin.describe_configs, cluster.admin.alter_configs
    history: list[tuple[float, dict[tuple[str, str], dict[str, str]]]] = [(0.0, {})]

    def keep() -> None:
        history.append((cluster.now, {at: dict(own) for at, own in cluster.configs.items()}))

    def altered(resources: Any, **options: Any) -> Any:
        answer = alter(resources, **options)
        keep()
        return answer

    def late(resources: Any, config_filter: str) -> Any:
        now, cluster.configs = (
            cluster.configs,
            next(own for when, own in reversed(history) if when <= max(0.0, cluster.now - lag)),
        )
        try:
            return describe(resources, config_filter=config_filter)
        finally:
            cluster.configs = now

    cluster.admin.describe_configs = late  # type: ignore[method-assign]
    cluster.admin.alter_configs = altered  # type: ignore[method-assign]

    def remove() -> None:
        cluster.configs["broker", "1"].clear()
        keep()

    if removal is not None:
        cluster.at(removal, remove)
    assert scenario.run() == Outcome("done")
    assert scenario.notes == ([] if removal is None else [SET_AGAIN])


def test_unreadable_throttles_do_not_count_as_removed(tmp_path: Path) -> None:
    """Those of the topic and of broker 3 cannot be read; that of broker 1 is set again."""
    scenario = Scenario(tmp_path, moves(((1, 2), (3, 2))))
    describe, alter = scenario.cluster.admin.describe_configs, scenario.cluster.admin.alter_configs
    altered: list[str] = []

    def unread(resources: Any, config_filter: str) -> Any:
        throttles = any("throttled" in key for key in resources[0].configs)
        if throttles and resources[0].name in ("t", "3") and 5 <= scenario.cluster.now < 9:
            raise kafka_errors.KafkaTimeoutError
        return describe(resources, config_filter=config_filter)

    def noted(resources: Any, **options: Any) -> Any:
        if 5 <= scenario.cluster.now < 9:
            altered.extend(resource.name for resource in resources)
        return alter(resources, **options)

    scenario.cluster.admin.describe_configs = unread  # type: ignore[method-assign]
    scenario.cluster.admin.alter_configs = noted  # type: ignore[method-assign]
    scenario.cluster.at(7, lambda: scenario.cluster.configs["broker", "1"].clear())
    with no_throttle_left(scenario):
        assert scenario.run() == Outcome("done")
    assert altered == ["1"]
    assert scenario.notes == [SET_AGAIN]


@pytest.mark.parametrize("begins", [0, 1, 3, 9, 10, 11, 12, 20, 21, 22, 23])
def test_no_controller_for_a_while(tmp_path: Path, begins: float) -> None:
    scenario = Scenario(tmp_path, moves(((1, 2), (3, 2)), ((1, 2), (2, 4))))
    scenario.cluster.configs["topic", "t"] = {"leader.replication.throttled.replicas": "0:9"}
    before = dict(scenario.cluster.throttles)

    def gone(there: bool) -> None:
        scenario.cluster.has_controller = there

    if begins:
        scenario.cluster.at(begins, lambda: gone(False))
    else:
        gone(False)
    scenario.cluster.at(begins + 15, lambda: gone(True))
    assert scenario.run() == Outcome("done")
    assert scenario.lists() == {key: change.target for key, change in scenario.plan.changes.items()}
    assert scenario.cluster.throttles == before


def test_the_broker_that_controls_hangs(tmp_path: Path) -> None:
    """It is named although Kafka lists no reassignments meanwhile."""
    scenario = Scenario(tmp_path, moves(((1, 2), (3, 2))))

    def hangs() -> None:
        scenario.cluster.stop_broker(3)
        scenario.cluster.has_controller = False

    def is_back() -> None:
        scenario.cluster.start_broker(3)
        scenario.cluster.has_controller = True

    scenario.cluster.at(3, hangs)
    scenario.cluster.at(33, is_back)
    assert scenario.run() == Outcome("done")
    assert scenario.notes == ["waiting for Kafka: not controller; broker 3 does not answer"]


def test_an_interrupt_in_the_last_wave_changes_nothing(tmp_path: Path) -> None:
    scenario = Scenario(tmp_path, moves(((1, 2), (3, 2)), ((1, 2), (4, 2))))
    scenario.cluster.at(15, scenario.interrupts)
    assert scenario.run() == Outcome("done")


def test_an_interrupt_leaves_the_later_waves(tmp_path: Path) -> None:
    scenario = Scenario(tmp_path, moves(((1, 2), (3, 2)), ((1, 2), (4, 2)), ((1, 2), (5, 2))))
    scenario.cluster.at(5, scenario.interrupts)
    outcome = scenario.run()
    assert (outcome.state, outcome.waves_left) == ("stopped", 2)
    assert scenario.lists()["t", 0] == (3, 2)


def test_a_preferred_leader_that_is_not_in_sync(tmp_path: Path) -> None:
    scenario = Scenario(tmp_path, moves(((1, 2), (3, 2)), ((1, 2), (2, 4))))
    scenario.cluster.at(15, lambda: scenario.cluster.stop_broker(3))
    outcome = scenario.run()
    assert outcome.state == "differs"
    assert outcome.problems == {"t-0": "is led by broker 2 instead of 3: broker 3 is not in sync"}


def created_again(scenario: Scenario, replicas: tuple[int, ...] = (1, 2)) -> None:
    """Delete topic t and create it again, with the throttle lists of another tool."""
    cluster = scenario.cluster
    count = len([key for key in cluster.replicas if key[0] == "t"])
    cluster.delete_topic("t")
    cluster.create_topic("t", [replicas] * count)
    cluster.configs["topic", "t"] = {"leader.replication.throttled.replicas": "0:9"}


@pytest.mark.parametrize("moment", [0.5, 2, 5, 9, 10, 11, 12, 15, 19, 20])
@pytest.mark.parametrize("replicas", [(1, 2), (2, 1), (3, 2), (5, 6)])
def test_a_topic_created_again_during_a_run(
    tmp_path: Path, moment: float, replicas: tuple[int, ...]
) -> None:
    """Whatever replicas the new one has, they stay, and so does its configuration."""
    changes = [*moves(((1, 2), (3, 2)), ((1, 2), (4, 2))), Change("u", 0, (1, 2), (3, 2), 10 * MB)]
    scenario = Scenario(tmp_path, changes)
    scenario.cluster.configs["topic", "t"] = {"follower.replication.throttled.replicas": "1:7"}
    scenario.cluster.at(moment, lambda: created_again(scenario, replicas))
    outcome = known_ids(scenario).run()
    assert outcome.state == "differs"
    assert set(outcome.problems) == {"t-0", "t-1"}
    assert "its topic was deleted and created again" in outcome.problems.values()
    lists = scenario.lists()
    assert lists == {("t", 0): replicas, ("t", 1): replicas, ("u", 0): (3, 2)}
    assert scenario.cluster.throttles == {
        ("topic", "t"): {"leader.replication.throttled.replicas": "0:9"}
    }
    requested = len(scenario.cluster.requests)
    scenario.plan = scenario.plan.reversed()
    scenario.run()
    assert scenario.lists() == lists | {("u", 0): (1, 2)}
    assert all(key[0] == "u" for keys in scenario.cluster.requests[requested:] for key in keys)
    assert set(scenario.cluster.throttles) == {("topic", "t")}


def known_ids(scenario: Scenario) -> Scenario:
    """The scenario with the topic ids that ``execute`` would have read."""
    described = scenario.cluster.admin.describe_topics()
    scenario.plan = scenario.plan.with_topic_ids({t["name"]: t["topic_id"] for t in described})
    return scenario


def test_others_cancel_or_take_away_a_move(tmp_path: Path) -> None:
    changes = moves(((1, 2), (3, 2)), ((1, 2), (4, 2)), ((1, 2), (3, 1)))
    scenario = Scenario(tmp_path, changes, waves=[[("t", 0), ("t", 1)], [("t", 2)]])
    cluster = scenario.cluster
    cluster.at(3, lambda: cluster.reassign(("t", 0), None))
    cluster.at(3, lambda: cluster.reassign(("t", 1), (5, 6)))
    with no_throttle_left(scenario):
        outcome = scenario.run()
    assert outcome.problems == {
        "t-0": "someone else cancelled it",
        "t-1": "someone else moved it to [5, 6]",
    }
    assert outcome.resumable  # the first one
    # Kafka leaves a cancelled partition's replicas in the order of the target
    assert scenario.lists() == {("t", 0): (2, 1), ("t", 1): (5, 6), ("t", 2): (3, 1)}


def test_min_insync_replicas_is_raised_meanwhile(tmp_path: Path) -> None:
    """A wave that would leave fewer replicas is skipped; others go on."""
    changes = moves(((1, 2, 3), (4, 2, 3)), ((1, 2, 3), (1, 2)), ((1, 2, 3), (5, 2, 3)))
    scenario = Scenario(tmp_path, changes)
    scenario.cluster.at(5, lambda: setattr(scenario.cluster, "min_insync_replicas", 3))
    with no_throttle_left(scenario):
        outcome = scenario.run()
    assert outcome.problems == {"t-1": "min.insync.replicas of its topic is 3 now"}
    assert list(scenario.lists().values()) == [(4, 2, 3), (1, 2, 3), (5, 2, 3)]
