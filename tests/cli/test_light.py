"""Importing partage, and planning from a file, load nothing heavy."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.modules import MODULES, SOURCE, nodes

HEAVY = {"pyspark", "pyarrow", "pandas", "kafka", "matplotlib", "playwright", "networkx"}
PARSER = {"typer", "annotated_doc", "shellingham"}
COMMAND_LINE = PARSER | {"rich"}
PLANNER = COMMAND_LINE | {"numpy", "msgspec", "ortools", "re2", "typing_extensions"}
"""Libraries that a command may load; without pydantic, a third of a short command's time."""

PROGRAM = {
    f"partage.{name}"
    for name in (
        *("cli", "cli.arguments", "cli.command_list", "cli.commands", "cli.compat", "cli.output"),
        *("cli.settings", "cli.settings_file"),
        *("errors", "files", "printable", "redaction"),
    )
}
"""What partage itself loads before it imports a command."""

PLAN = {
    "brokers": (
        "budget declaration directory failure_steps figures leaders least_time "
        "limiting_constraints optimality option_values options placement plan plan_document "
        "plan_file posing problem proofs search_clock solving stages strategies survivors waves"
    ),
    "brokers.leaders": "choices failures racks",
    "brokers.placement": "disks log_dirs",
    "brokers.posing": "broker_changes known_rates problem_warnings resolving topic_choice",
    "brokers.strategies": "exact",
    "brokers.waves": "between_log_dirs changes disk_order safe_order schedule",
    "cli": "cluster_argument cluster_commands loads next_step parameters plan_options",
    "cluster": "broker formats log_dirs model",
    "flow": (
        "arcs assignment bin_packing certificate count_search edge_colouring network ordering "
        "packing picking proof selection sorting"
    ),
    "flow.assignment": (
        "cells count_network disaggregation item_network problem size_swaps trade_off"
    ),
    "report": "plan_tables printing resource_table units view",
    "report.view": "counting criteria data loads resources sentences",
}
"""What a plan without options loads besides, by package. What only an option needs is imported
where it is used: a module takes half a millisecond."""

GIVEN = {
    *("CheckResult", "RuleDefects", "Comparison", "Explanation", "Instead", "Reason"),
    *("NewPartitions", "Plan", "PlanOptions", "PlanRequest", "CompareRequest"),
}
"""The dataclasses of the planner: what ``import partage`` gives, with its parts, and the options,
which ``--help`` loads without msgspec."""

OF_NO_PACKAGE = "arrays brokers cluster flow frames json_input kafka_names patterns report units"

SHOW = "import sys, json; json.dump(sorted({m.partition('.')[0] for m in sys.modules}), sys.stdout)"
RUN = """
import sys, atexit, json
def names():
    packages = {m.partition(".")[0] for m in sys.modules if getattr(sys.modules[m], "__path__", 0)}
    theirs = [p for p in packages if "site-packages" in (sys.modules[p].__file__ or "")]
    return [*theirs, *(m for m in sys.modules if m.startswith("partage."))]
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


def test_a_plan_loads_no_masked_arrays() -> None:
    """``numpy.unique`` of values alone loads them, a tenth of the time of a short command."""
    plan = "partage.plan(partage.Cluster.read('src/partage/data/cluster-grown.json'))"
    shown = "print(*sorted(m for m in sys.modules if m.startswith('numpy.')))"
    ended = subprocess.run(
        [sys.executable, "-c", f"import sys, partage; {plan}; {shown}"],
        capture_output=True,
        text=True,
        timeout=120,
    )
    modules = ended.stdout.split()
    assert "numpy.lib" in modules, ended.stderr
    assert "numpy.ma" not in modules


def test_check_loads_no_solver() -> None:
    modules = loaded(f"import partage.brokers.check; {SHOW}")
    assert not modules & {"ortools", "scipy"}


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("arguments", "may_load"),
    [
        (["--version"], PARSER),
        (["--help"], COMMAND_LINE),
        (["plan", "cluster.json", "-o", "p"], PLANNER | {"jinja2", "markupsafe"}),
        (["plan", "cluster.json"], PLANNER),
        # numpy's part for Fortran, which scipy loads, tries the last one
        (["compare", "cluster.json"], PLANNER | {"scipy", "charset_normalizer"}),
        (["plan", "cluster.json", "--json"], PLANNER - {"rich"}),
        (["profile", "--help"], COMMAND_LINE),
        (["plan", "--help"], COMMAND_LINE),
    ],
    ids=lambda given: " ".join(given) if isinstance(given, list) else "",
)
def test_a_command_loads_no_other_libraries(
    grown: str, tmp_path: Path, arguments: list[str], may_load: set[str]
) -> None:
    assert grown == "cluster.json"
    modules = {name for name in run(tmp_path, *arguments) if not name.startswith("partage.")}
    assert "typer" in modules
    assert modules <= may_load


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["plan", "--hlep"]], ids=" ".join)
def test_what_needs_no_command_imports_none(tmp_path: Path, arguments: list[str]) -> None:
    ours = {name for name in run(tmp_path, *arguments) if name.startswith("partage.")}
    commands = {name for name in ours if name.endswith(("_command", "_commands"))}
    assert commands == ({"partage.cli.cluster_commands"} if "plan" in arguments else set())
    assert commands or ours == PROGRAM


@pytest.mark.parametrize(
    "settings", ["", "[check]\njson = false\n"], ids=["without settings", "with settings"]
)
def test_a_plan_imports_nothing_for_other_commands(
    grown: str, tmp_path: Path, settings: str
) -> None:
    (tmp_path / "partage.toml").write_text(settings)
    ours = {name for name in run(tmp_path, "plan", grown) if name.startswith("partage.")}
    assert {name for name in ours if name.endswith(("_command", "_commands"))} == {
        "partage.cli.cluster_commands"
    }
    for package in ("check", "explain"):
        assert f"partage.brokers.{package}" not in ours
    for package in ("consumers", "producers", "pipeline", "live", "group", "demo", "doctor"):
        assert f"partage.{package}" not in ours


def test_a_plan_imports_what_it_uses(grown: str, tmp_path: Path) -> None:
    ours = {name for name in run(tmp_path, "plan", grown) if name.startswith("partage.")}
    used = {f"{package}.{name}" for package, names in PLAN.items() for name in names.split()}
    assert ours - PROGRAM == {f"partage.{name}" for name in (*used, *OF_NO_PACKAGE.split())}


def test_the_records_of_the_planner_are_structs() -> None:
    """A dataclass takes half a millisecond to define, forty times as long as a struct."""
    found = {
        node.name
        for package in ("flow", "brokers", "report/view")
        for module in MODULES
        if module.is_relative_to(SOURCE / package)
        for node in nodes(module)
        if isinstance(node, ast.ClassDef)
        and any("dataclass" in ast.unparse(one) for one in node.decorator_list)
    }
    assert found == GIVEN


def run(folder: Path, *arguments: str) -> set[str]:
    """The packages of others and the modules of partage that a command has loaded when it ends."""
    out = folder / "modules.json"
    code = f"OUT = {str(out)!r}\nARGUMENTS = {arguments!r}\n{RUN}"
    ended = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120, cwd=folder
    )
    assert ended.returncode == (2 if "--hlep" in arguments else 0), ended.stderr
    return set(json.loads(out.read_text()))


def test_check_and_report_without_spark(grown: str, tmp_path: Path) -> None:
    from partage import Cluster, plan

    plan(Cluster.read(tmp_path / grown)).write(tmp_path / "p")
    for command in ("check", "report"):
        assert not run(tmp_path, command, "p") & HEAVY
