"""Tables in S3, as moto's server speaks it: whole or not at all, and one line for what is wrong.

Spark needs Hadoop's client of S3 when its Java process starts, so one process of its own runs
the cases of ``stores_session``, and the command line another.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyspark")

from partage.errors import PartageError
from partage.pipeline import clients, stores
from tests.hdfs import Hdfs, hdfs
from tests.s3_server import KEY, SECRET, S3Server, s3_server

LINES = [
    {"topic": "t", "partition": p, "offset": o, "timestamp": o, "key": "k", "value_bytes": 5}
    for p in range(3)
    for o in range(1_700_000_000_000, 1_700_000_004_000, 1000)
]
RECORDS = "".join(f"{json.dumps(line)}\n" for line in LINES).encode()

# Spark runs in processes of its own, beside the session that others share
pytestmark = pytest.mark.xdist_group("stores")


@pytest.fixture(scope="module")
def s3() -> Iterator[S3Server]:
    with s3_server() as running:
        yield running


@pytest.fixture(scope="module", params=["s3", "hdfs"])
def server(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[S3Server | Hdfs]:
    if request.param == "s3":
        yield request.getfixturevalue("s3")
        return
    with hdfs(tmp_path_factory.mktemp("hdfs")) as running:
        yield running


def run(server: S3Server | Hdfs, *command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", *command],
        env={**os.environ, **server.environment},
        capture_output=True,
        text=True,
        timeout=500,
    )


def cases(server: S3Server | Hdfs, folder: Path) -> dict[str, Any]:
    """What the cases of ``stores_session`` ended with, by name."""
    (folder / "a.jsonl").write_bytes(RECORDS)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = str(silent.getsockname()[1])
        done = run(server, "tests.pipeline.stores_session", server.url, port, str(folder))
    assert (done.returncode, done.stderr) == (0, "")
    assert KEY not in done.stdout
    assert SECRET not in done.stdout
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.fixture(scope="module")
def told(server: S3Server | Hdfs, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return cases(server, tmp_path_factory.mktemp("records")) | {"top": server.url}


@pytest.mark.long
@pytest.mark.spark
def test_only_the_last_whole_run_counts(told: dict[str, Any]) -> None:
    assert told["first"] == [3, "one"]
    assert told["again"] == f"{told['top']}/out: already exists: `overwrite` replaces it"
    assert told["failed"] == [3, "one"]
    assert told["left by the failed"] == told["runs of the first"]
    assert told["replaced"] == [2, "two"]
    assert len(told["runs of the second"]) == 1
    assert told["runs of the second"] != told["runs of the first"]
    assert told["killed"] == [2, "two"]
    assert len(told["left by the killed"]) == 2


@pytest.mark.long
@pytest.mark.spark
def test_what_partage_did_not_write_stays(told: dict[str, Any]) -> None:
    where = told["top"]
    refused = "which partage did not write: choose another directory"
    assert told["of others"] == f"{where}/mine: contains file, {refused}"
    assert told["a marker of others"] == f"{where}/theirs: contains mark.json, {refused}"
    assert told["changed since"] == [True, True]


@pytest.mark.long
@pytest.mark.spark
def test_a_profile_grows_there(told: dict[str, Any]) -> None:
    one, two, same = told["appended"]
    assert one == [1, 12, [True] * 4, 1]
    assert two == [1, 24, [True] * 4, 1]
    assert same == [0, *two[1:]]


@pytest.mark.long
@pytest.mark.spark
@pytest.mark.parametrize("server", ["s3"], indirect=True)
@pytest.mark.parametrize(
    ("bucket", "kind", "problem"),
    [
        ("no-such-bucket", "InputError", "no such bucket"),
        ("no-credentials", "InputError", stores.NO_CREDENTIALS),
        ("no-host", "InputError", "no such host: check the URL, and for S3 AWS_ENDPOINT_URL"),
        ("refused", "PartageError", "the store does not answer: Connection refused"),
        ("silent", "PartageError", "the store does not answer: "),
        ("not-s3", "InputError", "what answers is not S3: check AWS_ENDPOINT_URL"),
        ("not-found", "InputError", "what answers is not S3: check AWS_ENDPOINT_URL"),
    ],
)
def test_a_store_that_cannot_be_used(
    told: dict[str, Any], bucket: str, kind: str, problem: str
) -> None:
    assert told[bucket][0] == kind
    assert told[bucket][1].startswith(f"s3a://{bucket}/x: {problem}")


@pytest.mark.long
@pytest.mark.spark
@pytest.mark.parametrize("server", ["s3"], indirect=True)
@pytest.mark.parametrize("url", ["s3a://", "s3a:///x", "s3a://bu_cket/x", "hdfs://"])
def test_a_url_without_a_bucket(told: dict[str, Any], url: str) -> None:
    kind, problem = told[url]
    assert kind == "InputError"
    assert problem.startswith(f"{url}: names no bucket or host: expected s3a://BUCKET/PATH or ")


@pytest.mark.long
@pytest.mark.spark
@pytest.mark.parametrize("server", ["s3"], indirect=True)
def test_other_stores(told: dict[str, Any]) -> None:
    assert told["hdfs"][0] == "PartageError"
    assert told["hdfs"][1].startswith("hdfs://127.0.0.1:1/x: the store does not answer: ")
    assert told["unknown"] == [
        "InputError",
        "nosuch://x/y: Spark has no client for such URLs: add its jar with --conf "
        "spark.jars.packages=…",
    ]


@pytest.mark.long
@pytest.mark.spark
def test_a_profile_from_store_to_store_to_a_plan(server: S3Server | Hdfs, tmp_path: Path) -> None:
    server.put("records/a.jsonl", RECORDS)
    url = f"{server.url}/profile"
    done = run(
        *(server, "partage", "profile", f"{server.url}/records/"),
        *("-o", url, "--master", "local[2]"),
    )
    assert (done.returncode, done.stdout.splitlines()[0]) == (
        0,
        "12 records, 72 B, 1 topic, 3 partitions, 0 rejected",
    )
    cluster = tmp_path / "cluster.json"
    partitions = [{"topic": "t", "partition": p, "replicas": [1, 2]} for p in range(3)]
    brokers = [{"id": 1}, {"id": 2}, {"id": 3}]
    cluster.write_text(json.dumps({"brokers": brokers, "partitions": partitions}))
    rate = ("--profile", url, "--leaders", "rate", "--json")
    planned = run(server, "partage", "plan", str(cluster), *rate)
    assert planned.returncode == 0, planned.stderr
    assert json.loads(planned.stdout)["leaders_per_broker"] == [1, 1]
    nothing = run(server, "partage", "plan", str(cluster), "--profile", f"{server.url}/records")
    assert nothing.returncode == 2
    assert "/records: has no profile.json: not a directory written by" in nothing.stderr


# ---------------------------------------------------------------- without Spark


def test_no_client_is_fetched_for_paths(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clients, "fetched_jars", lambda *_: pytest.fail("fetched"))
    assert clients.settings(["records/", "hdfs://host/records", "kafka://host/t"], {}) == {}
    packages = {"spark.jars.packages": "org.apache.hadoop:hadoop-aws:3.5.0"}
    assert clients.settings(["s3a://bucket/records"], packages) == {}
    named = {"spark.jars": "/opt/hadoop-aws-3.5.0.jar"}
    assert clients.settings(["s3a://bucket/records"], named) == named


def test_the_client_is_of_sparks_hadoop(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def fetched(name: str, what: str, instead: str) -> Path:
        (tmp_path / f"{name}.jar").touch()
        return tmp_path

    monkeypatch.setattr(clients, "fetched_jars", fetched)
    monkeypatch.delenv("AWS_ENDPOINT_URL", raising=False)
    monkeypatch.setenv("SPARK_HOME", str(tmp_path / "spark"))
    jars = tmp_path / "spark" / "jars"
    jars.mkdir(parents=True)
    (jars / "hadoop-client-api-3.4.2.jar").touch()
    found = clients.settings(["s3a://bucket/records"], {"spark.jars": "mine.jar"})
    assert found == {"spark.jars": f"mine.jar,{tmp_path / 'hadoop-aws-3.4.2.jar'}"}
    (jars / "hadoop-client-api-3.4.2.jar").rename(jars / "hadoop-client-api-3.3.6.jar")
    expected = "^Spark's Hadoop is 3.3.6: expected 3.4.2 or 3.5.0 for s3a://; add the client with "
    with pytest.raises(PartageError, match=expected):
        clients.settings(["s3a://bucket/records"], {})
    (jars / "hadoop-aws-3.3.6.jar").touch()
    assert clients.settings(["s3a://bucket/records"], {}) == {}
