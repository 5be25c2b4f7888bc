"""Test snapshot, apply, resume and rollback on Kafka of every version, and write the docs' table.

    python scripts/versions_table.py [VERSION...]

Each version's jars are downloaded when first used; ``-zookeeper`` keeps the metadata in ZooKeeper.
Rows of versions that are not run stay as they are. The exit code is 1 if a test failed.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "reference" / "versions.md"
START, END = "<!-- tested -->\n", "<!-- end -->"

VERSIONS = (
    *("3.4.1", "3.4.1-zookeeper", "3.6.2", "3.6.2-zookeeper", "3.9.2", "3.9.2-zookeeper"),
    *("4.0.2", "4.1.2", "4.2.0", "4.3.0", "4.3.1", "4.4.0"),
)
FILES = (
    "tests/live/execution",
    *(f"tests/live/admin/test_{name}.py" for name in ("snapshot", "rates", "creation")),
)
COLUMNS = {
    "snapshot": ("test_snapshot",),
    "rates": ("test_on_a_cluster_it_is_what_was_counted",),
    "place": ("test_a_topic_and_more_of_it",),
    "apply, throttle, rollback": (
        *("test_apply_and_rollback", "test_rollback_in_the_middle", "removed_throttle"),
        *("higher_concurrency", "test_a_quota", "follows_the_clusters_health"),
    ),
    "kill −9, interrupt, resume": ("test_kill_and_resume", "interrupt"),
    "broker or topic gone": ("dead_broker", "topic_deleted", "created_again", "refused_partition"),
    "Kafka's tool agrees": ("kafkas_own_tool", "generated_by_kafka"),
}
"""Columns of the table, and what the names of their tests contain."""


def results(version: str) -> dict[str, str]:
    """By test: ``passed``, ``failed``, or why it was skipped."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        command = [sys.executable, "-m", "pytest", "-m", "kafka", f"--junitxml={report}", *FILES]
        subprocess.run(command, cwd=ROOT, check=False, env={**os.environ, "KAFKA_VERSION": version})
        cases = ElementTree.parse(report).iter("testcase")
        return {f"{case.get('classname')}.{case.get('name')}": _outcome(case) for case in cases}


def _outcome(case: ElementTree.Element) -> str:
    if case.find("failure") is not None or case.find("error") is not None:
        return "failed"
    skipped = case.find("skipped")
    return "passed" if skipped is None else skipped.get("message") or "skipped"


def row(version: str, outcomes: dict[str, str]) -> str:
    """The line of the table: in every column how many tests passed, and how many failed."""
    cells = []
    for parts in COLUMNS.values():
        found = [out for test, out in outcomes.items() if any(part in test for part in parts)]
        passed, failed = found.count("passed"), found.count("failed")
        cells.append(f"✓ {passed}" + f", ✗ {failed}" * bool(failed) if passed else "✗")
    name, _, zookeeper = version.partition("-")
    return f"| {name}{', ZooKeeper' if zookeeper else ''} | {' | '.join(cells)} |"


def written(page: str, rows: list[str]) -> str:
    """The page with these rows instead of those of the same versions."""
    before, _, rest = page.partition(START)
    table, _, after = rest.partition(END)
    lines = [*table.strip().splitlines()[2:], *rows]
    known = {line.split("|")[1]: line for line in lines}
    head = f"| Kafka | {' | '.join(COLUMNS)} |\n| --- |{' --- |' * len(COLUMNS)}\n"
    body = "".join(known[name] + "\n" for name in sorted(known))
    return f"{before}{START}\n{head}{body}\n{END}{after}"


def main() -> int:
    bad = []
    for version in sys.argv[1:] or VERSIONS:
        print(f"Kafka {version}", flush=True)
        outcomes = results(version)
        bad += [f"{version}: {test}" for test, out in outcomes.items() if out == "failed"]
        page = written(PAGE.read_text(encoding="utf-8"), [row(version, outcomes)])
        PAGE.write_text(page, encoding="utf-8")
    print("\n".join(bad) or "all passed")
    return int(bool(bad))


if __name__ == "__main__":
    sys.exit(main())
