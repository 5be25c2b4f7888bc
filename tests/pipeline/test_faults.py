"""Processes of Spark killed or short of memory or disk: the same rows, or one line with the cause.

Half of the records are of one key, in one partition, in one file.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("pyspark")

import pyarrow as pa
import pyarrow.parquet as pq

from tests.pipeline.standalone import Standalone, connect_server, run

# Spark runs in processes of its own, beside the session that others share
pytestmark = [pytest.mark.spark, pytest.mark.long, pytest.mark.xdist_group("spark faults")]

RECORDS = 60_000
OUT_OF_MEMORY = (
    "partage: Spark: out of memory: give Java more, --conf spark.driver.memory=4g for a local "
    "Spark, spark.executor.memory for a cluster\n"
)

Row = tuple[int, bytes | None, int]


@pytest.fixture(scope="module")
def rows() -> list[Row]:
    """Partition, key, bytes of the value."""
    hot: list[Row] = [(0, b"hot", i % 11) for i in range(RECORDS // 2)]
    return hot + [(1 + i % 11, b"%d" % (i % 20_011), i % 7) for i in range(RECORDS // 2)]


@pytest.fixture(scope="module")
def skewed(rows: list[Row], tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("skewed")
    rest = range(RECORDS // 2, RECORDS, RECORDS // 10)
    for begin, end in [(0, RECORDS // 2), *((at, at + RECORDS // 10) for at in rest)]:
        part = rows[begin:end]
        table = {
            "topic": ["orders"] * len(part),
            "partition": pa.array([one[0] for one in part], pa.int32()),
            "offset": list(range(begin, end)),
            "timestamp": pa.array(
                [1_700_000_000_000 + 100 * i for i in range(begin, end)], pa.timestamp("ms", "UTC")
            ),
            "key": pa.array([one[1] for one in part], pa.binary()),
            "value_bytes": [one[2] for one in part],
        }
        pq.write_table(pa.table(table), folder / f"{begin}.parquet")
    return str(folder)


@pytest.fixture(scope="module")
def long_row(tmp_path_factory: pytest.TempPathFactory) -> str:
    """One record whose value is a third of the memory of an executor."""
    path = tmp_path_factory.mktemp("long") / "a.jsonl"
    record = {"topic": "t", "partition": 0, "offset": 0, "timestamp": 1_700_000_000_000, "key": "k"}
    path.write_text(json.dumps(record | {"value": "x" * 200_000_000}) + "\n")
    return str(path)


def check(out: Path, rows: list[Row]) -> None:
    """The tables of a profile are those that plain Python counts."""
    records = Counter(partition for partition, *_ in rows)
    sizes: Counter[int] = Counter()
    keys: dict[int, set[bytes | None]] = {}
    for partition, key, value in rows:
        sizes[partition] += value + len(key or b"")
        keys.setdefault(partition, set()).add(key)
    found = {
        row["partition"]: (row["records"], row["bytes"], row["distinct_keys"])
        for row in pq.read_table(out / "partitions").to_pylist()
    }
    assert found == {one: (records[one], sizes[one], len(keys[one])) for one in records}
    top = pq.read_table(out / "keys").to_pylist()
    hottest = Counter(key for _, key, _ in rows).most_common(1)
    assert [(one["key"], one["records"]) for one in top if one["rank"] == 1] == hottest
    windows = pq.read_table(out / "windows").to_pylist()
    assert sum(one["records"] for one in windows) == len(rows)


@contextmanager
def started(
    standalone: Standalone, *words: str, python: tuple[str, str] = ("-m", "partage")
) -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen(
        [sys.executable, *python, *words],
        env=standalone.environment,
        cwd=standalone.folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def until(process: subprocess.Popen[str], label: str) -> None:
    """Wait for a line of progress."""
    assert process.stderr is not None
    line = next((line for line in process.stderr if line.startswith(f"… {label}")), "")
    assert line, "the command ended before"


def rest(process: subprocess.Popen[str]) -> str:
    """Wait for the end; what it prints on stderr besides progress."""
    _, err = process.communicate(timeout=240)
    return "".join(line for line in err.splitlines(True) if not line.startswith("… "))


def in_one_line(
    standalone: Standalone, out: Path, line: str, code: int, *words: str, before: str = ""
) -> None:
    """The command prints this line and nothing else, and leaves nothing."""
    script = f"{before}\nimport sys\nfrom partage.cli import main\nmain()"
    ended = run(standalone, sys.executable, "-c", script, *words, "-o", str(out), "--json")
    assert (ended.stdout, ended.stderr, ended.returncode) == ("", line, code)
    assert list(out.parent.iterdir()) == []


@pytest.fixture
def out(tmp_path: Path) -> Path:
    (tmp_path / "out").mkdir()
    return tmp_path / "out" / "profile"


def test_an_executor_killed_with_what_it_has_cached(
    standalone: Standalone, skewed: str, rows: list[Row], out: Path
) -> None:
    with started(
        standalone, "profile", skewed, "--master", standalone.url, "-o", str(out)
    ) as process:
        until(process, "windows")
        os.kill(standalone.executors()[0], signal.SIGKILL)
        assert rest(process) == ""
        assert process.returncode == 0
    check(out, rows)


def test_an_executor_out_of_memory(standalone: Standalone, long_row: str, out: Path) -> None:
    words = ("profile", long_row, "--master", standalone.url, "--conf", "spark.task.maxFailures=1")
    in_one_line(standalone, out, OUT_OF_MEMORY, 1, *words)


def test_java_here_out_of_memory(standalone: Standalone, long_row: str, out: Path) -> None:
    words = ("profile", long_row, "--master", "local[1]", "--conf", "spark.driver.memory=512m")
    in_one_line(standalone, out, OUT_OF_MEMORY, 1, *words)


def test_java_killed(standalone: Standalone, skewed: str, out: Path) -> None:
    with started(standalone, "profile", skewed, "--master", "local[1]", "-o", str(out)) as process:
        until(process, "reading")
        (java,) = children(process.pid)
        os.kill(java, signal.SIGKILL)
        assert rest(process) == "partage: Spark: its Java process ended: out of memory, or killed\n"
        assert process.returncode == 1
    assert list(out.parent.iterdir()) == []


def children(process: int) -> list[int]:
    return [
        int(one) for one in Path(f"/proc/{process}/task/{process}/children").read_text().split()
    ]


def test_no_room_for_temporary_files(standalone: Standalone, skewed: str, out: Path) -> None:
    """What executors exchange is in larger files than any table that is written."""
    line = (
        "partage: Spark: File too large: free some space for its temporary files "
        "(SPARK_LOCAL_DIRS, by default /tmp) and for the output\n"
    )
    limit = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (1_000_000, 1_000_000))"
    words = ("profile", skewed, "--master", "local[1]", "--conf", "spark.sql.shuffle.partitions=1")
    words += ("--conf", "spark.shuffle.compress=false")
    in_one_line(standalone, out, line, 1, *words, before=limit)


def test_no_executor_starts(standalone: Standalone, skewed: str, out: Path) -> None:
    """Spark waits for ever; the progress names why, and Ctrl-C ends it."""
    words = ["profile", skewed, "--master", standalone.url, "-o", str(out)]
    words += ["--conf", "spark.executor.memory=64g"]
    quick = "import partage.pipeline.progress as p; p._IDLE_SECONDS = 1"
    script = f"{quick}\nfrom partage.cli import main\nmain()"
    with started(standalone, *words, python=("-c", script)) as process:
        until(process, "reading (no executor: the cluster is busy")
        process.send_signal(signal.SIGINT)
        assert rest(process) == "partage: interrupted\n"
        assert process.returncode == 130
    assert list(out.parent.iterdir()) == []


def test_no_executor_starts_for_a_connect_server(
    standalone: Standalone, skewed: str, out: Path
) -> None:
    """With ``--json``, too, a line on stderr names it."""
    pytest.importorskip("grpc")
    script = "import partage.pipeline.progress as p; p._IDLE_SECONDS = 1"
    script += "\nfrom partage.cli import main\nmain()"
    more = ("--conf", "spark.executor.memory=64g")
    with connect_server(standalone, standalone.url, *more) as (url, _):
        words = ("profile", skewed, "--master", url, "-o", str(out), "--json")
        with started(standalone, *words, python=("-c", script)) as process:
            until(process, "reading (no executor: the cluster is busy")
            process.send_signal(signal.SIGINT)
            output, err = process.communicate(timeout=240)
            assert (output, err, process.returncode) == ("", "partage: interrupted\n", 130)
    assert list(out.parent.iterdir()) == []


def test_a_spark_connect_server_killed(standalone: Standalone, skewed: str, out: Path) -> None:
    pytest.importorskip("grpc")
    script = "import partage.pipeline.outages as o; o.SECONDS = 5"
    script += "\nfrom partage.cli import main\nmain()"
    with connect_server(standalone, "local[1]") as (url, server):
        words = ("profile", skewed, "--master", url, "-o", str(out))
        with started(standalone, *words, python=("-c", script)) as process:
            until(process, "reading")
            server.kill()
            began = time.monotonic()
            assert rest(process) == (
                "partage: Spark: the Spark Connect server ended, or cannot be reached any more: "
                "run it again once the server answers\n"
            )
            assert process.returncode == 1
            assert time.monotonic() - began < 30
    assert list(out.parent.iterdir()) == []


CLIENT_ALONE = """
import sys
sys.modules |= dict.fromkeys(("py4j", "pyspark.core"))  # what pyspark-client lacks
from pyspark.util import is_remote_only
assert is_remote_only()
from partage.cli import main
main()
"""


def test_the_client_of_spark_connect_is_enough(
    standalone: Standalone, skewed: str, rows: list[Row], out: Path
) -> None:
    pytest.importorskip("grpc")
    no_java = standalone.environment | {"JAVA_HOME": "/nowhere", "SPARK_HOME": ""}
    alone = replace(standalone, environment=no_java)
    with connect_server(standalone, "local[1]") as (url, _):
        words = ("-c", CLIENT_ALONE, "profile", skewed, "-o", str(out))
        ended = run(alone, sys.executable, *words, "--json", "--master", url)
    assert (ended.returncode, ended.stderr) == (0, "")
    check(out, rows)
    ended = run(alone, sys.executable, *words, "--overwrite", "--json", "--master", "local[1]")
    assert ended.returncode == 1
    assert ended.stderr.startswith(
        "partage: Spark at local[1] needs Spark itself, and only pyspark-client is installed: use "
        "a Spark Connect server (--master sc://HOST:15002), or "
    )
    check(out, rows)
