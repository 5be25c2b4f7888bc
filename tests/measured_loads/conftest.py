"""A small profile, written without Spark."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

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
HOUR = 3_600_000
BEGIN = 1_767_225_600_000  # 2026-01-01T00:00Z
WINDOWS: dict[str, list[Any]] = {
    "topic": ["a", "a", "a", "b"],
    "partition": [2, 2, 10, 0],
    "window_start": [BEGIN, BEGIN + HOUR, BEGIN + 3 * HOUR, BEGIN + HOUR],
    "records": [1, 2, 2, 1],
    "bytes": [7200, 36_000, 3600, 1800],
}
DAY = 24 * HOUR
SIZES: dict[str, list[Any]] = {
    "topic": ["a", "a", "b"],
    "partition": [2, 10, 0],
    "samples": [3, 3, 1],
    "first": [BEGIN, BEGIN, BEGIN],
    "last": [BEGIN + 2 * DAY, BEGIN + 2 * DAY, BEGIN],
    "size_bytes": [1000, 300, 5],
    "peak_bytes": [1000, 900, 5],
    "grown_bytes": [500, 1200, 0],
    "deleted_bytes": [0, 1000, 0],
}
LAGS: dict[str, list[Any]] = {
    "group": ["g", "g", "h"],
    "topic": ["a", "b", "a"],
    "partition": [2, 0, 2],
    "samples": [2, 1, 2],
    "first": [BEGIN, BEGIN, BEGIN],
    "last": [BEGIN + 10_000, BEGIN, BEGIN + 10_000],
    "committed": [5, 6, 7],
    "end_offset": [15, 6, 8],
    "lag": [10, 0, 1],
    "peak_lag": [12, 0, 1],
    "consumed": [5, 0, 4],
    "produced": [25, 0, 4],
}
TIMES = ("window_start", "first", "last")
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

    pq = pytest.importorskip("pyarrow.parquet")
    pa = pytest.importorskip("pyarrow")

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


def add(directory: Path, name: str, table: dict[str, list[Any]]) -> None:
    """One more table of the profile; its times are in microseconds, as ``profile`` writes them."""
    pq = pytest.importorskip("pyarrow.parquet")
    pa = pytest.importorskip("pyarrow")
    columns = {
        k: pa.array([1000 * t for t in v], pa.timestamp("us", "UTC")) if k in TIMES else v
        for k, v in table.items()
    }
    (directory / name).mkdir()
    pq.write_table(pa.table(columns), directory / name / "part-0.parquet")
