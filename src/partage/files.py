"""Files at the edge: read with one clear line when bad, written whole or not at all.

A single file is written beside its final place and renamed over it. A directory is filled under a
temporary name, then takes the place of the one before by two renames; what was there is deleted
only after the new one stands. A directory that partage did not write is never touched: every one
that it writes has a *marker* file of its own (``plan.json``, ``profile.json``). Whoever asks so is
refused where such a directory stands already (``overwrite=False``), or where something else has
been put into it (``names``).
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
from pathlib import Path
from typing import Any, TypeGuard

from partage.errors import InputError

_GZIP_MAGIC = b"\x1f\x8b"
_ESCAPED_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_HEAD_BYTES = 1000
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")


def read_text(path: str | os.PathLike[str]) -> str:
    """The text of a UTF-8 file, unpacked when it is gzip (by content, not by name).

    Raises InputError for what is missing, a directory, unreadable, a broken gzip or not UTF-8.
    """
    name = os.fspath(path)
    try:
        raw = Path(path).read_bytes()
    except FileNotFoundError:
        raise InputError(name, "no such file") from None
    except IsADirectoryError:
        raise InputError(name, "is a directory, expected a file") from None
    except (OSError, ValueError) as error:
        raise InputError(name, f"cannot be read ({_reason(error)})") from None
    if raw.startswith(_GZIP_MAGIC) or name.endswith(".gz"):
        try:
            raw = gzip.decompress(raw)
        except (OSError, EOFError, zlib.error) as error:
            raise InputError(name, f"broken gzip ({error})") from None
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(name, f"byte {error.start}: not UTF-8") from None


def parse_json(text: str, where: str) -> Any:
    """JSON as Python values; NaN and Infinity are refused, as RFC 8259 asks, and so is half of a
    surrogate pair, which no UTF-8 file can hold."""

    def refuse_constant(token: str) -> Any:
        raise InputError(where, f"{token} is not a JSON number")

    try:
        value = json.loads(text, parse_constant=refuse_constant)
        # halves come out of escapes alone, and those are rare: most texts need no second look
        if _ESCAPED_SURROGATE.search(text):
            json.dumps(value, ensure_ascii=False).encode()
    except json.JSONDecodeError as error:
        place = f"line {error.lineno} column {error.colno}"
        raise InputError(where, f"{place}: not valid JSON ({error.msg})") from None
    except UnicodeEncodeError as error:
        half = f"\\u{ord(error.object[error.start]):04x}"
        raise InputError(where, f"{half} is half of a surrogate pair, no character") from None
    except (RecursionError, ValueError):
        raise InputError(where, "not valid JSON (nested too deep, or a number too long)") from None
    return value


def is_name(value: Any) -> TypeGuard[str]:
    """Whether it is text that can stand in a line: without control characters, which would drive
    the terminal that shows it."""
    return type(value) is str and not _CONTROL.search(value)


def to_json(value: Any, *, indent: int | None = None) -> str:
    """JSON text with a final newline, the same for the same value; refuses NaN."""
    separators = (",", ":") if indent is None else None
    return (
        json.dumps(value, indent=indent, separators=separators, allow_nan=False, ensure_ascii=False)
        + "\n"
    )


def write_text(path: str | os.PathLike[str], text: str, *, private: bool = False) -> None:
    """Write one file whole or not at all (temporary file beside it, then rename); ``private``: for
    its owner's eyes only."""
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
    """Say now, before anything else is written, that an SVG cannot be written there: a file that is
    there already and is no SVG is none that partage drew."""
    target, name = Path(path), os.fspath(path)
    if not name:
        raise InputError("--picture", "the name of the file is empty")
    try:
        if target.exists() and not _head(target).lstrip().startswith(b"<svg"):
            raise InputError(name, "is there already, and no SVG: name another file")
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
    """Say now, before long work, that ``new_directory`` would refuse this path. ``names``: all that
    partage may have there, if that is known."""
    name = os.fspath(path)
    if not name:
        raise InputError("output", "the name of the directory is empty")
    if _URL.match(name):
        raise InputError(name, "is no directory of this machine: write one here and copy it there")
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
                f"holds files that partage did not write (no {marker} of its own): "
                "name another directory",
            )
        if ours and not overwrite:
            raise InputError(name, "is there already: --overwrite replaces it")
        known = ("*",) if names is None else (marker, *names)
        for entry in entries:
            if not any(fnmatchcase(entry, pattern) for pattern in known):
                raise InputError(
                    name, f"holds {entry}, which partage did not write: name another directory"
                )
        if Path.cwd().is_relative_to(target.resolve()):
            raise InputError(name, "is the current directory: name one in it, or another")
    elif target.exists():
        raise InputError(name, "is a file, expected a directory to write")
    parent = target.absolute().parent
    while not parent.exists():
        parent = parent.parent
    if not parent.is_dir() or not os.access(parent, os.W_OK):
        raise InputError(name, f"cannot be written ({parent} is not a writable directory)")


def _is_ours(marker: Path) -> bool:
    """Whether partage wrote it: its version is among the first things that such a file says."""
    return marker.is_file() and b'"partage"' in _head(marker)


def _head(path: Path) -> bytes:
    """How a file begins: enough to know what it is, however large it is."""
    with path.open("rb") as file:
        return file.read(_HEAD_BYTES)


@contextmanager
def new_directory(
    path: str | os.PathLike[str],
    marker: str,
    overwrite: bool = True,
    names: Collection[str] | None = None,
) -> Iterator[Path]:
    """A temporary directory to fill; on a clean exit it becomes ``path``, on any other it is gone.

    ``marker`` is the file by which partage knows a directory as its own and may replace it, unless
    ``overwrite`` is False; with ``names``, only if there is nothing else in it than these patterns.
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
        # again, since filling it took its time: somebody else may have been faster
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
    """``new`` takes the place of ``target``, which stays where it was if that fails."""
    try:
        target.replace(aside / "old")
        new.replace(target)
    except BaseException:  # Ctrl-C between the two, too
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
    """Write a directory of text files (names may hold one folder) whole or not at all; ``names`` as
    ``new_directory``."""
    with new_directory(path, marker, names=names) as temporary:
        for name, text in contents.items():
            (temporary / name).parent.mkdir(parents=True, exist_ok=True)
            (temporary / name).write_text(text, encoding="utf-8")
