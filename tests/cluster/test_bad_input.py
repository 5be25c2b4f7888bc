"""Bad cluster files: each is refused in one line that names the file and the place."""

from __future__ import annotations

import copy
import gzip
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from partage import Cluster, InputError
from partage.brokers.options import PlanOptions
from partage.cluster.reassignment import Reassignment

File = Callable[..., str]
Refused = Callable[..., str]

GOOD: dict[str, Any] = {
    "brokers": [{"id": 1, "rack": "a"}, {"id": 2, "rack": "b"}, {"id": 3, "rack": "c"}],
    "partitions": [
        {"topic": "t", "partition": 0, "replicas": [1, 2], "size_bytes": 9},
        {"topic": "t", "partition": 1, "replicas": [2, 3], "size_bytes": 8},
    ],
}
GONE = object()


def with_value(path: str, value: Any) -> Any:
    """GOOD with another value at ``brokers.0.rack`` (GONE: without it)."""
    changed = copy.deepcopy(GOOD)
    *way, last = [int(step) if step.isdecimal() else step for step in path.split(".")]
    inside: Any = changed
    for step in way:
        inside = inside[step]
    if value is GONE:
        inside.pop(last, None)
    else:
        inside[last] = value
    return changed


def test_good_file_is_read(file: File) -> None:
    assert Cluster.read(file(GOOD)).partitions == 2


# ---------------------------------------------------------------- files


def test_missing_file(tmp_path: Path, refused: Refused) -> None:
    assert refused(os.fspath(tmp_path / "none.json")) == "no such file"
    assert refused(os.fspath(tmp_path / "none" / "none.json")) == "no such file"


def test_directory(tmp_path: Path, refused: Refused) -> None:
    assert refused(os.fspath(tmp_path)) == "is a directory, expected a file"


def test_path_below_a_file(file: File, refused: Refused) -> None:
    assert refused(file(GOOD) + "/more.json")


def test_name_too_long(tmp_path: Path) -> None:
    with pytest.raises(InputError):
        Cluster.read(tmp_path / ("a" * 400))


def test_name_with_nul() -> None:
    with pytest.raises(InputError):
        Cluster.read("a\0b")


@pytest.mark.parametrize("content", [b"", b"\n \t\n", b"\xef\xbb\xbf"], ids=repr)
@pytest.mark.parametrize("packed", [False, True])
def test_empty_file(file: File, refused: Refused, content: bytes, packed: bool) -> None:
    assert "is empty" in refused(file(content, packed=packed))


@pytest.mark.parametrize(
    "content",
    [
        b"\xff\xfe{\x00}\x00",  # UTF-16
        b'{"brokers": "\xe9"}',  # Latin-1
        b"\x00\x01\x02\xff\xfe",
        b'{"topic":"\xed\xa0\x80"}',  # a surrogate encoded as UTF-8
        b"PAR1\x15\x04\x15\x80",
    ],
    ids=repr,
)
@pytest.mark.parametrize("packed", [False, True])
def test_not_utf_8(file: File, refused: Refused, content: bytes, packed: bool) -> None:
    message = refused(file(content, packed=packed))
    assert "not UTF-8" in message or "not valid JSON" in message or "neither JSON" in message


PACKED = gzip.compress(json.dumps(GOOD).encode(), mtime=0)


@pytest.mark.parametrize(
    "content",
    [
        PACKED[:1],
        PACKED[:2],
        PACKED[:9],
        PACKED[:10],
        PACKED[:-9],
        PACKED[:-8],
        PACKED[:-1],
        PACKED + b"junk",
        PACKED[:20] + b"\xff\xff\xff" + PACKED[23:],
        PACKED[:-8] + bytes(8),  # CRC and length
        PACKED[:2] + b"\x09" + PACKED[3:],  # an unknown compression method
        b"\x1f\x8b",
        json.dumps(GOOD).encode(),  # named .gz but not compressed
    ],
    ids=range(13),
)
def test_broken_gzip(file: File, refused: Refused, content: bytes) -> None:
    assert refused(file(content, "cluster.json.gz")).startswith("broken gzip")


def test_files_truncated_anywhere(file: File, refused: Refused) -> None:
    text = json.dumps(GOOD)
    for end in range(1, len(text)):
        assert "not valid JSON" in refused(file(text[:end])) or not text[:end].strip()
    for end in range(1, len(PACKED)):
        refused(file(PACKED[:end]))


# ---------------------------------------------------------------- JSON that is not a cluster


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("{", "line 1 column 2: not valid JSON"),
        ('{"brokers": [,]}', "line 1 column 14: not valid JSON"),
        ('{\n "brokers": [}', "line 2 column 14: not valid JSON"),
        (json.dumps(GOOD) + "x", "line 1 column"),
        (json.dumps(GOOD) + json.dumps(GOOD), "line 1 column"),
        ("{}", "partitions: missing, expected a list"),
        ("[]", "expected an object with brokers and partitions, got []"),
        ('[{"id": 1}]', "expected an object with brokers and partitions"),
        ("[" * 100_000, "nested too deep"),
        ('{"partitions":' + "[" * 100_000, "nested too deep"),
        ('{"partitions":[' + "9" * 5000 + "]}", "a number too long"),
        ('{"partitions":NaN}', "NaN is not a JSON number"),
        ('{"partitions":-Infinity}', "-Infinity is not a JSON number"),
        ("hello", "neither JSON nor the output of kafka-topics.sh --describe"),
        ("null", "neither JSON nor the output of kafka-topics.sh --describe"),
        ("Topic", "neither JSON nor the output of kafka-topics.sh --describe"),
        ("id,rack\n1,a\n", "neither JSON nor the output of kafka-topics.sh --describe"),
        ("\0\0\0", "neither JSON nor the output of kafka-topics.sh --describe"),
    ],
    ids=lambda text: text[:30],
)
def test_not_a_cluster(file: File, refused: Refused, text: str, problem: str) -> None:
    assert problem in refused(file(text))


@pytest.mark.sampled(5)
@pytest.mark.parametrize("depth", [1, 10, 100, 500, *range(850, 1010), 2000, 50_000])
def test_deep_nesting(file: File, refused: Refused, depth: int) -> None:
    deep = "[" * depth + "]" * depth
    assert refused(file(f'{{"partitions":[{{"topic":{deep}}}]}}'))
    assert refused(file(f'{{"partitions":{deep}}}'))
    objects = '{"a":' * depth + "1" + "}" * depth
    assert refused(file(f'{{"brokers":[],"partitions":{objects}}}'))


ANYTHING = [None, True, 0, -1, 1.5, "", "x", [], [None], {}, {"a": 1}, 10**400, 1e308]
"""JSON values of every kind; each field accepts some of them."""


@pytest.mark.parametrize(
    ("path", "right"),
    [
        ("brokers", []),
        ("partitions", []),
        ("brokers.1", []),
        ("brokers.1.id", []),
        ("brokers.1.rack", ["x"]),
        ("brokers.1.disk_bytes", [None, 0]),
        ("brokers.1.capacity", [None, 1.5]),
        ("brokers.1.alive", [True]),
        ("partitions.1", []),
        ("partitions.1.topic", ["x"]),
        ("partitions.1.partition", []),
        ("partitions.1.replicas", []),
        ("partitions.1.replicas.1", []),
        ("partitions.1.size_bytes", [None, 0]),
    ],
)
def test_wrong_types_everywhere(file: File, refused: Refused, path: str, right: list[Any]) -> None:
    for value in ANYTHING:
        bad = file(with_value(path, value))
        if any(type(value) is type(good) and value == good for good in right):
            Cluster.read(bad)
            continue
        message = refused(bad)
        field = path.rpartition(".")[2]
        named = ("broker", "t-", "topic") if field.isdecimal() or value in (0, 1) else ()
        assert any(word in message for word in (field, *named, path.split(".")[0], "t-1")), message


@pytest.mark.parametrize(
    "path",
    [
        "partitions",
        "brokers.1.id",
        "partitions.1.topic",
        "partitions.1.partition",
        "partitions.1.replicas",
    ],
)
def test_required_fields(file: File, refused: Refused, path: str) -> None:
    assert path.rpartition(".")[2] in refused(file(with_value(path, GONE)))


@pytest.mark.parametrize(
    "path",
    [
        "brokers.1.disk_bytes",
        "brokers.1.capacity",
        "partitions.1.size_bytes",
    ],
)
def test_optional_fields(file: File, path: str) -> None:
    Cluster.read(file(with_value(path, None)))
    Cluster.read(file(with_value(path, GONE)))


# ---------------------------------------------------------------- invalid values


def twice(path: str) -> Any:
    changed = copy.deepcopy(GOOD)
    changed[path].append(changed[path][0])
    return changed


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        (twice("partitions"), "t-0: listed twice"),
        (with_value("partitions.1.partition", 0), "t-0: listed twice"),
        (twice("brokers"), "broker 1 is listed twice"),
        (with_value("partitions.1.replicas", [2, 2]), "t-1: broker 2 holds two replicas"),
        (with_value("partitions.1.replicas", [3, 1, 3]), "t-1: broker 3 holds two replicas"),
        (with_value("partitions.1.replicas", [2, 9]), "t-1: replica on broker 9, which is not"),
        (with_value("partitions.1.replicas", [1, 2, 3, 1]), "t-1: 4 replicas on 3 brokers"),
        (with_value("partitions.1.replicas", []), "t-1: has no replicas"),
        (with_value("brokers", []), "no brokers: an empty cluster"),
        (with_value("partitions", []), "no partitions: nothing to plan"),
        ({"version": 1, "partitions": []}, "no brokers: an empty cluster"),
        ({"brokers": [], "partitions": []}, "no brokers: an empty cluster"),
        (with_value("brokers.0.rack", GONE), "broker 1 has no rack but others have"),
        (with_value("brokers.2.rack", None), "broker 3 has no rack but others have"),
        (
            with_value("brokers.1.rack", ""),
            'brokers[1].rack: expected non-empty printable text or null, got ""',
        ),
        (with_value("brokers.1.id", -1), "brokers[1].id: expected a whole number from 0"),
        (with_value("brokers.1.id", 2**31), "brokers[1].id: expected a whole number from 0"),
        (with_value("brokers.1.id", 2**64), "brokers[1].id: expected a whole number from 0"),
        (with_value("brokers.1.id", 10**400), "brokers[1].id: expected a whole number from 0"),
        (
            with_value("brokers.1.id", True),
            "brokers[1].id: expected a whole number from 0 to 2147483647, got true",
        ),
        (
            with_value("brokers.1.id", 2.0),
            "brokers[1].id: expected a whole number from 0 to 2147483647, got 2.0",
        ),
        (with_value("partitions.1.replicas", [True, 2]), "partitions[1].replicas"),
        (with_value("partitions.1.replicas", [-1]), "partitions[1].replicas"),
        (with_value("partitions.1.replicas", [2**64]), "partitions[1].replicas"),
        (with_value("partitions.1.replicas", [10**400]), "partitions[1].replicas"),
        (with_value("partitions.1.partition", True), "partitions[1].partition"),
        (with_value("partitions.1.partition", -1), "partitions[1].partition"),
        (with_value("partitions.1.partition", 2**31), "partitions[1].partition"),
        (with_value("partitions.1.partition", 10**400), "partitions[1].partition"),
        (with_value("partitions.1.size_bytes", -1), "partitions[1].size_bytes"),
        (with_value("partitions.1.size_bytes", -0.5), "partitions[1].size_bytes"),
        (with_value("partitions.1.size_bytes", 0.5), "partitions[1].size_bytes"),
        (with_value("partitions.1.size_bytes", True), "partitions[1].size_bytes"),
        (with_value("partitions.1.size_bytes", "9"), "partitions[1].size_bytes"),
        (with_value("partitions.1.size_bytes", 2**60 + 1), "to 1152921504606846976 (an exbibyte)"),
        (with_value("partitions.1.size_bytes", 10**400), "to 1152921504606846976 (an exbibyte)"),
        (with_value("partitions.1.size_bytes", 1e300), "to 1152921504606846976 (an exbibyte)"),
        (with_value("brokers.1.disk_bytes", -1), "brokers[1].disk_bytes"),
        (with_value("brokers.1.disk_bytes", 2**61), "to 1152921504606846976 (an exbibyte)"),
        (with_value("brokers.1.capacity", 0), "brokers[1].capacity"),
        (with_value("brokers.1.capacity", -1), "brokers[1].capacity"),
        (with_value("brokers.1.capacity", True), "brokers[1].capacity"),
        (with_value("brokers.1.capacity", 10**400), "brokers[1].capacity"),
        (with_value("brokers.1.alive", 1), "brokers[1].alive"),
        (with_value("brokers.1.rack", "\x1b[31mred"), "brokers[1].rack"),
        (with_value("partitions.1.topic", ""), "topic '': a name has"),
        (with_value("partitions.1.topic", "a b"), "topic 'a b': a name has"),
        (with_value("partitions.1.topic", "é"), "topic 'é': a name has"),
        (with_value("partitions.1.topic", "a\0"), "topic 'a\\x00': a name has"),
        (with_value("partitions.1.topic", "a\nb"), "topic 'a\\nb': a name has"),
        (with_value("partitions.1.topic", "\ud800"), "\\ud800 is half of a surrogate pair"),
        (with_value("partitions.1.topic", "x" * 250), "a name has 1 to 249"),
        (with_value("partitions.1.topic", "x" * 100_000), "a name has 1 to 249"),
        (with_value("partitions.1.topic", "[/red]"), "topic '[/red]': a name has"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_invalid_values(file: File, refused: Refused, value: Any, problem: str) -> None:
    assert problem in refused(file(value))


def test_of_several_mistakes_the_first_by_name_is_shown(file: File, refused: Refused) -> None:
    """Not one that the order of a set decides."""
    keys = ("aliv", "capacit", "disk_byte", "log_dir", "rac")
    broker = {"id": 1, **dict.fromkeys(reversed(keys), 1)}
    assert refused(file(with_value("brokers.0", broker))).startswith("brokers[0].aliv: unknown key")
    rows = [
        {"topic": f"t {letter}", "partition": 0, "replicas": [1]} for letter in reversed("abcdefgh")
    ]
    assert "topic 't a': a name has" in refused(file(with_value("partitions", rows)))


def test_sizes_too_large_to_be_written_as_a_decimal(file: File, refused: Refused) -> None:
    text = json.dumps(GOOD)
    for number in ("1e400", "-1e400", "1E+400", "0.1e-400"):
        written = file(text.replace(": 9", f": {number}"))
        if number.endswith("-400"):  # too small to distinguish from 0
            assert Cluster.read(written).size_bytes[0] == 0
        else:
            assert "size_bytes" in refused(written)


@pytest.mark.parametrize("value", [None, 7, "x", [], b"x", {"partitions": 10**6000}, {1, 2}])
def test_python_values_that_are_not_a_cluster(value: Any) -> None:
    with pytest.raises(InputError, match=r"^cluster: "):
        Cluster.from_json(value)


def test_numbers_too_long_to_be_shown() -> None:
    # JSON text cannot hold them, Python values can
    for path in ("brokers.1.id", "partitions.1.partition", "partitions.1.size_bytes"):
        with pytest.raises(InputError):
            Cluster.from_json(with_value(path, 10**6000))


def test_more_brokers_than_pairs_of_them_can_be_counted() -> None:
    rows = [
        {"topic": "t", "partition": number, "replicas": [2 * number, 2 * number + 1]}
        for number in range(5001)
    ]
    for value in (
        {"brokers": [{"id": b} for b in range(10_002)], "partitions": rows[:1]},
        {"version": 1, "partitions": rows},
    ):
        with pytest.raises(InputError, match=r"^cluster: 10002 brokers, expected up to 10000$"):
            Cluster.from_json(value)
    value["partitions"] = rows[:-1]
    assert len(Cluster.from_json(value).brokers) == 10_000


@pytest.mark.parametrize("count", [129, 10_000])
def test_more_replicas_than_a_plan_could_order(count: int) -> None:
    entry = {"topic": "t", "partition": 0, "replicas": list(range(count))}
    value = {"version": 1, "partitions": [entry]}
    expected = rf"t-0: {count} replicas, expected up to 128"
    for read in (Cluster.from_json, Reassignment.from_json):
        with pytest.raises(InputError, match=expected):
            read(value)
    with pytest.raises(InputError, match="must not be above 128"):
        PlanOptions(replication_factor=count)
    entry["replicas"] = list(range(128))
    assert Cluster.from_json(value).replicas.shape == (1, 128)
