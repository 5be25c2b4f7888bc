"""Reading a profile: columns in a cluster's rows, and one line for a directory that is none."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("pyarrow")

import pyarrow as pa
import pyarrow.parquet as pq

from partage.cluster import Cluster
from partage.errors import InputError
from partage.profile import Profile, shown_key

PARTITIONS: dict[str, list[Any]] = {
    "topic": ["b", "a", "a"],
    "partition": [0, 10, 2],
    "records": [1, 2, 3],
    "bytes": [10, 20, 30],
    "bytes_per_second": [0.5, 1.0, 1.5],
    "peak_bytes_per_second": [5.0, 6.0, 7.0],
    "distinct_keys": [1, 1, 2],
    "null_keys": [0, 1, 0],
}
KEYS: dict[str, list[Any]] = {
    "topic": ["b", "a", "a"],
    "rank": [1, 2, 1],
    "key": [b"\xff\x00", b"cold", b"hot"],
    "records": [1, 1, 3],
    "bytes": [10, 5, 30],
    "share": [1.0, 0.2, 0.6],
}
ABOUT: dict[str, Any] = {
    "format_version": 1,
    "partage": "0.1.0",
    "sources": ["records.parquet"],
    "window_seconds": 3600,
    "top_keys": 100,
    "totals": {"records": 6, "bytes": 60, "rejected": 0, "topics": 2, "partitions": 3},
}

Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Write a profile with some columns changed, in two part files."""

    def make(about: dict[str, Any] | None = None, **columns: Any) -> Path:
        directory = tmp_path / "profile"
        for name, table in (("partitions", {**PARTITIONS, **columns}), ("keys", KEYS)):
            (directory / name).mkdir(parents=True)
            whole = pa.table({k: v for k, v in table.items() if v is not None})
            pq.write_table(whole.slice(0, 1), directory / name / "part-0.parquet")
            pq.write_table(whole.slice(1), directory / name / "part-1.parquet")
        (directory / "profile.json").write_text(json.dumps(ABOUT | (about or {})))
        return directory

    return make


def _cluster(*partitions: tuple[str, int]) -> Cluster:
    return Cluster.from_json(
        {
            "brokers": [{"id": 1}],
            "partitions": [{"topic": t, "partition": p, "replicas": [1]} for t, p in partitions],
        }
    )


def test_columns_are_in_order(write: Write) -> None:
    profile = Profile.read(write())
    assert profile.topics == ("a", "b")
    assert profile.topic.tolist() == [0, 0, 1]
    assert profile.partition.tolist() == [2, 10, 0]
    assert profile.records.tolist() == [3, 2, 1]
    assert profile.bytes.tolist() == [30, 20, 10]
    assert profile.bytes_per_second.tolist() == [1.5, 1.0, 0.5]
    assert profile.peak_bytes_per_second.tolist() == [7.0, 6.0, 5.0]
    assert profile.window_seconds == 3600
    assert profile.totals["records"] == 6


def test_aligned_with_a_cluster(write: Write) -> None:
    measured = Profile.read(write()).aligned(_cluster(("a", 1), ("a", 2), ("b", 0), ("c", 0)))
    assert measured.bytes_per_second.dtype == np.float64
    assert measured.bytes_per_second.tolist() == [0.0, 1.5, 0.5, 0.0]
    assert measured.bytes.dtype == np.int64
    assert measured.bytes.tolist() == [-1, 30, 10, -1]
    assert measured.not_in_cluster == ("a-10",)
    assert measured.not_measured == ("a-1", "c-0")


def test_weights_for_a_group(write: Write) -> None:
    assert Profile.read(write()).weights() == {"a": {2: 1500, 10: 1000}, "b": {0: 500}}


def test_hot_keys(write: Write) -> None:
    profile = Profile.read(write())
    assert [(k.topic, k.rank, k.key, k.share) for k in profile.hot_keys()] == [
        ("a", 1, "hot", 0.6),
        ("a", 2, "cold", 0.2),
        ("b", 1, "0xff00", 1.0),
    ]
    assert [k.key for k in profile.hot_keys(1)] == ["hot", "0xff00"]


@pytest.mark.parametrize(
    ("key", "shown"),
    [(b"plain", "plain"), ("é".encode(), "é"), (b"", ""), (b"a\nb", "0x610a62"), (b"\xff", "0xff")],
)
def test_keys_as_text(key: bytes, shown: str) -> None:
    assert shown_key(key) == shown


@pytest.mark.parametrize(
    ("about", "problem"),
    [
        ({"format_version": 2}, "format_version is 2"),
        ({"format_version": None}, "format_version is None"),
        ({"window_seconds": "1h"}, "window_seconds"),
        ({"sources": "x"}, "sources"),
        ({"totals": {}}, "totals"),
    ],
)
def test_a_bad_marker_is_refused(write: Write, about: dict[str, Any], problem: str) -> None:
    with pytest.raises(InputError, match=f"profile.json: {problem}"):
        Profile.read(write(about))


@pytest.mark.parametrize(
    ("columns", "problem"),
    [
        ({"bytes": None, "records": None}, "columns missing: records, bytes"),
        ({"partition": ["x", "y", "z"]}, "no readable table"),
        ({"bytes": [1, None, 2]}, "column bytes has nulls"),
        ({"bytes_per_second": [0.0, float("nan"), 1.0]}, "no measurements"),
        ({"partition": [-1, 0, 1]}, "no measurements"),
        ({"partition": [0, 2, 2]}, "a-2: measured twice"),
    ],
)
def test_a_bad_table_is_refused(write: Write, columns: dict[str, Any], problem: str) -> None:
    with pytest.raises(InputError, match=problem) as caught:
        Profile.read(write(**columns))
    assert "\n" not in str(caught.value)


def test_what_is_no_profile_is_refused(write: Write, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "other").mkdir()
    for name, problem in (
        ("nowhere", "no such directory"),
        ("file", "is a file"),
        ("other", r"has no profile\.json"),
    ):
        with pytest.raises(InputError, match=problem):
            Profile.read(tmp_path / name)
    directory = write()
    (directory / "partitions" / "part-1.parquet").write_bytes(b"PAR1 nonsense")
    with pytest.raises(InputError, match=r"part-1\.parquet: is no readable table"):
        Profile.read(directory)
    for file in (directory / "partitions").iterdir():
        file.unlink()
    with pytest.raises(InputError, match="has no Parquet files"):
        Profile.read(directory)
