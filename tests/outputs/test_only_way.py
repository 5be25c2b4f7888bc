"""Nothing else in partage writes, renames or removes a file."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import pytest

from tests.modules import MODULES, SOURCE, tree

pytestmark = pytest.mark.xdist_group("source")  # tests.modules parses each module once

METHODS = {
    *("write_text", "write_bytes", "write_table", "touch", "truncate", "save", "writelines"),
    *("mkdir", "makedirs", "rename", "renames", "symlink_to", "hardlink_to", "chmod", "chown"),
    *("unlink", "rmdir", "removedirs", "rmtree", "copyfile", "copytree", "copy2", "move"),
    *("mkstemp", "mkdtemp", "NamedTemporaryFile", "TemporaryDirectory", "TemporaryFile"),
    *("extractall", "sendfile", "mkfifo", "posix_spawn"),
}
OF_OS = {"replace", "remove", "link", "symlink"}
FLAGS = {"O_WRONLY", "O_RDWR", "O_CREAT", "O_TRUNC", "O_APPEND"}

ALLOWED = {
    # temporary files of their own, in the system's folder for them
    ("demo/expansion.py", "TemporaryDirectory"),
    ("live/admin/key_stores.py", "TemporaryDirectory"),
    ("live/admin/tls.py", "mkstemp"),
    ("live/admin/tls.py", "unlink"),
    ("live/sandbox/security.py", "TemporaryDirectory"),
    ("live/sandbox/security.py", "write_text"),
    ("pipeline/stored_places.py", "TemporaryDirectory"),
    ("pipeline/session.py", "TemporaryFile"),
    ("pipeline/session.py", "NamedTemporaryFile"),
    ("pipeline/session.py", "writelines"),
    ("pipeline/shipping.py", "mkdtemp"),
    # the user's cache of jars, which are recognised by their SHA-256
    *(
        ("jars.py", what)
        for what in ("TemporaryDirectory", "mkdir", "mode wb", "replace", "unlink")
    ),
    # a folder only if it is empty
    ("live/sandbox/cluster.py", "rmdir"),
    # no file: a broker
    ("brokers/posing/broker_changes.py", "replace"),
    # no file: a replica
    ("flow/load_balancing/replicas.py", "move"),
    # a table into the directory that outputs made for it, or into memory
    *(("pipeline/sinks.py", what) for what in ("mkdir", "rename", "unlink")),
    ("pipeline/saving.py", "save"),
    # a file in a store
    ("pipeline/stores.py", "rename"),
    ("pipeline/sinks.py", "write_table"),
    # a plan, before it is put into a store
    ("pipeline/watch/folder.py", "TemporaryDirectory"),
    ("pipeline/watch/store.py", "mkdir"),
    ("pipeline/watch/store.py", "write_table"),
    # the journal, which outputs has opened
    ("live/execution/journal.py", "truncate"),
    # the log of a node, in a folder that outputs made, after outputs has renamed the older log
    ("live/sandbox/process.py", "posix_spawn"),
    ("live/sandbox/process.py", "flags"),
    # Spark's format noop, which reads every row and writes nothing
    ("pipeline/damaged.py", "save"),
    # the null device in place of a closed stream
    ("cli/__init__.py", "flags"),
    ("cli/output.py", "mode w"),
}
"""(module, call): writes elsewhere, or with a file or folder that ``outputs`` has made."""


def mode_of(call: ast.Call, place: int) -> str:
    """The mode of a call of ``open``, if it is given as text."""
    given = [one.value for one in call.keywords if one.arg == "mode"] or call.args[place:][:1]
    return str(given[0].value) if given and isinstance(given[0], ast.Constant) else ""


def writes(code: ast.AST) -> Iterator[tuple[str, int]]:
    for node in ast.walk(code):
        if isinstance(node, ast.Attribute) and node.attr in FLAGS:
            yield "flags", node.lineno
        if not isinstance(node, ast.Call):
            continue
        function = node.func
        if isinstance(function, ast.Name) and function.id == "open":
            mode = mode_of(node, 1)
        elif isinstance(function, ast.Attribute):
            name = function.attr
            owner = function.value.id if isinstance(function.value, ast.Name) else ""
            if name in METHODS or (owner == "os" and name in OF_OS):
                yield name, node.lineno
            elif name == "replace" and len(node.args) == 1 and not node.keywords:
                yield "replace", node.lineno  # of a path: that of a text takes two
            mode = mode_of(node, 0) if name == "open" else ""
        else:
            continue
        if set(mode) & set("wax+"):
            yield f"mode {mode}", node.lineno


def test_only_outputs_writes() -> None:
    found, lines = set(), []
    for module in MODULES:
        name = module.relative_to(SOURCE).as_posix()
        if name.startswith("outputs/"):
            continue
        for what, line in writes(tree(module)):
            found.add((name, what))
            if (name, what) not in ALLOWED:
                lines.append(f"{name}:{line}: {what}: use partage.outputs")
    assert not lines, "\n".join(lines)
    assert found == ALLOWED, f"no longer used: {ALLOWED - found}"


@pytest.mark.parametrize(
    "code",
    [
        "Path(p).write_text('x')",
        "open(p, 'w')",
        "open(p, mode='ab')",
        "Path(p).open('r+')",
        "os.open(p, os.O_CREAT)",
        "os.replace(a, b)",
        "a.replace(b)",
        "shutil.rmtree(a)",
        "pq.write_table(t, p)",
        "os.remove(p)",
    ],
)
def test_writes_are_noticed(code: str) -> None:
    assert list(writes(ast.parse(code)))


@pytest.mark.parametrize(
    "code", ["open(p)", "p.open('rb')", "'a'.replace('a', 'b')", "a.remove(1)"]
)
def test_reads_are_not(code: str) -> None:
    assert not list(writes(ast.parse(code)))
