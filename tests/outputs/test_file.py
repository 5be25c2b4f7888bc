"""One file: whole or not at all, and never in place of a file that partage did not write."""

from __future__ import annotations

import os
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from partage import InputError
from partage.outputs import (
    check_file,
    keep_previous,
    lines_with_checksum,
    move_file,
    open_to_append,
    remove_file,
    write_file,
)
from partage.outputs import file as module

ONE, TWO = lines_with_checksum("one\n"), lines_with_checksum("two é\n")


@contextmanager
def umask(mask: int) -> Iterator[None]:
    before = os.umask(mask)
    try:
        yield
    finally:
        os.umask(before)


@contextmanager
def full_disk(size: int = 10) -> Iterator[None]:
    """Files cannot grow beyond that many bytes."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


# ---------------------------------------------------------------- write


def test_a_file_of_ours_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    for text in (ONE, TWO):
        check_file(path, "out")
        write_file(path, text)
        assert path.read_text(encoding="utf-8") == text
    assert [p.name for p in tmp_path.iterdir()] == ["a.json"]


@pytest.mark.parametrize(("mask", "left"), [(0o022, 0o644), (0o077, 0o600), (0o002, 0o664)])
def test_modes(tmp_path: Path, mask: int, left: int) -> None:
    path = tmp_path / "a"
    with umask(mask):
        write_file(path, ONE)
        assert mode(path) == left
        path.chmod(0o640)
        write_file(path, TWO)
        assert mode(path) == 0o640
        write_file(tmp_path / "b", ONE, private=True)
        assert mode(tmp_path / "b") == 0o600
        open_to_append(tmp_path / "c", root=tmp_path).close()
        assert mode(tmp_path / "c") == left


@pytest.mark.parametrize("content", ["mine", "{}", "<svg></svg>", ONE + "more\n", "x" + ONE])
@pytest.mark.parametrize("recognised", [False, True])
def test_a_users_file_is_not_replaced(tmp_path: Path, content: str, recognised: bool) -> None:
    path = tmp_path / "a"
    path.write_text(content)
    expected = "was changed since partage wrote it|exists, and partage did not write it"
    if not recognised:
        with pytest.raises(InputError, match=expected):
            check_file(path, "out")
        with pytest.raises(InputError, match=expected):
            write_file(path, ONE)
    with pytest.raises(InputError, match="exists already"):
        write_file(path, ONE, new=True, recognised=recognised)
    assert path.read_text() == content
    assert [p.name for p in tmp_path.iterdir()] == ["a"]


def test_an_empty_file_is_taken(tmp_path: Path) -> None:
    """As ``mktemp`` makes it."""
    (tmp_path / "a").touch(0o600)
    write_file(tmp_path / "a", ONE)
    assert mode(tmp_path / "a") == 0o600


@pytest.mark.parametrize("to", ["file", "folder", "ours", "nothing", "/dev/null"])
def test_links_are_not_followed(tmp_path: Path, to: str) -> None:
    (tmp_path / "file").write_text("mine")
    (tmp_path / "ours").write_text(ONE)
    (tmp_path / "folder").mkdir()
    link = tmp_path / "link"
    link.symlink_to(to)
    for attempt in (
        lambda: check_file(link, "out"),
        lambda: write_file(link, TWO),
        lambda: write_file(link, TWO, new=True),
        lambda: write_file(link, TWO, root=tmp_path, recognised=True),
        lambda: open_to_append(link, root=tmp_path),
        lambda: remove_file(link, root=tmp_path),
        lambda: keep_previous(link, root=tmp_path),
        lambda: move_file(tmp_path / "file", link, root=tmp_path),
    ):
        with pytest.raises(InputError, match=r"link: is a symbolic link: name what it points to"):
            attempt()
    assert link.readlink() == Path(to)
    assert (tmp_path / "file").read_text() == "mine"
    assert (tmp_path / "ours").read_text() == ONE
    assert sorted(p.name for p in tmp_path.iterdir()) == ["file", "folder", "link", "ours"]


def test_the_folder_of_a_file_may_be_a_link_but_not_inside_a_directory_of_ours(
    tmp_path: Path,
) -> None:
    (tmp_path / "real/sub").mkdir(parents=True)
    (tmp_path / "link").symlink_to("real")
    (tmp_path / "real/down").symlink_to("sub")
    write_file(tmp_path / "link/a", ONE)
    assert (tmp_path / "real/a").read_text() == ONE
    for path, root in (("link/b", "link"), ("real/down/b", "real"), ("link/sub/b", "link")):
        for attempt in (
            lambda path=path, root=root: write_file(tmp_path / path, ONE, root=tmp_path / root),
            lambda path=path, root=root: open_to_append(tmp_path / path, root=tmp_path / root),
        ):
            with pytest.raises(InputError, match="is a symbolic link"):
                attempt()
    assert sorted(p.name for p in (tmp_path / "real").iterdir()) == ["a", "down", "sub"]
    assert list((tmp_path / "real/sub").iterdir()) == []


def test_places_that_are_not_files(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    for name, said in (("folder", "is a directory"), ("pipe", "is not a regular file")):
        for recognised in (False, True):
            with pytest.raises(InputError, match=said):
                write_file(tmp_path / name, ONE, recognised=recognised)
    with pytest.raises(InputError, match="is not a regular file"):
        open_to_append(tmp_path / "pipe", root=tmp_path)
    with pytest.raises(InputError, match="/dev/null: is not a regular file"):
        write_file("/dev/null", ONE)


@pytest.mark.parametrize("name", ["none/a", "file/a", "folder", "a" * 300, "a\0b"])
def test_where_no_file_can_be(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").write_text("x")
    (tmp_path / "folder").mkdir()
    before = sorted(tmp_path.rglob("*"))
    for attempt in (check_file, lambda path, _: write_file(path, ONE)):
        with pytest.raises(InputError, match=r"cannot be written|is a directory") as caught:
            attempt(tmp_path / name, "out")
        assert "\n" not in str(caught.value)
    assert sorted(tmp_path.rglob("*")) == before


def test_the_name_of_the_option_where_the_path_is_empty() -> None:
    with pytest.raises(InputError, match="picture: the name of the file is empty"):
        check_file("", "picture")


def test_a_failure_half_way_keeps_the_older_file(tmp_path: Path) -> None:
    write_file(tmp_path / "a", ONE)
    with pytest.raises(InputError, match=r"a: cannot be written \(.*surrogates not allowed"):
        write_file(tmp_path / "a", lines_with_checksum("new\ud800"))
    with full_disk(), pytest.raises(InputError, match=r"cannot be written \(File too large\)"):
        write_file(tmp_path / "a", TWO)
    with full_disk(), pytest.raises(InputError, match=r"cannot be written \(File too large\)"):
        write_file(tmp_path / "b", TWO)
    assert (tmp_path / "a").read_text() == ONE
    assert [p.name for p in tmp_path.iterdir()] == ["a"]


@pytest.mark.parametrize("links", [True, False], ids=["hard links", "none"])
def test_a_file_that_appears_in_the_meantime_is_not_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, links: bool
) -> None:
    path, real = tmp_path / "a", module._place_new

    def refused(*_: object, **__: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    def late(folder: int, temporary: str, file: str) -> None:
        path.write_text("mine")
        real(folder, temporary, file)

    if not links:
        monkeypatch.setattr(os, "link", refused)
        write_file(tmp_path / "b", ONE)
        assert (tmp_path / "b").read_text() == ONE
    monkeypatch.setattr(module, "_place_new", late)
    with pytest.raises(InputError, match="a: cannot be written"):
        write_file(path, ONE)
    assert path.read_text() == "mine"
    assert not list(tmp_path.glob(".partage-*"))


def test_a_file_with_two_names_is_replaced_under_one(tmp_path: Path) -> None:
    write_file(tmp_path / "a", ONE)
    (tmp_path / "b").hardlink_to(tmp_path / "a")
    write_file(tmp_path / "a", TWO)
    assert ((tmp_path / "a").read_text(), (tmp_path / "b").read_text()) == (TWO, ONE)


# ---------------------------------------------------------------- append, remove, keep


def test_append(tmp_path: Path) -> None:
    for _ in range(2):
        with open_to_append(tmp_path / "a", root=tmp_path) as file:
            file.write(b"x")
    assert (tmp_path / "a").read_bytes() == b"xx"
    (tmp_path / "b").hardlink_to(tmp_path / "a")
    with pytest.raises(InputError, match=r"a: has another name \(a hard link\)"):
        open_to_append(tmp_path / "a", root=tmp_path)


def test_remove(tmp_path: Path) -> None:
    remove_file(tmp_path / "a", root=tmp_path)
    write_file(tmp_path / "a", ONE)
    remove_file(tmp_path / "a", root=tmp_path)
    (tmp_path / "a").write_text("mine")
    with pytest.raises(InputError, match="partage did not write it"):
        remove_file(tmp_path / "a", root=tmp_path)
    assert (tmp_path / "a").read_text() == "mine"


def test_move_file(tmp_path: Path) -> None:
    (tmp_path / "new").mkdir()
    place, made = tmp_path / "table.parquet", tmp_path / "new" / "part-0"
    for content, mode in (("first", 0o640), ("second", 0o600)):
        made.write_text(content)
        made.chmod(mode)
        move_file(made, place, root=tmp_path)
        assert place.read_text() == content
        assert place.stat().st_mode & 0o777 == 0o640, "that of the file before"
        assert not made.exists()
    with pytest.raises(InputError, match="cannot be written"):
        move_file(made, place, root=tmp_path)
    assert place.read_text() == "second"


def test_keep_previous(tmp_path: Path) -> None:
    log, older = tmp_path / "a.log", tmp_path / "a.log.1"
    keep_previous(log, root=tmp_path)
    for text in ("one", "two"):
        log.write_text(text)
        keep_previous(log, root=tmp_path)
        assert (log.exists(), older.read_text()) == (False, text)
    log.write_text("three")
    older.unlink()
    older.symlink_to("mine")
    with pytest.raises(InputError, match=r"a\.log\.1: is a symbolic link"):
        keep_previous(log, root=tmp_path)
