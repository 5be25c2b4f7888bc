"""Reassignment JSON of other tools: what is read, and what is refused in one line."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from partage.cluster.reassignment import Reassignment
from partage.errors import InputError
from tests.matrices import cluster_of, text


def entry(topic: str, partition: int, replicas: list[int], **more: Any) -> dict[str, Any]:
    return {"topic": topic, "partition": partition, "replicas": replicas, **more}


def value(*entries: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"version": 1, "partitions": list(entries), **more}


ONE = value(entry("t", 0, [3, 1]))

GENERATED = """Current partition replica assignment
{"version":1,"partitions":[{"topic":"t","partition":0,"replicas":[1,2],"log_dirs":["/d/1","/d/2"]}]}

Proposed partition reassignment configuration
{"version":1,"partitions":[{"topic":"t","partition":0,"replicas":[3,1],"log_dirs":["any","any"]}]}
"""


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(json.dumps(ONE), id="the form itself"),
        pytest.param(json.dumps({"partitions": ONE["partitions"]}), id="without a version"),
        pytest.param(
            json.dumps(value(entry("t", 0, [3, 1], log_dirs=["any", "any"]))), id="any log dirs"
        ),
        pytest.param(GENERATED, id="what --generate prints"),
        pytest.param("WARN something\n" + GENERATED, id="with a warning above"),
    ],
)
def test_read(content: str, tmp_path: Path) -> None:
    file = tmp_path / "other.json"
    file.write_text(content)
    found = Reassignment.read(file)
    assert found == Reassignment(str(file), {("t", 0): (3, 1)})
    (tmp_path / "other.json.gz").write_bytes(gzip.compress(content.encode()))
    assert Reassignment.read(tmp_path / "other.json.gz").lists == found.lists


def test_accepted_types(tmp_path: Path) -> None:
    (tmp_path / "f.json").write_text(json.dumps(ONE))
    read = Reassignment.of(tmp_path / "f.json")
    assert Reassignment.of(read) is read
    assert Reassignment.of(str(tmp_path / "f.json")) == read
    assert Reassignment.of(ONE) == Reassignment("reassignment", read.lists)
    with pytest.raises(InputError, match="reassignment: expected an object with partitions, got 7"):
        Reassignment.of(7)


def test_log_dirs_by_name_are_counted() -> None:
    found = Reassignment.from_json(
        value(
            entry("t", 0, [1, 2], log_dirs=["any", "/d/2"]),
            entry("t", 1, [1, 2], log_dirs=["/d/1", "/d/2"]),
            entry("t", 2, [1, 2], log_dirs=["any", "any"]),
        )
    )
    assert found.in_log_dirs == 2


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([], "expected an object with partitions, got []"),
        ({}, "partitions: missing, expected a list"),
        (
            {"version": 1, "topics": [{"topic": "t"}]},
            "lists topics to move, expected replica lists",
        ),
        (
            {"brokers": [{"id": 1}], **ONE},
            "has brokers: this is a cluster, expected a reassignment",
        ),
        (value(), "no partitions: nothing to reassign"),
        ({**ONE, "version": 2}, "version: expected 1, got 2"),
        ({**ONE, "version": "1"}, 'version: expected 1, got "1"'),
        ({**ONE, "version": True}, "version: expected 1, got true"),
        ({**ONE, "partitions": {"t": []}}, 'partitions: expected a list of objects, got {"t": []}'),
        (value(7), "partitions[0]: expected an object with topic, partition, replicas, got 7"),  # type: ignore[arg-type]
        (value({"partition": 0, "replicas": [1]}), "partitions[0].topic: missing, expected text"),
        (
            value({"topic": "t", "replicas": [1]}),
            "partitions[0].partition: missing, expected a whole number from 0",
        ),
        (
            value({"topic": "t", "partition": 0}),
            "partitions[0].replicas: missing, expected a list of brok",
        ),
        (
            value(entry("t", -1, [1])),
            "partitions[0].partition: expected a whole number from 0 to 2147483647, got -1",
        ),
        (
            value(entry("t", 0, [-1])),
            "partitions[0].replicas[0]: expected a whole number from 0 to 2147483647, got -1",
        ),
        (
            value(entry("t", 0, ["1"])),
            'partitions[0].replicas[0]: expected a whole number from 0 to 2147483647, got "1"',
        ),  # type: ignore[list-item]
        (value(entry("t", 0, [])), "t-0: has no replicas"),
        (value(entry("t", 0, [1, 2, 1])), "t-0: broker 1 is named twice"),
        (value(entry("t", 0, [1]), entry("u", 0, [1]), entry("t", 0, [2])), "t-0: listed twice"),
        (
            value(entry("t", 0, [1], log_dirs="any")),
            'partitions[0].log_dirs: expected a list of text or null, got "any"',
        ),
        (
            value(entry("t", 0, [1], log_dirs=[7])),
            "partitions[0].log_dirs[0]: expected text, got 7",
        ),
    ],
)
def test_refused(given: Any, message: str) -> None:
    with pytest.raises(InputError) as refused:
        Reassignment.from_json(given, "other.json")
    assert str(refused.value).startswith(f"other.json: {message}")
    assert len(str(refused.value).splitlines()) == 1


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "not valid JSON"),
        ("Topic: t\n", "not valid JSON"),
        (
            GENERATED.partition("Proposed")[0],
            "contains the current replicas, expected proposed ones",
        ),
        (GENERATED.partition("configuration")[0] + "configuration\n", "not valid JSON"),
    ],
)
def test_files_refused(content: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "other.txt").write_text(content)
    with pytest.raises(InputError, match=message):
        Reassignment.read(tmp_path / "other.txt")


# ---------------------------------------------------------------- on a cluster


CLUSTER = ("1,2 2,3 u: 1,3,2 3,4", "1 2 3 4! 5")


@pytest.mark.parametrize(
    ("entries", "after"),
    [
        ([entry("t", 1, [5, 1])], "1,2 5,1 1,3,2 3,4"),
        ([entry("u", 0, [1])], "1,2 2,3 1 3,4"),
        ([entry("t", 0, [1, 2, 3, 5])], "1,2,3,5 2,3 1,3,2 3,4"),
        ([entry("u", 1, [4, 5]), entry("t", 0, [1, 2])], "1,2 2,3 1,3,2 4,5"),
    ],
)
def test_replaces_current_replicas(entries: list[dict[str, Any]], after: str) -> None:
    cluster = cluster_of(*CLUSTER)
    found = cluster.with_replicas(Reassignment.from_json(value(*entries)).on(cluster))
    assert text(found.replica_lists()) == after


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        (entry("v", 0, [1]), "topic v is not in the cluster"),
        (entry("t", 2, [1]), "t-2: the cluster has no such partition"),
        (entry("t", 0, [1, 6]), "t-0: broker 6 is not in the cluster"),
        (entry("t", 0, [1, 4]), "t-0: broker 4 is dead, it cannot take a replica"),
    ],
)
def test_refused_for_this_cluster(wanted: dict[str, Any], message: str) -> None:
    given = Reassignment.from_json(value(entry("t", 1, [5, 1]), wanted), "other.json")
    with pytest.raises(InputError) as refused:
        given.on(cluster_of(*CLUSTER))
    assert str(refused.value) == f"other.json: {message}"
