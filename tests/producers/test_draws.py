"""Seeded random numbers."""

from __future__ import annotations

from partage.producers.draws import Draws


def test_draws_are_the_published_generator() -> None:
    """SplitMix64: its first numbers from the state 1234567."""
    draws = Draws(0)
    draws._state = 1234567
    assert [draws._next() for _ in range(3)] == [
        6457827717110365317,
        3203168211198807973,
        9817491932198370423,
    ]
