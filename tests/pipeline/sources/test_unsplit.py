"""A large compressed file that cannot be split: named, and its lines distributed."""

from __future__ import annotations

import bz2
import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyspark")

from partage.pipeline import key_report, profile_tables
from partage.pipeline.records import RECORDS
from partage.pipeline.sources import Reading, read_rows, unsplit

pytestmark = [pytest.mark.spark, pytest.mark.long]

NAMES = ("topic", "partition", "offset", "timestamp", "key", "value_bytes")
Pack = Callable[[bytes], bytes]


def write(folder: Path, name: str, pack: Pack, files: int = 1) -> str:
    """1000 records of two topics, the first of each file without an offset."""
    folder.mkdir(exist_ok=True)
    for file in range(files):
        rows = [
            (f"t{n % 2}", n % 3, n, 1_700_000_000_000 + n, f"key-{n % 50}", n)
            for n in range(file, 1000, files)
        ]
        if "json" in name:
            lines = [json.dumps(dict(zip(NAMES, row, strict=True))) for row in rows]
        else:
            lines = [",".join(NAMES), *(",".join(map(str, row)) for row in rows)]
        lines.append(lines[-1].replace(str(rows[-1][2]), "-1"))
        (folder / f"{file}-{name}").write_bytes(pack("\n".join(lines).encode()))
    return str(folder)


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files of a kilobyte are large."""
    monkeypatch.setattr(unsplit, "LARGE", 1000)


def tasks(rows: Any) -> int:
    """How many tasks have rows."""
    return len([size for size in rows.rdd.glom().map(len).collect() if size])


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("name", ["a.json.gz", "a.csv.gz"])
def test_a_file_that_one_task_reads_is_named_and_distributed(
    spark: Any, tmp_path: Path, name: str
) -> None:
    path = write(tmp_path / "packed", name, gzip.compress)
    notes: list[str] = []
    rows = read_rows(spark, [path], RECORDS, reading=Reading(note=notes.append))
    file = f"{path}/0-{name}"
    assert notes == [
        f"{file}: one task unpacks its 0 MB, because Spark cannot split .gz: "
        "smaller files, .bz2 or Parquet are read by several"
    ]
    assert tasks(rows) > 1  # in a session that is not adaptive, which would join those of few rows
    plain = write(tmp_path / "plain", name.removesuffix(".gz"), bytes)
    labels: list[str] = []
    found = profile_tables(spark, [path], progress=lambda *call: labels.append(call[2]))
    expected = profile_tables(spark, [plain])
    assert found.pop("rejected").num_rows == expected.pop("rejected").num_rows == 1
    assert found == expected
    assert f"reading ({notes[0]})" in labels
    labels.clear()
    key_report(spark, [path], [6], progress=lambda *call: labels.append(call[2]))
    assert f"reading ({notes[0]})" in labels


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize(
    ("name", "pack", "files"),
    [
        ("a.json.bz2", bz2.compress, 1),
        ("a.json", bytes, 1),
        ("a.json.gz", gzip.compress, 8),
    ],
    ids=["can be split", "not compressed", "enough files"],
)
def test_others_are_not(spark: Any, tmp_path: Path, name: str, pack: Pack, files: int) -> None:
    path = write(tmp_path / "packed", name, pack, files)
    notes: list[str] = []
    rows = read_rows(spark, [path], RECORDS, reading=Reading(note=notes.append))
    assert notes == []
    assert "hashpartitioning" not in rows._jdf.queryExecution().toString()


def test_a_small_file_is_not(spark: Any, tmp_path: Path) -> None:
    notes: list[str] = []
    path = write(tmp_path / "packed", "a.json.gz", gzip.compress)
    read_rows(spark, [path], RECORDS, reading=Reading(note=notes.append))
    assert notes == []
    line = unsplit.advice("/a/b.zst", 1_234_000_000)
    assert line.startswith("/a/b.zst: one task unpacks its 1.2 GB, because Spark cannot split .zst")
