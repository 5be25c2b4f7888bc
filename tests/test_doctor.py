"""What is found to work with: extras by their versions, Java, jars, a Kafka."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

import partage
from partage import doctor
from partage.doctor import Finding, examine, extras, jars, java, kafka, within
from partage.errors import PartageError
from partage.installation import adding

REQUIRES = {
    "partage": [
        "numpy>=2.2",
        "pyspark<5,>=4.1; extra == 'spark'",
        "pyarrow>=18; extra == 'spark'",
        "pyspark[connect]<5,>=4.1; extra == 'connect'",
        "kafka-python<4,>=3.0.12; extra == 'kafka'",
        'aiokafka<0.15,>=0.14; extra == "aiokafka"',
    ],
    "pyspark": ['grpcio>=1.76.0; extra == "connect"', 'x; extra == "sql"', "py4j==0.10"],
}


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Pretend that these packages are installed, and no others."""

    def call(**packages: str) -> None:
        versions = {name.replace("_", "-"): version for name, version in packages.items()}

        def version(name: str) -> str:
            if name not in versions:
                raise metadata.PackageNotFoundError(name)
            return versions[name]

        monkeypatch.setattr(metadata, "version", version)
        monkeypatch.setattr(metadata, "requires", REQUIRES.get)

    return call


@pytest.fixture(autouse=True)
def nothing_set(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("BOOTSTRAP_SERVERS", "KAFKA_JARS", "MAVEN", "SPARK_KAFKA"):
        monkeypatch.delenv(f"PARTAGE_{name}", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)


def by_name(found: Any) -> dict[str, Finding]:
    return {one.name: one for one in found}


def test_without_any_extra(installed: Callable[..., None], monkeypatch: pytest.MonkeyPatch) -> None:
    installed()
    monkeypatch.setattr(doctor, "find_java", no_java)
    found = by_name(examine())
    assert found["partage"].found.startswith(partage.__version__)
    assert {one.state for name, one in found.items() if name != "partage"} == {"absent"}
    assert "connector" not in found  # Spark's
    assert found["kafka"].advice == adding("kafka")
    assert found["connect"].found == "without pyspark, grpcio: needed for --master sc://HOST"
    assert found["Java"].advice.startswith("install a JDK")


def test_a_library_of_spark_without_spark(installed: Callable[..., None]) -> None:
    """Other packages bring pandas and pyarrow along, in any version."""
    installed(pyarrow="17.0.0")
    assert by_name(extras())["spark"].state == "absent"
    assert all(one.state != "missing" for one in examine() if one.name != "Java")


def no_java(_: str) -> Path:
    raise PartageError("none")


def test_versions(installed: Callable[..., None]) -> None:
    installed(
        pyspark="4.3.0", pyarrow="17.0.0", grpcio="1.80", kafka_python="2.0.2", aiokafka="0.14.1"
    )
    found = by_name(extras())
    assert found["spark"] == Finding(
        "spark", "missing", "pyarrow 17.0.0, expected >=18", adding("spark")
    )
    assert found["kafka"].state == "missing"
    assert found["kafka"].found == "kafka-python 2.0.2, expected <4,>=3.0.12"
    assert found["connect"] == Finding("connect", "ok", "pyspark 4.3.0, grpcio 1.80")
    assert found["aiokafka"].state == "ok"


@pytest.mark.parametrize(
    ("version", "limits", "fits"),
    [
        ("4.2.0", "<5,>=4.1", True),
        ("4.1", "<5,>=4.1", True),
        ("4.0.9", "<5,>=4.1", False),
        ("5.0.0", "<5,>=4.1", False),
        ("10.0", ">=9.15", True),
        ("0.14.0.dev3", "<0.15,>=0.14", True),
        ("3.0.12", ">= 3.0.12", True),
        ("1", "", True),
    ],
)
def test_limits(version: str, limits: str, fits: bool) -> None:
    assert within(version, limits) is fits


def test_the_extras_are_those_of_the_package() -> None:
    assert set(metadata.metadata("partage").get_all("Provides-Extra") or ()) == set(doctor.EXTRAS)


def test_java(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(doctor, "find_java", no_java)
    assert java(needed=True).state == "missing"
    assert java(needed=False).state == "absent"
    (tmp_path / "jdk" / "bin").mkdir(parents=True)
    (tmp_path / "jdk" / "bin" / "java").touch(mode=0o755)
    (tmp_path / "jdk" / "release").write_text('JAVA_VERSION="21.0.2"\n')
    monkeypatch.setattr(doctor, "find_java", lambda _: tmp_path / "jdk")
    assert java(needed=True) == Finding("Java", "ok", f"21, {tmp_path / 'jdk'}")


@pytest.fixture
def locks(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Lock files of one jar each, for the default versions."""
    monkeypatch.setattr("partage.jars.LOCKS", tmp_path / "locks")
    (tmp_path / "locks").mkdir()
    entry = f'{{ sha256 = "{hashlib.sha256(b"jar").hexdigest()}", licence = "MIT" }}'
    for name in ("kafka-4.3.0", CONNECTOR):
        (tmp_path / "locks" / f"{name}.toml").write_text(f'"g:jar:1" = {entry}\n')


CONNECTOR = "spark-sql-kafka-0-10_2.13-4.1.0"


def keep_jar(folder: Path, content: bytes = b"jar") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "jar-1.jar").write_bytes(content)
    return folder


@pytest.mark.usefixtures("locks")
def test_jars(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert by_name(jars(spark=False))["sandbox"].state == "absent"
    kept = keep_jar(tmp_path / "partage" / "kafka-4.3.0")
    assert by_name(jars(spark=False))["sandbox"] == Finding("sandbox", "ok", f"jars in {kept}")
    keep_jar(kept, b"evil")
    found = by_name(jars(spark=False))["sandbox"]
    assert (found.state, "SHA-256 is" in found.found) == ("missing", True)
    monkeypatch.setenv("PARTAGE_KAFKA_JARS", str(tmp_path))
    monkeypatch.setenv("PARTAGE_MAVEN", "http://localhost")
    both = by_name(jars(spark=False))
    assert (both["sandbox"].state, both["PARTAGE_MAVEN"].state) == ("missing",) * 2
    assert "has no Kafka jars" in both["sandbox"].found
    assert all(one.advice for one in both.values())


@pytest.mark.usefixtures("locks")
def test_the_connector(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    pytest.importorskip("pyspark")
    assert by_name(jars(spark=True))["connector"].state == "absent"
    kept = keep_jar(tmp_path / "partage" / CONNECTOR)
    assert by_name(jars(spark=True))["connector"].found == f"jars in {kept}"
    monkeypatch.setenv("PARTAGE_SPARK_KAFKA", str(tmp_path))
    assert by_name(jars(spark=True))["connector"].state == "missing"
    (tmp_path / "spark-sql-kafka-x.jar").touch()
    assert by_name(jars(spark=True))["connector"].found == f"jars in {tmp_path}"


def only(found: Iterable[Finding]) -> Finding:
    (one,) = found
    return one


def test_a_kafka_is_asked_only_where_one_is_named(
    installed: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    installed()
    assert only(kafka(None, None)).state == "absent"
    assert only(kafka("h:1", None)).advice == adding("kafka")
    monkeypatch.setenv("PARTAGE_BOOTSTRAP_SERVERS", "h:1")
    assert only(kafka(None, None)).state == "missing"


def test_a_kafka_that_does_not_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("kafka")
    monkeypatch.setattr("partage.live.admin.connection._BOOTSTRAP_MS", 300)
    found = only(kafka("127.0.0.1:1", None))
    assert (found.state, bool(found.advice)) == ("missing", True)
    assert "127.0.0.1:1" in found.found
    assert only(kafka("nonsense", None)).state == "missing"
    assert "none.properties" in only(kafka("127.0.0.1:1", "none.properties")).found


@pytest.mark.kafka
def test_a_kafka_that_answers(kafka: Any) -> None:
    found, *allowed = doctor.kafka(kafka.bootstrap_servers, None)
    release = ".".join(kafka.kafka.split(".")[:2])
    if release == "4.3":  # the newest that kafka-python knows
        release = "4.3 or later"
    assert found == Finding(
        "Kafka", "ok", f"{release}, cluster {kafka.cluster_id}, 3 of 3 brokers alive"
    )
    names = ("replica sizes", "reassignment", "throttles", "groups")
    assert allowed == [Finding(name, "ok", "allowed") for name in names]
