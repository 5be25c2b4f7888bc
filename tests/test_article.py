"""The page that tests the article: its small tables are what is measured today, and the tests that
it names exist. That all of it is what was kept is tested in ``test_benchmark_pages.py``."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "kafka-reassignment-survey.md"
PROBLEMS = ROOT / "tests" / "brokers" / "test_open_problems.py"

NOT_COMPARED = ("waves / lower bound", "time")
"""Waves have tests of their own; seconds differ."""


@pytest.fixture
def article(beside_the_benchmarks: None) -> ModuleType:
    return import_module("article")


def rows_of(block: str) -> dict[str, dict[str, str]]:
    """The Markdown table by its first column, and the lines below it as rows without cells."""
    lines = block.strip().splitlines()
    cells = [re.split(r" +\| +", line.strip("| ")) for line in lines if line.startswith("| ")]
    head, _, *rows = cells
    found: dict[str, Any] = {row[0]: dict(zip(head[1:], row[1:], strict=True)) for row in rows}
    return found | {line: {} for line in lines if line.startswith("- ")}


def test_the_small_tables_are_what_is_measured(article: ModuleType) -> None:
    shown = import_module("tables.markdown").blocks_of(PAGE.read_text(encoding="utf-8"))
    measured = article.blocks(article.measure("small"))
    assert measured.keys() == {"small, grown", "small, shrunk", "small, scattered"}
    for name, text in measured.items():
        found, real = rows_of(shown[name]), rows_of(text)
        for row in (*found.values(), *real.values()):
            for column in NOT_COMPARED:
                row.pop(column, None)
        assert found == real, name


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
