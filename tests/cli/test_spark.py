"""profile and demo through the command line: on Spark."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.spark

Run = Callable[..., Any]

CSV = """topic,partition,offset,timestamp,key,value_bytes
t,0,0,2026-01-01T00:00:00Z,a,100
t,0,1,2026-01-01T00:00:10Z,a,300
t,1,0,2026-01-01T00:00:00Z,b,50
t,1,1,2026-01-01T00:00:10Z,,50
t,x,2,2026-01-01T00:00:10Z,b,50
"""


@pytest.mark.long
def test_demo(run: Run, spark: Any, tmp_path: Path) -> None:
    ended = run("demo", "--json", "-o", "out")
    assert ended.code == 0
    value = ended.json
    assert value["measured"]["records"] == 378_940
    figures = value["figures"]
    assert figures["rack_violations"] == 0
    assert figures["moves"] == figures["moves_lower_bound"]
    assert figures["settled"] is True
    assert value["leaders_other_than_by_count"] > 0
    busiest = value["busiest_leader_bytes_per_second"]
    assert busiest < value["busiest_leader_bytes_per_second_by_count"]
    assert len(value["checked"]) >= 6
    assert [one["deterministic"] for one in value["strategies"].values()] == [True] * 3
    report = tmp_path / value["report"]
    assert report.read_text(encoding="utf-8").startswith("<!doctype html")

    ended = run("check", value["plan"], "--json")
    assert (ended.code, ended.json["sound"]) == (0, True)
    assert {p.name for p in (tmp_path / "out").iterdir()} == {"plan", "profile"}

    # its profile is one that plan takes
    from importlib.resources import as_file, files

    with as_file(files("partage") / "data" / "cluster-grown.json") as cluster:
        again = run(
            *("plan", str(cluster), "--profile", value["profile"], "--leaders", "rate", "--json")
        )
    assert {k: v for k, v in again.json.items() if k != "seconds"} == {
        k: v for k, v in figures.items() if k != "seconds"
    }


@pytest.mark.long
def test_demo_in_a_hundred_columns(run: Run, spark: Any) -> None:
    ended = run("demo", "-o", "out")
    assert ended.code == 0
    assert max(map(len, ended.out.splitlines())) <= 100
    assert "Report: out/plan/report.html" in ended.out


def test_profile(run: Run, spark: Any, tmp_path: Path) -> None:
    (tmp_path / "records.csv").write_text(CSV)
    cluster = {
        "partitions": [
            {"topic": "t", "partition": p, "replicas": [1 + p % 2, 2 - p % 2]} for p in range(3)
        ]
    }
    (tmp_path / "cluster.json").write_text(json.dumps(cluster))
    # the JVM of the tests was started elsewhere
    records = str(tmp_path / "records.csv")
    ended = run("profile", records, "-o", "prof", "--cluster", "cluster.json", "--json")
    assert ended.code == 0
    value = ended.json
    assert value["totals"]["records"] == 4
    assert value["totals"]["rejected"] == 1
    assert value["not_measured"] == ["t-2"]
    assert value["not_in_cluster"] == []
    again = run("profile", records, "-o", "prof")
    assert (again.code, again.err) == (
        2,
        "partage: prof: already exists: --overwrite replaces it\n",
    )
    text = run("profile", records, "-o", "prof", "--cluster", "cluster.json", "--overwrite")
    assert text.code == 0
    assert max(map(len, text.out.splitlines())) <= 100
    # all records are in one window: no partition's rate differs from its peak
    (row,) = (line.split() for line in text.out.splitlines() if line.startswith("t "))
    assert row[5] == row[6] == "12.1"
    figures = run("plan", "cluster.json", "--profile", "prof", "--leaders", "rate", "--json").json
    assert figures["bytes_moved"] is not None


@pytest.mark.long
def test_a_profile_for_others_than_plan(run: Run, spark: Any, small: str, tmp_path: Path) -> None:
    """Written by Spark as CSV."""
    (tmp_path / "records.csv").write_text(CSV)
    records = str(tmp_path / "records.csv")
    text = run("profile", records, "-o", "prof", "--format", "csv")
    assert text.out == "4 records, 503 B, 1 topic, 2 partitions, 1 rejected\n\nWritten: prof\n"
    refused = run("plan", small, "--profile", "prof", "--leaders", "rate")
    assert refused.code == 2
    assert "its tables are csv, only Parquet is read" in refused.err
    refused = run("profile", records, "-o", "new", "--format", "csv", "--cluster", small)
    problem = "needs a profile in Parquet on this machine, found --format csv"
    assert refused.err == f"partage: --cluster: {problem}\n"


@pytest.mark.long
def test_profile_of_a_period(run: Run, spark: Any, tmp_path: Path) -> None:
    (tmp_path / "records.csv").write_text(CSV)
    records = str(tmp_path / "records.csv")
    ended = run("profile", records, "--from", "2026-01-01T00:00:05", "--window", "5", "-o", "prof")
    assert ended.code == 0
    assert ended.out.startswith("2 records, 351 B, 1 topic, 2 partitions, 1 rejected\n")
    assert "\n2 rows ignored: not from 2026-01-01T00:00:05Z\n" in ended.out
    assert max(map(len, ended.out.splitlines())) <= 100
    ended = run("profile", records, "--to", "2025-01-01", "-o", "other")
    assert (ended.code, ended.out) == (2, "")
    assert "no records: none to 2025-01-01T00:00Z: all are from 2026-01-01T00:00Z to" in ended.err
    ended = run("profile", records, "--from", "noon", "-o", "other")
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith("partage: --from noon: expected a time")


def test_profile_without_records(run: Run, spark: Any, tmp_path: Path) -> None:
    (tmp_path / "bad.csv").write_text("a,b\n1,2\n")
    (tmp_path / "empty.csv").write_text("")
    for name in ("bad.csv", "empty.csv", "none.csv"):
        ended = run("profile", str(tmp_path / name), "-o", "prof", "--json")
        assert (ended.code, ended.out) == (2, ""), name
        assert ended.err.startswith("partage: ")
        assert len(ended.err.splitlines()) == 1
        assert not (tmp_path / "prof").exists()
