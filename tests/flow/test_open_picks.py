"""Counts that leave every item a pick, judged item by item."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from partage.flow.certificate import Takeovers
from partage.flow.open_picks import counts_with_picks
from tests.profiles import examples


def takeovers_of(
    offers: list[list[tuple[int, int]]], low: list[int], raisable: list[bool], raised: int
) -> Takeovers:
    """Items with the pairs of slots that they may pick, and ``raised`` of the slots one higher."""
    slots = len(low)
    pairs = sorted({pair for row in offers for pair in row})
    number = {pair: i for i, pair in enumerate(pairs)}
    arcs = [(i, number[pair]) for i, row in enumerate(offers) for pair in sorted(set(row))]
    item, option = (np.array(part, dtype=np.int64) for part in zip(*arcs, strict=True))
    holder, taker = (np.array(part, dtype=np.int64) for part in zip(*pairs, strict=True))
    least = np.array(low, dtype=np.int64)
    return Takeovers(
        item=item,
        option=option,
        items=len(offers),
        holder=holder,
        taker=taker,
        base=np.zeros(slots, dtype=np.int64),
        fixed=np.zeros((slots, slots), dtype=np.int64),
        low=least,
        high=least + np.array(raisable, dtype=np.int64),
        total=int(least.sum()) + raised,
    )


def stuck(one: Takeovers, counts: list[int], cap: int) -> int:
    """How many items have no option below the cap."""
    levels = {i: [] for i in range(one.items)}  # type: dict[int, list[int]]
    for i, o in zip(one.item.tolist(), one.option.tolist(), strict=True):
        fixed = int(one.fixed[one.holder[o], one.taker[o]])
        levels[i].append(counts[one.taker[o]] + fixed)
    return sum(min(row) >= cap for row in levels.values())


@st.composite
def cases(draw: st.DrawFn) -> tuple[Takeovers, list[int], int]:
    slots = draw(st.integers(2, 6))
    slot = st.integers(0, slots - 1)
    pair = st.tuples(slot, slot).filter(lambda one: one[0] != one[1])
    offers = draw(st.lists(st.lists(pair, min_size=1, max_size=4), min_size=1, max_size=8))
    low = draw(st.lists(st.integers(0, 2), min_size=slots, max_size=slots))
    raisable = draw(st.lists(st.booleans(), min_size=slots, max_size=slots))
    most = sum(raisable)
    one = takeovers_of(offers, low, raisable, draw(st.integers(0, most)))
    one.fixed[:] = np.array(
        draw(st.lists(st.integers(0, 1), min_size=slots**2, max_size=slots**2))
    ).reshape(slots, slots)
    spare = one.total - sum(low)
    raised = draw(st.permutations(np.flatnonzero(raisable).tolist()))[:spare]
    counts = [n + (i in raised) for i, n in enumerate(low)]
    return one, counts, draw(st.integers(1, 4))


@given(cases())
@examples(400)
def test_counts_leave_no_more_items_without_a_pick(case: tuple[Takeovers, list[int], int]) -> None:
    one, counts, cap = case
    found = counts_with_picks(one, np.array(counts), cap)
    assert (found >= one.low).all()
    assert (found <= one.high).all()
    assert found.sum() == one.total
    assert stuck(one, found.tolist(), cap) <= stuck(one, counts, cap)
    if not stuck(one, counts, cap):
        assert found.tolist() == counts


@pytest.mark.parametrize("seed", range(5))
def test_high_counts_gather_in_few_zones(seed: int) -> None:
    """Three replicas in three of five racks, and a fifth of the brokers has one leader more: any
    broker may, but only if all of these are in two racks does no partition have three of them."""
    choose = np.random.default_rng(seed)
    racks, width, partitions = 5, 12, 4000
    offers = []
    for _ in range(partitions):
        chosen = choose.choice(racks, 3, replace=False) * width + choose.integers(0, width, 3)
        sets = chosen.tolist()
        offers.append([(a, b) for a in sets for b in sets if a != b])
    brokers = racks * width
    one = takeovers_of(offers, [60] * brokers, [True] * brokers, brokers // 5)
    counts = np.full(brokers, 60)
    counts[choose.choice(brokers, brokers // 5, replace=False)] += 1
    assert stuck(one, counts.tolist(), 61)
    found = counts_with_picks(one, counts, 61)
    assert found.sum() == one.total
    assert not stuck(one, found.tolist(), 61)
