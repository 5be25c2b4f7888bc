"""Match names with a user's regular expression in a bounded number of steps.

Python's ``re`` backtracks: ``(a|aa)+b`` takes it longer than anyone waits. So RE2 matches, in time
that is linear in the name. A few things RE2 lacks or reads in another way, look-ahead above all
(``(?!__).*``). Such a pattern stays with ``re``, but only with so few choices that all ways through
a name can be tried.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterable

_FLAGS = {re.ASCII: "a", re.IGNORECASE: "i", re.MULTILINE: "m", re.DOTALL: "s", re.VERBOSE: "x"}
_READ_OTHERWISE = re.compile(r"\{,|\{\d*,?\d{4}")
"""Repetitions that are text to RE2."""

_OPENING = re.compile(r"\(\?(?:P<\w+>|<?[=!]|[:>])|\((?!\?)")
_UNLIMITED, _OTHER = re.compile(r"[*+{]"), re.compile(r"[|?]")
_REPEATED_GROUP = re.compile(r"\)[*+{]")
_MOST_UNLIMITED, _MOST_OTHER = 2, 4
"""Choices of a pattern for ``re``: at most 249² × 2⁴ ways through a topic's name."""


def compile_pattern(given: str | re.Pattern[str]) -> re.Pattern[str]:
    """A regular expression of Python's syntax, its flags in the text. Raises ValueError for others,
    and for one that could take too long."""
    try:
        with warnings.catch_warnings(action="ignore"):  # a later Python may read it otherwise
            found = re.compile(given)
            flags = "".join(letter for flag, letter in _FLAGS.items() if found.flags & flag)
            if isinstance(given, re.Pattern) and flags:
                found = re.compile(f"(?{flags}){found.pattern}")
    except (re.error, RecursionError, OverflowError, MemoryError) as error:
        raise ValueError(f"is not a regular expression ({error})") from None
    matcher(found)
    return found


def matcher(pattern: re.Pattern[str]) -> Callable[[str], bool]:
    """Whether a whole name matches, as a function. Raises ValueError if that could take too
    long."""
    compiled = _linear(pattern)
    if compiled is None:
        _check_few_choices(pattern.pattern)
        return lambda name: pattern.fullmatch(name) is not None
    return lambda name: compiled.fullmatch(name) is not None


def matching(pattern: str, names: Iterable[str]) -> list[str]:
    """The names that match as a whole, in order."""
    return list(filter(matcher(compile_pattern(pattern)), sorted(names)))


def _linear(pattern: re.Pattern[str]) -> re.Pattern[str] | None:
    """The pattern for RE2, None where RE2 would refuse it or read it in another way."""
    import re2  # only a command with a pattern waits for it

    options = re2.Options()
    options.log_errors = False
    try:
        with warnings.catch_warnings(action="error", category=FutureWarning):
            re.compile(f"{pattern.pattern}(?#)")  # a cached pattern would not warn
        if _READ_OTHERWISE.search(pattern.pattern):
            return None
        found: re.Pattern[str] = re2.compile(pattern.pattern, options)
    except (FutureWarning, UnicodeEncodeError, re2.error):
        return None
    return found


def _check_few_choices(text: str) -> None:
    plain = _OPENING.sub("(", text)
    if (
        len(_UNLIMITED.findall(plain)) > _MOST_UNLIMITED
        or len(_OTHER.findall(plain)) > _MOST_OTHER
        or _REPEATED_GROUP.search(plain)
    ):
        raise ValueError(
            "may take too long to match: a pattern with look-around or a backreference may have "
            f"{_MOST_UNLIMITED} of * + {{, none of them after a group, and {_MOST_OTHER} of | ?"
        )
