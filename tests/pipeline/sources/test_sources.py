"""Records from Parquet, JSON lines and CSV: the same numbers, bad rows kept, bad input one line."""

from __future__ import annotations

import csv
import gzip
import json
import re
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyspark")

import pyarrow as pa
import pyarrow.orc as orc
import pyarrow.parquet as pq

from partage.errors import InputError
from partage.pipeline import accepted, profile_tables, read_records, rejected
from partage.pipeline.records import RECORDS
from partage.pipeline.sources import Reading, columnar, read_rows
from partage.pipeline.sources.tables import Table

pytestmark = pytest.mark.spark

Write = Callable[..., str]
NAMES = ["topic", "partition", "offset", "timestamp", "key", "value_bytes"]


def _good(spark: Any, *paths: str) -> list[tuple[Any, ...]]:
    rows = read_records(spark, paths).transform(accepted).collect()
    return sorted(
        (
            r.topic,
            r.partition,
            r.offset,
            r.timestamp.timestamp(),
            None if r.key is None else bytes(r.key),
            r.value_bytes,
        )
        for r in rows
    )


def _bad(spark: Any, *paths: str) -> list[tuple[str, str]]:
    rows = read_records(spark, paths).transform(rejected).collect()
    return sorted((r.row, r.reason) for r in rows)


def _expected(records: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    return sorted(
        (
            r["topic"],
            r["partition"],
            r["offset"],
            r["timestamp"] / 1000,
            None if r["key"] is None else r["key"].encode(),
            r["value_bytes"],
        )
        for r in records
    )


def _csv(path: Path, records: list[dict[str, Any]]) -> str:
    with path.open("w", encoding="utf-8", newline="") as out:
        out.write(",".join(NAMES) + "\n")
        for r in records:
            key = "" if r["key"] is None else '"' + r["key"].replace('"', '""') + '"'
            start = [str(r[name]) for name in NAMES[:4]]
            out.write(",".join([*start, key, str(r["value_bytes"])]) + "\n")
    return str(path)


def _parquet(path: Path, records: list[dict[str, Any]], unit: str = "ms") -> str:
    scale = {"ms": 1, "us": 1000, "ns": 1_000_000}[unit]
    columns = {name: [r[name] for r in records] for name in NAMES}
    table = pa.table(
        {
            **columns,
            "timestamp": pa.array(
                [t * scale for t in columns["timestamp"]], pa.timestamp(unit, "UTC")
            ),
            "key": pa.array(
                [None if k is None else k.encode() for k in columns["key"]], pa.binary()
            ),
        }
    )
    pq.write_table(table, path)
    return str(path)


# ---------------------------------------------------------------------- the same records


@pytest.mark.long
def test_every_format_gives_the_same_tables(
    spark: Any, records: Any, tmp_path: Path, write_lines: Write
) -> None:
    ways = [
        _parquet(tmp_path / "r.parquet", records),
        _csv(tmp_path / "r.csv", records),
        write_lines("r.jsonl", *records),
    ]
    tables = [profile_tables(spark, [way]) for way in ways]
    assert tables[0]["rejected"].num_rows == 0
    assert tables[1] == tables[0]
    assert tables[2] == tables[0]
    orders = [r for r in tables[0]["partitions"].to_pylist() if r["topic"] == "orders"]
    assert [(r["records"], r["bytes"], r["distinct_keys"], r["null_keys"]) for r in orders] == [
        (4, 175, 2, 1),
        (2, 1008, 1, 0),
    ]
    assert orders[0]["bytes_per_second"] == 175 / 7200
    assert orders[1]["peak_bytes_per_second"] == 1004 / 3600
    clicks = [r for r in tables[0]["partitions"].to_pylist() if r["topic"] == "clicks"]
    assert clicks[0]["bytes_per_second"] == 21 / 3600  # one second of records, one window


def test_null_and_empty_keys_stay_two_things(
    spark: Any, records: Any, tmp_path: Path, write_lines: Write
) -> None:
    expected = _expected(records)
    assert _good(spark, _csv(tmp_path / "r.csv", records)) == expected
    assert _good(spark, write_lines("r.json", *records)) == expected


@pytest.mark.parametrize("unit", ["us", "ns"])
def test_parquet_timestamps_of_other_units(
    spark: Any, records: Any, tmp_path: Path, unit: str
) -> None:
    assert _good(spark, _parquet(tmp_path / "r.parquet", records, unit)) == _expected(records)


def test_every_millisecond_of_nanoseconds_is_exact(
    spark: Any, records: Any, tmp_path: Path
) -> None:
    """A double has not enough digits for nanoseconds."""
    times = range(1_763_510_400_000, 1_763_510_401_000)
    rows = [{**records[0], "offset": at, "timestamp": time} for at, time in enumerate(times)]
    assert _good(spark, _parquet(tmp_path / "r.parquet", rows, "ns")) == _expected(rows)


def test_timestamps_as_text(spark: Any, write_lines: Write) -> None:
    texts = {
        "2024-01-01T00:00:00Z": "2024-01-01T00:00:00",
        "2024-01-01T02:00:00.250+02:00": "2024-01-01T00:00:00.250",
        "2024-01-01 00:00": "2024-01-01T00:00:00",
        "2024-01-01T00:00Z": "2024-01-01T00:00:00",
        "2024-01-01": "2024-01-01T00:00:00",
        "1704067200000": "2024-01-01T00:00:00",
        "1704067200000.0": "2024-01-01T00:00:00",
        "1704067200250999": "2024-01-01T00:00:00.250",
        "1704067200250999999": "2024-01-01T00:00:00.250",
    }
    lines = [
        {
            "topic": "t",
            "partition": 0,
            "offset": i,
            "timestamp": text,
            "key": None,
            "value_bytes": 1,
        }
        for i, text in enumerate(texts)
    ]
    found = {
        offset: when for _, _, offset, when, _, _ in _good(spark, write_lines("r.json", *lines))
    }
    for i, text in enumerate(texts.values()):
        assert found[i] == datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()


@pytest.mark.long
def test_the_value_itself_and_base64_keys(spark: Any, tmp_path: Path, write_lines: Write) -> None:
    line = {"topic": "t", "partition": 0, "timestamp": 1_700_000_000_000}
    path = write_lines(
        "r.jsonl",
        line | {"offset": 0, "key_base64": "/wA=", "value": "béa"},
        line | {"offset": 1, "key_base64": None, "value": None},
        line | {"offset": 2, "key_base64": "!", "value": "x"},
    )
    assert [row[4:] for row in _good(spark, path)] == [(b"\xff\x00", 4), (None, 0)]
    assert [reason for _, reason in _bad(spark, path)] == ["key_base64 is not Base64: !"]

    table = pa.table(
        {
            "topic": ["t"],
            "partition": pa.array([0], pa.uint8()),
            "offset": [0.0],
            "timestamp": pa.array([datetime(2024, 1, 1)], pa.timestamp("us")),
            "key": pa.array(["text"]),
            "value": pa.array([b"\x00\x01\x02"]),
            "headers": pa.array([[1]]),
        }
    )
    pq.write_table(table, tmp_path / "v.parquet")
    when = datetime(2024, 1, 1, tzinfo=UTC).timestamp()
    assert _good(spark, str(tmp_path / "v.parquet")) == [("t", 0, 0, when, b"text", 3)]


@pytest.mark.long
def test_directories_globs_and_packed_files(
    spark: Any, records: Any, tmp_path: Path, write_lines: Write
) -> None:
    write_lines("in/deep er/a[1].jsonl", *records[:3])
    (tmp_path / "in" / "b.json.gz").write_bytes(
        gzip.compress("".join(json.dumps(r) + "\n" for r in records[3:5]).encode())
    )
    _csv(tmp_path / "in" / "c.csv", records[5:6])
    (tmp_path / "in" / "d.csv").write_text(
        "value_bytes,note,topic,partition,offset,timestamp,key\n"
        + "".join(
            f"{r['value_bytes']},,{r['topic']},{r['partition']},{r['offset']},{r['timestamp']},{r['key']}\n"
            for r in records[4:5]
        )
    )
    _parquet(tmp_path / "in" / "e.parquet", records[6:])
    (tmp_path / "in" / "_SUCCESS").touch()
    (tmp_path / "in" / "README.txt").write_text("no records\n")
    whole = _good(spark, str(tmp_path / "in"))
    assert whole == sorted(_expected(records) + _expected(records[4:5]))
    named = str(tmp_path / "in" / "deep er" / "a[1].jsonl")
    assert _good(spark, named) == _expected(records[:3])
    both = _good(spark, named, str(tmp_path / "in" / "*.parquet"))
    assert both == _expected(records[:3] + records[6:])


# ---------------------------------------------------------------------- rows that are no records


BAD = {
    '{"partition": -1}': "partition is negative: -1",
    '{"partition": "x"}': "partition is not an integer: x",
    '{"partition": 1.5}': "partition is not an integer: 1.5",
    '{"partition": 2147483648}': "partition is too large: 2147483648",
    '{"partition": null}': "partition is missing",
    '{"topic": null}': "topic is missing",
    '{"topic": ""}': "topic is missing",
    '{"topic": "' + "t" * 250 + '"}': "topic is longer than 249 characters",
    '{"offset": -1}': "offset is negative: -1",
    '{"offset": 99999999999999999999999}': "offset is not an integer: 99999999999999999999999",
    '{"timestamp": null}': "timestamp is missing",
    '{"timestamp": -1}': "timestamp is not between 1970 and 2100: -1",
    '{"timestamp": 90000000000000}': "timestamp is not between 1970 and 2100: 90000000000000",
    '{"timestamp": 9223372036854775807}': (
        "timestamp is not between 1970 and 2100: 9223372036854775807"
    ),
    '{"timestamp": "yesterday"}': "timestamp is neither ISO 8601 nor milliseconds: yesterday",
    '{"timestamp": "12:30:00"}': "timestamp is neither ISO 8601 nor milliseconds: 12:30:00",
    '{"timestamp": "2024-02-30"}': "timestamp is neither ISO 8601 nor milliseconds: 2024-02-30",
    '{"timestamp": "0001-01-01"}': "timestamp is not between 1970 and 2100: 0001-01-01",
    '{"value_bytes": -5}': "value_bytes is negative: -5",
    '{"value_bytes": null}': "value_bytes is missing",
    '{"value_bytes": 2147483648}': "value_bytes is too large: 2147483648",
}
NO_OBJECTS = [
    "{",
    "nonsense",
    "5",
    "null",
    "[]",
    "[{}]",
    '{"topic": "t"} and more',
    "{}{}",
    "{},{}",
]


def test_bad_json_is_kept_with_its_reason(spark: Any, records: Any, write_lines: Write) -> None:
    lines = {json.dumps(records[0] | json.loads(change)): why for change, why in BAD.items()}
    lines |= dict.fromkeys(NO_OBJECTS, "line is not one JSON object")
    path = write_lines("r.jsonl", *records, *lines, "", "   ", *records)
    assert _bad(spark, path) == sorted(lines.items())
    assert _good(spark, path) == sorted(_expected(records) * 2)


def test_bad_csv_is_kept_with_its_reason(spark: Any, records: Any, tmp_path: Path) -> None:
    path = tmp_path / "r.csv"
    bad = {
        "t,0,0": "line does not have the header's 6 fields",
        "t,0,0,2024-01-01,k,1,2": "line does not have the header's 6 fields",
        "t,-1,0,2024-01-01,k,1": "partition is negative: -1",
        ",0,0,2024-01-01,k,1": "topic is missing",
        "t,0,0,never,k,1": "timestamp is neither ISO 8601 nor milliseconds: never",
        "t,0,0,2024-01-01,k,": "value_bytes is missing",
        "nonsense": "line does not have the header's 6 fields",
    }
    _csv(path, records)
    with path.open("a", encoding="utf-8") as out:
        out.write("\n".join([*bad, "", ",".join(NAMES), "t,7,7,2024-01-01,k,7"]) + "\n")
    assert _bad(spark, str(path)) == sorted(bad.items())
    assert len(_good(spark, str(path))) == len(records) + 1


@pytest.mark.parametrize(
    ("name", "header", "line"),
    [
        ("r.jsonl", b"", b'{"topic":"t","partition":0,"offset":0,"timestamp":1,"key":"%b",'),
        ("r.csv", b"topic,partition,offset,timestamp,key,value_bytes\n", b"t,0,0,1,%b,"),
    ],
    ids=["JSON", "CSV"],
)
def test_lines_that_are_not_utf8_are_rejected(
    spark: Any, tmp_path: Path, name: str, header: bytes, line: bytes
) -> None:
    """Two keys that differ in such bytes do not become one."""
    end = b'"value_bytes":1}\n' if name == "r.jsonl" else b"1\n"
    keys = [b"\xe8", b"\xe9", "\N{LATIN SMALL LETTER E WITH ACUTE}".encode()]
    (tmp_path / name).write_bytes(header + b"".join(line % key + end for key in keys))
    bad = _bad(spark, str(tmp_path / name))
    row = (line % "\N{REPLACEMENT CHARACTER}".encode() + end).decode().rstrip()
    assert bad == [(row, "line is not UTF-8")] * 2
    rejected = read_records(spark, [str(tmp_path / name)]).where("not valid")
    assert rejected.select("row").toArrow()["row"].to_pylist() == [row] * 2
    assert [key for *_, key, _ in _good(spark, str(tmp_path / name))] == [keys[2]]


def test_bad_parquet_rows_are_kept_as_json(spark: Any, tmp_path: Path) -> None:
    table = pa.table(
        {
            "topic": ["t", None, "t", "t"],
            "partition": pa.array([0, 0, -3, 0], pa.int64()),
            "offset": [0, 1, 2, 3],
            "timestamp": pa.array([1, 1, 1, None], pa.timestamp("ms", "UTC")),
            "key": pa.array([b"k"] * 4),
            "value_bytes": [1, 1, 1, 1],
        }
    )
    pq.write_table(table, tmp_path / "r.parquet")
    bad = _bad(spark, str(tmp_path / "r.parquet"))
    assert {json.loads(row)["offset"]: reason for row, reason in bad} == {
        1: "topic is missing",
        2: "partition is negative: -3",
        3: "timestamp is missing",
    }
    assert len(_good(spark, str(tmp_path / "r.parquet"))) == 1


def test_a_topic_whose_bytes_are_not_utf8_is_rejected(spark: Any, tmp_path: Path) -> None:
    columns: dict[str, Any] = {name: [1, 1] for name in NAMES}
    columns |= {"topic": [b"\xff", "\N{LATIN SMALL LETTER E WITH ACUTE}".encode()]}
    pq.write_table(pa.table(columns | {"key": [b"k"] * 2}), tmp_path / "r.parquet")
    assert [reason for _, reason in _bad(spark, str(tmp_path / "r.parquet"))] == [
        "topic is not UTF-8"
    ]
    assert len(_good(spark, str(tmp_path / "r.parquet"))) == 1


# ---------------------------------------------------------------------- units and names


def test_seconds_are_recognised(spark: Any, records: Any, write_lines: Write) -> None:
    """As numbers, with a fraction, and as text; milliseconds of the first day of 1970 stay."""
    times = [1_700_000_000, 1_700_000_000.25, "1700000000", 1_700_000_000_000, 86_399_999]
    path = write_lines("r.jsonl", *({**records[0], "timestamp": time} for time in times))
    rows = read_records(spark, [path]).selectExpr("unix_millis(timestamp) as ms", "in_seconds")
    assert [tuple(row) for row in rows.collect()] == [
        (1_700_000_000_000, True),
        (1_700_000_000_250, True),
        (1_700_000_000_000, True),
        (1_700_000_000_000, False),
        (86_399_999, False),
    ]


def test_names_of_kafka_connect_have_what_columns_lack(
    spark: Any, records: Any, tmp_path: Path, write_lines: Write
) -> None:
    folder = tmp_path / "topics" / "orders" / "partition=3"
    folder.mkdir(parents=True)
    lacks = [{n: v for n, v in record.items() if n != "topic"} for record in records[:2]]
    rows = [{"timestamp": 1_700_000_000_000, "key": "k", "value_bytes": 7}]
    pq.write_table(pa.Table.from_pylist(rows), folder / "a.b-c_d+3+0000000100.snappy.parquet")
    write_lines("topics/orders/partition=3/orders+3+0000000101.json", *lacks)
    found = read_records(spark, [str(tmp_path / "topics")]).select("topic", "partition", "offset")
    assert sorted(tuple(row) for row in found.collect()) == [
        ("a.b-c_d", 3, 100),
        ("orders", 0, 0),
        ("orders", 0, 1),
    ]


@pytest.mark.parametrize("form", ["parquet", "orc", "json", "csv"])
def test_folders_by_topic_and_partition_have_what_columns_lack(
    spark: Any, tmp_path: Path, form: str
) -> None:
    rows = [
        (topic, number, at, 1_700_000_000_000, "k", 7)
        for topic in ("a.b-c_d", "42")
        for number in (0, 11)
        for at in range(2)
    ]
    frame = spark.createDataFrame(
        rows,
        "topic string, partition int, offset long, timestamp long, key string, value_bytes int",
    )
    path = str(tmp_path / "records")
    frame.write.partitionBy("topic", "partition").format(form).option("header", True).save(path)
    found = read_records(spark, [path]).transform(accepted).drop("timestamp", "key", "value_bytes")
    assert sorted(tuple(row) for row in found.collect()) == sorted(row[:3] for row in rows)
    # a column of the file counts before its folder
    own = spark.createDataFrame([rows[0]], frame.schema)
    own.coalesce(1).write.format(form).option("header", True).save(f"{path}/topic=x/partition=9")
    found = read_records(spark, [f"{path}/topic=x"]).transform(accepted)
    assert [tuple(row)[:3] for row in found.collect()] == [rows[0][:3]]


# ---------------------------------------------------------------------- input that is refused


@pytest.mark.parametrize(
    ("mark", "kind"),
    [("_delta_log/0.json", "delta"), ("metadata/v1.metadata.json", "iceberg")],
)
def test_a_table_with_files_of_removed_rows_is_refused(
    spark: Any, records: Any, write_lines: Write, tmp_path: Path, mark: str, kind: str
) -> None:
    path = write_lines("table/day=1/r.jsonl", *records)
    write_lines(f"table/{mark}", {})
    for given in (str(tmp_path / "table"), path):
        message = _refused(spark, given)
        assert f": {tmp_path / 'table'} is a table, " in message
        assert message.endswith(f"read it with --table '{kind}.`{tmp_path / 'table'}`'")


def _refused(spark: Any, *paths: str) -> str:
    with pytest.raises(InputError) as caught:
        profile_tables(spark, paths)
    message = str(caught.value)
    assert "\n" not in message
    return message


def test_missing_columns_are_named(spark: Any, tmp_path: Path, write_lines: Write) -> None:
    pq.write_table(pa.table({"topic": ["t"], "ts": [1]}), tmp_path / "r.parquet")
    message = _refused(spark, str(tmp_path / "r.parquet"))
    assert message.startswith(str(tmp_path / "r.parquet"))
    assert "columns missing: partition, offset, timestamp, key or key_base64, value_byt" in message
    assert "(found: topic, ts)" in message

    record = {"topic": "t", "partition": 0, "offset": 0, "timestamp": 1, "size": 1, "key": None}
    assert "column missing: value_bytes or value (found: topic" in _refused(
        spark, write_lines("r.jsonl", record)
    )
    message = _refused(spark, write_lines("r.csv", "topic,partition,offset,key,value", "t,0,0,,v"))
    assert "r.csv: column missing: timestamp (found: topic, partition" in message


def test_a_column_of_a_wrong_type_is_named(spark: Any, tmp_path: Path) -> None:
    columns: dict[str, Any] = {name: [1] for name in NAMES}
    columns |= {"topic": ["t"], "key": [b"k"], "partition": [[1]]}
    pq.write_table(pa.table(columns), tmp_path / "r.parquet")
    message = _refused(spark, str(tmp_path / "r.parquet"))
    assert message.endswith("column partition has type array<bigint>, expected string or a number")


def test_a_column_that_is_there_twice_is_named(spark: Any, tmp_path: Path) -> None:
    columns: dict[str, Any] = {name: [1] for name in NAMES}
    columns |= {"topic": ["t"], "key": [b"k"], "Topic": ["u"]}
    pq.write_table(pa.table(columns), tmp_path / "r.parquet")
    assert _refused(spark, str(tmp_path / "r.parquet")) == (
        f"{tmp_path}/r.parquet: has the column topic twice, in upper and lower case: rename one"
    )


def test_a_key_that_is_a_number_has_no_bytes(spark: Any, tmp_path: Path) -> None:
    columns: dict[str, Any] = {name: [1] for name in NAMES} | {"topic": ["t"]}
    pq.write_table(pa.table(columns), tmp_path / "r.parquet")
    message = _refused(spark, str(tmp_path / "r.parquet"))
    assert message.endswith("column key has type bigint, expected string or binary")


def test_a_column_of_nothing_but_nulls_has_any_type(spark: Any, tmp_path: Path) -> None:
    """pandas and pyarrow write it to Parquet as integers."""
    columns: dict[str, Any] = {name: [1, 1] for name in NAMES} | {"topic": ["t", "t"]}
    pq.write_table(pa.table(columns | {"key": [b"k", None]}), tmp_path / "1.parquet")
    pq.write_table(pa.table(columns | {"key": pa.nulls(2)}), tmp_path / "2.parquet")
    keys = [key for *_, key, _ in _good(spark, str(tmp_path / "2.parquet"))]
    assert keys == [None, None]
    rows = read_records(spark, [str(tmp_path)]).transform(accepted)
    assert [rows.where("key is null").count(), rows.count()] == [3, 4]


def test_names_with_a_colon(spark: Any, records: Any, tmp_path: Path, write_lines: Write) -> None:
    write_lines("in/a.jsonl", *records)
    write_lines("in/no:on/b.jsonl", *records)
    assert len(_good(spark, str(tmp_path / "in"))) == 2 * len(records)
    assert _refused(spark, f"{tmp_path}/in/*").endswith(
        "in/*: cannot be read: Spark does not accept the colon in no:on: rename it"
    )


@pytest.mark.parametrize(
    ("url", "problem"),
    [
        ("hdfs://no-such-host.invalid/x", "no such host: check the URL"),
        ("http://no-such-host.invalid/x", "Spark cannot list the files at such URLs: download"),
    ],
)
def test_urls_that_cannot_be_read(spark: Any, url: str, problem: str) -> None:
    assert _refused(spark, url).startswith(f"{url}: {problem}")


@pytest.mark.parametrize(
    ("columns", "problem"),
    [
        ({"key": None}, "key: expected the name of a column, got None"),
        ({"key": ""}, "key: expected the name of a column, got ''"),
        (["key"], "expected columns by name"),
    ],
)
def test_a_mapping_that_is_none_is_refused(
    spark: Any, write_lines: Write, columns: Any, problem: str
) -> None:
    reading = Reading(columns=columns)
    with pytest.raises(InputError, match=f"^`columns`: {problem}"):
        read_rows(spark, [write_lines("r.jsonl", "{}")], RECORDS, reading=reading)


@pytest.mark.long
def test_missing_empty_and_damaged_files(spark: Any, tmp_path: Path, write_lines: Write) -> None:
    header = ",".join(NAMES)
    (tmp_path / "empty").mkdir()
    (tmp_path / "empty.parquet").touch()
    (tmp_path / "broken.parquet").write_bytes(b"PAR1 nonsense PAR1")
    good = _csv(tmp_path / "good.csv", [])
    refused = {
        "nowhere.parquet": "no such file or directory",
        "no*where/*.json": "no such file or directory",
        "empty": "holds no files",
        "empty.parquet": "cannot be read",
        "broken.parquet": "cannot be read",
        write_lines("empty.jsonl"): "no records: the input is empty",
        write_lines("empty.csv"): "is empty",
        good: "no records: the input is empty",
        write_lines("bad.jsonl", "x", "y"): "no records: 2 rows are rejected",
        write_lines("r.txt", "x"): "no file of a known format",
        write_lines("twice.csv", header + ",key"): "column key occurs twice",
    }
    for name, problem in refused.items():
        path = str(tmp_path / name)
        message = _refused(spark, path)
        assert message.startswith(path)
        assert problem in message
    assert "already given" in _refused(spark, good, good)
    assert "no records given" in _refused(spark)


@pytest.mark.long
def test_files_of_different_types_are_widened(spark: Any, records: Any, tmp_path: Path) -> None:
    """Files of several periods: other types of a column, columns that nothing reads, values in
    place of their sizes, names in another case."""
    (tmp_path / "in").mkdir()
    columns: dict[str, Any] = {name: [r[name] for r in records] for name in NAMES}
    texts = [str(p) for p in columns["partition"]]
    values = [b"x" * size for size in columns.pop("value_bytes")]
    sized = columns | {"value_bytes": [len(value) for value in values]}
    ways: dict[str, dict[str, Any]] = {
        "a": sized,
        "b": sized | {"partition": pa.array(columns["partition"], pa.int32()), "note": texts},
        "c": sized | {"partition": texts, "note": values},
        "d": columns | {"value": values},
        "e": {name.upper(): column for name, column in sized.items()},
    }
    for name, way in ways.items():
        pq.write_table(pa.table(way), tmp_path / "in" / f"{name}.parquet")
    assert _bad(spark, str(tmp_path / "in")) == []
    assert _good(spark, str(tmp_path / "in")) == sorted(_expected(records) * len(ways))


def test_the_file_and_column_that_cannot_be_read_are_named(spark: Any, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    columns: dict[str, Any] = {name: [1] for name in NAMES} | {"topic": ["t"], "key": [b"k"]}
    for name in "abc":
        pq.write_table(pa.table(columns), tmp_path / "in" / f"{name}.parquet")
    pq.write_table(pa.table(columns | {"partition": [[1]]}), tmp_path / "in" / "d.parquet")
    file = tmp_path / "in" / "d.parquet"
    found = _refused(spark, str(tmp_path / "in"))
    assert found == f"{file}: column partition has type array<bigint>, expected string or a number"


@pytest.mark.long
def test_lines_may_have_a_value_or_its_size(spark: Any, records: Any, write_lines: Write) -> None:
    values = [r | {"value": "x" * r["value_bytes"]} for r in records]
    for record in values:
        del record["value_bytes"]
    values[-1]["value"] = None
    expected = _expected([*records, *records[:-1], records[-1] | {"value_bytes": 0}])
    neither = {name: value for name, value in records[0].items() if name != "value_bytes"}
    sized = [write_lines("sized/r.jsonl", *records), write_lines("sized/s.jsonl", *values)]
    assert _good(spark, str(Path(sized[0]).parent)) == expected
    path = write_lines("sized/t.jsonl", neither)
    assert _good(spark, str(Path(path).parent)) == expected
    assert [why for _, why in _bad(spark, str(Path(path).parent))] == ["value_bytes is missing"]
    valued = [write_lines("valued/a.jsonl", *values), write_lines("valued/b.jsonl", *records)]
    assert _good(spark, str(Path(valued[0]).parent)) == expected


@pytest.mark.long
def test_orc_gives_the_same_rows(spark: Any, records: Any, tmp_path: Path) -> None:
    parquet = spark.read.parquet(_parquet(tmp_path / "r.parquet", records))
    parquet.coalesce(1).write.orc(str(tmp_path / "orc"))
    assert _good(spark, str(tmp_path / "orc")) == _expected(records)


def test_a_frame_with_other_names_of_columns(spark: Any, records: Any, tmp_path: Path) -> None:
    parquet = spark.read.parquet(_parquet(tmp_path / "r.parquet", records))
    frame = parquet.selectExpr(
        "topic as t",
        "partition as Partition",
        "offset as `the.offset`",
        "timestamp",
        "struct(key as id, 1 as version) as payload",
        "'not the key' as key",
        "value_bytes as VALUE_BYTES",
    )
    columns = {"topic": "t", "key": "payload.id", "offset": "`the.offset`"}
    rows = read_records(frame, **columns)
    expected = read_records(spark, [str(tmp_path / "r.parquet")])
    names = list(RECORDS.columns)
    assert sorted(map(str, rows.select(names).collect())) == sorted(
        map(str, expected.select(names).collect())
    )
    frame.createOrReplaceTempView("of_the_test")
    url = Table("of_the_test", columns).url
    assert _good(spark, url) == _expected(records)
    for wrong, problem in {
        "payload.name": "key=payload.name: no such column or field (found: t, Partition, ",
        "nothing": "key=nothing: no such column or field",
    }.items():
        with pytest.raises(InputError, match=re.escape(problem)):
            read_records(frame, **columns | {"key": wrong})
    with pytest.raises(InputError, match="DataFrame: size: is not a column of records"):
        read_records(frame, **columns, size="x")
    with pytest.raises(InputError, match="DataFrame: column missing: topic "):
        read_records(frame, key="payload.id", offset="`the.offset`")
    with pytest.raises(InputError, match="table of_the_test: key=no: no such column"):
        _good(spark, Table("of_the_test", columns | {"key": "no"}).url)
    assert "table no_such_table: The table or view 'no_such_table' cannot be found" in _refused(
        spark, Table("no_such_table").url
    )


@pytest.mark.long
def test_files_with_other_names_of_columns(
    spark: Any, records: Any, tmp_path: Path, write_lines: Write
) -> None:
    """In every format; ``key`` is another thing there, and the null key stays null."""
    columns = {"topic": "t", "key": "payload.id", "offset": "Offset"}
    rows = [
        {
            **{n: r[n] for n in ("partition", "timestamp", "value_bytes")},
            "t": r["topic"],
            "Offset": r["offset"],
            "key": "another",
            "payload": {"id": r["key"], "version": 1},
        }
        for r in records
    ]
    (tmp_path / "in").mkdir()
    pq.write_table(pa.Table.from_pylist(rows[:3]), tmp_path / "in" / "a.parquet")
    orc.write_table(pa.Table.from_pylist(rows[3:5]), tmp_path / "in" / "b.orc")
    write_lines("in/c.jsonl", *rows[5:])
    found = read_records(spark, [str(tmp_path / "in")], **columns).transform(accepted).collect()
    seen = {(r.topic, r.partition, r.offset): r.key for r in found}
    assert {place: None if key is None else bytes(key).decode() for place, key in seen.items()} == {
        (r["topic"], r["partition"], r["offset"]): r["key"] for r in records
    }
    flat = write_lines("r.csv", "t,partition,at,id,value_bytes", "t,0,2026-01-01,k,7")
    found = read_records(spark, [flat], topic="t", offset="partition", timestamp="at", key="id")
    ((topic, offset, key),) = found.transform(accepted).select("topic", "offset", "key").collect()
    assert (topic, offset, bytes(key)) == ("t", 0, b"k")
    for path, wrong in (
        (str(tmp_path / "in" / "a.parquet"), "payload.name"),
        (str(tmp_path / "in" / "c.jsonl"), "nothing"),
        (flat, "t.id"),
    ):
        with pytest.raises(InputError, match=f"key={wrong}: no such column or field .found: "):
            read_records(spark, [path], **columns | {"key": wrong})


@pytest.mark.long
def test_avro_with_the_jar_that_spark_lacks(spark: Any, records: Any, tmp_path: Path) -> None:
    """As Spark's own writer has them, timestamps and nulls included."""
    columnar.add_avro(spark)
    parquet = spark.read.parquet(_parquet(tmp_path / "r.parquet", records))
    parquet.withColumnRenamed("key", "id").coalesce(1).write.format("avro").save(
        str(tmp_path / "avro")
    )
    rows = read_records(spark, [str(tmp_path / "avro")], key="id").transform(accepted)
    names = list(RECORDS.columns)
    expected = read_records(spark, [str(tmp_path / "r.parquet")]).select(names)
    assert sorted(map(str, rows.select(names).collect())) == sorted(map(str, expected.collect()))


@pytest.mark.long
def test_a_csv_of_pandas_and_of_python_reads_the_same(
    spark: Any, records: Any, tmp_path: Path
) -> None:
    pandas = pytest.importorskip("pandas")
    keyed = [r for r in records if r["key"]]
    pandas.DataFrame(keyed).to_csv(tmp_path / "p.csv", index=False)
    with (tmp_path / "c.csv").open("w", encoding="utf-8", newline="") as out:
        writer = csv.DictWriter(out, NAMES)
        writer.writeheader()
        writer.writerows(keyed)
    assert _good(spark, str(tmp_path / "p.csv")) == _expected(keyed)
    assert _good(spark, str(tmp_path / "c.csv")) == _expected(keyed)


def test_all_but_parquet_is_kept(spark: Any, tmp_path: Path, change_events: str) -> None:
    record = {"topic": "t", "partition": 0, "offset": 0, "timestamp": 1, "key": "k"}
    lines = tmp_path / "records.jsonl"
    lines.write_text(json.dumps({**record, "value_bytes": 1}), encoding="utf-8")
    kept: list[Any] = []

    def keep(frame: Any) -> Any:
        kept.append(frame)
        return frame

    read_rows(spark, [change_events, str(lines)], RECORDS, keep)
    assert [frame.count() for frame in kept] == [1]


@pytest.mark.long
def test_fields_of_more_than_128_kilobytes(spark: Any, tmp_path: Path) -> None:
    """A key may have that; a first line that has it is not a header."""
    path = tmp_path / "a.csv"
    path.write_text(f"{','.join(NAMES)}\nt,0,1,2026-01-01,{'k' * 200_000},9\n")
    ((*_, key, size),) = _good(spark, str(path))
    assert (len(key), size) == (200_000, 9)
    path.write_text(f"{'x' * 200_000},{','.join(NAMES)}\n")
    with pytest.raises(InputError, match=r"a\.csv: its first line is not a header \(field larger"):
        _good(spark, str(path))
