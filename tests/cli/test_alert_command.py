"""The command of ``watch --alert-command``: gets the event, and cannot end the watch."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path

import pytest

from partage.cli import alert_command as module
from partage.cli.alert_command import alert_command

EVENT = {"event": "alert", "at": "2026-09-21T14:16:00Z", "fairness": 1.75, "plan": None}


def test_it_gets_the_event_and_its_words(tmp_path: Path) -> None:
    file = tmp_path / "it's $HOME.json"
    run = alert_command(f"tee {shlex.quote(str(file))}")
    assert run(EVENT) == ""
    assert json.loads(file.read_text()) == EVENT


@pytest.mark.parametrize(
    ("program", "problem"),
    [
        ("import sys; sys.exit('no\\ndisk')", "ended with exit code 1: disk"),
        ("import os; os._exit(7)", "ended with exit code 7"),
        ("import time; time.sleep(9)", "did not end within 0.5 seconds"),
    ],
)
def test_what_goes_wrong_is_one_line(
    monkeypatch: pytest.MonkeyPatch, program: str, problem: str
) -> None:
    if "0.5" in problem:
        monkeypatch.setattr(module, "_SECONDS", 0.5)
    run = alert_command(shlex.join([sys.executable, "-c", program]))
    assert run(EVENT) == f"--alert-command: {sys.executable}: {problem}"


def test_a_program_that_is_gone_when_it_is_needed(tmp_path: Path) -> None:
    program = tmp_path / "page"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    run = alert_command(str(program))
    program.unlink()
    assert run(EVENT) == f"--alert-command: {program}: No such file or directory"
