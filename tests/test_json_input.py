"""JSON input is checked against a type; the first place that does not match is named."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import pytest
from msgspec import UNSET, Meta, Struct, UnsetType

from partage.errors import InputError
from partage.json_input import Count, Name, Text, check_json, read_json, shown
from partage.printable import is_printable


class Move(Struct, forbid_unknown_fields=True):
    topic: Name
    replicas: list[Count]
    racks: dict[Name, Text] | None = None
    rate: Annotated[float, Meta(gt=0, lt=10)] = 1.0
    pair: tuple[str, int] | None = None
    kind: Literal["up", "down"] = "up"
    urgent: bool | UnsetType = UNSET


class Moves(Struct):
    accepted: ClassVar[str] = "an object with moves"

    moves: list[Move]
    by_name: dict[str, list[Move]] = {}


MOVE: dict[str, Any] = {"topic": "t", "replicas": [1, 2]}


def problem(value: Any, form: Any = Moves) -> str:
    with pytest.raises(InputError) as refused:
        check_json(value, form, "f.json")
    text = str(refused.value)
    assert text.startswith("f.json: ")
    assert is_printable(text)
    return text.removeprefix("f.json: ")


def test_matching_json_becomes_the_struct() -> None:
    value = {"moves": [{**MOVE, "rate": 2, "pair": ["t", 0], "racks": {"a": ""}}], "more": 1}
    found = check_json(value, Moves, "f.json")
    assert found == Moves([Move("t", [1, 2], {"a": ""}, 2.0, ("t", 0))])
    assert found.moves[0].urgent is UNSET


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"topic": 7}, "moves[0].topic: expected non-empty printable text, got 7"),
        ({"topic": ""}, 'moves[0].topic: expected non-empty printable text, got ""'),
        ({"topic": "a\n"}, 'moves[0].topic: expected non-empty printable text, got "a\\n"'),
        ({"replicas": 1}, "moves[0].replicas: expected a list of whole numbers, got 1"),
        (
            {"replicas": [1, True]},
            "moves[0].replicas[1]: expected a whole number from 0 to 2147483647, got true",
        ),
        (
            {"replicas": [2.0]},
            "moves[0].replicas[0]: expected a whole number from 0 to 2147483647, got 2.0",
        ),
        ({"racks": []}, "moves[0].racks: expected an object or null, got []"),
        ({"racks": {"a": 1}}, "moves[0].racks.a: expected printable text, got 1"),
        (
            {"racks": {"": "b"}},
            'moves[0].racks: expected non-empty printable text as a key, got ""',
        ),
        ({"rate": 10}, "moves[0].rate: expected a number above 0 below 10, got 10"),
        ({"rate": 10**400}, "moves[0].rate: expected a number above 0 below 10, got 1000"),
        ({"rate": float("nan")}, "moves[0].rate: expected a number above 0 below 10, got NaN"),
        ({"pair": ["t"]}, 'moves[0].pair: expected a list or null, got ["t"]'),
        ({"pair": ["t", "0"]}, 'moves[0].pair[1]: expected a whole number, got "0"'),
        ({"kind": "left"}, 'moves[0].kind: expected "up" or "down", got "left"'),
        ({"urgent": None}, "moves[0].urgent: expected true or false, got null"),
        ({"more": 1}, "moves[0].more: unknown key, expected one of topic, replicas, racks, rate"),
        (
            {"rat": 1},
            "moves[0].rat: unknown key: did you mean rate? expected one of topic, replicas",
        ),
        ({"\x1b": 1}, 'moves[0]."\\u001b": unknown key, expected one of topic'),
        ({"\ud800": 1}, 'moves[0]."\\ud800": unknown key, expected one of topic'),
    ],
)
def test_mismatches_are_named(change: dict[str, Any], expected: str) -> None:
    assert problem({"moves": [{**MOVE, **change}]}).startswith(expected)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ([], "expected an object with moves, got []"),
        (None, "expected an object with moves, got null"),
        ({}, "moves: missing, expected a list of objects"),
        ({"moves": [MOVE, 1]}, "moves[1]: expected an object with topic, replicas, got 1"),
        (
            {"moves": [{"topic": "t"}]},
            "moves[0].replicas: missing, expected a list of whole number",
        ),
        ({"moves": [], "by_name": {"a.b": [MOVE, {}]}}, "by_name.a.b[1].topic: missing, expected"),
        (
            {"moves": [], "by_name": {"a\tb": 1}},
            'by_name."a\\tb": expected a list of objects, got 1',
        ),
    ],
)
def test_the_place_is_a_path(value: Any, expected: str) -> None:
    assert problem(value).startswith(expected)


def test_a_list_at_the_top() -> None:
    assert problem([1, "2"], list[int]) == '[1]: expected a whole number, got "2"'


@pytest.mark.parametrize("depth", [10, 500, 5000, 100_000])
def test_deep_values(depth: int) -> None:
    deep: Any = 1
    for _ in range(depth):
        deep = [deep]
    assert problem({"moves": deep})
    assert problem({"moves": [{**MOVE, "racks": {"a": deep}}]})


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("é", '"é"'),
        ("\x7f\u2028", '"\\u007f\\u2028"'),
        ([True, None], "[true, null]"),
        ("x" * 100, '"' + "x" * 56 + "..."),
        ({1, 2}, "{1, 2}"),
        (b"x", "b'x'"),
        pytest.param(10**6000, "a value too long or too deep to show", id="long"),
    ],
)
def test_shown(value: Any, text: str) -> None:
    assert shown(value) == text


def test_read(tmp_path: Path) -> None:
    text = b'{"moves": [{"topic": "t", "replicas": [1]}]}'
    plain, packed = tmp_path / "f.json", tmp_path / "f.json.gz"
    plain.write_bytes(text)
    packed.write_bytes(gzip.compress(text))
    for path in (plain, packed):
        assert read_json(path, Moves) == Moves([Move("t", [1])])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "is empty, expected an object with moves"),
        ("{", "line 1 column 2: not valid JSON"),
        ('{"moves": NaN}', "NaN is not a JSON number"),
        ('{"moves": ' + "9" * 5000 + "}", "not valid JSON (nested too deep, or a number too long)"),
        ('{"moves": [], "moves": [{}]}', "key moves is given twice in {"),
        ('{"moves": [1]}', "moves[0]: expected an object with topic, replicas, got 1"),
    ],
    ids=lambda text: text[:20],
)
def test_bad_files(tmp_path: Path, text: str, expected: str) -> None:
    path = tmp_path / "f.json"
    path.write_text(text)
    with pytest.raises(InputError) as refused:
        read_json(path, Moves)
    assert str(refused.value).startswith(f"{path}: {expected}")
