"""Kafka's jars: downloaded completely or not at all. Without a network: a script replaces Ivy."""

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


ReplaceIvy = Callable[[str], Path]


@pytest.fixture
def replace_ivy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ReplaceIvy:
    """A Java that runs this script, with ``$JARS`` as the folder that Ivy writes jars to."""

    def as_java(script: str) -> Path:
        home = tmp_path / "java"
        (home / "bin").mkdir(parents=True)
        (home / "release").write_text('JAVA_VERSION="17.0.1"\n')
        java = home / "bin" / "java"
        last = 'for last; do :; done; JARS="${last%/*}"; mkdir -p "$JARS"'
        java.write_text(f'#!/bin/sh\necho "$@" > {tmp_path}/arguments\n{last}\n{script}\n')
        java.chmod(0o755)
        monkeypatch.setenv("JAVA_HOME", str(home))
        monkeypatch.setattr(ivy, "_ivy", lambda *_: tmp_path / "ivy-2.jar")
        return tmp_path / "arguments"

    return as_java


def test_jars_are_downloaded_once(
    cache: Path, replace_ivy: ReplaceIvy, monkeypatch: pytest.MonkeyPatch
) -> None:
    replace_ivy(
        "echo 'downloading https://repo.example/kafka_2.13-4.3.0.jar ...'\n"
        "echo 1 > $JARS/kafka_2.13-4.3.0.jar; echo x > $JARS/../cache"
    )
    steps: list[str] = []
    folder = kafka_jars("4.3.0", steps.append)
    assert folder == cache / "kafka-4.3.0"
    assert [path.name for path in folder.iterdir()] == ["kafka_2.13-4.3.0.jar"]
    assert [path.name for path in cache.iterdir()] == ["kafka-4.3.0"]
    assert steps[-1].endswith("1 jars")
    monkeypatch.setenv("JAVA_HOME", "/nowhere")
    assert kafka_jars(None, steps.append) == folder
    assert len(steps) == 2


@pytest.mark.parametrize(
    ("printed", "message"),
    [
        (OFFLINE, r"from https://repo.example \(java.net.ConnectException: Connection refused\): "),
        (
            "		:: org.apache.kafka#kafka_2.13;4.9.9: not found",
            r"kafka_2.13;4.9.9: not found$",
        ),
        ("Error: disk is full", "Error: disk is full$"),
        ("", "Ivy printed nothing$"),
    ],
)
def test_a_failed_download_leaves_nothing(
    cache: Path, replace_ivy: ReplaceIvy, printed: str, message: str
) -> None:
    replace_ivy(f"echo half > $JARS/a.jar; echo '{printed}'; exit 1")
    with pytest.raises(
        PartageError, match=rf"^Kafka 4.9.9 cannot be downloaded.*{message}"
    ) as raised:
        kafka_jars("4.9.9")
    assert raised.value.exit_code == 1
    assert list(cache.iterdir()) == []


def test_an_interrupt_leaves_nothing(cache: Path, replace_ivy: ReplaceIvy) -> None:
    replace_ivy("echo 'downloading a ...'; exec sleep 600")

    def interrupt(steps: str) -> None:
        if steps.endswith("jars"):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        kafka_jars("4.3.0", interrupt)
    assert list(cache.iterdir()) == []


def test_of_two_downloads_the_first_wins(cache: Path, replace_ivy: ReplaceIvy) -> None:
    folder = cache / "kafka-4.3.0"
    replace_ivy(f"echo 2 > $JARS/second.jar; mkdir {folder}; echo 1 > {folder}/first.jar")
    assert kafka_jars("4.3.0") == folder
    assert [path.name for path in folder.iterdir()] == ["first.jar"]
    assert [path.name for path in cache.iterdir()] == ["kafka-4.3.0"]


def test_ivy_settings(
    cache: Path, replace_ivy: ReplaceIvy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments = replace_ivy("echo 1 > $JARS/a.jar")
    monkeypatch.setenv(ivy.IVY_SETTINGS, str(tmp_path / "no.xml"))
    with pytest.raises(InputError, match=r"^PARTAGE_IVY_SETTINGS: .*no.xml: no such file$"):
        kafka_jars("4.3.0")
    (tmp_path / "settings.xml").write_text("<ivysettings/>")
    monkeypatch.setenv(ivy.IVY_SETTINGS, str(tmp_path / "settings.xml"))
    kafka_jars("4.3.0")
    assert f"-settings {tmp_path}/settings.xml" in arguments.read_text()


def test_without_pyspark(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ivy, "find_spec", lambda _: None)
    with pytest.raises(PartageError, match=r"pip install 'partage\[spark\]'.*PARTAGE_KAFKA_JARS"):
        kafka_jars("4.3.0")
    assert not cache.exists()


def test_your_own_jars(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    libs = tmp_path / "libs"
    monkeypatch.setenv(jars.OWN_JARS, str(libs))
    with pytest.raises(InputError, match=r"libs: has no Kafka jars"):
        kafka_jars()
    libs.mkdir()
    (libs / "kafka_2.13-4.4.0-javadoc.jar").touch()
    with pytest.raises(InputError, match=r"has no Kafka jars \(no kafka_2.13-VERSION.jar\)"):
        kafka_jars()
    (libs / "kafka_2.13-4.4.0.jar").touch()
    assert kafka_jars() == kafka_jars("4.4.0") == libs
    assert kafka_version(libs) == "4.4.0"
    with pytest.raises(InputError, match=r"^kafka: 4.3.0: the jars in .*libs .* are 4.4.0$"):
        kafka_jars("4.3.0")
    assert not cache.exists()


@pytest.mark.parametrize(
    "version", ["", "3.9.0", "4.3", "4", "latest", "4.3.0/..", "-4.3.0", "4.3.x"]
)
def test_versions_that_are_not_accepted(cache: Path, version: str) -> None:
    with pytest.raises(InputError, match=r"^kafka: .*expected 4.0.0 or later"):
        kafka_jars(version)
