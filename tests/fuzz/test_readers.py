"""No reader escapes: each input of a command, and each place that opens a file has a Reader."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("kafka")
pytest.importorskip("pyspark")

from typer.main import get_command

import partage
from partage.cli import app, settings
from tests.fuzz.readers import READERS

ROOT = Path(partage.__file__).parent

NAMES_A_FILE = re.compile(r"(PLAN|CLUSTER|GROUP|SCENARIO|RECORDS|LOGS|DIR|FILES?|FOLDER)\b")
OUTPUTS = {"out", "picture", "report", "metrics"}
NOT_A_FILE = {"name GROUP": "the name of a group", "lag_threshold RECORDS": "a number"}

OPENS = {"read_input", "read_text", "read_bytes", "read_json", "read_table", "fdopen", "open"}
"""Functions and methods that read a file, by name."""

NOT_OF_A_FILE = {"Journal", "Sandbox", "stream", "store"}
"""What has a method of such a name, which reads no file itself."""

OTHERS = {
    "cli": "the null device",
    "files": "what the readers call",
    "installation": "written by what installed partage",
    "jars": "compared by SHA-256 before use",
    "java": "of the Java installation",
    "json_input": "what the readers call",
    "live.admin.oauth": "an answer of a token endpoint, tested with wrong ones",
    "live.sandbox.folder": "a lock",
    "live.sandbox.launch": "a log of Kafka, shown as it is",
    "live.sandbox.process": "/proc",
    "live.sandbox.security": "written by the sandbox a moment before, or by openssl",
    "outputs.durable": "the folder of an output",
    "outputs.file": "the place of an output",
    "outputs.place": "the place of an output",
    "pipeline.session": "of the Spark installation",
    "pipeline.stores": "the marker of an output",
    "pipeline.shipping": "partage's own modules",
    "report.frame": "partage's own templates",
}
"""Modules that open files which are not input, and why."""

READ_BY_SPARK = {"pipeline.sources.csv", "pipeline.sources.columnar", "pipeline.history.lines"}


def test_every_input_of_a_command_has_a_reader() -> None:
    known = {parameter for reader in READERS for parameter in reader.parameters}
    found = {
        f"{one.name} {one.metavar}"
        for _, command in settings.commands(get_command(app))
        for one in command.params
        if NAMES_A_FILE.match(getattr(one, "metavar", None) or "") and one.name not in OUTPUTS
    }
    assert found - set(NOT_A_FILE) - known == set(), "add them to a Reader, or a Reader for them"
    assert known <= found, "no command has them"


def test_every_module_that_opens_files_has_a_reader() -> None:
    covered = {module for reader in READERS for module in reader.modules}
    opening = {dotted(path) for path in ROOT.rglob("*.py") if list(opened_at(path))}
    assert opening - covered - set(OTHERS) == set(), "add them to a Reader, or a Reader for them"
    assert covered | set(OTHERS) <= opening | READ_BY_SPARK
    assert not covered & set(OTHERS)


def dotted(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def opened_at(path: Path) -> Iterator[int]:
    """Lines with a call that opens a file to read it."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call):
            name = getattr(node.func, "attr", getattr(node.func, "id", ""))
            of = getattr(getattr(node.func, "value", None), "id", "")
            if of in NOT_OF_A_FILE:
                continue
            modes = [a.value for a in node.args if isinstance(a, ast.Constant)]
            if name in OPENS and not any(isinstance(m, str) and m[:1] in "wx" for m in modes if m):
                yield node.lineno
