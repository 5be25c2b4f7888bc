"""The tables against a second computation in plain Python, and against what may not change them."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from typing import Any

import pytest

pytest.importorskip("pyspark")

import pyarrow.parquet as pq

from partage.pipeline import accepted, by_key, by_window, keys, partitions, read_records, windows
from partage.pipeline.measure import distinct_keys, key_places

pytestmark = pytest.mark.spark

DAY = 86_400


@pytest.fixture(scope="module")
def rows(change_events: str) -> list[dict[str, Any]]:
    return pq.read_table(change_events).to_pylist()


def _size(row: dict[str, Any]) -> int:
    return row["value_bytes"] + len(row["key"] or b"")


def test_partitions_are_what_a_plain_count_finds(measured: Any, rows: Any) -> None:
    grouped: dict[tuple[str, int], list[dict[str, Any]]] = defaultdict(list)
    by_topic: dict[str, list[float]] = defaultdict(list)
    for row in rows:
        grouped[row["topic"], row["partition"]].append(row)
        by_topic[row["topic"]].append(row["timestamp"].timestamp())
    table = measured["partitions"].to_pylist()
    assert [(r["topic"], r["partition"]) for r in table] == sorted(grouped)
    for found in table:
        own = grouped[found["topic"], found["partition"]]
        size = sum(map(_size, own))
        daily = Counter()
        for row in own:
            daily[int(row["timestamp"].timestamp()) // DAY] += _size(row)
        times = by_topic[found["topic"]]
        assert found["records"] == len(own)
        assert found["bytes"] == size
        assert found["distinct_keys"] == len({row["key"] for row in own})
        assert found["null_keys"] == 0
        assert found["first"] == min(row["timestamp"] for row in own)
        assert found["last"] == max(row["timestamp"] for row in own)
        assert found["bytes_per_second"] == size / max(max(times) - min(times), DAY)
        assert found["peak_bytes_per_second"] == max(daily.values()) / DAY


def test_totals_of_the_bundled_records(measured: Any) -> None:
    assert sum(measured["partitions"]["records"].to_pylist()) == 378_940
    assert sum(measured["windows"]["records"].to_pylist()) == 378_940
    assert measured["partitions"].num_rows == 162
    assert measured["rejected"].num_rows == 0


def test_keys_are_what_a_plain_count_finds(measured: Any, rows: Any) -> None:
    records: dict[str, Counter[bytes]] = defaultdict(Counter)
    size: dict[str, Counter[bytes]] = defaultdict(Counter)
    for row in rows:
        records[row["topic"]][row["key"]] += 1
        size[row["topic"]][row["key"]] += _size(row)
    expected = [
        (topic, rank, key, n, size[topic][key], n / records[topic].total())
        for topic in sorted(records)
        for rank, (key, n) in enumerate(
            sorted(records[topic].items(), key=lambda kn: (-kn[1], -size[topic][kn[0]], kn[0]))[
                :100
            ],
            start=1,
        )
    ]
    assert [tuple(row.values()) for row in measured["keys"].to_pylist()] == expected


def test_windows_are_what_a_plain_count_finds(measured: Any, rows: Any) -> None:
    expected: Counter[tuple[str, int, int]] = Counter()
    for row in rows:
        start = int(row["timestamp"].timestamp()) // DAY * DAY
        expected[row["topic"], row["partition"], start] += _size(row)
    found = {
        (row["topic"], row["partition"], int(row["window_start"].timestamp())): row["bytes"]
        for row in measured["windows"].to_pylist()
    }
    assert found == dict(expected)


@pytest.mark.long
def test_order_and_partitioning_of_the_records_change_nothing(
    spark: Any, change_events: str, measured: Any
) -> None:
    from pyspark.sql import functions as sf

    from partage.pipeline.profile import _fetch

    good = read_records(spark, [change_events]).transform(accepted)
    shuffled = good.where(sf.col("topic").isin("sarama", "splink")).repartition(5, sf.rand(7))
    windowed, keyed = shuffled.transform(by_window, DAY), shuffled.transform(by_key)
    frames = {
        "windows": windowed.transform(windows),
        "partitions": windowed.transform(partitions, keyed, DAY),
        "keys": keyed.transform(keys),
    }
    for name, frame in frames.items():
        rows = [r for r in measured[name].to_pylist() if r["topic"] in ("sarama", "splink")]
        assert _fetch(frame, name).to_pylist() == rows


@pytest.mark.long
def test_top_keeps_the_first_ranks(spark: Any, change_events: str, measured: Any) -> None:
    good = read_records(spark, [change_events]).transform(accepted)
    first = good.transform(by_key).transform(keys, 1).collect()
    expected = [r for r in measured["keys"].to_pylist() if r["rank"] == 1]
    assert sorted((r.topic, bytes(r.key), r.records) for r in first) == [
        (r["topic"], r["key"], r["records"]) for r in expected
    ]


@pytest.mark.parametrize("partitions", [1, 64, 65, 512], ids="{} partitions".format)
def test_keys_on_several_partitions_are_counted_on_each(spark: Any, partitions: int) -> None:
    rng = random.Random(partitions)
    highest = partitions - 1
    rows = [("a", highest, b"", 1), ("b", 0, None, 1)]
    rows += [
        (rng.choice("ab"), rng.randint(0, highest), rng.choice((None, b"x", b"y", b"z")), 1)
        for _ in range(300)
    ]
    records = spark.createDataFrame(
        rows, "topic string, partition int, key binary, value_bytes long"
    )
    expected = Counter({(t, p, k) for t, p, k, _ in rows if k is not None})
    per_partition = Counter((t, p) for t, p, _ in expected)
    per_key = Counter((t, k) for t, _, k, _ in rows)
    grouped = records.transform(key_places, partitions)
    found = grouped.transform(distinct_keys).collect()
    assert {(row.topic, row.partition): row.distinct_keys for row in found} == per_partition
    assert len(found) == len(per_partition)
    keyed = {(row.topic, row.key and bytes(row.key)): row.records for row in grouped.collect()}
    assert keyed == per_key
