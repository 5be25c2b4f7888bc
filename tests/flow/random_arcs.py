"""Arcs of small random networks."""

from __future__ import annotations

from hypothesis import strategies as st

Arc = tuple[int, int, int, int]
"""Tail, head, capacity, cost."""


def some_arcs(
    nodes: int, *, capacity: int, cost: tuple[int, int], most: int
) -> st.SearchStrategy[list[Arc]]:
    """From 1 to ``most`` arcs between different nodes, perhaps parallel."""
    node = st.integers(0, nodes - 1)
    one = st.tuples(node, node, st.integers(0, capacity), st.integers(*cost))
    return st.lists(one.filter(lambda arc: arc[0] != arc[1]), min_size=1, max_size=most)
