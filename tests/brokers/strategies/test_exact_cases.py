"""Strategy ``exact`` on named cases.

Clusters are written as text (see ``tests.matrices``). The tests assert figures, not the choice
among ties, and each plan is also compared with an oracle.
"""

from __future__ import annotations

from typing import Any

import pytest

from partage.brokers.planning import plan
from partage.cluster.model import Cluster
from partage.errors import InputError
from tests.bundled import bundled, uneven_value
from tests.matrices import cluster_json, cluster_of
from tests.oracles import brute_force, mip
from tests.oracles.naive_problem import (
    after_failure,
    defects,
    leader_counts,
    leader_value,
    loads,
    placement_value,
    read_problem,
)
from tests.oracles.verify import assert_best_order, assert_best_placement, assert_true_figures


class Outcome:
    """A plan, compared with the oracle."""

    def __init__(self, matrix: str, brokers: str, **options: Any) -> None:
        cluster = cluster_json(matrix, brokers)
        self.job = read_problem(cluster, options)
        self.plan = plan(Cluster.from_json(cluster), **options)
        assert_best_placement(self.job, self.plan, brute_force)
        assert_best_order(self.job, self.plan, brute_force)
        assert_true_figures(self.job, self.plan)
        self.lists = self.plan.after.replica_lists()
        self.moves = self.plan.moves
        self.loads = list(loads(self.job, self.lists).values())
        self.leaders = list(leader_counts(self.job, self.lists).values())
        self.worst = max(after_failure(self.job, self.lists), default=0)


# ---------------------------------------------------------------- figures of the survey


def test_four_leaders_out_of_two_without_a_move() -> None:
    matrix, brokers = "1,2,3 2,3,4 1,2,3 2,1,3", "1 2 3 4"
    before = read_problem(cluster_json(matrix, brokers), {})
    assert list(leader_counts(before, [r.before for r in before.rows]).values()) == [2, 2, 0, 0]
    outcome = Outcome(matrix, brokers, no_moves=True)
    assert outcome.leaders == [1, 1, 1, 1]
    assert outcome.moves == 0


def test_three_replicas_each_in_two_moves() -> None:
    matrix, brokers = "1,2,3 2,1,4 1,2,4 2,1,3", "1 2 3 4"
    before = read_problem(cluster_json(matrix, brokers), {})
    assert list(loads(before, [r.before for r in before.rows]).values()) == [4, 4, 2, 2]
    outcome = Outcome(matrix, brokers)
    assert outcome.loads == [3, 3, 3, 3]
    assert outcome.moves == outcome.plan.lower_bound == 2
    assert outcome.leaders == [1, 1, 1, 1]


def test_nothing_to_do() -> None:
    outcome = Outcome("1,2 2,3 3,1", "1 2 3")
    assert outcome.lists == [[1, 2], [2, 3], [3, 1]]
    assert outcome.plan.document()["changes"] is False


# ---------------------------------------------------------------- replication factor


def test_increase_fills_the_empty_brokers() -> None:
    outcome = Outcome("1,2 1,2 1,2 2,1", "1 2 3 4", replication_factor=["3"])
    assert outcome.loads == [3, 3, 3, 3]
    assert outcome.moves == 6  # four for the factor, two to even out


def test_increase_from_one_to_all() -> None:
    outcome = Outcome("1 2 3", "1 2 3", replication_factor=["3"])
    assert [sorted(a) for a in outcome.lists] == [[1, 2, 3]] * 3
    assert outcome.moves == 6
    assert [a[0] for a in outcome.lists] == [1, 2, 3]


def test_decrease_drops_where_it_is_full() -> None:
    outcome = Outcome("1,2,3 1,2,4 1,3,4", "1 2 3 4", replication_factor=["2"])
    assert sorted(outcome.loads) == [1, 1, 2, 2]
    assert outcome.moves == 0


def test_decrease_where_every_replica_is_on_an_underloaded_broker() -> None:
    # u-0 must leave broker 1 or 2, which are below average already: one move fills the gap
    outcome = Outcome("3 4 3 4 u: 1,2", "1 2 3 4", replication_factor=["u=1"])
    assert sorted(outcome.loads) == [1, 1, 1, 2]
    assert outcome.moves == 1


def test_factors_of_two_topics() -> None:
    outcome = Outcome("1,2 2,3 u: 3,1 1,2", "1 2 3", replication_factor=["1", "u=3"])
    assert [len(a) for a in outcome.lists] == [1, 1, 3, 3]


def test_a_factor_above_the_brokers_is_bad_input() -> None:
    for options in ({"replication_factor": ["4"]}, {"replication_factor": ["t=4"]}):
        with pytest.raises(InputError):
            plan(cluster_of("1,2", "1 2 3"), **options)
    with pytest.raises(InputError):
        plan(cluster_of("1,2,3", "1 2 3"), remove_broker=[3])
    with pytest.raises(InputError):
        plan(cluster_of("1,2", "1 2!"))


# ---------------------------------------------------------------- degenerate clusters


def test_one_broker() -> None:
    outcome = Outcome("1 1 u: 1", "1")
    assert outcome.lists == [[1], [1], [1]]
    assert (outcome.moves, outcome.worst) == (0, 0)


def test_one_rack_sets_no_rule() -> None:
    outcome = Outcome("1,2,3 1,2,3 1,2,3 1,2,3", "1:a 2:a 3:a 4:a")
    assert outcome.loads == [3, 3, 3, 3]
    assert outcome.moves == 3


def test_with_factor_one_leaders_follow_the_replicas() -> None:
    outcome = Outcome("1 1 1 1", "1 2 3 4")
    assert outcome.leaders == outcome.loads == [1, 1, 1, 1]
    assert outcome.moves == 3
    assert outcome.worst == 1  # no broker takes over, so a failure adds no leaders


def test_one_partition() -> None:
    outcome = Outcome("3,1", "1 2 3 4 5")
    assert outcome.lists == [[3, 1]]


def test_more_partitions_than_brokers() -> None:
    outcome = Outcome("1,2 1,2 1,2 1,2 1,2 1,2 1,2", "1 2 3")
    assert sorted(outcome.loads) == [4, 5, 5]
    assert sorted(outcome.leaders) == [2, 2, 3]
    assert outcome.moves == 4


def test_fewer_replicas_than_brokers() -> None:
    outcome = Outcome("7,9 7,9", "7 8 9 10 11 12")
    assert sorted(outcome.loads) == [0, 0, 1, 1, 1, 1]
    assert outcome.moves == 2


# ---------------------------------------------------------------- added and removed brokers


def test_a_new_broker_takes_its_share_and_nothing_else_moves() -> None:
    outcome = Outcome("1,2 2,3 3,1 1,2 2,3 3,1", "1 2 3", add_broker=["9"])
    assert outcome.loads == [3, 3, 3, 3]
    assert outcome.moves == 3
    assert all(
        9 in a or set(a) == set(r.before)
        for r, a in zip(outcome.job.rows, outcome.lists, strict=True)
    )


def test_a_removed_broker_is_empty() -> None:
    outcome = Outcome("1,2 2,3 3,4 4,1", "1 2 3 4", remove_broker=[2])
    assert sorted(outcome.loads) == [2, 3, 3]
    assert outcome.moves == 2


def test_a_replacement_takes_exactly_the_old_brokers_replicas() -> None:
    outcome = Outcome("1,2 2,3 3,1", "1:a 2:b 3:c", replace_broker=["3=9"])
    assert outcome.moves == 2
    assert [sorted(a) for a in outcome.lists] == [[1, 2], [2, 9], [1, 9]]
    added = [b for b in outcome.plan.document()["brokers"] if b["added"]]
    assert [(b["id"], b["rack"]) for b in added] == [(9, "c")]


def test_a_replacement_has_the_rack_and_the_capacity_of_the_old_broker() -> None:
    cluster = cluster_json("1 1 1 2 2 2", "1:a 2:b")
    cluster["brokers"][1]["capacity"] = 2
    planned = plan(Cluster.from_json(cluster), replace_broker=["2=9"])
    assert planned.figures["replicas_per_broker"] == [2, 4]


def test_a_replacement_that_already_exists_is_not_added() -> None:
    matrix, brokers = "1,2 2,3 3,1", "1 2 3 4"
    replaced = Outcome(matrix, brokers, replace_broker=["1=4"])
    assert replaced.lists == Outcome(matrix, brokers, remove_broker=[1]).lists
    assert replaced.moves == 2


def test_a_dead_broker_is_emptied_and_never_leads() -> None:
    outcome = Outcome("1,2 2,3 3,1", "1 2! 3")
    assert [sorted(a) for a in outcome.lists] == [[1, 3]] * 3
    assert outcome.moves == 2


def test_a_dead_broker_cannot_lead_though_it_must_stay() -> None:
    outcome = Outcome("2,1,3 2,3,1 2", "1 2! 3", no_moves=True)
    assert outcome.leaders == [1, 1]
    assert outcome.lists[2] == [2]  # its only replica


def test_a_left_out_partition_on_a_removed_broker_is_bad_input() -> None:
    with pytest.raises(InputError):
        plan(cluster_of("1,2 u: 3", "1 2 3"), topics="t", remove_broker=[3])


@pytest.mark.parametrize(
    "options",
    [
        {"add_broker": ["2"]},
        {"add_broker": ["9", "9"]},
        {"remove_broker": [8]},
        {"remove_broker": [1, 2, 3]},
        {"replace_broker": ["8=9"]},
        {"replication_factor": ["0"]},
        {"replication_factor": ["none=2"]},
        {"topics": "["},
        {"topics": "none"},
        {"spread": "rack"},
        {"strategy": "none"},
    ],
    ids=str,
)
def test_invalid_options_are_bad_input(options: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        plan(cluster_of("1,2", "1 2 3"), **options)


# ---------------------------------------------------------------- racks


def test_a_small_rack_holds_more_replicas_per_broker() -> None:
    outcome = Outcome("1,2 1,2 3,4 3,4", "1:a 2:a 3:a 4:b")
    assert outcome.loads[3] == 4  # every partition must have its second replica in rack b
    assert sorted(outcome.loads[:3]) == [1, 1, 2]


def test_more_replicas_than_racks_spread_evenly_over_them() -> None:
    outcome = Outcome("1,2,3 1,2,3", "1:a 2:a 3:a 4:b 5:b")
    rack = outcome.job.rack
    for replicas in outcome.lists:
        assert sorted(map([rack[b] for b in replicas].count, "ab")) == [1, 2]


def test_a_rack_with_too_few_brokers_for_its_share() -> None:
    outcome = Outcome("1,2,3,4", "1:a 2:a 3:a 4:a 5:b")
    assert sum(outcome.job.rack[b] == "a" for b in outcome.lists[0]) == 3
    assert outcome.moves == 1


def test_a_rack_without_a_live_broker_is_ignored() -> None:
    outcome = Outcome("1,3 2,3", "1:a 2:a 3:b!")
    assert [sorted(a) for a in outcome.lists] == [[1, 2], [1, 2]]


# ---------------------------------------------------------------- topics


def test_left_out_topics_stay_and_count() -> None:
    outcome = Outcome("1 2 u: 1,2 1,2", "1 2 3", topics="t")
    assert outcome.lists == [[3], [3], [1, 2], [1, 2]]
    assert outcome.loads == [2, 2, 2]


def test_the_pattern_must_match_the_whole_topic_name() -> None:
    outcome = Outcome("1 1 tt: 1 1", "1 2 3", topics="t")
    assert outcome.lists[2:] == [[1], [1]]


def test_topic_spread_costs_no_move_unless_it_comes_first() -> None:
    matrix, brokers = "1 1 u: 2 2", "1 2"
    assert Outcome(matrix, brokers).moves == 0
    outcome = Outcome(matrix, brokers, spread="topic")
    assert outcome.moves == 2
    assert placement_value(outcome.job, outcome.lists)[2] == 4


def test_topic_spread_among_equal_moves() -> None:
    outcome = Outcome("1 1 1 u: 1 1 1", "1 2")
    assert outcome.moves == 3
    assert placement_value(outcome.job, outcome.lists)[2] == 10  # 2+1 and 1+2, not 3 and 3


# ---------------------------------------------------------------- leaders and failures


def test_even_pairs_need_not_be_even_after_a_failure() -> None:
    # brokers 2, 3 and 4 lead 2, 1 and 1 partitions already, so broker 1's leaders must go to 3, 4
    outcome = Outcome("1,2,3 2 2 1,3,4 3 4", "1 2 3 4", no_moves=True)
    assert outcome.worst == 2
    assert [a[1] for a in outcome.lists if len(a) > 1] == [3, 4]


def test_a_rack_never_takes_over_from_itself() -> None:
    outcome = Outcome("1,3 1,4 2,3 2,4 3,1 3,2 4,1 4,2", "1:a 2:a 3:b 4:b", no_moves=True)
    assert outcome.leaders == [2, 2, 2, 2]
    assert outcome.worst == 3


def test_fewest_leader_changes() -> None:
    outcome = Outcome("1,2 1,2 1,2 1,2", "1 2", no_moves=True)
    assert outcome.leaders == [2, 2]
    value = leader_value(outcome.job, outcome.lists)
    _, changes = brute_force.best_leaders(outcome.job, outcome.lists)
    assert value.leader_changes == changes


def test_even_takeovers_count_more_than_leader_changes() -> None:
    """Two changes make leaders 2, 1 and 1, with squares of 30 after failures; three make 1, 2 and
    1, with 28."""
    outcome = Outcome("1,2 1,2 1,2 1,3", "1 2 3", no_moves=True)
    value = leader_value(outcome.job, outcome.lists)
    assert outcome.leaders == [1, 2, 1]
    assert (value.failure_squares, value.leader_changes) == (28, 3)


# ---------------------------------------------------------------- the bundled clusters


def plain(name: str) -> dict[str, Any]:
    """The bundled cluster in the plain form."""
    value = bundled(name)
    if "brokers" not in value:
        ids = sorted({b for p in value["partitions"] for b in p["replicas"]})
        value = {"brokers": [{"id": b} for b in ids], "partitions": value["partitions"]}
    return value


@pytest.mark.long
def test_256_partitions_without_moves() -> None:
    planned = plan(Cluster.from_json(bundled("cluster-256.json")), no_moves=True)
    job = read_problem(plain("cluster-256.json"), {"no_moves": True})
    assert_best_placement(job, planned, mip)
    assert_best_order(job, planned, mip)
    assert_true_figures(job, planned)
    assert max(leader_counts(job, planned.after.replica_lists()).values()) <= 13


@pytest.mark.long
def test_256_partitions() -> None:
    planned = plan(Cluster.from_json(bundled("cluster-256.json")))
    job = read_problem(plain("cluster-256.json"), {})
    assert_best_placement(job, planned, mip)
    assert_best_order(job, planned, mip)
    assert_true_figures(job, planned)
    assert planned.moves == 102
    for counts in (loads, leader_counts):
        values = counts(job, planned.after.replica_lists()).values()
        assert max(values) - min(values) <= 1


EVEN = (dict.fromkeys("abc", 54), 200)
UNEVEN = ({"a": 54, "b": 54, "c": 81}, 173)


@pytest.mark.long
@pytest.mark.parametrize(
    ("value", "per_rack", "moves"),
    [(bundled("cluster-grown.json"), *EVEN), (uneven_value(), *UNEVEN)],
    ids=["even racks", "uneven racks"],
)
def test_the_grown_cluster(value: dict[str, Any], per_rack: dict[str, int], moves: int) -> None:
    job = read_problem(value, {})
    broken = [d for d in defects(job, [row.before for row in job.rows]) if "racks" in d]
    assert len(broken) == 41
    planned = plan(Cluster.from_json(value))
    assert_best_placement(job, planned, mip)
    assert_best_order(job, planned, mip)
    assert_true_figures(job, planned)
    figures = planned.document()["figures"]
    assert figures["before"]["rack_violations"] == 41
    assert figures["before"]["replicas_per_broker"] == [0, 117]
    assert figures["after"] == {k: v for k, v in planned.figures.items() if k != "seconds"}
    assert planned.figures["rack_violations"] == 0
    assert planned.moves == moves
    lists = planned.after.replica_lists()
    assert loads(job, lists) == {b: per_rack[job.rack[b]] for b in job.brokers}
    led = leader_counts(job, lists).values()
    assert max(led) - min(led) <= 1
