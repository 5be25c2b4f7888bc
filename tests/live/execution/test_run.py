"""What a run does about brokers that die and replicas that fall behind, on a simulated cluster."""

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
from partage.live.admin import snapshot
from partage.live.admin.states import Key
from partage.live.execution.job import Change, Job
from partage.live.execution.journal import Journal
from partage.live.execution.run import Interrupts, Outcome, Progress, Run
from partage.live.execution.wishes import Wishes, wish
from tests.live.execution.simulated import Simulated

MB = 10**6
RATE = MB
"""At which a partition of 10 MB takes ten seconds."""


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The simulation's clock is the only one."""
    monkeypatch.setattr(snapshot, "_SETTLING_SECONDS", 0.0)


class Trial:
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
        cut = tuple(map(tuple, waves or [[key] for key in keyed]))
        self.folder = folder
        self.job = Job(str(folder), "id", keyed, cut, lists)
        self.cluster = Simulated(lists, range(1, 7))
        self.told: list[Progress] = []
        self.interrupts = Interrupts()

    def run(self, throttle: Any = RATE, **options: Any) -> Outcome:
        with Journal.open(self.folder) as journal:
            run = Run(
                self.job,
                self.cluster,
                journal,
                throttle=throttle,
                tell=self.told.append,
                interrupts=self.interrupts,
                clock=self.cluster.clock,
                sleep=self._sleep,
                **options,
            )
            return run.go()

    def _sleep(self, seconds: float) -> None:
        assert self.cluster.moment < 3600, "it never ends"
        self.cluster.sleep(seconds)

    @property
    def notes(self) -> list[str]:
        return [one.note for one in self.told if one.note]

    def lists(self) -> dict[Key, tuple[int, ...]]:
        return {key: tuple(one.replicas) for key, one in self.cluster.partitions.items()}


def moves(*pairs: tuple[tuple[int, ...], tuple[int, ...]]) -> list[Change]:
    return [Change("t", number, *pair, 10 * MB) for number, pair in enumerate(pairs)]


@contextmanager
def untouched(trial: Trial) -> Iterator[None]:
    """Whatever happens, no throttle of ours is left on brokers that answer."""
    yield
    alive = {("broker", str(broker)) for broker in trial.cluster.alive}
    left = {w for w in trial.cluster.throttles if w[0] == "topic" or w in alive}
    assert left == set()


def test_all_is_well(tmp_path: Path) -> None:
    trial = Trial(tmp_path, moves(((1, 2), (3, 2)), ((1, 2), (2, 4)), ((1, 2), (2, 1))))
    with untouched(trial):
        assert trial.run() == Outcome("done")
    assert trial.lists() == {key: change.goal for key, change in trial.job.changes.items()}
    assert [one.leader for one in trial.cluster.partitions.values()] == [3, 2, 2]
    assert 20 <= trial.cluster.moment <= 40
    rates = [one.bytes_per_second for one in trial.told if one.bytes_per_second]
    assert rates
    assert all(rate == pytest.approx(RATE, rel=0.2) for rate in rates)


def test_wait(tmp_path: Path) -> None:
    trial = Trial(tmp_path, moves(((1, 2), (3, 2)), ((1, 2), (2, 4))))
    trial.cluster.at(5, lambda: trial.cluster.die(3))
    trial.cluster.at(300, lambda: trial.cluster.come_back(3))
    with untouched(trial):
        assert trial.run(on_failure="wait") == Outcome("done")
    assert "waiting for broker 3, which does not answer" in trial.notes
    assert trial.cluster.moment > 300


def test_stop(tmp_path: Path) -> None:
    trial = Trial(
        tmp_path,
        moves(((1, 2), (3, 2)), ((1, 2), (2, 4)), ((1, 2), (2, 5))),
        waves=[[("t", 0), ("t", 1)], [("t", 2)]],
    )
    for one in trial.cluster.partitions.values():
        one.size = 100e6
    trial.cluster.at(5, lambda: trial.cluster.die(3))
    with untouched(trial):
        outcome = trial.run(on_failure="stop")
    assert (outcome.state, outcome.waves_left, outcome.dead) == ("stopped", 2, [3])
    assert trial.lists() == {key: change.origin for key, change in trial.job.changes.items()}


def test_cancel_carries_on_with_the_rest(tmp_path: Path) -> None:
    trial = Trial(tmp_path, moves(((1, 2), (3, 2)), ((1, 2), (2, 4)), ((1, 2), (3, 1))))
    trial.cluster.at(5, lambda: trial.cluster.die(3))
    with untouched(trial):
        outcome = trial.run()
    assert outcome.problems == {
        "t-0": "broker 3 does not answer",
        "t-2": "broker 3 does not answer",
    }
    lists = trial.lists()
    assert lists["t", 1] == (2, 4)
    assert (lists["t", 0], lists["t", 2]) == ((1, 2), (1, 2))
    named = next(one for one in trial.told if one.note and "broker 3 does not" in one.note)
    assert named is not None
    assert trial.cluster.moment < 60


def test_a_restart_is_no_failure(tmp_path: Path) -> None:
    trial = Trial(tmp_path, moves(((1, 2), (3, 2)), ((1, 2), (3, 1))))
    # in the middle of a wave, and between two
    for moment in (4, 12, 20):
        trial.cluster.at(moment, lambda: trial.cluster.die(3))
        trial.cluster.at(moment + 6, lambda: trial.cluster.come_back(3))
    assert trial.run() == Outcome("done")


def test_the_last_one_that_has_the_data(tmp_path: Path) -> None:
    trial = Trial(tmp_path, moves(((1,), (3,)), ((2,), (4,))), waves=[[("t", 0), ("t", 1)]])
    trial.cluster.at(3, lambda: trial.cluster.die(1))
    outcome = trial.run()
    assert outcome.problems["t-0"] == "broker 1 does not answer"
    assert trial.lists()["t", 1] == (4,)


def test_planned_anew(tmp_path: Path) -> None:
    trial = Trial(tmp_path, moves(((1, 2), (3, 2)), ((1, 2), (2, 4)), ((2, 1), (3, 1))))
    write_plan(trial)
    trial.cluster.at(5, lambda: trial.cluster.die(3))
    with untouched(trial):
        outcome = trial.run(on_failure="replan")
    assert outcome.state == "done"
    assert outcome.problems == {}
    lists = trial.lists()
    assert lists["t", 1] == (2, 4)
    assert all(3 not in replicas for replicas in lists.values())
    assert all(len(replicas) == 2 for replicas in lists.values())
    assert (tmp_path / "replan-1.json").exists()
    trial.cluster.come_back(3)
    trial.job = Job.read(tmp_path).back()
    assert trial.run().state == "done"
    assert trial.lists() == {("t", 0): (1, 2), ("t", 1): (1, 2), ("t", 2): (2, 1)}


def test_planned_anew_it_goes_on_though_others_miss_the_dead_broker(tmp_path: Path) -> None:
    """Once the plan is about it no more, too: it may never come back."""
    changes = moves(((1, 2), (3, 2)), ((1, 2), (4, 2)), ((2, 1), (4, 1)))
    trial = Trial(tmp_path, changes, {("other", 0): (3, 5)})
    write_plan(trial)
    trial.cluster.at(5, lambda: trial.cluster.die(3))
    assert trial.run(on_failure="replan").state == "done"
    assert all(3 not in replicas for key, replicas in trial.lists().items() if key[0] == "t")


def test_planned_anew_a_later_run_goes_on_without_the_dead_broker_too(tmp_path: Path) -> None:
    changes = moves(((1, 2), (3, 2)), ((1, 2), (4, 2)), ((2, 1), (4, 1)))
    trial = Trial(tmp_path, changes, {("other", 0): (3, 5)})
    write_plan(trial)
    trial.cluster.at(5, lambda: trial.cluster.die(3))
    trial.cluster.at(20, trial.interrupts)
    assert trial.run(on_failure="replan").state == "stopped"
    trial.job = Job.read(tmp_path)
    assert 3 not in trial.job.involved
    trial.interrupts.count = 0
    assert trial.run().state == "done"


def test_two_brokers_that_die_one_after_the_other(tmp_path: Path) -> None:
    trial = Trial(tmp_path, moves(*[((1, 2), (3, 4)) for _ in range(4)]))
    write_plan(trial)
    trial.cluster.at(5, lambda: trial.cluster.die(3))
    trial.cluster.at(20, lambda: trial.cluster.die(4))
    outcome = trial.run(on_failure="replan")
    assert len(list(tmp_path.glob("replan-*.json"))) == 2
    assert outcome.state == "done"
    assert {b for replicas in trial.lists().values() for b in replicas} <= {1, 2, 5, 6}


def test_no_plan_without_it(tmp_path: Path) -> None:
    trial = Trial(tmp_path, moves(((1, 2, 4, 5, 6), (3, 1, 2, 4, 5, 6))))
    write_plan(trial)
    trial.cluster.at(5, lambda: trial.cluster.die(3))
    outcome = trial.run(on_failure="replan")
    assert outcome.problems == {"t-0": "broker 3 does not answer"}
    assert any("without broker 3 there is no plan: t-0 needs 6" in note for note in trial.notes)
    assert trial.lists() == {("t", 0): (1, 2, 4, 5, 6)}


def test_a_rollback_is_not_planned_anew(tmp_path: Path) -> None:
    trial = Trial(tmp_path, moves(((1, 2), (3, 2))))
    trial.job = trial.job.back()
    with pytest.raises(InputError, match="'replan': expected one of cancel, wait, stop"):
        trial.run(on_failure="replan")


def write_plan(trial: Trial) -> None:
    """The directory that the job would be read from again."""
    from partage.brokers.directory import fingerprint

    (trial.folder / "waves").mkdir()
    changes = sorted(trial.job.changes.items())
    for number, wave in enumerate(trial.job.waves, 1):
        entries = [
            {"topic": t, "partition": n, "replicas": list(trial.job.changes[t, n].goal)}
            for t, n in wave
        ]
        (trial.folder / f"waves/{number:03d}.json").write_text(
            to_json({"version": 1, "partitions": entries})
        )
    value: dict[str, Any] = {
        "cluster_id": "id",
        "options": {},
        "topics": ["t"],
        "brokers": [{"id": b, "excluded": False, "alive": True} for b in trial.cluster.brokers],
        "partitions": {
            "topic": [0] * len(changes),
            "partition": [number for (_, number), _ in changes],
            "size_bytes": [10 * MB] * len(changes),
            "bytes_per_second": None,
            "before": [list(change.origin) for _, change in changes],
            "after": [list(change.goal) for _, change in changes],
        },
        "waves": [{"file": f"waves/{n:03d}.json"} for n in range(1, len(trial.job.waves) + 1)],
    }
    value["fingerprint"] = fingerprint(value)
    (trial.folder / "plan.json").write_text(to_json(value))


OTHERS = {("other", 0): (5, 6), ("other", 1): (6, 5)}


def test_a_wave_goes_slowly_while_others_are_out_of_sync(tmp_path: Path) -> None:
    trial = Trial(tmp_path, moves(((1, 2), (3, 2)), ((1, 2), (4, 2))), OTHERS)
    trial.cluster.partitions["t", 0].size = 100e6
    trial.cluster.least_in_sync = 2
    trial.cluster.at(10, lambda: trial.cluster.die(6))
    trial.cluster.at(40, lambda: trial.cluster.come_back(6))
    # while the first wave ends, and before the second
    trial.cluster.at(55, lambda: trial.cluster.die(6))
    trial.cluster.at(100, lambda: trial.cluster.come_back(6))
    with untouched(trial):
        assert trial.run(throttle=4 * MB) == Outcome("done")
    (slowed, *_) = (note for note in trial.notes if note.startswith("slowed down"))
    assert slowed == (
        "slowed down to 1,000,000 bytes per second: 2 partitions are out of sync, other-0; "
        "2 below min.insync.replicas, other-0"
    )
    assert "all are in sync: no longer slowed down" in trial.notes
    assert {one.throttle for one in trial.told} >= {4 * MB, MB}


def test_no_wave_begins_while_others_are_out_of_sync(tmp_path: Path) -> None:
    trial = Trial(tmp_path, moves(((1, 2), (3, 2))), OTHERS)
    trial.cluster.die(5)
    trial.cluster.at(50, lambda: trial.cluster.come_back(5))
    assert trial.run() == Outcome("done")
    assert trial.notes[0] == "waiting: 2 partitions are out of sync, other-0"
    assert trial.cluster.submitted
    assert trial.cluster.moment > 60


def test_without_a_throttle_one_is_set_for_that_time(tmp_path: Path) -> None:
    trial = Trial(tmp_path, moves(((1, 2), (3, 2))), OTHERS)
    trial.cluster.settings["broker", "3"] = {"follower.replication.throttled.rate": "100000"}
    before = dict(trial.cluster.throttles)
    trial.cluster.at(10, lambda: trial.cluster.die(6))
    trial.cluster.at(40, lambda: trial.cluster.come_back(6))
    assert trial.run(throttle=None) == Outcome("done")
    assert trial.cluster.throttles == before
    assert {one.throttle for one in trial.told} == {None, MB}


def test_who_may_not_set_one_is_told(tmp_path: Path) -> None:
    trial = Trial(tmp_path, moves(((1, 2), (3, 2))), OTHERS)
    trial.cluster.settings["broker", "3"] = {"follower.replication.throttled.rate": "200000"}
    trial.cluster.forbidden = True
    trial.cluster.at(10, lambda: trial.cluster.die(6))
    trial.cluster.at(30, lambda: trial.cluster.come_back(6))
    assert trial.run(throttle=None) == Outcome("done")
    said = trial.notes[0]
    assert said.startswith("cannot be slowed down: not allowed: missing ACL")
    assert "AlterConfigs on the cluster" in said


def test_auto_speeds_up_while_all_is_well(tmp_path: Path) -> None:
    trial = Trial(tmp_path, moves(((1, 2), (3, 2))))
    trial.cluster.partitions["t", 0].size = 20e9
    with untouched(trial):
        assert trial.run(throttle="auto") == Outcome("done")
    rates = [one.throttle for one in trial.told if one.throttle]
    assert rates == sorted(rates)
    assert rates[0] == 11 * MB
    assert rates[-1] > 80 * MB


def test_wishes_are_followed(tmp_path: Path) -> None:
    trial = Trial(tmp_path, moves(*[((1, 2), (2, 3 + number)) for number in range(4)]))
    trial.cluster.at(5, lambda: wish(str(tmp_path), Wishes("auto", 4)))
    with untouched(trial):
        assert trial.run() == Outcome("done")
    assert trial.notes == [
        "the throttle is auto now",
        "the concurrency is 4 now: 1 waves are left",
    ]
    assert max(map(len, trial.cluster.submitted)) == 3


SET_AGAIN = "the throttle had been taken off and is set again"


def test_a_throttle_that_was_taken_off_is_set_again(tmp_path: Path) -> None:
    """Though the controller does not answer at that moment."""
    trial = Trial(tmp_path, moves(((1, 2), (3, 2))))
    alter, refused = trial.cluster.alter_configs, ["topic"]

    def answer(resources: Any, **options: Any) -> Any:
        kind = resources[0].resource_type.name.lower()
        if trial.cluster.moment >= 5 and kind in refused:
            refused.remove(kind)
            return {kind: {"t": str(kafka_errors.NotControllerError("not this one"))}}
        return alter(resources, **options)

    trial.cluster.alter_configs = answer  # type: ignore[method-assign]
    trial.cluster.at(5, lambda: trial.cluster.settings["topic", "t"].clear())
    with untouched(trial):
        assert trial.run() == Outcome("done")
    assert refused == []
    assert trial.notes == [SET_AGAIN]


def test_what_cannot_be_read_was_not_taken_off(tmp_path: Path) -> None:
    """Not the throttles of topics, nor those of broker 3; what else is taken off is set again."""
    trial = Trial(tmp_path, moves(((1, 2), (3, 2))))
    describe, alter = trial.cluster.describe_configs, trial.cluster.alter_configs
    altered: list[str] = []

    def unread(resources: Any, config_filter: str) -> Any:
        throttles = any("throttled" in key for key in resources[0].configs)
        if throttles and resources[0].name in ("t", "3") and 5 <= trial.cluster.moment < 9:
            raise kafka_errors.KafkaTimeoutError
        return describe(resources, config_filter=config_filter)

    def noted(resources: Any, **options: Any) -> Any:
        if 5 <= trial.cluster.moment < 9:
            altered.extend(resource.name for resource in resources)
        return alter(resources, **options)

    trial.cluster.describe_configs = unread  # type: ignore[method-assign]
    trial.cluster.alter_configs = noted  # type: ignore[method-assign]
    trial.cluster.at(7, lambda: trial.cluster.settings["broker", "1"].clear())
    with untouched(trial):
        assert trial.run() == Outcome("done")
    assert altered == ["1"]
    assert trial.notes == [SET_AGAIN]


@pytest.mark.parametrize("begins", [0, 1, 3, 9, 10, 11, 12, 20, 21, 22, 23])
def test_the_controller_is_gone_for_a_while(tmp_path: Path, begins: float) -> None:
    trial = Trial(tmp_path, moves(((1, 2), (3, 2)), ((1, 2), (2, 4))))
    trial.cluster.settings["topic", "t"] = {"leader.replication.throttled.replicas": "0:9"}
    before = dict(trial.cluster.throttles)

    def gone(there: bool) -> None:
        trial.cluster.controlled = there

    if begins:
        trial.cluster.at(begins, lambda: gone(False))
    else:
        gone(False)
    trial.cluster.at(begins + 15, lambda: gone(True))
    assert trial.run() == Outcome("done")
    assert trial.lists() == {key: change.goal for key, change in trial.job.changes.items()}
    assert trial.cluster.throttles == before


def test_an_interrupt_in_the_last_wave_changes_nothing(tmp_path: Path) -> None:
    trial = Trial(tmp_path, moves(((1, 2), (3, 2)), ((1, 2), (4, 2))))
    trial.cluster.at(15, trial.interrupts)
    assert trial.run() == Outcome("done")


def test_an_interrupt_leaves_the_later_waves(tmp_path: Path) -> None:
    trial = Trial(tmp_path, moves(((1, 2), (3, 2)), ((1, 2), (4, 2)), ((1, 2), (5, 2))))
    trial.cluster.at(5, trial.interrupts)
    outcome = trial.run()
    assert (outcome.state, outcome.waves_left) == ("stopped", 2)
    assert trial.lists()["t", 0] == (3, 2)


def test_a_leader_that_is_not_in_sync_is_told(tmp_path: Path) -> None:
    trial = Trial(tmp_path, moves(((1, 2), (3, 2)), ((1, 2), (2, 4))))
    trial.cluster.at(15, lambda: trial.cluster.die(3))
    outcome = trial.run()
    assert outcome.state == "differs"
    assert outcome.problems == {"t-0": "is led by 2, not 3: that is not in sync"}
