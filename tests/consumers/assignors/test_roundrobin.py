"""Roundrobin: the examples of the articles."""

from __future__ import annotations

from partage import assign
from tests.consumers.small_groups import NESTED, same, short


def test_two_topics_of_three_over_three() -> None:
    found = assign(same({"t0": 3, "t1": 3}, "C0", "C1", "C2"), "roundrobin")
    assert short(found) == {"C0": "t0-0 t1-0", "C1": "t0-1 t1-1", "C2": "t0-2 t1-2"}


def test_nested_subscriptions() -> None:
    found = assign(NESTED, "roundrobin")
    assert short(found) == {"C0": "t0-0", "C1": "t1-0", "C2": "t1-1 t2-0 t2-1 t2-2"}
