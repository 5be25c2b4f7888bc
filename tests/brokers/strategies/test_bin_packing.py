"""Strategy ``bin-packing`` against lists that topicmappr's own code gave, its rules, and random
clusters; and the option ``--balance``."""

from __future__ import annotations

import random
from collections import Counter
from functools import partial
from typing import Any

import pytest

from partage.brokers.compare import Comparison, solve_with_each
from partage.brokers.options import PlanOptions
from partage.brokers.plan import Plan
from partage.brokers.posing.resolving import resolve
from partage.brokers.strategies.bin_packing import bin_packing
from partage.cluster import Cluster
from partage.errors import CannotError, InputError
from tests.matrices import decided, problem_of, text
from tests.profiles import seeds

lists_of = partial(decided, bin_packing)

SIZED = "1,2/90 2,1/10 1,2/70 2,1/40 u: 1,2/60 2,1/30"

# ------------------------------------------------------------------ by storage


@pytest.mark.parametrize("disk", [1000, None])
@pytest.mark.parametrize(
    ("before", "brokers", "options", "after"),
    [
        pytest.param(
            SIZED, "1:a 2:b 3:a 4:b", {}, "1,2 3,4 2,3 4,1 3,4 4,1", id="by force, two racks"
        ),
        pytest.param(SIZED, "1 2 3", {}, "1,2 1,3 2,1 3,2 3,1 2,3", id="by force, no racks"),
        pytest.param(
            "1,2/50 1,2/30 2,1/80 3,1/20 4,2/10",
            "1:a 2:b 3:b 4:b",
            {"remove_broker": [2]},
            "1,3 1,3 4,1 3,1 4,1",
            id="a broker goes",
        ),
        pytest.param(
            "1,2/50 1,2/20 1,3/20 3,2/30",
            "1:a 2:b 3:c 4:a",
            {"replication_factor": "3"},
            "1,2,3 1,2,3 1,3,2 3,2,4",
            id="factor up",
        ),
    ],
)
def test_same_as_the_tool(
    disk: int | None, before: str, brokers: str, options: dict[str, Any], after: str
) -> None:
    problem = problem_of(before, brokers, disk, balance="bytes", **options)
    assert text(lists_of(problem)) == after


def test_racks_are_used_again_once_all_have_the_partition() -> None:
    """The tool with --min-rack-ids 2, by force."""
    problem = problem_of("1,2,3/50 2,1,3/40 1,2,3/30", "1:a 2:b 3:a 4:b", 1000, balance="bytes")
    lists = lists_of(problem)
    rack = {1: "a", 2: "b", 3: "a", 4: "b"}
    assert text(lists) == "1,4,2 2,3,1 3,2,4"
    assert all({rack[b] for b in row[:2]} == {"a", "b"} for row in lists)


def test_a_replica_that_fits_nowhere() -> None:
    problem = problem_of("1/60 1/60 1/60", "1 2", 100, balance="bytes")
    with pytest.raises(
        CannotError, match=r"finds no broker .* with 60 bytes free for a replica of t-2$"
    ):
        bin_packing(problem)


def test_largest_first_fits_where_names_would_not() -> None:
    """30 and 30 on one disk leave no disk for 70."""
    problem = problem_of("1/30 1/30 1/70", "1 2", 100, balance="bytes")
    assert text(lists_of(problem)) == "2 2 1"


def test_bytes_need_the_size_of_every_partition() -> None:
    why = r"needs the size of every partition .*: 2 have none, among them t-1$"
    with pytest.raises(CannotError, match=why):
        bin_packing(problem_of("1/5 1 2", "1 2", balance="bytes"))
    with pytest.raises(InputError, match=r"^balance bytes: the size of no partition is known"):
        problem_of("1 2", "1 2", balance="bytes")


def test_bytes_need_all_disks_or_none() -> None:
    problem = problem_of("1/5 2/5", "1/100 2 7/100", balance="bytes")
    with pytest.raises(CannotError, match=r"broker 2 has none$"):
        bin_packing(problem)


# ------------------------------------------------------------------ by count


@pytest.mark.parametrize(
    ("before", "brokers", "options", "after"),
    [
        pytest.param(
            "1,2 2,3 3,1 3,2", "1 2 3", {"remove_broker": [1]}, "3,2 2,3 3,2 3,2", id="one place"
        ),
        pytest.param(
            "1,2,3 2,3,1 3,1,2", "1 2 3", {"replication_factor": "2"}, "1,2 2,3 3,1", id="cut off"
        ),
        pytest.param(
            "1,2,3 2,3,1",
            "1 2 3! 4",
            {"replication_factor": "2"},
            "1,2 2,4",
            id="cut off first, then replaced",
        ),
        pytest.param(
            "1 1 1 1 2 2 2 3",
            "1 2 3 4",
            {"replication_factor": "t=2", "topics": "t"},
            None,
            id="factor up",
        ),
        pytest.param(
            "1,2 2,1 1,2", "1:a 2:b 3:a", {"remove_broker": [1]}, "3,2 2,3 3,2", id="racks"
        ),
        pytest.param("1,2 1,2 2,1", "1 2", {}, "1,2 1,2 2,1", id="nothing to place"),
    ],
)
def test_only_what_must_be_placed_moves(
    before: str, brokers: str, options: dict[str, Any], after: str | None
) -> None:
    problem = problem_of(before, brokers, **options)
    lists = lists_of(problem)
    if after is not None:
        assert text(lists) == after
    usable = set(problem.cluster.broker_ids[problem.usable].tolist())
    for old, new in zip(problem.cluster.replica_lists(), lists, strict=True):
        for place, broker in enumerate(old[: len(new)]):
            assert new[place] == broker or broker not in usable


def test_to_the_broker_with_the_fewest() -> None:
    """1 and 4 have one replica, 3 has two. t-0 cannot go to 1; t-1 finds 1 alone with one."""
    lists = lists_of(problem_of("1,2 3,2 4,2 3,2", "1 2 3 4", remove_broker=[2]))
    assert text(lists[:2]) == "1,4 3,1"
    assert lists[2] in ([4, 1], [4, 3])
    assert sorted(Counter(b for row in lists for b in row).values()) == [2, 3, 3]


def test_a_rack_that_has_the_partition_gets_no_second() -> None:
    """Broker 4 is the emptiest, but in the rack of 2. What stays may share a rack."""
    problem = problem_of("1,2 2,5 5,2 5,4,2 1", "1:a 2:b 3:a 4:b 5:a", remove_broker=[1])
    assert text(lists_of(problem)[:1]) == "3,2"
    problem = problem_of("2,3,1 5,4 5,4", "1:a 2:b 3:b 4:c 5:c", remove_broker=[1])
    assert lists_of(problem)[0][2] in (4, 5)


def test_an_empty_broker_means_that_everything_is_placed_again() -> None:
    before = "1,2 " * 12
    problem = problem_of(before, "1:a 2:b", add_broker=["3:a", "4:b"])
    lists = lists_of(problem)
    assert Counter(row[0] for row in lists) == dict.fromkeys((1, 2, 3, 4), 3)
    assert Counter(b for row in lists for b in row) == dict.fromkeys((1, 2, 3, 4), 6)
    assert lists_of(problem.again(problem.cluster.with_replicas(bin_packing(problem)))) == lists


def test_topics_left_out_stay_and_take_space_only() -> None:
    before = "1/900 u: 2/10 2/10"
    by_bytes = problem_of(before, "1 2", 1000, balance="bytes", topics="u")
    assert text(lists_of(by_bytes)) == "1 2 2"
    by_count = problem_of("1 1 1 u: 2,3 2,3", "1 2 3", topics="u", remove_broker=[3])
    assert text(lists_of(by_count)) == "1 1 1 2,1 2,1"


# ------------------------------------------------------------------ order only


@pytest.mark.parametrize(
    ("before", "brokers", "after"),
    [
        (
            "1,2,3 1,2,3 1,2,3 2,1,3 3,1,2 1,3,2",
            "1 2 3",
            "2,3,1 3,2,1 1,2,3 2,1,3 3,1,2 1,3,2",
        ),
        ("1,2,3 2,3,4 1,2,3 2,1,3", "1 2 3 4", "1,3,2 4,3,2 3,1,2 2,3,1"),
        ("1,2 1,2 1,3 1", "1 2 3", "1,2 2,1 1,3 1"),
    ],
)
def test_no_moves_is_the_tools_leadership(before: str, brokers: str, after: str) -> None:
    assert text(lists_of(problem_of(before, brokers, no_moves=True))) == after


def test_no_moves_with_a_dead_broker_is_refused() -> None:
    why = r"^`no_moves` forbids .*: t-1 has a replica on broker 3, which is dead$"
    with pytest.raises(CannotError, match=why):
        bin_packing(problem_of("1,2 1,3", "1 2 3!", no_moves=True))


# ------------------------------------------------------------------ random clusters


def random_value(seed: int) -> dict[str, Any]:
    draw = random.Random(seed)
    racks = draw.choice([0, 2, 3])
    size = draw.randint(5, 9)
    brokers = [{"id": b, "rack": "abc"[b % racks] if racks else None} for b in range(size)]
    partitions = [
        {
            "topic": draw.choice("tuv"),
            "partition": number,
            "replicas": draw.sample(range(size), draw.randint(1, 4)),
            "size_bytes": draw.randint(0, 10**9),
        }
        for number in range(draw.randint(1, 40))
    ]
    return {"brokers": brokers, "partitions": partitions}


@pytest.mark.parametrize("balance", ["replicas", "bytes"])
@pytest.mark.random
@pytest.mark.parametrize("seed", seeds(40))
def test_rules_hold_on_random_clusters(seed: int, balance: str) -> None:
    value = random_value(seed)
    options: dict[str, Any] = {"balance": balance}
    if seed % 2:
        options["remove_broker"] = [1]
    if seed % 4 > 1:
        options["replication_factor"] = str(1 + seed % 3)
    problem = resolve(Cluster.from_json(value), PlanOptions(**options))
    lists = lists_of(problem)
    for row, factor in zip(lists, problem.target.tolist(), strict=True):
        assert len(row) == len(set(row)) == factor
        assert not (seed % 2 and 1 in row)
    again = problem.again(problem.cluster.with_replicas(bin_packing(problem)))
    assert lists_of(again) == lists, "a second run changes something"
    if balance == "bytes" and not seed % 4:
        rack = {b.id: b.rack for b in problem.cluster.brokers}
        racks = len(set(rack.values()))
        for row in lists:
            if None not in rack.values():
                assert len({rack[b] for b in row}) == min(len(row), racks)

    value["brokers"].reverse()
    value["partitions"].reverse()
    assert lists_of(resolve(Cluster.from_json(value), problem.options)) == lists


def test_compare_shows_both() -> None:
    problem = problem_of(SIZED, "1:a 2:b 3:a 4:b", 1000)
    counted = Comparison(solve_with_each(problem, ["bin-packing"])).to_json()["strategies"]
    by_count = counted["bin-packing"]
    assert by_count["replicas_per_broker"] == [3, 3]
    assert by_count["leaders_per_broker"] == [1, 2]
    problem = problem_of(SIZED, "1:a 2:b 3:a 4:b", 1000, balance="bytes")
    answers = Comparison(solve_with_each(problem, ["bin-packing", "exact"])).to_json()["strategies"]
    assert answers["bin-packing"]["bytes_max_over_mean"] < by_count["bytes_max_over_mean"]
    assert answers["exact"]["bytes_moved"] <= answers["bin-packing"]["bytes_moved"]


# ------------------------------------------------------------------ --balance


def test_balance_is_checked() -> None:
    assert PlanOptions().balance == "replicas"
    assert PlanOptions(balance="bytes").given() == {"balance": "bytes"}
    with pytest.raises(InputError, match=r"^balance byte: expected replicas or bytes or load$"):
        PlanOptions(balance="byte")


def test_only_two_strategies_share_out_bytes() -> None:
    problem = problem_of(SIZED, "1 2 3", balance="bytes")
    answers = solve_with_each(problem)
    done = [name for name, answer in answers.items() if not isinstance(answer, str)]
    assert done == ["exact", "bin-packing"]
    made = answers["bin-packing"]
    assert isinstance(made, Plan)
    assert made.document()["options"] == {"strategy": "bin-packing", "balance": "bytes"}
