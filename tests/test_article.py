"""The page that tests the article: its small tables are what is measured today, and the tests that
it names exist."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "the-article-tested.md"
PROBLEMS = ROOT / "tests" / "brokers" / "test_open_problems.py"

NOT_COMPARED = ("waves / lower bound", "time")
"""Waves have tests of their own; seconds differ."""


@pytest.fixture
def article(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    return import_module("article")


def rows_of(block: str) -> dict[str, dict[str, str]]:
    """The Markdown table by its first column, and the lines below it as rows without cells."""
    lines = block.strip().splitlines()
    cells = [line.strip("| ").split(" | ") for line in lines if line.startswith("| ")]
    head, _, *rows = cells
    found: dict[str, Any] = {row[0]: dict(zip(head[1:], row[1:], strict=True)) for row in rows}
    return found | {line: {} for line in lines if line.startswith("- ")}


@pytest.mark.parametrize("name", ["grown", "shrunk", "scattered"])
def test_the_small_tables_are_what_is_measured(article: ModuleType, name: str) -> None:
    block = f"small, {name}"
    shown = rows_of(article.block_of(PAGE.read_text(encoding="utf-8"), block))
    real = rows_of(article.blocks()[block]())
    for row in (*shown.values(), *real.values()):
        for column in NOT_COMPARED:
            row.pop(column, None)
    assert shown == real


def test_the_page_has_every_block(article: ModuleType) -> None:
    page = PAGE.read_text(encoding="utf-8")
    for name in article.blocks():
        assert article.block_of(page, name), f"{name}: empty"
    assert page.count("<!-- measured: ") == len(article.blocks())


def test_a_block_is_filled_and_nothing_else(article: ModuleType) -> None:
    page = "a\n\n<!-- measured: x -->\n\nold\n\n<!-- end -->\n"
    page += "\nb\n\n<!-- measured: y -->\n\n<!-- end -->\n"
    filled = article.with_block(article.with_block(page, "y", "new"), "x", r"\1")
    assert article.block_of(filled, "x") == r"\1"
    assert article.block_of(filled, "y") == "new"
    assert article.with_block(article.with_block(filled, "x", "old"), "y", "") == page.replace(
        "y -->\n\n<", "y -->\n\n\n\n<"
    )
    with pytest.raises(KeyError, match="no block"):
        article.block_of(page, "z")


def test_the_tests_that_the_page_names_exist() -> None:
    page = PAGE.read_text(encoding="utf-8")
    named = re.findall(r"`(tests/[\w/.]+)::(test_\w+)`", page)
    assert len(named) >= 6
    for file, test in named:
        assert f"def {test}(" in (ROOT / file).read_text(encoding="utf-8"), f"{file}::{test}"
    problems = re.findall(r"`(test_\w+)`", page)
    assert len(problems) >= 10
    text = PROBLEMS.read_text(encoding="utf-8")
    for test in problems:
        assert f"def {test}(" in text, test
