"""The directory that ``write_profile`` leaves, its progress, and the other ways to Spark."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyspark")

import pyarrow.parquet as pq

from partage.errors import InputError, PartageError
from partage.installation import not_installed
from partage.measured_loads import Profile
from partage.measured_loads.max_rejected import MaxRejected
from partage.period import ALWAYS
from partage.pipeline import session, write_profile
from partage.pipeline.profile import header, profile_tables

pytestmark = pytest.mark.spark


def rows_of(table: Path) -> list[Any]:
    """The rows of a table, in one order; those of each of its files must be sorted already."""
    found = []
    for file in table.iterdir():
        rows = [tuple(row.values()) for row in pq.read_table(file).to_pylist()]
        assert rows == sorted(rows)
        found += rows
    return sorted(found)


def test_a_profile_is_written_whole_and_reads_back(
    spark: Any, records: Any, write_lines: Callable[..., str], tmp_path: Path
) -> None:
    path = write_lines("r.jsonl", *records, "nonsense")
    calls: list[tuple[int, int, str]] = []
    about = write_profile(
        spark, [path], tmp_path / "out", window=60, top=1, progress=lambda *call: calls.append(call)
    )
    assert about["totals"] == {
        "records": 8,
        "bytes": 1177 + 4 * 2 + 2 * 4 + 3 + 8,
        "rejected": 1,
        "topics": 2,
        "partitions": 3,
    }
    assert json.loads((tmp_path / "out" / "profile.json").read_text()) == about
    assert about["window_seconds"] == 60
    assert about["sources"] == [path]
    profile = Profile.read(tmp_path / "out")
    assert profile.topics == ("clicks", "orders")
    assert profile.totals == about["totals"]
    assert [key.key for key in profile.hot_keys()] == ['say "hi"', "béa"]
    assert pq.read_table(tmp_path / "out" / "rejected").to_pylist() == [
        {"source": path, "row": "nonsense", "reason": "line is not one JSON object"}
    ]
    labels = list(dict.fromkeys(label for _, _, label in calls))
    assert labels == ["reading", "windows", "partitions", "keys", "rejected"]
    assert all(0 <= done <= total for done, total, _ in calls)


def test_names_that_kafka_does_not_accept_are_listed(
    spark: Any, records: Any, write_lines: Callable[..., str], tmp_path: Path
) -> None:
    names = ["orders", "a.b_c-D9", "x" * 249, "a/b", "é", "..", "new\nline\n"]
    rows = [{**record, "topic": topic} for topic in names for record in records[:2]]
    about = write_profile(spark, [write_lines("r.jsonl", *rows)], tmp_path / "out")
    assert about["invalid_topics"] == ["..", "a/b", "new\nline\n", "é"]
    assert about["totals"]["topics"] == len(names)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("highest", [2, 63, 64, 600])
def test_distinct_keys_of_partitions_with_and_without_keys(
    spark: Any, records: Any, write_lines: Callable[..., str], highest: int
) -> None:
    keys: dict[int, list[str | None]] = {0: ["a", "b"], 1: ["a", None], 2: [None]}
    keys[highest] = ["a", "b", "c", "c"]
    rows = [
        {**records[0], "topic": "t", "partition": partition, "key": key}
        for partition, own in keys.items()
        for key in own
    ]
    tables = profile_tables(spark, [write_lines("r.jsonl", *rows)])
    found = tables["partitions"].select(["partition", "distinct_keys", "null_keys"]).to_pylist()
    assert [tuple(row.values()) for row in found] == [
        (partition, len(set(own) - {None}), own.count(None)) for partition, own in keys.items()
    ]
    assert [row["records"] for row in tables["keys"].to_pylist()] == sorted(
        Counter(key for own in keys.values() for key in own if key).values(), reverse=True
    )


@pytest.mark.long
def test_the_same_records_give_the_same_bytes(
    spark: Any, records: Any, write_lines: Callable[..., str], tmp_path: Path
) -> None:
    def files(name: str, rows: Any) -> dict[str, bytes]:
        path = write_lines("r.jsonl", *rows)
        write_profile(spark, [path], tmp_path / name)
        out = tmp_path / name
        return {str(f.relative_to(out)): f.read_bytes() for f in out.rglob("*") if f.is_file()}

    first = files("one", [*records, "x", "y"])
    assert files("two", [*reversed(records), "y", "x"]) == first
    assert {name.partition("part-")[0] for name in first} == {
        *(".partage.json", "profile.json"),
        *("keys/", "partitions/", "rejected/", "windows/"),
    }
    assert json.loads(first["profile.json"])["rejected"] == [
        {"source": str(tmp_path / "r.jsonl"), "reason": "line is not one JSON object", "rows": 2}
    ]


@pytest.mark.long
def test_the_older_output_is_kept_when_the_new_one_fails(
    spark: Any, records: Any, write_lines: Callable[..., str], tmp_path: Path
) -> None:
    good, bad = write_lines("r.jsonl", *records), write_lines("bad.jsonl", "x")
    write_profile(spark, [good], tmp_path / "out")
    before = (tmp_path / "out" / "profile.json").read_text()
    with pytest.raises(InputError, match="no records"):
        write_profile(spark, [bad], tmp_path / "out", overwrite=True)
    assert (tmp_path / "out" / "profile.json").read_text() == before
    with pytest.raises(InputError, match="already exists: `overwrite` replaces it"):
        write_profile(spark, [good], tmp_path / "out")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "file").touch()
    with pytest.raises(InputError, match="did not write"):
        write_profile(spark, [good], tmp_path / "mine")
    with pytest.raises(InputError, match="window"):
        write_profile(spark, [good], tmp_path / "other", window=0)
    assert not (tmp_path / "other").exists()


def test_too_many_rejected_rows_fail_the_run(
    spark: Any, records: Any, write_lines: Callable[..., str], tmp_path: Path
) -> None:
    path = write_lines("r.jsonl", *records, "x", *[{**records[0], "offset": -1}] * 2)
    found = rf"3 rejected of 11 rows, most because offset is negative \({path}\)$"
    with pytest.raises(PartageError, match=rf"^`max_rejected` 25%: {found}"):
        write_profile(spark, [path], tmp_path / "out", max_rejected=MaxRejected.of("25%"))
    assert not (tmp_path / "out").exists()


def test_a_running_session_is_used_and_left(spark: Any) -> None:
    with session("local[1]") as other:
        assert other is spark
    assert spark.range(3).count() == 3


SCRIPT = """
import sys
from partage.errors import PartageError
from partage.pipeline import session, write_profile
calls = []
try:
    with session(short=True) as spark:
        write_profile(spark, [sys.argv[1]], sys.argv[2], progress=lambda *call: calls.append(call))
        write_profile(spark, [sys.argv[1]], sys.argv[2] + "-approximate", approximate=True)
        print(type(spark).__module__, any(total for _, total, _ in calls))
except PartageError as error:
    print(error)
"""


def _run(remote: str, *arguments: str) -> tuple[str, str]:
    run = subprocess.run(
        [sys.executable, "-c", SCRIPT, *arguments],
        env=os.environ | {"SPARK_REMOTE": remote},
        capture_output=True,
        text=True,
        timeout=1800,  # a minute; with little of a busy machine many, which is no failure
        check=True,
    )
    return run.stdout, run.stderr


@pytest.mark.long
def test_spark_connect_writes_the_same_files_here(
    spark: Any, records: Any, write_lines: Callable[..., str], tmp_path: Path
) -> None:
    pytest.importorskip("grpc")
    path = write_lines("r.jsonl", *records, "nonsense")
    out, err = _run("local[2]", path, str(tmp_path / "connect"))
    assert (out, err) == ("pyspark.sql.connect.session True\n", "")
    write_profile(spark, [path], tmp_path / "classic")
    for name in ("partitions", "keys", "windows", "rejected"):
        for connect in ("connect", "connect-approximate"):  # of few records, which is exact
            assert rows_of(tmp_path / connect / name) == rows_of(tmp_path / "classic" / name)


def test_a_cluster_that_is_not_there_is_one_line(tmp_path: Path) -> None:
    out, err = _run("sc://127.0.0.1:1", "r.jsonl", str(tmp_path / "out"))
    assert out == "Spark at sc://127.0.0.1:1 cannot be opened: Connection refused\n"
    assert err == ""


@pytest.mark.parametrize("package", ["pyspark", "pyarrow"])
def test_a_missing_package_is_one_line(package: str) -> None:
    code = f"""
import sys
sys.modules[{package!r}] = None
try:
    import partage.pipeline
except Exception as error:
    print(type(error).__name__, error)
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout == f"PartageError {not_installed(package, 'spark')}\n"


def test_sources_have_no_login() -> None:
    given = ["ftp://me:Canary@h/x", "https://h/x?sig=Canary", "abfss://box@h/x", "a b"]
    shown = ["ftp://***@h/x", "https://h/x?sig=***", "abfss://box@h/x", "a b"]
    assert header(given, 3600, 10, ALWAYS)["sources"] == shown
