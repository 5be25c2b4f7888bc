"""Markdown: tables, and the blocks of a page that are written from figures.

A block stands between ``<!-- measured: NAME -->`` and ``<!-- end -->``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence


def table(head: Sequence[str], lines: Sequence[Sequence[str]], words: int) -> str:
    """A table with columns of one width; the first ``words`` columns hold words, the others
    numbers."""
    every = [head, *lines]
    width = [max(3, *(len(line[i]) for line in every)) for i in range(len(head))]

    def put(line: Sequence[str]) -> str:
        text = [
            cell.ljust(w) if i < words else cell.rjust(w)
            for i, (cell, w) in enumerate(zip(line, width, strict=True))
        ]
        return "| " + " | ".join(text) + " |"

    rule = [("-" * w) if i < words else "-" * (w - 1) + ":" for i, w in enumerate(width)]
    return "\n".join(map(put, [head, rule, *lines]))


def judged(what: str, holds: bool | None, how: str) -> str:
    """A line of a list: a promise, whether it holds (None: not to be told here), its figures."""
    verdict = {True: "holds", False: "does not hold", None: "not judged"}[holds]
    return f"- {verdict}: {what} ({how})"


def blocks_of(page: str) -> dict[str, str]:
    """What stands in a page's blocks, by name."""
    found = re.findall(r"<!-- measured: (.+?) -->\n(.*?)<!-- end -->", page, re.DOTALL)
    return {name: text.strip("\n") for name, text in found}


def filled(page: str, blocks: Mapping[str, str]) -> str:
    """The page with other texts in blocks. KeyError where it has no such block, or more blocks of
    that name."""
    for name, text in blocks.items():
        mark = f"<!-- measured: {name} -->\n"
        before, found, rest = page.partition(mark)
        _, end, after = rest.partition("<!-- end -->")
        if not found or not end or mark in after:
            raise KeyError(f"expected one block {mark.strip()} … <!-- end -->")
        page = f"{before}{mark}\n{text}\n\n{end}{after}"
    return page
