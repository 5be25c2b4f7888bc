"""A watch whose output and checkpoint are in a store, killed and resumed there."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyspark")
from tests.hdfs import Hdfs, hdfs
from tests.pipeline.watch.cases import WINDOW, Record
from tests.pipeline.watch.test_run import QUICK, SERVICE, Growing, counted
from tests.s3_server import S3Server, s3_server

# Spark runs in processes of its own, beside the session that others share
pytestmark = [pytest.mark.long, pytest.mark.spark, pytest.mark.xdist_group("watch in stores")]

READ = """
import json, sys
from partage.pipeline.session import session

wanted = ("topic", "partition", "unix_seconds(window_start)", "records", "bytes")
with session("local[1]", short=True, paths=sys.argv[1:]) as spark:
    tables = [spark.read.parquet(url).selectExpr(*wanted).collect() for url in sys.argv[1:]]
    print(json.dumps([sorted(map(list, rows)) for rows in tables]))
"""


@pytest.fixture(params=["s3", "hdfs"])
def server(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[S3Server | Hdfs]:
    if request.param == "s3":
        with s3_server() as running:
            yield running
        return
    (tmp_path / "hdfs").mkdir()
    with hdfs(tmp_path / "hdfs") as running:
        yield running


def test_killed_in_a_store_nothing_is_lost_or_doubled(
    server: S3Server | Hdfs, tmp_path: Path, cluster_file: Path
) -> None:
    folder, out, environment = tmp_path / "records", f"{server.url}/w", QUICK | server.environment
    growing = Growing(folder, 5)
    options = [str(folder), "-o", out, "--cluster", str(cluster_file), "--alert-above", "1.01"]
    options += ["--every", "1", "--json", "--master", "local[2]"]
    told = tmp_path / "told"
    growing.kill(
        [*SERVICE, *options],
        environment,
        told,
        lambda: '"batch"' in told.read_text(),
        most=9,
        pauses=2,
    )
    growing.end()
    added = growing.added
    for _ in range(2):  # what was handed out but not done, then the rest; then nothing
        done = called(environment, *SERVICE[2:], *options, "--once")
        assert done.returncode == 0, done.stderr
    ended = json.loads(done.stdout.splitlines()[-1])["counts"]
    assert (ended["late"], ended["open_records"], ended["records"]) == (0, 1, len(added) - 1)
    expected = [as_rows(added[:-1]), as_rows(added[-1:])]
    assert rows_in(environment, f"{out}/windows", f"{out}/open") == expected

    planned = called(
        environment, "partage", "plan", str(cluster_file), "--profile", out, "--leaders", "rate"
    )
    assert planned.returncode == 0, planned.stderr
    other = called(environment, *SERVICE[2:], *options, "--once", "--window", "30")
    assert other.returncode == 2
    assert f"{out}: was started with --window 60, not 30" in other.stderr


def called(environment: dict[str, str], *command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", *command],
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
    )


def rows_in(environment: dict[str, str], *urls: str) -> list[list[list[Any]]]:
    """The rows of tables, as any reader of Parquet sees their folders."""
    done = subprocess.run(
        [sys.executable, "-c", READ, *urls],
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    found: list[list[list[Any]]] = json.loads(done.stdout)
    return found


def as_rows(records: list[Record]) -> list[list[Any]]:
    return sorted([*place, *sums] for place, sums in counted(records, WINDOW).items())
