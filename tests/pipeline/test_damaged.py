"""Damaged files are left out and counted, whatever is damaged, and the others measured whole."""

from __future__ import annotations

import gzip
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyspark")
import pyarrow as pa
import pyarrow.orc as orc
import pyarrow.parquet as pq

from partage.errors import InputError
from partage.pipeline import append_profile, key_report, write_profile
from partage.pipeline.spark_errors import DamagedFileError, spark_errors

pytestmark = pytest.mark.spark

ROWS: list[dict[str, Any]] = [
    {"topic": "t", "partition": 0, "offset": n, "timestamp": 1, "key": f"{n}", "value_bytes": n}
    for n in range(2000)
]


def half(content: bytes) -> bytes:
    return content[: len(content) // 2]


def middle(content: bytes) -> bytes:
    """What is between is lost: the file begins and ends as it should."""
    tenth = len(content) // 10
    return content[:tenth] + b"\xff" * (len(content) - 2 * tenth) + content[-tenth:]


def text(_: bytes) -> bytes:
    return b"no records\n"


def write(path: Path, damage: Callable[[bytes], bytes] = bytes) -> str:
    table = pa.Table.from_pylist(ROWS)
    if path.suffix == ".parquet":
        pq.write_table(table, path, row_group_size=500)
    elif path.suffix == ".orc":
        orc.write_table(table, path, compression="zlib")
    else:
        lines = "".join(f"{json.dumps(record)}\n" for record in ROWS).encode()
        path.write_bytes(gzip.compress(lines, mtime=0))
    path.write_bytes(damage(path.read_bytes()))
    return str(path)


@pytest.mark.long
def test_damaged_files_are_left_out_and_counted(spark: Any, tmp_path: Path) -> None:
    folder, out = tmp_path / "records", tmp_path / "profile"
    folder.mkdir()
    write(folder / "a.parquet")
    bad = [write(folder / "b.jsonl.gz", half), write(folder / "c.parquet", half)]
    about = write_profile(spark, [str(folder)], out, skip_damaged=True)
    assert (about["damaged"], about["damaged_files"]) == (2, bad)
    assert json.loads((out / "profile.json").read_text())["damaged_files"] == bad
    assert (about["totals"]["records"], about["totals"]["rejected"]) == (2000, 0)


@pytest.mark.long
def test_whatever_is_damaged(spark: Any, tmp_path: Path) -> None:
    """Among many whole files, in a draw of places."""
    folder = tmp_path / "records"
    folder.mkdir()
    bad = [
        write(folder / f"{suffix}-{damage.__name__}.{suffix}", damage)
        for suffix in ("parquet", "orc", "jsonl.gz")
        for damage in (half, middle, text)
    ]
    for number, suffix in enumerate(random.Random(3).choices(("parquet", "orc", "jsonl.gz"), k=6)):
        write(folder / f"whole-{number}.{suffix}")
    with pytest.raises(InputError, match="no records: all files are damaged"):
        key_report(spark, bad[:1], [4], skip_damaged=True)
    report = key_report(spark, [str(folder)], [4], skip_damaged=True)
    assert (report.records, list(report.damaged)) == (6 * 2000, sorted(bad))


@pytest.mark.long
def test_a_file_that_was_damaged_is_measured_once_it_is_whole(spark: Any, tmp_path: Path) -> None:
    folder, out = tmp_path / "records", tmp_path / "profile"
    folder.mkdir()
    write(folder / "a.parquet")
    write(folder / "b.parquet", half)
    about = append_profile(spark, [str(folder)], out, skip_damaged=True)
    assert (about["new_files"], about["damaged"], about["totals"]["records"]) == (1, 1, 2000)
    again = append_profile(spark, [str(folder)], out, skip_damaged=True)
    assert (again["new_files"], again["damaged"]) == (0, 1)
    write(folder / "b.parquet")
    about = append_profile(spark, [str(folder)], out, skip_damaged=True)
    assert (about["new_files"], about["damaged"], about["totals"]["records"]) == (1, 0, 4000)


def test_the_error_of_a_damaged_file_says_how_to_leave_it_out(spark: Any, tmp_path: Path) -> None:
    file = write(tmp_path / "a.parquet", half)
    problem = (
        r"a\.parquet: cannot be read: it is damaged, .*; `skip_damaged` leaves such files out$"
    )
    with pytest.raises(DamagedFileError, match=problem):
        write_profile(spark, [file], tmp_path / "out")
    with pytest.raises(DamagedFileError, match=problem):
        key_report(spark, [file], [4])


def test_a_file_that_cannot_be_opened_is_not_damaged(spark: Any, tmp_path: Path) -> None:
    """It may be read another time, so it must not be left out."""
    file = write(tmp_path / "a.parquet")
    frame = spark.read.parquet(file)
    Path(file).unlink()
    with pytest.raises(InputError) as caught, spark_errors():
        frame.count()
    assert not isinstance(caught.value, DamagedFileError)


def test_a_schema_that_another_program_copied_is_named(spark: Any, tmp_path: Path) -> None:
    """As PyArrow does with what Spark wrote: the type of the timestamps is not that of the file."""
    table = pa.Table.from_pylist(ROWS[:3])
    moment = pa.array([1_000_000_000] * 3, pa.timestamp("ns"))
    table = table.set_column(3, "timestamp", moment)
    kinds = dict.fromkeys(table.schema.names, "long")
    kinds |= {"topic": "string", "timestamp": "timestamp", "key": "string"}
    fields = [
        {"name": name, "type": kind, "nullable": True, "metadata": {}}
        for name, kind in kinds.items()
    ]
    schema = json.dumps({"type": "struct", "fields": fields})
    table = table.replace_schema_metadata({"org.apache.spark.sql.parquet.row.metadata": schema})
    file = tmp_path / "a.parquet"
    pq.write_table(table, file)
    with pytest.raises(DamagedFileError, match=r"a\.parquet: column timestamp is INT64 where the"):
        write_profile(spark, [str(file)], tmp_path / "out")
    assert not (tmp_path / "out").exists()
