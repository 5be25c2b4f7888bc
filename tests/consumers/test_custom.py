"""Custom assignors: the FailoverAssignor of the article, and invalid ones."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from partage import Group, InputError, Member, PartageError, assign
from partage.consumers.assignors import (
    ASSIGNORS,
    KAFKA_CLASSES,
    assignor_name,
    find_assignor,
    register,
)
from partage.consumers.custom import (
    Partition,
    PartitionAssignor,
    Subscription,
    run_custom_assignor,
)
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
        ("partage.consumers.custom:PartitionAssignor", "does not define assign"),
    ]:
        with pytest.raises(InputError, match=problem):
            assign(group, wrong)
    sys.modules.pop("of_mine")


def test_state_is_kept_between_rounds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each member has one instance for all rounds; that of the leader assigns."""
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
        ({"C9": []}, "partitions for 'C9', which is not a member"),
        ({"C1": [("A", 2)]}, "A-2, which does not exist"),
        ({"C1": [("Q", 0)]}, "Q-0, which does not exist"),
        ({"C1": [("A", 0), ("A", 0)]}, "A-0 twice"),
        ({"C2": [("A", 0)]}, "A-0 for 'C2', which does not subscribe to it"),
        ([("A", 0)], r".*, not partitions by member id"),
        ({"C1": 7}, "7 for 'C1', not pairs of topic and partition"),
        ({"C1": "A0"}, "A0 for 'C1', not pairs of topic and partition"),
        ({"C1": ["A0"]}, "A0 for 'C1', not a pair of topic and partition"),
        ({"C1": [("A", "0")]}, ".* for 'C1', not a pair of topic and partition"),
        ({"C1": [(["A"], 0)]}, ".* for 'C1', not a pair of topic and partition"),
        ({("C1",): []}, ".*, which is not a member"),
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
    group = Group({"A": 2, "B": 1, "C": 4}, members)
    try:
        with pytest.raises(
            PartageError, match=rf"wrong: assign\(\) of member 'C1': returned {problem}"
        ):
            assign(group, "wrong")
    finally:
        del ASSIGNORS["wrong"]
    with pytest.raises(PartageError, match=rf"wrong: assign\(\): returned {problem}"):
        run_custom_assignor(Wrong(), group)  # as the clients' assignors do


# -- offline as in a client

PRIORITY = "assignment.consumer.priority"
FILE = """
import struct
from partage.consumers.custom import PartitionAssignor, Subscription

calls = []

class Failover(PartitionAssignor):
    name = "failover-of-mine"

    def configure(self, config):
        self.priority = int(config.get("assignment.consumer.priority", 2**31 - 1))
        calls.append(("configure", self.priority))

    def subscription(self, topics):
        calls.append(("subscription", self.priority))
        return Subscription(topics, user_data=struct.pack(">i", self.priority))

    def assign(self, partitions, members):
        calls.append(("assign", self.priority))
        first = max(members, key=lambda member: struct.unpack(">i", members[member].user_data))
        return {first: [(t, n) for t, count in partitions.items() for n in range(count)]}

    def on_assignment(self, partitions, generation):
        calls.append(("on_assignment", self.priority, len(partitions), generation))
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A working directory with fo.py, which is not on Python's path."""
    (tmp_path / "fo.py").write_text(FILE, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    yield tmp_path
    sys.modules.pop("fo", None)


@pytest.mark.usefixtures("folder")
def test_assign_calls_what_a_client_calls() -> None:
    group = Group.from_json(
        {
            "topics": {"A": 2, "B": 1},
            "members": [
                {"id": "C1", "topics": ["A", "B"], "config": {PRIORITY: 10}, "generation": 4},
                {"id": "C2", "topics": ["A", "B"], "config": {PRIORITY: "70"}},
                {"id": "C3", "topics": ["A", "B"], "user_data": "AAAAAQ=="},
            ],
        }
    )
    found = assign(group, "fo:Failover")
    assert found.loads.tolist() == [0, 3, 0]
    first = [("configure", 10), ("subscription", 10), ("configure", 70), ("subscription", 70)]
    assert sys.modules["fo"].calls == [
        *first,
        ("configure", 2**31 - 1),
        ("subscription", 2**31 - 1),  # the user data of the file is sent instead
        ("assign", 10),
        ("on_assignment", 10, 0, 5),
        ("on_assignment", 70, 3, 5),
        ("on_assignment", 2**31 - 1, 0, 5),
    ]
    # the built-in one reads the same
    assert assign(group, "failover").as_dict() == found.as_dict()


@pytest.mark.usefixtures("folder")
def test_simulated_members_have_an_instance_each() -> None:
    members = [
        {"id": "C1", "topics": ["A"], "config": {PRIORITY: 10}},
        {"id": "C2", "topics": ["A"], "config": {PRIORITY: 70}, "crashes_at": 60},
        {"id": "C3", "topics": ["A"], "user_data": "AAAAAQ=="},
    ]
    played = Scenario.from_json({"topics": {"A": 2}, "members": members, "until": 200})
    found = simulate(played, "fo:Failover")
    owners = [[m for m, held in one.assignment.items() if held] for one in found.rounds]
    assert owners == [["C2"], ["C1"]]
    calls = sys.modules["fo"].calls
    assert [call for call in calls if call[0] == "configure"] == [
        ("configure", 10),
        ("configure", 70),
        ("configure", 2**31 - 1),
    ]
    assert [call for call in calls if call[0] == "assign"] == [("assign", 10)] * 2
    got = [call[1:] for call in calls if call[0] == "on_assignment"]
    assert sorted(got) == [(10, 0, 1), (10, 2, 2), (70, 2, 1), (2**31 - 1, 0, 1), (2**31 - 1, 0, 2)]
    builtin = simulate(played, "failover").rounds
    assert [replace(one, assignor="fo:Failover") for one in builtin] == list(found.rounds)


@pytest.mark.parametrize(
    ("code", "problem"),
    [
        ("def __init__(self): 1 / 0", r"__init__\(\) of member 'a': ZeroDivisionError: .*"),
        ("def configure(self, c): c['x']", r"configure\(\) of member 'a': KeyError: 'x' .*"),
        ("def subscription(self, t): exit(3)", r"subscription\(\) of member 'a': SystemExit: 3.*"),
        ("def subscription(self, t): pass", r"subscription\(\) .*: returned None, not a Subs.*"),
        (
            "def subscription(self, t): return Subscription(t, user_data='70')",
            r"subscription\(\) of member 'a': returned user_data 70, not bytes or None",
        ),
        (
            "def subscription(self, t): return Subscription('t')",
            r"subscription\(\) of member 'a': returned topics t, not texts",
        ),
        ("def assign(self, p, m): m['z']", r"assign\(\) of member 'a': KeyError: 'z' .*"),
        ("def assign(self, p, m): pass", r"assign\(\) of member 'a': returned None, not part.*"),
        ("def on_assignment(self, p, g): p.x", r"on_assignment\(\) of member 'a': Attribute.*"),
    ],
)
def test_what_an_assignor_raises_or_returns_wrong_is_one_line(
    folder: Path, code: str, problem: str
) -> None:
    name = "of_wrong"
    start = "from fo import Failover, Subscription\nclass Wrong(Failover):\n    "
    (folder / f"{name}.py").write_text(start + code + "\n", encoding="utf-8")
    members = [{"id": "a", "topics": ["t"]}]
    group = Group.from_json({"topics": {"t": 2}, "members": members})
    played = Scenario.from_json({"topics": {"t": 2}, "members": members, "until": 9})
    for run in (lambda: assign(group, f"{name}:Wrong"), lambda: simulate(played, f"{name}:Wrong")):
        with pytest.raises(PartageError) as caught:
            run()
        assert re.fullmatch(f"{name}:Wrong: {problem}", str(caught.value))
    sys.modules.pop(name)


def test_priorities_in_the_configuration_are_checked() -> None:
    for wrong in ("high", 2**31, 1.5, None, [1]):
        group = Group({"t": 1}, [Member("m", ["t"], config={PRIORITY: wrong})])
        with pytest.raises(InputError, match=f"member 'm': config.{PRIORITY}: .* whole number"):
            assign(group, "failover")


# -- Kafka's class names


def test_kafkas_class_names_are_names() -> None:
    group = Group({"t": 3}, [Member("a", ["t"]), Member("b", ["t"])])
    for path, name in KAFKA_CLASSES.items():
        for given in (path, path.rpartition(".")[2]):
            assert find_assignor(given) is ASSIGNORS[name]
            assert assignor_name(given) == name
    assert assign(group, "RangeAssignor").as_dict() == assign(group, "range").as_dict()
    members = [
        {"id": "a", "topics": ["t"], "assignors": ["StickyAssignor", "range"]},
        {"id": "b", "topics": ["t"], "assignors": ["sticky"]},
        {"id": "c", "topics": ["t"]},
    ]
    played = Scenario.from_json({"topics": {"t": 3}, "members": members, "until": 30})
    found = simulate(played, "org.apache.kafka.clients.consumer.StickyAssignor")
    assert found.assignor == "sticky"
    assert not found.refused
