"""What a shell completes, asked as the shells' scripts ask."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from partage.brokers.strategies import STRATEGIES
from partage.consumers.assignors import ASSIGNORS, BROKER_ASSIGNORS

Run = Callable[..., Any]


@pytest.fixture
def completed(run: Run, monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[str]]:
    """``completed("plan", "--lea")``: what bash is offered for the last word."""

    def call(*words: str) -> list[str]:
        monkeypatch.setenv("_PARTAGE_COMPLETE", "complete_bash")
        monkeypatch.setenv("COMP_WORDS", "\n".join(("partage", *words)))
        monkeypatch.setenv("COMP_CWORD", str(len(words)))
        ended = run()
        assert (ended.code, ended.err) == (0, "")
        return str(ended.out).split()

    return call


def test_commands_and_options(completed: Callable[..., list[str]]) -> None:
    assert completed("co") == ["compare"]
    assert {"plan", "check", "sandbox", "what-if", "doctor"} <= set(completed(""))
    assert completed("sandbox", "st") == ["stop", "start"]
    assert completed("plan", "--add") == ["--add-broker"]
    assert completed("plan", "c.json", "--detailed") == ["--detailed-exitcode"]


def test_values(completed: Callable[..., list[str]]) -> None:
    assert completed("plan", "--strategy", "") == list(STRATEGIES)
    assert completed("compare", "c.json", "--strategy", "gen") == ["generate"]
    assert completed("assign", "g.json", "--assignor", "") == list(
        {**ASSIGNORS, **BROKER_ASSIGNORS}
    )
    assert completed("what-if", "churn", "s.json", "--assignor", "coop") == ["cooperative-sticky"]
    assert completed("plan", "--leaders", "") == ["count", "rate"]
    assert completed("simulate", "--protocol", "c") == ["cooperative", "consumer"]
    assert completed("apply", "--on-broker-failure", "c") == ["cancel"]


def test_files_are_completed_by_the_shell(completed: Callable[..., list[str]]) -> None:
    """Nothing is offered, and the script says ``-o default``: files then."""
    assert completed("plan", "clus") == []
    assert completed("plan", "--profile", "pro") == []


def test_completion_ignores_a_wrong_project_file(
    completed: Callable[..., list[str]], tmp_path: Path
) -> None:
    (tmp_path / "partage.toml").write_text("[pla")
    assert completed("co") == ["compare"]


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")
def test_in_bash(tmp_path: Path) -> None:
    folder = Path(sys.executable).parent
    assert (folder / "partage").exists()
    environment = {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}", "HOME": str(tmp_path)}
    script = """
        source <(_PARTAGE_COMPLETE=source_bash partage)
        complete -p partage
        COMP_WORDS=(partage co); COMP_CWORD=1
        _partage_completion partage
        echo "offered: ${COMPREPLY[*]}"
    """
    ended = subprocess.run(
        ["bash", "--norc", "-c", script],
        env=environment,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout.splitlines()[-2:] == [
        "complete -o default -F _partage_completion partage",
        "offered: compare",
    ]


def test_the_scripts_can_be_shown(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    for shell, said in (
        ("bash", "complete -o default -F _partage_completion partage"),
        ("zsh", "#compdef partage"),
        ("fish", "complete --command partage"),
    ):
        monkeypatch.setenv("_PARTAGE_COMPLETE", f"source_{shell}")
        ended = run()
        assert ended.code == 0
        assert said in ended.out
