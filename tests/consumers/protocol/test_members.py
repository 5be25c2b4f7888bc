"""What members are told: revoked, assigned, lost; eager and cooperative."""

from __future__ import annotations

import pytest

from partage.consumers.protocol import COOPERATIVE, EAGER, Error
from partage.consumers.protocol.consumer import Phase
from tests.consumers.group_histories import TOPICS, Theatre, hand_over

T = {"t": 4}
ALL = tuple(("t", n) for n in range(4))


def group(protocol: str, *clients: str, assignor: str = "sticky", topics=T, **options) -> Theatre:
    theatre = Theatre(topics)
    for client in clients:
        theatre.member(client, assignors=(assignor,), protocol=protocol, **options)
    theatre.quiet()
    return theatre


def test_eager_gives_up_everything_before_it_joins() -> None:
    theatre = group(EAGER, "a")
    theatre.member("b")
    theatre.quiet()
    kept, new = ALL[:2], ALL[2:]
    assert theatre.callbacks("a") == [
        ("assigned", ALL),
        ("revoked", ALL),
        ("assigned", kept),
    ]
    assert theatre.callbacks("b") == [("assigned", new)]
    assert theatre.coordinator.generation == 2  # one round


def test_cooperative_gives_up_only_what_goes_and_joins_again() -> None:
    theatre = group(COOPERATIVE, "a", assignor="cooperative-sticky")
    theatre.member("b", assignors=("cooperative-sticky",), protocol=COOPERATIVE)
    theatre.quiet()
    assert theatre.callbacks("a") == [
        ("assigned", ALL),
        ("revoked", ALL[2:]),
        ("assigned", ()),
        ("assigned", ()),
    ]
    assert theatre.callbacks("b") == [("assigned", ()), ("assigned", ALL[2:])]
    assert theatre.coordinator.generation == 3  # two rounds


def test_cooperative_gives_up_before_joining_what_it_no_longer_subscribes_to() -> None:
    theatre = group(COOPERATIVE, "a", "b", topics=TOPICS, assignor="cooperative-sticky")
    had = theatre.processes["a"].held
    calls = len(theatre.callbacks("a"))
    theatre.subscribe("a", ("b", "c"))
    gone = tuple(sorted(p for p in had if p[0] == "a"))
    assert gone
    assert theatre.callbacks("a")[calls:] == [("revoked", gone)]
    assert theatre.processes["a"].phase is Phase.JOINING
    theatre.quiet()
    theatre.check_quiet()
    assert {t for t, _ in theatre.processes["a"].held} <= {"b", "c"}
    assert not theatre.wrong


def test_who_was_put_out_is_told_lost() -> None:
    for protocol in (EAGER, COOPERATIVE):
        theatre = group(protocol, "a", "b")
        had = tuple(sorted(theatre.processes["b"].held))
        theatre.processes["b"].sleep()
        theatre.run(100.0)
        assert len(theatre.processes["a"].held) == 4
        theatre.wake("b")
        theatre.quiet()
        theatre.check_quiet()
        kinds = [kind for kind, _ in theatre.callbacks("b")]
        assert ("lost", had) in theatre.callbacks("b")
        assert "revoked" not in kinds
        assert theatre.processes["b"].member_id == "b~2"  # a new member
        assert not theatre.wrong


def test_closing_revokes_and_leaves_at_once() -> None:
    theatre = group(EAGER, "a", "b")
    had = tuple(sorted(theatre.processes["b"].held))
    theatre.run(10.0)
    theatre.close("b")
    assert theatre.callbacks("b")[-1] == ("revoked", had)
    theatre.quiet()
    assert theatre.now <= 13.0
    assert sorted(theatre.processes["a"].held) == list(ALL)


def test_closing_in_the_middle_of_a_rebalance_loses() -> None:
    theatre = group(COOPERATIVE, "a", "b", assignor="cooperative-sticky")
    had = tuple(sorted(theatre.processes["a"].held))
    theatre.member("c", assignors=("cooperative-sticky",), protocol=COOPERATIVE)
    while theatre.processes["a"].phase is Phase.MEMBER:
        theatre.step()
    theatre.close("a")
    assert theatre.callbacks("a")[-1] == ("lost", had)
    theatre.quiet()
    theatre.check_quiet()
    assert not theatre.wrong


def test_closing_before_the_first_answer() -> None:
    theatre = Theatre(T)
    theatre.member("a")
    theatre.close("a")
    theatre.quiet()
    assert theatre.callbacks("a") == []


def test_sticky_members_remember_under_eager_and_cooperative_sticky_does_not() -> None:
    """The memory is the sticky assignor's user data; CooperativeStickyAssignor sends none, and an
    eager member owns nothing when it joins."""
    moved = {}
    for assignor in ("sticky", "cooperative-sticky"):
        theatre = Theatre({"t": 6})
        for client in ("c", "b", "a"):
            theatre.member(client, assignors=(assignor,))
            theatre.quiet()
        before = theatre.held()
        theatre.member("0", assignors=(assignor,))
        theatre.quiet()
        after = theatre.held()
        moved[assignor] = sum(len(set(after[c]) - set(before[c])) for c in before)
    assert moved["sticky"] == 0
    assert moved["cooperative-sticky"] > 0


def test_cooperative_keeps_what_stays_through_any_single_change() -> None:
    """What a member has before and after a change it never gave up in between."""
    for change in ("join", "close", "crash", "subscribe"):
        theatre = group(COOPERATIVE, "a", "b", "c", topics=TOPICS, assignor="cooperative-sticky")
        before = {c: set(held) for c, held in theatre.held().items()}
        calls = {c: len(theatre.callbacks(c)) for c in before}
        if change == "join":
            theatre.member("d", assignors=("cooperative-sticky",), protocol=COOPERATIVE)
        elif change == "close":
            theatre.close("b")
        elif change == "crash":
            theatre.crash("b")
        else:
            theatre.subscribe("c", ("a",))
        theatre.run(theatre.now + 100.0)
        theatre.quiet()
        theatre.check_quiet()
        for client, held in theatre.held().items():
            if client not in before:
                continue
            stays = before[client] & set(held)
            for kind, partitions in theatre.callbacks(client)[calls[client] :]:
                assert kind == "assigned" or not stays & set(partitions), (change, client)
        assert not theatre.wrong


def test_eager_stops_the_world() -> None:
    theatre = group(EAGER, "a", "b", "c", topics={"t": 9})
    theatre.member("d")
    while theatre.coordinator.state.value != "completing":
        theatre.step()
    assert theatre.holders() == {}


@pytest.mark.parametrize("direct", [True, False])
def test_why_there_is_a_second_round(direct: bool) -> None:
    """Section 3.1 of the Chinese page: were X given to the new member in the round in which it is
    taken from the old one, both would have it while the old one has not heard of it yet."""
    theatre = Theatre(T, hand_over(T) if direct else None)
    theatre.member("a", protocol=COOPERATIVE)
    theatre.quiet()
    theatre.member("b", protocol=COOPERATIVE)
    while theatre.processes["a"].phase is not Phase.SYNCING:
        theatre.step()
    theatre.processes["a"].sleep()  # busy when its assignment comes
    theatre.run(theatre.now + 1.0)
    twice = {p for p, holders in theatre.holders().items() if len(holders) > 1}
    assert twice == (set(ALL[2:]) if direct else set())
    assert bool(theatre.wrong) == direct
    theatre.wake("a")
    theatre.quiet()
    theatre.check_quiet()
    assert len(theatre.held()["b"]) == 2


def test_an_assignment_to_a_topic_given_up_meanwhile() -> None:
    theatre = group(EAGER, "a", topics=TOPICS)
    theatre.member("b")
    while theatre.processes["a"].phase is not Phase.SYNCING:
        theatre.step()
    theatre.subscribe("a", ("c",))
    theatre.quiet()
    theatre.check_quiet()
    assert {t for t, _ in theatre.processes["a"].held} <= {"c"}
    assert not theatre.wrong


def test_a_member_that_was_turned_away_holds_nothing() -> None:
    theatre = group(EAGER, "a")
    late = theatre.member("b", assignors=("range",))
    theatre.quiet()
    assert late.error is Error.INCONSISTENT_GROUP_PROTOCOL
    assert late.held == frozenset()
    assert theatre.callbacks("b") == []
    theatre.check_quiet()
    assert not theatre.wrong
