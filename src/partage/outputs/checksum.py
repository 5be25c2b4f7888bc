"""The checksum in a text file, by which partage recognises a file that it wrote.

The end of the file contains ``partage sha256`` and 64 hexadecimal digits: the SHA-256 of the file
with zeros in their place. JSON has it as its last key, HTML and SVG in a comment.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Mapping
from typing import Any, Literal

from partage.files import to_json

_LABEL = "partage sha256 "
_ZEROS = "0" * 64

CHECKSUM = _LABEL + _ZEROS
"""What a text contains near its end, for ``with_checksum`` to fill in."""

_END_BYTES = 160
_DIGITS = re.compile(rf"{_LABEL}([0-9a-f]{{64}})".encode())

Verdict = Literal["ours", "changed", "foreign"]


def with_checksum(text: str) -> str:
    """The text with its checksum in place of the zeros of its last ``CHECKSUM``."""
    head, blank, tail = text.rpartition(CHECKSUM)
    if not blank or len((blank + tail).encode(errors="surrogatepass")) > _END_BYTES:
        raise AssertionError("the text has no place for a checksum at its end")
    digits = hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()
    return f"{head}{_LABEL}{digits}{tail}"


def markup_with_checksum(text: str) -> str:
    """HTML or SVG with its checksum in a comment at the end."""
    return with_checksum(f"{text.rstrip()}\n<!-- checksum: {CHECKSUM} -->\n")


def lines_with_checksum(text: str) -> str:
    """Properties, PEM or Java's arguments with their checksum in a comment at the end."""
    return with_checksum(f"{text.rstrip()}\n# checksum: {CHECKSUM}\n")


def json_with_checksum(value: Mapping[str, Any], *, indent: int | None = None) -> str:
    """A JSON object with its checksum as the last key, ``checksum``."""
    return with_checksum(to_json({**value, "checksum": CHECKSUM}, indent=indent))


def verdict_on(file: int) -> Verdict:
    """Whether an open file is as partage wrote it, was changed since, or is not partage's."""
    size = os.fstat(file).st_size
    start = max(0, size - _END_BYTES)
    found = list(_DIGITS.finditer(os.pread(file, _END_BYTES, start)))
    if not found:
        return "foreign"
    first, last = (start + place for place in found[-1].span(1))
    os.lseek(file, 0, os.SEEK_SET)
    with os.fdopen(os.dup(file), "rb") as opened:
        data = opened.read()
    blank = hashlib.sha256(data[:first] + _ZEROS.encode() + data[last:]).hexdigest()
    return "ours" if blank.encode() == data[first:last] else "changed"
