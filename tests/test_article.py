"""The survey page: kept figures of the small clusters equal a new measurement, and the tests that
it names exist. ``test_benchmark_pages.py`` tests that the page is written from kept figures."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "kafka-reassignment-survey.md"
PROBLEMS = ROOT / "tests" / "brokers" / "test_open_problems.py"

NOT_COMPARED = {"seconds", "waves", "waves_lower_bound", "binding", "cannot"}
"""Waves are tested elsewhere; seconds differ between runs; the others are text."""


@pytest.fixture
def article(beside_the_benchmarks: None) -> ModuleType:
    return import_module("article")


def test_kept_small_figures_equal_a_new_measurement(article: ModuleType) -> None:
    results = import_module("results")
    kept = results.merged(results.read("article"))["small"]
    measured = article.measure("small")["small"]
    assert measured.keys() == kept.keys() == {"grown", "shrunk", "scattered"}
    for job, rows in measured.items():
        assert rows.keys() == kept[job].keys()
        for name, row in rows.items():
            was = kept[job][name]
            assert row.keys() == was.keys(), f"{job}, {name}"
            figures = {key: row[key] for key in row.keys() - NOT_COMPARED}
            assert figures == {key: was[key] for key in figures}, f"{job}, {name}"


def test_tests_that_the_page_names_exist() -> None:
    page = PAGE.read_text(encoding="utf-8")
    references = re.findall(r"`(tests/[\w/.]+)::(test_\w+)`", page)
    assert len(references) >= 6
    for file, test in references:
        assert f"def {test}(" in (ROOT / file).read_text(encoding="utf-8"), f"{file}::{test}"
    problems = re.findall(r"`(test_\w+)`", page)
    assert len(problems) >= 10
    text = PROBLEMS.read_text(encoding="utf-8")
    for test in problems:
        assert f"def {test}(" in text, test
