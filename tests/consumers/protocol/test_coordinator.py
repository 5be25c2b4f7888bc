"""The coordinator: who gets in, who votes, who is put out, and when."""

from __future__ import annotations

import pytest

from partage.consumers.protocol import COOPERATIVE, EAGER, Coordinator, Error, State
from partage.consumers.protocol.consumer import Phase
from partage.consumers.protocol.messages import (
    Answer,
    Heartbeat,
    Join,
    Joined,
    Leave,
    Subscription,
    Sync,
    Synced,
)
from tests.consumers.group_histories import Theatre

SAYS = Subscription(("t",), EAGER)


def join(client, *assignors, member_id="", instance=None, says=SAYS, session=45.0, rebalance=60.0):
    return Join(client, member_id, instance, assignors or ("range",), says, session, rebalance)


def formed(*lists, initial_delay=0.0):
    """A stable group; member m0 lists the first assignors, and so on."""
    coordinator = Coordinator(initial_delay=initial_delay)
    for at, names in enumerate(lists):
        coordinator.handle(0.0, join(f"m{at}", *names))
    coordinator.tick(0.0)
    coordinator.tick(0.0)
    for at in range(len(lists)):
        given = {f"m{i}": (("t", i),) for i in range(len(lists))} if at == 0 else None
        coordinator.handle(0.0, Sync(f"m{at}", f"m{at}", None, coordinator.generation, given))
    assert coordinator.state is State.STABLE
    return coordinator


def errors(answers):
    return {a.to.client: a.error for a in answers}


def test_a_group_forms() -> None:
    coordinator = Coordinator()
    assert coordinator.deadline == float("inf")
    assert coordinator.handle(1.0, join("a")) == []
    assert coordinator.handle(1.0, join("b")) == []
    assert coordinator.state is State.PREPARING
    assert coordinator.deadline == 1.0
    assert coordinator.tick(1.0) == []  # one more came: it waits once more
    first, second = coordinator.tick(1.0)
    assert isinstance(first, Joined)
    assert isinstance(second, Joined)
    assert (first.member_id, first.generation, first.assignor) == ("a", 1, "range")
    assert first.members == {"a": (None, SAYS), "b": (None, SAYS)}  # the first who joined leads
    assert second.members is None
    assert coordinator.handle(1.0, Sync("b", "b", None, 1)) == []
    answers = coordinator.handle(2.0, Sync("a", "a", None, 1, {"a": (("t", 0),)}))
    given = {a.to.client: a.assignment for a in answers if isinstance(a, Synced)}
    assert given == {"a": (("t", 0),), "b": ()}
    assert coordinator.state is State.STABLE


@pytest.mark.parametrize(
    ("lists", "chosen"),
    [
        ([("range",), ("range",)], "range"),
        ([("sticky", "range"), ("sticky", "range"), ("range", "sticky")], "sticky"),
        ([("a", "b", "c"), ("b", "a"), ("b", "a")], "b"),
        ([("a", "b"), ("b", "a")], "a"),  # a tie: voted for first
        ([("only-here", "range"), ("range", "sticky"), ("sticky", "range")], "range"),
        ([("x", "b", "a"), ("y", "b", "a"), ("a", "b")], "b"),  # first candidate, not first name
    ],
)
def test_the_vote(lists: list[tuple[str, ...]], chosen: str) -> None:
    assert formed(*lists).assignor == chosen


def test_no_common_assignor() -> None:
    coordinator = formed(("range", "sticky"), ("sticky",))
    (answer,) = coordinator.handle(1.0, join("c", "roundrobin", "range"))
    assert answer.error is Error.INCONSISTENT_GROUP_PROTOCOL
    # the sentence of Hussonnois' article
    assert answer.error.value == (
        "The group member's supported protocols are incompatible with those of existing members "
        "or first group member tried to join with empty protocol type or empty protocol list."
    )
    assert coordinator.state is State.STABLE  # the others are not disturbed
    assert list(coordinator.members) == ["m0", "m1"]


def test_the_first_member_with_an_empty_list() -> None:
    coordinator = Coordinator()
    request = Join("a", "", None, (), SAYS, 45.0, 60.0)
    (answer,) = coordinator.handle(0.0, request)
    assert answer.error is Error.INCONSISTENT_GROUP_PROTOCOL


def test_a_rolling_change_of_strategy() -> None:
    """Two rounds of restarts lead from range to sticky without anybody being turned away."""
    theatre = Theatre({"t": 4})
    for client in ("a", "b"):
        theatre.member(client, assignors=("range",))
    theatre.quiet()
    assert theatre.coordinator.assignor == "range"
    for old, new in (("a", "a2"), ("b", "b2")):
        theatre.close(old)
        theatre.member(new, assignors=("sticky", "range"))
        theatre.quiet()
        assert theatre.coordinator.assignor == ("range" if new == "a2" else "sticky")
    for old, new in (("a2", "a3"), ("b2", "b3")):
        theatre.close(old)
        theatre.member(new, assignors=("sticky",))
        theatre.quiet()
        assert theatre.coordinator.assignor == "sticky"
    assert all(consumer.error is None for consumer in theatre.everyone)
    theatre.member("late", assignors=("range",))
    theatre.quiet()
    assert theatre.everyone[-1].error is Error.INCONSISTENT_GROUP_PROTOCOL
    assert theatre.everyone[-1].phase is Phase.OUT
    assert not theatre.wrong


def test_from_eager_to_cooperative() -> None:
    """While both kinds are there the assignor chosen is one that withholds, or all are eager."""
    theatre = Theatre({"t": 6})
    for client in ("a", "b", "c"):
        theatre.member(client, assignors=("sticky",))
    theatre.quiet()
    for client in ("a", "b", "c"):
        theatre.close(client)
        theatre.member(client + "1", assignors=("cooperative-sticky", "sticky"))
        theatre.quiet()
    assert theatre.coordinator.assignor == "cooperative-sticky"
    for client in ("a", "b", "c"):
        theatre.close(client + "1")
        theatre.member(client + "2", assignors=("cooperative-sticky",), protocol=COOPERATIVE)
        theatre.quiet()
        theatre.check_quiet()
    assert [len(held) for held in theatre.held().values()] == [2, 2, 2]
    assert not theatre.wrong


def test_a_session_that_runs_out() -> None:
    coordinator = formed(("range",), ("range",))
    coordinator.handle(30.0, Heartbeat("m1", "m1", None, 1))
    assert coordinator.deadline == 45.0
    coordinator.tick(45.0)
    assert coordinator.state is State.PREPARING
    assert coordinator.removed == [(45.0, "m0", "its session expired")]
    assert coordinator.leader == "m1"
    (answer,) = coordinator.handle(46.0, Heartbeat("m1", "m1", None, 1))
    assert answer.error is Error.REBALANCE_IN_PROGRESS
    (answer,) = coordinator.handle(47.0, Heartbeat("m0", "m0", None, 1))
    assert answer.error is Error.UNKNOWN_MEMBER_ID
    answers = coordinator.handle(48.0, join("m1", member_id="m1"))
    assert isinstance(answers[0], Joined)
    assert answers[0].generation == 2
    assert answers[0].members is not None


def test_the_rebalance_timeout_puts_out_who_does_not_join() -> None:
    coordinator = formed(("range",), ("range",))
    coordinator.handle(10.0, join("late"))  # 60 s to join again
    coordinator.handle(11.0, join("m0", member_id="m0"))
    for now in (30.0, 60.0):  # it beats, but does not join
        (answer,) = coordinator.handle(now, Heartbeat("m1", "m1", None, 1))
        assert answer.error is Error.REBALANCE_IN_PROGRESS
    assert coordinator.deadline == 70.0
    answers = coordinator.tick(70.0)
    assert {a.to.client for a in answers} == {"m0", "late"}
    assert coordinator.removed == [(70.0, "m1", "it did not join in time")]
    assert list(coordinator.members) == ["m0", "late"]


def test_the_leader_that_never_brings_an_assignment() -> None:
    coordinator = formed(("range",), ("range",))
    coordinator.handle(10.0, join("m1", member_id="m1", says=Subscription(("u",), EAGER)))
    coordinator.handle(10.0, join("m0", member_id="m0"))
    assert coordinator.state is State.COMPLETING
    coordinator.handle(11.0, Sync("m1", "m1", None, 2))
    answers = coordinator.handle(50.0, Heartbeat("m0", "m0", None, 2))
    assert errors(answers) == {"m0": None}
    assert coordinator.deadline == 70.0
    answers = coordinator.tick(70.0)
    assert errors(answers) == {"m1": Error.REBALANCE_IN_PROGRESS}
    assert coordinator.removed == [(70.0, "m0", "it did not sync in time")]
    assert coordinator.leader == "m1"


def test_generations_and_strangers() -> None:
    coordinator = formed(("range",))
    cases = [
        (Sync("m0", "m0", None, 7), Error.ILLEGAL_GENERATION),
        (Heartbeat("m0", "m0", None, 7), Error.ILLEGAL_GENERATION),
        (Sync("x", "x", None, 1), Error.UNKNOWN_MEMBER_ID),
        (Leave("x", "x", None), Error.UNKNOWN_MEMBER_ID),
        (join("x", member_id="x"), Error.UNKNOWN_MEMBER_ID),
        (Heartbeat("m0", "m0", None, 1), None),
    ]
    for request, error in cases:
        (answer,) = coordinator.handle(1.0, request)
        assert answer == type(answer)(request, error)
    assert coordinator.state is State.STABLE


def test_who_says_the_same_again_disturbs_nobody_but_the_leader_does() -> None:
    coordinator = formed(("range",), ("range",))
    (answer,) = coordinator.handle(1.0, join("m1", member_id="m1"))
    assert isinstance(answer, Joined)
    assert answer.generation == 1
    assert coordinator.state is State.STABLE
    coordinator.handle(2.0, join("m0", member_id="m0"))
    assert coordinator.state is State.PREPARING


def test_everybody_leaves() -> None:
    coordinator = formed(("range",), ("range",))
    for client in ("m0", "m1"):
        coordinator.handle(5.0, Leave(client, client, None))
    assert coordinator.state is State.EMPTY
    assert coordinator.generation == 2
    assert coordinator.leader is None
    assert coordinator.deadline == float("inf")


def test_the_initial_delay_waits_for_more_members() -> None:
    coordinator = Coordinator(initial_delay=3.0)
    coordinator.handle(0.0, join("a", rebalance=8.0))
    assert coordinator.deadline == 3.0
    coordinator.handle(2.0, join("b", rebalance=8.0))
    assert coordinator.tick(3.0) == []
    assert coordinator.deadline == 6.0
    coordinator.handle(5.0, join("c", rebalance=8.0))
    assert coordinator.tick(6.0) == []
    assert coordinator.deadline == 8.0  # never longer than the rebalance timeout
    coordinator.handle(7.0, join("d", rebalance=8.0))
    assert len(coordinator.tick(8.0)) == 4


class TestStaticMembers:
    """group.instance.id (KIP-345)."""

    def stable(self) -> Theatre:
        theatre = Theatre({"t": 4})
        theatre.member("a", assignors=("range",), instance_id="one")
        theatre.member("b", assignors=("range",), instance_id="two")
        theatre.quiet()
        return theatre

    def test_a_restart_costs_no_rebalance(self) -> None:
        theatre = self.stable()
        before = theatre.held()
        theatre.close("b")
        theatre.run(20.0)
        assert theatre.coordinator.state is State.STABLE  # it did not leave
        theatre.member("b2", assignors=("range",), instance_id="two")
        theatre.quiet()
        assert theatre.coordinator.generation == 1
        assert theatre.held() == {"a": before["a"], "b2": before["b"]}
        assert theatre.callbacks("a") == [("assigned", tuple(before["a"]))]
        assert theatre.coordinator.members["b2"].request.instance_id == "two"

    def test_the_leader_restarts(self) -> None:
        theatre = self.stable()
        before = theatre.held()
        theatre.crash("a")
        theatre.member("a2", assignors=("range",), instance_id="one")
        theatre.quiet()
        assert theatre.coordinator.generation == 1
        assert theatre.coordinator.leader == "a2"
        assert theatre.held()["a2"] == before["a"]

    def test_the_old_process_is_fenced_and_told_lost(self) -> None:
        theatre = self.stable()
        old = theatre.processes["b"]
        had = tuple(sorted(old.held))
        theatre.member("b2", assignors=("range",), instance_id="two")
        theatre.quiet()
        assert old.error is Error.FENCED_INSTANCE_ID
        assert theatre.callbacks("b")[-1] == ("lost", had)
        assert not theatre.wrong

    def test_one_that_stays_away_is_put_out_by_its_session(self) -> None:
        theatre = self.stable()
        theatre.close("b")
        theatre.run(60.0)
        theatre.quiet()
        assert theatre.coordinator.generation == 2
        assert len(theatre.held()["a"]) == 4

    def test_one_that_sleeps_through_a_rebalance_stays_listed(self) -> None:
        theatre = Theatre({"t": 4})
        for client in ("a", "b"):
            theatre.member(
                client,
                instance_id=client,
                assignors=("range",),
                rebalance_timeout=10.0,
                session_timeout=100.0,
            )
        theatre.quiet()
        theatre.processes["b"].sleep()
        theatre.member("c", assignors=("range",), rebalance_timeout=10.0)
        theatre.run(40.0)
        assert theatre.coordinator.generation == 2
        assert set(theatre.coordinator.members) == {"a", "b", "c"}
        assert theatre.coordinator.members["b"].generation == 1
        held = theatre.held()["b"]
        assert held
        assert "b" not in {c for cs in theatre.holders().values() for c in cs}
        theatre.wake("b")
        theatre.quiet()
        theatre.check_quiet()
        assert ("lost", tuple(held)) in theatre.callbacks("b")
        assert not theatre.wrong


def test_answers_are_addressed() -> None:
    answer = Answer(Heartbeat("a", "a", None, 1))
    assert answer.error is None
