"""Folders that a sandbox may not use, and the lock on the one it has."""

from __future__ import annotations

from pathlib import Path

import pytest

from partage.errors import InputError, PartageError
from partage.live.sandbox import Sandbox
from partage.live.sandbox.folder import locked

real = pytest.mark.kafka


@real
def test_one_process_at_a_time_changes_it(kafka: Sandbox) -> None:
    with (
        locked(kafka.directory, Path(kafka.directory)),
        pytest.raises(PartageError, match=r"another partage process is changing it$"),
    ):
        Sandbox.open(kafka.directory).stop_broker(1)


def test_folders_that_are_refused(tmp_path: Path) -> None:
    (tmp_path / "theirs").mkdir()
    (tmp_path / "theirs" / "file").write_text("x")
    (tmp_path / "file").write_text("x")
    for name, message in (
        ("theirs", "contains files that partage did not write"),
        ("file", "is a file, expected a directory"),
        ("no/folder", "there is no folder"),
        ("a,b", "its path has a comma"),
    ):
        with pytest.raises(InputError, match=message):
            Sandbox.start(tmp_path / name)
    with pytest.raises(InputError, match=r"^dir: the name of the folder is empty$"):
        Sandbox.start("")
    for name in ("theirs", "file", "nothing"):
        with pytest.raises(InputError, match=r"there is no sandbox \(no sandbox.json\)$"):
            Sandbox.open(tmp_path / name)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "theirs"]
    assert (tmp_path / "theirs" / "file").read_text() == "x"
