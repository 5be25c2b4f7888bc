"""Files are read with one clear line when bad, and written whole or not at all."""

from __future__ import annotations

import gzip
import os
import subprocess
import sys
from pathlib import Path

import pytest

from partage import InputError, files
from partage.files import (
    check_writable_directory,
    check_writable_picture,
    new_directory,
    parse_json,
    read_text,
    to_json,
    write_directory,
    write_text,
)

# ---------------------------------------------------------------- reading


def test_read_text(tmp_path: Path) -> None:
    path = tmp_path / "a"
    for content, text in (
        (b"", ""),
        ("é\r\n".encode(), "é\r\n"),
        (b"\xef\xbb\xbfx", "x"),
        (gzip.compress("é".encode()), "é"),
        (gzip.compress(b"a") + gzip.compress(b"b"), "ab"),
    ):
        path.write_bytes(content)
        assert read_text(path) == read_text(os.fspath(path)) == text


def test_a_file_that_is_too_large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "MAX_BYTES", 1000)
    path = tmp_path / "a"
    for content in (b"x" * 1000, gzip.compress(b"x" * 1000)):
        path.write_bytes(content)
        assert read_text(path) == "x" * 1000
    path.write_bytes(b"x" * 1001)
    with pytest.raises(InputError, match=r"a: has more than 1,000 bytes"):
        read_text(path)
    path.write_bytes(gzip.compress(b"x" * 1001))
    with pytest.raises(InputError, match=r"a: unpacks to more than 1,000 bytes"):
        read_text(path)


@pytest.mark.long
def test_a_small_file_that_unpacks_to_six_gigabytes(tmp_path: Path) -> None:
    """It is refused before it takes the memory."""
    with gzip.open(tmp_path / "a.gz", "wb", compresslevel=1) as packed:
        for _ in range(600):
            packed.write(bytes(10**7))
    code = f"""
import resource
resource.setrlimit(resource.RLIMIT_AS, (4 * 10**9, 4 * 10**9))
from partage.files import read_text
read_text({str(tmp_path / "a.gz")!r})
"""
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "InputError" in ended.stderr.splitlines()[-1]
    assert ended.stderr.endswith("unpacks to more than 1,000,000,000 bytes\n")


def test_a_name_that_ends_in_gz_must_be_gzip(tmp_path: Path) -> None:
    (tmp_path / "a.gz").write_bytes(b"plain")
    with pytest.raises(InputError, match=r"a\.gz: broken gzip"):
        read_text(tmp_path / "a.gz")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"x")
    (tmp_path / "a").chmod(0)
    with pytest.raises(InputError, match="Permission denied"):
        read_text(tmp_path / "a")


# ---------------------------------------------------------------- JSON


def test_parse_json() -> None:
    assert parse_json(' {"a": [1, 2.5, null, true, "\\u00e9"]} ', "x") == {
        "a": [1, 2.5, None, True, "é"]
    }
    # a whole pair is a character, and behind two backslashes nothing is escaped
    assert parse_json('["\\ud83d\\uDE00", "\\\\ud800"]', "x") == ["\U0001f600", "\\ud800"]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("", "x: line 1 column 1: not valid JSON (Expecting value)"),
        ("{\n,", "x: line 2 column 1: not valid JSON"),
        ("[1 2]", "x: line 1 column 4: not valid JSON"),
        ("NaN", "x: NaN is not a JSON number"),
        ("[Infinity]", "x: Infinity is not a JSON number"),
        ("[-Infinity]", "x: -Infinity is not a JSON number"),
        ("[" * 100_000, "x: not valid JSON (nested too deep"),
        ("9" * 5000, "x: not valid JSON (nested too deep, or a number too long)"),
        ('"\n"', "x: line 1 column 2: not valid JSON"),
        ('["a", "\\ud800"]', "x: \\ud800 is half of a surrogate pair, not a character"),
        ('{"\\uDFFF": 1}', "x: \\udfff is half of a surrogate pair, not a character"),
        ('"\\udc00\\ud800"', "x: \\udc00 is half of a surrogate pair, not a character"),
    ],
    ids=lambda text: text[:12],
)
def test_parse_json_of_what_is_refused(text: str, line: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_json(text, "x")
    assert str(caught.value).startswith(line)
    assert "\n" not in str(caught.value)


def test_to_json() -> None:
    value = {"b": 1, "a": [True, None, 1.5, "é"]}
    assert to_json(value) == '{"b":1,"a":[true,null,1.5,"é"]}\n'
    assert to_json(value, indent=1).count("\n") > 4
    assert parse_json(to_json(value), "x") == value
    for bad in (float("nan"), [float("inf")]):
        with pytest.raises(ValueError, match="not JSON compliant"):
            to_json(bad)


# ---------------------------------------------------------------- one file


def test_write_text(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    for text in ("one", "two é\n"):
        write_text(path, text)
        assert path.read_text(encoding="utf-8") == text
    assert path.stat().st_mode & 0o777 == 0o644
    assert [p.name for p in tmp_path.iterdir()] == ["a.json"]


@pytest.mark.parametrize("name", ["none/a", "file/a", "folder", "a" * 300, "a\0b"])
def test_write_text_where_it_cannot_be(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").write_text("x")
    (tmp_path / "folder").mkdir()
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(InputError, match="cannot be written"):
        write_text(tmp_path / name, "x")
    assert sorted(tmp_path.rglob("*")) == before


def test_write_text_that_fails_half_way(tmp_path: Path) -> None:
    write_text(tmp_path / "a", "old")
    with pytest.raises(InputError, match=r"a: cannot be written \(.*surrogates not allowed"):
        write_text(tmp_path / "a", "new" * 10_000 + "\ud800")
    assert (tmp_path / "a").read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["a"]


# ---------------------------------------------------------------- directories


OURS = '{"format_version": 1, "partage": "0.1"}'


def names(folder: Path) -> list[str]:
    return sorted(p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file())


def test_write_directory(tmp_path: Path) -> None:
    target = tmp_path / "a/b/c"
    write_directory(target, {"mark": OURS, "x": "é", "in/y": "3"}, "mark")
    assert names(tmp_path) == ["a/b/c/in/y", "a/b/c/mark", "a/b/c/x"]
    write_directory(target, {"mark": f"{OURS} "}, "mark")
    assert names(tmp_path) == ["a/b/c/mark"]
    assert (target / "mark").read_text() == f"{OURS} "
    assert target.stat().st_mode & 0o777 == 0o755


def test_a_failure_leaves_nothing(tmp_path: Path) -> None:
    def fail() -> None:
        with new_directory(tmp_path / "a", "mark") as folder:
            (folder / "mark").write_text("x")
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert list(tmp_path.iterdir()) == []


def test_a_failure_keeps_the_older_file(tmp_path: Path) -> None:
    write_directory(tmp_path / "a", {"mark": OURS, "x": "old"}, "mark")

    def interrupt() -> None:
        with new_directory(tmp_path / "a", "mark") as folder:
            (folder / "mark").write_text("new")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupt()
    with pytest.raises(InputError, match=r"a: cannot be written \(.*surrogates not allowed"):
        write_directory(tmp_path / "a", {"mark": "new", "x": "\ud800"}, "mark")
    assert names(tmp_path) == ["a/mark", "a/x"]
    assert (tmp_path / "a/mark").read_text() == OURS


def test_interrupted_between_the_two_renames(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_directory(tmp_path / "a", {"mark": OURS, "x": "old"}, "mark")
    replace = Path.replace

    def interrupted(source: Path, target: Path) -> Path:
        moved = replace(source, target)
        if target.name == "old":
            monkeypatch.undo()
            raise KeyboardInterrupt
        return moved

    monkeypatch.setattr(Path, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_directory(tmp_path / "a", {"mark": OURS}, "mark")
    assert names(tmp_path) == ["a/mark", "a/x"]


def test_other_files_in_it_are_never_deleted(tmp_path: Path) -> None:
    write_directory(tmp_path / "a", {"mark": OURS, "x1": "old"}, "mark")
    write_directory(tmp_path / "a", {"mark": OURS, "y": "new"}, "mark", ["x?", "y"])
    (tmp_path / "a/notes.txt").write_text("mine")
    with pytest.raises(InputError, match=r"a: contains notes.txt, which partage did not write"):
        check_writable_directory(tmp_path / "a", "mark", names=["x?", "y"])
    with pytest.raises(InputError, match=r"a: contains notes.txt, which partage did not write"):
        write_directory(tmp_path / "a", {"mark": OURS}, "mark", ["x?", "y"])
    assert names(tmp_path) == ["a/mark", "a/notes.txt", "a/y"]


def test_a_file_of_the_markers_name_that_is_not_ours(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a/mark").write_text('{"my": 1}')
    with pytest.raises(InputError, match=r"did not write \(no mark written by partage\)"):
        write_directory(tmp_path / "a", {"mark": OURS}, "mark")
    assert (tmp_path / "a/mark").read_text() == '{"my": 1}'


def test_the_current_directory_is_not_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a").mkdir()
    monkeypatch.chdir(tmp_path / "a")
    for name in (".", "../a", ".."):
        with pytest.raises(InputError, match=r"is the current directory|did not write"):
            write_directory(name, {"mark": OURS}, "mark")
    write_directory("b", {"mark": OURS}, "mark")
    assert names(tmp_path) == ["a/b/mark"]


def test_a_picture_replaces_a_picture_only(tmp_path: Path) -> None:
    picture, other = tmp_path / "a.svg", tmp_path / "b.svg"
    check_writable_picture(picture)
    picture.write_text("<svg></svg>")
    check_writable_picture(picture)
    other.write_text("{}")
    with pytest.raises(InputError, match=r"b.svg: exists and is not an SVG"):
        check_writable_picture(other)
    with pytest.raises(InputError, match="no such directory"):
        check_writable_picture(tmp_path / "none/a.svg")
    with pytest.raises(InputError, match="picture: the name of the file is empty"):
        check_writable_picture("")


def test_a_directory_without_its_marker_is_a_mistake_of_ours(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="mark was not written"):
        write_directory(tmp_path / "a", {"x": "1"}, "mark")
    assert list(tmp_path.iterdir()) == []


def test_other_peoples_files_are_never_touched(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    write_directory(tmp_path / "a", {"mark": "1"}, "mark")  # empty: taken
    (tmp_path / "b").mkdir()
    (tmp_path / "b/.hidden").write_text("mine")
    (tmp_path / "c").write_text("mine")
    (tmp_path / "d/mark").mkdir(parents=True)  # a folder of that name is no marker
    for name in ("b", "c", "d"):
        with pytest.raises(InputError):
            check_writable_directory(tmp_path / name, "mark")
        with pytest.raises(InputError):
            write_directory(tmp_path / name, {"mark": "1"}, "mark")
    assert (tmp_path / "b/.hidden").read_text() == (tmp_path / "c").read_text() == "mine"


@pytest.mark.parametrize("name", ["file/x", "file/x/y", "a" * 300, "a\0b", "loop/x"])
def test_where_no_directory_can_be(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").write_text("x")
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(InputError):
        write_directory(tmp_path / name, {"mark": ""}, "mark")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["file", "loop"]


def test_a_directory_named_through_its_parent(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    write_directory(tmp_path / "a/../b", {"mark": "1"}, "mark")
    assert names(tmp_path) == ["b/mark"]
