"""``--max-moves``, ``--tolerance`` and ``--max-bytes-moved`` against every placement there is.

The oracle goes partition by partition and keeps, for every vector of replicas per broker, the
fewest moves that reach it; for the bytes it writes every placement down.
"""

from __future__ import annotations

import itertools
import json
import random
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from math import ceil, floor
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import partage
from partage.brokers.plan import Plan
from partage.cluster import Cluster
from partage.errors import CannotError, InputError
from tests.bundled import grown
from tests.matrices import cluster_of
from tests.oracles.naive_problem import (
    BadProblemError,
    NaiveProblem,
    defects,
    loads,
    moves,
    read_problem,
    unfairness,
)
from tests.profiles import examples
from tests.strategies import jobs

Json = dict[str, Any]
Loads = tuple[int, ...]


small = jobs(max_brokers=4, max_partitions=4, max_factor=3, no_moves=False)


def read(job: tuple[Json, Json]) -> tuple[NaiveProblem, Cluster, Json]:
    """The job for the oracle, and the same for the product; what is bad input is skipped."""
    cluster, options = job
    options = {name: value for name, value in options.items() if name != "spread"}
    try:
        asked = read_problem(cluster, options)
        partage.plan(Cluster.from_json(cluster), **options)
    except (BadProblemError, InputError, CannotError):
        assume(False)
    return asked, Cluster.from_json(cluster), options


def choices(job: NaiveProblem) -> list[list[tuple[int, ...]]]:
    """The legal replica sets of every partition."""
    found = []
    for row in job.rows:
        alone = replace(job, rows=(row,))
        sets = itertools.combinations(job.brokers, row.factor)
        found.append([s for s in sets if not defects(alone, [s])] if row.chosen else [row.before])
    return found


def reached(job: NaiveProblem) -> dict[Loads, int]:
    """Every vector of replicas per eligible broker, and the fewest moves that reach it."""
    table = {(0,) * len(job.brokers): 0}
    for row, sets in zip(job.rows, choices(job), strict=True):
        grown: dict[Loads, int] = {}
        for chosen in sets:
            new = len(set(chosen) - set(row.before))
            for load, made in table.items():
                key = tuple(n + (b in chosen) for n, b in zip(load, job.brokers, strict=True))
                grown[key] = min(made + new, grown.get(key, 10**9))
        table = grown
    return table


def cost(job: NaiveProblem, load: Loads) -> Fraction:
    return sum(
        (n * n / job.capacity[b] for n, b in zip(load, job.brokers, strict=True)), Fraction(0)
    )


def load_of(job: NaiveProblem, made: Plan) -> Loads:
    return tuple(loads(job, made.after.replica_lists()).values())


def lists(made: Plan) -> list[list[int]]:
    return made.after.replica_lists()


def budget(made: Plan) -> Any:
    return next((stage for stage in made.stages if stage.name == "budget"), None)


def scale_of(job: NaiveProblem, made: Plan) -> Fraction:
    """What the stage's whole-number weights are, times 1 / capacity."""
    weights = budget(made).prices["load_weights"]
    scales = {w * job.capacity[b] for w, b in zip(weights, job.brokers, strict=True)}
    assert len(scales) == 1
    return scales.pop()


# ---------------------------------------------------------------- so many moves


@given(job=small, data=st.data())
@examples(200)
def test_the_fairest_that_so_many_moves_reach(job: tuple[Json, Json], data: st.DataObject) -> None:
    asked, cluster, options = read(job)
    plain = partage.plan(cluster, **options)
    limit = data.draw(st.integers(0, plain.moves + 1))
    every = reached(asked)
    forced = min(every.values())
    if limit < forced:
        with pytest.raises(
            CannotError, match=rf"^`max_moves` {limit}: .* alone forces? {forced} moves?\b"
        ):
            partage.plan(cluster, max_moves=limit, **options)
        return
    made = partage.plan(cluster, max_moves=limit, **options)
    assert not defects(asked, lists(made))
    assert moves(asked, lists(made)) == made.moves <= limit
    if limit >= plain.moves:
        assert lists(made) == lists(plain)
        assert budget(made).value >= budget(made).bound
        assert all("aim" not in stage.prices for stage in made.stages)
        return
    best = min(cost(asked, load) for load, m in every.items() if m <= limit)
    value = unfairness(asked, lists(made))
    assert value >= best
    stage = budget(made)
    scale = scale_of(asked, made)
    assert stage.value == value * scale
    assert stage.bound <= best * scale
    assert made.lower_bound <= made.moves
    if made.optimal:
        assert value == best
    assert made.gaps.get("budget", 0) == pytest.approx(
        stage.value / stage.bound - 1 if stage.bound and stage.value > stage.bound else 0, abs=1e-6
    )


def a_cluster(rng: random.Random, brokers: int, partitions: int) -> Json:
    racks = rng.choice((0, 0, 2, 3))
    ids = list(range(1, brokers + 1))
    crowd = rng.randint(2, brokers)
    return {
        "brokers": [{"id": b} | ({"rack": "abc"[b % racks]} if racks else {}) for b in ids],
        "partitions": [
            {
                "topic": "tu"[p % 2],
                "partition": p,
                "replicas": rng.sample(ids[:crowd], rng.randint(1, min(crowd, 3))),
                "size_bytes": rng.choice((0, 1, 3, 10, 50)),
            }
            for p in range(partitions)
        ],
    }


@pytest.mark.long
def test_nearly_every_budget_is_met_and_proven() -> None:
    rng = random.Random(2)
    cases = fair = optimal = 0
    for _ in range(90):
        value = a_cluster(rng, 4, rng.randint(3, 6))
        job, cluster = read_problem(value, {}), Cluster.from_json(value)
        every = reached(job)
        plain = partage.plan(cluster).moves
        for limit in {rng.randrange(plain) for _ in range(2)} if plain else ():
            affordable = [cost(job, load) for load, m in every.items() if m <= limit]
            if not affordable:
                continue
            cases += 1
            made = partage.plan(cluster, max_moves=limit)
            fair += unfairness(job, lists(made)) == min(affordable)
            optimal += budget(made).value == budget(made).bound
    assert cases > 70
    assert fair >= 0.97 * cases
    assert optimal >= 0.97 * cases


@given(job=jobs(max_brokers=7, max_partitions=12, max_factor=4, no_moves=False), data=st.data())
@examples(100)
def test_never_more_moves_than_allowed(job: tuple[Json, Json], data: st.DataObject) -> None:
    asked, cluster, options = read(job)
    plain = partage.plan(cluster, **options)
    limit = data.draw(st.integers(0, plain.moves))
    tolerance = data.draw(st.sampled_from((None, "10%", "50%")))
    try:
        made = partage.plan(cluster, max_moves=limit, tolerance=tolerance, **options)
    except CannotError:
        return
    assert not defects(asked, lists(made))
    assert moves(asked, lists(made)) <= limit
    assert all(s.bound <= s.value for s in made.stages if s.name in ("replicas", "budget"))


def test_a_partition_that_gives_replicas_up_is_not_in_two_places() -> None:
    """Counted together, the four partitions could stay and yet be on all three brokers. But the one
    that has to give up two replicas keeps one alone."""
    cluster = cluster_of("0 0,1,2 0 0", "0 1 2")
    made = partage.plan(cluster, replication_factor=["1"], max_moves=0)
    assert made.moves == 0
    assert made.figures["replicas_per_broker"] == [0, 3]
    # which is the best there is, but not proven to be
    assert made.gaps["budget"] > 0


# ---------------------------------------------------------------- a tolerance


def priced_windows(job: NaiveProblem, made: Plan, width: Fraction) -> list[tuple[int, int]]:
    """Of the counts that the partitions left out and those chosen allow, those that are cheapest
    where a replica is worth the fair loads' price, widened."""
    fair = made.problem.budgeted.fair
    assert fair is not None
    chosen = sum(row.chosen for row in job.rows)
    windows = []
    for broker, p, w in zip(job.brokers, fair.slot_price, made.problem.weights, strict=True):
        price, weight = int(p), int(w)
        stays = sum(broker in row.before for row in job.rows if not row.chosen)
        counts = range(stays, stays + chosen + 1)
        costs = [weight * n * n - price * n for n in counts]
        best = [n for n, cost in zip(counts, costs, strict=True) if cost == min(costs)]
        low, high = best[0] * (1 - width), best[-1] * (1 + width)
        inside = [n for n in counts if low <= n <= high]
        windows.append((inside[0], inside[-1]))
    return windows


@given(
    job=small,
    percent=st.sampled_from((1, 5, 10, 20, 25, 34, 45, 50, 70, 100, 150, 300)),
)
@examples(200)
def test_within_the_tolerance_the_fewest_moves_then_the_fairest(
    job: tuple[Json, Json], percent: int
) -> None:
    asked, cluster, options = read(job)
    made = partage.plan(cluster, tolerance=f"{percent}%", **options)
    assert not defects(asked, lists(made))
    every = reached(asked)
    best = min(cost(asked, load) for load in every)
    fair = [load for load in every if cost(asked, load) == best]
    width = Fraction(percent, 100)
    # a count that some fairest placement has is fair whatever the prices
    certain = [
        (ceil(min(counts) * (1 - width)), floor(max(counts) * (1 + width)))
        for counts in zip(*fair, strict=True)
    ]
    windows = priced_windows(asked, made, width)
    for load in every:
        certainly_inside = all(a <= n <= b for n, (a, b) in zip(load, certain, strict=True))
        assert not certainly_inside or all(
            a <= n <= b for n, (a, b) in zip(load, windows, strict=True)
        )

    def best_within(bounds: list[tuple[int, int]]) -> tuple[int, Fraction]:
        return min(
            (m, cost(asked, load))
            for load, m in every.items()
            if all(low <= n <= high for n, (low, high) in zip(load, bounds, strict=True))
        )

    answer = (made.moves, cost(asked, load_of(asked, made)))
    assert answer == best_within(windows)
    assert answer <= best_within(certain)
    for stage in made.stages:
        if stage.name == "budget":
            assert stage.bound <= made.moves == stage.value
    if set(options) <= {"topics"}:
        again = partage.plan(made.after, tolerance=f"{percent}%", **options)
        assert lists(again) == lists(made)


@given(job=jobs(max_brokers=6, max_partitions=10, no_moves=False))
@examples(60)
def test_without_tolerance_it_is_the_plain_plan(job: tuple[Json, Json]) -> None:
    asked, cluster, options = read(job)
    del asked
    plain = partage.plan(cluster, **options)
    assert lists(partage.plan(cluster, tolerance="0%", **options)) == lists(plain)
    assert lists(partage.plan(cluster, max_moves=10**6, **options)) == lists(plain)


def counts_of(*loads: int) -> Cluster:
    """Broker n holds so many partitions of one replica."""
    held = [b for b, n in enumerate(loads, start=1) for _ in range(n)]
    rows = " ".join(f"{b}/{size}" for size, b in enumerate(held, start=1))
    return cluster_of(rows, " ".join(map(str, range(1, len(loads) + 1))))


@pytest.mark.parametrize(
    ("loads", "tolerance", "moved"),
    [
        ((110, 90), "10%", 0),
        ((112, 88), "10%", 2),
        ((112, 88), "9.9%", 3),
        ((130, 100, 70), "20%", 10),
        ((130, 100, 70), "30%", 0),
        ((130, 100, 70), "0%", 30),
        ((300, 0, 0), "10%", 190),
    ],
)
def test_a_tolerance_in_numbers(loads: tuple[int, ...], tolerance: str, moved: int) -> None:
    made = partage.plan(counts_of(*loads), tolerance=tolerance)
    assert made.moves == moved
    assert made.settled
    assert made.optimal


@pytest.mark.parametrize(("tolerance", "moved"), [("33%", 1), ("34%", 0)])
def test_a_tolerance_widens_a_count_that_other_topics_force(tolerance: str, moved: int) -> None:
    """Broker 0 keeps three replicas of other topics: 34 % of these is a fourth."""
    cluster = cluster_of("0 0 0 0", "0 1")
    value = cluster.to_json()
    value["partitions"][3] |= {"topic": "a.b", "partition": 0}
    made = partage.plan(Cluster.from_json(value), topics=r"a\.b", tolerance=tolerance)
    assert (made.moves, made.optimal) == (moved, True)


@pytest.mark.parametrize(
    ("matrix", "brokers", "factor", "tolerance", "moved"),
    [
        # counted by class, one move leads to loads that no placement has
        ("3,0,2 2,3,1 2,0,3 0,3", "0:a 1:b 2:c 3:a", 2, "100%", 1),
        ("2,1 1,3,2 3,1,2 0", "0 1 2 3", 2, "50%", 1),
        # counted by class, even the fairest loads take no move
        ("2,1,0 1 1", "0 1 2", 1, "150%", 0),
        ("0,2 1 1", "0:a 1:b 2:c 3:a", 1, "300%", 0),
    ],
)
def test_a_tolerance_where_the_class_network_counts_too_few_moves(
    matrix: str, brokers: str, factor: int, tolerance: str, moved: int
) -> None:
    """A partition that gives up a replica limits which replicas can stay."""
    cluster = cluster_of(matrix, brokers)
    made = partage.plan(cluster, replication_factor=[str(factor)], tolerance=tolerance)
    asked = read_problem(cluster.to_json(), {"replication_factor": [str(factor)]})
    windows = priced_windows(asked, made, Fraction(tolerance.rstrip("%")) / 100)
    best = min(
        (moves_to, cost(asked, load))
        for load, moves_to in reached(asked).items()
        if all(low <= n <= high for n, (low, high) in zip(load, windows, strict=True))
    )
    assert best[0] == moved
    assert (made.moves, cost(asked, load_of(asked, made))) == best
    assert made.lower_bound == moved
    assert made.optimal


# ---------------------------------------------------------------- so many bytes


def placements(job: NaiveProblem) -> list[tuple[tuple[int, ...], ...]]:
    return list(itertools.product(*choices(job)))


def bytes_of(value: Json, job: NaiveProblem, sets: Any) -> int:
    size = {(p["topic"], p["partition"]): p.get("size_bytes", 0) for p in value["partitions"]}
    return sum(
        size[row.topic, row.number] * len(set(after) - set(row.before))
        for row, after in zip(job.rows, sets, strict=True)
    )


@pytest.mark.long
def test_never_more_bytes_than_allowed_and_nearly_always_what_can_be_done() -> None:
    rng = random.Random(8)
    cases = refused = kept = keepable = 0
    for _ in range(110):
        value = a_cluster(rng, rng.randint(3, 4), rng.randint(2, 4))
        job, cluster = read_problem(value, {}), Cluster.from_json(value)
        plain = partage.plan(cluster)
        usual = bytes_of(value, job, lists(plain))
        limit = rng.randint(1, max(1, usual + 1))
        every = placements(job)
        least = min(bytes_of(value, job, sets) for sets in every)
        try:
            made = partage.plan(cluster, max_bytes_moved=str(limit))
        except CannotError:
            cases += least <= limit
            refused += least <= limit
            continue
        cases += 1
        assert least <= bytes_of(value, job, lists(made)) <= limit
        assert made.figures["bytes_moved"] == bytes_of(value, job, lists(made))
        assert not defects(job, lists(made))
        assert moves(job, lists(made)) <= plain.moves
        if usual <= limit:
            assert lists(made) == lists(plain)
            continue
        fair = unfairness(job, lists(plain))
        if any(
            bytes_of(value, job, sets) <= limit
            and unfairness(job, sets) == fair
            and moves(job, sets) == plain.moves
            for sets in every
        ):
            keepable += 1
            kept += unfairness(job, lists(made)) == fair
            assert moves(job, lists(made)) <= plain.moves
    assert cases > 70
    assert refused <= 0.05 * cases
    assert keepable > 8
    assert kept >= 0.9 * keepable


def sizes_on_one(*sizes: int) -> Cluster:
    return cluster_of(" ".join(f"1/{size}" for size in sizes), "1 2")


@pytest.mark.parametrize(
    ("limit", "moved", "loads"),
    [("1KB", 2, [2, 2]), ("30", 2, [2, 2]), ("29", 1, [1, 3]), ("10", 1, [1, 3]), ("9", 0, [0, 4])],
)
def test_smaller_partitions_first_then_fewer(limit: str, moved: int, loads: list[int]) -> None:
    made = partage.plan(sizes_on_one(40, 30, 20, 10), max_bytes_moved=limit)
    assert made.moves == moved
    assert made.figures["replicas_per_broker"] == loads
    assert made.figures["bytes_moved"] <= int(limit.replace("KB", "000"))


def test_bytes_that_a_removed_broker_holds_must_move() -> None:
    cluster = sizes_on_one(40, 30)
    forced = "^`max_bytes_moved` 69: the rules alone force 2 moves that copy 70, for replicas that"
    with pytest.raises(CannotError, match=forced):
        partage.plan(cluster, remove_broker=[1], max_bytes_moved="69")
    made = partage.plan(cluster, remove_broker=[1], max_bytes_moved="70")
    assert made.moves == 2


@pytest.mark.parametrize(
    ("options", "forced", "least"),
    [
        ({}, "the rack rule alone forces 41 moves that copy 123GB", "123GB"),
        (
            {"remove_broker": [5]},
            "the rules alone force 83 moves that copy 308GB: 20 for the rack rule, 63 for replicas "
            "that must leave their broker or are added",
            "308GB",
        ),
    ],
)
def test_a_limit_below_what_the_rules_force_names_the_least(
    options: Json, forced: str, least: str
) -> None:
    with pytest.raises(CannotError, match=f"^`max_bytes_moved` 100GB: {forced}$"):
        partage.plan(grown(), max_bytes_moved="0.1TB", **options)
    moves = forced.replace(f" that copy {least}", "")
    with pytest.raises(CannotError, match=f"^`max_moves` 20: {moves}$"):
        partage.plan(grown(), max_moves=20, **options)
    assert partage.plan(grown(), max_bytes_moved=least, **options).bytes_moved is not None


def test_a_second_run_may_go_on() -> None:
    made = partage.plan(sizes_on_one(40, 30, 20, 10), max_bytes_moved="29")
    assert not made.settled
    again = partage.plan(made.after, max_bytes_moved="29")
    assert again.figures["replicas_per_broker"] == [2, 2]


@given(job=jobs(max_brokers=6, max_partitions=10, no_moves=False), data=st.data())
@examples(120)
def test_all_limits_together(job: tuple[Json, Json], data: st.DataObject) -> None:
    cluster, options = job
    for entry in cluster["partitions"]:
        entry["size_bytes"] = data.draw(st.integers(0, 9))
    asked, read_cluster, options = read((cluster, options))
    total = sum(e["size_bytes"] * len(e["replicas"]) for e in cluster["partitions"])
    limit: Mapping[str, Any] = {
        "max_bytes_moved": str(data.draw(st.integers(1, max(1, total)))),
        "max_moves": data.draw(st.one_of(st.none(), st.integers(0, 12))),
        "tolerance": data.draw(st.sampled_from((None, "20%", "60%"))),
    }
    try:
        made = partage.plan(read_cluster, **limit, **options)
    except CannotError:
        return
    assert not defects(asked, lists(made))
    assert bytes_of(cluster, asked, lists(made)) <= int(limit["max_bytes_moved"])
    if limit["max_moves"] is not None:
        assert made.moves <= limit["max_moves"]
    assert json.loads(json.dumps(made.document()))["options"]["max_bytes_moved"]
