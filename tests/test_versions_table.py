"""scripts/versions_table.py: the table of the versions that were tested."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from types import ModuleType

import pytest

from partage.jars import locked_versions
from tests.scripts import loaded
from tests.test_docs import ROOT

PAGE = ROOT / "docs" / "reference" / "versions.md"


@pytest.fixture(scope="module")
def script() -> ModuleType:
    return loaded(ROOT / "scripts" / "versions_table.py")


def test_a_failed_or_missing_test_shows(script: ModuleType) -> None:
    tests = [f"m.{parts[0]}" for parts in script.COLUMNS.values()]
    passed = dict.fromkeys(tests, "passed")
    assert script.row("3.9.2-zookeeper", passed).startswith("| 3.9.2, ZooKeeper | ✓ 1 |")
    assert "✗" not in script.row("4.3.1", passed)
    assert script.row("4.3.1", passed | {tests[0]: "failed"}).count("✗") == 1
    assert "| ✓ 1, ✗ 1 |" in script.row("4.3.1", passed | {f"{tests[0]}_more": "failed"})
    assert script.row("4.3.1", {tests[0]: "passed"}).count("✗") == len(tests) - 1
    # skipped beside a test that passed: what the version lacks
    assert "✗" not in script.row("4.3.1", passed | {f"{tests[0]}_more": "Kafka 4.3 or later"})


def test_rows_replace_those_of_their_version(script: ModuleType) -> None:
    page = f"# Title\n\n{script.START}{script.END}\n\nmore\n"
    old = script.written(page, ["| 4.0.2 | ✗ |", "| 3.9.2 | ✓ 1 |"])
    new = script.written(old, ["| 4.0.2 | ✓ 2 |"])
    assert [line for line in new.splitlines() if line[:3] in ("| 3", "| 4")] == [
        "| 3.9.2 | ✓ 1 |",
        "| 4.0.2 | ✓ 2 |",
    ]
    assert new.startswith("# Title")
    assert new.endswith("more\n")


def test_outcomes(script: ModuleType) -> None:
    def outcome(inside: str) -> str:
        found: str = script._outcome(ElementTree.fromstring(f"<testcase>{inside}</testcase>"))
        return found

    assert outcome("") == "passed"
    assert outcome("<failure/>") == outcome("<error/>") == "failed"
    assert outcome('<skipped message="no"/>') == "no"


def test_every_version_of_a_sandbox_is_tested_and_in_the_table(script: ModuleType) -> None:
    assert {version.partition("-")[0] for version in script.VERSIONS} == set(
        locked_versions("kafka")
    )
    page = PAGE.read_text(encoding="utf-8")
    assert all(
        f"| {version.replace('-zookeeper', ', ZooKeeper')} |" in page for version in script.VERSIONS
    )
    with_kraft = [line for line in page.splitlines() if "ZooKeeper |" not in line]
    assert not [line for line in with_kraft if "✗" in line]
