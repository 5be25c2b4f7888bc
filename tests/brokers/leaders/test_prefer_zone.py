"""``--prefer-zone``: the fewest bytes across racks among orders as fair, against brute force."""

from __future__ import annotations

import itertools
from collections import Counter
from itertools import permutations, product
from pathlib import Path
from random import Random
from typing import Any

import pytest

import partage
from partage.brokers.options import PlanOptions
from partage.brokers.planning import plan
from partage.cluster.model import Cluster
from partage.errors import InputError
from tests.brokers.check.tampering import Files
from tests.profiles import seeds

Lists = list[tuple[int, ...]]


def small(seed: int) -> dict[str, Any]:
    """Five partitions on four or five brokers in two or three racks, with clients."""
    rng = Random(seed)
    count, racks = rng.choice((4, 5)), rng.choice(("ab", "abc"))
    shares = {topic: {side: _shares(rng) for side in ("producers", "consumers")} for topic in "tu"}
    return {
        "brokers": [{"id": b, "rack": racks[b % len(racks)]} for b in range(count)],
        "partitions": [
            {
                "topic": "ttuuu"[p],
                "partition": p,
                "replicas": rng.sample(range(count), rng.choice((2, 3, 3))),
                "size_bytes": 1,
                "bytes_in_per_second": rng.randint(0, 99),
                "bytes_out_per_second": rng.randint(0, 99),
            }
            for p in range(5)
        ],
        "clients": {"closest_replica": rng.random() < 0.4, "topics": shares},
    }


def _shares(rng: Random) -> dict[str, float]:
    left, found = 10, {}
    for rack in "abcz":  # no broker is in z
        part = rng.randint(0, left)
        left -= part
        found |= {rack: part / 10} if part else {}
    return found


def across(cluster: dict[str, Any], lists: Lists) -> float:
    """Bytes per second that cross racks, written from the definition."""
    rack = {broker["id"]: broker["rack"] for broker in cluster["brokers"]}
    clients = cluster.get("clients", {"topics": {}})
    total = 0.0
    for row, (leader, *followers) in zip(cluster["partitions"], lists, strict=True):
        rate_in, rate_out = row["bytes_in_per_second"], row["bytes_out_per_second"]
        total += sum(rate_in for b in followers if rack[b] != rack[leader])
        own = clients["topics"].get(row["topic"], {})
        for where, share in own.get("producers", {}).items():
            total += rate_in * share * (where != rack[leader])
        sources = [leader, *followers] if clients.get("closest_replica") else [leader]
        for where, share in own.get("consumers", {}).items():
            total += rate_out * share * (where not in {rack[b] for b in sources})
    return total


def fairness(brokers: int, lists: Lists) -> tuple[Any, ...]:
    """Leaders, the worst survivor, and the survivors after each failure."""
    led = Counter(one[0] for one in lists)
    taken = Counter((one[0], one[1]) for one in lists)
    ids = range(brokers)
    level = [led[f] + taken[b, f] for b in ids for f in ids if f != b]
    counts = tuple(led[b] for b in ids)
    return sum(n * n for n in counts), max(level), sum(n * n for n in level), counts


@pytest.mark.parametrize("seed", seeds(40))
def test_no_order_as_fair_sends_fewer_bytes_across_racks(seed: int, tmp_path: Path) -> None:
    value = small(seed)
    made = plan(Cluster.from_json(value), no_moves=True, prefer_zone=True)
    lists = [tuple(one) for one in made.after.replica_lists()]
    brokers = len(value["brokers"])
    reached = fairness(brokers, lists)
    orders = [
        [first + tuple(b for b in row["replicas"] if b not in first) for first in firsts]
        for row in value["partitions"]
        for firsts in [list(permutations(row["replicas"], 2))]
    ]
    found = [list(order) for order in product(*orders)]
    best = [order for order in found if fairness(brokers, order) == reached]
    least = min(across(value, order) for order in best)
    assert across(value, lists) == pytest.approx(least, abs=1e-5)
    assert reached[:3] == min(fairness(brokers, order)[:3] for order in found)

    stage = made.stages[-1]
    assert (stage.name, stage.value) == ("zone bytes", stage.bound)
    counted = made.figures["zone_bytes"]
    parts = sum(counted[side] for side in ("replication", "producers", "consumers"))
    assert parts == pytest.approx(least, abs=0.01)
    made.write(tmp_path / "plan")
    assert partage.check(tmp_path / "plan").defects == []


@pytest.mark.parametrize("seed", seeds(25))
def test_earlier_stages_stay_and_a_second_run_changes_nothing(seed: int) -> None:
    rng = Random(seed)
    value = small(seed)
    value["partitions"] = [
        row | {"partition": 6 * row["partition"] + n, "replicas": rng.sample(range(4), 3)}
        for row in value["partitions"]
        for n in range(6)
    ]
    cluster = Cluster.from_json(value)
    plain, made = plan(cluster), plan(cluster, prefer_zone=True)
    reached = [[(s.name, s.value, s.bound) for s in one.stages] for one in (plain, made)]
    assert reached[1][:-1] == reached[0]
    assert across(value, made.after.replica_lists()) <= across(value, plain.after.replica_lists())
    assert len(plan(made.after, prefer_zone=True).changed) == 0
    assert made.settled


def test_what_the_clients_say_decides_who_leads() -> None:
    value = {
        "brokers": [{"id": b, "rack": "ab"[b % 2]} for b in range(4)],
        "partitions": [
            {"topic": topic, "partition": p, "replicas": [p % 4, (p + 1) % 4], "size_bytes": 1}
            | {"bytes_in_per_second": 5, "bytes_out_per_second": 10}
            for topic in "tu"
            for p in range(4)
        ],
        "clients": {
            "topics": {
                topic: {"producers": {rack: 1}} for topic, rack in zip("tu", "ab", strict=True)
            }
        },
    }
    figures = plan(Cluster.from_json(value), no_moves=True, prefer_zone=True).figures["zone_bytes"]
    assert figures["producers"] == 0
    assert figures["producers_total"] == 40
    assert plan(Cluster.from_json(value), no_moves=True).figures["zone_bytes"]["producers"] > 0


def test_check_finds_forged_clients_values_and_bounds(tmp_path: Path) -> None:
    made = plan(Cluster.from_json(small(4)), prefer_zone=True)
    where = (tmp_path / str(number) for number in itertools.count())

    def defects(change: Any) -> list[str]:
        directory = next(where)
        made.write(directory)
        files = Files(directory)
        change(files.plan)
        files.write()
        return partage.check(directory).defects

    def stage(key: str, by: int) -> Any:
        def change(document: Any) -> None:
            document["certificate"]["stages"][-1][key] += by

        return change

    assert any("value of zone bytes" in one for one in defects(stage("value", 1)))
    assert any("bound of zone bytes" in one for one in defects(stage("bound", -1)))
    forms: list[Any] = [{}, {"topics": {}}, {"closest_replica": 1, "topics": {"t": 1}}]
    forms += [{"closest_replica": True, "topics": {"t": {"producers": {"a": 1.5}}}}, [], 7]
    forms += [{"closest_replica": True, "topics": {"none": {}}}]
    for form in forms:
        found = defects(lambda document, form=form: document.update(clients=form))
        assert any("clients: expected shares by topic and rack" in one for one in found), form


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"brokers": [{"id": b} for b in range(4)]}, "two racks or more: the brokers have no"),
        ({"brokers": [{"id": b, "rack": "a"} for b in range(4)]}, "all brokers are in rack a"),
        (
            {"partitions": [{"topic": "t", "partition": 0, "replicas": [1]}]},
            "the size of no partition is known",
        ),
    ],
)
def test_it_needs_racks_and_sizes(change: dict[str, Any], problem: str) -> None:
    value = small(0) | change
    del value["clients"]
    if len(value["brokers"]) == 4:
        value["partitions"] = [row | {"replicas": [0, 1]} for row in value["partitions"]]
    with pytest.raises(InputError, match=problem):
        plan(Cluster.from_json(value), prefer_zone=True)


@pytest.mark.parametrize(
    "other", [{"leaders": "rate"}, {"balance": "load"}, {"relieve": "out=90%"}]
)
def test_other_ways_to_choose_leaders_are_refused(other: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=r"chooses leaders itself: leave out `prefer_zone`$"):
        PlanOptions(prefer_zone=True, **other)


@pytest.mark.parametrize(
    ("clients", "problem"),
    [
        ({"topics": {"none": {}}}, r"clients.topics: topic 'none' is not in the cluster"),
        (
            {"topics": {"t": {"producers": {"a": 0.7, "b": 0.7}}}},
            r"clients.topics.t.producers: the shares add up to 1.4, expected at most 1",
        ),
        ({"topics": {"t": {"producers": {"a": 0}}}}, r"clients.topics.t.producers.a: expected"),
        ({"topics": {"t": {"readers": {}}}}, r"clients.topics.t.readers: unknown key"),
        ({}, r"clients.topics: missing"),
    ],
)
def test_errors_in_clients_name_the_place(clients: Any, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        Cluster.from_json(small(0) | {"clients": clients})


def test_clients_survive_a_round_trip() -> None:
    cluster = Cluster.from_json(small(2))
    assert cluster.clients == Cluster.from_json(cluster.to_json()).clients
