"""What was measured, chosen on the command line: a part of the time, sizes ahead, lags."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyarrow")

import pyarrow as pa
import pyarrow.parquet as pq

Run = Callable[..., Any]

DAY = 86_400_000_000
NOON = 1_767_268_800_000_000  # 2026-01-01T12:00Z in microseconds


@pytest.fixture
def measured(tmp_path: Path) -> str:
    """``prof``: t-0 was busy in the first hour, t-1 in the second; t-1 grows; and a group's lags.

    Beside it ``cluster.json`` without sizes, both on brokers 1 and 2, and ``group.json``.
    """
    stamp = pa.timestamp("us", "UTC")
    hour = 3_600_000_000
    tables = {
        "partitions": {
            "topic": ["t", "t"],
            "partition": [0, 1],
            "records": [4, 2],
            "bytes": [7200, 3600],
            "bytes_per_second": [1.0, 0.5],
            "peak_bytes_per_second": [1.9, 1.0],
            "distinct_keys": [1, 1],
            "null_keys": [0, 0],
        },
        "windows": {
            "topic": ["t", "t", "t"],
            "partition": [0, 0, 1],
            "window_start": pa.array([NOON, NOON + hour, NOON + hour], stamp),
            "records": [3, 1, 2],
            "bytes": [6840, 360, 3600],
        },
        "sizes": {
            "topic": ["t", "t"],
            "partition": [0, 1],
            "samples": [2, 2],
            "first": pa.array([NOON, NOON], stamp),
            "last": pa.array([NOON + DAY, NOON + DAY], stamp),
            "size_bytes": [1000, 1000],
            "peak_bytes": [1000, 1000],
            "grown_bytes": [0, 100],
            "deleted_bytes": [0, 0],
        },
        "lags": {
            "group": ["g", "g", "h"],
            "topic": ["t", "t", "t"],
            "partition": [0, 1, 1],
            "samples": [2, 2, 2],
            "first": pa.array([NOON] * 3, stamp),
            "last": pa.array([NOON + DAY] * 3, stamp),
            "committed": [0, 0, 0],
            "end_offset": [5, 9, 9],
            "lag": [5, 9, 9],
            "peak_lag": [5, 9, 9],
            "consumed": [0, 0, 0],
            "produced": [5, 9, 9],
        },
    }
    for name, table in tables.items():
        (tmp_path / "prof" / name).mkdir(parents=True)
        pq.write_table(pa.table(table), tmp_path / "prof" / name / "part-0.parquet")
    totals = {"records": 6, "bytes": 10_800, "rejected": 0, "topics": 1, "partitions": 2}
    about = {"format_version": 1, "sources": [], "window_seconds": 3600, "totals": totals}
    (tmp_path / "prof" / "profile.json").write_text(json.dumps(about))
    partitions = [{"topic": "t", "partition": p, "replicas": [1, 2]} for p in (0, 1)]
    (tmp_path / "cluster.json").write_text(json.dumps({"partitions": partitions}))
    members = [{"id": m, "topics": ["t"]} for m in ("A", "B")]
    (tmp_path / "group.json").write_text(json.dumps({"topics": {"t": 2}, "members": members}))
    return "prof"


def plan(run: Run, tmp_path: Path, *options: str) -> Any:
    """plan.json of a plan by rate."""
    words = ("plan", "cluster.json", "--profile", "prof", "--leaders", "rate", *options)
    assert run(*words, "-o", "plan", "--json").code == 0
    return json.loads((tmp_path / "plan" / "plan.json").read_text())


def rates(document: Any) -> list[float]:
    found: list[float] = document["partitions"]["bytes_per_second"]
    return found


def test_plan_for_a_period(run: Run, measured: str, tmp_path: Path) -> None:
    assert rates(plan(run, tmp_path)) == [1.0, 0.5]
    late = plan(run, tmp_path, "--from", "2026-01-01T13:00")
    assert rates(late) == [0.1, 1.0]
    assert late["loads"] == [
        "rates: the mean of one window, from 2026-01-01T13:00Z to 2026-01-01T14:00Z",
        "sizes: log dirs, 2026-01-02T12:00Z",
        "bytes out: what groups consumed between samples, of 2 partitions",
    ]
    early = ("--from", "2026-01-01T12:00", "--to", "2026-01-01T13:00")
    assert rates(plan(run, tmp_path, *early)) == [1.9, 0.0]
    assert rates(plan(run, tmp_path, "--rate", "peak")) == [1.9, 1.0]
    # what was taken is told to whoever reads
    words = ("plan", "cluster.json", "--profile", "prof", "--leaders", "rate", *early)
    shown = run(*words, "-o", "plan").out
    sentence = "rates: the mean of one window, from 2026-01-01T12:00Z to 2026-01-01T13:00Z"
    assert f" • {sentence}" in shown
    assert sentence in (tmp_path / "plan" / "report.html").read_text()
    assert run("check", "plan").code == 0
    compared = run("compare", *words[1:], "--strategy", "exact", "--json")
    assert compared.json["strategies"]["exact"]["leaders_per_broker"] == [1, 1]


def test_plan_with_forecast_sizes(run: Run, measured: str, tmp_path: Path) -> None:
    assert plan(run, tmp_path)["partitions"]["size_bytes"] == [1000, 1000]
    assert plan(run, tmp_path, "--horizon", "30")["partitions"]["size_bytes"] == [1000, 4000]


def test_assign_by_measured_load(run: Run, measured: str) -> None:
    def weights(*options: str) -> Any:
        words = ("assign", "group.json", "--assignor", "weighted", "--profile", "prof", *options)
        return run(*words, "--json").json["weights"]

    assert sorted(weights().values()) == [500, 1000]
    assert sorted(weights("--rate", "peak").values()) == [1000, 1900]
    assert sorted(weights("--to", "2026-01-01T13:00").values()) == [0, 1900]
    assert sorted(weights("--weight-by", "lag", "--group", "g").values()) == [5, 9]


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (("plan", "cluster.json", "--from", "2026-01-01"), "--from: needs measured loads"),
        (("plan", "cluster.json", "--horizon", "3"), "--horizon: needs measured loads"),
        (("plan", "cluster.json", "--rate", "peak"), "--rate: needs measured loads"),
        (("plan", "cluster.json", "--profile", "prof", "--to", "noon"), "--to noon: expected"),
        (
            ("plan", "cluster.json", "--profile", "prof", "--rate", "median"),
            "--rate median: expected mean or peak",
        ),
        (
            ("plan", "cluster.json", "--profile", "prof", "--horizon", "-1"),
            "--horizon -1: must be a number of days",
        ),
        (
            ("compare", "cluster.json", "--profile", "prof", "--from", "2025-01-01"),
            "prof: was measured from 2026-01-01T12:00Z to 2026-01-01T14:00Z, in windows of 3600 s",
        ),
        (
            ("assign", "group.json", "--assignor", "weighted", "--weight-by", "lag"),
            "--weight-by: needs --profile DIR",
        ),
        (
            ("assign", "group.json", "--assignor", "weighted", "--lag", "x", "--to", "2026-01-01"),
            "--to: needs measured loads",
        ),
        (
            (
                *("assign", "group.json", "--assignor", "weighted", "--profile", "prof"),
                *("--weight-by", "lag", "--rate", "peak"),
            ),
            "--weight-by lag: uses the last sample",
        ),
        (
            (
                *("assign", "group.json", "--assignor", "weighted", "--profile", "prof"),
                *("--weight-by", "lag"),
            ),
            "prof: has several groups, choose one: g, h",
        ),
    ],
)
def test_bad_loads(run: Run, measured: str, words: tuple[str, ...], problem: str) -> None:
    ended = run(*words)
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith(f"partage: {problem}")
    assert len(ended.err.splitlines()) == 1
