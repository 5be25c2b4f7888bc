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


def test_limits_of_a_batch(tmp_path: Path) -> None:
    for named, limits, problem in (
        ("kafka://h:1/t", {"max_files": 3}, "`max_files_per_trigger`: does not apply to kafka"),
        (str(tmp_path), {"max_offsets": 3}, "use `max_files_per_trigger`"),
        (str(tmp_path), {"max_files": 0}, "`max_files_per_trigger`: 0: must be at least 1"),
    ):
        with pytest.raises(InputError, match=problem):
            stream(named, **limits)


def test_whether_records_wait() -> None:
    """A batch of three partitions and at most 30 offsets, which Spark rounds down to 28 or more."""
    limited, before = stream("kafka://h:1/t", max_offsets=30), {"t": {"0": 100, "1": 50}}
    for ends, more in (((110, 60, 10), True), ((110, 59, 9), True), ((109, 59, 9), False)):
        now = {"t": {str(number): end for number, end in enumerate(ends)}}
        assert limited.more(before, now) == more
        assert limited.more(None, now), "not known: rather too late than too early"
        assert not stream("kafka://h:1/t").more(before, now)


def test_a_stream_is_known_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a").mkdir()
    assert stream("a").identity == stream(os.fspath(tmp_path / "a")).identity
    assert stream("kafka://h:1/t,s").identity == stream("kafka://g:2,h:3/s,t?from=7").identity
    assert stream("kafka://h:1/t").identity != stream("kafka://h:1/s").identity
