"""An assignor of one's own: the article's FailoverAssignor; and user data to and from bytes."""

from __future__ import annotations

import random
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from partage import Group, InputError, Member, PartageError, assign
from partage.consumers.assignors import ASSIGNORS, register
from partage.consumers.custom import Partition, PartitionAssignor, Subscription
from partage.consumers.scenario import Scenario
from partage.consumers.simulation import simulate
from partage.consumers.user_data import (
    read_generation,
    read_priority,
    read_sticky,
    write_generation,
    write_priority,
    write_sticky,
)


class FailoverAssignor(PartitionAssignor):
    """All partitions to the member of the highest priority; the others wait."""

    name = "my-failover"
    priority = 2**31 - 1

    def configure(self, config: Mapping[str, Any]) -> None:
        self.priority = int(config.get("assignment.consumer.priority", self.priority))

    def subscription(self, topics: Sequence[str]) -> Subscription:
        return Subscription(tuple(topics), user_data=write_priority(self.priority))

    def assign(
        self, partitions: Mapping[str, int], members: Mapping[str, Subscription]
    ) -> Mapping[str, Iterable[Partition]]:
        def priority(member: str) -> int:
            value = read_priority(members[member].user_data).value
            return FailoverAssignor.priority if value is None else value

        first = max(sorted(members), key=priority)
        return {first: [(t, number) for t, count in partitions.items() for number in range(count)]}

    def on_assignment(self, partitions: Sequence[Partition], generation: int) -> None:
        self.active = bool(partitions)


def joined(priorities: Mapping[str, int]) -> Group:
    members = []
    for member, priority in priorities.items():
        mine = FailoverAssignor()
        mine.configure({"assignment.consumer.priority": str(priority)})
        said = mine.subscription(["A", "B"])
        members.append(Member(member, said.topics, user_data=said.user_data))
    return Group({"A": 2, "B": 1}, members)


@pytest.fixture
def registered() -> Any:
    register(FailoverAssignor())
    yield
    del ASSIGNORS["my-failover"]


@pytest.mark.usefixtures("registered")
def test_failover_from_c1_to_c2() -> None:
    everything = [("A", 0), ("A", 1), ("B", 0)]
    assert assign(joined({"C1": 10, "C2": 5}), "my-failover").as_dict() == {
        "C1": everything,
        "C2": [],
    }
    assert assign(joined({"C2": 5}), "my-failover").as_dict() == {"C2": everything}
    with pytest.raises(InputError, match="an assignor 'my-failover' already exists"):
        register(FailoverAssignor())


def test_the_defaults_of_the_four_parts() -> None:
    class Everything(FailoverAssignor):
        subscription = PartitionAssignor.subscription  # type: ignore[assignment]
        on_assignment = PartitionAssignor.on_assignment  # type: ignore[assignment]
        configure = PartitionAssignor.configure  # type: ignore[assignment]

    mine = Everything()
    mine.configure({"group.id": "g"})
    mine.on_assignment([], 1)
    assert mine.subscription(["t"]) == Subscription(("t",))
    with pytest.raises(TypeError, match="abstract"):
        PartitionAssignor()  # type: ignore[abstract]


def test_a_class_by_its_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code = (
        "from partage.consumers.custom import PartitionAssignor\n"
        "class First(PartitionAssignor):\n"
        "    name = 'first'\n"
        "    def assign(self, partitions, members):\n"
        "        return {min(members): [(t, n) for t, c in partitions.items() for n in range(c)]}\n"
    )
    (tmp_path / "of_mine.py").write_text(code, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    group = Group({"t": 2}, [Member("b", ["t"]), Member("a", ["t"])])
    assert assign(group, "of_mine:First").of("a") == [("t", 0), ("t", 1)]
    for wrong, problem in [
        ("of_mine:Second", "no attribute 'Second'"),
        ("of_nobody:First", "No module named"),
        ("of_mine:PartitionAssignor.name", "no attribute"),
        ("json:dumps", "is not a subclass of PartitionAssignor"),
        (":First", "Empty module name"),
        (".of_mine:First", "the 'package' argument is required"),
        ("partage.consumers.custom:PartitionAssignor", "instantiate abstract class"),
    ]:
        with pytest.raises(InputError, match=problem):
            assign(group, wrong)
    sys.modules.pop("of_mine")


def test_one_that_keeps_a_state_has_it_in_every_round(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run of simulate makes one, and another run another."""
    code = (
        "from partage.consumers.custom import PartitionAssignor\n"
        "class Turns(PartitionAssignor):\n"
        "    name, asked = 'turns', 0\n"
        "    def assign(self, partitions, members):\n"
        "        self.asked += 1\n"
        "        first = sorted(members)[self.asked % len(members)]\n"
        "        return {first: [(t, n) for t, c in partitions.items() for n in range(c)]}\n"
    )
    (tmp_path / "of_state.py").write_text(code, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    members = [
        {"id": "a", "topics": ["t"]},
        {"id": "b", "topics": ["t"]},
        {"id": "c", "topics": ["t"], "joins_at": 20, "leaves_at": 50},
    ]
    played = Scenario.from_json({"topics": {"t": 2}, "members": members, "until": 100})
    for _ in range(2):
        rounds = simulate(played, "of_state:Turns").rounds
        has = [member for found in rounds for member, held in found.assignment.items() if held]
        assert has == ["b", "c", "b"]  # the 1st of 0 and 1, the 2nd of 0 to 2, the 3rd of 0 and 1
    group = Group({"t": 2}, [Member("b", ["t"]), Member("a", ["t"])])
    assert [len(assign(group, "of_state:Turns").of("b")) for _ in range(2)] == [2, 2]
    sys.modules.pop("of_state")


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        ({"C9": []}, "assigns partitions to 'C9', which is not a member"),
        ({"C1": [("A", 2)]}, "assigns A-2, which does not exist"),
        ({"C1": [("Q", 0)]}, "assigns Q-0, which does not exist"),
        ({"C1": [("A", 0), ("A", 0)]}, "assigns A-0 twice"),
        ({"C2": [("A", 0)]}, "assigns A-0 to 'C2', which does not subscribe to it"),
    ],
)
def test_answers_that_are_none(answer: Any, problem: str) -> None:
    class Wrong(PartitionAssignor):
        name = "wrong"

        def assign(self, partitions: Any, members: Any) -> Any:
            assert partitions == {"A": 2, "B": 1}
            assert members["C1"].owned == (("A", 1),)
            return answer

    members = [Member("C1", ["A", "B"], owned={"A": [1]}), Member("C2", ["B"])]
    ASSIGNORS.pop("wrong", None)
    register(Wrong())
    with pytest.raises(PartageError, match=f"wrong: {problem}"):
        assign(Group({"A": 2, "B": 1, "C": 4}, members), "wrong")
    del ASSIGNORS["wrong"]


# -- user data


def test_sticky_user_data_both_versions() -> None:
    owned = {"t": (0, 2), "größe": (7,)}
    read = read_sticky(write_sticky(owned, 5))
    assert (read.owned, read.generation, read.warning) == (owned, 5, None)
    read = read_sticky(write_sticky(owned, None))
    assert (read.owned, read.generation, read.warning) == (owned, -1, None)
    assert read_sticky(None) == read_sticky(b"")
    # as Kafka's schema lays it out: count, name, numbers, generation
    assert write_sticky({"t": (3,)}, 1) == bytes.fromhex(
        "00000001 0001 74 00000001 00000003 00000001"
    )


def test_numbers_in_user_data() -> None:
    assert write_priority(10) == b"\x00\x00\x00\x0a"
    assert read_priority(write_priority(-7)).value == -7
    assert read_generation(write_generation(41)).value == 41
    assert read_generation(write_generation(-1)).value == -1
    assert read_generation(None).value is None
    assert read_generation(write_generation(-2)).warning == "user data has generation -2: ignored"
    assert read_priority(b"abc").warning == "user data of 3 bytes is not a priority: ignored"


def test_what_cannot_be_read_counts_as_empty() -> None:
    draw = random.Random(1)
    whole = write_sticky({"topic": (1, 2, 3), "other": (4,)}, 9)
    blobs = [whole[:cut] for cut in range(1, len(whole) - 4)]
    blobs += [draw.randbytes(draw.randint(1, 40)) for _ in range(2_000)]
    blobs += [b"\xff\xff\xff\xff", b"\x7f\xff\xff\xff", b"\x00\x00\x00\x01\xff\xff"]
    unread = 0
    for blob in blobs:
        read = read_sticky(blob)
        if read.warning:
            assert read.owned == {}
            assert read.generation == -1
            unread += 1
    assert unread > 1_900
