"""Damaged records and logs inside Spark: success, or one line of partage, never a traceback."""

from __future__ import annotations

import io
import json
import os
import random
import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("pyspark")

from tests.fuzz import bounded
from tests.fuzz.mutations import damaged, table_damaged
from tests.profiles import seeds

pytestmark = [pytest.mark.spark, pytest.mark.long]

ROWS = [
    (topic, number % 3, offset, 1_767_225_600_000 + 20_000 * offset, f"k{offset % 5}", 100 + offset)
    for topic in ("orders", "clicks")
    for number, offset in enumerate(range(12))
]
NAMES = ("topic", "partition", "offset", "timestamp", "key", "value_bytes")


def parquet() -> bytes:
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns = zip(*ROWS, strict=True)
    table = pa.table({name: list(column) for name, column in zip(NAMES, columns, strict=True)})
    written = io.BytesIO()
    pq.write_table(table, written)
    return written.getvalue()


def json_lines() -> bytes:
    return b"".join(json.dumps(dict(zip(NAMES, row, strict=True))).encode() + b"\n" for row in ROWS)


def csv() -> bytes:
    lines = [",".join(NAMES), *(",".join(map(str, row)) for row in ROWS)]
    return "\n".join(lines).encode() + b"\n"


def log() -> bytes:
    return (Path(__file__).parent.parent / "data" / "logs" / LOG).read_bytes()


LOG = "java-cooperative-whole/a.log"
RECORDS: dict[str, Callable[[], bytes]] = {
    "records.parquet": parquet,
    "records.jsonl": json_lines,
    "records.csv": csv,
}
COMMANDS = (
    ("profile", "-o", "out", "--overwrite"),
    ("profile", "--json", "-o", "out", "--overwrite", "--window", "60"),
    ("keys", "--partitions", "2,4"),
    ("keys", "--partitions", "6", "--json"),
)


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    for name in [name for name in os.environ if name.startswith("PARTAGE_")]:
        monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)
    yield tmp_path
    shutil.rmtree(tmp_path / "out", ignore_errors=True)


def ended(name: str, content: bytes, words: tuple[str, ...]) -> bounded.Ended:
    Path(name).write_bytes(content)
    found = bounded.run(bounded.command(words[0], name, *words[1:]))
    lines = [line for line in found.err.splitlines(keepends=True) if not line.startswith("… ")]
    return replace(found, err="".join(lines))  # without its progress


@pytest.mark.parametrize("name", RECORDS)
def test_intact_records(spark: object, workspace: Path, name: str) -> None:
    for words in COMMANDS:
        found = ended(name, RECORDS[name](), words)
        assert (found.code, found.fault()) == (0, None)


@pytest.mark.parametrize("seed", seeds(12))
@pytest.mark.parametrize("name", RECORDS)
def test_damaged_records(spark: object, workspace: Path, name: str, seed: int) -> None:
    chance = random.Random(f"{name} {seed}")
    content = table_damaged(RECORDS[name](), chance)
    found = ended(name, content, chance.choice(COMMANDS))
    assert found.fault() is None
    assert "file:" not in found.err
    assert "///" not in found.err


@pytest.mark.parametrize("seed", seeds(8))
def test_damaged_logs(spark: object, workspace: Path, seed: int) -> None:
    chance = random.Random(f"log {seed}")
    content = damaged(log(), chance)
    words = ("history", *chance.choice(((), ("--json",), ("-o", "out", "--overwrite"))))
    assert ended("a.log", content, words).fault() is None
