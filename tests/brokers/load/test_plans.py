"""Plans that balance every load: rules, bands, stability, options."""

from __future__ import annotations

import importlib
import itertools
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import partage
from partage import CannotError, Cluster, InputError
from partage.brokers import search_clock
from partage.brokers.load import LoadModel
from partage.brokers.option_values import RESOURCES
from partage.brokers.plan import Plan
from tests.brokers.load.cases import a_cluster
from tests.profiles import seeds

Json = dict[str, Any]


def a_large_cluster(seed: int, brokers: int = 12, partitions: int = 600) -> Json:
    """Brokers in three racks, two of them new; rates unlike sizes."""
    rng = np.random.default_rng(seed)
    size = rng.lognormal(20, 1, partitions).astype(int)
    rate = rng.lognormal(10, 1, partitions)
    read = rate * rng.integers(0, 4, partitions)
    rows = []
    for p in range(partitions):
        racks = [[b for b in range(brokers - 2) if b % 3 == rack] for rack in rng.permutation(3)]
        rows.append(
            {
                "topic": f"t{p % 7}",
                "partition": p,
                "replicas": [int(rng.choice(rack)) for rack in racks],
                "size_bytes": int(size[p]),
                "bytes_in_per_second": float(rate[p]),
                "bytes_out_per_second": float(read[p]),
            }
        )
    return {
        "brokers": [{"id": b, "rack": "abc"[b % 3]} for b in range(brokers)],
        "partitions": rows,
    }


def planned(cluster: Json, tolerance: Any = "10%", **options: Any) -> Plan:
    return partage.plan(Cluster.from_json(cluster), balance="load", tolerance=tolerance, **options)


def stage(plan: Plan, name: str) -> Any:
    return next(stage for stage in plan.stages if stage.name.value == name)


def is_sound(plan: Plan, tmp_path: Path) -> bool:
    plan.write(tmp_path / "plan")
    result = partage.check(tmp_path / "plan")
    assert result.defects == []
    return result.sound


@pytest.mark.parametrize("tolerance", ["10%", "4%"])
def test_every_load_is_in_its_band_for_few_bytes(tolerance: str, tmp_path: Path) -> None:
    plan = planned(a_large_cluster(1), tolerance)
    assert stage(plan, "load").value == 0
    assert plan.figures["rack_violations"] == 0
    moved = stage(plan, "bytes moved")
    assert moved.bound <= moved.value <= 1.05 * moved.bound
    assert plan.moves <= 1.2 * plan.lower_bound
    assert plan.settled
    assert is_sound(plan, tmp_path)


@pytest.mark.parametrize("tolerance", ["10%", "5%"])
def test_new_brokers_share_partitions_with_all_others(
    tolerance: str, beside_the_benchmarks: None
) -> None:
    """If they shared them with each other, one would take over most of what another leads."""
    from benchmarks.clusters import cluster_json

    cluster = cluster_json(brokers=15, new=3, racks=3, partitions=1500, topics=20, seed=2)
    figures = planned(cluster, tolerance).figures
    fairest = partage.plan(Cluster.from_json(cluster)).figures
    worst = figures["leaders_after_failure"]["max"]
    assert worst <= 1.05 * fairest["leaders_after_failure"]["max"]
    assert figures["topic_spread"] <= 40


def test_figures_name_every_resource_with_its_band() -> None:
    cluster = a_large_cluster(2)
    plan = planned(cluster)
    resources = plan.figures["resources"]
    assert tuple(resources) == RESOURCES
    held = np.zeros(12)
    for row, part in zip(
        plan.after.replica_lists(),
        sorted(cluster["partitions"], key=lambda p: (p["topic"], p["partition"])),
        strict=True,
    ):
        held[row] += part["size_bytes"]
    disk = resources["disk"]
    assert (disk["min"], disk["max"]) == (held.min(), held.max())
    assert disk["fair"] == pytest.approx(held.mean())
    assert disk["band"] == pytest.approx([0.9 * held.mean(), 1.1 * held.mean()])
    assert disk["bound"] <= disk["max"]
    assert resources["replicas"]["fair"] == 150


def test_tolerances_of_single_resources() -> None:
    plan = planned(a_large_cluster(3), "replicas=1%,out=30%")
    figures = plan.figures["resources"]
    assert figures["replicas"]["max"] <= 152
    assert figures["replicas"]["min"] >= 148
    assert figures["out"]["band"][1] == pytest.approx(1.3 * figures["out"]["fair"], rel=1e-6)
    assert figures["disk"]["band"][1] == pytest.approx(1.05 * figures["disk"]["fair"], rel=1e-6)


def test_a_second_run_moves_nothing() -> None:
    plan = planned(a_large_cluster(4))
    again = partage.plan(plan.after, balance="load", tolerance="10%")
    assert again.moves == again.leader_changes == 0
    assert len(again.changed) == 0


@pytest.mark.long
@pytest.mark.usefixtures("beside_the_benchmarks")
@pytest.mark.parametrize("tolerance", ["10%", "3%"])
@pytest.mark.parametrize(
    "shape", [{"rates": 1.0}, {"racks": 5, "uneven_racks": True}, {"unequal_brokers": True}]
)
def test_a_second_run_moves_nothing_on_other_shapes(
    shape: Json, tolerance: str, tmp_path: Path
) -> None:
    """Rates unlike the sizes, uneven racks, unequal brokers: in their bands, stable, proven."""
    sizes = {"brokers": 12, "new": 3, "racks": 3, "partitions": 1500, "topics": 20}
    cluster = importlib.import_module("clusters").cluster_json(**{**sizes, **shape})
    plan = planned(cluster, tolerance)
    assert stage(plan, "load").value == 0
    assert plan.settled
    assert is_sound(plan, tmp_path)
    again = partage.plan(plan.after, balance="load", tolerance=tolerance)
    assert len(again.changed) == 0


@pytest.mark.long
@pytest.mark.usefixtures("beside_the_benchmarks")
@pytest.mark.parametrize(
    "sizes",
    [
        {"brokers": 15, "new": 3, "partitions": 1500, "topics": 20},
        {"brokers": 30, "new": 5, "partitions": 2000, "topics": 40},
    ],
)
def test_few_bytes_where_racks_are_uneven(sizes: Json) -> None:
    """The largest rack needs a replica of almost every partition."""
    shape = {"racks": 5, "uneven_racks": True, "seed": 2}
    plan = planned(importlib.import_module("clusters").cluster_json(**sizes, **shape), "2%")
    assert stage(plan, "load").value == 0
    moved = stage(plan, "bytes moved")
    assert moved.bound <= moved.value <= 1.01 * moved.bound


def test_the_order_of_the_input_does_not_matter() -> None:
    cluster = a_large_cluster(5)
    shuffled = {key: random.Random(1).sample(rows, len(rows)) for key, rows in cluster.items()}
    assert planned(cluster).document() == planned(shuffled).document()


def test_capacities_for_each_resource() -> None:
    cluster = a_large_cluster(6)
    for broker in cluster["brokers"]:
        large = broker["id"] % 2 == 0
        broker["disk_bytes"] = 10**15 * (3 if large else 2)
        broker["network_out_bytes_per_second"] = 10**9 * (1 if large else 2)
        broker["network_in_bytes_per_second"] = 10**9
    plan = planned(cluster)
    model = LoadModel.of(plan.problem)
    fair = dict(zip(("replicas", "disk", "in"), model.held_bands.fair.tolist(), strict=True))
    assert set(fair["replicas"]) == {150}
    assert fair["disk"][0] == pytest.approx(1.5 * fair["disk"][1], rel=1e-6)
    out = model.led_bands.fair[1].tolist()
    assert out[0] == pytest.approx(0.5 * out[1], rel=1e-6)
    assert stage(plan, "load").value == 0


def test_a_partition_too_large_for_any_band_is_named(tmp_path: Path) -> None:
    cluster = a_large_cluster(7)
    cluster["partitions"][5]["bytes_out_per_second"] = 10**9
    plan = planned(cluster)
    load = stage(plan, "load")
    assert load.bound > 0
    assert load.value == pytest.approx(load.bound, rel=0.01)
    assert any("out: partition t5-5 alone" in line for line in plan.binding)
    assert all(
        figures["max"] <= figures["band"][1]
        for name, figures in plan.figures["resources"].items()
        if name in ("replicas", "disk", "in")
    )
    assert is_sound(plan, tmp_path)


def test_without_rates_they_are_as_the_sizes_and_the_plan_says_so(tmp_path: Path) -> None:
    cluster = a_large_cluster(8)
    for part in cluster["partitions"]:
        del part["bytes_in_per_second"], part["bytes_out_per_second"]
    plan = planned(cluster)
    figures = plan.figures["resources"]
    a_week = 7 * 86_400
    assert figures["in"]["max"] * a_week == pytest.approx(figures["disk"]["max"], rel=1e-6)
    assert any("no rates are known" in line for line in plan.problem.loads)
    assert is_sound(plan, tmp_path)


@pytest.mark.parametrize(
    "options",
    [
        {"remove_broker": [0]},
        {"replication_factor": 2},
        {"add_broker": ["20:a", "21:b", "22:c"]},
        {"replace_broker": {1: 30}},
        {"topics": "t[0-4]"},
    ],
)
def test_with_other_options(options: Json, tmp_path: Path) -> None:
    plan = planned(a_large_cluster(9), **options)
    assert stage(plan, "load").value <= 20_000
    assert plan.figures["rack_violations"] == 0
    assert is_sound(plan, tmp_path)


@pytest.mark.parametrize("seed", [*seeds(24), 129, 144])
@pytest.mark.random
def test_small_plans_are_sound_and_stable(seed: int, tmp_path: Path) -> None:
    plan = planned(a_cluster(seed, brokers=3 + seed % 4, partitions=4 + seed % 9))
    assert is_sound(plan, tmp_path)
    assert plan.settled
    assert Plan.read(tmp_path / "plan").figures | {"seconds": 0} == plan.figures | {"seconds": 0}


def test_without_moves_leaders_come_as_close_as_they_can(tmp_path: Path) -> None:
    cluster = a_large_cluster(1)
    cluster["brokers"] = cluster["brokers"][:-2]
    plan = planned(cluster, "replicas=30%,disk=60%,in=60%,leaders=5%", no_moves=True)
    assert plan.moves == 0
    assert plan.leader_changes > 0
    before = plan.document()["figures"]["before"]["resources"]["out"]
    assert before["max"] > before["band"][1]
    for name, figures in plan.figures["resources"].items():
        assert figures["band"][0] <= figures["min"]
        assert figures["max"] <= figures["band"][1], name
    assert stage(plan, "load").value == stage(plan, "load").bound == 0
    assert plan.settled
    assert is_sound(plan, tmp_path)


@pytest.mark.parametrize("seed", seeds(40))
@pytest.mark.random
def test_leaders_alone_against_every_choice_of_them(seed: int, tmp_path: Path) -> None:
    """The bound holds for all leaders of the same replicas."""
    rng = random.Random(seed)
    cluster = a_cluster(seed, brokers=3 + seed % 3, partitions=5)
    plan = planned(cluster, rng.choice(["2%", "20%", "60%"]), no_moves=True)
    load = stage(plan, "load")
    assert is_sound(plan, tmp_path)
    assert plan.settled
    assert plan.moves == 0
    model, least = LoadModel.of(plan.problem), None
    width = plan.before.replicas.shape[1]
    for order in itertools.product(range(width), repeat=plan.before.partitions):
        lists = plan.before.replicas.copy()
        rows, first = np.arange(len(lists)), np.array(order)
        lists[rows, 0], lists[rows, first] = lists[rows, first], lists[rows, 0].copy()
        excess = max(model.excess(plan.before.with_replicas(lists)).values())
        least = excess if least is None else min(least, excess)
    assert least is not None
    assert load.bound <= least <= load.value


def test_without_moves_topics_may_be_left_out(tmp_path: Path) -> None:
    cluster = a_large_cluster(2)
    cluster["brokers"] = cluster["brokers"][:-2]
    plan = planned(cluster, "10%", no_moves=True, topics="t[0-4]")
    assert plan.moves == 0
    left = np.array([name.startswith(("t5", "t6")) for name in plan.before.names])
    assert (plan.after.replicas[left] == plan.before.replicas[left]).all()
    assert (plan.after.replicas[~left, 0] != plan.before.replicas[~left, 0]).any()
    assert is_sound(plan, tmp_path)


def test_without_moves_no_replica_may_be_on_a_dead_broker() -> None:
    cluster = a_cluster(1)
    cluster["brokers"][cluster["partitions"][0]["replicas"][0]]["alive"] = False
    with pytest.raises(InputError, match="no replica may be on a dead broker, but partition"):
        planned(cluster, no_moves=True)


@pytest.fixture
def ticking(monkeypatch: pytest.MonkeyPatch) -> None:
    """A clock on which a second passes each time somebody asks."""
    ticks = itertools.count()
    monkeypatch.setattr(search_clock, "monotonic", lambda: next(ticks))


@pytest.mark.parametrize("seconds", [1, 5, 12, 20])
def test_a_search_ends_at_its_limit_with_the_best_so_far(
    seconds: int, ticking: None, tmp_path: Path
) -> None:
    cluster = a_large_cluster(1)
    plan = planned(cluster, "2%", time_limit=seconds)
    assert any("ended at its limit" in line for line in plan.warnings)
    assert not plan.settled
    today = planned(cluster, "2%", time_limit=1)
    assert stage(plan, "load").value <= stage(today, "load").value
    assert plan.figures["rack_violations"] == 0
    assert is_sound(plan, tmp_path)


@pytest.mark.parametrize("no_moves", [False, True])
def test_a_limit_that_is_not_reached_changes_nothing(no_moves: bool, tmp_path: Path) -> None:
    cluster = a_large_cluster(1)
    free, timed = (
        planned(cluster, no_moves=no_moves, time_limit=limit).document() for limit in (None, "24h")
    )
    assert timed["options"].pop("time_limit") == "86400s"
    assert timed["certificate"] == free["certificate"]
    assert timed["partitions"] == free["partitions"]
    assert timed["warnings"] == free["warnings"]


def test_a_plan_without_changes_need_not_be_stable_if_its_search_was_ended(
    ticking: None, tmp_path: Path
) -> None:
    plan = planned(a_large_cluster(1), time_limit=1)
    assert plan.moves == 0
    assert is_sound(plan, tmp_path)


def test_steps_are_reported() -> None:
    steps: list[str] = []
    planned(a_large_cluster(1), progress=steps.append)
    wanted = ["searching for replicas to move", "searching for leaders", "proving"]
    assert [step for step in steps if step in wanted] == wanted


def test_a_disk_that_nothing_fits_on_is_an_error() -> None:
    cluster = a_cluster(1)
    for broker in cluster["brokers"]:
        broker["disk_bytes"] = 10**6
    with pytest.raises(CannotError, match="add disk or brokers"):
        planned(cluster)


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"leaders": "rate"}, "cannot be combined with `leaders`: give a small `tolerance` of"),
        ({"spread": "topic", "tolerance": None}, "with `spread`: leave it out"),
        ({"relieve": "80%", "tolerance": None}, "with `relieve`: give a small `tolerance` of disk"),
        ({"max_moves": 3}, "with `max_moves`: to move less, give a larger `tolerance`"),
        ({"max_bytes_moved": "1GB"}, "with `max_bytes_moved`: to move less, give a larger"),
        ({"no_moves": True, "max_moves": 3}, "leaves nothing for `max_moves` to do"),
        ({"tolerance": "cpu=2%"}, "cpu is not a resource"),
        ({"tolerance": "out=2%,out=3%"}, "given twice"),
        ({"tolerance": {}}, "names no resource"),
    ],
)
def test_options_that_do_not_fit(options: Json, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        planned(a_cluster(1), **({"tolerance": "5%"} | options))


def test_a_time_limit_needs_this_balance() -> None:
    with pytest.raises(InputError, match="time_limit 60s: needs `balance` load"):
        partage.plan(Cluster.from_json(a_cluster(1)), time_limit="60s")


def test_named_tolerances_need_this_balance() -> None:
    with pytest.raises(InputError, match="needs `balance` load"):
        partage.plan(Cluster.from_json(a_cluster(1)), tolerance="out=5%")


def test_sizes_are_needed() -> None:
    cluster = a_cluster(1)
    for part in cluster["partitions"]:
        del part["size_bytes"]
    with pytest.raises(InputError, match="balance load: the size of no partition is known"):
        planned(cluster)


def test_other_strategies_refuse() -> None:
    with pytest.raises(CannotError, match="does not support `balance` load"):
        planned(a_cluster(1), None, strategy="greedy")
