"""The order of java.util.HashMap; the expected orders were printed by Java 17."""

from __future__ import annotations

import pytest

from partage.consumers.java_order import java_order, owned_order, string_hash


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


@pytest.mark.parametrize(
    "listed",
    [
        "kmo_community:2 kmo_community:1 kmo_community:0",
        "t0:10 t0:6 t0:35 t2:12 t2:26 t2:25 t2:24 t2:38 t2:20 t2:3 t1:39",
        "t0:11 t0:4 t0:3 t0:2 t2:29 t2:26 t2:21 t2:19 t2:16 t1:38 t1:3 t1:0",
        "t0:29 t0:28 t0:26 t0:3 t2:15 t2:8 t2:6 t2:17 t1:28 t1:19",
    ],
)
def test_what_a_client_owns(listed: str) -> None:
    """Printed by SubscriptionState of Kafka 3.7.0."""
    partitions = [
        (topic, int(number)) for topic, number in (word.split(":") for word in listed.split())
    ]
    assert owned_order(set(partitions)) == partitions
