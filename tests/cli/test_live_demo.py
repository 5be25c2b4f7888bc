"""What ``demo --live`` refuses before it starts anything, in one line each."""

from __future__ import annotations

from importlib import util
from pathlib import Path
from typing import Any

import pytest

from partage import java
from partage.cli import live_demo
from partage.errors import InputError, PartageError


def test_it_runs_without_spark() -> None:
    with pytest.raises(InputError, match=r"--master: cannot be combined with --live, which"):
        live_demo.live_demo("out", "local[1]", json=False)


def test_without_the_client_it_shows_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    def nothing(name: str) -> Any:
        return None if name == "kafka" else util.find_spec(name)

    monkeypatch.setattr(live_demo, "find_spec", nothing)
    with pytest.raises(PartageError, match=r"^kafka-python is not installed: .*\[kafka\]'$"):
        live_demo.live_demo("out", None, json=False)


def test_without_java_it_shows_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("kafka")
    monkeypatch.setattr(java, "java_version", lambda _: 0)
    with pytest.raises(
        PartageError, match=r"^demo --live needs Java 17 or later, .* install a JDK"
    ):
        live_demo.live_demo("out", None, json=False)


def test_it_does_not_replace_other_files(tmp_path: Path) -> None:
    pytest.importorskip("kafka")
    (tmp_path / "mine").write_text("")
    with pytest.raises(InputError, match="contains files that partage did not write"):
        live_demo.live_demo(str(tmp_path), None, json=False)
