"""Imports point down only, and the heavy ones stay in their packages."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tests.modules import MODULES, nodes, tree
from tests.modules import SOURCE as ROOT

pytestmark = pytest.mark.xdist_group("source")  # tests.modules parses each module once

LAYERS: tuple[tuple[str, ...], ...] = (
    (
        "arrays",
        "errors",
        "files",
        "frames",
        "installation",
        "interrupts",
        "jars",
        "java",
        "json_input",
        "kafka_names",
        "memory",
        "named",
        "outputs",
        "patterns",
        "period",
        "printable",
        "properties",
        "redaction",
        "units",
    ),
    ("flow",),
    ("cluster", "group"),
    ("measured_loads",),
    ("producers", "consumers", "brokers"),
    ("pipeline", "live"),
    ("auto_apply", "doctor", "demo", "measuring", "testing"),
    ("report",),
    ("cli",),
)
"""From the lowest up. A package imports itself and what is below, and none of its own layer."""

LEVEL = {package: level for level, packages in enumerate(LAYERS) for package in packages}
TOP = ("__init__", "__main__")
"""The package itself and ``python -m partage`` hand on what is anywhere in it."""

SAME_LAYER = {(package, "errors") for package in LAYERS[0]}
SAME_LAYER |= {(package, "printable") for package in ("errors", "files", "frames", "json_input")}
SAME_LAYER |= {("errors", "redaction"), ("properties", "redaction")}
SAME_LAYER |= {("json_input", "kafka_names")}
SAME_LAYER |= {(package, "files") for package in ("json_input", "outputs", "properties")}

ONLY_IN = {
    "pyspark": ("pipeline", "measuring"),
    "pyarrow": ("pipeline", "measured_loads", "producers"),
    "pandas": ("pipeline",),
    "re2": ("patterns",),
    "kafka": ("live", "demo", "testing"),
    "aiokafka": ("live",),
    "typer": ("cli",),
    "rich": ("cli", "report"),
    "jinja2": ("report",),
    "ortools": ("flow", "brokers", "consumers"),
}
"""Who may import a library when it is itself imported."""

FREE_WITHIN = {"jinja2": ("cli",), "pyarrow": ("measured_loads",)}
"""Who may import it inside a function."""


def dotted(path: Path) -> str:
    """``partage.flow.proof`` of a file."""
    parts = path.relative_to(ROOT.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def package_of(path: Path) -> str:
    return path.relative_to(ROOT).with_suffix("").parts[0]


@cache
def imports(path: Path) -> tuple[tuple[str, int, bool], ...]:
    """(module imported, line, whether at module level): TYPE_CHECKING and functions included."""
    return tuple(imports_in(tree(path), path))


def imports_in(code: ast.Module, path: Path) -> Iterator[tuple[str, int, bool]]:
    package = dotted(path).split(".")
    if path.name != "__init__.py":
        package = package[:-1]

    def walk(node: ast.AST, top: bool) -> Iterator[tuple[str, int, bool]]:
        for child in ast.iter_child_nodes(node):
            match child:
                case ast.Import(names=names):
                    for alias in names:
                        yield alias.name, child.lineno, top
                case ast.ImportFrom(module=module, names=names, level=level):
                    base = ".".join(package[: len(package) - level + 1]) if level else ""
                    origin = ".".join(part for part in (base, module) if part)
                    for alias in names:
                        # ``from partage import files`` imports a module, ``… import plan`` a name
                        yield f"{origin}.{alias.name}", child.lineno, top
            inside = isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda))
            yield from walk(child, top and not inside)

    yield from walk(code, True)


def test_every_package_has_a_layer() -> None:
    packages = {package_of(path) for path in MODULES} - {*TOP, "__pycache__"}
    assert packages <= LEVEL.keys(), f"no layer for {sorted(packages - LEVEL.keys())}"


def test_every_folder_is_a_package() -> None:
    """The zip that Spark's workers get of it knows no others."""
    folders = {path.parent for path in MODULES}
    assert [folder for folder in folders if not (folder / "__init__.py").is_file()] == []


@pytest.mark.parametrize("shown", ["docs/architecture.md", "docs/images/architecture.svg"])
def test_the_page_and_the_drawing_name_every_package(shown: str) -> None:
    text = (ROOT.parents[1] / shown).read_text(encoding="utf-8")
    named = set(re.findall(r"\w+", "".join(re.findall(r"`[^`]*`|>[^<>]+<", text))))
    assert {package for layer in LAYERS[1:] for package in layer} <= named


def test_imports_point_down() -> None:
    wrong = [line for path in MODULES for line in upward_imports(path)]
    assert not wrong, "\n".join(wrong)


def upward_imports(path: Path) -> Iterator[str]:
    package = package_of(path)
    if package in TOP:
        return
    for name, line, _ in imports(path):
        parts = name.split(".")
        if parts[0] != "partage" or len(parts) < 2:
            continue
        other = parts[1]
        if other not in LEVEL or other == package or (package, other) in SAME_LAYER:
            continue  # a name of the package itself, such as __version__
        if LEVEL[other] >= LEVEL[package]:
            yield f"{path.relative_to(ROOT)}:{line}: {package} imports {name} of {other}"


def test_the_kernel_knows_nothing_of_kafka() -> None:
    wrong = [
        f"{path.relative_to(ROOT)}:{line}: flow imports {name}"
        for path in MODULES
        if package_of(path) == "flow"
        for name, line, _ in imports(path)
        if name.split(".")[0] == "partage"
        and not name.startswith(("partage.flow", "partage.arrays"))
    ]
    assert not wrong, "\n".join(wrong)


def test_heavy_libraries_stay_in_their_packages() -> None:
    wrong = [line for path in MODULES for line in foreign_imports(path)]
    assert not wrong, "\n".join(wrong)


def foreign_imports(path: Path) -> Iterator[str]:
    package = package_of(path)
    for name, line, top in imports(path):
        library = name.split(".")[0]
        if library not in ONLY_IN or package in ONLY_IN[library]:
            continue
        if not top and package in FREE_WITHIN.get(library, ()):
            continue
        yield f"{path.relative_to(ROOT)}:{line}: {package} imports {name}"


@pytest.mark.parametrize("library", ["pyspark", "pyarrow", "pandas", "kafka", "matplotlib"])
def test_planning_imports_nothing_heavy_at_its_head(library: str) -> None:
    """Outside pipeline, live and demo, and inside a function only where it is needed."""
    wrong = [
        f"{path.relative_to(ROOT)}:{line}: imports {name} at module level"
        for path in MODULES
        if package_of(path) not in ("pipeline", "live", "demo", "measuring", "testing")
        for name, line, top in imports(path)
        if top and name.split(".")[0] == library
    ]
    assert not wrong, "\n".join(wrong)


def test_it_would_be_noticed() -> None:
    """The reader of imports sees each way to write one."""
    code = (
        "from typing import TYPE_CHECKING\n"
        "if TYPE_CHECKING:\n    from partage.cli import output\n"
        "def f():\n    import pyspark.sql\n"
        "try:\n    from partage import report\nexcept ImportError:\n    pass\n"
    )
    found = list(imports_in(ast.parse(code), ROOT / "flow" / "none.py"))
    assert found == [
        ("typing.TYPE_CHECKING", 1, True),
        ("partage.cli.output", 3, True),
        ("pyspark.sql", 5, False),
        ("partage.report", 7, True),
    ]


SINKS = ("cli/output.py", "__main__.py", "demo/traffic_client.py", "cli/compat.py")
"""The only modules that write to stdout and stderr: what they write is printable."""


def dotted_name(function: ast.expr) -> str:
    """``sys.stdout.write`` of what is called; empty for other expressions."""
    match function:
        case ast.Name(id=name):
            return name
        case ast.Attribute(value=owner, attr=name):
            return f"{dotted_name(owner)}.{name}"
    return ""


def test_output_has_one_way_out() -> None:
    found = [
        line
        for path in MODULES
        if path.relative_to(ROOT).as_posix() not in SINKS
        for line in writes(path)
    ]
    assert found == [], "use partage.cli.output"


def writes(path: Path) -> Iterator[str]:
    for node in nodes(path):
        if isinstance(node, ast.Call):
            name = dotted_name(node.func)
            prints = re.fullmatch(
                r"print|(rich\.)?Console|sys\.std(out|err)\.(buffer\.)?write", name
            )
            if prints or (name == "typer.echo" and not isinstance(node.args[0], ast.JoinedStr)):
                yield f"{path.relative_to(ROOT)}:{node.lineno}: {name}"


def private_parts(code: ast.Module) -> Iterator[str]:
    """Private names of other modules and libraries: ``x._name`` unless the file has a ``_name``
    itself, and imports of one."""
    own = {node.name for node in ast.walk(code) if isinstance(node, ast.FunctionDef)}
    own |= {
        node.attr
        for node in ast.walk(code)
        if isinstance(node, ast.Attribute) and dotted_name(node.value) in ("self", "cls")
    }
    own |= {
        node.target.id
        for node in ast.walk(code)
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)
    }
    for node in ast.walk(code):
        if isinstance(node, ast.Attribute) and re.match(r"_[a-z]", node.attr):
            inherited = isinstance(node.value, ast.Call) and dotted_name(node.value.func) == "super"
            if node.attr not in own and not inherited:
                yield f"line {node.lineno}: {ast.unparse(node)}"
        elif isinstance(node, ast.ImportFrom | ast.Import):
            names = [alias.name for alias in node.names]
            for name in [getattr(node, "module", None) or "", *names]:
                if re.search(r"(^|\.)_[a-z]", name):
                    yield f"line {node.lineno}: imports {name}"


ENDS_AT_ONCE = "os._exit"
"""Public in spite of its name."""


def test_private_parts_of_others_are_in_compat_modules_only() -> None:
    found = [
        f"{path.relative_to(ROOT)}, {one}"
        for path in MODULES
        if not path.stem.startswith("compat")
        for one in private_parts(tree(path))
    ]
    assert [one for one in found if ENDS_AT_ONCE not in one] == []


@pytest.mark.parametrize(
    "code",
    [
        "from typer._click import core",
        "import kafka._private",
        "admin._manager.run()",
        "def f(self): return coordinator._subscription",
    ],
)
def test_a_private_part_would_be_noticed(code: str) -> None:
    assert list(private_parts(ast.parse(code)))
