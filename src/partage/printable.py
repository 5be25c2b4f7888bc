"""Text from outside, made visible and harmless before it is shown.

A name may hold characters that do something instead of being seen: escape sequences that a terminal
obeys (OSC 52 fills its clipboard), line ends that forge a line, bidirectional overrides that show
another order of letters than there is, characters of no width that make two names look the same,
NUL and half surrogate pairs, which XML and UTF-8 lack. ``printable`` writes each as an escape
sequence in ASCII: ``\\x1b``, ``\\u202e``. Every way out uses it: terminal, errors, HTML, SVG, JSON.

The set is fixed here, not taken from Python's Unicode tables, so that the same input gives the same
output under every version of Python. Spaces of any width stay: they are seen as spaces.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, TypeGuard

UNPRINTABLE = (
    "\x00-\x1f\x7f-\x9f"  # control characters, C0 and C1
    "\u2028\u2029"  # line and paragraph separators
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"  # bidirectional controls
    "\u00ad\u0600-\u0605\u06dd\u070f\u0890\u0891\u08e2\u200b-\u200d\u2060-\u2065\u206a-\u206f"
    "\ufeff\ufff0-\ufffb\U000110bd\U000110cd\U00013430-\U0001345f\U0001bca0-\U0001bca3"
    "\U0001d173-\U0001d17a\U000e0000-\U000e00ff"  # other format characters
    "\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\ufe00-\ufe0f\uffa0"
    "\U000e0100-\U000e0fff"  # letters and marks without a form
    "\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff"  # halves of surrogate pairs; not characters
)
"""The characters that are not shown as they are: the inside of a class of a regular expression."""

_UNPRINTABLE = re.compile(f"[{UNPRINTABLE}]")
_ASCII_CONTROLS = bytes(c for c in (*range(32), 127) if c != ord("\n"))
_NOT_LINE_ENDS = f"(?!\n)[{UNPRINTABLE}]"


def is_printable(value: Any) -> TypeGuard[str]:
    """Whether a value is text in which every character is visible and harmless."""
    return type(value) is str and not _UNPRINTABLE.search(value)


def printable(text: str, *, lines: bool = False) -> str:
    """The text with escape sequences for what is not visible, or not harmless. ``lines``: keep line
    ends."""
    if text.isascii() and text.isprintable():
        return text
    return re.sub(_NOT_LINE_ENDS if lines else _UNPRINTABLE, _escape, text)


def printable_json(text: str) -> str:
    """JSON text of the same value without such characters: in JSON they only occur in strings,
    which have escape sequences for them. Line ends are kept."""
    if text.isascii():
        data = text.encode("ascii")
        if len(data.translate(None, _ASCII_CONTROLS)) == len(data):
            return text
    return re.sub(_NOT_LINE_ENDS, _json_escape, text)


def printable_values(value: Any) -> Any:
    """A value of JSON with all its texts, keys included, printable."""
    if isinstance(value, str):
        return printable(value)
    if isinstance(value, Mapping):
        return {printable_values(key): printable_values(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [printable_values(part) for part in value]
    return value


def _escape(match: re.Match[str]) -> str:
    return match[0].encode("unicode_escape").decode()


def _json_escape(match: re.Match[str]) -> str:
    pairs = match[0].encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{pairs[at : at + 2].hex()}" for at in range(0, len(pairs), 2))
