"""Failures, compared with a plain count."""

from __future__ import annotations

import dataclasses
from collections import Counter
from itertools import combinations
from typing import Any

import pytest

pytest.importorskip("pyspark")
from partage.brokers.compare import solve_with_each
from partage.brokers.planning import problem_of
from partage.cluster import Cluster
from partage.pipeline.what_ifs.failures import Failures
from partage.pipeline.what_ifs.placements import Placements
from tests.bundled import grown
from tests.matrices import cluster_of
from tests.pipeline.what_ifs.cases import measured_problem, placements, rates_of


def counted(
    lists: list[list[int]],
    live: set[int],
    failed: set[int],
    rates: list[float],
    least: list[int],
) -> dict[str, Any]:
    """What is left, counted by hand."""
    left = [[b for b in row if b in live - failed] for row in lists]
    leaders = Counter(dict.fromkeys(live - failed, 0))
    load = Counter(dict.fromkeys(live - failed, 0.0))
    sent = Counter(dict.fromkeys(live - failed, 0.0))
    for row, replicas, rate in zip(left, lists, rates, strict=True):
        if row:
            leaders[row[0]] += 1
            load[row[0]] += rate
            sent[row[0]] += rate * len(replicas)  # to one consumer and the followers
    most, busiest = max(leaders.values(), default=0), max(load.values(), default=0.0)
    return {
        "offline": sum(not row for row in left),
        "under_min_isr": sum(
            len(now) < min(needed, len(all_))
            for now, all_, needed in zip(left, lists, least, strict=True)
        ),
        "survivor": min(b for b in leaders if leaders[b] == most) if most else None,
        "leaders": most,
        "leaders_over_mean": _over(most, leaders),
        "bytes_per_second": busiest,
        "bytes_per_second_over_mean": _over(busiest, load),
        "bytes_out_per_second": max(sent.values(), default=0.0),
        "bytes_out_per_second_over_mean": _over(max(sent.values(), default=0.0), sent),
    }


def _over(most: float, load: Counter[int]) -> Any:
    total = sum(load.values())
    return pytest.approx(most * len(load) / total, abs=1e-4) if total else None


def with_min_isr(cluster: Cluster, known: dict[str, int]) -> Cluster:
    return dataclasses.replace(cluster, min_insync_replicas=known)


def test_a_topic_that_is_not_listed_has_kafkas_default() -> None:
    """One replica of two suffices then, where 2 is assumed if no topic is listed."""
    cluster = cluster_of("1,2 2,3 3,4 4,1", "1:a 2:b 3:c 4:d 5:e")
    known = with_min_isr(cluster, {"other": 3})
    for one, below, assumed in ((cluster, 2, 2), (known, 0, None)):
        failures = Failures(Placements.of(problem_of(one), {}), pairs=0)
        rows = [row for n in range(failures.rows) for row in failures.of_row(n)]
        assert max(row["under_min_isr"] for row in rows) == below
        assert failures.about({})["min_isr_assumed"] == assumed


@pytest.mark.parametrize(
    ("cluster", "options"),
    [
        (grown(), {"add_broker": ["10:c"], "remove_broker": [1]}),
        (grown(racks=False), {}),
        (cluster_of("1,2 2,3 3 1,2,3 4,1", "1:a 2:a 3:b 4:b!"), {}),
        (cluster_of("1 1", "1"), {}),
        (cluster_of("1,2 2,1", "1:a 2:b"), {}),
        (with_min_isr(grown(), {"kafka": 3, "ibis": 5}), {"remove_broker": [2]}),
        (with_min_isr(cluster_of("1,2 2,3 1,2,3", "1:a 2:b 3:c"), {"other": 2}), {}),
    ],
    ids=[
        *("grown", "no racks", "a dead broker", "one broker", "two brokers"),
        *("min ISR of some topics", "min ISR 1"),
    ],
)
def test_failures_are_what_a_count_says(cluster: Cluster, options: dict[str, Any]) -> None:
    rates = rates_of(cluster)
    problem = measured_problem(cluster, rates, **options)
    answers = solve_with_each(problem, ["exact"])
    failures = Failures(Placements.of(problem, answers), pairs=1000)
    removed = {int(b) for b in options.get("remove_broker", ())}
    added = {int(word.split(":")[0]) for word in options.get("add_broker", ())}
    alive = {b.id for b in problem.cluster.brokers if b.alive}
    rack = {b.id: b.rack for b in problem.cluster.brokers}
    places = {"today": (cluster.replica_lists(), alive - added)}
    plan = answers["exact"]
    assert not isinstance(plan, str)
    places["exact"] = (plan.after.replica_lists(), alive - removed)
    known = cluster.min_insync_replicas
    least = [known.get(cluster.topics[t], 1 if known else 2) for t in cluster.topic.tolist()]
    wanted = []
    for name, (lists, live) in places.items():
        racks = sorted({rack[b] for b in live} - {None})
        tried = [("broker", str(b), {b}) for b in sorted(live)]
        tried += [("rack", z, {b for b in live if rack[b] == z}) for z in racks]
        tried += [("pair", f"{a}+{b}", {a, b}) for a, b in combinations(sorted(live), 2)]
        wanted += [
            {"placement": name, "failure": kind, "fails": what}
            | counted(lists, live, failed, rates.tolist(), least)
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
        assert 1 <= first < second <= 9
    assert "bytes_per_second" not in failures.of_row(0)[0]
    assert Failures(failures.placements, pairs=0).rows == 2 * (9 + 3)
