"""Search a line of a log in time that grows with its length, whatever the line contains.

A regular expression that is searched for is tried at each place where its first words are. Where
these repeat, each attempt may read the rest of the line: time grows with the square of its length.
So a form is tried once, where its first words occur first. Within a form, atomic groups
(``(?>…)``) keep lazy parts from being tried again.
"""

from __future__ import annotations

import re


class FirstMatch:
    """A form of a message: fixed words, and a regular expression for what follows them."""

    def __init__(self, words: str, rest: str) -> None:
        self._words = words
        self._form = re.compile(re.escape(words) + rest, re.DOTALL)

    def search(self, text: str) -> re.Match[str] | None:
        """The match at the first place where the words are, if there is one."""
        at = text.find(self._words)
        return None if at < 0 else self._form.match(text, at)
