"""Which stages a plan must have: the checker's rule against the planner, and stages that are
dropped, added or moved."""

from __future__ import annotations

import itertools
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from partage import CannotError, Cluster, InputError
from partage.brokers.check import check
from partage.brokers.check.asked import Asked
from partage.brokers.check.schema import MalformedError
from partage.brokers.check.stages import stages_of
from partage.brokers.options import PlanOptions
from partage.brokers.plan import Plan
from partage.brokers.planning import plan
from partage.brokers.posing.resolving import resolve
from partage.brokers.problem import Problem
from partage.brokers.solving import solve
from partage.brokers.strategies import STRATEGIES
from tests.brokers.check.plans import LIMITED, SOUND, LazyPlans
from tests.brokers.check.tampering import Files, judged
from tests.matrices import cluster_of
from tests.profiles import seeds

STRATEGY_NAMES = (*STRATEGIES, "given")


def random_options(rng: random.Random) -> dict[str, Any]:
    """Options of all kinds, few of which contradict each other."""
    pool: list[tuple[str, tuple[Any, ...]]] = [
        ("no_moves", (True,)),
        ("balance", ("replicas", "bytes")),
        ("leaders", ("count", "rate")),
        ("spread", ("cluster", "topic")),
        ("leader_racks", (["a,b,c"], ["t=a,b,c"])),
        ("demote_broker", (["0"], ["1", "3"])),
        ("prefer_zone", (True,)),
        ("broker_set", ("0,1,2,4,5", "0,1,2,3,4,5")),
        ("relieve", ("75%", "100%")),
        ("max_moves", (0, 1, 3, 1000)),
        ("max_bytes_moved", ("1", "9B", "1MB")),
        ("tolerance", ("0%", "2%", "50%", "300%")),
        ("topics", ("t", "t|u")),
        ("concurrency", (1, 3)),
        ("batch", (1,)),
        ("throttle", ("1B", "1KB")),
        ("replication_factor", (["2"],)),
        ("add_broker", (["9:c"],)),
        ("remove_broker", (["3"],)),
    ]
    return {name: rng.choice(values) for name, values in rng.sample(pool, rng.randint(0, 4))}


def a_problem(rng: random.Random, options: dict[str, Any]) -> Problem:
    """Six brokers in three racks, some of them with disks that are large enough."""
    brokers = [
        {"id": b, "rack": "abc"[b % 3], "disk_bytes": rng.choice((None, 10**6))} for b in range(6)
    ]
    rows = [
        {"topic": "tu"[p % 2], "partition": p, "replicas": rng.sample(range(6), 2), "size_bytes": p}
        for p in range(8)
    ]
    cluster = Cluster.from_json({"brokers": brokers, "partitions": rows})
    rates = np.array([float(rng.randint(0, 9)) for _ in rows])
    if options.get("strategy") == "given":
        lists = [{**row, "replicas": rng.sample(range(6), 2)} for row in rows]
        for row in lists:
            del row["size_bytes"]
        options = options | {"reassignment": {"version": 1, "partitions": lists}}
    return resolve(cluster, PlanOptions(**options), rates)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("strategy", STRATEGY_NAMES)
def test_the_rule_is_the_planners(strategy: str) -> None:
    """Whatever the planner makes has the stages of the rule, and whatever the rule refuses the
    planner refuses too."""
    rng = random.Random(STRATEGY_NAMES.index(strategy))
    made = 0
    for _ in seeds(240, fewest=36):
        options = random_options(rng) | {"strategy": strategy}
        try:
            answer = solve(a_problem(rng, options))
        except (InputError, CannotError):
            continue
        made += 1
        asked = Asked.of(answer.document()["options"])
        stages = {stage.name.value: stage.exact for stage in answer.stages}
        assert list(stages_of(asked).items()) == list(stages.items()), options
    assert made > 5


def test_the_rule_refuses_what_the_planner_refuses() -> None:
    rng = random.Random(5)
    refused = 0
    for _ in range(1500):
        options = random_options(rng) | {"strategy": rng.choice(tuple(STRATEGIES))}
        try:
            Asked.of(options)
        except MalformedError:
            refused += 1
            with pytest.raises((InputError, CannotError)):
                solve(a_problem(rng, options))
        else:
            PlanOptions(**options)
    assert refused > 300


@pytest.mark.parametrize(
    ("name", "word"),
    [
        ("tolerance", "1e99999999%"),
        ("tolerance", "1000%"),
        ("tolerance", "-2%"),
        ("tolerance", "2"),
        ("tolerance", "2.00001%"),
        ("tolerance", "٢%"),
        ("relieve", "0%"),
        ("relieve", "101%"),
        ("max_bytes_moved", "0"),
        ("max_bytes_moved", "50MB/s"),
        ("max_bytes_moved", "1e9"),
        ("max_bytes_moved", "1" * 20),
        ("max_bytes_moved", "1025PiB"),
        ("throttle", "5 furlongs"),
        ("max_moves", 2**31),
        ("concurrency", 2**31),
        ("batch", 2**40),
        ("topics", "("),
        ("balance", "size"),
        ("leaders", "counts"),
        ("spread", ""),
        ("demote_broker", ["a"]),
        ("demote_broker", ["2", "02"]),
        ("leader_racks", ["t="]),
        ("leader_racks", ["t=a,a"]),
        ("leader_racks", ["t=a", "t=b"]),
        ("add_broker", ["9:"]),
        ("add_broker", ["-1"]),
        ("add_broker", ["9:a\x1b"]),
        ("add_broker", ["9:a", "09:b"]),
        ("remove_broker", ["2", "02"]),
        ("remove_broker", ["99999999999"]),
        ("replace_broker", ["1=2=3"]),
        ("replace_broker", ["1=7", "1=8"]),
        ("replication_factor", ["0"]),
        ("replication_factor", ["t=x"]),
        ("replication_factor", ["2", "3"]),
        ("reassignment", "file.json"),
    ],
    ids=str,
)
def test_a_word_that_the_planner_refuses(name: str, word: Any) -> None:
    with pytest.raises(MalformedError, match=rf"options\.{name}"):
        Asked.of({name: word})
    if name != "reassignment":
        with pytest.raises(InputError):
            solve(a_problem(random.Random(1), {name: word}))


@pytest.mark.parametrize(
    ("name", "word", "value"),
    [
        ("tolerance", "33.3333%", "333333/1000000"),
        ("tolerance", " 2 % ", "1/50"),
        ("max_bytes_moved", "1.5 GiB", 1_610_612_736),
        ("max_bytes_moved", "2tb", 2 * 10**12),
        ("throttle", "0.001 KiB/s", 1),
        ("max_bytes_moved", "1234567890123457", 1234567890123457),
    ],
)
def test_a_word_in_any_spelling(name: str, word: str, value: Any) -> None:
    asked = Asked.of({name: word})
    found = {"tolerance": asked.tolerance, "max_bytes_moved": asked.max_bytes}
    found["throttle"] = asked.throttle
    planned = PlanOptions(**{name: word})
    assert str(found[name]) == str(value)
    assert found[name] == getattr(planned, name)


@pytest.mark.sampled(3)
@pytest.mark.random
@pytest.mark.parametrize("name", [*SOUND, *LIMITED])
def test_no_stage_is_missing_and_none_is_more(
    sound_plans: LazyPlans, limited_plans: LazyPlans, name: str
) -> None:
    files = (sound_plans if name in SOUND else limited_plans)[name]
    count = len(files.plan["certificate"]["stages"])
    changes = list(itertools.product(range(count), ("dropped", "twice", "moved")))
    for place, change in random.Random(name).sample(changes, len(seeds(len(changes)))):
        stages = files.plan["certificate"]["stages"]
        stage = stages.pop(place)
        if change == "twice":
            stages[place:place] = [stage, stage]
        if change == "moved":
            stages.insert((place + 1) % count, stage)
        assert not judged(files.write()).sound, (stage["stage"], change)
        files.restore()


def three_moves() -> Plan:
    """Three moves make it fair; within a half of the fair share two are enough."""
    made = plan(cluster_of("1 " * 9 + "2 2 2", "1 2"))
    assert made.moves == 3
    assert plan(made.before, tolerance="50%").moves < 3
    return made


def with_option(made: Plan, directory: Path, **options: Any) -> Files:
    made.write(directory)
    files = Files(directory)
    files.plan["options"].update(options)
    files.seal()
    return files


@pytest.mark.parametrize(
    "options",
    [{"tolerance": "50%"}, {"max_moves": 3}, {"max_moves": 2}, {"tolerance": "1%"}],
    ids=str,
)
def test_an_added_limit_must_be_proven(tmp_path: Path, options: dict[str, Any]) -> None:
    """A plan made without the limit has no stage for it."""
    files = with_option(three_moves(), tmp_path / "plan", **options)
    assert any("stages are" in line for line in check(files.write()).defects)


def test_a_tolerance_is_not_proven_by_another_limit(tmp_path: Path) -> None:
    """With both limits the plan of one of them alone is not the best of both."""
    made = plan(three_moves().before, max_moves=5)
    files = with_option(made, tmp_path / "plan", tolerance="50%")
    both = plan(made.before, max_moves=5, tolerance="50%")
    assert both.moves < made.moves
    prices = next(stage.prices for stage in both.stages if stage.name == "budget")
    stage = files.stage("budget")["prices"]
    stage |= {"fair": prices["fair"], "within": prices["within"]}
    said = "plan.json: certificate: budget: nothing proves that max-moves is what limits the plan"
    assert check(files.write()).defects == [said]


def test_both_limits_are_proven_where_the_tolerance_needs_too_many_moves(tmp_path: Path) -> None:
    made = plan(three_moves().before, max_moves=1, tolerance="2%")
    made.write(tmp_path / "plan")
    assert check(tmp_path / "plan").optimal


def test_an_aim_differs_between_stages(limited_plans: LazyPlans) -> None:
    """A stage that counts from other loads proves nothing about these."""
    files = limited_plans["moves"]
    aim = files.stage("moves")["prices"]["aim"]
    aim[0], aim[1] = aim[0] + 1, aim[1] - 1
    defects = judged(files.write()).defects
    files.restore()
    assert "plan.json: certificate: aim: differs between stages" in defects
