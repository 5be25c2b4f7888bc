"""The criteria, counted by hand."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given

from partage import Cluster
from partage.brokers.figures import (
    Placement,
    changed_rows,
    co_held,
    deleted_replicas,
    new_replicas,
    next_live,
    rack_violations,
)
from tests.matrices import brokers_of, partitions
from tests.oracles.naive_problem import after_failure, leader_counts, loads, read_problem
from tests.profiles import examples
from tests.strategies import clusters

Lists = dict[str, list[list[int]]]


def placement(brokers: str, lists: Lists, sizes: list[int | None] | None = None) -> Placement:
    rows = [row for topic, replicas in lists.items() for row in partitions(replicas, topic=topic)]
    for row, size in zip(rows, sizes or [], strict=False):
        row["size_bytes"] = size
    cluster = Cluster.from_json({"brokers": brokers_of(brokers), "partitions": rows})
    return Placement(cluster, cluster.alive)


#  broker    1 2 3 4
#  t-0       L 1 2        L: leader, 1: first follower, 2: second
#  t-1       L   1
#  t-2         L
#  u-0       2 1 L
HAND = placement(
    "1:a 2:b 3:b 4:c",
    {"t": [[1, 2, 3], [1, 3], [2]], "u": [[3, 2, 1]]},
    [100, 10, None, 1],
)


def test_counts() -> None:
    assert HAND.replica_counts().tolist() == [3, 3, 3, 0]
    assert HAND.leader_counts().tolist() == [2, 1, 1, 0]
    assert HAND.byte_counts().tolist() == [111, 101, 111, 0]


def test_first_followers_and_takeovers() -> None:
    assert HAND.first_followers().tolist() == [1, 2, -1, 1]
    assert HAND.takeovers().tolist() == [
        [0, 1, 1, 0],  # 1 fails: t-0 goes to 2, t-1 to 3
        [0, 0, 0, 0],  # 2 fails: t-2 has nobody else
        [0, 1, 0, 0],  # 3 fails: u-0 goes to 2
        [0, 0, 0, 0],
    ]


def test_after_failure() -> None:
    # when 1 fails 2 and 3 lead two each; when 3 fails 2 leads two, when 2 fails 1 leads its two
    assert HAND.after_failure() == {"max": 2, "ideal": 2}


def test_after_a_failure_that_is_worse_than_it_need_be() -> None:
    # both leaders of broker 1 go to 2, which has one already, though 3 holds them too
    found = placement("1 2 3", {"t": [[1, 2, 3], [1, 2, 3], [2, 3, 1]]})
    assert found.after_failure() == {"max": 3, "ideal": 2}


def test_after_the_failure_of_the_only_broker() -> None:
    assert placement("1", {"t": [[1], [1]]}).after_failure() == {"max": 0, "ideal": 0}


def test_a_dead_follower_does_not_take_over() -> None:
    found = placement("1 2! 3", {"t": [[1, 2, 3]]})
    assert found.first_followers().tolist() == [2]
    assert found.after_failure() == {"max": 1, "ideal": 1}


def test_a_leader_that_is_dead_counts_on_the_dead_broker() -> None:
    found = placement("1! 2 3", {"t": [[1, 2], [2, 3]]})
    assert found.leader_counts().tolist() == [1, 1, 0]
    assert found.figures()["leaders_per_broker"] == [0, 1]


# ---------------------------------------------------------------- a whole rack


@pytest.mark.parametrize(
    ("brokers", "replicas", "expected"),
    [
        pytest.param("1 2 3", [[1, 2], [2, 3]], None, id="no racks"),
        pytest.param("1:a 2:a 3:a", [[1, 2], [2, 3]], None, id="one rack"),
        pytest.param("1:a 2:a 3:b!", [[1, 2]], None, id="one rack that is alive"),
        # a fails: the next outside it is 3, though 2 comes first in the lists
        pytest.param("1:a 2:a 3:b 4:b", [[1, 2, 3], [2, 1, 3]], (2, 2, 0), id="round the rack"),
        pytest.param("1:a 2:a 3:b 4:b", [[1, 3, 4], [2, 3, 4]], (2, 1, 0), id="worse than need be"),
        pytest.param("1:a 2:a 3:b 4:b", [[1, 2], [1, 2], [3, 1]], (3, 3, 2), id="offline"),
        pytest.param("1:a 2:b! 3:b", [[1, 2]], (1, 1, 1), id="the other one is dead"),
        pytest.param("1:a 2:b! 3:c", [[1, 2, 3]], (1, 1, 0), id="a dead one does not take over"),
        pytest.param("1:a 2:b 3:b!", [[3], [1, 2]], (1, 1, 1), id="offline whatever fails"),
    ],
)
def test_after_a_rack_failure(
    brokers: str, replicas: list[list[int]], expected: tuple[int, int, int] | None
) -> None:
    found = placement(brokers, {"t": replicas}).after_rack_failure()
    assert found == (
        None if expected is None else dict(zip(("max", "ideal", "offline"), expected, strict=True))
    )


@examples(200)
@given(clusters())
def test_racks_of_one_broker_are_brokers(value: dict[str, Any]) -> None:
    for broker in value["brokers"]:
        broker["rack"] = str(broker["id"])
    cluster = Cluster.from_json(value)
    found = Placement(cluster, cluster.alive)
    if cluster.alive.sum() > 1:
        after = found.after_rack_failure()
        assert after is not None
        assert {k: after[k] for k in ("max", "ideal")} == found.after_failure()


@examples(150)
@given(clusters(max_brokers=5, max_partitions=4, max_factor=3))
def test_no_order_with_these_leader_counts_is_below_the_bound(value: dict[str, Any]) -> None:
    for broker in value["brokers"]:
        broker.pop("alive", None)  # a dead leader counts nowhere, whoever really leads
    cluster = Cluster.from_json(value)
    stated = Placement(cluster, cluster.alive).after_rack_failure()
    lists = cluster.replica_lists()
    rack = {b.id: b.rack for b in cluster.brokers}
    assert (stated is None) == (len(set(rack.values())) < 2)
    if stated is None:
        return
    counts = sorted(row[0] for row in lists)
    recounts = [
        rack_failure_recount(rack, order)
        for order in itertools.product(*(itertools.permutations(row) for row in lists))
        if sorted(row[0] for row in order) == counts
    ]
    assert rack_failure_recount(rack, lists) == (stated["max"], stated["offline"])
    assert stated["ideal"] <= min(worst for worst, _ in recounts)
    assert {offline for _, offline in recounts} == {stated["offline"]}


def rack_failure_recount(
    rack: dict[int, str | None], lists: Sequence[Sequence[int]]
) -> tuple[int, int]:
    """Worst survivor and most partitions offline: each rack fails, and everybody is counted."""
    worst = offline = 0
    for fails in set(rack.values()):
        left = [[b for b in row if rack[b] != fails] for row in lists]
        led = Counter(row[0] for row in left if row)
        worst = max(worst, *(led[b] for b in rack if rack[b] != fails))
        offline = max(offline, sum(not row for row in left))
    return worst, offline


def test_figures() -> None:
    assert HAND.figures() == {
        "replicas_per_broker": [0, 3],
        "leaders_per_broker": [0, 2],
        "leaders_after_failure": {"max": 2, "ideal": 2},
        "worst_survivor_lower_bound": 2,
        # b fails: t-2 has nobody else, and u-0 goes to 1, which leads two
        "leaders_after_rack_failure": {"max": 3, "ideal": 3, "offline": 1},
        "rack_survivor_lower_bound": 2,
        "rack_violations": 2,  # t-0 and u-0: twice in rack b, never in c
        "topic_spread": 2,  # t: 2 on each but 4
        "bytes_max_over_mean": round(111 * 4 / 323, 4),
    }


# ---------------------------------------------------------------- racks

RACKS = [
    # brokers, replicas, violated?
    ("1:a 2:b 3:c", [1, 2], False),
    ("1:a 2:b 3:c", [1, 2, 3], False),
    ("1:a 2:a 3:b", [1, 3], False),
    ("1:a 2:a 3:b", [1, 2], True),
    ("1:a 2:a 3:b", [1, 2, 3], False),
    ("1:a 2:a 3:a 4:b 5:b", [1, 2, 4], False),
    ("1:a 2:a 3:a 4:b 5:b", [1, 2, 3], True),  # one rack of two
    ("1:a 2:a 3:a 4:b 5:b", [1, 2, 3, 4], True),  # 3 and 1 where 2 and 2 can be
    ("1:a 2:a 3:a 4:b", [1, 2, 3, 4], False),  # 3 in a cannot be helped: b has one broker
    ("1:a 2:a 3:b 4:b 5:c", [1, 2, 3, 4], True),  # two racks of three
    ("1:a 2:a 3:b 4:b 5:c", [1, 3, 4, 5], False),
    ("1:a 2:a 3:a", [1, 2], False),  # one rack is no rule
    ("1 2 3", [1, 2], False),  # and none is none
    ("1:a 2:a 3:b!", [1, 2], False),  # b has no live broker
    ("1:a 2:a 3:b! 4:b", [1, 3], False),
    ("1:a", [1], False),
]


@pytest.mark.parametrize(("brokers", "replicas", "violated"), RACKS)
def test_the_rack_rule(brokers: str, replicas: list[int], violated: bool) -> None:
    found = placement(brokers, {"t": [replicas]})
    assert found.rack_violations() == int(violated)
    assert rack_violations(found.cluster, found.usable).tolist() == [violated]


def test_racks_of_mixed_factors() -> None:
    found = placement("1:a 2:a 3:b 4:c", {"t": [[1, 2], [1, 3], [1, 2, 3], [1], [1, 3, 4]]})
    assert rack_violations(found.cluster, found.usable).tolist() == [
        True,
        False,
        True,
        False,
        False,
    ]


# ---------------------------------------------------------------- topics and bytes


def test_topic_spread_is_that_of_the_worst_topic() -> None:
    found = placement("1 2 3", {"a": [[1], [1], [1]], "b": [[1], [2], [3]], "c": [[2], [2]]})
    assert found.topic_spread() == 3
    assert placement("1 2", {"a": [[1], [2]], "b": [[1]]}).topic_spread() == 1


def test_bytes_max_over_mean() -> None:
    lists: Lists = {"t": [[1], [2], [1]]}
    assert placement("1 2", lists).bytes_max_over_mean() is None
    assert placement("1 2", lists, [0, 0, 0]).bytes_max_over_mean() == 1.0
    assert placement("1 2", lists, [5, 5, None]).bytes_max_over_mean() == 1.0
    assert placement("1 2", lists, [10, 5, 5]).bytes_max_over_mean() == 1.5
    assert placement("1 2 3!", {"t": [[1], [2], [3]]}, [5, 5, 99]).bytes_max_over_mean() == 1.0
    # 1.06875 rounds up; divided by the rounded mean it would be a little less, and round down
    three = placement("1 2 3", {"t": [[1], [2], [3]]}, [57, 53, 50])
    assert three.bytes_max_over_mean() == round(57 * 3 / 160, 4)


def test_the_largest_sizes_do_not_overflow() -> None:
    found = placement("1 2", {"t": [[1], [1]]}, [2**59, 2**59])
    assert found.byte_counts().tolist() == [2**60, 0]
    assert found.bytes_max_over_mean() == 2.0


# ---------------------------------------------------------------- before and after


def test_new_replicas_and_changed_rows() -> None:
    before = placement("1 2 3 4", {"t": [[1, 2], [1, 2], [1, 2], [1, 2, 3], [1]]}).cluster
    after = placement("1 2 3 4", {"t": [[1, 2], [2, 1], [1, 3], [4], [2, 3, 4]]}).cluster
    row, broker = new_replicas(before, after)
    assert list(zip(row.tolist(), broker.tolist(), strict=True)) == [
        (2, 2),
        (3, 3),
        (4, 1),
        (4, 2),
        (4, 3),
    ]
    assert changed_rows(before, after).tolist() == [1, 2, 3, 4]
    assert changed_rows(before, before).tolist() == []
    assert len(new_replicas(before, before)[0]) == 0


def test_next_live() -> None:
    replicas = np.array([[0, 1, 2], [1, 0, -1], [2, -1, -1], [0, 1, -1]])
    alive = np.array([True, False, True])
    assert next_live(replicas, alive).tolist() == [2, 0, -1, -1]


def test_co_held() -> None:
    replicas = np.array([[0, 1, 2], [2, 0, -1], [3, 0, -1]])
    assert co_held(replicas, np.array([0, 2, 3]), 4).tolist() == [[0, 2, 1], [2, 0, 0], [1, 0, 0]]


# ---------------------------------------------------------------- against another reading


@examples(200)
@given(clusters())
def test_figures_of_any_cluster(value: dict[str, Any]) -> None:
    cluster = Cluster.from_json(value)
    if not cluster.alive.any():
        return
    found = Placement(cluster, cluster.alive).figures()
    job = read_problem(value, {"no_moves": True})
    lists = cluster.replica_lists()
    held = loads(job, lists).values()
    led = leader_counts(job, lists).values()
    assert found["replicas_per_broker"] == [min(held), max(held)]
    assert found["leaders_per_broker"] == [min(led), max(led)]
    survivors = after_failure(job, lists)
    if survivors:
        assert found["leaders_after_failure"]["max"] == max(survivors)
        assert found["leaders_after_failure"]["ideal"] <= max(survivors)


def test_deleted_replicas_are_those_by_which_lists_get_shorter() -> None:
    # shorter, longer, as long: what one partition gains makes up for no other
    assert deleted_replicas([3, 2, 3, 4], [2, 4, 3, 1]).tolist() == [1, 0, 0, 3]
