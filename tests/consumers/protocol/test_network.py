"""Random histories of a group: the guarantees of the protocol hold at every step."""

from __future__ import annotations

import pytest

from partage.consumers.protocol import COOPERATIVE, EAGER
from tests.consumers.group_histories import TOPICS, History, ObservedNetwork, hand_over

PAIRS = [
    (EAGER, "range"),
    (EAGER, "sticky"),
    (EAGER, "cooperative-sticky"),
    (COOPERATIVE, "cooperative-sticky"),
    (COOPERATIVE, "roundrobin"),
    (COOPERATIVE, "failover"),
]


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("protocol", "assignor"), PAIRS)
def test_never_two_owners_and_one_owner_when_stable(protocol: str, assignor: str) -> None:
    for seed in range(60):
        history = History(seed, protocol, assignor)
        network = history.play()
        assert not network.wrong, (seed, network.wrong[:3], history.happened)


def test_without_a_second_round_partitions_have_two_owners() -> None:
    """The second round is needed: without it, many histories have a moment with two owners."""

    def played(seed: int) -> ObservedNetwork:
        return History(seed, COOPERATIVE, "sticky", lead=hand_over(TOPICS)).play()

    wrong = [seed for seed in range(40) if any("is held by" in w for w in played(seed).wrong)]
    assert len(wrong) > 10
