"""Read files with clear errors; write files and directories completely or not at all.

A single file is written next to its final place and renamed. A directory is filled under a
temporary name and then replaces the previous one by two renames; the previous one is deleted last.
A directory that partage did not write is never changed: each directory that it writes contains a
*marker* file (``plan.json``, ``profile.json``). Optionally, an existing directory is an error
(``overwrite=False``), and so are unexpected files in it (``names``).
"""

from __future__ import annotations

import gzip
import json
import os
import re
import shutil
import tempfile
import zlib
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from fnmatch import fnmatchcase
from io import BytesIO
from pathlib import Path
from typing import Any

from partage.errors import InputError
from partage.printable import printable_json

MAX_BYTES = 10**9
"""Of a file, and of what a gzip file unpacks to. A cluster of a million partitions has a fifth."""

_GZIP_MAGIC = b"\x1f\x8b"
_ESCAPED_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
_HEAD_BYTES = 1000
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")


def read_text(path: str | os.PathLike[str]) -> str:
    """The text of a UTF-8 file, decompressed if it is gzip (by content, not by name).

    Raises InputError for a missing or unreadable file, a directory, more than ``MAX_BYTES``, a
    broken gzip, or text that is not UTF-8.
    """
    name, raw = os.fspath(path), read_bytes(path)
    if raw.startswith(_GZIP_MAGIC) or name.endswith(".gz"):
        try:
            with gzip.GzipFile(fileobj=BytesIO(raw)) as unpacked:
                raw = unpacked.read(MAX_BYTES + 1)
        except (OSError, EOFError, zlib.error) as error:
            raise InputError(name, f"broken gzip ({error})") from None
        if len(raw) > MAX_BYTES:
            raise InputError(name, f"unpacks to more than {MAX_BYTES:,} bytes")
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(name, f"byte {error.start}: not UTF-8") from None


def read_bytes(path: str | os.PathLike[str]) -> bytes:
    """The bytes of a file. Raises InputError for a missing or unreadable file, a directory, or more
    than ``MAX_BYTES``."""
    name = os.fspath(path)
    try:
        with Path(path).open("rb") as file:
            raw = file.read(MAX_BYTES + 1)
    except FileNotFoundError:
        raise InputError(name, "no such file") from None
    except IsADirectoryError:
        raise InputError(name, "is a directory, expected a file") from None
    except (OSError, ValueError) as error:
        raise InputError(name, f"cannot be read ({_reason(error)})") from None
    if len(raw) > MAX_BYTES:
        raise InputError(name, f"has more than {MAX_BYTES:,} bytes")
    return raw


def parse_json(text: str, where: str) -> Any:
    """JSON as Python values. Raises InputError also for NaN and Infinity (RFC 8259), and for half
    of a surrogate pair, which a UTF-8 file cannot hold."""

    def refuse_constant(token: str) -> Any:
        raise InputError(where, f"{token} is not a JSON number")

    try:
        value = json.loads(text, parse_constant=refuse_constant)
        # only escapes can yield half of a pair; they are rare, so most texts need no second pass
        if _ESCAPED_SURROGATE.search(text):
            json.dumps(value, ensure_ascii=False).encode()
    except json.JSONDecodeError as error:
        place = f"line {error.lineno} column {error.colno}"
        raise InputError(where, f"{place}: not valid JSON ({error.msg})") from None
    except UnicodeEncodeError as error:
        half = f"\\u{ord(error.object[error.start]):04x}"
        raise InputError(where, f"{half} is half of a surrogate pair, not a character") from None
    except (RecursionError, ValueError):
        raise InputError(where, "not valid JSON (nested too deep, or a number too long)") from None
    return value


def to_json(value: Any, *, indent: int | None = None) -> str:
    """JSON text with a final newline, the same for the same value; refuses NaN. In ASCII but for
    letters: a terminal that shows the file obeys nothing in it."""
    separators = (",", ":") if indent is None else None
    text = json.dumps(
        value, indent=indent, separators=separators, allow_nan=False, ensure_ascii=False
    )
    return printable_json(text) + "\n"


def write_text(path: str | os.PathLike[str], text: str, *, private: bool = False) -> None:
    """Write one file completely or not at all; ``private``: readable by the owner only."""
    target, name = Path(path), os.fspath(path)
    try:
        handle, temporary = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    except (OSError, ValueError) as error:
        raise InputError(name, f"cannot be written ({_reason(error)})") from None
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as out:
            out.write(text)
        Path(temporary).chmod(0o600 if private else 0o644)
        Path(temporary).replace(target)
    except (OSError, UnicodeEncodeError) as error:
        raise InputError(name, f"cannot be written ({_reason(error)})") from None
    finally:
        Path(temporary).unlink(missing_ok=True)


def check_writable_picture(path: str | os.PathLike[str]) -> None:
    """Raise InputError early if an SVG cannot be written there. An existing file that is not an SVG
    is not overwritten."""
    target, name = Path(path), os.fspath(path)
    if not name:
        raise InputError("picture", "the name of the file is empty")
    try:
        if target.exists() and not _head(target).lstrip().startswith(b"<svg"):
            raise InputError(name, "exists and is not an SVG: choose another file")
        if not os.access(target.absolute().parent, os.W_OK):
            raise InputError(name, "cannot be written (no such directory, or not writable)")
    except (OSError, ValueError) as error:
        raise InputError(name, f"cannot be written ({_reason(error)})") from None


def check_writable_directory(
    path: str | os.PathLike[str],
    marker: str,
    overwrite: bool = True,
    names: Collection[str] | None = None,
) -> None:
    """Raise InputError early, before long work, if ``new_directory`` would. ``names``: patterns of
    the files that partage writes there; None: any."""
    name = os.fspath(path)
    if not name:
        raise InputError("output", "the name of the directory is empty")
    if _URL.match(name):
        raise InputError(name, "is not a local directory: write a local one and copy it")
    try:
        _refuse_others_files(Path(path), name, marker, overwrite, names)
    except (OSError, ValueError) as error:
        raise InputError(name, f"cannot be written ({_reason(error)})") from None


def _refuse_others_files(
    target: Path, name: str, marker: str, overwrite: bool, names: Collection[str] | None
) -> None:
    if target.is_dir():
        entries = sorted(entry.name for entry in target.iterdir())
        ours = _is_ours(target / marker)
        if entries and not ours:
            raise InputError(
                name,
                f"contains files that partage did not write (no {marker} written by partage): "
                "choose another directory",
            )
        if ours and not overwrite:
            raise InputError(name, "already exists: `overwrite` replaces it")
        known = ("*",) if names is None else (marker, *names)
        for entry in entries:
            if not any(fnmatchcase(entry, pattern) for pattern in known):
                raise InputError(
                    name, f"contains {entry}, which partage did not write: choose another directory"
                )
        if Path.cwd().is_relative_to(target.resolve()):
            raise InputError(name, "is the current directory: choose one in it, or another")
    elif target.exists():
        raise InputError(name, "is a file, expected a directory to write")
    parent = target.absolute().parent
    while not parent.exists():
        parent = parent.parent
    if not parent.is_dir() or not os.access(parent, os.W_OK):
        raise InputError(name, f"cannot be written ({parent} is not a writable directory)")


def _is_ours(marker: Path) -> bool:
    """Whether partage wrote it: its version is near the start of such a file."""
    return marker.is_file() and b'"partage"' in _head(marker)


def _head(path: Path) -> bytes:
    """The first bytes of a file, enough to recognise it."""
    with path.open("rb") as file:
        return file.read(_HEAD_BYTES)


@contextmanager
def new_directory(
    path: str | os.PathLike[str],
    marker: str,
    overwrite: bool = True,
    names: Collection[str] | None = None,
) -> Iterator[Path]:
    """A temporary directory to fill; it becomes ``path`` on success and is removed otherwise.

    ``marker``: the file by which partage recognises a directory that it wrote and may replace,
    unless ``overwrite`` is False; with ``names``, only if all files in it match these patterns.
    """
    name = os.fspath(path)
    check_writable_directory(path, marker, overwrite, names)
    try:
        target = Path(path).resolve()
        target.parent.mkdir(parents=True, exist_ok=True)
        temporary = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
    except (OSError, RuntimeError, ValueError) as error:
        raise InputError(name, f"cannot be written ({_reason(error)})") from None
    try:
        yield temporary
        temporary.chmod(0o755)
        if not (temporary / marker).is_file():
            raise AssertionError(f"{marker} was not written")
        # check again: another process may have written it in the meantime
        _refuse_others_files(target, name, marker, overwrite, names)
        if target.exists():
            aside = Path(tempfile.mkdtemp(prefix=f".{target.name}.old.", dir=target.parent))
            _exchange(target, temporary, aside)
        else:
            temporary.replace(target)
    except (OSError, UnicodeEncodeError) as error:
        raise InputError(name, f"cannot be written ({_reason(error)})") from None
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _exchange(target: Path, new: Path, aside: Path) -> None:
    """Replace ``target`` by ``new``; if that fails, ``target`` stays."""
    try:
        target.replace(aside / "old")
        new.replace(target)
    except BaseException:  # also Ctrl-C between the two renames
        if not target.exists():
            (aside / "old").replace(target)
        with suppress(OSError):
            aside.rmdir()
        raise
    shutil.rmtree(aside, ignore_errors=True)


def _reason(error: Exception) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


def write_directory(
    path: str | os.PathLike[str],
    contents: Mapping[str, str],
    marker: str,
    names: Collection[str] | None = None,
) -> None:
    """Write a directory of text files (names may contain one folder) completely or not at all;
    ``names`` as for ``new_directory``."""
    with new_directory(path, marker, names=names) as temporary:
        for name, text in contents.items():
            (temporary / name).parent.mkdir(parents=True, exist_ok=True)
            (temporary / name).write_text(text, encoding="utf-8")
