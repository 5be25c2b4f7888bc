"""The coordinator: joining, the vote, time-outs and static members."""

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
from tests.consumers.group_histories import ObservedNetwork

SUBSCRIPTION = Subscription(("t",), EAGER)


def join(
    client,
    *assignors,
    member_id="",
    instance=None,
    subscription=SUBSCRIPTION,
    session=45.0,
    rebalance=60.0,
):
    return Join(
        client, member_id, instance, assignors or ("range",), subscription, session, rebalance
    )


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
    assert coordinator.tick(1.0) == []  # a member joined: it waits once more
    first, second = coordinator.tick(1.0)
    assert isinstance(first, Joined)
    assert isinstance(second, Joined)
    assert (first.member_id, first.generation, first.assignor) == ("a", 1, "range")
    assert first.members == {
        "a": (None, SUBSCRIPTION),
        "b": (None, SUBSCRIPTION),
    }  # the first member that joined leads
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
        # ties: the answers of java.util.HashMap
        ([("b", "a"), ("a", "b")], "a"),
        ([("0", "1"), ("1", "0")], "0"),
        ([("range", "sticky"), ("sticky", "range")], "sticky"),
        ([("range", "cooperative-sticky"), ("cooperative-sticky", "range")], "range"),
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
    assert coordinator.state is State.STABLE  # the other members are not affected
    assert list(coordinator.members) == ["m0", "m1"]


def test_the_first_member_with_an_empty_list() -> None:
    coordinator = Coordinator()
    request = Join("a", "", None, (), SUBSCRIPTION, 45.0, 60.0)
    (answer,) = coordinator.handle(0.0, request)
    assert answer.error is Error.INCONSISTENT_GROUP_PROTOCOL


def test_a_rolling_change_of_the_assignor() -> None:
    """Two rounds of restarts lead from range to sticky, and no member is refused."""
    network = ObservedNetwork({"t": 4})
    for client in ("a", "b"):
        network.member(client, assignors=("range",))
    network.run_until_stable()
    assert network.coordinator.assignor == "range"
    for old, new in (("a", "a2"), ("b", "b2")):
        network.close(old)
        network.member(new, assignors=("sticky", "range"))
        network.run_until_stable()
        assert network.coordinator.assignor == ("range" if new == "a2" else "sticky")
    for old, new in (("a2", "a3"), ("b2", "b3")):
        network.close(old)
        network.member(new, assignors=("sticky",))
        network.run_until_stable()
        assert network.coordinator.assignor == "sticky"
    assert all(consumer.error is None for consumer in network.everyone)
    network.member("late", assignors=("range",))
    network.run_until_stable()
    assert network.everyone[-1].error is Error.INCONSISTENT_GROUP_PROTOCOL
    assert network.everyone[-1].phase is Phase.OUT
    assert not network.wrong


def test_from_eager_to_cooperative() -> None:
    """While members of both protocols exist, the assignor withholds or all members are eager."""
    network = ObservedNetwork({"t": 6})
    for client in ("a", "b", "c"):
        network.member(client, assignors=("sticky",))
    network.run_until_stable()
    for client in ("a", "b", "c"):
        network.close(client)
        network.member(client + "1", assignors=("cooperative-sticky", "sticky"))
        network.run_until_stable()
    assert network.coordinator.assignor == "cooperative-sticky"
    for client in ("a", "b", "c"):
        network.close(client + "1")
        network.member(client + "2", assignors=("cooperative-sticky",), protocol=COOPERATIVE)
        network.run_until_stable()
        network.check_stable()
    assert [len(held) for held in network.held().values()] == [2, 2, 2]
    assert not network.wrong


def test_a_session_expires() -> None:
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


def test_the_rebalance_timeout_removes_members_that_do_not_join() -> None:
    coordinator = formed(("range",), ("range",))
    coordinator.handle(10.0, join("late"))  # 60 s to join again
    coordinator.handle(11.0, join("m0", member_id="m0"))
    for now in (30.0, 60.0):  # it sends heartbeats, but does not join
        (answer,) = coordinator.handle(now, Heartbeat("m1", "m1", None, 1))
        assert answer.error is Error.REBALANCE_IN_PROGRESS
    assert coordinator.deadline == 70.0
    answers = coordinator.tick(70.0)
    assert {a.to.client for a in answers} == {"m0", "late"}
    assert coordinator.removed == [(70.0, "m1", "it did not join in time")]
    assert list(coordinator.members) == ["m0", "late"]


def test_a_leader_that_never_syncs() -> None:
    coordinator = formed(("range",), ("range",))
    coordinator.handle(10.0, join("m1", member_id="m1", subscription=Subscription(("u",), EAGER)))
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


def test_unknown_members_and_generations() -> None:
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


def test_only_the_leader_rebalances_by_joining_again_unchanged() -> None:
    coordinator = formed(("range",), ("range",))
    (answer,) = coordinator.handle(1.0, join("m1", member_id="m1"))
    assert isinstance(answer, Joined)
    assert answer.generation == 1
    assert coordinator.state is State.STABLE
    coordinator.handle(2.0, join("m0", member_id="m0"))
    assert coordinator.state is State.PREPARING


def test_all_members_leave() -> None:
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

    def stable(self) -> ObservedNetwork:
        network = ObservedNetwork({"t": 4})
        network.member("a", assignors=("range",), instance_id="one")
        network.member("b", assignors=("range",), instance_id="two")
        network.run_until_stable()
        return network

    def test_a_restart_needs_no_rebalance(self) -> None:
        network = self.stable()
        before = network.held()
        network.close("b")
        network.run(20.0)
        assert network.coordinator.state is State.STABLE  # it did not leave
        network.member("b2", assignors=("range",), instance_id="two")
        network.run_until_stable()
        assert network.coordinator.generation == 1
        assert network.held() == {"a": before["a"], "b2": before["b"]}
        assert network.callbacks("a") == [("assigned", tuple(before["a"]))]
        assert network.coordinator.members["b2"].request.instance_id == "two"

    def test_the_leader_restarts(self) -> None:
        network = self.stable()
        before = network.held()
        network.crash("a")
        network.member("a2", assignors=("range",), instance_id="one")
        network.run_until_stable()
        assert network.coordinator.generation == 1
        assert network.coordinator.leader == "a2"
        assert network.held()["a2"] == before["a"]

    def test_the_old_process_is_fenced_and_gets_lost(self) -> None:
        network = self.stable()
        old = network.processes["b"]
        had = tuple(sorted(old.held))
        network.member("b2", assignors=("range",), instance_id="two")
        network.run_until_stable()
        assert old.error is Error.FENCED_INSTANCE_ID
        assert network.callbacks("b")[-1] == ("lost", had)
        assert not network.wrong

    @pytest.mark.parametrize("protocol", [EAGER, COOPERATIVE])
    @pytest.mark.parametrize("topics", [(), ("u",), ("t", "u")])
    @pytest.mark.parametrize("client", ["a", "b"])
    def test_one_that_returns_with_other_topics(
        self, client: str, topics: tuple[str, ...], protocol: str
    ) -> None:
        """It gets the assignment of its former process first. What does not fit its topics makes it
        join again."""
        network = ObservedNetwork({"t": 4, "u": 2})
        for name, instance in (("a", "one"), ("b", "two")):
            network.member(
                name, topics=("t",), assignors=("range",), instance_id=instance, protocol=protocol
            )
        network.run_until_stable()
        network.close(client)
        network.member(
            "new",
            topics=topics,
            assignors=("range",),
            instance_id={"a": "one", "b": "two"}[client],
            protocol=protocol,
        )
        network.run_until_stable()
        assert not network.wrong
        if "t" in topics:  # KAFKA-12759: the assignment fits, so new topics have to wait
            assert network.coordinator.generation == 1
            return
        network.check_stable()
        assert {topic for topic, _ in network.processes["new"].held} == set(topics)

    def test_one_that_does_not_return_is_removed_when_its_session_expires(self) -> None:
        network = self.stable()
        network.close("b")
        network.run(60.0)
        network.run_until_stable()
        assert network.coordinator.generation == 2
        assert len(network.held()["a"]) == 4

    def test_one_that_pauses_during_a_rebalance_stays_a_member(self) -> None:
        network = ObservedNetwork({"t": 4})
        for client in ("a", "b"):
            network.member(
                client,
                instance_id=client,
                assignors=("range",),
                rebalance_timeout=10.0,
                session_timeout=100.0,
            )
        network.run_until_stable()
        network.processes["b"].sleep()
        network.member("c", assignors=("range",), rebalance_timeout=10.0)
        network.run(40.0)
        assert network.coordinator.generation == 2
        assert set(network.coordinator.members) == {"a", "b", "c"}
        assert network.coordinator.members["b"].generation == 1
        held = network.held()["b"]
        assert held
        assert "b" not in {c for cs in network.holders().values() for c in cs}
        network.wake("b")
        network.run_until_stable()
        network.check_stable()
        assert ("lost", tuple(held)) in network.callbacks("b")
        assert not network.wrong


def test_an_answer_without_an_error() -> None:
    answer = Answer(Heartbeat("a", "a", None, 1))
    assert answer.error is None
