"""A watch on Spark: folders, Kafka, kills, errors."""

from __future__ import annotations

import csv
import json
import os
import random
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest

pytest.importorskip("pyspark")
import pyarrow as pa
import pyarrow.parquet as pq

from partage.errors import InputError, PartageError
from partage.measured_loads import Profile
from partage.period import Period
from partage.pipeline.profile import profile_tables
from partage.pipeline.sources.kafka import CONNECTOR
from partage.pipeline.watch import ClusterFile, Rules, stream, watch
from tests.pipeline.watch.cases import (
    NOON,
    RULES,
    WINDOW,
    Plain,
    Record,
    Window,
    as_windows,
    opened,
    record,
    written,
)


def counted(records: Iterable[Record], window: int = WINDOW) -> dict[Window, list[int]]:
    """The windows of a plain count over all records."""
    sums: dict[Window, list[int]] = {}
    for one in records:
        second = one["timestamp"] // 1000
        place = (one["topic"], one["partition"], second - second % window)
        found = sums.setdefault(place, [0, 0])
        found[0] += 1
        found[1] += one["value_bytes"] + len(one["key"] or "")
    return sums


def put(folder: Path, name: str, records: Sequence[Record], *others: str) -> None:
    """Add a file to a folder as one should: moved in when it is whole."""
    new = folder / f".{name}"
    if name.endswith(".parquet"):
        schema = pa.schema(
            [("topic", pa.string()), ("key", pa.string())]
            + [(n, pa.int64()) for n in ("partition", "offset", "timestamp", "value_bytes")]
        )
        pq.write_table(pa.Table.from_pylist(list(records), schema=schema), new)
    elif name.endswith(".csv"):
        with new.open("w", newline="") as file:
            columns = sorted(record(0), reverse=len(records) % 2 == 0)
            writer = csv.DictWriter(file, columns)
            writer.writeheader()
            writer.writerows(records)
            file.writelines(f"{line}\n" for line in others)
    else:
        lines = [*map(json.dumps, records), *others]
        new.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    new.replace(folder / name)


SERVICE = [sys.executable, "-m", "partage", "watch"]


class Growing:
    """A folder of records that grows while a watch runs; ``added``: all of them."""

    def __init__(self, folder: Path, seed: int) -> None:
        folder.mkdir()
        self.folder, self.rng = folder, random.Random(seed)
        self.added: list[Record] = []

    def grow(self) -> None:
        at, rng = len(self.added) * 2, self.rng
        own = [record(at + rng.randrange(60), rng.randrange(3), rng.randrange(9)) for _ in range(9)]
        put(self.folder, f"{len(self.added):06}.jsonl", own)
        self.added.extend(own)

    def end(self) -> None:
        """Add a record that closes all windows before it."""
        self.added.append(record(len(self.added) * 2 + 10_000))
        put(self.folder, "last.jsonl", self.added[-1:])

    def kill(
        self,
        command: Sequence[str],
        environment: Mapping[str, str],
        told: Path,
        state: Callable[[], object],
        *,
        most: int,
        pauses: int,
    ) -> None:
        """Start a watch, and kill it after a batch, which changes the ``state``, and fewer than
        ``most`` files more, of ``pauses`` a second or more."""
        with told.open("w") as output:
            process = subprocess.Popen(command, stdout=output, stderr=output, env=environment)
        try:
            before, limit = state(), time.monotonic() + 200
            while state() == before:
                self.grow()
                assert process.poll() is None, told.read_text()
                assert time.monotonic() < limit, "no batch was taken"
                time.sleep(1)
            for _ in range(self.rng.randrange(1, most)):
                self.grow()
                time.sleep(self.rng.random() / pauses)
        finally:
            process.kill()
            process.wait()


QUICK = os.environ | {"JAVA_TOOL_OPTIONS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"}
"""Java that starts in half the time, for runs that do not last."""


@pytest.mark.long
@pytest.mark.spark
def test_a_growing_folder_with_late_and_bad_rows(
    spark: Any, tmp_path: Path, cluster_file: Path
) -> None:
    folder, out = tmp_path / "records [1]", tmp_path / "watch"
    folder.mkdir()
    rng = random.Random(3)
    plain = Plain()
    batches = [
        [record(rng.randrange(0, 400), rng.randrange(3), rng.randrange(500)) for _ in range(40)],
        [record(rng.randrange(200, 700), rng.randrange(3)) for _ in range(13)],  # some too late
        [record(rng.randrange(900, 1000), rng.randrange(2)) for _ in range(20)],
    ]
    (folder / "deeper").mkdir()
    (folder / "empty.csv").touch()
    (folder / "README.txt").touch()
    for number, batch in enumerate(batches):
        if number == 1:
            put(folder / "deeper", "one.csv", batch[:10], "t,x,y")  # two headers
            put(folder, "two.csv", batch[10:13])
        else:
            put(folder, f"{number}, a b.jsonl", batch[:13], *["nonsense"] * number)
            put(folder / "deeper", f"{number}.parquet", batch[13:])
        plain.batch(batch)
        state = watch(
            spark,
            stream(str(folder)),
            str(out),
            ClusterFile(cluster_file),
            RULES,
            once=True,
            emit=lambda event: None,
        )
        assert written(out) == plain.closed
        assert opened(out) == plain.open
        assert state.late == plain.late
    assert plain.late > 0
    assert (state.rejected, state.batch) == (3, 2)
    assert state.records + state.open_records + state.late == sum(map(len, batches))
    rejected = pq.ParquetFile(out / "rejected" / "part-00000.parquet").read().to_pylist()
    assert Counter(row["reason"] for row in rejected) == {
        "line is not one JSON object": 2,
        "line does not have the header's 6 fields": 1,
    }
    assert {Path(unquote(row["source"])) for row in rejected} == {
        folder / "2, a b.jsonl",
        folder / "deeper" / "one.csv",
    }

    # the profile: the last 600 seconds of closed windows
    end = max(start for _, _, start in plain.closed) + WINDOW
    begin = max(end - RULES.over, min(start for _, _, start in plain.closed))
    rates: Counter[int] = Counter()
    for (_, partition, start), (_, size) in plain.closed.items():
        if start >= begin:
            rates[partition] += size
    profile = Profile.read(out)
    assert dict(zip(profile.partition.tolist(), profile.bytes.tolist(), strict=True)) == rates
    assert profile.bytes_per_second.tolist() == [
        rates[partition] / (end - begin) for partition in profile.partition.tolist()
    ]
    part = Period((end - 120) * 1000, end * 1000)
    sizes = [size for (_, _, start), (_, size) in plain.closed.items() if start >= end - 120]
    assert profile.over(part).bytes_per_second.sum() == pytest.approx(sum(sizes) / 120)
    about = json.loads((out / "profile.json").read_text())["watch"]
    assert (about["late"], about["rejected"]) == (plain.late, 3)


@pytest.mark.long
@pytest.mark.spark
def test_killed_while_files_come_nothing_is_lost_or_doubled(
    spark: Any, tmp_path: Path, cluster_file: Path
) -> None:
    folder, out = tmp_path / "records", tmp_path / "watch"
    growing = Growing(folder, 11)

    def committed() -> int:
        state = out / "state.json"
        return state.stat().st_mtime_ns if state.exists() else 0

    options = [str(folder), "-o", str(out), "--cluster", str(cluster_file), "--every", "1"]
    command = [*SERVICE, *options, "--master", "local[2]"]
    for _ in range(2):
        growing.kill(command, QUICK, tmp_path / "told", committed, most=12, pauses=5)
    growing.end()
    added = growing.added
    for _ in range(2):  # what was handed out but not done, then the rest; then nothing
        state = watch(
            spark,
            stream(str(folder)),
            str(out),
            ClusterFile(cluster_file),
            Rules(window=WINDOW, allowed_lateness=60, over=600, alert_above=9, moves=False),
            once=True,
            emit=lambda event: None,
        )
    assert (state.late, state.open_records) == (0, 1)
    assert written(out) == counted(added[:-1])
    whole = profile_tables(spark, [str(folder)], window=WINDOW)["windows"]
    assert written(out) | opened(out) == as_windows(whole)
    assert pq.read_schema(next((out / "windows").iterdir())).equals(whole.schema)


@pytest.mark.long
@pytest.mark.spark
def test_an_outage_is_caught_up_in_limited_batches(
    spark: Any, tmp_path: Path, cluster_file: Path
) -> None:
    folder, out, events = tmp_path / "records", tmp_path / "watch", list[Any]()
    folder.mkdir()
    sent = [record(second, second % 3) for second in range(0, 3600, 20)]
    for number in range(6):
        put(folder, f"{number}.jsonl", sent[number * 30 : number * 30 + 30])
        os.utime(folder / f"{number}.jsonl", (NOON + number, NOON + number))
    state = watch(
        spark,
        stream(str(folder), max_files=2),
        str(out),
        ClusterFile(cluster_file),
        RULES,
        once=True,
        emit=events.append,
    )
    batches = [event for event in events if event["event"] == "batch"]
    assert [(event["batch"], event["records"]) for event in batches] == [(0, 60), (1, 60), (2, 60)]
    assert state.late == 0
    assert written(out) | opened(out) == counted(sent)


@pytest.mark.long
@pytest.mark.kafka
@pytest.mark.spark
def test_partitions_that_are_read_at_different_speed(
    spark: Any,
    kafka: Any,
    connector: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    cluster_file: Path,
) -> None:
    """An outage of a day: partition 0 had all its records in the first hour, partition 1 some all
    day. A limited batch has as many of each, so partition 1 is read hours ahead."""
    pytest.importorskip("kafka")
    monkeypatch.setenv(CONNECTOR, str(connector))
    from kafka import KafkaAdminClient, KafkaProducer
    from kafka.admin import NewTopic

    servers = str(kafka.bootstrap_servers)
    admin = KafkaAdminClient(bootstrap_servers=servers)
    admin.create_topics([NewTopic("outage", 2, 1, topic_configs={"retention.ms": "-1"})])
    admin.close()
    producer = KafkaProducer(bootstrap_servers=servers)
    sent = [record(12 * n, 0, 7, topic="outage") for n in range(300)]
    sent += [record(288 * n, 1, 9, topic="outage") for n in range(300)]
    events: list[Any] = []
    for records, least in ((sent, 6), ([record(288 * 300, 1, 9, topic="outage")], 7)):
        for one in records:
            producer.send(
                "outage",
                b"x" * one["value_bytes"],
                partition=one["partition"],
                timestamp_ms=one["timestamp"],
            )
        producer.flush()
        state = watch(
            spark,
            stream(f"kafka://{servers}/outage", max_offsets=100),
            str(tmp_path / "watch"),
            ClusterFile(cluster_file),
            RULES,
            once=True,
            emit=events.append,
        )
        batches = [event["records"] for event in events if event["event"] == "batch"]
        assert len(batches) >= least
        assert max(batches) <= 100
    sent.append(records[0])
    assert (state.late, state.open_records) == (0, 1)
    assert written(tmp_path / "watch") | opened(tmp_path / "watch") == counted(sent)


@pytest.mark.spark
def test_a_stream_with_an_error_stops_before_the_batch_counts(
    spark: Any, tmp_path: Path, cluster_file: Path
) -> None:
    folder, out = tmp_path / "records", tmp_path / "watch"
    folder.mkdir()

    def run() -> Any:
        return watch(
            spark,
            stream(str(folder)),
            str(out),
            ClusterFile(cluster_file),
            RULES,
            once=True,
            emit=lambda event: None,
        )

    put(folder, "1.csv", [record(0)])
    (folder / "2.csv").write_text("topic,partition\nt,0\n")
    with pytest.raises(InputError, match=r"2.csv: columns missing: offset, timestamp, key"):
        run()
    assert written(out) == {}
    put(folder, "2.csv", [record(1)])
    assert run().open_records == 2


@pytest.mark.long
@pytest.mark.kafka
@pytest.mark.spark
def test_a_real_kafka_watched_while_records_come(
    spark: Any,
    kafka: Any,
    connector: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    cluster_file: Path,
) -> None:
    pytest.importorskip("kafka")
    monkeypatch.setenv(CONNECTOR, str(connector))
    from kafka import KafkaAdminClient, KafkaProducer, TopicPartition
    from kafka.admin import NewTopic

    servers = str(kafka.bootstrap_servers)
    admin = KafkaAdminClient(bootstrap_servers=servers)
    # these records are older than Kafka keeps any by default
    admin.create_topics([NewTopic("watched", 3, 1, topic_configs={"retention.ms": "-1"})])
    producer = KafkaProducer(bootstrap_servers=servers)
    sent: list[Record] = []

    def produce(begin: int, count: int) -> None:
        for second in range(begin, begin + count):
            one = record(second, second % 3, second % 50, topic="watched")
            sent.append(one)
            producer.send(
                "watched",
                b"x" * one["value_bytes"],
                partition=one["partition"],
                timestamp_ms=one["timestamp"],
            )
        producer.flush()

    events: list[Any] = []

    def go_on(**how: Any) -> Any:
        return watch(
            spark,
            stream(f"kafka://{servers}/watched"),
            str(tmp_path / "watch"),
            ClusterFile(cluster_file),
            RULES,
            emit=events.append,
            **how,
        )

    produce(0, 100)
    stop = threading.Event()
    thread = threading.Thread(target=go_on, kwargs={"every": 1, "stop": stop})
    thread.start()
    limit = time.monotonic() + 60
    while not any(event["event"] == "closed" for event in events):
        assert thread.is_alive()
        assert time.monotonic() < limit
        produce(len(sent), 50)
        time.sleep(0.3)
    stop.set()
    thread.join(60)
    assert not thread.is_alive()
    produce(len(sent), 200)  # nobody watches
    produce(len(sent) + 1000, 1)
    state = go_on(once=True)
    assert (state.late, state.rejected, state.open_records) == (0, 0, 1)
    assert written(tmp_path / "watch") == counted(sent[:-1])
    assert [event["event"] for event in events if event["event"] not in ("closed", "batch")] == [
        "trouble",
        "stopped",
        "trouble",
        "stopped",
    ]  # partitions of watched are not in the cluster file

    # what retention deletes unread is told, and no batch goes on without it
    produce(len(sent), 30)
    end = {TopicPartition("watched", partition): -1 for partition in range(3)}
    admin.delete_records(end)
    admin.close()
    produce(len(sent), 30)
    with pytest.raises(PartageError, match="next records cannot be read: a broker"):
        go_on(once=True)
    assert written(tmp_path / "watch") == counted(sent[: len(sent) - 61])


def test_spark_connect_is_refused(tmp_path: Path, cluster_file: Path) -> None:
    remote = type("SparkSession", (), {"__module__": "pyspark.sql.connect.session"})()
    with pytest.raises(PartageError, match="with Spark Connect each batch is processed on the"):
        watch(
            remote,
            stream(str(tmp_path)),
            str(tmp_path / "watch"),
            ClusterFile(cluster_file),
            RULES,
            emit=lambda event: None,
        )
    assert not (tmp_path / "watch").exists()
