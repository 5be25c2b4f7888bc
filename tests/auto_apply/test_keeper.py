"""What the keeper does after judgements, on a fake cluster with a virtual clock."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyspark")
pytest.importorskip("kafka")

from kafka.errors import ClusterAuthorizationFailedError, KafkaConnectionError

import partage
from partage.auto_apply import keeper as module
from partage.auto_apply.ledger import HALTED, LEDGER
from partage.auto_apply.relief import relief
from partage.brokers.check import check
from partage.errors import InputError
from tests.auto_apply.conftest import MB, RACKS, Bench, profile


class Killed(BaseException):
    """Ends a process at once."""


@pytest.mark.long
def test_a_hot_broker_is_cooled_within_the_budget_and_can_be_rolled_back(bench: Bench) -> None:
    before = bench.cluster.replicas
    assert max(bench.led().values()) == 6000
    bench.keeper().judged(bench.judged())
    assert bench.states() == ["started", "ended"]
    started = next(event for event in bench.events if event["event"] == "apply")
    assert started["fairness"] == 6000 / 1750
    assert max(bench.led().values()) == started["fairness_after"] * 1750 <= 1.4 * 1750
    assert 0 < started["bytes"] == started["moves"] * 10 * MB <= 100 * MB
    assert started["bytes_left"] == bench.last()["bytes_left"] == 100 * MB - started["bytes"]
    (run,) = bench.ledger.runs
    assert (run.state, run.bytes) == ("done", started["bytes"])
    assert bench.cluster.throttles == {}
    assert check(bench.path(run)).sound
    cluster = bench.cluster
    outcome = partage.rollback(
        bench.path(run), admin=cluster.admin, clock=cluster.clock, sleep=cluster.sleep
    )
    assert outcome.state == "done"
    assert cluster.replicas == before


def test_a_dry_run_goes_through_the_preflight_and_changes_nothing(bench: Bench) -> None:
    cluster = bench.cluster
    before = cluster.replicas, cluster.leaders
    keeper = bench.keeper(act=False)
    keeper.judged(bench.judged())
    keeper.judged(bench.judged())  # said once
    assert bench.states() == ["would"]
    assert (cluster.replicas, cluster.leaders, cluster.requests) == (*before, [])
    assert cluster.configs == {}
    assert not (bench.directory / LEDGER).exists()
    plan = Path(bench.last()["plan"])
    assert check(plan).sound
    assert not (plan / "journal.jsonl").exists()
    # the plan that is shown is the plan that is applied
    bench.keeper().judged(bench.judged())
    assert bench.ledger.runs[0].bytes == bench.events[-1]["bytes"]


@pytest.mark.long
def test_leaders_alone_cost_no_bytes(bench: Bench) -> None:
    held = {key: sorted(own) for key, own in bench.cluster.replicas.items()}
    bench.keeper(moves=False).judged(bench.judged())
    assert bench.states() == ["started", "ended"]
    assert (bench.last()["moves"], bench.last()["bytes"], bench.last()["bytes_left"]) == (
        0,
        0,
        None,
    )
    assert max(bench.led().values()) < 6000
    assert {key: sorted(own) for key, own in bench.cluster.replicas.items()} == held


@pytest.mark.long
def test_a_small_budget_goes_as_far_as_it_can(bench: Bench) -> None:
    bench.keeper(budget=10 * MB).judged(bench.judged())
    assert bench.states() == ["started", "ended"]
    assert bench.last()["bytes"] <= 10 * MB
    assert 1.4 * 1750 < max(bench.led().values()) < 6000


@pytest.mark.long
def test_an_exhausted_budget_only_alerts_until_it_is_back(bench: Bench) -> None:
    bench.keeper(act=False).judged(bench.judged())
    budget = bench.last()["bytes"]
    bench.events.clear()
    keeper = bench.keeper(budget=budget)
    keeper.judged(bench.judged())
    assert bench.last()["bytes_left"] == 0
    bench.rates[12:] = [6000.0, 6000.0]  # another broker is hot
    placed = bench.cluster.replicas
    keeper.judged(bench.judged())
    assert bench.states() == ["started", "ended"], "its effect is not measured yet"
    for _ in range(3):
        bench.later(1)
        keeper.judged(bench.judged())
    bench.keeper(budget=budget).judged(bench.judged())  # a restart gives nothing back
    assert bench.states() == ["started", "ended", "budget", "budget"]
    assert bench.cluster.replicas == placed
    bench.later(22)
    keeper.judged(bench.judged())
    assert bench.states()[4:] == ["started", "ended"]


@pytest.mark.long
def test_it_does_not_oscillate(bench: Bench) -> None:
    """Whatever the load does, a plan comes only after the effect of the last one is measured."""
    keeper = bench.keeper(budget=1000 * MB)
    for step in range(12):
        bench.rates = bench.rates[1:] + bench.rates[:1]
        keeper.judged(bench.judged())
        bench.later(0.25)
        assert bench.states().count("started") <= 1 + step // 4


@pytest.mark.long
def test_hours_begin_and_end_between_waves(bench: Bench) -> None:
    keeper = bench.keeper(hours="22:00-22:01", budget=1000 * MB, throttle=400_000)
    keeper.judged(bench.judged())
    assert bench.states() == ["hours"]
    bench.at_ten()
    keeper.judged(bench.judged())
    assert bench.states() == ["hours", "started", "stopped"]
    assert bench.last()["waves_left"] > 0
    assert bench.cluster.reassigning == []
    assert bench.cluster.throttles == {}
    keeper.judged(bench.judged())
    assert len(bench.states()) == 3, "not before the hours begin again"
    for _ in range(9):
        bench.at_ten()
        keeper.judged(bench.judged(unfair=False))
        if bench.states()[-1] == "ended":
            break
    assert set(bench.states()[3:-1]) <= {"resumed", "stopped"}
    assert [one.state for one in bench.ledger.runs] == ["done"]


@pytest.mark.long
def test_the_end_of_the_watch_stops_after_the_wave_and_the_next_start_resumes(bench: Bench) -> None:
    bench.cluster.at(5, lambda: setattr(bench, "stopping", True))
    bench.keeper(throttle=400_000).judged(bench.judged())
    assert bench.states() == ["started", "stopped"]
    notes = [event.get("note") for event in bench.events if event["event"] == "progress"]
    assert "finishing this wave, then it stops" in notes, "a second signal ends the watch at once"
    bench.stopping = False
    spent = bench.ledger.runs[0].bytes
    keeper = bench.keeper()
    keeper.begin()
    assert bench.states() == ["started", "stopped"], "in order: it can wait for a judgement"
    keeper.judged(bench.judged(unfair=False))
    assert bench.states()[2:] == ["resumed", "ended"]
    assert [(one.state, one.bytes) for one in bench.ledger.runs] == [("done", spent)]


@pytest.mark.long
@pytest.mark.parametrize("moment", ["counted", "moving"])
def test_after_a_kill_the_plan_is_resumed_before_anything_else(bench: Bench, moment: str) -> None:
    def emit(event: dict[str, Any]) -> None:
        bench.events.append(event)
        if event["event"] == ("apply" if moment == "counted" else "progress"):
            raise Killed

    with pytest.raises(Killed):
        bench.keeper(emit=emit).judged(bench.judged())
    (run,) = bench.ledger.runs
    assert run.state == "running"
    bench.keeper(hours="01:00-02:00").begin()  # what is on its way cannot wait
    bench.keeper().judged(bench.judged(unfair=False))
    assert [(one.plan, one.bytes) for one in bench.ledger.runs] == [(run.plan, run.bytes)]
    assert bench.cluster.throttles == {}
    assert max(bench.led().values()) <= 1.4 * 1750


@pytest.mark.long
def test_a_plan_that_a_person_rolled_back_is_not_resumed(bench: Bench) -> None:
    before = bench.cluster.replicas
    bench.cluster.at(5, lambda: setattr(bench, "stopping", True))
    bench.keeper(throttle=400_000).judged(bench.judged())
    bench.stopping = False
    (run,) = bench.ledger.runs
    cluster = bench.cluster
    partage.rollback(bench.path(run), admin=cluster.admin, clock=cluster.clock, sleep=cluster.sleep)
    bench.keeper().judged(bench.judged())
    assert bench.states()[2:] == ["rolled back"]
    assert cluster.replicas == before
    assert bench.ledger.runs[0].bytes == run.bytes, "it was spent"


@pytest.mark.long
def test_a_dead_broker_halts_until_a_person_removes_the_file(bench: Bench) -> None:
    def kill() -> None:
        bench.cluster.stop_broker(4)

    bench.cluster.at(5, kill)
    bench.keeper(throttle=400_000).judged(bench.judged())
    assert bench.states() == ["started", "failed"]
    assert "does not answer" in bench.last()["problem"]
    halted = bench.directory / HALTED
    assert bench.last()["remove"] == str(halted)
    assert json.loads(halted.read_text())["plan"] == str(bench.path(bench.ledger.runs[0]))
    bench.cluster.start_broker(4)
    placed = bench.cluster.replicas
    for _ in range(2):  # also after a restart
        bench.later(30)
        keeper = bench.keeper()
        keeper.begin()
        keeper.judged(bench.judged())
    assert bench.states()[2:] == ["halted", "halted"]
    assert bench.cluster.replicas == placed
    halted.unlink()
    keeper.judged(bench.judged())
    assert bench.states()[4:] == ["started", "ended"]


def test_a_throttle_that_a_dead_broker_keeps_is_named(bench: Bench) -> None:
    """The next plan would take it for the broker's own, and set it again at its end."""
    own = {"follower.replication.throttled.rate": "70000000"}
    bench.cluster.configs["broker", "4"] = dict(own)
    bench.cluster.at(30, lambda: bench.cluster.stop_broker(4))
    bench.keeper(throttle=400_000).judged(bench.judged())
    path = bench.path(bench.ledger.runs[0])
    problem = bench.last()["problem"]
    assert "broker 4 does not answer; the throttle of broker 4 is not restored" in problem
    assert f"partage rollback {path} or partage apply {path}" in problem
    assert json.loads((bench.directory / HALTED).read_text())["problem"] == problem
    bench.cluster.start_broker(4)
    assert bench.cluster.configs["broker", "4"] != own
    cluster = bench.cluster
    partage.rollback(path, admin=cluster.admin, clock=cluster.clock, sleep=cluster.sleep)
    assert cluster.configs["broker", "4"] == own


def test_a_cluster_that_is_not_ready_is_left_alone(bench: Bench) -> None:
    cluster = bench.cluster
    cluster.configs["broker", "4"] = {"follower.replication.throttled.rate": "1"}
    cluster.reassign(("t", 12), [2, 4])
    bench.keeper().judged(bench.judged())
    assert bench.states() == ["reassignment in progress"]
    assert "1 partition" in bench.last()["problem"]
    cluster.reassign(("t", 12), None)
    cluster.stop_broker(4)
    bench.keeper().judged(bench.judged())
    assert bench.states()[1:] == ["unhealthy cluster"]
    assert cluster.requests == []
    assert bench.ledger.runs == ()


def test_a_plan_with_a_defect_is_an_alert(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    def damaged(plan: str) -> Any:
        (Path(plan) / "rollback.json").write_text("{}")
        return check(plan)

    monkeypatch.setattr(module, "check", damaged)
    bench.keeper().judged(bench.judged())
    assert bench.states() == ["check"]
    assert bench.cluster.requests == []
    assert bench.ledger.runs == ()


def test_a_failed_preflight_is_an_alert(bench: Bench) -> None:
    bench.keeper(throttle=1).judged(bench.judged())
    assert bench.states() == ["preflight"]
    assert "a throttle of 1 bytes per second is too low" in bench.last()["problem"]
    assert bench.cluster.requests == []
    assert bench.ledger.runs == ()


@pytest.mark.long
@pytest.mark.parametrize("racks", [{"a"}, {"b"}, {"a", "b"}])
def test_racks(bench: Bench, racks: set[str]) -> None:
    before, led = bench.cluster.replicas, bench.cluster.leaders
    bench.keeper(racks=racks).judged(bench.judged())
    assert bench.states() == ["started", "ended"]
    for key, own in bench.cluster.replicas.items():
        assert {RACKS[broker] for broker in set(own) - set(before[key])} <= racks
        leader = bench.cluster.leaders[key]
        assert leader is not None
        assert leader == led[key] or RACKS[leader] in racks


@pytest.mark.long
def test_nothing_within_the_racks(bench: Bench) -> None:
    bench.keeper(racks={"c"}).judged(bench.judged())
    assert bench.states() == ["no plan"]
    assert "within the racks" in bench.last()["problem"]


def test_a_damaged_ledger_is_refused(bench: Bench) -> None:
    (bench.directory / LEDGER).write_text('{"format_version": 1, "runs": [{}]}')
    with pytest.raises(InputError, match=LEDGER):
        bench.keeper()


@pytest.mark.long
def test_a_ledger_that_was_changed_or_is_missing_gives_nothing_back(bench: Bench) -> None:
    bench.keeper().judged(bench.judged())
    ledger, (run,) = bench.directory / LEDGER, bench.ledger.runs
    text = ledger.read_text()
    ledger.write_text(text.replace(f'"bytes": {run.bytes}', '"bytes": 0'))
    with pytest.raises(InputError, match="was changed since partage wrote it"):
        bench.keeper()
    ledger.unlink()
    with pytest.raises(InputError, match=rf"is missing, but .*{run.plan} was applied"):
        bench.keeper().begin()
    ledger.write_text(text)
    bench.keeper().begin()
    assert bench.ledger.runs == (run,)


@pytest.mark.long
def test_what_another_watch_spent_until_it_ended_counts(bench: Bench) -> None:
    """A watch that starts while another one ends waits for nothing: it has read the ledger."""
    next_one = bench.keeper(budget=50 * MB)
    bench.keeper(budget=50 * MB).judged(bench.judged())
    (run,) = bench.ledger.runs
    bench.later(1)
    bench.rates[12:] = [6000.0, 6000.0]
    next_one.begin()
    next_one.judged(bench.judged())
    assert bench.ledger.runs[0] == run
    assert sum(one.bytes for one in bench.ledger.runs) <= 50 * MB


@pytest.mark.long
def test_the_directory_of_the_watch_may_move(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    bench.directory = Path("watch")
    (bench.directory / "plans").mkdir(parents=True)
    bench.cluster.at(5, lambda: setattr(bench, "stopping", True))
    bench.keeper(throttle=400_000).judged(bench.judged())
    bench.stopping = False
    Path("watch").rename("moved")
    bench.directory = tmp_path / "moved"
    keeper = bench.keeper()
    keeper.begin()
    keeper.judged(bench.judged())
    assert bench.states() == ["started", "stopped", "resumed", "ended"]


CLAIM = {("broker", ""): {"partage.run.host.1": "1"}}


@pytest.mark.long
@pytest.mark.parametrize("unfinished", [False, True])
def test_while_another_plan_is_applied_nothing_begins_and_nothing_counts(
    bench: Bench, unfinished: bool
) -> None:
    if unfinished:
        bench.cluster.at(5, lambda: setattr(bench, "stopping", True))
        bench.keeper(throttle=400_000).judged(bench.judged())
        bench.stopping = False
    before, requests = bench.ledger.runs, list(bench.cluster.requests)
    bench.events.clear()
    bench.cluster.configs.update(CLAIM)
    keeper = bench.keeper()
    keeper.judged(bench.judged())
    assert bench.states() == ["unfinished plan" if unfinished else "preflight"]
    assert "another plan is being applied to this cluster, from host host" in str(bench.last())
    assert bench.ledger.runs == before
    assert bench.cluster.requests == requests
    assert not (bench.directory / HALTED).exists()
    del bench.cluster.configs["broker", ""]
    bench.later(1)
    keeper.judged(bench.judged())
    assert bench.states()[1:] == ["resumed" if unfinished else "started", "ended"]


@pytest.mark.long
def test_an_unreachable_cluster_does_not_end_a_plan(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.cluster.at(5, lambda: setattr(bench, "stopping", True))
    bench.keeper(throttle=400_000).judged(bench.judged())
    bench.stopping = False

    def unreachable() -> Any:
        raise KafkaConnectionError

    keeper = bench.keeper()
    with monkeypatch.context() as patched:
        patched.setattr(bench.cluster.admin, "describe_cluster", unreachable)
        keeper.judged(bench.judged())
    assert bench.states()[2:] == ["unfinished plan"]
    keeper.judged(bench.judged())
    assert bench.states()[3:] == ["resumed", "ended"]


@pytest.mark.long
def test_what_kafka_refuses_after_the_start_halts(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any) -> Any:
        raise ClusterAuthorizationFailedError

    monkeypatch.setattr(bench.cluster.admin, "alter_partition_reassignments", refuse)
    bench.keeper().judged(bench.judged())
    assert bench.states() == ["started", "failed"]
    assert "missing ACL" in bench.last()["problem"]
    assert [one.state for one in bench.ledger.runs] == ["failed"]


@pytest.mark.long
@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"moves": False}, "moves replicas"),
        ({"budget": 10 * MB}, "more than a day's budget"),
        ({"racks": {"c"}}, "which is in another rack"),
    ],
)
def test_an_unfinished_plan_is_not_resumed_against_new_limits(
    bench: Bench, options: dict[str, Any], problem: str
) -> None:
    bench.cluster.at(5, lambda: setattr(bench, "stopping", True))
    bench.keeper(throttle=400_000).judged(bench.judged())
    bench.stopping = False
    requests = list(bench.cluster.requests)
    keeper = bench.keeper(**options)
    keeper.begin()
    keeper.judged(bench.judged())
    assert bench.states()[2:] == ["unfinished plan"]
    assert problem in bench.last()["problem"]
    assert bench.cluster.requests == requests
    bench.keeper(racks={"a", "b"}).judged(bench.judged())
    assert bench.states()[3:] == ["resumed", "ended"]


def test_hours_that_end_during_the_checks_let_nothing_begin(bench: Bench) -> None:
    """Where rates are not in the plan, the preflight measures them; so may large clusters take."""
    bench.at_ten()
    bench.cluster.sleep(49.5)
    bench.keeper(hours="22:00-22:01").judged(bench.judged())
    assert bench.states() == ["hours"]
    assert bench.ledger.runs == ()
    assert bench.cluster.requests == []


def test_a_partition_of_unknown_size_does_not_move(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It would not count."""
    known = bench.cluster.admin.describe_log_dirs

    def without(*given: Any, **more: Any) -> Any:
        found = known(*given, **more)
        for log_dir in found[0]["log_dirs"]:
            log_dir["topics"] = [
                one
                for one in log_dir["topics"]
                if one["partitions"][0]["partition_index"] not in range(8)
            ]
        return found

    monkeypatch.setattr(bench.cluster.admin, "describe_log_dirs", without)
    bench.keeper().judged(bench.judged())
    for run in bench.ledger.runs:
        assert run.bytes == run.moves * 10 * MB


@pytest.mark.long
def test_a_load_that_no_plan_makes_fair_is_left(bench: Bench) -> None:
    bench.rates = [9000.0] + [1.0] * 13
    bench.keeper().judged(bench.judged())
    assert bench.states() == ["no plan"]


def test_relief_of_an_even_load_is_none(bench: Bench) -> None:
    cluster = partage.snapshot(admin=bench.cluster.admin, sleep=bench.cluster.sleep)
    even = relief(cluster, profile([1.0] * 14), 9.0, moves=True, most_bytes=MB)
    assert even is None
