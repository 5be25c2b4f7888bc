"""New partitions are where they spread the topic, replicas and leaders most evenly: against all
placements on small clusters."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Sequence
from itertools import combinations_with_replacement, permutations, product
from pathlib import Path

import numpy as np
import pytest

import partage
from partage.brokers.new_partitions import NewPartitions, place
from partage.cluster import Cluster
from partage.errors import InputError
from tests.matrices import cluster_of
from tests.profiles import seeds

Lists = Sequence[Sequence[int]]


def random_cluster(draw: random.Random) -> Cluster:
    """Four or five brokers, in racks or not; two topics, o and p."""
    brokers = draw.randint(4, 5)
    racks = draw.choice(("", "ab", "abc"))
    ids = " ".join(f"{b}:{racks[b % len(racks)]}" if racks else f"{b}" for b in range(brokers))
    value = cluster_of("0,1", ids).to_json()
    value["partitions"] = [
        {"topic": topic, "partition": p, "replicas": draw.sample(range(brokers), 2)}
        for topic, most in (("o", 3), ("p", 5))
        for p in range(draw.randint(1, most))
    ]
    return Cluster.from_json(value)


def uneven(counts: Counter[int], brokers: Sequence[int]) -> int:
    return sum(counts[broker] ** 2 for broker in brokers)


def judged(cluster: Cluster, topic: str, new: Lists) -> tuple[int, ...]:
    """What counts, in order; less is better."""
    value = cluster.to_json()
    ids = [one["id"] for one in value["brokers"]]
    rack = {one["id"]: one["rack"] for one in value["brokers"]}
    racks = len(set(rack.values())) if None not in rack.values() else len(ids)
    there = [one["replicas"] for one in value["partitions"]]
    mine = [one["replicas"] for one in value["partitions"] if one["topic"] == topic]
    together = sum(
        len({rack[b] if rack[b] else b for b in one}) < min(len(one), racks) for one in new
    )
    counts = (
        Counter(b for one in lists for b in one[:columns])
        for columns in (None, 1)
        for lists in ([*mine, *new], [*there, *new])
    )
    return (together, *(uneven(one, ids) for one in counts))


@pytest.mark.random
def test_no_other_placement_is_better() -> None:
    """Leaders, of the topic and then of all, are best for these replicas, and seldom better with
    others."""
    as_even, tries = 0, seeds(100)
    for seed in tries:
        draw = random.Random(seed)
        cluster = random_cluster(draw)
        topic, count = draw.choice("on"), draw.randint(1, 3)
        has = int((cluster.topic == cluster.topics.index("o")).sum()) if topic == "o" else 0
        found = place(cluster, topic, has + count, None if has else 2)
        new = found.lists[has:]
        assert len(new) == count
        ids = cluster.broker_ids.tolist()
        everything = combinations_with_replacement(permutations(ids, 2), count)
        best = min(judged(cluster, topic, lists) for lists in everything)
        orders = product(*(permutations(one) for one in new))
        *placed, of_topic, led = judged(cluster, topic, new)
        assert placed == [*best[:3]], seed
        assert (of_topic, led) == min(judged(cluster, topic, lists)[3:] for lists in orders), seed
        as_even += (of_topic, led) == best[3:]
        assert found.proven, seed
    assert as_even >= 0.9 * len(tries)


def grown() -> Cluster:
    """Six partitions on three brokers in racks a, b and a; broker 4 in rack b is empty."""
    return cluster_of("1,2 2,3 3,2 1,2 2,1 3,2", "1:a 2:b 3:a 4:b")


def test_what_is_there_stays() -> None:
    cluster = grown()
    found = place(cluster, "t", 8)
    before = cluster.replica_lists()
    assert [list(one) for one in found.lists[:6]] == before
    assert (found.first, found.is_new, found.proven) == (6, False, True)
    assert all(4 in one for one in found.lists[6:]), "the empty broker gets one of each"
    assert found.after.replica_lists() == [list(one) for one in found.lists]
    assert found.replica_assignment.startswith("1:2,2:3,3:2,1:2,2:1,3:2,")
    assert found.to_json()["assignment"] == [
        {"partition": 6 + n, "replicas": list(one)} for n, one in enumerate(found.lists[6:])
    ]


def test_per_broker_is_counted() -> None:
    found = place(grown(), "new", 4, 2)
    counts = found.per_broker()
    assert counts["topic"] == ([0] * 4, [2] * 4)
    for name, columns in (("replicas", None), ("leaders", 1)):
        lists = [one[:columns] for one in found.after.replica_lists()]
        assert counts[name][1] == [sum(b in one for one in lists) for b in (1, 2, 3, 4)]
    assert found.to_json()["per_broker"]["topic"] == {"before": [0, 0], "after": [2, 2]}
    led = [sum(one[0] == b for one in found.lists) for b in (1, 2, 3, 4)]
    assert counts["topic_leaders"] == ([0] * 4, led)


def test_a_notebook_shows_the_lists() -> None:
    found = place(grown(), "new", 3, 2)
    assert repr(found) == "<NewPartitions of new: 3 new partitions with 2 replicas, proven>"
    leader, follower = found.lists[0]
    assert f"<td>{leader}</td>" in found._repr_html_()
    assert f"<td>{follower}</td>" in found._repr_html_()


def test_leaders_of_the_topic_come_first() -> None:
    """An empty broker gets its share of them, not all."""
    cluster = cluster_of("1,2 2,3 3,1 " * 4, "1 2 3 4")
    found = place(cluster, "new", 8, 2)
    assert found.per_broker()["topic_leaders"] == ([0] * 4, [2] * 4)
    odd = place(cluster, "new", 9, 2).per_broker()
    assert sorted(odd["topic_leaders"][1]) == [2, 2, 2, 3]
    assert odd["topic_leaders"][1][3] == 3, "the empty broker has one more"


def test_only_these_brokers() -> None:
    found = place(grown(), "new", 5, 2, brokers=[3, 4])
    assert {broker for one in found.lists for broker in one} == {3, 4}
    assert found.to_json()["brokers"] == [3, 4]


def test_a_dead_broker_gets_none() -> None:
    cluster = cluster_of("1,2 2,1", "1 2 3!")
    assert 3 not in {broker for one in place(cluster, "new", 4, 2).lists for broker in one}


def holed() -> Cluster:
    value = grown().to_json()
    del value["partitions"][2]
    return Cluster.from_json(value)


@pytest.mark.parametrize(
    ("cluster", "topic", "partitions", "factor", "brokers", "problem"),
    [
        (grown(), "new", 3, None, None, "replication_factor: is missing: new is a new topic"),
        (grown(), "new", 3, 5, None, "replication_factor 5: expected 1 to 4, the live brokers"),
        (grown(), "new", 3, 0, None, "replication_factor 0: expected 1 to 4"),
        (grown(), "new", 3, 2, [4], "replication_factor 2: expected 1 to 1"),
        (grown(), "new", 0, 2, None, "partitions 0: expected 1 to 100,000"),
        (grown(), "t", 6, None, None, "partitions 6: expected 7 to 100,000; t has 6 partitions"),
        (grown(), "t", 9, 3, None, "replication_factor 3: t has 2: its new partitions get as many"),
        (grown(), "new", 3, 2, [9], "brokers 9: is not in the cluster"),
        (cluster_of("1,2", "1 2 3!"), "n", 3, 2, [1, 3], "brokers 3: does not answer"),
        (holed(), "t", 9, None, None, "t: has no partition 2 in this cluster"),
        (grown(), "a b", 3, 2, None, "topic 'a b': a name has 1 to 249 letters"),
    ],
)
def test_what_cannot_be_placed(
    cluster: Cluster,
    topic: str,
    partitions: int,
    factor: int | None,
    brokers: list[int] | None,
    problem: str,
) -> None:
    with pytest.raises(InputError) as caught:
        place(cluster, topic, partitions, factor, brokers)
    assert problem in str(caught.value)


def test_many_partitions_on_many_brokers() -> None:
    """Properties of a placement too large for an oracle."""
    draw = random.Random(7)
    lists = " ".join(",".join(map(str, draw.sample(range(1, 25), 3))) for _ in range(600))
    cluster = cluster_of(lists, " ".join(f"{b}:{'abc'[b % 3]}" for b in range(1, 31)))
    found: NewPartitions = place(cluster, "new", 50, 3)
    assert found.proven
    held = np.bincount(np.array(found.lists).ravel(), minlength=31)[1:]
    assert held.min() == held.max() == 5
    assert all(len({broker % 3 for broker in one}) == 3 for one in found.lists)
    leaders = found.per_broker()["leaders"][1]
    assert np.var(leaders) <= np.var(found.per_broker()["leaders"][0])


def test_the_first_topic_of_an_empty_cluster(tmp_path: Path) -> None:
    brokers = [{"id": b, "rack": "ab"[b % 2]} for b in range(4)]
    path = tmp_path / "empty.json"
    path.write_text(json.dumps({"brokers": brokers, "partitions": []}))
    found = partage.place(path, "orders", 8, 2)
    assert found.proven
    assert found.per_broker()["replicas"] == ([0] * 4, [4] * 4)
    assert found.per_broker()["leaders"] == ([0] * 4, [2] * 4)
    assert all(a % 2 != b % 2 for a, b in found.lists)
    with pytest.raises(InputError, match="no partitions: nothing to plan"):
        partage.plan(path)
