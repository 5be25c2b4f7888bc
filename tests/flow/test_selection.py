"""Options and slots against enumeration, and the bounds that certify them."""

from __future__ import annotations

import itertools

import numpy as np
from hypothesis import assume, given
from hypothesis import strategies as st

from partage.flow.certificate import Takeovers, picking_bound
from partage.flow.selection import least_level, pick_pairs, pick_slots
from tests.profiles import examples


@st.composite
def offers(draw: st.DrawFn) -> tuple[int, list[list[int]], list[int]]:
    slots = draw(st.integers(1, 4))
    options = st.lists(st.integers(0, slots - 1), min_size=1, max_size=3, unique=True)
    items = draw(st.lists(options.map(sorted), min_size=1, max_size=6))
    base = draw(st.lists(st.integers(0, 3), min_size=slots, max_size=slots))
    return slots, items, base


def arcs_of(items: list[list[int]]) -> tuple[np.ndarray, np.ndarray]:
    pairs = np.array([(i, s) for i, row in enumerate(items) for s in row], dtype=np.int64)
    return pairs[:, 0], pairs[:, 1]


@given(case=offers(), data=st.data())
@examples(300)
def test_fairest_picks_with_fewest_changes(case, data) -> None:  # type: ignore[no-untyped-def]
    slots, items, base = case
    today = [data.draw(st.integers(0, slots)) for _ in items]
    item, slot = arcs_of(items)
    change = np.array([s != today[i] for i, s in zip(item, slot, strict=True)], dtype=np.int64)
    picked, price = pick_slots(item, slot, len(items), np.array(base), change)

    def value(choice: tuple[int, ...]) -> tuple[int, int]:
        load = [b + choice.count(s) for s, b in enumerate(base)]
        return sum(x * x for x in load), sum(c != t for c, t in zip(choice, today, strict=True))

    chosen = tuple(slot[picked].tolist())
    assert all(c in row for c, row in zip(chosen, items, strict=True))
    assert value(chosen) == min(map(value, itertools.product(*items)))
    bound = picking_bound(
        item=item,
        option=slot,
        items=len(items),
        base=np.array(base),
        price=price,
        limit=len(items),
    )
    assert bound == value(chosen)[0]


def pairs_of(
    case: tuple[int, list[list[int]], list[int]], data: st.DataObject
) -> tuple[tuple[np.ndarray, np.ndarray, int, np.ndarray], np.ndarray]:
    """Ordered pairs of each item's slots, of items that have two: item and option of each arc, how
    many items, each option's first slot; and how often each slot is to be the first."""
    slots, every, _ = case
    items = [row for row in every if len(row) >= 2]
    assume(items)
    pairs = [list(itertools.permutations(row, 2)) for row in items]
    options = sorted({p for row in pairs for p in row})
    first = [data.draw(st.sampled_from(row))[0] for row in pairs]
    arcs = (
        np.array([i for i, row in enumerate(pairs) for _ in row]),
        np.array([options.index(p) for row in pairs for p in row]),
        len(items),
        np.array([p[0] for p in options]),
    )
    return arcs, np.array([first.count(s) for s in range(slots)])


@given(case=offers(), data=st.data())
@examples(300)
def test_pairs_under_caps(case, data) -> None:  # type: ignore[no-untyped-def]
    """Ordered pairs with fixed leaders' counts and a cap: least squares, then fewest changes of two
    kinds, one after the other."""
    (item, option, items, option_slot), quota = pairs_of(case, data)
    options = range(len(option_slot))
    base = np.array([data.draw(st.integers(0, 3)) for _ in options])
    cap = np.array([data.draw(st.integers(0, 3)) for _ in options])
    changes = tuple(np.array([data.draw(st.integers(0, 1)) for _ in option]) for _ in range(2))
    answer = pick_pairs(item, option, items, option_slot, base, cap, quota, changes)

    def value(picked: list[int]) -> tuple[int, ...]:
        picks = np.bincount(option[picked], minlength=len(options))
        return int(((base + picks) ** 2).sum()), *(int(one[picked].sum()) for one in changes)

    best = None
    for choice in itertools.product(*[np.flatnonzero(item == i) for i in range(items)]):
        picks = np.bincount(option[list(choice)], minlength=len(options))
        leaders = np.bincount(option_slot[option[list(choice)]], minlength=len(quota))
        if (picks <= cap).all() and (leaders == quota).all():
            found = value(list(choice))
            best = found if best is None else min(best, found)
    if best is None:
        assert answer is None
        return
    assert answer is not None
    assert value(answer[0].tolist()) == best


@given(case=offers(), data=st.data())
@examples(300)
def test_prices_of_pairs_prove_them(case, data) -> None:  # type: ignore[no-untyped-def]
    """The prices of the best picks prove their squares."""
    (item, option, items, option_slot), quota = pairs_of(case, data)
    codes = sorted({(i, j) for row in case[1] for i, j in itertools.permutations(row, 2)})
    slots = len(quota)
    few = st.integers(0, 2)
    fixed = np.array(
        [[data.draw(few) if b != f else 0 for f in range(slots)] for b in range(slots)]
    )
    counts = np.array(case[2]) + quota
    takeovers = Takeovers(
        item=item,
        option=option,
        items=items,
        holder=option_slot,
        taker=np.array([f for _, f in codes]),
        base=np.array(case[2]),
        fixed=fixed,
        low=counts,
        high=counts,
        total=int(counts.sum()),
    )
    base = counts[takeovers.taker] + takeovers.fixed_of
    least = least_level(item, option, items, option_slot, base, quota, infeasible=-1)
    least = max(least, int((counts + fixed).max()))
    answer = pick_pairs(item, option, items, option_slot, base, least - base, quota, ())
    assert answer is not None
    picked, option_price, slot_price = answer
    level = counts[None, :] + fixed
    np.add.at(level, (option_slot[option[picked]], takeovers.taker[option[picked]]), 1)
    np.fill_diagonal(level, 0)
    assert takeovers.bound(least, 1, option_price, slot_price) == (level * level).sum()


@given(case=offers(), data=st.data())
@examples(200)
def test_lowest_level(case, data) -> None:  # type: ignore[no-untyped-def]
    """One less cannot be picked, found however far off the search begins."""
    arcs, quota = pairs_of(case, data)
    base = np.array([data.draw(st.integers(0, 9)) for _ in arcs[3]])

    def does(level: int) -> bool:
        return pick_pairs(*arcs, base, level - base, quota, ()) is not None

    least = next(level for level in itertools.count() if does(level))
    for beyond in range(least - 4, least):
        assert least_level(*arcs, base, quota, infeasible=beyond) == least
