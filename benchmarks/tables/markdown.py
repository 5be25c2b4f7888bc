"""Markdown tables, and the blocks of a page that are written from figures.

A block is the text between ``<!-- measured: NAME -->`` and ``<!-- end -->``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any


def table(head: Sequence[str], lines: Sequence[Sequence[str]], words: int) -> str:
    """A table with padded columns: the first ``words`` left-aligned, the others right-aligned."""
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


def own_table(
    head: Sequence[str],
    figures: Mapping[str, Mapping[str, Any]],
    names: Mapping[str, str],
    line: Callable[[str, Any], Sequence[str]],
) -> str:
    """A table of partage's figures alone, a ``line`` for each measured one of ``names`` (name →
    description)."""
    lines = [line(names[name], figures[name]["partage"]) for name in names if name in figures]
    return table(head, lines, 1)


def judged(target: str, met: bool | None, figures: str) -> str:
    """A list item: a target, whether it is met (None: unknown), and its figures."""
    verdict = {True: "met", False: "not met", None: "not judged"}[met]
    return f"- {verdict}: {target} ({figures})"


def blocks_of(page: str) -> dict[str, str]:
    """The text of each block of a page, by name."""
    found = re.findall(r"<!-- measured: (.+?) -->\n(.*?)<!-- end -->", page, re.DOTALL)
    return {name: text.strip("\n") for name, text in found}


def filled(page: str, blocks: Mapping[str, str]) -> str:
    """The page with new texts in its blocks.

    Raises KeyError unless the page has exactly one block of each name.
    """
    for name, text in blocks.items():
        mark = f"<!-- measured: {name} -->\n"
        before, found, rest = page.partition(mark)
        _, end, after = rest.partition("<!-- end -->")
        if not found or not end or mark in after:
            raise KeyError(f"expected one block {mark.strip()} … <!-- end -->")
        page = f"{before}{mark}\n{text}\n\n{end}{after}"
    return page
