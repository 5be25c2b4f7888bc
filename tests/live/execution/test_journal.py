"""The journal: one run at a time, no file where nothing was done, damage reported in one line."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import re
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

pytest.importorskip("kafka")

from partage.brokers.directory import JOURNAL
from partage.errors import InputError, PartageError
from partage.live.admin.connection import one_line_errors
from partage.live.admin.states import Throttles
from partage.live.execution.execution_plan import ExecutionPlan
from partage.live.execution.journal import Journal, is_locked, is_rolled_back

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


def test_whether_the_last_run_is_a_rollback(tmp_path: Path) -> None:
    assert not is_rolled_back(tmp_path)
    with Journal.open(tmp_path) as journal:
        for direction in ("forward", "rollback", "forward"):
            journal.write("started", direction=direction)
            journal.write("ended", direction=direction)
            assert is_rolled_back(tmp_path) == (direction == "rollback"), "while it runs, too"
    (tmp_path / JOURNAL).unlink()
    (tmp_path / JOURNAL).mkdir()
    with pytest.raises(InputError, match="cannot be read"):
        is_rolled_back(tmp_path)


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
    path.write_bytes(WHOLE + line + b"\n" + WHOLE + b'{"at":"20')
    before = path.read_bytes()
    with pytest.raises(InputError) as refused:
        Journal.open(tmp_path)
    assert str(refused.value).startswith(f"{path}: line 2: is not a journal entry")
    assert str(refused.value).endswith("partage rollback, which does not need it")
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


def test_a_rollback_keeps_an_end_that_no_run_has_cut(tmp_path: Path) -> None:
    path = tmp_path / JOURNAL
    path.write_bytes(WHOLE + b"mine")
    with Journal.open(tmp_path, tolerant=True) as journal:
        assert journal.damaged == ["line 2: is not a journal entry"]
        journal.write("started")
    assert path.read_bytes().startswith(WHOLE + b"mine\n" + b'{"at":')


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
    cut = path.read_bytes() + b'{"at":"2026-01-01T00:00:00Z","event":"submitted","partitions":[["t"'
    path.write_bytes(cut)
    with Journal.open(tmp_path) as journal:
        assert journal.submitted == {("t", 0)}
        assert path.read_bytes() == cut  # a run that is refused leaves the file alone
        journal.write("wave done", wave=1)
    assert [json.loads(line)["event"] for line in path.read_text().splitlines()] == [
        "submitted",
        "wave done",
    ]


@pytest.mark.parametrize("length", range(1, len(WHOLE)))
def test_an_entry_is_recognised_wherever_it_was_cut(tmp_path: Path, length: int) -> None:
    path = tmp_path / JOURNAL
    path.write_bytes(WHOLE + WHOLE[:length])
    with Journal.open(tmp_path) as journal:
        assert len(journal.entries) == 1
    assert path.read_bytes() == WHOLE + WHOLE[:length]
    with Journal.open(tmp_path) as journal:
        journal.write("ended")
    assert path.read_bytes().startswith(WHOLE + b'{"at":"')
    assert path.read_bytes().count(b"\n") == 2


@pytest.mark.parametrize("before", [b"", WHOLE])
@pytest.mark.parametrize("mine", [b"my notes", b"{}", b'{"event":"x"', b"\0" * 40, b'{"at":"x'])
def test_text_that_no_run_has_cut_stays(tmp_path: Path, before: bytes, mine: bytes) -> None:
    path = tmp_path / JOURNAL
    path.write_bytes(before + mine)
    with pytest.raises(InputError, match=r"line \d: is not a journal entry: restore"):
        Journal.open(tmp_path)
    assert path.read_bytes() == before + mine


@pytest.mark.parametrize("to", ["theirs", "folder", "nothing"])
def test_a_link_is_not_opened(tmp_path: Path, to: str) -> None:
    plan = tmp_path / "plan"
    plan.mkdir()
    (tmp_path / "theirs").write_bytes(b"mine")
    (tmp_path / "folder").mkdir()
    (plan / JOURNAL).symlink_to(tmp_path / to)
    with pytest.raises(InputError, match=r"journal\.jsonl: is a symbolic link"):
        Journal.open(plan)
    assert (plan / JOURNAL).is_symlink()
    assert (tmp_path / "theirs").read_bytes() == b"mine"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["folder", "plan", "theirs"]


def test_a_journal_with_another_name_is_not_changed(tmp_path: Path) -> None:
    (tmp_path / "theirs").write_bytes(WHOLE)
    (tmp_path / JOURNAL).hardlink_to(tmp_path / "theirs")
    with pytest.raises(InputError, match="has another name"):
        Journal.open(tmp_path)
    assert (tmp_path / "theirs").read_bytes() == WHOLE


def test_a_pipe_does_not_hang(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / JOURNAL)
    assert not is_locked(tmp_path)
    with pytest.raises(InputError, match="is not a regular file"):
        Journal.open(tmp_path)


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


@pytest.mark.parametrize("kind", [errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS])
def test_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: int) -> None:
    """It is the journal's, although it happens while Kafka is connected."""
    words = os.strerror(kind)
    with one_line_errors("h:9092"), Journal.open(tmp_path) as journal:
        journal.write("started")
        monkeypatch.setattr(os, "fsync", Mock(side_effect=OSError(kind, words)))
        with pytest.raises(PartageError) as raised:
            journal.write("ended")
    expected = f"{tmp_path / JOURNAL}: cannot be written ({words}): run the same command again"
    assert str(raised.value).startswith(expected)


@pytest.mark.parametrize(
    "name", ["log.retention.ms", "partage.run.", "partage.run.h.x", "partage.run.h.0a\n", "", None]
)
def test_only_a_claim_is_taken_from_a_journal(tmp_path: Path, name: str | None) -> None:
    """A run removes the configuration of this name from all brokers at its end."""
    entry = {"at": "2026-01-01T00:00:00Z", "event": "claimed", "name": name}
    (tmp_path / "journal.jsonl").write_text(json.dumps(entry) + "\n")
    with pytest.raises(InputError, match="line 1: is not a journal entry"):
        Journal.open(tmp_path)
    with Journal.open(tmp_path, tolerant=True) as journal:
        assert journal.claims == set()


ENTRIES: list[dict[str, Any]] = [
    {"event": "started", "plan": "0" * 64, "direction": "forward", "topic_ids": {"t": "x"}},
    {"event": "claimed", "name": "partage.run.h.0a"},
    {"event": "throttles saved", "brokers": {"1": {"rate": "5"}}, "topics": {"t": {"list": "*"}}},
    {"event": "throttles restored", "brokers": [1], "topics": ["t"]},
    {"event": "submitted", "partitions": [["t", 0]]},
    {"event": "cancelled", "partitions": [["t", 0]]},
    *({"event": one} for one in ("ended", "wave done", "leaders elected", "replanned", "note")),
]
DAMAGE: list[Any] = [
    *(
        None,
        True,
        0,
        -1,
        1.5,
        10**30,
        "",
        "x",
        "\ud800",
        [],
        {},
        [[]],
        [None],
        [["t"]],
        [["t", -1]],
    ),
    *([["t", 0, 1]], [[0, "t"]], {"": 1}, {"1": None}, {"1": {"rate": None}}, {"\ud800": {}}),
    *({"99999999999": {}}, {"-1": {}}, {"t": {"list": ["*"]}}, {"t": "\ud800"}, [10**20], ["\n"]),
]


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry["event"])
def test_missing_and_wrong_fields_end_in_one_line(
    entry: dict[str, Any], plan: ExecutionPlan, tmp_path: Path
) -> None:
    """Or are taken as they are, and then nothing that reads the journal fails."""
    whole = {"at": "2026-01-01T00:00:00Z", **entry}
    path, refused = tmp_path / JOURNAL, []
    for field in whole:
        missing = {name: value for name, value in whole.items() if name != field}
        for damaged in (missing, *({**whole, field: value} for value in DAMAGE)):
            path.write_text(json.dumps(damaged) + "\n")
            try:
                with Journal.open(tmp_path) as journal:
                    journal.check_plan(plan)
                    assert journal.saved_throttles.brokers.keys() <= {1, 10**10 - 1}
                    assert journal.submitted <= {("t", 0)}
                    assert journal.claims <= {"partage.run.h.0a"}
                    assert isinstance(journal.topic_ids, dict)
            except InputError as error:
                refused.append(str(error))
    assert [one for one in refused if not re.fullmatch(r"[^\n\ud800]+", one)] == []
    assert len(refused) > len(DAMAGE)
