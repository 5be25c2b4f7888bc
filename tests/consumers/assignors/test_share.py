"""Share: several members per partition. (Against Kafka's class: test_java_uniform.py.)"""

from __future__ import annotations

import random
from collections import Counter

from partage import Group, Member, assign
from partage.consumers.shared_assignment import SharedAssignment
from tests.consumers.broker_assignors import random_broker_group
from tests.consumers.small_groups import same, short


def shared(group: Group) -> SharedAssignment:
    found = assign(group, "share")
    assert isinstance(found, SharedAssignment)
    return found


def test_fewer_partitions_than_members() -> None:
    """Three partitions, five members: every partition has two, and one member a second one."""
    found = shared(same({"t": 3}, "a", "b", "c", "d", "e"))
    assert found.sharers.tolist() == [2, 2, 2]
    assert sorted(found.loads.tolist()) == [1, 1, 1, 1, 2]


def test_fewer_members_than_partitions() -> None:
    assert short(shared(same({"t": 4}, "a", "b"))) == {"a": "t-0 t-2", "b": "t-1 t-3"}


def test_what_a_member_has_stays() -> None:
    """Both have t-0 and t-1; one is enough for each, and so each gives one up."""
    both = [("t", 0), ("t", 1)]
    members = [Member(one, ["t"], owned=both, generation=1) for one in "ab"]
    found = shared(Group({"t": 2}, members))
    assert found.loads.tolist() == [1, 1]
    assert found.moves == 0


def test_every_subscriber_and_every_partition_has_some() -> None:
    draw = random.Random(9)
    for _ in range(300):
        value = random_broker_group(draw, shared=True)
        found = shared(Group.from_json(value, "group"))
        subscribed = {member["id"]: set(member["topics"]) for member in value["members"]}
        wanted = {topic for topics in subscribed.values() for topic in topics}
        had = Counter(pair for held in found.as_dict().values() for pair in held)
        for member, held in found.as_dict().items():
            assert {topic for topic, _ in held} <= subscribed[member]
            assert len(set(held)) == len(held)
        claims = {m["id"]: {tuple(pair) for pair in m["owned"]} for m in value["members"]}
        new = sum(len(set(held) - claims[m]) for m, held in found.as_dict().items())
        assert found.moves == new
        assert found.loads.sum() == sum(had.values())
        assert all(topic in wanted for topic, _ in had)
        if not any(claims.values()):
            rows = [(t, n) for t, count in value["topics"].items() for n in range(count)]
            assert all(had[pair] for pair in rows if pair[0] in wanted)


def test_as_json_and_as_tables() -> None:
    found = shared(same({"t": 1, "u": 1}, "a", "b", "c"))
    assert found.to_json()["sharers"] == [2, 2]
    assert found.to_json()["loads"] == {"a": 2, "b": 1, "c": 1}
    frame = found.to_pandas()
    assert sorted(frame.columns) == ["member", "partition", "topic"]
    assert len(frame) == 4
    assert "gained" in found._repr_html_()
