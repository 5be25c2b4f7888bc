"""Folders that are kept: made without following links, emptied of known files only."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from partage import InputError
from partage.outputs import make_folder, refuse_link, remove_known
from tests.outputs.test_file import mode, umask


def test_make_folder(tmp_path: Path) -> None:
    for _ in range(2):
        make_folder(tmp_path / "a", root=tmp_path)
    with umask(0o022):
        make_folder(tmp_path / "b", private=True)
    assert mode(tmp_path / "b") == 0o700
    (tmp_path / "file").touch()
    (tmp_path / "link").symlink_to("a")
    with pytest.raises(InputError, match="file: is a file, expected a directory"):
        make_folder(tmp_path / "file", root=tmp_path)
    for path, root in (("link", ""), ("link/c", ""), ("link/c", "link")):
        with pytest.raises(InputError, match="link: is a symbolic link"):
            make_folder(tmp_path / path, root=tmp_path / root)
    with pytest.raises(InputError, match="link: is a symbolic link"):
        refuse_link(tmp_path / "link")
    assert list((tmp_path / "a").iterdir()) == []
    with pytest.raises(InputError, match="cannot be written"):
        make_folder(tmp_path / "none/a")


def test_only_known_files_are_removed(tmp_path: Path) -> None:
    folder, known = tmp_path / "a", re.compile(r"(in/)?\d+\.log|link|sub")
    (folder / "in/deep").mkdir(parents=True)
    (folder / "empty").mkdir()
    for name in ("1.log", "in/2.log", "in/deep/3.log", "in/notes", "1.log.bak"):
        (folder / name).write_text("x")
    (tmp_path / "theirs").mkdir()
    (tmp_path / "theirs/1.log").write_text("mine")
    (folder / "link").symlink_to(tmp_path / "theirs/1.log")
    (folder / "sub").symlink_to(tmp_path / "theirs")
    left = remove_known(folder, known)
    assert left == ["1.log.bak", "in/deep/3.log", "in/notes", "link", "sub"]
    assert not (folder / "empty").exists()
    assert (tmp_path / "theirs/1.log").read_text() == "mine"
    for name in left:
        (folder / name).unlink()
    assert remove_known(folder, known) == []
    assert not folder.exists()
    assert remove_known(folder, known) == []
    folder.symlink_to("theirs")
    remove_known(folder, known)
    assert (tmp_path / "theirs/1.log").exists()
