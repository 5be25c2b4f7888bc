"""Kafka's jars: where they come from, whole or not at all. No network: Ivy is played."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from partage import ivy
from partage.errors import InputError, PartageError
from partage.live.sandbox import jars
from partage.live.sandbox.jars import kafka_jars, kafka_version

OFFLINE = (
    "	Server access error at url https://repo.example/maven2/org/a.pom "
    "(java.net.ConnectException: Connection refused)"
)


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv(jars.OWN_JARS, raising=False)
    monkeypatch.delenv(ivy.IVY_SETTINGS, raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "partage"


Play = Callable[[str], Path]


@pytest.fixture
def play(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Play:
    """A Java that runs this script, with ``$JARS`` for the folder where Ivy is to put jars."""

    def as_java(script: str) -> Path:
        home = tmp_path / "java"
        (home / "bin").mkdir(parents=True)
        (home / "release").write_text('JAVA_VERSION="17.0.1"\n')
        java = home / "bin" / "java"
        last = 'for last; do :; done; JARS="${last%/*}"; mkdir -p "$JARS"'
        java.write_text(f'#!/bin/sh\necho "$@" > {tmp_path}/asked\n{last}\n{script}\n')
        java.chmod(0o755)
        monkeypatch.setenv("JAVA_HOME", str(home))
        monkeypatch.setattr(ivy, "_ivy", lambda *_: tmp_path / "ivy-2.jar")
        return tmp_path / "asked"

    return as_java


def test_they_are_fetched_once(cache: Path, play: Play, monkeypatch: pytest.MonkeyPatch) -> None:
    play(
        "echo 'downloading https://repo.example/kafka_2.13-4.3.0.jar ...'\n"
        "echo 1 > $JARS/kafka_2.13-4.3.0.jar; echo x > $JARS/../cache"
    )
    told: list[str] = []
    folder = kafka_jars("4.3.0", told.append)
    assert folder == cache / "kafka-4.3.0"
    assert [path.name for path in folder.iterdir()] == ["kafka_2.13-4.3.0.jar"]
    assert [path.name for path in cache.iterdir()] == ["kafka-4.3.0"]
    assert told[-1].endswith("1 jars")
    monkeypatch.setenv("JAVA_HOME", "/nowhere")
    assert kafka_jars(None, told.append) == folder
    assert len(told) == 2


@pytest.mark.parametrize(
    ("printed", "said"),
    [
        (OFFLINE, r"from https://repo.example \(java.net.ConnectException: Connection refused\): "),
        (
            "		:: org.apache.kafka#kafka_2.13;4.9.9: not found",
            r"kafka_2.13;4.9.9: not found$",
        ),
        ("Error: no room", "Error: no room$"),
        ("", "Ivy said nothing$"),
    ],
)
def test_what_fails_leaves_nothing(cache: Path, play: Play, printed: str, said: str) -> None:
    play(f"echo half > $JARS/a.jar; echo '{printed}'; exit 1")
    with pytest.raises(PartageError, match=rf"^Kafka 4.9.9 cannot be fetched.*{said}") as raised:
        kafka_jars("4.9.9")
    assert raised.value.exit_code == 1
    assert list(cache.iterdir()) == []


def test_an_interrupt_leaves_nothing(cache: Path, play: Play) -> None:
    play("echo 'downloading a ...'; exec sleep 600")

    def interrupt(told: str) -> None:
        if told.endswith("jars"):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        kafka_jars("4.3.0", interrupt)
    assert list(cache.iterdir()) == []


def test_of_two_at_once_the_first_stays(cache: Path, play: Play) -> None:
    there = cache / "kafka-4.3.0"
    play(f"echo 2 > $JARS/second.jar; mkdir {there}; echo 1 > {there}/first.jar")
    assert kafka_jars("4.3.0") == there
    assert [path.name for path in there.iterdir()] == ["first.jar"]
    assert [path.name for path in cache.iterdir()] == ["kafka-4.3.0"]


def test_a_mirror(cache: Path, play: Play, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = play("echo 1 > $JARS/a.jar")
    monkeypatch.setenv(ivy.IVY_SETTINGS, str(tmp_path / "no.xml"))
    with pytest.raises(InputError, match=r"^PARTAGE_IVY_SETTINGS: .*no.xml: no such file$"):
        kafka_jars("4.3.0")
    (tmp_path / "settings.xml").write_text("<ivysettings/>")
    monkeypatch.setenv(ivy.IVY_SETTINGS, str(tmp_path / "settings.xml"))
    kafka_jars("4.3.0")
    assert f"-settings {tmp_path}/settings.xml" in asked.read_text()


def test_without_pyspark(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ivy, "find_spec", lambda _: None)
    with pytest.raises(PartageError, match=r"pip install 'partage\[spark\]'.*PARTAGE_KAFKA_JARS"):
        kafka_jars("4.3.0")
    assert not cache.exists()


def test_jars_of_ones_own(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    libs = tmp_path / "libs"
    monkeypatch.setenv(jars.OWN_JARS, str(libs))
    with pytest.raises(InputError, match=r"libs: holds no Kafka"):
        kafka_jars()
    libs.mkdir()
    (libs / "kafka_2.13-4.4.0-javadoc.jar").touch()
    with pytest.raises(InputError, match=r"holds no Kafka \(no kafka_2.13-VERSION.jar\)"):
        kafka_jars()
    (libs / "kafka_2.13-4.4.0.jar").touch()
    assert kafka_jars() == kafka_jars("4.4.0") == libs
    assert kafka_version(libs) == "4.4.0"
    with pytest.raises(InputError, match=r"^--kafka: 4.3.0: the jars in .*libs .* are 4.4.0$"):
        kafka_jars("4.3.0")
    assert not cache.exists()


@pytest.mark.parametrize(
    "version", ["", "3.9.0", "4.3", "4", "latest", "4.3.0/..", "-4.3.0", "4.3.x"]
)
def test_versions_that_cannot_be(cache: Path, version: str) -> None:
    with pytest.raises(InputError, match=r"^--kafka: .*expected a version from 4.0.0 on"):
        kafka_jars(version)
