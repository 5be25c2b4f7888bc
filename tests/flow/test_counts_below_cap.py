"""Counts that keep a cap, and the cuts that exclude others, against enumeration."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from partage.flow import counts_below_cap as module
from partage.flow.certificate import Takeovers, proven_bound
from partage.flow.count_search import CountSearch
from partage.flow.counts_below_cap import CappedPicks, counts_below_cap
from tests.flow.takeover_cases import Case, cases
from tests.profiles import examples

CAPS = st.integers(0, 8)


def possible(case: Case, cap: int) -> set[tuple[int, ...]]:
    """The fair counts with which the levels can be at most ``cap``."""
    return {held for held, worst, _ in case.fair() if worst <= cap}


@given(case=cases(), cap=CAPS, data=st.data())
@examples(300)
def test_counts_or_a_proof_that_there_are_none(case: Case, cap: int, data: st.DataObject) -> None:
    takeovers = case.takeovers()
    start = np.array(data.draw(st.sampled_from(sorted({held for held, _, _ in case.fair()}))))
    searched = counts_below_cap(takeovers, start, cap)
    keep = possible(case, cap)
    if keep:
        assert searched.counts is not None
        assert tuple(searched.counts.tolist()) in keep
    else:
        assert searched.counts is None
        assert proven_bound(takeovers, cap, searched.proof) is None
    if tuple(start.tolist()) in keep:
        assert searched.counts is not None


@given(case=cases(), cap=CAPS)
@examples(300)
def test_all_counts_that_keep_the_cap_satisfy_all_cuts(case: Case, cap: int) -> None:
    takeovers = case.takeovers()
    picks, keep = CappedPicks(takeovers, cap), possible(case, cap)
    every = {held for held, _, _ in case.fair()}
    above = {held: np.array(held) - takeovers.low for held in every}
    found = [cut for more in above.values() for cut in picks.cuts(more)[1]]
    found += picks.cuts(sum(above.values()), len(above))[1]  # between all of them
    for held in keep:
        left, cuts = picks.cuts(above[held])
        assert (left, cuts) == (0, [])
        assert all(cut.spare + cut.worth @ above[held] >= 0 for cut in found)


@given(case=cases(), cap=CAPS)
@examples(200)
def test_cuts_say_how_many_items_are_left_over(case: Case, cap: int) -> None:
    """The minimum cut of counts is violated by as many items as are left over."""
    takeovers = case.takeovers()
    picks = CappedPicks(takeovers, cap)
    for held in {held for held, _, _ in case.fair()}:
        more = np.array(held) - takeovers.low
        left, cuts = picks.cuts(more)
        assert [-(cut.spare + cut.worth @ more) for cut in cuts] == [left] * len(cuts)
        assert bool(cuts) == bool(left)


@given(case=cases(), cap=CAPS)
@examples(100)
def test_nothing_is_claimed_without_effort(case: Case, cap: int) -> None:
    takeovers = case.takeovers()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "EFFORT", -1)
        searched = counts_below_cap(takeovers, takeovers.low, cap)
    if possible(case, cap):
        assert proven_bound(takeovers, cap, searched.proof) is not None


def test_no_flow_where_it_would_be_too_large(monkeypatch: pytest.MonkeyPatch) -> None:
    takeovers = Case([[0, 1], [0, 1]], [0, 0], [[0, 0], [0, 0]]).takeovers()
    assert CountSearch().relaxed(takeovers, 1)
    monkeypatch.setattr(module, "MAX_ARCS", 0)
    monkeypatch.setattr(CappedPicks, "cuts", None)
    searched = CountSearch().find(takeovers, takeovers.low, 1)
    assert searched.counts is None
    assert proven_bound(takeovers, 1, searched.proof) is not None
    assert not CountSearch().relaxed(takeovers, 1)


@pytest.mark.parametrize("seed", range(6))
def test_exchanges_find_hidden_counts(seed: int) -> None:
    """Every item has a pair of its own that keeps the cap if the right third of the slots has the
    high counts, and a third slot that misleads; judged by a flow of another library."""
    choose = np.random.default_rng(seed)
    slots, low = 24, 6
    hidden = set(choose.choice(slots, slots // 3, replace=False).tolist())
    rows = []
    for holder in range(slots):
        takers = [s for s in range(slots) if s not in hidden and s != holder]
        for taker in choose.permutation(takers)[: low + (holder in hidden)].tolist():
            others = [s for s in range(slots) if s not in (holder, taker)]
            rows.append([holder, taker, int(choose.choice(others))])
    takeovers = Case(rows, [0] * slots, [[0] * slots for _ in range(slots)]).takeovers()
    assert set(takeovers.low.tolist()) == {low}
    start = low + (np.arange(slots) < slots // 3)
    assert able(takeovers, start, low + 1) < len(rows)
    found = counts_below_cap(takeovers, start, low + 1).counts
    assert found is not None
    assert found.sum() == len(rows)
    assert able(takeovers, found, low + 1) == len(rows)


def able(takeovers: Takeovers, counts: np.ndarray, cap: int) -> int:
    """How many items can pick within the cap."""
    graph = nx.DiGraph()
    for i, o in zip(takeovers.item.tolist(), takeovers.option.tolist(), strict=True):
        graph.add_edge("source", ("item", i), capacity=1)
        graph.add_edge(("item", i), ("option", o), capacity=1)
    for o, (holder, taker) in enumerate(
        zip(takeovers.holder.tolist(), takeovers.taker.tolist(), strict=True)
    ):
        graph.add_edge(("option", o), ("slot", holder), capacity=cap - int(counts[taker]))
    for slot, count in enumerate(counts.tolist()):
        graph.add_edge(("slot", slot), "sink", capacity=count)
    return int(nx.maximum_flow_value(graph, "source", "sink"))
