"""Sizes and lags over time, out of columns or of what Kafka's tools print; counted by hand."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyspark")

import pyarrow as pa
import pyarrow.parquet as pq

from partage.errors import InputError
from partage.measured_loads import Profile
from partage.period import Period
from partage.pipeline import profile_tables, write_profile

pytestmark = pytest.mark.spark

Write = Callable[..., str]

LOG_DIRS = """Querying brokers for log directories information
Received log directory information from brokers 1,2
{}
"""
GROUPS = """
GROUP           TOPIC           PARTITION  CURRENT-OFFSET  LOG-END-OFFSET  LAG  CONSUMER-ID  HOST  CLIENT-ID
billing prod    orders          0          {committed}     {end}           3    c-1-abc      /127.0.0.1  c-1
billing prod    orders          1          -               7               -    -            -     -

Consumer group 'idle' has no active members.

GROUP           TOPIC           PARTITION  CURRENT-OFFSET  LOG-END-OFFSET  LAG  CONSUMER-ID  HOST  CLIENT-ID
idle            orders          0          5               {end}           {lag}  -          -     -

Error: Consumer group 'gone' does not exist.

Warning: Consumer group 'busy 1' is rebalancing.

GROUP           TOPIC           PARTITION  CURRENT-OFFSET  LOG-END-OFFSET  LAG  CONSUMER-ID  HOST  CLIENT-ID
busy 1          orders          0          6               {end}           4    c-2-def      /127.0.0.1  c-2
busy 1          -               -          -               -               -    c-3-ghi      /127.0.0.1  c-3

Error: Executing consumer group command failed due to TimeoutException
"""  # noqa: E501


def log_dirs(*replicas: tuple[int, str, int]) -> str:
    """The tool's output of (broker, partition, size); a negative size is a copy that moves."""
    brokers = [
        {
            "broker": broker,
            "logDirs": [
                {
                    "error": None,
                    "logDir": "/data",
                    "partitions": [
                        {"partition": p, "size": abs(n), "offsetLag": 0, "isFuture": n < 0}
                        for b, p, n in replicas
                        if b == broker
                    ],
                }
            ],
        }
        for broker in sorted({b for b, _, _ in replicas})
    ]
    return LOG_DIRS.format(json.dumps({"version": 1, "brokers": brokers}))


@pytest.fixture
def sampled(tmp_path: Path) -> Path:
    """Three samples a day apart: a-b-0 grows, a-b-1 is deleted from, a-b-2 is there once."""
    folder = tmp_path / "sizes"
    folder.mkdir()
    (folder / "log-dirs-2026-01-01T00-00.txt").write_text(
        log_dirs((1, "a-b-0", 100), (2, "a-b-0", 110), (1, "a-b-1", 500), (2, "a-b-1", -900))
    )
    (folder / "log-dirs_20260102_0000.txt").write_text(
        log_dirs((1, "a-b-0", 160), (2, "a-b-0", 150), (1, "a-b-1", 200))
    )
    (folder / "2026-01-03 00-00-00.txt").write_text(
        log_dirs((1, "a-b-0", 310), (1, "a-b-1", 450), (2, "a-b-2", 5))
    )
    (folder / "undated.txt").write_text(log_dirs((1, "a-b-0", 1)))
    (folder / "2026-01-04T00-00.txt").write_text("Querying brokers\n{broken\n")
    return folder


@pytest.mark.long
def test_sizes_out_of_log_dirs(spark: Any, sampled: Path) -> None:
    tables = profile_tables(spark, [], sizes=[str(sampled)])
    columns = ("topic", "partition", "samples", "size_bytes", "peak_bytes")
    columns += ("grown_bytes", "deleted_bytes")
    rows = [tuple(row[c] for c in columns) for row in tables["sizes"].to_pylist()]
    assert rows == [
        ("a-b", 0, 3, 310, 310, 200, 0),
        ("a-b", 1, 3, 450, 500, 250, 300),
        ("a-b", 2, 1, 5, 5, 0, 0),
    ]
    spans = [(r["first"].isoformat()[:10], r["last"].isoformat()[:10]) for r in rows_of(tables)]
    assert spans == [("2026-01-01", "2026-01-03")] * 2 + [("2026-01-03", "2026-01-03")]
    assert [(Path(r["source"]).name, r["reason"]) for r in tables["rejected"].to_pylist()] == [
        ("2026-01-04T00-00.txt", "line has no broker with log dirs"),
        ("undated.txt", "the file name has no time, such as 2026-11-20T08-00"),
    ]
    assert tables["partitions"].num_rows == tables["windows"].num_rows == 0
    assert "lags" not in tables


def rows_of(tables: dict[str, Any]) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = tables["sizes"].to_pylist()
    return rows


@pytest.mark.long
def test_columns_agree(spark: Any, sampled: Path, tmp_path: Path) -> None:
    samples = [
        ("2026-01-01T00:00:00Z", 0, 1, 100),
        ("2026-01-01T00:00:00Z", 0, 2, 110),
        ("2026-01-01T00:00:00Z", 1, 1, 500),
        ("2026-01-02T00:00:00Z", 0, 1, 160),
        ("2026-01-02T00:00:00Z", 0, 2, 150),
        ("2026-01-02T00:00:00Z", 1, 1, 200),
        ("2026-01-03T00:00:00Z", 0, 1, 310),
        ("2026-01-03T00:00:00Z", 1, 1, 450),
        ("2026-01-03T00:00:00Z", 2, 2, 5),
    ]
    names = ("timestamp", "topic", "partition", "broker", "size_bytes")
    rows = [dict(zip(names, (t, "a-b", p, b, n), strict=True)) for t, p, b, n in samples]
    # a third of them in each format: together they are the whole
    pq.write_table(pa.Table.from_pylist(rows[:3]), tmp_path / "one.parquet")
    (tmp_path / "two.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows[3:6]))
    lines = [",".join(str(v) for v in row.values()) for row in rows[6:]]
    (tmp_path / "three.csv").write_text("\n".join([",".join(names), *lines, "noon,a-b,0,1,9\n"]))
    files = [str(tmp_path / name) for name in ("one.parquet", "two.jsonl", "three.csv")]
    tables = profile_tables(spark, [], sizes=files)
    assert tables["sizes"] == profile_tables(spark, [], sizes=[str(sampled)])["sizes"]
    assert tables["rejected"]["reason"].to_pylist() == [
        "timestamp is neither ISO 8601 nor milliseconds: noon"
    ]


def test_lags_of_both_forms(spark: Any, tmp_path: Path, write_lines: Write) -> None:
    folder = tmp_path / "lags"
    folder.mkdir()
    for name, committed, end in (
        ("2026-01-01T00-00-00", 90, 100),
        ("2026-01-01T00-01-40", 97, 120),
    ):
        (folder / f"{name}.txt").write_text(
            GROUPS.format(committed=committed, end=end, lag=end - 5)
        )
    # an hour later the group was set back to the begin, and went on from there
    names = ("timestamp", "group", "topic", "partition", "committed", "end_offset")
    late = [
        ("2026-01-01T01:00:00Z", "billing prod", "orders", 0, 10, 125),
        ("2026-01-01T01:00:00Z", "other", "orders", 0, 130, 125),
        ("2026-01-01T01:00:00Z", "other", "orders", 0, -1, 125),
    ]
    path = write_lines("late.jsonl", *(dict(zip(names, row, strict=True)) for row in late))
    tables = profile_tables(spark, [], lags=[str(folder), path])
    columns = ("group", "partition", "samples", "committed", "end_offset", "lag", "peak_lag")
    columns += ("consumed", "produced")
    assert [tuple(row[c] for c in columns) for row in tables["lags"].to_pylist()] == [
        ("billing prod", 0, 3, 10, 125, 115, 115, 7, 25),
        ("billing prod", 1, 2, None, 7, 7, 7, 0, 0),
        ("busy 1", 0, 2, 6, 120, 114, 114, 0, 20),
        ("idle", 0, 2, 5, 120, 115, 115, 0, 20),
        ("other", 0, 1, 130, 125, 0, 0, 0, 0),
    ]
    assert tables["rejected"]["reason"].to_pylist() == ["committed is negative: -1"]


@pytest.mark.long
def test_lags_with_leader_epochs(spark: Any, tmp_path: Path) -> None:
    """As ``--describe --verbose`` prints them: a number more, which is no offset."""
    (tmp_path / "2026-01-01T00-00-00.txt").write_text(
        "GROUP TOPIC PARTITION LEADER-EPOCH CURRENT-OFFSET LOG-END-OFFSET LAG CONSUMER-ID HOST ID\n"
        "g1    orders 0        5            90             100            10  c-1   /10.0.0.1 c\n"
        "g1    orders 1        5            7              7              0   -     -         -\n"
        "g1    orders 2        -            -              40             -   -     -         -\n"
        "g1    orders 3        3            3              6              3   c-1   /10.0.0.1 c\n"
    )
    tables = profile_tables(spark, [], lags=[str(tmp_path)])
    columns = ("partition", "committed", "end_offset", "lag")
    assert [tuple(row[c] for c in columns) for row in tables["lags"].to_pylist()] == [
        (0, 90, 100, 10),
        (1, 7, 7, 0),
        (2, None, 40, 40),
        (3, 3, 6, 3),
    ]


@pytest.mark.long
def test_missing_columns_are_named(spark: Any, write_lines: Write) -> None:
    records = write_lines("r.jsonl", {"topic": "t", "partition": 0, "timestamp": 1, "offset": 1})
    with pytest.raises(InputError, match=r"columns missing: broker, size_bytes \(found: topic,"):
        profile_tables(spark, [], sizes=[records])
    missing = r"columns missing: group, committed, end_offset \(found: .*: null$"
    with pytest.raises(InputError, match=missing):
        profile_tables(spark, [], lags=[records])
    with pytest.raises(InputError, match="has records, expected files of log-dir sizes"):
        profile_tables(spark, [], sizes=["kafka://h:1/t"])
    nothing = write_lines("nothing.txt", "no line of this is about a partition")
    with pytest.raises(InputError, match="no consumer lags: the input is empty"):
        profile_tables(spark, [], lags=[nothing])
    colon = write_lines("2026-01-03T00:00:00.txt", log_dirs((1, "a-0", 1)))
    with pytest.raises(InputError, match=r"does not accept the colon in 2026-01-03T00:00:00\.txt"):
        profile_tables(spark, [], sizes=[colon])
    with pytest.raises(InputError, match=r"names that end in \.parquet, \.orc, .*, \.txt\)"):
        profile_tables(spark, [], sizes=[write_lines("sizes.xml", "<a/>")])


# ---------------------------------------------------------------------- a part of the time


@pytest.mark.long
def test_only_records_in_the_period_count(
    spark: Any, records: Any, sampled: Path, write_lines: Write, tmp_path: Path
) -> None:
    """Half of the records and two samples of sizes: of what, from when, and how many not."""
    path = write_lines("r.jsonl", *records)
    period = Period.of("2023-11-14T22:13:20Z", "2023-11-14T23:13:20Z")
    about = write_profile(spark, [path], tmp_path / "out", window=600, period=period)
    assert (about["from"], about["to"]) == ("2023-11-14T22:13:20Z", "2023-11-14T23:13:20Z")
    # the end does not belong to it
    assert (about["totals"]["records"], about["outside"]) == (5, 3)
    profile = Profile.read(tmp_path / "out")
    assert profile.period == period
    assert profile.outside == 3
    # over the hour asked for, not over the time that the topic has records
    assert profile.bytes_per_second.tolist() == [21 / 3600, 158 / 3600, 1004 / 3600]
    with pytest.raises(
        InputError, match=r"^window: 7200 s: must not be longer than the period of 3600 s, "
    ):
        profile_tables(spark, [path], window=7200, period=period)
    days = Period.of("2026-01-02", "2026-01-03")
    with pytest.raises(InputError, match=r"no records: none from 2026-01-02T00:00Z to .*: all are"):
        profile_tables(spark, [path], period=days)
    tables = profile_tables(spark, [], sizes=[str(sampled)], period=days)
    assert tables["sizes"]["samples"].to_pylist() == [1, 1]
