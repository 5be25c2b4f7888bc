"""The journal: one run at a time, no file where nothing was done, damage reported in one line."""

from __future__ import annotations

import fcntl
import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("kafka")

from partage.brokers.directory import JOURNAL
from partage.errors import InputError, PartageError
from partage.live.admin.states import Throttles
from partage.live.execution.journal import Journal, is_locked

WHOLE = b'{"at":"2026-01-01T00:00:00Z","event":"started"}\n'


def test_an_empty_journal_is_removed(tmp_path: Path) -> None:
    with Journal.open(tmp_path):
        assert (tmp_path / JOURNAL).exists()
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(PartageError, match="refused"), Journal.open(tmp_path):
        raise PartageError("refused")
    assert list(tmp_path.iterdir()) == []
    with Journal.open(tmp_path) as journal:
        journal.write("started")
    with Journal.open(tmp_path):
        pass
    assert (tmp_path / JOURNAL).read_bytes().count(b"\n") == 1


def test_one_run_holds_it(tmp_path: Path) -> None:
    assert not is_locked(tmp_path)
    assert list(tmp_path.iterdir()) == []
    with Journal.open(tmp_path) as journal:
        assert is_locked(tmp_path)
        journal.write("started")
        with pytest.raises(PartageError, match="another partage process is applying it"):
            Journal.open(tmp_path)
    assert not is_locked(tmp_path)


def test_a_journal_removed_before_it_is_locked_is_opened_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Opened just before another run removed and released it."""
    path, other = tmp_path / JOURNAL, tmp_path / "other"
    path.touch()
    other.write_bytes(WHOLE)
    events, real = [path.unlink, lambda: other.replace(path)], fcntl.flock

    def locked(file: Any, how: int) -> None:
        if events:
            events.pop(0)()
        real(file, how)

    monkeypatch.setattr(fcntl, "flock", locked)
    with Journal.open(tmp_path) as journal:
        assert [entry["event"] for entry in journal.entries] == ["started"]
        journal.write("ended")
    assert events == []
    assert path.read_bytes().startswith(WHOLE)
    assert path.read_bytes().count(b"\n") == 2


@pytest.mark.parametrize(
    "line",
    [
        *(b'{"at":', b'{"at":"x"}', b"[]", b"1", b'"event"', b"\xff", b"", b"[" * 100_000),
        b'{"at":"x","event":"throttles sav3d","brokers":{},"topics":{}}',
        b'{"at":"x","event":"throttles saved","brokers":{}}',
        b'{"at":"x","event":"throttles saved","brokers":{"one":{}},"topics":{}}',
        b'{"at":"x","event":"throttles saved","brokers":{"1":{"rate":5}},"topics":{}}',
        b'{"at":"x","event":"throttles restored","brokers":[[]],"topics":[]}',
        b'{"at":"x","event":"submitted","partitions":[["t"]]}',
        b'{"at":"x","event":"submitted","partitions":[["t",99999999999]]}',
        b'{"at":"x","event":7}',
    ],
)
def test_a_damaged_line(tmp_path: Path, line: bytes) -> None:
    path = tmp_path / JOURNAL
    path.write_bytes(WHOLE + line + b"\n" + WHOLE + b'{"cut')
    before = path.read_bytes()
    with pytest.raises(InputError) as refused:
        Journal.open(tmp_path)
    assert str(refused.value).startswith(f"{path}: line 2: is not a journal entry")
    assert str(refused.value).endswith(": partage rollback goes on without it")
    assert path.read_bytes() == before
    assert not is_locked(tmp_path)
    with Journal.open(tmp_path, tolerant=True) as journal:
        assert [entry["event"] for entry in journal.entries] == ["started", "started"]
        (damaged,) = journal.damaged
        assert damaged.startswith("line 2: is not a journal entry")


def test_a_journal_with_damaged_lines_alone_is_kept(tmp_path: Path) -> None:
    path = tmp_path / JOURNAL
    path.write_bytes(b"thesis\n")
    with Journal.open(tmp_path, tolerant=True) as journal:
        assert not journal.entries
    assert path.read_bytes() == b"thesis\n"


def test_a_journal_that_cannot_be_opened(tmp_path: Path) -> None:
    (tmp_path / JOURNAL).mkdir()
    with pytest.raises(InputError, match=r"journal\.jsonl: cannot be read \(Is a directory\)"):
        is_locked(tmp_path)
    with pytest.raises(InputError, match=r"journal\.jsonl: cannot be written \(Is a directory\)"):
        Journal.open(tmp_path)
    with pytest.raises(InputError, match=r"cannot be written \(No such file or directory\)"):
        Journal.open(tmp_path / "gone")
    assert [path.name for path in tmp_path.iterdir()] == [JOURNAL]


def test_a_line_that_was_cut_short_is_ignored(tmp_path: Path) -> None:
    with Journal.open(tmp_path) as journal:
        journal.submit([("t", 0)])
    path = tmp_path / JOURNAL
    path.write_bytes(path.read_bytes() + b'{"event":"submitted","partitions":[["t"')
    with Journal.open(tmp_path) as journal:
        assert journal.submitted == {("t", 0)}
        journal.write("wave done", wave=1)
    assert [json.loads(line)["event"] for line in path.read_text().splitlines()] == [
        "submitted",
        "wave done",
    ]


def test_throttles_that_are_not_restored_yet(tmp_path: Path) -> None:
    """Those from before the first run count, also where a later run saved its own."""
    first = Throttles({1: {"rate": "5"}, 2: {}}, {"t": {"list": "*"}})
    with Journal.open(tmp_path) as journal:
        journal.save_throttles(first)
        journal.throttles_restored([2], [])
    with Journal.open(tmp_path) as journal:
        journal.save_throttles(Throttles({1: {"rate": "9"}}, {"u": {}}))
        assert journal.saved_throttles == Throttles(
            {1: {"rate": "5"}}, {"t": {"list": "*"}, "u": {}}
        )
        journal.throttles_restored([1], ["t", "u"])
        assert journal.saved_throttles == Throttles()
