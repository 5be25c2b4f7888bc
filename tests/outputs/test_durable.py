"""What a power cut leaves: a model of a disk that has only what was flushed."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from partage.errors import InputError
from partage.live.execution.journal import Journal
from partage.outputs import lines_with_checksum, new_directory, write_directory, write_file
from partage.outputs.durable import flush_folder

ONE, TWO = lines_with_checksum("one\n"), lines_with_checksum("two\n")


class Disk:
    """The content of files and the names in folders, by inode, when they were last flushed."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.flushed: dict[int, Any] = {}
        self.renamed: list[str] = []
        monkeypatch.setattr(os, "fsync", self.fsync)
        for name in ("rename", "replace", "link"):
            monkeypatch.setattr(os, name, self.checked(name, getattr(os, name)))

    def fsync(self, file: int) -> None:
        self.flushed[os.fstat(file).st_ino] = _now(f"/proc/self/fd/{file}")

    def checked(self, name: str, call: Callable[..., None]) -> Callable[..., None]:
        def renames(source: Any, target: Any, **folders: int) -> None:
            at = folders.get("src_dir_fd")
            path = Path(source) if at is None else Path(f"/proc/self/fd/{at}") / source
            assert self.has(path), f"{source} is renamed before it is on disk"
            call(source, target, **folders)
            self.renamed.append(name)

        return renames

    def has(self, path: Path) -> bool:
        """Whether the content is on disk as it is now, with everything in a folder."""
        found = path.lstat()
        if self.flushed.get(found.st_ino) != _now(str(path)):
            return False
        return not stat.S_ISDIR(found.st_mode) or all(map(self.has, path.iterdir()))

    def keeps(self, path: Path, top: Path) -> bool:
        """Whether the path is there after a power cut, as it is now; ``top`` was there before."""
        named = [one for one in (path, *path.parents) if one.is_relative_to(top) and one != top]
        return self.has(path) and all(
            self.flushed.get(one.parent.stat().st_ino, {}).get(one.name) == one.stat().st_ino
            for one in named
        )


def _now(path: str) -> Any:
    """The content of a file; the inodes of what is in a folder, by name."""
    here = Path(path)
    return (
        {p.name: p.lstat().st_ino for p in here.iterdir()} if here.is_dir() else here.read_bytes()
    )


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Disk:
    return Disk(monkeypatch)


def test_a_file(tmp_path: Path, disk: Disk) -> None:
    path = tmp_path / "a.json"
    for text in (ONE, TWO):
        write_file(path, text)
        assert disk.keeps(path, tmp_path)
    assert disk.renamed == ["link", "replace"]


def test_a_file_where_there_are_no_hard_links(
    tmp_path: Path, disk: Disk, monkeypatch: pytest.MonkeyPatch
) -> None:
    def cannot(*_: Any, **__: Any) -> None:
        raise OSError(errno.EPERM, "no hard links")

    monkeypatch.setattr(os, "link", cannot)
    write_file(tmp_path / "a.json", ONE)
    assert disk.keeps(tmp_path / "a.json", tmp_path)
    assert disk.renamed == ["rename"]


def test_a_directory(tmp_path: Path, disk: Disk) -> None:
    path = tmp_path / "new" / "folders" / "plan"
    for text in ("1", "2"):
        write_directory(path, {"plan.json": text, "waves/001.json": text}, "plan.json")
        assert (path / "waves" / "001.json").read_text() == text
        assert disk.keeps(path, tmp_path)


def test_files_of_another_program_in_a_directory(tmp_path: Path, disk: Disk) -> None:
    """Spark's executors write tables there."""
    with new_directory(tmp_path / "out", "profile.json") as filled:
        (filled / "windows").mkdir()
        (filled / "windows" / "part-0.parquet").write_bytes(b"rows")
        (filled / "profile.json").write_text("{}")
    assert disk.keeps(tmp_path / "out", tmp_path)


def test_the_journal(tmp_path: Path, disk: Disk) -> None:
    with Journal.open(tmp_path) as journal:
        for _ in range(2):
            journal.submit([("t", 0)])
            assert disk.keeps(tmp_path / "journal.jsonl", tmp_path)


def test_a_disk_that_cannot_keep_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Network file systems say so here first."""

    def full(file: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(InputError, match=r"a\.json: cannot be written \(No space left on device\)"):
        write_file(tmp_path / "a.json", ONE)
    with pytest.raises(InputError, match=r"plan: cannot be written \(No space left on device\)"):
        write_directory(tmp_path / "plan", {"plan.json": "1"}, "plan.json")
    assert list(tmp_path.iterdir()) == []


def test_folders_that_cannot_be_flushed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def cannot(file: int) -> None:
        raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))

    monkeypatch.setattr(os, "fsync", cannot)
    flush_folder(tmp_path)
    monkeypatch.setattr(os, "open", lambda *_, **__: (_ for _ in ()).throw(PermissionError()))
    flush_folder(tmp_path)
