"""What-ifs: a row is what a plain count says, and does not depend on where it is worked out."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from dataclasses import asdict
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("pyspark")

import pyarrow.parquet as pq
from hypothesis import given, settings
from hypothesis import strategies as st

from partage.brokers.compare import compare
from partage.brokers.plan import problem_of
from partage.cluster import Cluster
from partage.consumers.scenario import Scenario
from partage.consumers.simulation import simulate
from partage.errors import InputError
from partage.pipeline.sinks import Sink
from partage.pipeline.what_ifs import MARKER, explore, percentiles
from partage.pipeline.what_ifs.churn import Churn
from partage.pipeline.what_ifs.failures import Failures
from partage.pipeline.what_ifs.growth import Growth
from partage.pipeline.what_ifs.placements import Placements
from tests.bundled import bundled, grown
from tests.matrices import cluster_of

CASES = (("range", "eager"), ("cooperative-sticky", "cooperative"))


def scenario(name: str) -> Scenario:
    return Scenario.from_json(bundled(f"groups/{name}-scenario.json"))


def placements(cluster: Cluster, *strategies: str, rates: Any = None, **options: Any) -> Placements:
    problem = problem_of(cluster, **options)
    if rates is not None:
        object.__setattr__(problem, "bytes_per_second", np.asarray(rates, float))
    return Placements.of(problem, compare(problem, strategies))


def rates_of(cluster: Cluster) -> Any:
    return np.random.default_rng(1).integers(1, 1000, cluster.partitions).astype(float)


# ---------------------------------------------------------------- on Spark


@pytest.mark.spark
@pytest.mark.parametrize("kind", ["churn", "failures", "growth"])
def test_rows_do_not_depend_on_their_spread(
    spark: Any, tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster = grown()
    placed = placements(cluster, "exact", rates=rates_of(cluster))
    what_if: Any = {
        "churn": Churn(scenario("failover"), CASES, runs=6, seed=3),
        "failures": Failures(placed, pairs=5, seed=3),
        "growth": Growth(placed, runs=6, seed=3),
    }[kind]
    spread = []
    for worth in (what_if.rows, 2):  # all rows as one problem, and two in each
        monkeypatch.setattr(type(what_if), "worth", worth)
        spread.append(explore(spark, what_if))
    one, many = spread
    direct = [found for row in range(what_if.rows) for found in what_if.of_row(row)]
    empty = dict.fromkeys(what_if.schema.names)
    assert one.runs.to_pylist() == [empty | found for found in direct]
    assert many.runs.equals(one.runs)
    assert many.to_json() == one.to_json()
    assert one.percentiles == percentiles(what_if, one.runs.to_pylist())

    sink = Sink(tmp_path / "out", MARKER)
    one.write(spark, sink)
    assert pq.read_table(tmp_path / "out" / "runs").equals(one.runs)
    assert pq.read_table(tmp_path / "out" / "percentiles").to_pylist() == one.percentiles
    about = json.loads((tmp_path / "out" / MARKER).read_text())
    assert (about["what_if"], about["seed"], about["format"]) == (kind, 3, "parquet")


# ---------------------------------------------------------------- percentiles


@given(st.lists(st.one_of(st.none(), st.integers(0, 9)), min_size=1, max_size=150))
def test_percentiles_are_values_that_occurred(values: list[int | None]) -> None:
    what_if = Churn(scenario("failover"), CASES[:1], runs=len(values))
    rows = [
        {"assignor": "a", "protocol": "p"} | dict.fromkeys(what_if.measures, value)
        for value in values
    ]
    known = sorted(value for value in values if value is not None)
    for found in percentiles(what_if, rows):
        assert found["runs"] == len(known)
        for name, percent in (("p50", 50), ("p90", 90), ("p99", 99), ("max", 100)):
            rank = -(-percent * len(known) // 100)
            assert found[name] == (known[rank - 1] if known else None)


# ---------------------------------------------------------------- churn


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
        waits = [lag for curve in played.to_json()["lag"].values() for _, lag in curve]
        assert found["lag_peak"] == max(waits)
        assert found["violations"] == 0
    silent = Churn(scenario("failover"), CASES, runs=1).of_row(0)
    assert silent[0]["lag_peak"] is None


# ---------------------------------------------------------------- failures


def counted(
    lists: list[list[int]], live: set[int], failed: set[int], rates: list[float]
) -> dict[str, Any]:
    """What is left, counted by hand."""
    left = [[b for b in row if b in live - failed] for row in lists]
    leaders = Counter(dict.fromkeys(live - failed, 0))
    load = Counter(dict.fromkeys(live - failed, 0.0))
    for row, rate in zip(left, rates, strict=True):
        if row:
            leaders[row[0]] += 1
            load[row[0]] += rate
    most, busiest = max(leaders.values(), default=0), max(load.values(), default=0.0)
    return {
        "offline": sum(not row for row in left),
        "under_min_isr": sum(
            len(now) < min(2, len(all_)) for now, all_ in zip(left, lists, strict=True)
        ),
        "leaders": most,
        "leaders_over_mean": _over(most, leaders),
        "bytes_per_second": busiest,
        "bytes_per_second_over_mean": _over(busiest, load),
    }


def _over(most: float, load: Counter[int]) -> Any:
    total = sum(load.values())
    return pytest.approx(most * len(load) / total, abs=1e-4) if total else None


@pytest.mark.parametrize(
    ("cluster", "options"),
    [
        (grown(), {"add_broker": ["9:c"], "remove_broker": [1]}),
        (grown(racks=False), {}),
        (cluster_of("1,2 2,3 3 1,2,3 4,1", "1:a 2:a 3:b 4:b!"), {}),
        (cluster_of("1 1", "1"), {}),
        (cluster_of("1,2 2,1", "1:a 2:b"), {}),
    ],
    ids=["grown", "no racks", "a dead broker", "one broker", "two brokers"],
)
def test_failures_are_what_a_count_says(cluster: Cluster, options: dict[str, Any]) -> None:
    rates = rates_of(cluster)
    problem = problem_of(cluster, **options)
    object.__setattr__(problem, "bytes_per_second", rates)
    answers = compare(problem, ["exact"])
    failures = Failures(Placements.of(problem, answers), pairs=1000)
    removed = {int(b) for b in options.get("remove_broker", ())}
    added = {int(word.split(":")[0]) for word in options.get("add_broker", ())}
    alive = {b.id for b in problem.cluster.brokers if b.alive}
    rack = {b.id: b.rack for b in problem.cluster.brokers}
    places = {"today": (cluster.replica_lists(), alive - added)}
    plan = answers["exact"]
    assert not isinstance(plan, str)
    places["exact"] = (plan.after.replica_lists(), alive - removed)
    wanted = []
    for name, (lists, live) in places.items():
        racks = sorted({rack[b] for b in live} - {None})
        tried = [("broker", str(b), {b}) for b in sorted(live)]
        tried += [("rack", z, {b for b in live if rack[b] == z}) for z in racks]
        tried += [("pair", f"{a}+{b}", {a, b}) for a, b in combinations(sorted(live), 2)]
        wanted += [
            {"placement": name, "failure": kind, "fails": what}
            | counted(lists, live, failed, rates.tolist())
            for kind, what, failed in tried
        ]
    found = [one for row in range(failures.rows) for one in failures.of_row(row)]
    assert found == wanted


def test_pairs_at_random() -> None:
    failures = Failures(placements(grown(), "exact"), pairs=10, seed=4)
    pairs = [
        (row["placement"], row["fails"])
        for number in range(failures.rows)
        for row in failures.of_row(number)
        if row["failure"] == "pair"
    ]
    today, exact = ([fails for name, fails in pairs if name == n] for n in ("today", "exact"))
    assert today == exact  # on the same brokers, the same pairs
    assert len(today) == 10
    assert len(set(today)) > 3
    for one in today:
        first, second = map(int, one.split("+"))
        assert 1 <= first < second <= 8
    assert "bytes_per_second" not in failures.of_row(0)[0]
    assert Failures(failures.placements, pairs=0).rows == 2 * (8 + 3)


# ---------------------------------------------------------------- growth


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 2**40), row=st.integers(0, 10**6))
def test_growth_is_what_a_count_says(seed: int, row: int) -> None:
    cluster = _GROWN
    growth = Growth(_PLACED, runs=1, factor=3, sigma=0.7, seed=seed)
    found = growth.of_row(row)
    assert found == growth.of_row(row)
    drawn = np.random.default_rng([seed, row]).lognormal(math.log(3), 0.7, len(cluster.topics))
    rates, topic = rates_of(cluster).tolist(), cluster.topic.tolist()
    ids = cluster.broker_ids.tolist()
    disk = {b.id: b.disk_bytes for b in cluster.brokers}
    by_name = {"today": cluster.replica_lists(), "exact": _PLAN.after.replica_lists()}
    assert [one["placement"] for one in found] == list(by_name)
    for one, lists in zip(found, by_name.values(), strict=True):
        led, held, stored = (dict.fromkeys(ids, 0.0) for _ in range(3))
        for p, replicas in enumerate(lists):
            led[replicas[0]] += rates[p] * drawn[topic[p]]
            for b in replicas:
                held[b] += rates[p] * drawn[topic[p]]
                stored[b] += int(cluster.size_bytes[p]) * drawn[topic[p]]
        assert one["growth"] == pytest.approx(sum(led.values()) / sum(rates), abs=1e-4)
        for name, load in (("leader_rate", led), ("rate", held), ("bytes", stored)):
            mean = sum(load.values()) / len(load)
            assert one[name] == pytest.approx(max(load.values()) / mean, abs=1e-4)
        fullest = max(stored[b] / size for b, size in disk.items() if size)
        assert one["disk"] == pytest.approx(fullest, abs=1e-4)


_GROWN = grown()
_TASK = problem_of(_GROWN)
object.__setattr__(_TASK, "bytes_per_second", rates_of(_GROWN))
_PLAN: Any = compare(_TASK, ["exact"])["exact"]
_PLACED = Placements.of(_TASK, {"exact": _PLAN, "mip": "has no time"})


def test_growth_around_its_factor() -> None:
    even = Growth(_PLACED, runs=1, factor=2, sigma=0).of_row(0)
    before = Growth(_PLACED, runs=1, factor=1, sigma=0).of_row(0)
    for one, other in zip(even, before, strict=True):
        assert (one["growth"], other["growth"]) == (2, 1)
        assert one["leader_rate"] == other["leader_rate"]
        assert one["disk"] == pytest.approx(2 * other["disk"], abs=2e-4)
    grows = [found["growth"] for row in range(400) for found in Growth(_PLACED, 1).of_row(row)[:1]]
    # the mean of a log-normal is above its median
    assert np.mean(grows) == pytest.approx(2 * math.exp(0.5**2 / 2), rel=0.05)


def test_thresholds_count_runs() -> None:
    growth = Growth(_PLACED, runs=50, above=1.3, full=0.4)
    runs = [found for row in range(50) for found in growth.of_row(row)]
    for row in percentiles(growth, runs):
        values = [one[row["measure"]] for one in runs if one["placement"] == row["placement"]]
        limit = 0.4 if row["measure"] == "disk" else 1.3
        assert row["threshold"] == limit
        assert row["above"] == sum(value > limit for value in values) / 50
    assert growth.about(runs)["cannot"] == {"mip": "has no time"}


# ---------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("what_if", "message"),
    [
        (Churn(scenario("failover"), CASES, runs=0), "--runs: 0: expected a number from 1"),
        (Churn(scenario("failover"), CASES, runs=1, seed=-1), "--seed: -1: expected"),
        (Churn(scenario("failover"), CASES, runs=1, events=0), "--events: 0: expected"),
        (Churn(scenario("failover"), (("best", "eager"),), 1), "--assignor: 'best'"),
        (Churn(scenario("failover"), (("range", "eagre"),), 1), "--protocol: 'eagre'"),
        (Failures(_PLACED, pairs=-1), "--pairs: -1: expected a number from 0"),
        (Growth(_PLACED, runs=0), "--runs: 0"),
        (Growth(_PLACED, runs=1, factor=0), "--factor: 0: expected a number from 0.001 to 1000"),
        (Growth(_PLACED, runs=1, sigma=math.nan), "--sigma: nan"),
        (Growth(_PLACED, runs=1, above=0.5), "--above: 0.5: expected a number from 1 to"),
        (Growth(placements(grown()), runs=1), "--profile: no rate of a partition"),
    ],
    ids=lambda value: value[:12] if isinstance(value, str) else "",
)
def test_bad_numbers(what_if: Any, message: str) -> None:
    with pytest.raises(InputError) as caught:
        what_if.checked()
    assert str(caught.value).startswith(message)
