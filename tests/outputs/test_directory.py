"""A directory: whole or not at all, and never in place of anything that partage did not write."""

from __future__ import annotations

import errno
import json
import os
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from partage import InputError
from partage.outputs import (
    LIST,
    check_directory,
    lines_with_checksum,
    new_directory,
    write_directory,
    write_file,
)
from tests.outputs.test_file import full_disk, mode, umask

FILES = {"mark": "{}", "x": "é", "in/y": "3"}


def names(folder: Path) -> list[str]:
    return sorted(
        p.relative_to(folder).as_posix()
        for p in folder.rglob("*")
        if p.is_file() and p.name != LIST
    )


# ---------------------------------------------------------------- whole or not at all


def test_write_directory(tmp_path: Path) -> None:
    target = tmp_path / "a/b/c"
    write_directory(target, FILES, "mark")
    assert names(tmp_path) == ["a/b/c/in/y", "a/b/c/mark", "a/b/c/x"]
    write_directory(target, {"mark": "new"}, "mark")
    assert names(tmp_path) == ["a/b/c/mark"]
    assert (target / "mark").read_text() == "new"


def test_the_same_files_have_the_same_list(tmp_path: Path) -> None:
    for name in "ab":
        write_directory(tmp_path / name, FILES, "mark")
    assert (tmp_path / "a" / LIST).read_bytes() == (tmp_path / "b" / LIST).read_bytes()
    listed = json.loads((tmp_path / "a" / LIST).read_bytes())
    assert listed["marker"] == "mark"
    assert list(listed["files"]) == ["in", "in/y", "mark", "x"]


def test_a_failure_leaves_nothing(tmp_path: Path) -> None:
    def fail() -> None:
        with new_directory(tmp_path / "a/b", "mark") as folder:
            (folder / "mark").write_text("x")
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert list(tmp_path.iterdir()) == []


def test_a_failure_keeps_the_older_directory(tmp_path: Path) -> None:
    write_directory(tmp_path / "a", {"mark": "old", "x": "old"}, "mark")

    def interrupt() -> None:
        with new_directory(tmp_path / "a", "mark") as folder:
            (folder / "mark").write_text("new")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupt()
    with pytest.raises(InputError, match=r"a: cannot be written \(.*surrogates not allowed"):
        write_directory(tmp_path / "a", {"mark": "new", "x": "\ud800"}, "mark")
    with full_disk(), pytest.raises(InputError, match=r"a: cannot be written \(File too large\)"):
        write_directory(tmp_path / "a", {"mark": "new" * 10}, "mark")
    assert names(tmp_path) == ["a/mark", "a/x"]
    assert (tmp_path / "a/mark").read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["a"]


def test_errors_of_a_network_keep_their_name(tmp_path: Path) -> None:
    """What fills a directory may read a cluster: only what is about the files is."""
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))

        def fill() -> None:
            with new_directory(tmp_path / "a", "mark"):
                socket.create_connection(unused.getsockname())

        with pytest.raises(ConnectionRefusedError):
            fill()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("step", ["old", "a"])
def test_interrupted_after_a_rename(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    write_directory(tmp_path / "a", {"mark": "old", "x": "old"}, "mark")
    rename = Path.rename

    def interrupted(source: Path, target: Path) -> Path:
        if step == "old":
            rename(source, target)
        if target.name == step:
            monkeypatch.undo()
            raise KeyboardInterrupt
        return rename(source, target)

    monkeypatch.setattr(Path, "rename", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_directory(tmp_path / "a", {"mark": "new"}, "mark")
    assert names(tmp_path) == ["a/mark", "a/x"]
    assert [p.name for p in tmp_path.iterdir()] == ["a"]


def test_a_directory_without_its_marker_is_a_mistake_of_ours(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="mark was not written"):
        write_directory(tmp_path / "a", {"x": "1"}, "mark")
    assert list(tmp_path.iterdir()) == []


# ---------------------------------------------------------------- what others have put there


def add(path: Path) -> None:
    path.write_text("mine")


def make_folder(path: Path) -> None:
    path.mkdir()


def link(path: Path) -> None:
    path.symlink_to("mark")


def pipe(path: Path) -> None:
    os.mkfifo(path)


@pytest.mark.parametrize("what", [add, make_folder, link, pipe])
@pytest.mark.parametrize("place", ["notes", ".hidden", "in/notes", "in/.hidden", "mark.bak"])
def test_an_entry_that_is_not_listed_stays(
    tmp_path: Path, what: Callable[[Path], None], place: str
) -> None:
    write_directory(tmp_path / "a", FILES, "mark")
    what(tmp_path / "a" / place)
    expected = f"a: contains {place}, which partage did not write: choose another directory"
    with pytest.raises(InputError, match=expected):
        check_directory(tmp_path / "a", "mark")
    with pytest.raises(InputError, match=expected):
        write_directory(tmp_path / "a", FILES, "mark")
    assert os.path.lexists(tmp_path / "a" / place)
    assert [p.name for p in tmp_path.iterdir()] == ["a"]


@pytest.mark.parametrize("place", ["mark", "x", "in/y"])
@pytest.mark.parametrize("how", ["edited", "link", "folder"])
def test_a_changed_file_stays(tmp_path: Path, place: str, how: str) -> None:
    write_directory(tmp_path / "a", FILES, "mark")
    changed = tmp_path / "a" / place
    changed.unlink()
    if how == "edited":
        changed.write_text("mine")
    elif how == "link":
        (tmp_path / "same").write_text(FILES[place])
        changed.symlink_to(tmp_path / "same")
    else:
        changed.mkdir()
    with pytest.raises(
        InputError, match=f"contains {place}, which was changed since partage wrote"
    ):
        write_directory(tmp_path / "a", {"mark": "new"}, "mark")
    assert os.path.lexists(changed)


def test_a_folder_in_it_that_became_a_link(tmp_path: Path) -> None:
    write_directory(tmp_path / "a", FILES, "mark")
    (tmp_path / "a/in").rename(tmp_path / "theirs")
    (tmp_path / "a/in").symlink_to(tmp_path / "theirs")
    with pytest.raises(InputError, match="contains in, which was changed since"):
        write_directory(tmp_path / "a", FILES, "mark")
    assert names(tmp_path / "theirs") == ["y"]


def test_a_file_with_a_checksum_may_be_written_again(tmp_path: Path) -> None:
    write_directory(tmp_path / "a", FILES, "mark")
    (tmp_path / "a/x").write_text(lines_with_checksum("new"))
    (tmp_path / "a/in/y").unlink()  # and what is deleted is not missed
    write_directory(tmp_path / "a", {"mark": "new"}, "mark")
    assert names(tmp_path / "a") == ["mark"]


@pytest.mark.parametrize(
    "listed",
    [
        None,
        "",
        "[]",
        "{}",
        '{"marker": "mark"}',
        '{"marker": "mark", "files": []}',
        '{"marker": "other", "files": {"mark": null}}',
    ],
)
def test_a_directory_without_its_list_is_not_ours(tmp_path: Path, listed: str | None) -> None:
    write_directory(tmp_path / "a", FILES, "mark")
    (tmp_path / "a" / LIST).unlink()
    if listed is not None:
        (tmp_path / "a" / LIST).write_text(listed)
    problem = rf"^{tmp_path}/a: has mark, but no {LIST} that lists what may be replaced"
    with pytest.raises(InputError, match=problem):
        write_directory(tmp_path / "a", FILES, "mark")
    assert names(tmp_path / "a") == ["in/y", "mark", "x"]
    (tmp_path / "a" / "mark").unlink()
    with pytest.raises(InputError, match=r"did not write \(no mark written by partage\)"):
        write_directory(tmp_path / "a", FILES, "mark")


def test_a_directory_of_another_kind_is_not_replaced(tmp_path: Path) -> None:
    write_directory(tmp_path / "a", {"mark": "1", "other": "2"}, "mark")
    with pytest.raises(InputError, match=r"has other, but no .partage.json"):
        write_directory(tmp_path / "a", {"other": "2"}, "other")


def test_a_file_that_appears_at_the_last_moment_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the check and the first rename, and between the two renames."""
    write_directory(tmp_path / "a", FILES, "mark")
    rename = Path.rename

    def late(source: Path, target: Path) -> Path:
        (tmp_path / "a/notes").write_text("mine")
        monkeypatch.undo()
        return rename(source, target)

    monkeypatch.setattr(Path, "rename", late)
    with pytest.raises(InputError, match="contains notes, which partage did not write"):
        write_directory(tmp_path / "a", {"mark": "new"}, "mark")
    assert names(tmp_path) == ["a/in/y", "a/mark", "a/notes", "a/x"]
    (tmp_path / "a/notes").unlink()

    def later(source: Path, target: Path) -> Path:
        if target.name == "a":
            target.mkdir()
            (target / "notes").write_text("mine")
            monkeypatch.undo()
        return rename(source, target)

    monkeypatch.setattr(Path, "rename", later)
    with pytest.raises(
        InputError, match=r"a: another program wrote it, too: its previous content is in .*/old"
    ):
        write_directory(tmp_path / "a", {"mark": "new"}, "mark")
    assert names(tmp_path / "a") == ["notes"]
    (kept,) = tmp_path.glob(".partage-*/old")
    assert names(kept) == ["in/y", "mark", "x"]


def test_without_overwrite_nothing_is_replaced(tmp_path: Path) -> None:
    write_directory(tmp_path / "a", FILES, "mark")
    with pytest.raises(InputError, match="already exists: `overwrite` replaces it"):
        check_directory(tmp_path / "a", "mark", overwrite=False)
    (tmp_path / "b").mkdir()
    check_directory(tmp_path / "b", "mark", overwrite=False)


# ---------------------------------------------------------------- places


def test_an_empty_directory_is_taken(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir(mode=0o700)
    write_directory(tmp_path / "a", FILES, "mark")
    assert names(tmp_path / "a") == ["in/y", "mark", "x"]
    assert mode(tmp_path / "a") == 0o700


@pytest.mark.parametrize(("mask", "folder", "file"), [(0o022, 0o755, 0o644), (0o077, 0o700, 0o600)])
def test_modes(tmp_path: Path, mask: int, folder: int, file: int) -> None:
    with umask(mask):
        with new_directory(tmp_path / "a", "mark") as new:
            (new / "mark").write_text("")
            (new / "in").mkdir()
            (new / "in/x").write_text("")
            (new / "in/x").chmod(0o666)  # as another program may
        assert [mode(tmp_path / "a" / one) for one in ("", "in")] == [folder, folder]
        assert [mode(tmp_path / "a" / one) for one in ("mark", "in/x", LIST)] == [file] * 3
        for place, kept in (("", 0o750), ("in", 0o711), ("in/x", 0o640)):
            (tmp_path / "a" / place).chmod(kept)
        write_directory(tmp_path / "a", {"mark": "", "in/x": "", "in/y": ""}, "mark")
        found = [mode(tmp_path / "a" / one) for one in ("", "in", "in/x", "in/y", "mark")]
        assert found == [0o750, 0o711, 0o640, file, file]


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    write_directory(tmp_path / "ours", FILES, "mark")
    for number, to in enumerate(("empty", "ours", "nothing", "ours/mark")):
        place = tmp_path / f"link{number}"
        place.symlink_to(to)
        for path in (place, f"{place}/"):
            with pytest.raises(InputError, match=r"link\d/?: is a symbolic link"):
                check_directory(path, "mark")
            with pytest.raises(InputError, match=r"link\d/?: is a symbolic link"):
                write_directory(path, FILES, "mark")
        assert place.readlink() == Path(to)
    (tmp_path / "up").symlink_to(".")
    write_directory(tmp_path / "up/empty", FILES, "mark")  # on the way to it they are


def test_the_current_directory_is_not_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a").mkdir()
    monkeypatch.chdir(tmp_path / "a")
    for name in (".", "../a", ".."):
        with pytest.raises(InputError, match=r"is the current directory|did not write"):
            write_directory(name, FILES, "mark")
    write_directory("b", FILES, "mark")
    assert names(tmp_path) == ["a/b/in/y", "a/b/mark", "a/b/x"]


def test_other_peoples_files_are_never_touched(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    (tmp_path / "b/.hidden").write_text("mine")
    (tmp_path / "c").write_text("mine")
    (tmp_path / "d/mark").mkdir(parents=True)  # a folder of that name is no marker
    for name in ("b", "c", "d"):
        with pytest.raises(InputError):
            check_directory(tmp_path / name, "mark")
        with pytest.raises(InputError):
            write_directory(tmp_path / name, FILES, "mark")
    assert (tmp_path / "b/.hidden").read_text() == (tmp_path / "c").read_text() == "mine"


@pytest.mark.parametrize("name", ["file/x", "file/x/y", "a" * 300, "a\0b", "loop/x"])
def test_where_no_directory_can_be(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").write_text("x")
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(InputError):
        write_directory(tmp_path / name, FILES, "mark")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["file", "loop"]


def test_a_directory_named_through_its_parent(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    write_directory(tmp_path / "a/../b", FILES, "mark")
    assert names(tmp_path) == ["b/in/y", "b/mark", "b/x"]


def test_an_error_in_it_names_the_output(tmp_path: Path) -> None:
    """Not the temporary directory, which is gone afterwards; another file keeps its name."""
    for place, named in (("marker.json", "out: exists already"), (None, "other: exists already")):

        def fill(new: Path, place: str | None = place) -> None:
            file = tmp_path / "other" if place is None else new / place
            file.touch()
            write_file(file, "x", new=True)

        with (
            pytest.raises(InputError) as refused,
            new_directory(tmp_path / "out", "marker.json") as new,
        ):
            fill(new)
        assert str(refused.value) == f"{tmp_path}/{named}"


def test_the_disk_is_full_of_whatever_fills_it(tmp_path: Path) -> None:
    """Libraries raise it without a file name."""
    with (
        pytest.raises(InputError, match=r"a: cannot be written \(No space left on device\)"),
        new_directory(tmp_path / "a", "mark"),
    ):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
