"""Importing partage, and planning from a file, load nothing heavy."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

HEAVY = {"pyspark", "pyarrow", "pandas", "kafka", "matplotlib", "playwright", "networkx"}
COMMAND_LINE = {
    "typer",
    "annotated_doc",
    "rich",
    "markdown_it",
    "mdurl",
    "pygments",
    "attr",
    "shellingham",
    "attrs",
}
PLANNER = COMMAND_LINE | {"numpy", "msgspec", "ortools", "re2", "typing_extensions"}
"""Libraries that a command may load; without pydantic, a third of a short command's time."""

SHOW = "import sys, json; json.dump(sorted({m.partition('.')[0] for m in sys.modules}), sys.stdout)"
RUN = """
import sys, atexit, json
def names():
    packages = {m.partition(".")[0] for m in sys.modules if getattr(sys.modules[m], "__path__", 0)}
    return sorted(p for p in packages if "site-packages" in (sys.modules[p].__file__ or ""))
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


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("arguments", "may_load"),
    [
        (["--help"], COMMAND_LINE),
        (["plan", "cluster.json", "-o", "p"], PLANNER | {"jinja2", "markupsafe"}),
        (["plan", "cluster.json"], PLANNER),
        (["compare", "cluster.json"], PLANNER | {"scipy"}),
        (["profile", "--help"], COMMAND_LINE),
    ],
    ids=lambda given: " ".join(given) if isinstance(given, list) else "",
)
def test_a_command_loads_no_other_libraries(
    grown: str, tmp_path: Path, arguments: list[str], may_load: set[str]
) -> None:
    assert grown == "cluster.json"
    out = tmp_path / "modules.json"
    code = f"OUT = {str(out)!r}\nARGUMENTS = {arguments!r}\n{RUN}"
    ended = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120, cwd=tmp_path
    )
    assert ended.returncode == 0, ended.stderr
    modules = set(json.loads(out.read_text()))
    assert "typer" in modules
    assert modules <= may_load


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
