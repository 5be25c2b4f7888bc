"""Churn: random events of members."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from dataclasses import asdict
from itertools import pairwise

import numpy as np
import pytest

pytest.importorskip("pyspark")
from partage.consumers.scenario import Scenario
from partage.consumers.simulation import simulate
from partage.pipeline.what_ifs.churn import Churn
from tests.pipeline.what_ifs.cases import CASES, scenario


@pytest.mark.parametrize("name", ["deploy", "restart", "strategies", "idle", "failover"])
def test_futures_are_scenarios(name: str) -> None:
    base = scenario(name)
    churn = Churn(base, CASES, runs=1, events=6)
    seen = Counter[str]()
    for run in range(60):
        future, happened = churn.future(run)
        seen.update(happened)
        assert 1 <= sum(happened.values()) <= 6
        # the strict reader of scenarios takes it
        assert Scenario.from_json(json.loads(json.dumps(asdict(future)))) == future
        assert future.until >= base.until
        ends = [a.ends_at for a in future.members if a.ends_at < math.inf]
        assert all(end <= future.until for end in ends if end > base.until)
        more = [a for a in future.members if re.search(r"-more(-\d+)?$", a.id)]
        assert len(more) == happened["joins"]
        assert sum(a.crashes_at is not None for a in future.members) <= (
            happened["crashes"] + sum(a.crashes_at is not None for a in base.members)
        )
        if not happened["restarts"]:
            assert len(future.members) == len(base.members) + happened["joins"]
        # a static member is never two processes at a time
        for instance in {a.instance_id for a in future.members} - {None}:
            lives = sorted(
                (a.joins_at, a.ends_at) for a in future.members if a.instance_id == instance
            )
            assert all(one[1] <= other[0] for one, other in pairwise(lives))
    assert all(seen.values())
    assert churn.future(7) == Churn(base, CASES[:1], runs=99, events=6).future(7)
    assert churn.future(7) != Churn(base, CASES, runs=1, events=6, seed=1).future(7)


@pytest.mark.parametrize("until", [600, 30])
def test_a_rolling_restart_goes_from_member_to_member(until: float) -> None:
    members = [{"id": name, "topics": ["t"]} for name in "abc"]
    members[1]["instance_id"] = "static"
    base = Scenario.from_json({"topics": {"t": 3}, "members": members, "until": until})
    runs = [Churn(base, CASES, runs=1, events=1).future(run) for run in range(40)]
    restarts = [future for future, happened in runs if happened["restarts"]]
    assert len(restarts) > 3
    for future in restarts:
        before, after = future.members[:3], future.members[3:]
        assert [a.id for a in before] == ["a", "b", "c"]
        assert [a.id for a in after] == ["a-again", "b-again", "c-again"]
        assert [a.instance_id for a in after] == [None, "static", None]
        leaves = [a.leaves_at or 0 for a in before]
        away = [a.joins_at - left for a, left in zip(after, leaves, strict=True)]
        assert away == pytest.approx([away[0]] * 3, abs=1e-6)
        assert 5 <= away[0] <= 30
        step = min(away[0], until / 3)  # one after the other, or sooner to be done in time
        assert np.diff(leaves) == pytest.approx([step, step], abs=2e-3)
        assert all(a.ends_at == math.inf for a in after)


def test_the_mode_of_each_assignor_is_reported() -> None:
    cases = (("range", "eager"), ("sticky", "eager"), ("uniform", "consumer"))
    base = scenario("deploy")
    about = Churn(base, cases, runs=1).about({"violations": 0})
    assert about["mode"] == {"sticky": "optimal", "uniform": "java"}
    about = Churn(base, cases, runs=1, mode="java-3.7.0").about({"violations": 0})
    assert about["mode"] == {"sticky": "java-3.7.0", "uniform": "java"}


def test_a_run_is_the_simulation_of_its_future() -> None:
    churn = Churn(scenario("deploy"), CASES, runs=3, seed=5)
    for row in (0, 3):
        (found,) = churn.of_row(row)
        run, case = divmod(row, 2)
        future, happened = churn.future(run)
        played = simulate(future, *CASES[case])
        assert found["run"] == run
        assert {name: found[name] for name in happened} == happened
        assert found["moved"] == played.moved
        assert found["rounds"] == len(played.rounds)
        assert found["unowned_partition_seconds"] == pytest.approx(played.unowned, abs=1e-3)
        paused = played.pauses.partition_seconds
        assert found["paused_partition_seconds"] == pytest.approx(paused, abs=1e-3)
        waits = [lag for curve in played.to_json()["lag"].values() for _, lag in curve]
        assert found["lag_peak"] == max(waits)
        assert found["violations"] == 0
    silent = Churn(scenario("failover"), CASES, runs=1).of_row(0)
    assert silent[0]["lag_peak"] is None
