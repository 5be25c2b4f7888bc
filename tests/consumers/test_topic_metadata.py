"""New topics and partitions during a simulation: who learns of them, and when."""

from __future__ import annotations

import random
from typing import Any

import pytest

from partage import InputError
from partage.consumers.scenario import Scenario
from partage.consumers.simulation import Simulation, simulate
from tests.profiles import seeds

PATTERN: dict[str, Any] = {"topics": [], "pattern": "orders-.*"}
NAMED: dict[str, Any] = {"topics": ["orders-eu"]}


def played(
    members: list[dict[str, Any]],
    changes: list[tuple[float, str, int]],
    assignor: str = "cooperative-sticky",
    **options: Any,
) -> Simulation:
    changed = [{"at": at, "topic": topic, "partitions": count} for at, topic, count in changes]
    value = {
        "topics": {"orders-eu": 2},
        "members": members,
        "topic_changes": changed,
        "until": 700,
        **options,
    }
    protocol = "consumer" if assignor in ("uniform", "range --protocol consumer") else None
    return simulate(Scenario.from_json(value), assignor, protocol)


def starts(found: Simulation, topic: str) -> dict[int, float]:
    """When each partition was first owned."""
    first: dict[int, float] = {}
    for span in sorted(found.spans, key=lambda span: span.start):
        if span.partition[0] == topic:
            first.setdefault(span.partition[1], span.start)
    return first


def test_a_pattern_takes_a_new_topic_at_the_next_metadata_refresh() -> None:
    found = played([{"id": "a", **PATTERN}], [(60, "orders-us", 2), (60, "clicks", 5)])
    assert starts(found, "orders-us") == {0: 300.0, 1: 300.0}
    assert starts(found, "clicks") == {}
    assert found.unowned == 2 * 240
    sooner = played([{"id": "a", **PATTERN}], [(60, "orders-us", 2)], metadata_max_age=45)
    assert starts(sooner, "orders-us") == {0: 90.0, 1: 90.0}


def test_a_join_of_a_member_with_a_pattern_refreshes_too() -> None:
    """The second member knows the topic, and the first one refreshes before it joins again."""
    members = [{"id": "a", **PATTERN}, {"id": "b", **PATTERN, "joins_at": 100}]
    found = played(members, [(60, "orders-us", 2)])
    assert set(starts(found, "orders-us").values()) == {100.5}  # a's next heartbeat
    # so its metadata is 300 s old at 400.5 s, that of b at 400 s
    found = played(members, [(60, "orders-us", 2), (120, "orders-de", 2)])
    assert min(starts(found, "orders-de").values()) >= 400.0


def test_only_the_leader_sees_new_partitions() -> None:
    """a leads; the refreshes of b, after 10 s and every 60 s, change nothing."""
    members = [{"id": "a", **NAMED}, {"id": "b", **NAMED, "joins_at": 10}]
    found = played(members, [(65, "orders-eu", 4)], metadata_max_age=60)
    assert starts(found, "orders-eu")[2] == pytest.approx(121.5)
    assert starts(found, "orders-eu")[3] == pytest.approx(121.5)


def test_a_leader_assigns_what_it_knows() -> None:
    """A rebalance before the leader's refresh leaves the new partitions out."""
    members = [{"id": "a", **NAMED}, {"id": "b", **NAMED, "joins_at": 100}]
    found = played(members, [(65, "orders-eu", 4)])
    assert min(starts(found, "orders-eu")[n] for n in (2, 3)) >= 300.0
    assert [one.generation for one in found.rounds if one.at < 200] == [1, 2, 3]


def test_a_named_topic_is_awaited() -> None:
    members = [{"id": "a", "topics": ["orders-eu", "later"]}, {"id": "b", "topics": ["later"]}]
    found = played(members, [(65, "later", 2)])
    assert set(starts(found, "later").values()) == {66.0}  # the next heartbeat of b


def test_the_broker_matches_again_after_ten_seconds() -> None:
    """a joins at 0 and sends a heartbeat at 2.5 s and every 5 s; b joins at 1 s."""
    members = [{"id": "a", **PATTERN}, {"id": "b", **PATTERN, "joins_at": 1}]
    soon = played(members, [(4, "orders-us", 2)], "uniform")
    first = min(starts(soon, "orders-us").values())
    assert 10.0 < first <= 17.5
    # matched at the first heartbeat after it was created, assigned at the next one
    late = played(members, [(60.1, "orders-us", 2)], "uniform")
    assert 60.1 < min(starts(late, "orders-us").values()) <= 67.6
    assert max(starts(late, "orders-us").values()) <= 72.6


def test_the_broker_sees_new_partitions_at_the_next_heartbeat() -> None:
    found = played([{"id": "a", **NAMED}], [(61, "orders-eu", 3)], "uniform")
    assert starts(found, "orders-eu") == {0: 0.0, 1: 0.0, 2: 65.0}


@pytest.mark.parametrize("assignor", ["cooperative-sticky", "range", "uniform"])
def test_a_deleted_topic_has_no_owner_and_no_lag(assignor: str) -> None:
    members = [{"id": name, **PATTERN} for name in "ab"]
    changes = [(60, "orders-us", 2), (400, "orders-us", 0)]
    found = played(members, changes, assignor, produce={"orders-us": 10})
    assert found.violations == ()
    assert max(span.end for span in found.spans if span.partition[0] == "orders-us") == 400
    assert [len(held) for held in found.rounds[-1].assignment.values()] == [1, 1]
    assert {one.partition[0] for one in found.spans if one.end == 700} == {"orders-eu"}
    assert found.lag["orders-us", 0][-1] == (400, 0)
    revoked = {
        p for _, _, call in found.callbacks if call.kind == "revoked" for p in call.partitions
    }
    assert {("orders-us", 0), ("orders-us", 1)} <= revoked


def test_the_leader_learns_of_a_deleted_topic_when_it_fetches_from_it() -> None:
    """b, which does not lead, goes on with what it has until the leader's refresh."""
    named = {"topics": ["orders-eu", "other"]}
    own = {"topics": ["orders-eu"]}
    both = played([{"id": "a", **named}, {"id": "b", **named}], [(5, "other", 2), (60, "other", 0)])
    assert next(one.at for one in both.rounds if one.at >= 60) <= 63
    members = [{"id": "a", **own}, {"id": "b", "topics": ["other"]}]
    later = played(members, [(5, "other", 2), (60, "other", 0)])
    assert next(one.at for one in later.rounds if one.at >= 60) >= 300
    confluent = {"id": "a", "client": "librdkafka", **named}
    waits = played([confluent], [(5, "other", 2), (60, "other", 0)])
    assert next(one.at for one in waits.rounds if one.at >= 60) >= 300


def test_produced_once_it_exists() -> None:
    found = played([{"id": "a", **PATTERN}], [(60, "orders-us", 1)], produce={"orders-us": 10})
    curve = found.lag["orders-us", 0]
    assert curve[0] == (60.0, 0.0)
    assert max(lag for _, lag in curve) == 10 * 240


def test_streams_have_no_topic_changes() -> None:
    with pytest.raises(InputError, match=r"assignor streams: topic_changes of the scenario"):
        played(
            [{"id": "a", **NAMED}],
            [(5, "orders-eu", 4)],
            "streams",
            streams={"subtopologies": [{"topics": ["orders-eu"], "stateful": False}]},
        )


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ([(5, "t", 1), (4, "t", 2)], r"topic_changes\[1\].at: expected at least 5 seconds"),
        ([(5, "orders-eu", 2)], r"topic_changes\[0\].partitions: topic 'orders-eu' has 2 by then"),
        ([(5, "t", 1), (5, "t", 1)], r"topic_changes\[1\].partitions: topic 't' has 1 by then"),
        ([(5, "t", 200_000)], r"topics: more than 100000 partitions"),
        ([(5, "t", 0)], r"topic_changes\[0\].partitions: topic 't' has 0 by then: expected more"),
        (
            [(5, "orders-eu", 0), (9, "orders-eu", 2)],
            r"topic_changes\[1\].topic: topic 'orders-eu' was deleted: expected another name",
        ),
    ],
)
def test_impossible_changes(changes: list[tuple[float, str, int]], message: str) -> None:
    with pytest.raises(InputError, match=message):
        played([{"id": "a", **NAMED}], changes)


@pytest.mark.random
@pytest.mark.parametrize("seed", seeds(200))
def test_random_changes_keep_the_guarantees(seed: int) -> None:
    """No partition has two owners, and in the end all have one that their subscribers know of."""
    draw = random.Random(seed)
    members: list[dict[str, Any]] = []
    for number in range(draw.randint(1, 6)):
        which = draw.choice([PATTERN, PATTERN, NAMED, {"topics": ["orders-us"]}])
        member = {"id": f"c{number}", **which, "joins_at": round(draw.uniform(0, 150), 1)}
        if number and draw.random() < 0.3:
            member["leaves_at"] = round(member["joins_at"] + draw.uniform(1, 300), 1)
        if draw.random() < 0.2:
            member["instance_id"] = f"i{number}"
        members.append(member)
    times = sorted(round(draw.uniform(0, 300), 1) for _ in range(4))
    sizes = {"orders-eu": 2, "orders-us": 0, "orders-de": 0}
    changes = []
    for at in times:
        topic = draw.choice(list(sizes))
        if sizes[topic] and draw.random() < 0.2:
            changes.append((at, topic, 0))
            del sizes[topic]
            continue
        sizes[topic] += draw.randint(1, 3)
        changes.append((at, topic, sizes[topic]))
    assignor = draw.choice(["cooperative-sticky", "sticky", "range", "uniform"])
    found = played(members, changes, assignor, latency=draw.choice([0, 0.05]), metadata_max_age=100)
    assert found.violations == ()
    here = [m for m in found.scenario.members if m.leaves_at is None]
    wanted = {topic for m in here for topic in m.subscription(sizes)}
    owned = {span.partition for span in found.spans if span.end == 700}
    assert owned == {(topic, n) for topic in wanted for n in range(sizes.get(topic, 0))}
