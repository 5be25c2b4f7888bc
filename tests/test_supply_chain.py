"""What is installed and downloaded is declared, locked by hash, and listed with its licence."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from importlib.metadata import packages_distributions
from pathlib import Path
from typing import Any

import pytest

from partage.jars import LOCKS, locked_jars
from tests.modules import MODULES
from tests.test_layers import imports

pytestmark = pytest.mark.xdist_group("source")  # tests.modules parses each module once

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
LOCK = tomllib.loads((ROOT / "uv.lock").read_text(encoding="utf-8"))["package"]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))

PINNED = sorted([*ROOT.glob("scripts/*.txt"), *ROOT.glob("benchmarks/peers/*.txt")])

ALWAYS = "always"
"""Stands for the dependencies that every installation has."""

EXTRA_OF = {
    "pipeline": {"spark", "connect", "kafka"},
    "measuring": {"spark"},
    "measured_loads": {"spark"},
    "producers": {"spark"},
    "live": {"kafka", "aiokafka"},
    "demo": {"kafka"},
    "testing": {"kafka"},
}
"""The extras whose packages a package of src may import."""


NOT_DECLARED = {"gssapi": "built against the machine's Kerberos: there are no wheels"}
"""Packages that users install if they want what they are for, and why they are not in an extra."""


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", re.match(r"[\w.-]+", name)[0]).lower()  # type: ignore[index]


@cache
def providers() -> dict[str, set[str]]:
    """Which distributions provide a module."""
    return {m: {normal(one) for one in names} for m, names in packages_distributions().items()}


def declared() -> dict[str, set[str]]:
    """Distribution: the extras that install it, or ALWAYS."""
    groups = {ALWAYS: PROJECT["dependencies"], **PROJECT["optional-dependencies"]}
    found: dict[str, set[str]] = {}
    for extra, requirements in groups.items():
        for requirement in requirements:
            found.setdefault(normal(requirement), set()).add(extra)
    return found


def foreign_imports() -> Iterator[tuple[str, str, str]]:
    """(package of src, place, module) of each import that is neither ours nor Python's."""
    for path in MODULES:
        for name, line, _ in imports(path):
            module = name.partition(".")[0]
            if module != "partage" and module not in sys.stdlib_module_names:
                package = path.relative_to(ROOT / "src" / "partage").with_suffix("").parts[0]
                yield package, f"{path.relative_to(ROOT)}:{line}", module


def test_only_declared_packages_are_imported() -> None:
    wrong, seen = [], set()
    for package, place, module in foreign_imports():
        if module in NOT_DECLARED:
            continue
        allowed = {ALWAYS} | EXTRA_OF.get(package, set())
        extras = {e for name in providers().get(module, ()) for e in declared().get(name, ())}
        seen |= extras
        if not extras & allowed:
            wrong.append(f"{place}: {module}: declared in {sorted(extras) or 'no dependency'}")
    assert wrong == []
    assert seen >= {ALWAYS, "spark", "kafka", "aiokafka"}


def test_every_dependency_is_imported() -> None:
    used = {name for _, _, module in foreign_imports() for name in providers().get(module, ())}
    indirect = {"pandas"}  # Spark converts through it
    assert declared().keys() - used == indirect


def test_every_locked_file_has_a_hash() -> None:
    registry = [one for one in LOCK if one["source"] != {"editable": "."}]
    assert len(registry) > 100
    for package in registry:
        assert package["source"] == {"registry": "https://pypi.org/simple"}
        files = [*package.get("wheels", ()), *([package["sdist"]] if "sdist" in package else [])]
        assert files
        for file in files:
            assert file["url"].startswith("https://")
            assert re.fullmatch(r"sha256:[0-9a-f]{64}", file["hash"])


def test_uv_is_pinned_by_hash() -> None:
    pinned = (ROOT / "scripts" / "uv.txt").read_text(encoding="utf-8")
    (version,) = re.findall(r"^uv==(\S+)", pinned, re.MULTILINE)
    assert len(re.findall(r"--hash=sha256:[0-9a-f]{64}", pinned)) > 10
    for workflow in WORKFLOWS:
        text = workflow.read_text(encoding="utf-8")
        steps = text.count("astral-sh/setup-uv@")
        assert text.count(f'version: "{version}"') == steps
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    installs = re.findall(r"pip install .*", makefile)
    assert installs
    assert all("--require-hashes" in one for one in installs)
    assert "sync --locked" in makefile


@pytest.mark.parametrize("file", PINNED, ids=lambda path: path.stem)
def test_every_pinned_requirement_has_a_hash(file: Path) -> None:
    text = file.read_text(encoding="utf-8").replace("\\\n", " ")
    assert text
    for line in text.splitlines():
        assert re.fullmatch(r"[\w-]+==\S+(\s+--hash=sha256:[0-9a-f]{64})+", line)


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.stem)
def test_actions_are_pinned_by_commit(workflow: Path) -> None:
    uses = re.findall(r"uses: *(.*)", workflow.read_text(encoding="utf-8"))
    assert uses
    wrong = [one for one in uses if not re.fullmatch(r"[\w./-]+@[0-9a-f]{40} # v[\d.]+", one)]
    assert wrong == []


@pytest.fixture(scope="module")
def sbom(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that scripts/sbom.py writes, from what uv.lock says of the runtime's packages."""
    folder = tmp_path_factory.mktemp("sbom")
    names = {"numpy", "pyspark", "kafka-python"}
    exported = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "components": [
            {
                "type": "library",
                "bom-ref": f"{one['name']}@{one['version']}",
                "name": one["name"],
                "version": one["version"],
                "purl": f"pkg:pypi/{one['name']}@{one['version']}",
            }
            for one in LOCK
            if one["name"] in names
        ],
    }
    script = [sys.executable, ROOT / "scripts" / "sbom.py"]
    run = subprocess.run(
        script, input=json.dumps(exported), cwd=folder, capture_output=True, text=True, timeout=60
    )
    assert run.returncode == 0, run.stderr
    return folder / "sbom"


@pytest.mark.long
def test_the_bill_of_materials_is_valid(sbom: Path) -> None:
    # its import takes seconds
    from cyclonedx.schema import SchemaVersion
    from cyclonedx.validation.json import JsonStrictValidator

    text = (sbom / "partage.cdx.json").read_text(encoding="utf-8")
    assert JsonStrictValidator(SchemaVersion.V1_5).validate_str(text) is None


def test_it_lists_packages_and_jars_with_licences(sbom: Path) -> None:
    bom = json.loads((sbom / "partage.cdx.json").read_text(encoding="utf-8"))
    components: dict[str, Any] = {one["purl"]: one for one in bom["components"]}
    assert all(one["licenses"] for one in components.values())
    assert {"numpy", "pyspark", "kafka-python"} <= {one["name"] for one in components.values()}
    for lock in LOCKS.glob("*.toml"):
        for jar in locked_jars(lock.stem):
            one = components[f"pkg:maven/{jar.group}/{jar.artifact}@{jar.version}"]
            assert one["hashes"] == [{"alg": "SHA-256", "content": jar.sha256}]
            assert {"name": "partage:jars", "value": lock.stem} in one["properties"]
    lines = (sbom / "licences.txt").read_text(encoding="utf-8").splitlines()
    assert len(lines) == len(components)
    assert "pkg:maven/org.apache.kafka/kafka-clients@4.3.0  Apache-2.0" in lines
