"""keys through the command line: the bundled topics, the gate, and bad input."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., Any]

WRITTEN = {"hypothesis": "crc32", "librdkafka": "crc32", "sarama": "fnv1a"}
"""By which hash the bundled topics are partitioned; the others by murmur2."""

CSV = "topic,partition,offset,timestamp,key,value_bytes\n" + "".join(
    f"t,{at % 4},{at},2026-01-01T00:00:{at % 60:02},{key},100\n"
    for at, key in enumerate(["hot"] * 60 + [f"k{number}" for number in range(40)])
)


@pytest.mark.long
@pytest.mark.spark
def test_the_bundled_topics(run: Run, spark: Any, change_events: str) -> None:
    import confluent_kafka
    import pyarrow.parquet as pq

    oracles = {
        "murmur2": confluent_kafka.murmur2,
        "crc32": confluent_kafka.consistent,
        "fnv1a": confluent_kafka.fnv1a,
    }
    ended = run("keys", change_events, "--partitions", "12,48", "--fail-above", "1000", "--json")
    assert ended.code == 0, ended.err
    value = ended.json
    assert (value["records"], value["rejected"], value["failed"]) == (378_940, 0, [])
    topics = value["topics"]
    assert len(topics) == 12
    assert {name: own["partitioner"] for name, own in topics.items()} == {
        name: WRITTEN.get(name, "murmur2") for name in topics
    }
    assert set(topics) > set(WRITTEN)
    for own in topics.values():
        assert own["evidence"]["agreement"][own["partitioner"]] == 1
        assert list(own["candidates"]) == ["12", "48"]

    # every record, hashed by librdkafka
    loads: dict[tuple[str, int], Counter[int]] = defaultdict(Counter)
    records: dict[tuple[str, int], Counter[int]] = defaultdict(Counter)
    latest: dict[tuple[str, bytes], tuple[Any, int]] = {}
    for row in pq.read_table(change_events).to_pylist():
        topic, key = row["topic"], row["key"]
        place = oracles[topics[topic]["partitioner"]]
        for count in (12, 48):
            to = place(key, count)
            loads[topic, count][to] += row["value_bytes"] + len(key)
            records[topic, count][to] += 1
        now = (row["timestamp"], row["partition"])
        latest[topic, key] = max(latest.get((topic, key), now), now)
    for (topic, count), load in loads.items():
        one = topics[topic]["candidates"][str(count)][topics[topic]["partitioner"]]
        assert one["bytes"] == [load[at] for at in range(count)]
        assert one["records"] == [records[topic, count][at] for at in range(count)]
        assert one["max_over_mean"]["bytes"] == round(max(load.values()) * count / load.total(), 4)
        place = oracles[topics[topic]["partitioner"]]
        own = {key: at for (name, key), (_, at) in latest.items() if name == topic}
        assert one["keys"] == topics[topic]["evidence"]["keys"] == len(own)
        assert one["keys_moved"] == sum(place(key, count) != at for key, at in own.items())


@pytest.mark.long
@pytest.mark.spark
def test_the_gate(run: Run, spark: Any, tmp_path: Path) -> None:
    (tmp_path / "r.csv").write_text(CSV)
    path = str(tmp_path / "r.csv")  # the JVM of the tests was started elsewhere
    ended = run("keys", path, "--partitions", "2,4", "--fail-above", "1.5")
    assert ended.code == 1
    assert "✗ Above 1.5: " in ended.out
    assert "hot" in ended.out
    assert max(map(len, ended.out.splitlines())) <= 100
    value = run("keys", path, "--partitions", "8,1", "--fail-above", "3", "--json")
    assert value.code == 1
    (topic,) = value.json["topics"].values()
    assert {"partitioner", "evidence", "candidates", "recommended", "hot_keys"} <= topic.keys()
    assert list(topic["candidates"]) == ["1", "8"]
    assert topic["unspreadable_share"]["records"] == 0.6
    assert topic["candidates"]["8"]["murmur2"]["limit"]["records"] == 4.8
    assert topic["candidates"]["1"]["murmur2"]["max_over_mean"] == {"records": 1, "bytes": 1}
    assert value.json["failed"] == [{"topic": "t", "partitions": 8, "partitioner": "murmur2"}]


@pytest.mark.long
@pytest.mark.spark
def test_a_table_with_other_names_of_columns(run: Run, spark: Any, tmp_path: Path) -> None:
    (tmp_path / "r.csv").write_text(CSV)
    frame = spark.read.csv(str(tmp_path / "r.csv"), header=True)
    frame.withColumnRenamed("key", "id").createOrReplaceGlobalTempView("of_keys")
    table = ("--table", "global_temp.of_keys", "--columns", "key=id")
    ended = run("keys", *table, "--partitions", "8", "--json")
    assert ended.code == 0, ended.err
    files = run("keys", str(tmp_path / "r.csv"), "--partitions", "8", "--json")
    assert ended.json["topics"] == files.json["topics"]
    ended = run("profile", *table, "-o", "prof", "--json")
    assert (ended.code, ended.json["totals"]["records"]) == (0, 100)
    assert ended.json["sources"] == ["table:global_temp.of_keys?key=id"]


def test_no_records(run: Run) -> None:
    ended = run("keys", "--partitions", "12")
    assert (ended.code, ended.out) == (2, "")
    assert "no records given: name files, folders or a --table" in ended.err


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--partitions", "0"], "--partitions: '0': expected numbers of partitions"),
        (["--partitions", "twelve"], "--partitions: 'twelve'"),
        (["--partitions", "12", "--partitioner", "md5"], "--partitioner: 'md5': expected one of"),
        (["--partitions", "12", "--partitioner", "random"], "does not use the key"),
        (["--partitions", "12", "--partitioner", "no_such:One"], "'no_such:One': ModuleNotFound"),
        (["--partitions", "12", "--move-cost", "-5%"], "--move-cost -5%: expected a percentage"),
        (["--partitions", "12", "--partitioner", "murmur2,"], "--partitioner: ''"),
        (
            ["--partitions", "12", "--fail-above", "0.5"],
            "--fail-above: 0.5: must be 1 or more",
        ),
        (["--partitions", "12", "--fail-above", "nan"], "--fail-above: nan"),
        (["--partitions", "12", "--consumers", "0"], "--consumers: 0: must be at least 1"),
        (["--partitions", "12", "--cluster", "none.json"], "none.json: no such file"),
        (["--partitions", "12", "--columns", "=k"], "--columns: '=k': expected NAME=COLUMN"),
        (
            ["--partitions", "12", "--table", "t", "--columns", "key"],
            "--columns: 'key': expected NAME=COLUMN",
        ),
        ([], "--partitions"),
    ],
    ids=str,
)
def test_errors_before_spark_starts(
    run: Run, tmp_path: Path, options: list[str], said: str
) -> None:
    (tmp_path / "records.csv").write_text(CSV)
    ended = run("keys", "records.csv", *options)
    assert (ended.code, ended.out) == (2, "")
    assert said in ended.err
    assert len(ended.err.splitlines()) == 1


@pytest.mark.long
@pytest.mark.spark
def test_files_without_records(run: Run, spark: Any, tmp_path: Path) -> None:
    header, row, *_ = CSV.splitlines()
    (tmp_path / "bad.csv").write_text(f"{header}\n{row.replace('t,0', 't,x')}\n")
    ended = run("keys", str(tmp_path / "bad.csv"), "--partitions", "3", "--json")
    assert (ended.code, ended.out) == (2, "")
    assert "no records: 1 row is rejected, one because partition is not an integer" in ended.err
