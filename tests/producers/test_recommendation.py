"""What is recommended: the highest worth of all counts, today's included, by exact fractions."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from partage.producers.candidates import Candidate, HotKey, Recommendation, too_hot
from partage.producers.detection import SPREAD
from partage.producers.recommendation import recommended
from tests.profiles import examples

KEYS = 1000


def candidate(
    load: list[int], moved: int = 0, partitioner: str = "murmur2", keys: int = KEYS
) -> Candidate:
    return Candidate(
        partitions=len(load),
        partitioner=partitioner,
        loads={"records": np.array(load), "bytes": np.array(load)},
        keys=keys,
        keys_moved=moved,
        records_moved=moved,
        hot_keys=too_hot([], len(load)),
    )


def of(today: list[int], *others: Candidate, **options: object) -> Recommendation:
    loads = {"records": np.array(today), "bytes": np.array(today)}
    return recommended(others, loads, "murmur2", **options)  # type: ignore[arg-type]


def busy(load: list[int], need: int) -> Fraction:
    """Consumers with work: the load divided by the fullest partition's."""
    return min(Fraction(sum(load), max(load)), Fraction(need))


loads = st.lists(st.integers(0, 1000), min_size=1, max_size=8).filter(any)


@given(
    loads,
    st.lists(st.tuples(loads, st.integers(1, KEYS)), max_size=5),
    st.none() | st.integers(1, 20),
    st.sampled_from([0, 0.25, 1, 4]),
)
@examples(400)
def test_nothing_else_is_worth_more(
    today: list[int], others: list[tuple[list[int], int]], consumers: int | None, cost: float
) -> None:
    found = of(
        today,
        *(candidate(load, moved) for load, moved in others),
        consumers=consumers,
        move_cost=cost,
    )
    need = len(today) if consumers is None else consumers
    worth = {(len(today), 0): busy(today, need)}
    for load, moved in others:
        if len(load) >= len(today):
            price = 1 + Fraction(cost) * Fraction(moved, KEYS)
            key = (len(load), 0 if len(load) == len(today) else 1)
            worth[key] = max(worth.get(key, Fraction(0)), busy(load, need) / price)
    best = max(worth.values())
    own = busy(today, need)
    if found.stay:
        assert found.partitions == len(today)
        assert float(own) == pytest.approx(float(best), rel=1e-12)
    else:
        reached = [w for (count, _), w in worth.items() if count == found.partitions]
        assert float(max(reached)) == pytest.approx(float(best), rel=1e-12)
        gains = [
            busy(load, need) / own
            for load, moved in others
            if len(load) == found.partitions
            and busy(load, need) > own * (1 + Fraction(cost) * Fraction(moved, KEYS))
        ]
        assert gains


def test_a_gain_that_is_not_worth_the_keys() -> None:
    """2.6 of 6 consumers busy today, 3.5 with twice the partitions, but half of the keys move."""
    today, double = [231, *[74] * 5], candidate([29, *[7] * 10, 1], moved=480)
    found = of(today, double)
    assert (found.stay, found.partitions, found.partitioner) == (True, 6, "murmur2")
    assert found.reason == (
        "keeps 2.6 of 6 consumers busy; 12 would keep 3.4, but move 48.0 % of the keys"
    )
    cheap = of(today, double, move_cost=0.5)
    assert (cheap.stay, cheap.partitions) == (False, 12)
    assert cheap.reason == (
        "keeps 3.4 of 6 consumers busy, today 2.6; skew of records 3.48, today 2.31; "
        "48.0 % of the keys change partition"
    )


def test_keys_on_several_partitions_have_no_order_to_lose() -> None:
    """What moves all keys of a topic by round robin costs nothing."""
    today, double = [231, *[74] * 5], candidate([29, *[7] * 10, 1], moved=999)
    loads = {"records": np.array(today), "bytes": np.array(today)}
    found = recommended([double], loads, SPREAD)
    assert (found.stay, found.partitions, found.partitioner) == (False, 12, "murmur2")
    assert found.reason == (
        "keeps 3.4 of 6 consumers busy, today 2.6; skew of records 3.48, today 2.31; "
        "keys are on several partitions today, so none loses its order"
    )


def test_more_partitions_than_consumers_are_worth_nothing() -> None:
    even, twice = [10] * 6, candidate([5] * 12, moved=500)
    assert of(even, twice).reason == "keeps 6.0 of 6 consumers busy"
    assert of(even, twice, move_cost=0).stay
    assert of(even, twice, consumers=12).partitions == 12
    # the smallest of equals
    assert of(even, candidate([5] * 24, 500), twice, consumers=12).partitions == 12


@pytest.mark.parametrize(
    ("today", "reason"),
    [
        ([9, 8, 8], "keeps 2.8 of 3 consumers busy"),
        (
            [23, 1, 1],
            "keeps 1.1 of 3 consumers busy; its records have no key, so their producers decide how "
            "even the partitions are",
        ),
    ],
)
def test_more_partitions_do_not_spread_records_without_a_key(today: list[int], reason: str) -> None:
    """Their even distribution is an assumption for every count, and no gain of one."""
    double = candidate([5, 4, 4, 4, 4, 4], keys=0)
    loads = {"records": np.array(today), "bytes": np.array(today)}
    found = recommended([double], loads, SPREAD)
    assert (found.stay, found.partitions, found.reason) == (True, 3, reason)
    assert recommended([double], loads, SPREAD, consumers=6).partitions == 6


def test_a_topic_cannot_shrink() -> None:
    found = of([9, 1, 1, 1], candidate([6, 6], moved=1))
    assert found.stay
    assert found.reason.endswith("all other counts are smaller, and a topic cannot shrink")


def test_no_count_is_better() -> None:
    found = of([9, 1, 1], candidate([9, 1, 1, 0], moved=5))
    assert found.reason.endswith("; no other count keeps more busy (at best 1.2)")


@pytest.mark.parametrize(
    ("key", "shown", "advice"),
    [
        (b"big", "big", "extend this key, or give its records a topic of their own"),
        (b"", "(empty key)", "give these records a key, or none at all"),
    ],
)
def test_one_hot_key_limits(key: bytes, shown: str, advice: str) -> None:
    keys = [HotKey(b"b", 1, 1, {"records": 0.1, "bytes": 0.1})]
    keys.append(HotKey(key, 1, 1, {"records": 0.1, "bytes": 0.5}))
    found = of([50, 20, 20, 10], candidate([50, 10, 10, 10, 10, 10], moved=300), hot_keys=keys)
    assert found.stay
    assert found.reason.endswith(
        f"{shown} alone has 50.0 % of the bytes, so no count keeps more than 2.0 busy: {advice}"
    )


def test_another_partitioner_at_the_same_count() -> None:
    """Your own partitioner may spread what the hash does not."""
    found = of([9, 1, 1, 1], candidate([3, 3, 3, 3], moved=700, partitioner="my:Own"))
    assert (found.partitions, found.partitioner, found.stay) == (4, "my:Own", False)
