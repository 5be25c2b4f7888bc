"""The schedule of members, compared with every schedule."""

from __future__ import annotations

import random
from itertools import pairwise, product

import numpy as np
import pytest

from partage.consumers import size
from partage.consumers.schedule import GroupLoads, Schedule, cheapest_schedule
from partage.errors import CannotError, InputError
from partage.group import Group, Member
from partage.measured_loads import Windows
from tests.profiles import seeds

SECONDS = 3600


def loads_of(rows: list[list[int]]) -> GroupLoads:
    """``rows``: the load of each partition, by window."""
    count = len(rows[0])
    names = tuple(("t", p) for p in range(count))
    start = tuple(SECONDS * 1000 * w for w in range(len(rows)))
    group = Group({"t": count}, [Member("a", ["t"])])
    return GroupLoads(group, names, start, SECONDS, np.array(rows, dtype=np.int64))


def bins(weights: list[int], capacity: int) -> int:
    """The fewest bins, by enumeration."""
    best = len(weights)
    for owners in product(range(len(weights)), repeat=len(weights)):
        total = [0] * len(weights)
        for owner, weight in zip(owners, weights, strict=True):
            total[owner] += weight
        if max(total) <= capacity:
            best = min(best, len(set(owners)))
    return best


def every(rows: list[list[int]], capacity: int, price: int) -> tuple[int, int]:
    """The least cost of all schedules, and with it the fewest rebalances."""
    found = []
    for cuts in product((False, True), repeat=len(rows) - 1):
        edges = [0, *(at for at, cut in enumerate(cuts, 1) if cut), len(rows)]
        cost = price * sum(cuts)
        for first, end in pairwise(edges):
            peak = [max(column) for column in zip(*rows[first:end], strict=True)]
            cost += bins(peak, capacity) * (end - first) * SECONDS
        found.append((cost, sum(cuts)))
    return min(found)


def check(found: Schedule, rows: list[list[int]]) -> None:
    """It covers all windows, and does not cost less than is proven."""
    edges = [(one.first, one.end) for one in found.stretches]
    assert [edges[0][0], edges[-1][1]] == [0, len(rows)]
    assert all(a[1] == b[0] for a, b in pairwise(edges))
    assert all(one.lower_bound <= one.members for one in found.stretches)
    assert found.cost_bound <= found.cost


@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize("seed", seeds(40))
def test_against_every_schedule(seed: int, exact: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not exact:
        monkeypatch.setattr(size, "_MOST_VARIABLES", 0)
    chance = random.Random(seed)
    partitions, windows = chance.randint(1, 4), chance.randint(1, 6)
    rows = [[chance.randint(0, 9) for _ in range(partitions)] for _ in range(windows)]
    capacity = chance.randint(max(map(max, rows)) or 1, 16)
    price = chance.choice([0, 600, SECONDS, 2 * SECONDS, 5 * SECONDS])
    found = cheapest_schedule(loads_of(rows), capacity, price)
    check(found, rows)
    cost, rebalances = every(rows, capacity, price)
    assert found.cost_bound <= cost <= found.cost
    if exact:
        assert (found.cost, found.rebalances) == (cost, rebalances)


def test_the_price_decides() -> None:
    """A night that saves two members for three hours: worth two rebalances of up to three."""
    rows = [[5, 5, 5]] * 2 + [[1, 1, 1]] * 3 + [[5, 5, 5]] * 2
    for price, members in ((2, [3, 1, 3]), (3, [3]), (9, [3])):
        found = cheapest_schedule(loads_of(rows), 5, price * SECONDS)
        assert [one.members for one in found.stretches] == members
        assert found.proven
    assert found.member_seconds == 21 * SECONDS


def test_peaks_of_different_windows_count_together() -> None:
    """Each window alone fits one member, but the partitions stay where they are."""
    rows = [[9, 1], [1, 9]]
    assert cheapest_schedule(loads_of(rows), 10, 10 * SECONDS).most == 2
    free = cheapest_schedule(loads_of(rows), 10, 0)
    assert [one.members for one in free.stretches] == [1, 1]
    assert free.rebalances == 1


def test_refused() -> None:
    with pytest.raises(CannotError, match=r"^t-1 alone has 0 a second from 1970-01-01T01:00Z on"):
        cheapest_schedule(loads_of([[1, 1], [1, 8]]), 7, 0)
    two = Group({"t": 1, "u": 1}, [Member("a", ["t"]), Member("b", ["u"])])
    nothing = Windows((), np.zeros(1, dtype=np.int64), 60, np.zeros((1, 0), dtype=np.int64))
    with pytest.raises(InputError, match="different topics"):
        GroupLoads.of(two, nothing)


def test_loads_of_a_group() -> None:
    """Of the topics that it reads; what was not measured is 0."""
    group = Group({"t": 2, "u": 1}, [Member("a", ["t"])])
    windows = Windows(
        (("t", 1), ("u", 0)),
        np.array([0, 60_000]),
        60,
        np.array([[60, 7], [61, 7]], dtype=np.int64),
    )
    found = GroupLoads.of(group, windows)
    assert found.names == (("t", 0), ("t", 1))
    assert found.load.tolist() == [[0, 1000], [0, 1017]]
    assert (found.end, found.moment(1), found.moment(2)) == (120_000, 60_000, 120_000)
