"""Bad GROUP.json files: each is refused in one line that names the place."""

from __future__ import annotations

import gzip
import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from partage import Group, InputError, Member, assign
from partage.consumers.assignors import ASSIGNORS
from tests.profiles import seeds

Json = dict[str, Any]
GOOD: Json = {
    "topics": {"t0": 2, "t1": 1},
    "racks": {"t0": [["a", "b"], ["b"]]},
    "weights": {"t0": [5, 0]},
    "members": [
        {
            "id": "C0",
            "topics": ["t0", "t1"],
            "instance_id": None,
            "rack": "a",
            "owned": [["t0", 0]],
            "generation": 3,
            "priority": 10,
            "process": "p",
            "tags": {"zone": "1"},
            "standbys": [["t1", 0]],
            "left_at_ms": None,
        },
        {"id": "C1", "topics": ["t0"]},
    ],
    "streams": {"subtopologies": []},
    "connect": {"tasks": []},
}


def changed(path: tuple[Any, ...], value: Any) -> Json:
    group: Json = json.loads(json.dumps(GOOD))
    place: Any = group
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    return group


M = ("members", 0)


@pytest.mark.parametrize(
    ("path", "value", "problem"),
    [
        (("topics",), [], "topics: expected an object, got []"),
        (("topics", "t0"), -1, "topics.t0: expected a whole number from 0 to 2147483647, got -1"),
        (("topics", "t0"), 2.0, "topics.t0: expected a whole number from 0 to 2147483647, got 2.0"),
        (("topics", "t0"), True, "topics.t0: expected a whole number from 0 to 2147483647, "),
        (
            ("topics", ""),
            1,
            "topics: expected a topic of 1 to 249 letters, digits",
        ),
        (("topics", "\x1b]52;c;aGk=\x07"), 1, "topics: expected a topic of 1 to 249 letters"),
        ((*M, "topics"), ["a b"], "members[0].topics[0]: expected a topic of 1 to 249"),
        ((*M, "instance_id"), "\u202e", "members[0].instance_id: expected 1 to 249 letters"),
        ((*M, "rack"), "\u200b", 'members[0].rack: expected printable text or null, got "\\u200b"'),
        ((*M, "id"), "a" * 40_000, "members[0].id: expected non-empty printable text"),
        ((*M, "owned", 0), ["\x9b", 0], "members[0].owned[0][0]: expected printable text"),
        (("topics", "t9"), 60_000_000, "topics: more than 50000000 partitions"),
        (("members",), {}, "members: expected a list of objects, got {}"),
        (("members",), [], "members: a group needs at least one"),
        (("members", 1), "C1", 'members[1]: expected an object with id, topics, got "C1"'),
        ((*M, "id"), 7, "members[0].id: expected non-empty printable text, got 7"),
        ((*M, "id"), "a\x1b[31m", 'members[0].id: expected non-empty printable text, got "a\\u'),
        ((*M, "id"), "C1", "members: 'C1' is listed twice"),
        (
            ("members",),
            [{"id": one, "topics": [], "instance_id": "seat-1"} for one in ("b", "a")],
            "members: 'a' and 'b' have the instance id 'seat-1': Kafka fences one of them",
        ),
        ((*M, "ID"), "x", "members[0].ID: unknown key, expected one of"),
        ((*M, "topics"), "t0", 'members[0].topics: expected a list of text, got "t0"'),
        ((*M, "topics"), None, "members[0].topics: expected a list of text, got null"),
        ((*M, "owned"), {"t0": 1}, "members[0].owned: expected a list of [topic, partition]"),
        ((*M, "owned"), False, "members[0].owned: expected a list of [topic, partition]"),
        ((*M, "owned"), "", "members[0].owned: expected a list of [topic, partition]"),
        ((*M, "standbys"), 0, "members[0].standbys: expected a list of [topic, partition]"),
        ((*M, "standbys"), {}, "members[0].standbys: expected a list of [topic, partition]"),
        ((*M, "owned", 0), ["t0"], "members[0].owned[0]: expected [topic, partition], got"),
        ((*M, "owned", 0), ["t0", "0"], "members[0].owned[0][1]: expected a whole number from"),
        ((*M, "owned", 0), ["t0", 2**31], "members[0].owned[0][1]: expected a whole number from"),
        ((*M, "standbys", 0), [0, 0], "members[0].standbys[0][0]: expected printable text, got 0"),
        (
            (*M, "generation"),
            "3",
            "members[0].generation: expected a whole number from -",
        ),
        ((*M, "generation"), 2**31, "members[0].generation: expected a whole number"),
        (
            (*M, "priority"),
            1.5,
            "members[0].priority: expected a whole number from -",
        ),
        ((*M, "rack"), 1, "members[0].rack: expected printable text or null, got 1"),
        (
            (*M, "instance_id"),
            [],
            "members[0].instance_id: expected 1 to 249 letters, digits, '.', '_' or '-' or",
        ),
        ((*M, "process"), 1, "members[0].process: expected printable text or null, got 1"),
        ((*M, "tags"), [], "members[0].tags: expected an object or null, got []"),
        ((*M, "tags", "zone"), 1, "members[0].tags.zone: expected printable text, got 1"),
        ((*M, "left_at_ms"), "now", "members[0].left_at_ms: expected a whole number"),
        (("racks", "t0"), [["a"]], "racks.t0: 1 entry for 2 partitions"),
        (("racks", "t0", 1), "b", 'racks.t0[1]: expected a list of text, got "b"'),
        (("racks", "t9"), [], "racks: topic 't9' is not listed"),
        (("weights", "t0"), [1], "weights.t0: 1 entry for 2 partitions"),
        (("weights", "t0"), 5, "weights.t0: expected a list of whole numbers, got 5"),
        (("weights", "t0", 0), 0.5, "weights.t0[0]: expected a whole number, got 0.5"),
        (("streams",), [], "streams: expected an object or null, got []"),
        (("connect",), 1, "connect: expected an object or null, got 1"),
        (("brokers",), [], "brokers: unknown key, expected one of"),
    ],
)
def test_bad_values_are_refused_with_their_place(
    path: tuple[Any, ...], value: Any, problem: str
) -> None:
    with pytest.raises(InputError) as raised:
        Group.from_json(changed(path, value), "GROUP.json")
    assert str(raised.value).startswith(f"GROUP.json: {problem}")
    assert "\n" not in str(raised.value)


def test_good_group_is_read(tmp_path: Path) -> None:
    text = json.dumps(GOOD)
    plain, packed = tmp_path / "g.json", tmp_path / "g.json.gz"
    plain.write_text(text, encoding="utf-8")
    packed.write_bytes(gzip.compress(text.encode()))
    for path in (plain, packed):
        group = Group.read(path)
        assert group.names == ("t0", "t1")
        assert [m.id for m in group.members] == ["C0", "C1"]
        assert group.members[0].standbys == [("t1", 0)]
        assert group.owner.tolist() == [0, -1, -1]
        assert group.weight.tolist() == [5, 0, 0]
        assert group.member_rack.tolist() == [0, -1]


@pytest.mark.parametrize("text", ["", " \n", "[]", "{", "nul", '{"topics": {"a": 1}, "members": 1'])
def test_files_that_are_not_groups(tmp_path: Path, text: str) -> None:
    path = tmp_path / "g.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=r"g\.json"):
        Group.read(path)


def test_any_value_anywhere_is_read_or_refused() -> None:
    """Changing any one value gives a group or an InputError."""
    odd = [None, 0, -1, 2**70, 1.5, True, "", "t0", "\ud800", [], [[]], {}, {"t0": 1}, ["t0", 0]]
    paths: list[tuple[Any, ...]] = []

    def walk(value: Any, path: tuple[Any, ...]) -> None:
        items = value.items() if isinstance(value, dict) else enumerate(value)
        for key, inner in items:
            paths.append((*path, key))
            if isinstance(inner, (dict, list)):
                walk(inner, (*path, key))

    walk(GOOD, ())
    draw = random.Random(1)
    refused: list[str] = []
    for path in paths:
        for value in odd:
            group = changed(path, value)
            if draw.random() < 0.3:
                group = {**group, "weights": None}
            try:
                read = Group.from_json(group, "group")
            except InputError as problem:
                refused.append(str(problem))
                continue
            assert len(read.owner) == read.partitions
            assert read.warnings is not None
    assert not any("\n" in problem for problem in refused)


# -- groups made in Python


def test_claims_as_arrays_are_the_same_as_pairs() -> None:
    topics = {"a": 3, "b": 2}
    pairs = Member("m", ["a", "b"], owned=[("a", 2), ("b", 0), ("a", 0)], generation=1)
    arrays = Member("m", ["a", "b"], owned={"a": np.array([2, 0]), "b": [0], "c": []}, generation=1)
    one, other = Group(topics, [pairs]), Group(topics, [arrays])
    assert one.owner.tolist() == other.owner.tolist() == [0, -1, 0, 0, -1]


@pytest.mark.parametrize("numbers", [np.array([0.0]), ["0"], np.array([True])])
def test_claims_that_are_not_numbers(numbers: Any) -> None:
    with pytest.raises(InputError, match="owned: expected whole numbers"):
        _ = Group({"a": 3}, [Member("m", ["a"], owned={"a": numbers})]).owner


def test_highest_generation_wins_and_equal_ones_are_void() -> None:
    def claim(member: str, generation: int, *numbers: int) -> Member:
        return Member(member, ["t"], owned=[("t", n) for n in numbers], generation=generation)

    group = Group({"t": 5}, [claim("a", 3, 0, 1, 2, 2), claim("b", 4, 1, 3), claim("c", 4, 3, 2)])
    assert group.owner.tolist() == [0, 1, 2, -1, -1]
    assert group.contested.tolist() == [False, False, False, True, False]


def test_members_with_equal_subscriptions_are_one_class() -> None:
    members = [
        Member("a", ["t", "u"]),
        Member("b", ["u", "t", "t"]),
        Member("c", ["u", "gone", "t"]),
        Member("d", []),
    ]
    group = Group({"t": 1, "u": 0}, members)
    assert group.class_of.tolist() == [0, 0, 0, 1]
    assert group.subscribes.tolist() == [[True, True], [False, False]]
    assert group.named(0) == ("t", 0)


def test_empty_rack_is_none() -> None:
    group = Group({"t": 1}, [Member("a", ["t"], rack="")], racks={"t": [["x"]]})
    assert group.member_rack.tolist() == [-1]


@pytest.mark.random
def test_any_value_anywhere_is_assigned_or_refused() -> None:
    """The same with every assignor, for groups that can be read."""
    odd = [None, 0, -1, 2**61, 1.5, True, "", "t0", "\ud800", [], [[]], {}, {"t0": 1}, ["t0", 0]]
    whole: Json = json.loads(json.dumps(GOOD))
    whole["streams"] = {"subtopologies": [{"topics": ["t0"], "stateful": True}], "standbys": 1}
    whole["connect"] = {"tasks": ["a-1", ["b", 0]], "delay_ms": 5, "now_ms": 7, "revoked_rounds": 1}
    whole["members"][1]["left_at_ms"] = 3
    places: list[tuple[Any, ...]] = []

    def walk(value: Any, path: tuple[Any, ...]) -> None:
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            places.append((*path, key))
            if isinstance(inner, (dict, list)):
                walk(inner, (*path, key))

    walk(whole, ())
    for path in random.Random(2).sample(places, len(seeds(len(places)))):
        for value in odd:
            group = json.loads(json.dumps(whole))
            place = group
            for key in path[:-1]:
                place = place[key]
            place[path[-1]] = value
            for name, assignor in ASSIGNORS.items():
                for mode in ("optimal", "java") if name in ("sticky", "weighted") else ("optimal",):
                    try:
                        found = assign(Group.from_json(group, "group"), name, mode)
                    except InputError:
                        continue
                    assert json.loads(json.dumps(found.to_json()))["moves"] >= 0
                    assert assignor.cooperative or (found.owner >= -1).all()
