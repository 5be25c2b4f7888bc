"""Names of streams."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

pytest.importorskip("pyspark")
from partage.errors import InputError
from partage.pipeline.watch import stream


@pytest.mark.parametrize(
    ("named", "problem"),
    [
        ("none", "none: does not exist: expected a folder to which files are added"),
        ("file.csv", "file.csv: is a file: expected a folder to which files are added"),
        ("kafka://h:1", "expected kafka://HOST:PORT/TOPIC"),
        ("kafka://h:1/t?to=3", "to: a watch has no end: leave it out"),
    ],
)
def test_not_a_stream(
    named: str, problem: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file.csv").touch()
    with pytest.raises(InputError, match=None) as raised:
        stream(named)
    assert problem in str(raised.value)


def test_a_stream_is_known_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a").mkdir()
    assert stream("a").identity == stream(os.fspath(tmp_path / "a")).identity
    assert stream("kafka://h:1/t,s").identity == stream("kafka://g:2,h:3/s,t?from=7").identity
    assert stream("kafka://h:1/t").identity != stream("kafka://h:1/s").identity
