"""Kafka's jars: the locked versions, or your own folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from partage.errors import InputError
from partage.jars import locked_versions
from partage.live.sandbox import jars
from partage.live.sandbox.jars import kafka_at_hand, kafka_jars, kafka_version


@pytest.fixture
def asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The sets of jars that were fetched."""
    monkeypatch.delenv(jars.OWN_JARS, raising=False)
    fetched: list[str] = []

    def fetch(name: str, *_: object) -> Path:
        fetched.append(name)
        return tmp_path

    monkeypatch.setattr(jars, "fetched_jars", fetch)
    return fetched


def test_each_locked_version(asked: list[str]) -> None:
    versions = locked_versions("kafka")
    for version in (None, *versions):
        kafka_jars(version)
    assert asked == ["kafka-4.3.0", *(f"kafka-{version}" for version in versions)]


@pytest.mark.parametrize("version", ["", "3.9.0", "4.3", "latest", "4.3.0/..", "-4.3.0", "4.3.x"])
def test_versions_that_are_not_accepted(asked: list[str], version: str) -> None:
    with pytest.raises(InputError, match=r"^kafka: '.*': expected one of 3.4.1, .*KAFKA_JARS"):
        kafka_jars(version)
    assert asked == []


def test_your_own_jars(asked: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    libs = tmp_path / "libs"
    monkeypatch.setenv(jars.OWN_JARS, str(libs))
    with pytest.raises(InputError, match=r"libs: has no Kafka jars"):
        kafka_jars()
    libs.mkdir()
    (libs / "kafka_2.13-4.4.0-javadoc.jar").touch()
    with pytest.raises(InputError, match=r"has no Kafka jars \(no kafka_2.13-VERSION.jar\)"):
        kafka_at_hand()
    (libs / "kafka_2.13-4.4.0.jar").touch()
    assert kafka_jars() == kafka_jars("4.4.0") == kafka_at_hand() == libs
    assert kafka_version(libs) == "4.4.0"
    with pytest.raises(InputError, match=r"^kafka: 4.3.0: the jars in .*libs .* are 4.4.0$"):
        kafka_jars("4.3.0")
    assert asked == []
