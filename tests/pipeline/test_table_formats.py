"""Tables of Delta and Iceberg with their real jars, in a Spark that both have a release for.

The Spark of the tests may be too new for them: another one is installed for this. The cases run in
a process of ``table_formats_session``.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyspark")

from partage.errors import InputError
from partage.pipeline import clients, table_formats
from partage.pipeline.sources.tables import Table
from partage.redaction import redacted

ROOT = Path(__file__).parents[2]
UV = shutil.which("uv") or shutil.which(ROOT / ".tools" / "bin" / "uv")
SPARK = "4.1.4"
KEEP = "measure again with `append` and `overwrite`"

# Spark runs in processes of its own, beside the session that others share
pytestmark = pytest.mark.xdist_group("table formats")


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A Python with partage and that Spark."""
    folder = tmp_path_factory.mktemp("spark") / "venv"
    program = str(folder / "bin" / "python")
    for command in (
        ("venv", "--python", sys.executable, folder),
        ("pip", "install", "--python", program, f"pyspark=={SPARK}", "-e", f"{ROOT}[spark]"),
    ):
        # elsewhere: partage's own settings of uv are for its locked environment
        subprocess.run([UV or "", *command, "--quiet"], cwd=folder.parent, check=True, timeout=500)
    return program


def run(python: str, *command: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "SPARK_LOCAL_IP": "127.0.0.1"}
    return subprocess.run(
        [python, "-m", *command],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=590,
    )


@pytest.fixture(scope="module")
def top(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("tables")


@pytest.fixture(scope="module")
def told(python: str, top: Path) -> dict[str, Any]:
    done = run(python, "tests.pipeline.table_formats_session", str(top))
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.mark.long
@pytest.mark.spark
@pytest.mark.parametrize(
    ("kind", "runs", "deleted", "created"),
    [
        ("delta", 5, "rows were removed or changed since version 5", "was created or restored"),
        ("iceberg", 5, "rows were removed or changed since snapshot ", ", is not there any more"),
        ("parquet", 3, "files were removed or rewritten", "files were removed or rewritten"),
    ],
)
def test_a_profile_grows_by_the_rows_that_came_to_a_table(
    told: dict[str, Any], kind: str, runs: int, deleted: str, created: str
) -> None:
    found = told[kind]
    assert found["equal"] == [True] * runs
    assert found["as a whole"]
    assert found["version"] == (kind != "parquet")
    assert found["died"] == [["died"], 10]  # what the run before measured
    assert found["nothing new changes nothing"]
    assert found["deleted"].startswith("InputError: table ")
    assert deleted in found["deleted"]
    assert found["deleted"].endswith(KEEP)
    assert found["deleted left"] == (21 if kind == "parquet" else 26)
    assert (found["again"], found["again measured"]) == ("accepted", True)
    assert created in found["created again"]


@pytest.mark.long
@pytest.mark.spark
def test_other_names_of_tables(told: dict[str, Any]) -> None:
    assert told["by folder"] == [3, True]
    assert told["windows"] == 3
    assert told["view"] == (
        "InputError: table seen: is a view: `append` needs a table, which has versions"
    )
    assert told["missing"].startswith("InputError: table lake.db.missing: ")


@pytest.mark.long
@pytest.mark.spark
def test_a_folder_of_delta_to_tables_of_delta(told: dict[str, Any], python: str, top: Path) -> None:
    folder, out = top / "warehouse" / "records", top / "delta-profile"
    columns = ("--columns", "value_bytes=size")
    done = run(python, "partage", "profile", str(folder), *columns, "-o", str(out))
    named = f"delta.`{folder}`"
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.endswith(f"read it with --table '{named}'\n")
    done = run(
        *(python, "partage", "profile", "--table", named, *columns, "-o", str(out)),
        *("--format", "delta", "--json"),
    )
    assert done.returncode == 0, done.stderr
    about = json.loads(done.stdout)
    assert about["totals"]["records"] == 3
    assert about["sources"] == [Table(named, {"value_bytes": "size"}, 1).url]
    assert (out / "partitions" / "_delta_log").is_dir()


# ---------------------------------------------------------------- without Spark


@pytest.mark.parametrize(
    "table",
    [
        Table("lake.db.records"),
        Table("db.`odd@name?x`", {"key": "payload.i d&e=f"}, 7),
        Table("delta.`s3a://bucket/a b`", {}, 0),
    ],
)
def test_the_url_of_a_table_is_read_again(table: Table) -> None:
    assert Table.of(table.url) == table
    assert redacted(table.url) == table.url


def test_jars_are_those_for_the_spark_in_use(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    fetched: list[str] = []

    def fetch(name: str, what: str, instead: str) -> Path:
        fetched.append(name)
        (tmp_path / f"{name}.jar").touch()
        return tmp_path

    monkeypatch.setattr(table_formats, "fetched_jars", fetch)
    monkeypatch.setattr(clients, "spark_version", lambda: "4.1.9")
    folder, lake = Table("delta.`/lake/t`").url, "spark.sql.catalog.lake"
    found = clients.settings([folder], {"spark.jars": "mine.jar"})
    assert found["spark.jars"].startswith("mine.jar,")
    assert found["spark.sql.extensions"] == "io.delta.sql.DeltaSparkSessionExtension"
    clients.settings([], {lake: "org.apache.iceberg.spark.SparkCatalog"})
    assert fetched == ["delta-spark_4.1_2.13-4.4.0", "iceberg-spark-runtime-4.1_2.13-1.12.0"]
    named = {"spark.jars.packages": "io.delta:delta-spark_4.3_2.13:4.5.0"}
    monkeypatch.setattr(clients, "spark_version", lambda: "4.3.0")
    assert "spark.jars" not in clients.settings([folder], named)
    assert clients.settings([Table("lake.db.t").url, "records/"], {}, ["parquet"]) == {}
    expected = "^Delta: no release for Spark 4.3 is known: use Spark 4.1 or 4.2; or "
    with pytest.raises(InputError, match=expected):
        clients.settings([], {}, ["Delta"])


def test_one_line_where_the_spark_in_use_has_no_release(tmp_path: Path) -> None:
    release = ".".join(version("pyspark").split(".")[:2])
    if release in table_formats.DELTA.releases():
        pytest.skip(f"Spark {release} has one")
    out = tmp_path / "out"
    done = run(sys.executable, "partage", "profile", "--table", "delta.`/x`", "-o", str(out))
    assert (done.returncode, done.stdout, out.exists()) == (2, "", False)
    assert done.stderr == (
        "… starting Spark\n"
        f"partage: Delta: no release for Spark {release} is known: use Spark 4.1 or 4.2; or name a "
        "release with --packages\n"
    )
