"""Importing partage, and planning from a file, load nothing heavy."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

HEAVY = {"pyspark", "pyarrow", "pandas", "kafka", "matplotlib", "playwright", "networkx"}
SHOW = "import sys, json; json.dump(sorted({m.partition('.')[0] for m in sys.modules}), sys.stdout)"
RUN = """
import sys, atexit, json
names = lambda: sorted({m.partition(".")[0] for m in sys.modules})
atexit.register(lambda: json.dump(names(), open(OUT, "w")))
sys.argv = ["partage", *ARGUMENTS]
from partage.cli import main
main()
"""


def loaded(code: str) -> set[str]:
    ended = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120
    )
    assert ended.returncode == 0, ended.stderr
    return set(json.loads(ended.stdout))


def test_import_partage() -> None:
    modules = loaded(f"import partage; {SHOW}")
    assert not modules & HEAVY
    assert not modules & {"numpy", "ortools", "scipy", "rich", "typer", "jinja2"}


def test_the_public_names() -> None:
    modules = loaded(f"import partage; [getattr(partage, n) for n in partage.__all__]; {SHOW}")
    assert not modules & HEAVY


def test_check_loads_no_solver() -> None:
    modules = loaded(f"import partage.brokers.check; {SHOW}")
    assert not modules & {"ortools", "scipy"}


@pytest.mark.parametrize(
    "arguments",
    [
        ["plan", "cluster.json", "-o", "p"],
        ["plan", "cluster.json", "--json"],
        ["compare", "cluster.json"],
        ["--help"],
        ["profile", "--help"],
    ],
    ids=" ".join,
)
def test_commands_without_spark(grown: str, tmp_path: Path, arguments: list[str]) -> None:
    assert grown == "cluster.json"
    out = tmp_path / "modules.json"
    code = f"OUT = {str(out)!r}\nARGUMENTS = {arguments!r}\n{RUN}"
    ended = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120, cwd=tmp_path
    )
    assert ended.returncode == 0, ended.stderr
    modules = set(json.loads(out.read_text()))
    assert "partage" in modules
    assert not modules & HEAVY
    if arguments[0] != "compare":
        assert "scipy" not in modules  # half a second of every start


def test_check_and_report_without_spark(grown: str, tmp_path: Path) -> None:
    from partage import Cluster, plan

    plan(Cluster.read(tmp_path / grown)).write(tmp_path / "p")
    for command in ("check", "report"):
        out = tmp_path / "modules.json"
        code = f"OUT = {str(out)!r}\nARGUMENTS = {[command, 'p']!r}\n{RUN}"
        ended = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, timeout=120, cwd=tmp_path
        )
        assert ended.returncode == 0, ended.stderr
        assert not set(json.loads(out.read_text())) & HEAVY
