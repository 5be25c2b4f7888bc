"""Wherever Spark runs the tables are the same: a real cluster of two workers that have no partage.

The cluster is Spark's own standalone one, out of pip's PySpark. Its workers run a Python that has
what the documentation asks of it (numpy, pyarrow and what Spark brings) and nothing else, so that
what runs there of ours must have been sent along. Each way there is taken by a process of its own.
"""

from __future__ import annotations

import io
import json
import subprocess
import sys
import zipfile
import zlib
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyspark")

import numpy
import pyarrow.parquet as pq

from partage.cli import main
from partage.cli.spark_options import SparkOptions
from partage.errors import InputError, PartageError
from partage.pipeline.session import (
    _check_listening,
    _own_interrupts,
    _properties_file,
    _users_defaults,
    is_secret,
)
from partage.pipeline.shipping import zip_package
from tests.command_lines import watched
from tests.pipeline.standalone import SPARK, Standalone, run
from tests.test_notebook import NOTEBOOK, text_of

pytestmark = pytest.mark.spark

TABLES = ("partitions", "keys", "windows", "rejected")

COMMANDS = """
import json, sys
from partage.cli import main
from partage.pipeline import session

master, commands = json.loads(sys.argv[1])
with session(master):
    for words in commands:
        sys.argv = ["partage", *words]
        try:
            main()
        except SystemExit as ended:
            if ended.code:
                raise
"""
"""Commands, one after the other, in one session to be quicker. Also what spark-submit is given."""


@pytest.fixture(scope="module")
def records(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Two files of records, placed by crc32 on 5 and on 3 partitions; null keys, and nonsense."""
    folder = tmp_path_factory.mktemp("records")
    for topic, count in (("clicks", 5), ("orders", 3)):
        lines = []
        for i in range(600):
            key = f"key-{i % 300}"
            record = {
                "topic": topic,
                "partition": zlib.crc32(key.encode()) % count,
                "offset": i,
                "timestamp": 1_700_000_000_000 + i * 60_000,
                "key": None if i % 100 == 99 else key,
                "value_bytes": i % 17,
            }
            lines.append(json.dumps(record))
        (folder / f"{topic}.jsonl").write_text("\n".join([*lines, "nonsense"]) + "\n")
    return str(folder)


@pytest.fixture(scope="module")
def here(
    spark: Any, records: str, tmp_path_factory: pytest.TempPathFactory
) -> tuple[dict[str, list[Any]], str]:
    """The profile's tables and the answer about keys in the session of the tests."""
    out = tmp_path_factory.mktemp("here") / "profile"
    printed = io.StringIO()
    with redirect_stdout(printed), pytest.MonkeyPatch.context() as patch:
        for words in commands(records, out):
            patch.setattr(sys, "argv", ["partage", *words])
            with pytest.raises(SystemExit) as ended:
                main()
            assert not ended.value.code
    return tables(out), printed.getvalue()


def commands(records: str, out: Path) -> list[list[str]]:
    return [
        ["profile", records, "-o", str(out), "--json"],
        ["keys", records, "--partitions", "12", "--json"],
    ]


def tables(profile: Path) -> dict[str, list[Any]]:
    """The rows of each table, however many files they are in."""
    return {
        name: sorted(tuple(row.values()) for row in pq.read_table(profile / name).to_pylist())
        for name in TABLES
    }


def check_same(
    standalone: Standalone,
    here: tuple[dict[str, list[Any]], str],
    records: str,
    out: Path,
    *,
    before: tuple[str, ...] = (sys.executable,),
    master: str | None = None,
) -> None:
    """The commands, run there, print and write what they do here."""
    script = standalone.folder / "commands.py"
    script.write_text(COMMANDS)
    asked = json.dumps([master, commands(records, out)])
    ended = run(standalone, *before, str(script), asked)
    assert ended.returncode == 0, ended.stderr
    assert tables(out) == here[0]
    assert ended.stdout == here[1]
    if before == (sys.executable,):  # spark-submit's own Java talks
        assert ended.stderr == ""


def executors(standalone: Standalone) -> list[int]:
    """How many executors each of the workers has started by now: a folder of each is left."""
    return [
        len(list((standalone.folder / name).glob("app-*/*"))) for name in ("worker-1", "worker-2")
    ]


@pytest.mark.long
def test_the_workers_have_no_partage(standalone: Standalone) -> None:
    for package, code in (("numpy, pyarrow", 0), ("partage", 1)):
        ended = run(standalone, str(standalone.worker_python), "-c", f"import {package}")
        assert ended.returncode == code, ended.stderr


@pytest.mark.long
def test_on_a_cluster(
    standalone: Standalone, here: tuple[dict[str, list[Any]], str], records: str, tmp_path: Path
) -> None:
    check_same(standalone, here, records, tmp_path / "out", master=standalone.url)
    assert executors(standalone) == [1, 1]
    topics = json.loads(here[1].splitlines()[1])["topics"]
    # so the keys were hashed, by Python on the workers
    assert topics["clicks"]["partitioner"] == topics["orders"]["partitioner"] == "crc32"


@pytest.mark.long
def test_under_spark_submit(
    standalone: Standalone, here: tuple[dict[str, list[Any]], str], records: str, tmp_path: Path
) -> None:
    submit = str(SPARK / "bin" / "spark-submit")
    started = executors(standalone)
    check_same(
        standalone,
        here,
        records,
        tmp_path / "out",
        before=(submit, "--master", standalone.url, "--conf", "spark.cores.max=1"),
    )
    # what spark-submit was told holds: one core, so one worker is enough
    assert sum(executors(standalone)) == sum(started) + 1


@pytest.mark.long
def test_through_spark_connect(
    standalone: Standalone,
    here: tuple[dict[str, list[Any]], str],
    connect: str,
    records: str,
    tmp_path: Path,
) -> None:
    check_same(standalone, here, records, tmp_path / "out", master=connect)


def test_workers_need_numpy_and_pyarrow_only_for_keys() -> None:
    others = ("msgspec", "ortools", "scipy", "rich", "typer", "kafka", "pandas")
    code = f"import sys; sys.modules |= dict.fromkeys({others}); import partage.pipeline.placements"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (ended.returncode, ended.stderr) == (0, "")


@pytest.mark.long
def test_the_notebook_through_spark_connect(
    standalone: Standalone, connect: str, tmp_path: Path
) -> None:
    """Its cells print there what they print in a local session."""
    nbformat, nbclient = pytest.importorskip("nbformat"), pytest.importorskip("nbclient")
    stored = nbformat.read(NOTEBOOK, as_version=4)
    run = nbformat.from_dict(stored)
    client = nbclient.NotebookClient(
        run,
        timeout=300,
        kernel_name="python3",
        resources={"metadata": {"path": str(tmp_path)}},
    )
    # the client finds no Java, so the Spark Connect server does all the work
    java = {"JAVA_HOME": str(tmp_path), "PATH": str(Path(sys.executable).parent)}
    client.execute(env=dict(standalone.environment) | java | {"SPARK_REMOTE": connect})
    assert text_of(run) == text_of(stored)


@pytest.mark.long
def test_the_package_in_a_zip(tmp_path: Path) -> None:
    one, other = tmp_path / "one.zip", tmp_path / "other.zip"
    zip_package(one)
    zip_package(other)
    assert one.read_bytes() == other.read_bytes()
    with zipfile.ZipFile(one) as zipped:
        names = zipped.namelist()
    assert "partage/__init__.py" in names
    assert all(name.endswith(".py") for name in names)
    code = "import partage.producers.hashing as h; print(h.__file__)"
    ended = subprocess.run(
        [sys.executable, "-S", "-c", code],
        env={"PYTHONPATH": f"{one}:{Path(numpy.__file__).parent.parent}"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert ended.stdout.startswith(str(one))


class Interrupted:
    """Python prints what is raised here, as in a function that it calls when it forks."""

    def __del__(self) -> None:
        raise KeyboardInterrupt


def test_an_interrupt_that_python_ignores_counts(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(KeyboardInterrupt), _own_interrupts():
        Interrupted()
    assert capsys.readouterr().err == ""


def test_the_users_own_settings_win(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those in spark-defaults.conf are not on the command line of Java, which would override
    them."""
    text = "# spark.a 1\n\nspark.driver.memory  1g\nspark.b=2\n  spark.c:3\n"
    (tmp_path / "spark-defaults.conf").write_text(text)
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    assert _users_defaults() == {"spark.driver.memory", "spark.b", "spark.c"}
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path / "nowhere"))
    assert _users_defaults() == set()


SECRETS = (
    "spark.hadoop.fs.s3a.access.key",
    "spark.hadoop.fs.s3a.secret.key",
    "spark.hadoop.fs.s3a.session.token",
    "spark.hadoop.fs.azure.account.key.me.dfs.core.windows.net",
    "spark.hadoop.fs.azure.account.oauth2.client.secret",
    "spark.hadoop.fs.azure.sas.fixed.token.me",
    "spark.hadoop.fs.azure.sas.box.me.blob.core.windows.net",
    "spark.hadoop.fs.gs.auth.service.account.private.key",
    "spark.sql.catalog.lake.credential",
    "spark.sql.catalog.lake.jdbc.password",
    "spark.ssl.keyPassword",
    "spark.authenticate.secret",
)
LOGINS = {
    "spark.sql.catalog.lake.uri": "https://me:Canary@host/x",
    "spark.jars.repositories": "https://me:Canary@127.0.0.1:1/ä \\=#",
    "spark.a": "token=Canary",
}
PUBLIC = (
    "spark.driver.memory",
    "spark.jars.packages",
    "spark.yarn.keytab",
    "spark.sql.ansi.enabled",
)


def test_which_settings_are_secrets() -> None:
    assert all(is_secret(name, "x") for name in SECRETS)
    assert all(is_secret(name, value) for name, value in LOGINS.items())
    assert not any(is_secret(name, "x") for name in PUBLIC)


@pytest.mark.long
def test_secrets_are_not_on_a_command_line(tmp_path: Path) -> None:
    """Every user of the machine can read those of Spark's Java processes; the session has them."""
    secrets = dict.fromkeys(SECRETS[:-2], "Canary") | LOGINS
    options = tmp_path / "options"
    options.write_text("-Dcanary=found", encoding="utf-8")
    at_start = {"spark.c": "Shown", "spark.driver.extraJavaOptions": f"@{options}"}
    program = (
        "import json, sys\n"
        "from partage.pipeline.session import session\n"
        "given, at_start = json.load(sys.stdin)\n"
        "with session('local[1]', config=given | at_start) as spark:\n"
        "    found = {name: spark.sparkContext.getConf().get(name) for name in given}\n"
        "    java = spark._jvm.System.getProperties()\n"
        "    started = {name: java.get(name) for name in given}\n"
        "    sys.exit(not (found == started == given and java.get('canary') == 'found'))\n"
    )
    with watched() as lines:
        ended = subprocess.run(
            [sys.executable, "-c", program], input=json.dumps([secrets, at_start]), text=True
        )
    assert ended.returncode == 0
    assert any("spark.c=Shown" in line for line in lines)
    assert not any("Canary" in line for line in lines)


def test_options_of_java_have_no_secret() -> None:
    given = {"spark.driver.extraJavaOptions": "-Djavax.net.ssl.keyStorePassword=Canary"}
    with pytest.raises(InputError, match="@FILE") as raised, _properties_file(given):
        pass
    assert "Canary" not in str(raised.value)


@pytest.mark.parametrize(
    "url", ["spark://me:Can/ary@h:1", "spark://me:Canary@h:99999", "sc://me:Can@[h"]
)
def test_a_url_that_is_none_is_not_quoted(url: str) -> None:
    with pytest.raises(PartageError, match="not a valid URL") as raised:
        _check_listening(url)
    assert "Can" not in str(raised.value)


def test_settings_are_checked_and_their_values_not_shown() -> None:
    assert SparkOptions().settings() == {}
    given = ["spark.a=1=2", "spark.b="]
    assert SparkOptions(conf=given).settings() == {"spark.a": "1=2", "spark.b": ""}
    for one in ("spark.a", "a=secret", "=secret"):
        with pytest.raises(InputError, match=r"^--conf: expected spark\.NAME=VALUE$"):
            SparkOptions(conf=[one]).settings()


def test_options_that_spark_submit_has(monkeypatch: pytest.MonkeyPatch) -> None:
    both = SparkOptions(packages="org.a:b_2.13:1.0,c:d:2", name="nightly")
    assert both.settings() == {
        "spark.jars.packages": "org.a:b_2.13:1.0,c:d:2",
        "spark.app.name": "nightly",
    }
    over = SparkOptions(conf=["spark.app.name=mine"], name="nightly")
    assert over.settings() == {"spark.app.name": "mine"}, "--conf overrides all others"
    with pytest.raises(InputError, match=r"--packages: 'c:d': expected GROUP:ARTIFACT:VERSION"):
        SparkOptions(packages="a:b:1,c:d").settings()
    monkeypatch.setenv("PYSPARK_GATEWAY_PORT", "1")
    with pytest.raises(InputError, match="--packages: Spark runs already: give it to spark-submit"):
        both.settings()
