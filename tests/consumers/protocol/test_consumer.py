"""Callbacks of members with the eager and the cooperative protocol: revoked, assigned, lost."""

from __future__ import annotations

import pytest

from partage.consumers.protocol import COOPERATIVE, EAGER, Error
from partage.consumers.protocol.consumer import Phase
from tests.consumers.group_histories import TOPICS, ObservedNetwork, hand_over

T = {"t": 4}
ALL = tuple(("t", n) for n in range(4))


def group(
    protocol: str, *clients: str, assignor: str = "sticky", topics=T, **options
) -> ObservedNetwork:
    network = ObservedNetwork(topics)
    for client in clients:
        network.member(client, assignors=(assignor,), protocol=protocol, **options)
    network.run_until_stable()
    return network


def test_eager_revokes_everything_before_it_joins() -> None:
    network = group(EAGER, "a")
    network.member("b")
    network.run_until_stable()
    kept, new = ALL[:2], ALL[2:]
    assert network.callbacks("a") == [
        ("assigned", ALL),
        ("revoked", ALL),
        ("assigned", kept),
    ]
    assert network.callbacks("b") == [("assigned", new)]
    assert network.coordinator.generation == 2  # one round


def test_cooperative_revokes_only_what_goes_and_rejoins() -> None:
    network = group(COOPERATIVE, "a", assignor="cooperative-sticky")
    network.member("b", assignors=("cooperative-sticky",), protocol=COOPERATIVE)
    network.run_until_stable()
    assert network.callbacks("a") == [
        ("assigned", ALL),
        ("revoked", ALL[2:]),
        ("assigned", ()),
        ("assigned", ()),
    ]
    assert network.callbacks("b") == [("assigned", ()), ("assigned", ALL[2:])]
    assert network.coordinator.generation == 3  # two rounds


def test_cooperative_revokes_unsubscribed_topics_before_it_joins() -> None:
    network = group(COOPERATIVE, "a", "b", topics=TOPICS, assignor="cooperative-sticky")
    had = network.processes["a"].held
    calls = len(network.callbacks("a"))
    network.subscribe("a", ("b", "c"))
    gone = tuple(sorted(p for p in had if p[0] == "a"))
    assert gone
    assert network.callbacks("a")[calls:] == [("revoked", gone)]
    assert network.processes["a"].phase is Phase.JOINING
    network.run_until_stable()
    network.check_stable()
    assert {t for t, _ in network.processes["a"].held} <= {"b", "c"}
    assert not network.wrong


def test_a_removed_member_gets_lost() -> None:
    for protocol in (EAGER, COOPERATIVE):
        network = group(protocol, "a", "b")
        had = tuple(sorted(network.processes["b"].held))
        network.processes["b"].sleep()
        network.run(100.0)
        assert len(network.processes["a"].held) == 4
        network.wake("b")
        network.run_until_stable()
        network.check_stable()
        kinds = [kind for kind, _ in network.callbacks("b")]
        assert ("lost", had) in network.callbacks("b")
        assert "revoked" not in kinds
        assert network.processes["b"].member_id == "b~2"  # a new member
        assert not network.wrong


def test_closing_revokes_and_leaves_at_once() -> None:
    network = group(EAGER, "a", "b")
    had = tuple(sorted(network.processes["b"].held))
    network.run(10.0)
    network.close("b")
    assert network.callbacks("b")[-1] == ("revoked", had)
    network.run_until_stable()
    assert network.now <= 13.0
    assert sorted(network.processes["a"].held) == list(ALL)


def test_closing_during_a_rebalance_loses() -> None:
    network = group(COOPERATIVE, "a", "b", assignor="cooperative-sticky")
    had = tuple(sorted(network.processes["a"].held))
    network.member("c", assignors=("cooperative-sticky",), protocol=COOPERATIVE)
    while network.processes["a"].phase is Phase.MEMBER:
        network.step()
    network.close("a")
    assert network.callbacks("a")[-1] == ("lost", had)
    network.run_until_stable()
    network.check_stable()
    assert not network.wrong


def test_closing_before_the_first_answer() -> None:
    network = ObservedNetwork(T)
    network.member("a")
    network.close("a")
    network.run_until_stable()
    assert network.callbacks("a") == []


def test_a_new_member_that_closes_while_it_waits_leaves_the_group() -> None:
    """In Kafka it knows its id before it waits (KIP-394), so it can leave."""
    network = group(EAGER, "a", "b")
    network.member("c")
    network.step()
    network.close("c")
    network.run_until_stable()
    assert sorted(network.coordinator.members) == ["a", "b"]
    assert network.now < 4.0
    network.check_stable()


def test_with_eager_sticky_remembers_and_cooperative_sticky_does_not() -> None:
    """Sticky members send their last assignment in the user data. CooperativeStickyAssignor does
    not, and an eager member owns nothing when it joins."""
    moved = {}
    for assignor in ("sticky", "cooperative-sticky"):
        network = ObservedNetwork({"t": 6})
        for client in ("c", "b", "a"):
            network.member(client, assignors=(assignor,))
            network.run_until_stable()
        before = network.held()
        network.member("0", assignors=(assignor,))
        network.run_until_stable()
        after = network.held()
        moved[assignor] = sum(len(set(after[c]) - set(before[c])) for c in before)
    assert moved["sticky"] == 0
    assert moved["cooperative-sticky"] > 0


def test_cooperative_never_revokes_what_stays() -> None:
    """A member never revokes the partitions that it has before and after a change."""
    for change in ("join", "close", "crash", "subscribe"):
        network = group(COOPERATIVE, "a", "b", "c", topics=TOPICS, assignor="cooperative-sticky")
        before = {c: set(held) for c, held in network.held().items()}
        calls = {c: len(network.callbacks(c)) for c in before}
        if change == "join":
            network.member("d", assignors=("cooperative-sticky",), protocol=COOPERATIVE)
        elif change == "close":
            network.close("b")
        elif change == "crash":
            network.crash("b")
        else:
            network.subscribe("c", ("a",))
        network.run(network.now + 100.0)
        network.run_until_stable()
        network.check_stable()
        for client, held in network.held().items():
            if client not in before:
                continue
            stays = before[client] & set(held)
            for kind, partitions in network.callbacks(client)[calls[client] :]:
                assert kind == "assigned" or not stays & set(partitions), (change, client)
        assert not network.wrong


def test_eager_revokes_all_partitions_of_the_group() -> None:
    network = group(EAGER, "a", "b", "c", topics={"t": 9})
    network.member("d")
    while network.coordinator.state.value != "completing":
        network.step()
    assert network.holders() == {}


@pytest.mark.parametrize("direct", [True, False])
def test_why_there_is_a_second_round(direct: bool) -> None:
    """If a partition were assigned to its new owner in the same round, both members would own it
    until the old one has received its assignment."""
    network = ObservedNetwork(T, hand_over(T) if direct else None)
    network.member("a", protocol=COOPERATIVE)
    network.run_until_stable()
    network.member("b", protocol=COOPERATIVE)
    while network.processes["a"].phase is not Phase.SYNCING:
        network.step()
    network.processes["a"].sleep()  # busy when its assignment arrives
    network.run(network.now + 1.0)
    twice = {p for p, holders in network.holders().items() if len(holders) > 1}
    assert twice == (set(ALL[2:]) if direct else set())
    assert bool(network.wrong) == direct
    network.wake("a")
    network.run_until_stable()
    network.check_stable()
    assert len(network.held()["b"]) == 2


def test_an_assignment_of_a_topic_unsubscribed_meanwhile() -> None:
    network = group(EAGER, "a", topics=TOPICS)
    network.member("b")
    while network.processes["a"].phase is not Phase.SYNCING:
        network.step()
    network.subscribe("a", ("c",))
    network.run_until_stable()
    network.check_stable()
    assert {t for t, _ in network.processes["a"].held} <= {"c"}
    assert not network.wrong


def test_a_refused_member_holds_nothing() -> None:
    network = group(EAGER, "a")
    late = network.member("b", assignors=("range",))
    network.run_until_stable()
    assert late.error is Error.INCONSISTENT_GROUP_PROTOCOL
    assert late.held == frozenset()
    assert network.callbacks("b") == []
    network.check_stable()
    assert not network.wrong
