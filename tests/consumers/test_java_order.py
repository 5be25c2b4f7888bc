"""The order of java.util.HashMap; the expected orders were printed by Java 17."""

from __future__ import annotations

import pytest

from partage.consumers.java_order import java_order, string_hash


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", 0),
        ("a", 97),
        ("range", 108280125),
        ("cooperative-sticky", 1843682987),
        ("é😀", 1996812),
    ],
)
def test_hash_codes(text: str, code: int) -> None:
    assert string_hash(text) == code & 0xFFFFFFFF


@pytest.mark.parametrize(
    ("keys", "ordered"),
    [
        (["b", "a"], ["a", "b"]),
        (["range", "sticky"], ["sticky", "range"]),
        (["range", "cooperative-sticky"], ["range", "cooperative-sticky"]),
        (["roundrobin", "range"], ["range", "roundrobin"]),
        (["Aa", "BB"], ["Aa", "BB"]),  # the same hash code: in the order of insertion
        (["BB", "Aa"], ["BB", "Aa"]),
        (
            [f"k{n}" for n in range(14)],
            [
                "k0",
                "k1",
                "k2",
                "k3",
                "k4",
                "k5",
                "k11",
                "k6",
                "k10",
                "k7",
                "k13",
                "k8",
                "k12",
                "k9",
            ],
        ),
    ],
)
def test_orders(keys: list[str], ordered: list[str]) -> None:
    assert [keys[at] for at in java_order(keys)] == ordered
