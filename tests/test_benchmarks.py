"""The benchmarks: generated clusters keep their bytes, the evaluator counts right, a job is
measured.

Nothing is downloaded: only partage and kafka-python run.
"""

from __future__ import annotations

import hashlib
import importlib
import json
import random
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.usefixtures("beside_the_benchmarks")

module = importlib.import_module


# ---------------------------------------------------------------- clusters


def test_published_clusters_keep_their_bytes() -> None:
    value = module("clusters").cluster_json(
        brokers=30, new=6, racks=3, partitions=5002, topics=60, rf=3, seed=1
    )
    text = json.dumps(value, separators=(",", ":")).encode() + b"\n"
    assert hashlib.sha256(text).hexdigest() == (
        "4ed34b3f899b1f093e601a3550800a6b36d303a2267b17042da73931cca9576e"
    )


def test_misplaced_partitions_are_the_only_difference() -> None:
    shape: dict[str, Any] = {"brokers": 12, "racks": 3, "partitions": 200, "topics": 5, "seed": 4}
    right = module("clusters").cluster_json(**shape)
    wrong = module("clusters").cluster_json(**shape, misplaced=0.1)
    evaluate = module("evaluate").evaluate
    assert evaluate(right)["rack_violations"] == 0
    assert evaluate(wrong)["rack_violations"] == 20
    pairs = zip(right["partitions"], wrong["partitions"], strict=True)
    assert sum(one["replicas"] != other["replicas"] for one, other in pairs) == 20
    assert evaluate(wrong)["faults"] == 0


@pytest.mark.parametrize(
    "shape",
    [
        {"racks": 3, "misplaced": 1.5},
        {"racks": 3, "misplaced": -0.1},
        {"racks": 2, "misplaced": 0.1},
        {"racks": 5, "misplaced": 0.1},
        {"racks": 0, "misplaced": 0.1},
    ],
)
def test_refused_shares_of_misplaced_partitions(shape: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="misplaced"):
        module("clusters").cluster_json(brokers=12, partitions=20, topics=2, **shape)


def test_uneven_racks_and_unequal_brokers() -> None:
    shape: dict[str, Any] = {"brokers": 12, "new": 3, "partitions": 50, "topics": 5, "racks": 5}
    plain = module("clusters").cluster_json(**shape)
    uneven = module("clusters").cluster_json(**shape, uneven_racks=True)
    racks = [broker["rack"][-1] for broker in uneven["brokers"]]
    assert [racks.count(rack) for rack in "12345"] == [5, 4, 3, 2, 1]
    assert not module("evaluate").evaluate(uneven)["rack_violations"]
    unequal = module("clusters").cluster_json(**shape, unequal_brokers=True)
    assert [b["id"] for b in unequal["brokers"] if b["capacity"] == 2] == [4, 8, 12]
    assert unequal["partitions"] == plain["partitions"]
    with pytest.raises(ValueError, match="uneven racks: expected racks"):
        module("clusters").cluster_json(**{**shape, "racks": 0}, uneven_racks=True)


# ---------------------------------------------------------------- evaluators


CLUSTER = {
    "brokers": [{"id": i, "rack": rack} for i, rack in ((1, "a"), (2, "a"), (3, "b"), (4, "b"))],
    "partitions": [
        {"topic": "t", "partition": 0, "replicas": [1, 3], "size_bytes": 10},
        {"topic": "t", "partition": 1, "replicas": [1, 2], "size_bytes": 100},
        {"topic": "u", "partition": 0, "replicas": [2, 4], "size_bytes": 1000},
    ],
}


def test_current_placement() -> None:
    assert module("evaluate").evaluate(CLUSTER) == {
        "moves": 0,
        "bytes_moved": 0,
        "leader_changes": 0,
        "replicas_per_broker": [1, 2],
        "leaders_per_broker": [0, 2],
        "rack_violations": 1,
        "topic_spread": 2,
        "faults": 0,
    }


def test_answer() -> None:
    found = module("evaluate").evaluate(CLUSTER, [[3, 1], [1, 4], [2, 3]])
    assert found == {
        "moves": 2,
        "bytes_moved": 1100,
        "leader_changes": 1,
        "replicas_per_broker": [1, 2],
        "leaders_per_broker": [0, 1],
        "rack_violations": 0,
        "topic_spread": 2,
        "faults": 0,
    }


def test_ranges_leave_out_removed_brokers() -> None:
    found = module("evaluate").evaluate(CLUSTER, [[1, 3], [1, 3], [2, 3]], removed={4})
    assert found["replicas_per_broker"] == [1, 3]
    assert found["faults"] == 0


@pytest.mark.parametrize("wrong", [[1], [1, 3, 4], [1, 1], [1, 2], [1, 9]])
def test_faults(wrong: list[int]) -> None:
    """Another replication factor, a duplicate, a removed and an unknown broker."""
    assert module("evaluate").evaluate(CLUSTER, [[1, 3], [1, 3], wrong], {2})["faults"] == 1


def test_missing_lists() -> None:
    with pytest.raises(ValueError, match="1 lists for 3 partitions"):
        module("evaluate").evaluate(CLUSTER, [[1, 3]])


RATED = {
    "brokers": [{"id": 1, "capacity": 2}, {"id": 2}, {"id": 3}],
    "partitions": [
        {
            "replicas": [1, 2],
            "size_bytes": 30,
            "bytes_in_per_second": 2.0,
            "bytes_out_per_second": 1.0,
        },
        {
            "replicas": [1, 3],
            "size_bytes": 10,
            "bytes_in_per_second": 4.0,
            "bytes_out_per_second": 0.0,
        },
    ],
}


def test_loads_of_the_current_placement() -> None:
    """Fair of 4 replicas: 2, 1 and 1; of 2 leaders: 1, 0.5 and 0.5."""
    found = module("evaluate_loads").evaluate(RATED)
    assert found["loads"] == {
        "replicas": [1.0, 1.0],
        "leaders": [0.0, 2.0],
        "disk": [0.5, 1.5],
        "in": [pytest.approx(2 / 3), pytest.approx(4 / 3)],
        "out": [0.0, 2.0],
        "leader_in": [0.0, 2.0],
    }
    assert found["outside"] == pytest.approx(0.9)
    # broker 1 leads both and takes nothing over; out, 7 of 3.5, weighs more than what 2 or 3 get
    assert (found["survivor"], found["survivor_out"]) == (2, pytest.approx(4 / 1.75))


def test_loads_of_an_answer() -> None:
    evaluate = module("evaluate_loads").evaluate
    moved = evaluate(RATED, [[1, 2], [3, 1]], tolerance=0.5)
    assert moved["loads"]["leaders"] == [0.0, 2.0]
    assert moved["loads"]["out"] == [0.0, pytest.approx(4 / 1.75)]
    # half a leader is fair, so that 0 and 1 are in the band; bytes in are not
    assert moved["outside"] == pytest.approx(4 / 1.5 - 1.5)
    assert moved["survivor"] == 2


def test_what_a_large_partition_forces_cannot_be_avoided() -> None:
    """Three brokers lead one partition each; of 30 bytes, one has 24, and 10 are fair."""
    brokers = [{"id": b} for b in (1, 2, 3)]
    sizes = (24, 5, 1)
    partitions = [{"replicas": [b + 1], "size_bytes": size} for b, size in enumerate(sizes)]
    cluster = {"brokers": brokers, "partitions": partitions}
    found = module("evaluate_loads").evaluate(cluster, tolerance=0.5)
    assert found["outside"] == pytest.approx(0.9)
    assert found["avoidable"] == pytest.approx(0.4)  # of the third broker
    # 24 fit into this band, but not on a broker with others
    together = module("evaluate_loads").evaluate(cluster, [[1], [1], [3]], tolerance=1.5)
    assert together["outside"] == together["avoidable"] == pytest.approx(0.4)


def test_without_rates_loads_are_in_proportion_to_sizes() -> None:
    loads = module("evaluate_loads").evaluate(CLUSTER)["loads"]
    assert loads["in"] == loads["disk"]
    assert loads["out"] == loads["leader_in"]


# ---------------------------------------------------------------- a run


@pytest.mark.parametrize(
    ("made", "removed"),
    [
        ("--brokers 6 --new 2", 0),
        pytest.param("--brokers 8", 2, marks=pytest.mark.long),
        pytest.param("--brokers 8 --misplaced 0.2", 0, marks=pytest.mark.long),
    ],
)
def test_partage_is_measured(made: str, removed: int) -> None:
    peers, tables = module("peers"), module("tables.peers")
    job = peers.Job(
        "small", "tiny", f"{made} --racks 2 --partitions 60 --topics 4 --rf 2", 8, removed
    )
    found = peers.measure(job, ["partage"], seed=1, limit=60, repeat=2)
    ours = found["partage"]
    assert ours["optimal"]
    assert ours["faults"] == ours["rack_violations"] == 0
    assert ours["moves"] == ours["moves_own_count"] == ours["moves_lower_bound"] > 0
    least, most = ours["replicas_per_broker"]
    assert most - least <= 1
    assert {*tables.STAGES, "read cluster", "read job"} == set(ours["stages"])
    assert 0 < ours["planner_seconds"] < ours["process_seconds"]
    assert ours["peak_bytes"] > 1e6
    blocks = tables.blocks({"tiny": found})
    assert "| (current)" in blocks["peers, plans"]
    assert "| proven |" in blocks["peers, plans"]
    assert "| tiny " in blocks["peers, stages"]


def test_every_step_of_a_plan_is_measured(tmp_path: Path) -> None:
    slope, shown = module("slope"), module("tables.slope")
    job = slope.Job("18 → 20", "--brokers 18 --new 2 --topics 9", 100)
    found = slope.measure(job, tmp_path, 1)
    assert found["moves"] == found["moves_lower_bound"] > 0
    assert found["optimal"]
    assert found["gap"] == 0
    assert min(value for key, value in found.items() if key.endswith("_seconds")) > 0
    table = shown.report({"tiny": {"partage": found}}, {"tiny": job.description})
    assert "| 18 → 20 |        100 |" in table


def test_run_is_stopped_at_its_limit(tmp_path: Path) -> None:
    harness, tables = module("harness"), module("tables.peers")
    slow = harness.run([sys.executable, "-c", "import time; time.sleep(60)"], tmp_path, 0.5)
    assert slow.expired
    assert slow.code != 0
    assert slow.seconds < 30
    done = harness.run([sys.executable, "-c", "print('é')"], tmp_path, 60)
    assert (done.code, done.out.strip(), done.expired) == (0, "é", False)

    figures = module("evaluate").evaluate(CLUSTER)
    found = {"before": figures, "kafka-utils": {"problem": "> 300 s", "limit": 300.0}}
    assert "> 300 s" in tables.blocks({"expansion-110": found})["peers, plans"]


def test_targets() -> None:
    def tool(seconds: float, **more: Any) -> dict[str, Any]:
        spent = {"seconds": seconds, "cpu_seconds": seconds}
        return {
            "moves": 1,
            "planner_seconds": 2 * seconds,
            "planner_cpu_seconds": 2 * seconds,
            "process_seconds": 3 * seconds,
            "process_cpu_seconds": 3 * seconds,
            "peak_bytes": 10**9,
            "stages": {"replicas": spent},
            **more,
        }

    judged = module("tables.peers").targets(
        {
            "expansion-110": {
                "partage": tool(4, optimal=True),
                "bubuku": tool(1),
                "kafka-utils": {"problem": "> 300 s", "limit": 300},
                "Kafka --generate": {"problem": "not available: no java"},
            },
            "expansion-1000": {"partage": tool(19, optimal=True)},
        }
    )
    assert [line.partition(":")[0] for line in judged] == [
        "- met",
        "- not met",
        "- met",
        "- met",
    ]


def test_brokers_to_remove() -> None:
    jobs = module("peers").JOBS
    assert len(jobs) == 9
    assert jobs["removal-30"].removed_ids == "31,32,33,34,35,36"
    assert jobs["expansion-30"].removed_ids == ""


@pytest.mark.long
def test_every_load_is_measured() -> None:
    load, tables = module("load"), module("tables.load")
    job = load.Job(
        "small", "tiny", "--brokers 6 --new 2 --racks 2 --partitions 90 --topics 4 --rf 2"
    )
    found = load.measure("tiny", job, ["partage"], seed=1, limit=60)
    assert {"before", *load.ONCE} - {"bin-packing"} <= found.keys()
    ours = found[tables.named(tables.OURS, "10%")]
    assert ours["bytes_moved"] >= ours["bytes_lower_bound"] > 0
    assert ours["outside"] < 0.5 < found["before"]["outside"]
    assert "| tiny " in tables.blocks({"tiny": found})["load, plans"]


def balanced(moves: int, bytes_moved: int, outside: float = 0.0, **more: Any) -> dict[str, Any]:
    names = ("replicas", "leaders", "disk", "in", "out", "leader_in")
    return {
        "moves": moves,
        "bytes_moved": bytes_moved,
        "loads": {name: [0.9, 1.1] for name in names},
        "outside": outside,
        "rack_violations": 0,
        "survivor": 9,
        "survivor_out": 1.5,
        "process_cpu_seconds": 2.0,
        "peak_bytes": 10**8,
        **more,
    }


def test_targets_of_loads() -> None:
    tables = module("tables.load")
    tools = {
        "before": balanced(0, 0, outside=0.5),
        "partage": balanced(2496, 1000),
        "partage --balance load, 10 %": balanced(2000, 903, bytes_lower_bound=900),
        "rebalancer, local search, 10 %": balanced(9, 10, outside=0.2),
        "rebalancer, MIP, 10 %": {"problem": "> 240 s", "limit": 240},
        "partage --balance load, 2 %": balanced(3000, 1030, 0.01, bytes_lower_bound=1000),
    }
    shown = tables.blocks({"30": tools})
    assert [line.partition(":")[0] for line in shown["load, targets"].splitlines()] == [
        *("- met", "- met", "- met"),
        *("- not met", "- met"),
        *("- met", "- met"),
    ]
    lines = [re.split(r" *\| *", line) for line in shown["load, plans"].splitlines()]
    ratio = {line[2]: line[5] for line in lines}
    assert ratio["partage --balance load, 10 %"] == "1.003"
    assert ratio["rebalancer, local search, 10 %"] == ""
    assert lines[-2][-2] == "> 240 s"
    forced = balanced(9, 909, 0.5, bytes_lower_bound=900, avoidable=0.0)
    large = {"200": {"before": tools["before"], "partage --balance load, 10 %": forced}}
    in_band, bound, *_ = tables.blocks(large)["load, targets"].splitlines()
    assert in_band.startswith("- met")
    assert "too large for a band on 200" in in_band
    assert bound.startswith("- met")
    assert "1.010 on 200" in bound
    assert "| Cruise Control " in shown["load, cruise control"]


def test_rebalancer_needs_a_later_python(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    environments = module("environments")
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(environments, "REBALANCER_PYTHONS", ((3, 99),))
    with pytest.raises(environments.UnavailableError, match=r"no Python 3\.99 found"):
        environments.later_python()
    monkeypatch.setattr(environments, "REBALANCER_PYTHONS", (sys.version_info[:2],))
    assert environments.later_python() == sys.executable


# ---------------------------------------------------------------- assignors


GROUP: dict[str, Any] = {
    "topics": {"t": 3, "u": 1},
    "members": [
        {"id": "a", "topics": ["t"], "owned": [["t", 0], ["t", 1]], "generation": 1},
        {"id": "b", "topics": ["t", "u"], "owned": [["t", 2]], "generation": 1},
    ],
}


def judged(a: list[tuple[str, int]], b: list[tuple[str, int]]) -> dict[str, Any]:
    assignors = module("assignors")
    found = assignors.verdict(GROUP, {"a": a, "b": b})
    return {name: getattr(found, name) for name in ("faults", "fairest", "moves", "spread")}


def test_verdict() -> None:
    right = judged([("t", 0), ("t", 1)], [("t", 2), ("u", 0)])
    assert right == {"faults": 0, "fairest": True, "moves": 1, "spread": 1}
    unfair = judged([("t", 0), ("t", 1), ("t", 2)], [("u", 0)])
    assert unfair == {"faults": 0, "fairest": False, "moves": 2, "spread": 3}


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ([("t", 0), ("t", 1)], [("t", 2)]),  # left over
        ([("t", 0), ("t", 1), ("t", 2)], [("t", 2), ("u", 0)]),  # twice
        ([("t", 0), ("t", 1)], [("t", 2), ("u", 0), ("u", 1)]),  # not there
    ],
)
def test_faults_are_counted(a: list[tuple[str, int]], b: list[tuple[str, int]]) -> None:
    assert judged(a, b)["faults"] == 1


def test_partition_without_subscription_is_a_fault() -> None:
    assert judged([("t", 0), ("t", 1), ("u", 0)], [("t", 2)])["faults"] == 1


def test_verdict_on_fairness() -> None:
    """partage's loads are the fairest; passing a partition to a fuller member makes them unfair."""
    assignors, groups = module("assignors"), module("random_groups")
    draw = random.Random(3)
    made_worse = 0
    for _ in range(20):
        group = groups.unequal_group(draw)
        found = assignors.partage_answer(group)
        assert assignors.verdict(group, found).fairest
        for _ in range(10):
            giver, taker = draw.sample(group["members"], 2)
            passing = [pair for pair in found[giver["id"]] if pair[0] in taker["topics"]]
            if not passing or len(found[taker["id"]]) < len(found[giver["id"]]):
                continue
            other = {at: list(held) for at, held in found.items()}
            other[giver["id"]].remove(passing[0])
            other[taker["id"]].append(passing[0])
            assert not assignors.verdict(group, other).fairest
            made_worse += 1
    assert made_worse > 20


def test_the_broker_is_recounted() -> None:
    joins, change = module("uniform_quality").recount(60)
    assert 0 < joins.unfair < 30
    assert 0 < change.unfair < 30
    assert joins.moves_too_many == 0
    assert change.moves_too_many >= change.fair_with_more > 0


@pytest.fixture
def kafka_python() -> Iterator[Any]:
    pytest.importorskip("kafka")
    module("assignors")
    with module("runners").Runner(module("runners").kafka_python) as runner:
        yield runner


def test_assignors_are_compared(kafka_python: Any) -> None:
    assignors, groups = module("assignors"), module("random_groups")
    tools = {
        "partage": assignors.partage_answer,
        "kafka-python": assignors.peer_answers(kafka_python, 60),
    }
    quality = assignors.quality(tools, 6, seed=2)
    for when in assignors.ROUNDS:
        assert quality[when]["partage"]["answers"] == quality[when]["kafka-python"]["answers"] == 6
        assert not assignors.wrong(quality[when]["partage"])
        assert quality[when]["kafka-python"]["faults"] == 0
    shapes = [
        groups.Shape("", 60, 4, 5, kind, ("kafka-python",))
        for kind in ("alike", "odd", "never level", "random", "classes")
    ]
    found = {
        shape.subscriptions: assignors.seconds(shape, {"kafka-python": kafka_python}, 60, 1)
        for shape in shapes
    }
    for figures in found.values():
        for job in assignors.JOBS:
            ours, theirs = figures["partage"][job], figures["kafka-python"][job]
            assert ours["seconds"] > 0
            assert theirs["seconds"] > 0
            assert ours["loads"][1] <= theirs["loads"][1]
    shown = assignors.blocks({"groups": 6, "quality": quality, "seconds": found})
    assert "- met: partage's answers" in shown["assignors, targets"]
    assert "| one left" in shown["assignors, seconds"]


@pytest.mark.long
@pytest.mark.xdist_group("java module")
def test_assignors_inside_the_broker_are_compared() -> None:
    comparison, tables = module("broker_assignors"), module("tables.broker_assignors")
    figures = comparison.measure(["100", "1k-different"], 120, 1)
    for tools in figures.values():
        assert not tables.wrong(tools)
        assert all(job["valid"] for jobs in tools.values() for job in jobs.values())
        assert tools["partage"]["fresh"]["near"] > tools["uniform"]["fresh"]["near"]
    shown = tables.blocks(comparison.ordered(figures))
    assert "- met: partage's answers" in shown["broker assignors, targets"]
    assert shown["broker assignors"].count("| range") == 2


@pytest.mark.parametrize("worse", [{"valid": False}, {"squares": 201}, {"near": 9}])
def test_a_worse_answer_of_the_brokers_assignor_shows(worse: dict[str, Any]) -> None:
    fresh = {"valid": True, "squares": 200, "near": 10}
    wrong = module("tables.broker_assignors").wrong
    assert not wrong({"partage": {"fresh": fresh}, "uniform": {"fresh": fresh}})
    assert wrong({"partage": {"fresh": fresh | worse}, "uniform": {"fresh": fresh}})
    assert wrong({"partage": {}, "uniform": {"fresh": fresh}})


def test_peer_over_its_limit_is_not_asked_again() -> None:
    assignors, groups = module("assignors"), module("random_groups")
    sleeper = [sys.executable, "-c", "import time; time.sleep(60)"]
    with module("runners").Runner(lambda: sleeper) as runner:
        shape = groups.Shape("", 20, 2, 2, "alike", ("Kafka",))
        found = assignors.seconds(shape, {"Kafka": runner}, 0.3, 1)
    assert [found["Kafka"][job]["problem"] for job in assignors.JOBS] == ["> 0.3", "–", "–"]
    assert "> 0.3" in assignors.blocks({"seconds": {"tiny": found}})["assignors, seconds"]


PEER = """
import json, sys
kept = []
for line in sys.stdin:
    asked = json.loads(line)
    if asked["do"] == "end":
        sys.exit()
    kept.append(asked["do"])
    print(json.dumps({"error": "no"} if asked["do"] == "fail" else {"kept": kept}), flush=True)
    if asked["do"] == "last":
        sys.exit()
"""
"""Answers with all requests so far, until a request asks it to fail or to end."""


def peer(*warm_up: str) -> Any:
    module("assignors")
    command = [sys.executable, "-c", PEER]
    return module("runners").Runner(lambda: command, [{"do": what} for what in warm_up])


def test_ended_peer_is_started_again() -> None:
    ended = {"error": "the process ended"}
    with peer("warm") as runner:
        assert runner.ask({"do": "a"}, 60) == {"kept": ["warm", "a"]}
        assert runner.ask({"do": "end"}, 60) == ended
        assert runner.ask({"do": "b"}, 60) == {"kept": ["warm", "b"]}
        assert runner.ask({"do": "last"}, 60) == {"kept": ["warm", "b", "last"]}
        runner._process.wait()  # it ended between two requests
        assert runner.ask({"do": "c"}, 60) == ended
        assert runner.ask({"do": "d"}, 60) == {"kept": ["warm", "d"]}


@pytest.mark.parametrize(("what", "error"), [("end", "the process ended"), ("fail", "no")])
def test_peer_that_fails_its_warm_up_is_not_asked(what: str, error: str) -> None:
    with peer("warm", what, "more") as runner:
        for _ in range(2):
            assert runner.ask({"do": "a"}, 60) == {"error": error}


def test_wrong_answers_of_partage_miss_the_target() -> None:
    assignors = module("assignors")
    row = dict.fromkeys(assignors.COUNTED, 0)
    assert not assignors.wrong(row)
    assert assignors.wrong({**row, "unfair": 1})
    quality = {when: {"partage": {**row, "answers": 1}} for when in assignors.ROUNDS}
    quality["own"]["partage"]["more moves"] = 1
    shown = assignors.blocks({"groups": 1, "quality": quality, "seconds": {}})
    assert "- not met: partage's answers" in shown["assignors, targets"]
