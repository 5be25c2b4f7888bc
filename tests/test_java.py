"""The Java that Spark and Kafka run on."""

from __future__ import annotations

from pathlib import Path

import pytest

from partage.errors import PartageError
from partage.java import find_java


def test_java_is_found_or_asked_for(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert (find_java("Spark") / "bin" / "java").exists()
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "java").write_text("#!/bin/sh\n")
    (tmp_path / "bin" / "java").chmod(0o755)
    (tmp_path / "release").write_text('JAVA_VERSION="1.8.0_402"\n')
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(Path, "glob", lambda *_: iter(()))
    with pytest.raises(PartageError, match=r"needs Java 17 or later.*is Java 8.*install a JDK"):
        find_java("Spark")
