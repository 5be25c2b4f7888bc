"""The journal of a run: one at a time, nothing of it left where nothing was done, and what is on
the disk told in one line."""

from __future__ import annotations

import fcntl
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("kafka")

from partage.brokers.directory import JOURNAL
from partage.errors import InputError, PartageError
from partage.live.execution.journal import Journal, is_held

WHOLE = b'{"at":"2026-01-01T00:00:00Z","event":"begun"}\n'


def test_nothing_is_left_where_nothing_was_written(tmp_path: Path) -> None:
    with Journal.open(tmp_path):
        assert (tmp_path / JOURNAL).exists()
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(PartageError, match="refused"), Journal.open(tmp_path):
        raise PartageError("refused")
    assert list(tmp_path.iterdir()) == []
    with Journal.open(tmp_path) as journal:
        journal.write("begun")
    with Journal.open(tmp_path):
        pass
    assert (tmp_path / JOURNAL).read_bytes().count(b"\n") == 1


def test_who_has_it(tmp_path: Path) -> None:
    assert not is_held(tmp_path)
    assert list(tmp_path.iterdir()) == []
    with Journal.open(tmp_path) as journal:
        assert is_held(tmp_path)
        journal.write("begun")
        with pytest.raises(PartageError, match="another partage is carrying it out"):
            Journal.open(tmp_path)
    assert not is_held(tmp_path)


def test_one_that_is_removed_meanwhile_is_begun_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Opened just before another run let it go, and removed it."""
    path, other = tmp_path / JOURNAL, tmp_path / "other"
    path.touch()
    other.write_bytes(WHOLE)
    left, real = [path.unlink, lambda: other.replace(path)], fcntl.flock

    def locked(file: Any, how: int) -> None:
        if left:
            left.pop(0)()
        real(file, how)

    monkeypatch.setattr(fcntl, "flock", locked)
    with Journal.open(tmp_path) as journal:
        assert [entry["event"] for entry in journal.entries] == ["begun"]
        journal.write("ended")
    assert left == []
    assert path.read_bytes().startswith(WHOLE)
    assert path.read_bytes().count(b"\n") == 2


@pytest.mark.parametrize("line", [b'{"at":', b'{"at":"x"}', b"[]", b"1", b'"event"', b"\xff", b""])
def test_a_damaged_line(tmp_path: Path, line: bytes) -> None:
    path = tmp_path / JOURNAL
    path.write_bytes(WHOLE + line + b"\n" + WHOLE + b'{"cut')
    before = path.read_bytes()
    with pytest.raises(InputError) as refused:
        Journal.open(tmp_path)
    assert str(refused.value) == f"{path}: line 2: is no entry of a journal"
    assert path.read_bytes() == before
    assert not is_held(tmp_path)


def test_one_that_cannot_be_used(tmp_path: Path) -> None:
    (tmp_path / JOURNAL).mkdir()
    with pytest.raises(InputError, match=r"journal\.jsonl: cannot be read \(Is a directory\)"):
        is_held(tmp_path)
    with pytest.raises(InputError, match=r"journal\.jsonl: cannot be written \(Is a directory\)"):
        Journal.open(tmp_path)
    with pytest.raises(InputError, match=r"cannot be written \(No such file or directory\)"):
        Journal.open(tmp_path / "gone")
    assert [path.name for path in tmp_path.iterdir()] == [JOURNAL]
