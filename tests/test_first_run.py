"""What a reader types first: ``make demo`` in a fresh clone, then the tour of README.md.

The shell is a new one that knows nothing of this environment. uv takes the packages from its cache.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.test_docs import ROOT, Fence, check_output, fences
from tests.test_packaging import UV

SECONDS = 900
ELSEWHERE = ("uv tool ", "partage apply ")
"""Installs for the user: tests/test_packaging.py. Needs a running Kafka: docs/get-started.md."""

OF_TESTS = ("PARTAGE_", "PYTHON", "PYTEST_", "SPARK_", "UV_RUN_", "VIRTUAL_ENV", "COVERAGE_")
"""Variables that a new shell does not have; those of the network stay."""

END = "-- ended with"
"""Printed after each command, with its exit code."""

pytestmark = [
    pytest.mark.long,
    pytest.mark.spark,
    pytest.mark.skipif(UV is None, reason="no uv, on the PATH or in .tools/bin"),
    pytest.mark.skipif(not (ROOT / ".git").exists(), reason="not a clone"),
]


def tour() -> list[tuple[Fence, str, list[str]]]:
    """The commands of README.md, with the output shown; a snippet as a command."""
    found = []
    for fence in fences(ROOT / "README.md"):
        if fence.language == "python":
            found.append((fence, f"python - <<'EOF'\n{fence.body}EOF", []))
        elif fence.language in ("sh", "console"):
            found += [(fence, *step) for step in fence.steps() if not step[0].startswith(ELSEWHERE)]
    return found


def typed(commands: list[str], folder: Path, environment: dict[str, str]) -> list[tuple[int, str]]:
    """Exit code and standard output of each command in one new shell."""
    script = "".join(f"{command}\ncode=$?; echo; echo '{END}' $code\n" for command in commands)
    shell = subprocess.run(
        ["bash", "--noprofile", "--norc"],
        input=script,
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=SECONDS,
    )
    parts = shell.stdout.split(f"\n{END} ")
    assert len(parts) == len(commands) + 1, shell.stderr
    outputs = [parts[0], *(part.partition("\n")[2] for part in parts[1:])]
    codes = [int(part.partition("\n")[0]) for part in parts[1:]]
    assert not any(codes), f"{dict(zip(commands, codes, strict=True))}\n{shell.stderr}"
    return list(zip(codes, outputs, strict=False))


def test_the_tour_from_a_fresh_clone(tmp_path: Path) -> None:
    clone, programs = tmp_path / "partage", tmp_path / "programs"
    subprocess.run(["git", "clone", "--quiet", str(ROOT), str(clone)], check=True)
    programs.mkdir()
    (programs / "uv").symlink_to(UV or "")
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith(OF_TESTS)
    }
    environment["PATH"] = f"{programs}:/usr/local/bin:/usr/bin:/bin"
    assert shutil.which("partage", path=environment["PATH"]) is None

    steps = tour()
    commands = [command for _, command, _ in steps]
    assert [command.split()[0] for command in commands[:3]] == ["make", ".", "cp"]
    ended = typed(commands, clone, environment)
    for (fence, _, shown), (_, printed) in zip(steps, ended, strict=True):
        if shown:
            check_output(fence, shown, printed)
    printed = ended[0][1]
    assert ". .venv/bin/activate" in printed  # what make demo says to type is what README types
    assert (clone / "demo" / "plan" / "report.html").is_file()
    assert (clone / "plan" / "report.html").is_file()
