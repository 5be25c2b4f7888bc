"""Custom assignors: the FailoverAssignor of the article, and invalid ones."""

from __future__ import annotations

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
from partage.consumers.user_data import read_priority, write_priority


class FailoverAssignor(PartitionAssignor):
    """All partitions to the member of the highest priority; the others are on standby."""

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
        sent = mine.subscription(["A", "B"])
        members.append(Member(member, sent.topics, user_data=sent.user_data))
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


def test_default_methods() -> None:
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


def test_a_class_by_module_and_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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
        ("of_none:First", "No module named"),
        ("of_mine:PartitionAssignor.name", "no attribute"),
        ("json:dumps", "is not a subclass of PartitionAssignor"),
        (":First", "Empty module name"),
        (".of_mine:First", "the 'package' argument is required"),
        ("partage.consumers.custom:PartitionAssignor", "instantiate abstract class"),
    ]:
        with pytest.raises(InputError, match=problem):
            assign(group, wrong)
    sys.modules.pop("of_mine")


def test_state_is_kept_between_rounds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each simulation creates one instance for all its rounds."""
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
def test_invalid_assignments(answer: Any, problem: str) -> None:
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
