"""Plans forged by hand: each is worse than the best there is, true in all that follows from its
lists, and states in one way or another that it is the best."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from partage import Cluster
from partage.brokers.options import PlanOptions
from partage.brokers.posing.resolving import resolve
from partage.brokers.solving import solve
from partage.flow.assignment import assign
from partage.flow.assignment.trade_off import aimed
from partage.flow.packing import pack
from partage.flow.proof import prove
from tests.brokers.check.forgery import claim, planned
from tests.brokers.check.tampering import Files, Value, judged
from tests.matrices import cluster_of

FORGERIES: dict[str, Callable[[Path], Files]] = {}


def forgery(function: Callable[[Path], Files]) -> Callable[[Path], Files]:
    FORGERIES[function.__name__.replace("_", " ")] = function
    return function


def worse(
    folder: Path, cluster: Cluster, after: str, rates: list[float] | None = None, **options: Any
) -> Files:
    """A plan of ``exact`` with the lists ``after`` (in the spelling of ``cluster_of``)."""
    measured = None if rates is None else np.array(rates)
    problem = resolve(cluster, PlanOptions(**options), measured)
    ids = problem.cluster.broker_ids.tolist()
    rows = [[ids.index(int(b)) for b in row.split(",")] for row in after.split()]
    width = max(map(len, rows))
    lists = np.array([row + [-1] * (width - len(row)) for row in rows])
    planned(problem, lists).write(folder / "plan")
    return Files(folder / "plan")


def honest(cluster: Cluster, **options: Any) -> dict[str, Value]:
    """The stages of the best plan, by name."""
    made = solve(resolve(cluster, PlanOptions(**options)))
    return {stage.name.value: stage.to_json() for stage in made.stages}


def add_stage(f: Files, stage: Value, place: int = 3) -> None:
    f.plan["certificate"]["stages"].insert(place, stage)


CROWDED = cluster_of("1 " * 9 + "2 2 2", "1 2")
"""Three moves make it fair."""
THREE = "2 2 2 " + "1 " * 6 + "2 2 2"
EVEN = cluster_of("1 1 2 2 3 3 4 4", "1 2 3 4")
"""Nothing is to be done."""
RACKS = cluster_of("1,2 1,3 2,3 1,3 2,3", "1:a 2:a 3:b 4:b")


# ---------------------------------------------------------------- limits


@forgery
def an_added_tolerance_without_a_budget(folder: Path) -> Files:
    f = worse(folder, CROWDED, THREE)
    f.plan["options"]["tolerance"] = "50%"
    return f


@forgery
def a_budget_of_the_best_plan(folder: Path) -> Files:
    f = worse(folder, CROWDED, THREE)
    f.plan["options"]["tolerance"] = "50%"
    add_stage(f, honest(CROWDED, tolerance="50%")["budget"])
    return f


@forgery
def a_budget_with_the_value_of_the_best_plan(folder: Path) -> Files:
    f = a_budget_of_the_best_plan(folder)
    f.stage("budget")["value"] = f.stage("budget")["bound"]
    return f


@forgery
def a_budget_whose_bound_is_its_value(folder: Path) -> Files:
    f = a_budget_of_the_best_plan(folder)
    f.stage("budget").update(value=3, bound=3)
    return f


@forgery
def windows_of_a_smaller_tolerance(folder: Path) -> Files:
    f = worse(folder, CROWDED, THREE, tolerance="1%")
    f.plan["options"]["tolerance"] = "50%"
    return f


@forgery
def windows_around_loads_that_are_not_fair(folder: Path) -> Files:
    f = a_budget_of_the_best_plan(folder)
    f.stage("budget")["prices"]["fair"] = pack(np.array([2, 22]))
    return f


@forgery
def a_tolerance_hidden_behind_a_limit_on_moves(folder: Path) -> Files:
    f = worse(folder, CROWDED, THREE, max_moves=3)
    prices = honest(CROWDED, tolerance="50%")["budget"]["prices"]
    f.plan["options"]["tolerance"] = "50%"
    f.stage("budget")["prices"] |= {key: prices[key] for key in ("fair", "within")}
    return f


@forgery
def a_tolerance_hidden_behind_a_limit_on_bytes(folder: Path) -> Files:
    sized = cluster_of("1/1 " * 9 + "2/1 2/1 2/1", "1 2")
    f = worse(folder, sized, THREE, max_bytes_moved="1PB")
    prices = honest(sized, tolerance="50%")["budget"]["prices"]
    f.plan["options"]["tolerance"] = "50%"
    f.stage("budget")["prices"] |= {key: prices[key] for key in ("fair", "within")}
    return f


@forgery
def an_aim_at_loads_that_are_as_fair_with_more_moves(folder: Path) -> Files:
    """Nine replicas on two brokers: five and four need a move less than four and five."""
    cluster = cluster_of("1 1 1 1 1 1 2 2 2", "1 2")
    f = worse(folder, cluster, "2 2 1 1 1 1 2 2 2", max_moves=5)
    problem = aimed(resolve(cluster, PlanOptions()).sharing, np.array([4, 5]))
    for proof in prove(problem, assign(problem, ("load", "moves", "spread"))):
        stage = f.stage({"load": "replicas", "spread": "topic spread"}.get(proof.cost, proof.cost))
        stage.update(value=proof.value, bound=proof.bound)
        stage["prices"] = {
            "aim": [4, 5],
            "weights": proof.weights,
            "load_weights": [1, 1],
            "brokers": pack(proof.slot_price),
        }
        if proof.family_price is not None:
            stage["prices"]["topics"] = pack(proof.family_price - proof.slot_price)
    return f


@forgery
def an_aim_without_any_limit(folder: Path) -> Files:
    f = worse(folder, CROWDED, "1 " * 9 + "2 2 2")
    for name in ("replicas", "moves", "topic spread"):
        f.stage(name)["prices"] |= {"aim": [9, 3], "load_weights": [1, 1]}
    f.stage("replicas").update(value=0, bound=0)
    return f


@forgery
def a_limit_on_moves_that_nothing_breaks(folder: Path) -> Files:
    f = worse(folder, CROWDED, "1 " * 9 + "2 2 2", max_moves=3)
    f.stage("budget")["prices"]["move_price"] = 20
    return f


@forgery
def a_limit_on_bytes_that_excuses_the_topics(folder: Path) -> Files:
    """Far below the limit, and a topic is all on one broker."""
    cluster = cluster_of("1/1 1/1 1/1 1/1 u: 1/1 1/1 1/1 1/1", "1 2")
    return worse(folder, cluster, "1 1 1 1 2 2 2 2", max_bytes_moved="1PB")


@forgery
def a_disk_that_excuses_the_tolerance(folder: Path) -> Files:
    """As few moves as the tolerance needs, from another broker than the fullest."""
    rows = "1/1 " * 6 + "2/1 " * 4 + "3/1 " * 2
    disks = "1/1000 2/1000 3/1000"
    after = "1 " * 6 + "1 2 2 2 3 3"
    return worse(folder, cluster_of(rows, disks), after, tolerance="30%")


# ---------------------------------------------------------------- what is balanced


@forgery
def a_useless_move(folder: Path) -> Files:
    return worse(folder, EVEN, "2 1 1 2 3 3 4 4")


@forgery
def a_useless_move_with_the_prices_of_another_cluster(folder: Path) -> Files:
    f = worse(folder, EVEN, "2 1 1 2 3 3 4 4")
    other = honest(cluster_of("1 1 1 1 3 3 4 4", "1 2 3 4"))
    for name in ("replicas", "moves", "topic spread"):
        f.stage(name)["prices"] = other[name]["prices"]
    return f


@forgery
def loads_that_weigh_nothing(folder: Path) -> Files:
    f = worse(folder, CROWDED, "1 " * 9 + "2 2 2")
    for name in ("replicas", "moves", "topic spread"):
        f.stage(name)["prices"]["load_weights"] = [0, 0]
        f.stage(name)["value"] = 0
    return f


@forgery
def a_capacity_below_every_weight(folder: Path) -> Files:
    f = worse(folder, CROWDED, "1 " * 9 + "2 2 2")
    f.plan["brokers"][0]["capacity"] = 1e9
    f.plan["brokers"][1]["capacity"] = 1e-9
    for name in ("replicas", "moves", "topic spread"):
        f.stage(name)["prices"]["load_weights"] = [0, 0]
        f.stage(name)["value"] = 0
    return f


@forgery
def replicas_called_bytes(folder: Path) -> Files:
    """All sizes are one, so that only the stages differ."""
    cluster = cluster_of("1/1 " * 9 + "2/1 2/1 2/1", "1 2")
    f = worse(folder, cluster, "1 " * 9 + "2 2 2")
    f.plan["options"]["balance"] = "bytes"
    return f


@forgery
def topics_before_the_cluster(folder: Path) -> Files:
    cluster = cluster_of("1 1 u: 1 1", "1 2")
    f = worse(folder, cluster, "1 1 2 2")
    f.plan["options"]["spread"] = "topic"
    stages = f.plan["certificate"]["stages"]
    stages[:3] = [stages[2], stages[0], stages[1]]
    return f


@forgery
def a_relieved_disk_that_stays_full(folder: Path) -> Files:
    cluster = cluster_of("1/10 " * 9 + "2/10", "1/100 2/100")
    return worse(folder, cluster, "1 " * 9 + "2", relieve="80%")


@forgery
def a_relieved_disk_that_is_emptied_too_far(folder: Path) -> Files:
    cluster = cluster_of("1/10 " * 9 + "2/10", "1/100 2/100")
    f = worse(folder, cluster, "1 1 1 1 1 2 2 2 2 2", relieve="80%")
    f.stage("bytes moved")["prices"]["high"] = pack(np.array([50, 80]))
    return f


# ---------------------------------------------------------------- rules


@forgery
def a_broken_rack_rule_and_a_useless_move(folder: Path) -> Files:
    """Another strategy may leave a set as it is; so it moves as much as the repair would."""
    f = worse(folder, RACKS, "1,2 1,3 2,4 1,4 2,4")
    f.plan["options"]["strategy"] = "generate"
    return f


@forgery
def a_partition_led_by_a_dead_broker(folder: Path) -> Files:
    """Its leader counts for nobody, which leaves room for uneven counts elsewhere."""
    cluster = cluster_of("3,1,2 2,3 3,2", "1! 2 3")
    return worse(folder, cluster, "1,3,2 2,3 2,3", no_moves=True)


@forgery
def partitions_with_one_other_replica_led_by_a_dead_broker(folder: Path) -> Files:
    """Only two leaders count on broker 2 and broker 3, and the bound counts what they should."""
    cluster = cluster_of("1,2 2,1 1,3 3,1 1,2 1,2 1,3 4,2 4,3", "1 2 3 4!")
    return worse(folder, cluster, "1,2 1,2 1,3 1,3 1,2 2,1 3,1 4,2 4,3", no_moves=True)


@forgery
def a_hot_partition_led_by_a_dead_broker(folder: Path) -> Files:
    cluster = cluster_of("1,2 2,1 1,3 3,1 1,2 1,2 1,3 4,2 4,3", "1 2 3 4!")
    lists = "1,2 2,1 3,1 3,1 1,2 2,1 1,3 4,2 4,3"
    return worse(folder, cluster, lists, [1.0] * 8 + [100.0], no_moves=True, leaders="rate")


@forgery
def replicas_left_on_a_removed_broker(folder: Path) -> Files:
    """The topic is left out, so nothing there changes."""
    cluster = cluster_of("1 2 u: 3 3", "1 2 3")
    f = worse(folder, cluster, "1 2 3 3", topics="t")
    f.plan["options"]["remove_broker"] = ["3"]
    f.plan["brokers"][2]["excluded"] = True
    return f


@forgery
def an_added_broker_that_held_replicas(folder: Path) -> Files:
    f = worse(folder, EVEN, "1 1 2 2 3 3 4 4")
    f.plan["options"]["add_broker"] = ["4"]
    f.plan["brokers"][3]["added"] = True
    return f


@forgery
def an_added_broker_that_is_tiny(folder: Path) -> Files:
    """Its capacity is that of the others, which would give it replicas."""
    f = worse(folder, cluster_of("1 1 1 2 2 2", "1 2"), "1 1 1 2 2 2", add_broker=["9"])
    f.plan["brokers"][2]["capacity"] = 0.001
    return f


@forgery
def an_added_broker_that_is_dead(folder: Path) -> Files:
    f = worse(folder, cluster_of("1 1 1 2 2 2", "1 2"), "1 1 1 2 2 2", add_broker=["9"])
    f.plan["brokers"][2]["alive"] = False
    return f


@forgery
def a_topic_with_fewer_replicas_by_another_tool(folder: Path) -> Files:
    """The lists decide how many replicas there are, but not without a warning."""
    f = worse(folder, cluster_of("1,2 2,1", "1 2"), "1 2", replication_factor="1")
    f.plan["options"] = {"strategy": "given", "reassignment": "lists.json"}
    return f


@forgery
def a_factor_that_no_option_asks_for(folder: Path) -> Files:
    f = worse(folder, cluster_of("1,2 2,1", "1 2"), "1 2", replication_factor="1")
    f.plan["options"] = {}
    return f


@forgery
def a_topic_left_out_by_a_flag(folder: Path) -> Files:
    f = worse(folder, CROWDED, "1 " * 9 + "2 2 2")
    f.part["chosen"] = [False] * len(f.part["chosen"])
    return f


@forgery
def moves_that_no_moves_forbids(folder: Path) -> Files:
    f = worse(folder, CROWDED, THREE)
    f.plan["options"]["no_moves"] = True
    del f.plan["certificate"]["stages"][:3]
    return f


# ---------------------------------------------------------------- leaders


UNEVEN = "1,2,3 2,3,4 1,3,4 1,4,2 1,3,2 2,4,3"
PERMUTED = "1,2,3 2,1,4 3,1,4 4,2,1 1,2,3 2,1,4"


def in_order(folder: Path, lists: str, **options: Any) -> Files:
    """A plan that only orders the lists."""
    before = " ".join(",".join(sorted(row.split(","))) for row in lists.split())
    return worse(folder, cluster_of(before, "1 2 3 4"), lists, no_moves=True, **options)


@forgery
def uneven_leaders(folder: Path) -> Files:
    return in_order(folder, UNEVEN)


@forgery
def uneven_leaders_called_inexact(folder: Path) -> Files:
    f = in_order(folder, UNEVEN)
    f.stage("leaders")["exact"] = False
    return f


@forgery
def permuted_followers_without_their_stage(folder: Path) -> Files:
    f = in_order(folder, PERMUTED)
    f.plan["certificate"]["stages"].pop()
    return f


@forgery
def permuted_followers_of_another_strategy(folder: Path) -> Files:
    f = in_order(folder, PERMUTED)
    f.plan["certificate"]["stages"].pop()
    f.plan["options"]["strategy"] = "leader-flow"
    return f


@forgery
def a_worst_survivor_with_prices_that_prove_nothing(folder: Path) -> Files:
    f = in_order(folder, PERMUTED)
    stage = f.stage("failure")
    stage["prices"] = f.stage("failure balance")["prices"]
    return f


@forgery
def leaders_by_rates_that_are_not_there(folder: Path) -> Files:
    f = in_order(folder, UNEVEN)
    f.plan["options"]["leaders"] = "rate"
    stage = f.stage("leaders")
    stage.update(stage="leader rate", value=0, bound=0, exact=False, prices={"confined": [1]})
    return f


# ---------------------------------------------------------------- sums


@forgery
def sizes_whose_sum_wraps(folder: Path) -> Files:
    cluster = cluster_of("1/1 1/1 2/1", "1 2")
    f = worse(folder, cluster, "1 1 2", balance="bytes")
    f.part["size_bytes"] = [2**60, 2**60, 2**60]
    return f


@forgery
def a_percentage_beyond_all_numbers(folder: Path) -> Files:
    f = worse(folder, CROWDED, THREE, tolerance="50%")
    f.plan["options"]["tolerance"] = "1e99999999%"
    return f


@pytest.mark.sampled(2)
@pytest.mark.parametrize("met", [True, False], ids=["bounds forged", "bounds kept"])
@pytest.mark.parametrize("name", FORGERIES)
def test_a_forgery_does_not_pass_as_optimal(name: str, met: bool, tmp_path: Path) -> None:
    f = FORGERIES[name](tmp_path)
    claim(f, met=met)
    f.after["optimal"] = True
    f.plan["gaps"] = f.after["gaps"] = {}
    assert not judged(f.write()).optimal, name
    f.after["optimal"] = False
    claim(f, met=met)
    assert not judged(f.write()).optimal, name
