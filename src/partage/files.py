"""Read files with clear errors; JSON as partage reads and writes it."""

from __future__ import annotations

import gc
import json
import os
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import Any

from partage.errors import InputError, shown
from partage.printable import printable_json

MAX_BYTES = 10**9
"""Of a file, and of what a gzip file unpacks to. A cluster of a million partitions has a fifth."""

GZIP_MAGIC = b"\x1f\x8b"
_ESCAPED_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
_COMPACT = re.compile(r"[\[{]\S{20}")


def checked_path(given: object, name: str, expected: str) -> str:
    """A path that a user gave as ``name``; ``expected``: of what. Raises InputError for a value of
    another type and for an empty text."""
    if not isinstance(given, (str, os.PathLike)):
        raise InputError(name, f"expected the path of {expected}, got {type(given).__name__}")
    path = os.fsdecode(given)
    check_not_empty(path)
    return path


def path_instead_of(kind: type, given: object) -> str:
    """The path of a file, given where a value of this ``kind`` is accepted, too. Raises InputError
    for anything else."""
    name, instance = kind.__name__.lower(), f"a {kind.__name__}"
    if isinstance(given, Mapping):
        problem = f"expected {instance}, got a dict: {kind.__name__}.from_json reads it"
        raise InputError(name, problem)
    return checked_path(given, name, f"a file, or {instance}")


def check_not_empty(path: str) -> None:
    """Raise InputError for an empty path: a shell leaves it of a variable that is not set, and the
    operating system and Spark take it for the current directory."""
    if not path:
        raise InputError("path", "is empty: is a variable unset? Name a file or a directory")


def read_input(path: str) -> tuple[str, str]:
    """The text of a file, or of standard input for ``-``, and what errors call it. Raises
    InputError as ``read_text`` does."""
    return (read_text("/dev/stdin"), "standard input") if path == "-" else (read_text(path), path)


def read_text(path: str | os.PathLike[str], *, regular: bool = False) -> str:
    """The text of a UTF-8 file, decompressed if it is gzip (by content, not by name).

    ``regular``: refuse a named pipe, which would wait for a writer. Raises InputError for that, a
    missing or unreadable file, a directory, more than ``MAX_BYTES``, a broken gzip, or text that is
    not UTF-8.
    """
    if regular and Path(path).is_fifo():
        raise InputError(os.fspath(path), "is a named pipe, expected a file")
    name, raw = os.fspath(path), read_bytes(path)
    if raw.startswith(GZIP_MAGIC) or name.endswith(".gz"):
        raw = _unpacked(raw, name)
    return decoded(raw, name)


def _unpacked(raw: bytes, name: str) -> bytes:
    import gzip
    import zlib

    try:
        with gzip.GzipFile(fileobj=BytesIO(raw)) as file:
            unpacked = file.read(MAX_BYTES + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(name, f"broken gzip ({error})") from None
    if len(unpacked) > MAX_BYTES:
        raise InputError(name, f"unpacks to more than {MAX_BYTES:,} bytes")
    return unpacked


def decoded(raw: bytes, where: str) -> str:
    """UTF-8 as text. Raises InputError for anything else."""
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(where, f"byte {error.start}: not UTF-8") from None


def read_bytes(path: str | os.PathLike[str] | int) -> bytes:
    """The bytes of a file, or of one that is open. Raises InputError for a missing or unreadable
    file, a directory, or more than ``MAX_BYTES``."""
    name = str(path) if isinstance(path, int) else os.fspath(path)
    try:
        with open(path, "rb", closefd=not isinstance(path, int)) as file:
            raw = file.read(MAX_BYTES + 1)
    except FileNotFoundError:
        check_not_empty(name)
        raise InputError(name, "no such file") from None
    except IsADirectoryError:
        raise InputError(name, "is a directory, expected a file") from None
    except (OSError, ValueError) as error:
        raise InputError(name, f"cannot be read ({_reason(error)})") from None
    if len(raw) > MAX_BYTES:
        raise InputError(name, f"has more than {MAX_BYTES:,} bytes")
    return raw


def parse_json(text: str, where: str) -> Any:
    """JSON as Python values. Raises InputError also for NaN and Infinity (RFC 8259), for a key that
    an object has twice, and for half of a surrogate pair, which a UTF-8 file cannot hold."""

    def refuse_constant(token: str) -> Any:
        raise InputError(where, f"{token} is not a JSON number")

    def object_of(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            twice = Counter(key for key, _ in pairs).most_common(1)[0][0]
            raise InputError(where, f"key {shown(twice)} is given twice in {shown(found)}")
        return found

    try:
        with uncollected():
            if _COMPACT.match(text) and (found := _compact(text)):
                return found[0]
            value = json.loads(text, parse_constant=refuse_constant, object_pairs_hook=object_of)
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


def _compact(text: str) -> list[Any]:
    """The value that has this text as its compact JSON, by a faster parser; empty where other
    values may have it. Of a key that is given twice, for one, only the last value is written
    again."""
    import msgspec

    try:
        value = msgspec.json.decode(text)
        same = msgspec.json.encode(value) == text.removesuffix("\n").encode()
    except (msgspec.MsgspecError, RecursionError, ValueError):
        return []
    return [value] if same else []


@contextmanager
def uncollected() -> Iterator[None]:
    """Without garbage collection: it would look through millions of new lists time and again, and
    values of JSON contain no cycles."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def to_json(value: Any, *, indent: int | None = None) -> str:
    """JSON text with a final newline, the same for the same value; refuses NaN. In ASCII but for
    letters: a terminal that shows the file obeys nothing in it."""
    separators = (",", ":") if indent is None else None
    text = json.dumps(
        value, indent=indent, separators=separators, allow_nan=False, ensure_ascii=False
    )
    return printable_json(text) + "\n"


def _reason(error: Exception) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)
