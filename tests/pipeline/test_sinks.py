"""Tables written in any format, whole or not at all, over what was there only when asked to."""

from __future__ import annotations

import base64
import csv
import hashlib
import json
import signal
import subprocess
import sys
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import pytest

pytest.importorskip("pyspark")

import pyarrow as pa
import pyarrow.parquet as pq

from partage.errors import InputError
from partage.measured_loads import Profile
from partage.outputs import LIST, check_directory, directory
from partage.pipeline import sinks
from partage.pipeline.sinks import Sink
from partage.pipeline.table_formats import DELTA

ABOUT = {"format_version": 1, "partage": "0.1"}
TIME = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
KEYS = pa.table(
    {
        "topic": ["a", 'b,"c"', "é"],
        "key": pa.array([b"\x00\xff", b"", None], pa.binary()),
        "records": pa.array([1, 2**40, None], pa.int64()),
        "first": pa.array([TIME, None, TIME], pa.timestamp("us", "UTC")),
    }
)
EMPTY = KEYS.slice(0, 0)


def tree(folder: Path) -> dict[str, bytes]:
    return {str(f.relative_to(folder)): f.read_bytes() for f in folder.rglob("*") if f.is_file()}


def written(folder: Path, **options: Any) -> Sink:
    """A sink, with the output of an earlier run in its place."""
    Sink(folder, "mark.json").write(None, {"keys": KEYS}, ABOUT | {"run": "earlier"})
    return Sink(folder, "mark.json", **options)


# ---------------------------------------------------------------- without Spark


def test_parquet_is_one_file_per_table(tmp_path: Path) -> None:
    told = Sink(tmp_path / "out", "mark.json").write(None, {"keys": KEYS, "none": EMPTY}, ABOUT)
    assert sorted(tree(tmp_path)) == [
        f"out/{LIST}",
        "out/keys/part-00000.parquet",
        "out/mark.json",
        "out/none/part-00000.parquet",
    ]
    assert pq.read_table(tmp_path / "out" / "keys").equals(KEYS)
    assert json.loads((tmp_path / "out" / "mark.json").read_text()) == told
    assert told == ABOUT | {"format": "parquet"}


def test_existing_output_is_replaced_only_on_request(tmp_path: Path) -> None:
    careful = written(tmp_path / "out")
    before = tree(tmp_path)
    for refused in (lambda: careful.check(None), lambda: careful.write(None, {"x": KEYS}, ABOUT)):
        with pytest.raises(InputError, match=r"out: already exists: `overwrite` replaces it$"):
            refused()
    assert tree(tmp_path) == before
    bold = Sink(tmp_path / "out", "mark.json", overwrite=True)
    bold.check(None)
    bold.write(None, {"x": KEYS}, ABOUT)
    assert sorted(tree(tmp_path)) == [f"out/{LIST}", "out/mark.json", "out/x/part-00000.parquet"]


def test_other_peoples_files_are_never_replaced(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "file").touch()
    for overwrite in (False, True):
        with pytest.raises(InputError, match="did not write"):
            Sink(tmp_path / "mine", "mark.json", overwrite=overwrite).check(None)


def test_a_local_url_is_refused() -> None:
    with pytest.raises(InputError, match="file:///tmp/out: is not a local directory"):
        Sink("file:///tmp/out", "mark.json").check(None)


def test_iceberg_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="format iceberg: its tables record their own path"):
        Sink(tmp_path / "out", "mark.json", "iceberg").check(None)


@pytest.mark.spark
def test_a_format_that_spark_lacks(spark: Any, tmp_path: Path) -> None:
    release = ".".join(version("pyspark").split(".")[:2])
    known = DELTA.releases()
    advice = f"Delta: no release for Spark {release} is known: use Spark {' or '.join(known)}; "
    advice += "or name a release with --packages"
    if release in known:
        advice = f"format delta: Spark lacks it: start it with --packages {DELTA.package(release)}"
    with pytest.raises(InputError) as found:
        Sink(tmp_path / "out", "mark.json", "delta").check(spark)
    assert str(found.value) == advice
    assert list(tmp_path.iterdir()) == []


def test_one_who_was_faster_is_not_overwritten(tmp_path: Path) -> None:
    class Slow(dict[str, Any]):
        def items(self) -> Any:
            written(tmp_path / "out")
            return super().items()

    with pytest.raises(InputError, match="already exists"):
        Sink(tmp_path / "out", "mark.json").write(None, Slow(keys=KEYS), ABOUT)
    assert json.loads((tmp_path / "out" / "mark.json").read_text())["run"] == "earlier"
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


RUN = """
import sys, time
import pyarrow as pa
from partage.errors import InputError
from partage.pipeline.sinks import Sink

class Tables(dict):
    def items(self):
        yield "one", pa.table({"a": [1]})
        {interrupted}
        yield "two", pa.table({"a": list(range(100_000))})

try:
    Sink(sys.argv[1], "mark.json", overwrite=True).write(None, Tables(), {"run": "later"})
except InputError as error:
    print(error)
"""


def test_a_full_disk_leaves_what_was(tmp_path: Path) -> None:
    """No file of the run may grow beyond 20 kB: the second table does not fit."""
    written(tmp_path / "out")
    before = tree(tmp_path)
    full = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))"
    code = RUN.replace("{interrupted}", full)
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "out")],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(f"{tmp_path / 'out'}: cannot be written (")
    assert tree(tmp_path) == before


def test_a_killed_run_leaves_what_was(tmp_path: Path) -> None:
    written(tmp_path / "out")
    before = tree(tmp_path / "out")
    code = RUN.replace("{interrupted}", "print('half', flush=True); time.sleep(100)")
    with subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path / "out")], stdout=subprocess.PIPE, text=True
    ) as running:
        assert running.stdout is not None
        assert running.stdout.readline() == "half\n"
        running.send_signal(signal.SIGKILL)
    assert tree(tmp_path / "out") == before
    Sink(tmp_path / "out", "mark.json", overwrite=True).write(None, {"keys": EMPTY}, ABOUT)
    assert pq.read_table(tmp_path / "out" / "keys").num_rows == 0


def test_a_profile_in_another_format_is_named(tmp_path: Path) -> None:
    about = {
        "format_version": 1,
        "sources": [],
        "window_seconds": 1,
        "totals": dict.fromkeys(("records", "bytes", "rejected", "topics", "partitions"), 0),
        "format": "orc",
    }
    (tmp_path / "profile.json").write_text(json.dumps(about))
    with pytest.raises(InputError, match="its tables are orc, only Parquet is read"):
        Profile.read(tmp_path)


def test_a_spark_that_writes_elsewhere(tmp_path: Path) -> None:
    elsewhere = MagicMock()
    with pytest.raises(InputError, match=r"^format orc: what Spark writes to .*out is not seen"):
        Sink(tmp_path / "out", "mark.json", "orc").check(elsewhere)
    assert elsewhere.createDataFrame.called
    assert list(tmp_path.iterdir()) == []


# ---------------------------------------------------------------- on Spark


@pytest.mark.sampled(2)
@pytest.mark.spark
@pytest.mark.parametrize("name", [pytest.param("json", marks=pytest.mark.long), "csv", "orc"])
def test_formats_of_spark(spark: Any, tmp_path: Path, name: str) -> None:
    sink = Sink(tmp_path / "a b" / "out", "mark.json", name)
    sink.check(spark)
    assert not (tmp_path / "a b").exists()
    assert list(tmp_path.iterdir()) == []
    assert sink.write(spark, {"keys": KEYS, "none": EMPTY}, ABOUT)["format"] == name
    out = tmp_path / "a b" / "out"
    assert sorted(path.name for path in out.iterdir()) == [LIST, "keys", "mark.json", "none"]

    def text(value: bytes | None) -> Any:
        return value if name == "orc" or value is None else base64.b64encode(value).decode()

    types = f"topic string, key {'binary' if name == 'orc' else 'string'}, records long"
    frame = spark.read.format(name).schema(f"{types}, first timestamp")
    frame = frame.option("header", True).option("escape", '"')  # RFC 4180
    found = frame.load(str(out / "keys")).toArrow().to_pylist()
    wanted = [row | {"key": text(row["key"])} for row in KEYS.to_pylist()]
    if name == "csv":  # which has but one way to say nothing
        wanted[1]["key"] = None
    assert found == wanted
    assert frame.load(str(out / "none")).count() == 0


@pytest.mark.spark
def test_executors_write_and_hash_the_files(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two files, as they are what a later run may replace, and rows sorted in each."""
    out = tmp_path / "a b[1]" / "out"
    schema = pa.schema([("a", pa.int32()), ("at", pa.timestamp("us", "UTC"))])
    frame = spark.range(100).selectExpr("99 - id as a", "timestamp_seconds(id) as at")
    monkeypatch.setattr(sinks, "HASHED_HERE", 0)
    monkeypatch.setattr(directory, "_digest", lambda path: f"here: {path.name}")
    with Sink(out, "mark.json").opened(spark) as tables:
        tables.add("one", frame.repartition(2, "a"), schema, ["a"])
        tables.about = ABOUT
    listed = json.loads((out / LIST).read_text())["files"]
    files = [out / "one" / f"part-{number:05}.parquet" for number in range(2)]
    assert sorted((out / "one").iterdir()) == files
    for file in files:
        table = pq.read_table(file)
        assert (table.schema.names, table.schema.types) == (schema.names, schema.types)
        values = table["a"].to_pylist()
        assert values == sorted(values)
        assert listed[f"one/{file.name}"] == hashlib.sha256(file.read_bytes()).hexdigest()
    assert sum(pq.read_metadata(file).num_rows for file in files) == 100
    monkeypatch.undo()
    check_directory(out, "mark.json")


@pytest.mark.spark
@pytest.mark.parametrize("name", ["json", "csv"])
def test_texts_are_inert(spark: Any, tmp_path: Path, name: str) -> None:
    """For a terminal, and for a spreadsheet that opens the CSV; base64 is left to be decoded."""
    formulas = ["=1+1", "+1", "-1", "@a", " =1", "\uff1d1+1"]
    evil = [*formulas, "\x1b]52;c;x\x07", "a\u202eb", "\x00\r\n", "a=1", 'x",=1,"', "x\\", "x;=1"]
    shown = [*formulas, "\\x1b]52;c;x\\x07", "a\\u202eb", "\\x00\\r\\n", *evil[-4:]]
    table = pa.table({"text": evil, "key": [b"\xf8\x00"] * len(evil)})
    Sink(tmp_path / "out", "mark.json", name).write(spark, {"t": table}, ABOUT)
    frame = spark.read.format(name).option("header", True).option("escape", '"')
    found = frame.load(str(tmp_path / "out/t")).toArrow().to_pylist()
    quoted = [f"'{one}" if name == "csv" and one in formulas else one for one in shown]
    assert [row["text"] for row in found] == quoted
    assert {row["key"] for row in found} == {"+AA="}
    if name == "csv":  # as a spreadsheet reads it
        (part,) = (tmp_path / "out/t").glob("part-*")
        text = part.read_text(encoding="utf-8")
        assert [row[0] for row in csv.reader(text.splitlines())][1:] == quoted
        assert all(line.startswith('"') for line in text.splitlines())


@pytest.mark.spark
@pytest.mark.parametrize("kilobytes", [4, 24, 100])
def test_a_full_disk_is_named_when_spark_writes(spark: Any, tmp_path: Path, kilobytes: int) -> None:
    """In the trial, in a table and in the marker."""
    small = tmp_path / "small"
    small.mkdir()
    size = f"size={kilobytes}k"
    if subprocess.run(["mount", "-t", "tmpfs", "-o", size, "none", small]).returncode:
        pytest.skip("cannot mount here")
    try:
        table = pa.table({"a": list(range(20_000))})
        sink = Sink(small / "out", "mark.json", "csv")

        def run() -> None:
            sink.check(spark)
            sink.write(spark, {"t": table}, ABOUT)

        with pytest.raises(InputError) as refused:
            run()
        assert str(refused.value) == f"{small}/out: cannot be written (No space left on device)"
        assert list(small.iterdir()) == []
    finally:
        subprocess.run(["umount", "--lazy", small], check=True)  # tasks of Spark still end


@pytest.mark.spark
def test_a_format_that_spark_does_not_have(spark: Any, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"^format nonsense: .*nonsense") as caught:
        Sink(tmp_path / "out", "mark.json", "nonsense").check(spark)
    assert "\n" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.spark
def test_a_table_that_spark_cannot_write_leaves_what_was(spark: Any, tmp_path: Path) -> None:
    sink = written(tmp_path / "out", format="csv", overwrite=True)
    before = tree(tmp_path)
    lists = pa.table({"a": [[1, 2]]})
    with pytest.raises(InputError, match=r"^format csv: "):
        sink.write(spark, {"keys": KEYS, "lists": lists}, ABOUT)
    assert tree(tmp_path) == before
