"""CONTRIBUTING.md: its example of a plan option works, and changes at most four files."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parent.parent
CLUSTER = {
    "brokers": [{"id": 1}, {"id": 2}],
    "partitions": [
        {"topic": topic, "partition": p, "replicas": [1]} for topic in "ab" for p in range(2)
    ],
}


def changes() -> dict[str, list[tuple[str, str]]]:
    """By file: text and its replacement, out of the page's diff."""
    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    [diff] = re.findall(r"^```diff\n(.*?)^```", page, re.M | re.S)
    found: dict[str, list[tuple[str, str]]] = {}
    for part in re.split(r"^--- ", diff, flags=re.M)[1:]:
        name, *lines = part.splitlines(keepends=True)
        old = "".join(line[1:] for line in lines if line[0] in " -")
        new = "".join(line[1:] for line in lines if line[0] in " +")
        found.setdefault(name.strip(), []).append((old, new))
    return found


@pytest.fixture(scope="module")
def changed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the package with the page's changes."""
    root = tmp_path_factory.mktemp("changed")
    shutil.copytree(ROOT / "src", root / "src")
    for name, edits in changes().items():
        text = (root / name).read_text(encoding="utf-8")
        for old, new in edits:
            assert text.count(old) == 1, f"{name}: {old}"
            text = text.replace(old, new)
        (root / name).write_text(text, encoding="utf-8")
    (root / "cluster.json").write_text(json.dumps(CLUSTER))
    return root


def call(root: Path, *arguments: str, **variables: str) -> str:
    environment = {k: v for k, v in os.environ.items() if not k.startswith("PARTAGE_")}
    ended = subprocess.run(
        [sys.executable, *arguments],
        cwd=root,
        env=environment | {"PYTHONPATH": str(root / "src"), "COLUMNS": "200"} | variables,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


def moves(root: Path, *options: str, **variables: str) -> int:
    out = call(root, "-m", "partage", "plan", "cluster.json", "--json", *options, **variables)
    value: dict[str, Any] = json.loads(out)
    return int(value["moves"])


def test_a_plan_option_changes_at_most_four_files() -> None:
    assert 1 <= len(changes()) <= 4
    assert all(name.startswith("src/partage/") for name in changes())


def test_the_command_line_and_its_help_have_the_option(changed: Path) -> None:
    assert moves(changed) == 2
    assert moves(changed, "--keep-topics", "a|b") == 0
    program = """
import sys
from partage.cli import main
for command in ("plan", "compare", "what-if failures", "what-if growth"):
    sys.argv = ["partage", *command.split(), "--help"]
    try:
        main()
    except SystemExit:
        print("end of", command)
"""
    helps = call(changed, "-c", program).split("end of")
    assert ["--keep-topics" in text for text in helps] == [True] * 4 + [False]


def test_the_settings_have_the_option(changed: Path) -> None:
    assert moves(changed, PARTAGE_PLAN_KEEP_TOPICS="a|b") == 0
    settings = changed / "partage.toml"
    settings.write_text('[plan]\nkeep-topics = "a|b"\n')
    try:
        assert moves(changed) == 0
    finally:
        settings.unlink()


def test_python_has_the_option(changed: Path) -> None:
    program = """
import inspect, partage
print(inspect.signature(partage.plan).parameters["keep_topics"])
made = partage.plan("cluster.json", keep_topics="a")
names = list(made.before.names)
kept = [made.before.replica_lists()[i] for i, name in enumerate(names) if name[0] == "a"]
assert kept == [made.after.replica_lists()[i] for i, name in enumerate(names) if name[0] == "a"]
assert made.moves == 2
"""
    assert "keep_topics: str" in call(changed, "-c", program)


def test_plan_json_has_the_option_and_check_holds(changed: Path) -> None:
    assert moves(changed, "--keep-topics", "a", "-o", "plan") == 2
    value = json.loads((changed / "plan" / "plan.json").read_text(encoding="utf-8"))
    assert value["options"] == {"keep_topics": "a"}
    call(changed, "-m", "partage", "check", "plan")


def test_a_wrong_value_names_the_option(changed: Path) -> None:
    with pytest.raises(AssertionError, match=r"--keep-topics \[: is not a regular expression"):
        moves(changed, "--keep-topics", "[")
