"""partition: each key's partition as the clients' own libraries compute it."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import confluent_kafka
import pytest

Run = Callable[..., Any]

ORACLES = {
    "murmur2": confluent_kafka.murmur2,
    "consistent": confluent_kafka.consistent,
    "fnv1a": confluent_kafka.fnv1a,
}
KEYS = ["user-1", "user-2", "ключ", "a b", *map(str, range(40))]


@pytest.mark.parametrize("partitioner", ORACLES)
def test_keys_go_where_librdkafka_sends_them(run: Run, partitioner: str) -> None:
    value = run("partition", *KEYS, "--partitions", "12", "--partitioner", partitioner, "--json")
    found = value.json
    expected = [ORACLES[partitioner](key.encode(), 12) for key in KEYS]
    assert [one["partition"] for one in found["keys"]] == expected
    assert [one["key"] for one in found["keys"]] == KEYS
    assert [bytes.fromhex(one["bytes"]).decode() for one in found["keys"]] == KEYS
    counts = Counter(expected)
    assert found["keys_per_partition"] == [counts[number] for number in range(12)]
    assert (found["partitions"], found["partitioner"]) == (12, partitioner)


@pytest.mark.parametrize(
    ("partitioner", "key", "chance"),
    [("random", "a", True), ("consistent_random", "", True), ("consistent_random", "a", False)],
)
def test_a_place_by_chance_is_marked(run: Run, partitioner: str, key: str, chance: bool) -> None:
    ended = run("partition", key, "--partitions", "12", "--partitioner", partitioner)
    assert ("does not hash every one of these keys" in ended.err) is chance


def test_a_table(run: Run) -> None:
    ended = run("partition", "42", "7", "--serializer", "long", "--partitions", "12")
    rows = [line.split() for line in ended.out.splitlines()]
    for key in (42, 7):
        packed = key.to_bytes(8, "big")
        assert [str(key), packed.hex(), str(confluent_kafka.murmur2(packed, 12))] in rows
    assert rows[-1] == ["2", "keys", "on", "12", "partitions:", "0", "to", "1", "each"]


def test_keys_of_a_file(run: Run, tmp_path: Path) -> None:
    (tmp_path / "keys.txt").write_bytes("a\r\n\nü\x0bx\nlast".encode())
    arguments = ("partition", "--file", "keys.txt", "--partitions", "5")
    found = run(*arguments, "--json").json["keys"]
    assert [one["key"] for one in found] == ["a", "", "ü\x0bx", "last"]
    assert "0xc3bc0b78" in run(*arguments).out
    (tmp_path / "keys.txt").write_text("1\ntwo\n")
    ended = run(*arguments, "--serializer", "integer")
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith("partage: keys.txt line 2: two: expected a whole number")


def test_many_keys(run: Run, tmp_path: Path) -> None:
    (tmp_path / "keys.txt").write_text("".join(f"{number}\n" for number in range(1000)))
    lines = run("partition", "--file", "keys.txt", "--partitions", "10").out.splitlines()
    counts = Counter(confluent_kafka.murmur2(str(n).encode(), 10) for n in range(1000))
    assert lines[-3] == "and 950 more keys: --json lists all"
    fewest, most = min(counts.values()), max(counts.values())
    assert lines[-1] == f"1,000 keys on 10 partitions: {fewest} to {most} each"


def test_standard_input() -> None:
    command = [sys.executable, "-m", "partage", "partition", "--file", "-", "--partitions", "3"]
    ended = subprocess.run(command, input="a\nb\n", capture_output=True, text=True, timeout=60)
    expected = [[key, str(confluent_kafka.murmur2(key.encode(), 3))] for key in "ab"]
    assert [line.split() for line in ended.stdout.splitlines()[2:4]] == expected


OWN = """
from partage.producers import Partitioner

class ByLength(Partitioner):
    def partition(self, record, topic):
        return len(record.key_bytes) % topic.partitions

def beyond(key, partitions):
    return partitions

def fails(key, partitions):
    raise KeyError("two\\nlines")
"""


def test_your_own_partitioner_in_the_working_directory(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "path", list(sys.path))
    (tmp_path / "by_length.py").write_text(OWN)
    arguments = ("partition", "abc", "--partitions", "2", "--partitioner")
    assert run(*arguments, "by_length:ByLength", "--json").json["keys"][0]["partition"] == 1
    for name, problem in {
        "beyond": "beyond returned partition 2: expected 0 to 1",
        "fails": "fails failed on key 'abc': KeyError: 'two\\nlines'",
    }.items():
        ended = run(*arguments, f"by_length:{name}")
        assert (ended.code, ended.out, ended.err) == (1, "", f"partage: {problem}\n")
    sys.modules.pop("by_length")
    ended = run(*arguments, "nowhere_at_all:X")
    assert ended.code == 2
    assert "'nowhere_at_all:X': ModuleNotFoundError" in ended.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--partitions", "3"), "expected keys, either as arguments or with --file"),
        (("a", "--file", "b", "--partitions", "3"), "expected keys, either as arguments"),
        (("a", "--partitions", "0"), "--partitions: 0: must be between 1 and 100,000"),
        (("a", "--partitions", "2147483647"), "must be between 1 and 100,000"),
        (("a", "--partitions", "3", "--partitioner", "md5"), "--partitioner: 'md5': expected one"),
        (("a", "--partitions", "3", "--serializer", "avro"), "--serializer: avro: expected one"),
        (("--file", "none.txt", "--partitions", "3"), "none.txt: no such file"),
    ],
)
def test_bad_input(run: Run, arguments: tuple[str, ...], message: str) -> None:
    ended = run("partition", *arguments)
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.count("\n") == 1
    assert message in ended.err
