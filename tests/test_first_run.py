"""What a reader types, in a new shell in a fresh clone: ``make demo`` and the tour of README.md,
then each how-to on its own.

The shell knows nothing of this environment. uv takes the packages from its cache. A page may use
only what it has typed itself: its commands go to one shell, its Python snippets to one Python in a
second terminal, in their order.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import IO, Self

import pytest

from partage.live.sandbox import MARKER, Sandbox
from tests.test_docs import (
    GET_STARTED,
    HOW_TOS,
    NOT_RUN,
    ROOT,
    Fence,
    check_output,
    check_pictures,
    fences,
    marks_of,
)
from tests.test_packaging import UV

SECONDS = 900
"""For all commands of a page."""

ELSEWHERE = ("uv tool ", "partage apply ")
"""Installs for the user: tests/test_packaging.py. Needs a running Kafka: docs/get-started.md."""

OF_TESTS = ("PARTAGE_", "PYTHON", "PYTEST_", "SPARK_", "UV_RUN_", "VIRTUAL_ENV", "COVERAGE_")
"""Variables that a new shell does not have; those of the network stay."""

END = "-- ended with"
"""Printed after each command, with its exit code."""

INSTALLS = "not run: installs packages"
"""The note of fences that this test runs nevertheless."""

FILE = re.compile(r"# (\w+\.py)\n")
"""How a snippet begins that is the content of a file."""

PYTHON = f"""\
import sys, traceback
names = {{"__name__": "__main__"}}
for line in sys.stdin:
    code = 0
    try:
        exec(compile(eval(line), "snippet", "exec"), names)
    except BaseException:
        traceback.print_exc()
        code = 1
    print("\\n{END}", code, flush=True)
"""
"""A Python that runs a snippet per line, and waits for the next."""

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(UV is None, reason="no uv, on the PATH or in .tools/bin"),
    pytest.mark.skipif(not (ROOT / ".git").exists(), reason="not a clone"),
]


class Terminal:
    """A program that reads commands from its input, in a folder: a shell or a Python."""

    def __init__(self, command: list[str], folder: Path, environment: Mapping[str, str]) -> None:
        self._errors: IO[bytes] = (folder.parent / f"errors-{command[0]}").open("w+b")
        self._process = subprocess.Popen(
            ["timeout", str(SECONDS), *command],
            cwd=folder,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: object, trace: TracebackType | None
    ) -> None:
        if kind is not None:
            self._process.kill()
        with self._process:
            pass
        self._errors.close()

    def type(self, line: str) -> tuple[int, str, str]:
        """Exit code, standard output and standard error of what is typed."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        before = self._errors.seek(0, os.SEEK_END)
        self._process.stdin.write(line)
        self._process.stdin.flush()
        printed = []
        for found in self._process.stdout:
            if found.startswith(END):
                self._errors.seek(before)
                errors = self._errors.read().decode()
                return int(found.removeprefix(END)), "".join(printed)[:-1], errors
            printed.append(found)
        raise AssertionError(f"the program ended: {''.join(printed)}")


class Shell(Terminal):
    """A new shell without settings of a user."""

    def __init__(self, folder: Path, environment: Mapping[str, str]) -> None:
        super().__init__(["bash", "--noprofile", "--norc"], folder, environment)

    def type(self, line: str) -> tuple[int, str, str]:
        return super().type(f"{line}\ncode=$?; echo; echo '{END}' $code\n")


class Snippets(Terminal):
    """A Python whose snippets share their names, in another terminal than the shell."""

    def __init__(self, folder: Path, environment: Mapping[str, str]) -> None:
        super().__init__(["python", "-c", PYTHON], folder, environment)

    def type(self, line: str) -> tuple[int, str, str]:
        return super().type(f"{line!r}\n")


def new_clone(folder: Path) -> Path:
    subprocess.run(["git", "clone", "--quiet", str(ROOT), str(folder)], check=True)
    return folder


def new_environment(programs: Path) -> dict[str, str]:
    """The variables of a new shell whose PATH has uv and what the system has."""
    programs.mkdir()
    (programs / "uv").symlink_to(UV or "")
    found = {name: value for name, value in os.environ.items() if not name.startswith(OF_TESTS)}
    found["PATH"] = f"{programs}:/usr/local/bin:/usr/bin:/bin"
    assert shutil.which("partage", path=found["PATH"]) is None
    return found


def typed(fence: Fence, shell: Terminal, command: str, shown: list[str]) -> tuple[str, str]:
    """Type a command; its output is the one shown. Returns what it printed and its errors."""
    code, out, err = shell.type(command)
    assert code == fence.code, f"{fence.place}: {command}: {code}\n{out}{err}"
    if shown:
        check_output(fence, shown, err if code == 2 else out)
    return out, err


@pytest.mark.spark
@pytest.mark.xdist_group("tour")
def test_the_tour_from_a_fresh_clone(tmp_path: Path) -> None:
    clone, environment = new_clone(tmp_path / "partage"), new_environment(tmp_path / "programs")
    commands = []
    with Shell(clone, environment) as shell:
        for fence in fences(ROOT / "README.md"):
            if fence.language == "python":
                typed(fence, shell, f"python - <<'EOF'\n{fence.body}EOF", [])
            elif fence.language in ("sh", "console"):
                for command, shown in fence.steps():
                    if not command.startswith(ELSEWHERE):
                        commands.append((command, *typed(fence, shell, command, shown)))
    assert [command.split()[0] for command, *_ in commands[:3]] == ["make", ".", "cp"]
    printed = commands[0][1]
    assert ". .venv/bin/activate" in printed  # what make demo says to type is what README types
    assert (clone / "demo" / "plan" / "report.html").is_file()
    assert (clone / "plan" / "report.html").is_file()


@pytest.fixture(scope="module")
def activated(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The variables after ``. .venv/bin/activate``, with the packages of this environment."""
    found = new_environment(tmp_path_factory.mktemp("how-tos") / "programs")
    return found | {"PATH": f"{Path(sys.prefix) / 'bin'}:{found['PATH']}"}


@pytest.fixture
def clone(tmp_path: Path) -> Iterator[Path]:
    yield new_clone(tmp_path / "partage")
    if (tmp_path / "partage" / "sandbox" / MARKER).exists():  # a page that failed halfway
        Sandbox.open(tmp_path / "partage" / "sandbox").down()


def follow(page: Path, folder: Path, environment: Mapping[str, str], notes: str = "") -> None:
    """Type everything that a page shows; fences that are not run too, if their note begins so."""
    snippets: Snippets | None = None
    with ExitStack() as open_terminals:
        shell = open_terminals.enter_context(Shell(folder, environment))
        for fence in fences(page):
            if fence.left_out and not (notes and fence.note.startswith(notes)):
                continue
            if fence.language == "python" and (named := FILE.match(fence.body)):
                (folder / named[1]).write_text(fence.body, encoding="utf-8")
            elif fence.language == "python":
                snippets = snippets or open_terminals.enter_context(Snippets(folder, environment))
                typed(fence, snippets, fence.body, [])
            elif fence.language in ("sh", "console"):
                for command, shown in fence.steps():
                    if command.split()[0] not in NOT_RUN:
                        typed(fence, shell, command, shown)
    check_pictures(folder)


def alone(page: Path) -> list[pytest.MarkDecorator]:
    """Beside other pages: each has a Spark or a Kafka of its own."""
    return [*marks_of(page), pytest.mark.xdist_group(page.stem)]


@pytest.mark.parametrize(
    "page", [pytest.param(page, id=page.stem, marks=alone(page)) for page in HOW_TOS]
)
def test_a_how_to_from_a_fresh_shell(page: Path, clone: Path, activated: dict[str, str]) -> None:
    follow(page, clone, activated)


@pytest.mark.kafka
@pytest.mark.xdist_group("get started")
def test_get_started_from_a_fresh_shell(tmp_path: Path, clone: Path) -> None:
    """Also the line that installs, for a user of their own."""
    environment = new_environment(tmp_path / "programs")
    for name in ("UV_TOOL_DIR", "UV_TOOL_BIN_DIR"):
        environment[name] = str(tmp_path / name)
    environment["PATH"] = f"{tmp_path / 'UV_TOOL_BIN_DIR'}:{environment['PATH']}"
    follow(GET_STARTED, clone, environment, notes=INSTALLS)
