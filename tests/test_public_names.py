"""The names that ``import partage`` gives, loaded when first used."""

from __future__ import annotations

import ast
import inspect
import re
from importlib.metadata import version
from pathlib import Path

import pytest

import partage


def test_every_public_name_is_there() -> None:
    for name in partage.__all__:
        found = getattr(partage, name)
        assert getattr(found, "__doc__", None), name
    assert dir(partage) == sorted([*partage.__all__, "__version__"])


def test_every_keyword_has_a_name_and_a_type() -> None:
    """So that Tab offers it: no ``**options``."""
    for name in partage.__all__:
        found = getattr(partage, name)
        if inspect.isfunction(found):
            for one in inspect.signature(found).parameters.values():
                assert one.kind is not one.VAR_KEYWORD, f"{name}(**{one.name})"
                assert one.annotation is not one.empty, f"{name}({one.name})"


def test_the_names_are_sorted() -> None:
    assert sorted(set(partage.__all__)) == partage.__all__


def test_the_names_that_the_design_promises() -> None:
    from partage import Cluster, InputError, PartageError, Plan, plan

    assert callable(plan)
    assert issubclass(InputError, PartageError)
    assert (PartageError.exit_code, InputError.exit_code) == (1, 2)
    for name in ("read", "from_json", "to_json", "replica_lists"):
        assert hasattr(Cluster, name)
    for name in ("moves", "lower_bound", "write", "document", "figures"):
        assert hasattr(Plan, name)


def test_plan_as_the_readme_uses_it(tmp_path: Path) -> None:
    rows = [{"topic": "t", "partition": p, "replicas": [1, 2]} for p in range(6)]
    cluster = partage.Cluster.from_json({"brokers": [{"id": 1}, {"id": 2}], "partitions": rows})
    made = partage.plan(cluster, add_broker=["3"])
    assert made.moves == made.lower_bound == 4
    assert isinstance(made.after, partage.Cluster)
    assert made.before.broker_ids.tolist() == [1, 2, 3]
    made.write(tmp_path / "p")
    assert (tmp_path / "p/plan.json").is_file()


def test_a_name_that_is_none() -> None:
    with pytest.raises(AttributeError, match="module 'partage' has no attribute 'nothing'"):
        partage.nothing  # noqa: B018


def test_the_type_checker_sees_the_same_names() -> None:
    """``__init__`` says its names three times: for the type checker, for loading, for ``*``."""
    tree = ast.parse(Path(partage.__file__).read_text(encoding="utf-8"))
    block = next(node for node in tree.body if isinstance(node, ast.If))
    typed = {
        alias.asname or alias.name: node.module
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert typed == partage._HOME
    assert sorted(typed) == sorted(partage.__all__)


def test_the_version() -> None:
    assert re.fullmatch(r"\d+\.\d+\.\d+", partage.__version__)
    assert version("partage") == partage.__version__


def test_the_reference_lists_every_public_name() -> None:
    page = Path(__file__).resolve().parent.parent / "docs" / "reference" / "python.md"
    listed = re.findall(r"^::: partage\.(\w+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    assert sorted(listed) == sorted([*partage.__all__, "testing"])


def test_public_methods_are_described() -> None:
    missing = [
        f"{name}.{method}"
        for name in partage.__all__
        if inspect.isclass(found := getattr(partage, name))
        for method, value in vars(found).items()
        if not method.startswith("_")
        if callable(getattr(value, "fget", None) or getattr(value, "__func__", value))
        if not inspect.getdoc(value)
    ]
    assert missing == []
