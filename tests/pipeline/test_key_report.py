"""Keys on Spark: partitioners and loads equal those of a plain count in Python."""

from __future__ import annotations

import json
import random
import zlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyspark")

import pyarrow as pa
import pyarrow.parquet as pq

from partage.errors import InputError, PartageError
from partage.pipeline import accepted, hashed, key_report, per_key, placed, read_records
from tests.written_topics import ORACLES, Record, detected, raw, topics

pytestmark = pytest.mark.spark

COUNTS = [5, 24]
TOPICS = {name: topic.records for name, topic in topics().items()}


def write_parquet(path: Path, rows: Iterable[tuple[str, Record]]) -> None:
    schema = pa.schema(
        [
            ("topic", pa.string()),
            ("partition", pa.int32()),
            ("timestamp", pa.timestamp("ms", "UTC")),
            ("key", pa.binary()),
            ("value_bytes", pa.int64()),
            ("offset", pa.int64()),
        ]
    )
    records = [(topic, *record, at) for at, (topic, record) in enumerate(rows)]
    pq.write_table(pa.table(list(zip(*records, strict=True)), schema), path)


def every(records: Mapping[str, Iterable[Record]]) -> list[tuple[str, Record]]:
    return [(topic, record) for topic, own in records.items() for record in own]


@pytest.fixture(scope="module")
def report(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What is said of all the topics."""
    path = tmp_path_factory.mktemp("written") / "records.parquet"
    write_parquet(path, every(TOPICS))
    return key_report(spark, [path], COUNTS).to_json()


def test_partitioners_and_evidence_are_those_of_a_plain_count(report: dict[str, Any]) -> None:
    assert list(report["topics"]) == sorted(TOPICS)
    for name, found in report["topics"].items():
        expected = detected(TOPICS[name])
        assert found["partitioner"] == expected.partitioner, name
        assert found["evidence"] == expected.evidence, name


def moved_and_loads(records: Iterable[Record], hash_name: str, partitions: int) -> dict[str, Any]:
    """What a candidate has, from every record hashed by the client's own function."""
    place = ORACLES[hash_name]
    load = {"records": [0] * partitions, "bytes": [0] * partitions}
    free: Counter[str] = Counter()
    latest: dict[bytes, tuple[int, int]] = {}
    for partition, millis, key, size in records:
        if key is None or (hash_name == "crc32" and not key):
            free += Counter(records=1, bytes=size + len(key or b""))
            continue
        to = place(key, partitions)
        load["records"][to] += 1
        load["bytes"][to] += size + len(key)
        latest[key] = max(latest.get(key, (0, 0)), (millis, partition))
    for measured, own in load.items():
        for at in range(partitions):
            own[at] += free[measured] // partitions + (at < free[measured] % partitions)
    moved = [key for key, (_, at) in latest.items() if place(key, partitions) != at]
    of_key = Counter(key for _, _, key, _ in records)
    return {
        **load,
        "keys": len(latest),
        "keys_moved": len(moved),
        "records_moved": sum(of_key[key] for key in moved),
    }


def test_candidates_are_what_the_clients_hashes_give(report: dict[str, Any]) -> None:
    for name, found in report["topics"].items():
        for partitions in COUNTS:
            ((hash_name, one),) = found["candidates"][str(partitions)].items()
            expected = moved_and_loads(TOPICS[name], hash_name, partitions)
            assert {key: one[key] for key in expected} == expected, name
            load = expected["bytes"]
            assert one["max_over_mean"]["bytes"] == round(max(load) * partitions / sum(load), 4)


def test_hot_keys_are_the_ones_with_the_largest_share(report: dict[str, Any]) -> None:
    for name, found in report["topics"].items():
        records, size = Counter(), Counter()
        for _, _, key, value in TOPICS[name]:
            records[key] += 1
            size[key] += value + len(key or b"")
        all_records, all_bytes = records.total(), size.total()
        expected = sorted(
            (-max(records[key] / all_records, size[key] / all_bytes), -records[key], key)
            for key in records
            if key is not None
        )
        shown = [(hot["key"].encode(), hot["records"], hot["bytes"]) for hot in found["hot_keys"]]
        # librdkafka takes an empty key for none
        hottest = [key for _, _, key in expected[:100] if key or "librdkafka" not in name]
        assert shown == [(key, records[key], size[key]) for key in hottest], name


@pytest.mark.long
def test_order_and_partitioning_of_the_records_change_nothing(
    spark: Any, report: dict[str, Any], tmp_path: Path
) -> None:
    names = ["grown-and-mixed", "half-ignores-keys", "java-half-null", "librdkafka-empty"]
    rows = every({name: TOPICS[name] for name in names})
    random.Random(3).shuffle(rows)
    for part in range(5):
        write_parquet(tmp_path / f"{part}.parquet", rows[part::5])
    again = key_report(spark, [tmp_path], COUNTS).to_json()
    assert again["topics"] == {name: report["topics"][name] for name in names}


@pytest.mark.long
def test_partitioners_consumers_and_known_numbers(spark: Any, tmp_path: Path) -> None:
    path = tmp_path / "r.parquet"
    write_parquet(path, every({"sarama": TOPICS["sarama"]}))
    found = key_report(
        spark,
        [path],
        [30, 6, 60],
        ["sarama", "consistent"],
        known={"sarama": 20},
        consumers=40,
        move_cost=0.0,
    ).topics[0]
    assert [(one.partitions, one.partitioner) for one in found.candidates] == [
        (count, name) for count in (30, 6, 60) for name in ("fnv1a", "crc32")
    ]
    for one in found.candidates:
        expected = moved_and_loads(TOPICS["sarama"], one.partitioner, one.partitions)
        assert one.loads["bytes"].tolist() == expected["bytes"]
        assert one.keys_moved == expected["keys_moved"]
    best = max(
        (one for one in found.candidates if one.partitions >= 20),
        key=lambda one: min(one.loads[m].sum() / one.loads[m].max() for m in ("records", "bytes")),
    )
    chosen = found.recommended
    assert (chosen.partitions, chosen.partitioner) == (best.partitions, best.partitioner)
    assert " of 40 consumers busy, today " in found.recommended.reason
    # written with 12 partitions, so the 20 it is said to have came later
    assert found.detection.evidence["partitions"] == 20
    with pytest.raises(InputError, match="cluster: sarama has 3 partitions, but a record is on"):
        key_report(spark, [path], [6], known={"sarama": 3})


OWN = """
import zlib
from partage.producers import Partitioner

class Own(Partitioner):
    def partition(self, record, topic):
        return zlib.adler32(record.key_bytes) % topic.partitions

def outside(key, partitions):
    return -1
"""


@pytest.mark.long
def test_rejected_rows_have_reasons(spark: Any, tmp_path: Path) -> None:
    path = tmp_path / "records.jsonl"
    wrong = [("partition", -1)] * 3 + [("timestamp", "yesterday")]
    good: dict[str, Any] = {"topic": "t", "partition": 0, "timestamp": 0, "key": "a", "offset": 1}
    good["value_bytes"] = 9
    rows = [good] * 5 + [good | {name: value} for name, value in wrong]
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    found = key_report(spark, [path], [3]).to_json()
    assert (found["records"], found["rejected"]) == (5, 4)
    assert [(one["rows"], one["reason"]) for one in found["reasons"]] == [
        (3, "partition is negative"),
        (1, "timestamp is neither ISO 8601 nor milliseconds"),
    ]
    assert all(one["source"].endswith("records.jsonl") for one in found["reasons"])


def test_your_own_partitioner(spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its module is in a directory that no worker looks into."""
    (tmp_path / "own_partitioner.py").write_text(OWN)
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "r.parquet"
    write_parquet(path, every({name: TOPICS[name] for name in ("sarama", "java-half-null")}))
    found = key_report(spark, [path], [5, 24], ["own_partitioner:Own", "murmur2"])
    for topic in found.topics:
        keyed = [record for record in TOPICS[topic.name] if record[2] is not None]
        latest = {record[2]: record for record in sorted(keyed, key=lambda one: (one[1], one[0]))}
        for one in topic.candidates:
            if one.partitioner != "own_partitioner:Own":
                continue
            expected = Counter(zlib.adler32(record[2]) % one.partitions for record in keyed)
            free = len(TOPICS[topic.name]) - len(keyed)
            assert int(one.loads["records"].sum()) == len(TOPICS[topic.name])
            for number in range(one.partitions):
                without_key = int(one.loads["records"][number]) - expected[number]
                assert free // one.partitions <= without_key <= free // one.partitions + 1
            assert one.keys == len(latest)
            assert one.keys_moved == sum(
                zlib.adler32(key) % one.partitions != record[0] for key, record in latest.items()
            )
    with pytest.raises(PartageError, match=r"outside returned partition -1: expected 0 to 4"):
        key_report(spark, [path], [5], ["own_partitioner:outside"])


def test_each_placement_is_hashed_once(spark: Any, tmp_path: Path) -> None:
    """However many records it has, and null never; a key is one row of ``per_key``."""
    path = tmp_path / "r.parquet"
    write_parquet(path, every({"t": TOPICS["keys-in-turn"], "u": TOPICS["java-half-null"]}))
    records = read_records(spark, [path]).transform(accepted)
    placements = records.transform(placed).transform(hashed)
    by_key: dict[tuple[str, bytes | None], list[tuple[Any, ...]]] = defaultdict(list)
    for row in placements.collect():
        key = row["key"] if row["key"] is None else bytes(row["key"])
        by_key[row["topic"], key].append((row["last"], row["partition"], row["records"]))
        for name in ORACLES:
            assert row[name] == (None if key is None else signed(raw(name, key)))
    assert {(topic, key): sorted(own) for (topic, key), own in by_key.items()} == {
        ("t" if topic == "keys-in-turn" else "u", key): sorted(own)
        for topic in ("keys-in-turn", "java-half-null")
        for key, own in counted(TOPICS[topic]).items()
    }
    rows = placements.transform(per_key).collect()
    assert len(rows) == len(by_key)
    for row in rows:
        own = by_key[row["topic"], row["key"] if row["key"] is None else bytes(row["key"])]
        assert row["places"] == len(own)
        assert row["records"] == sum(records for _, _, records in own)
        assert row["latest"] == max(own)[1]


def signed(number: int) -> int:
    """The bits of an unsigned number of 32 bits as a signed one."""
    return number - 2**32 if number >= 2**31 else number


def counted(records: Iterable[Record]) -> dict[bytes | None, list[tuple[Any, int, int]]]:
    """The last time, the partition and the number of records of each partition of each key."""
    times: dict[tuple[bytes | None, int], list[int]] = defaultdict(list)
    for partition, millis, key, _ in records:
        times[key, partition].append(millis)
    found: dict[bytes | None, list[tuple[Any, int, int]]] = defaultdict(list)
    for (key, partition), own in times.items():
        last = datetime.fromtimestamp(max(own) / 1000)
        found[key].append((last, partition, len(own)))
    return found
