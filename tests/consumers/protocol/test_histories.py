"""Histories of a group at random: what the protocol promises holds at every step of each."""

from __future__ import annotations

import pytest

from partage.consumers.protocol import COOPERATIVE, EAGER
from tests.consumers.group_histories import TOPICS, History, Theatre, hand_over

PAIRS = [
    (EAGER, "range"),
    (EAGER, "sticky"),
    (EAGER, "cooperative-sticky"),
    (COOPERATIVE, "cooperative-sticky"),
    (COOPERATIVE, "roundrobin"),
    (COOPERATIVE, "failover"),
]


@pytest.mark.parametrize(("protocol", "assignor"), PAIRS)
def test_no_partition_has_two_owners_and_after_quiet_each_has_one(
    protocol: str, assignor: str
) -> None:
    for seed in range(60):
        history = History(seed, protocol, assignor)
        theatre = history.play()
        assert not theatre.wrong, (seed, theatre.wrong[:3], history.happened)


def test_a_direct_hand_over_gives_a_partition_two_owners() -> None:
    """Why there is a second round: without it, many histories have a moment with two owners."""

    def played(seed: int) -> Theatre:
        return History(seed, COOPERATIVE, "sticky", lead=hand_over(TOPICS)).play()

    wrong = [seed for seed in range(40) if any("is held by" in w for w in played(seed).wrong)]
    assert len(wrong) > 10
