"""Variables that partage does not read: a warning of the command that they could be meant for."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from partage.cli import app
from partage.cli.variables import advice, of_all_commands, of_options

pytestmark = pytest.mark.usefixtures("no_variables")

Run = Callable[..., Any]

MISSPELT = {
    "PARTAGE_PLAN_LEADER": "did you mean PARTAGE_PLAN_LEADERS?",
    "PARTAGE_PLN_LEADERS": "did you mean PARTAGE_PLAN_LEADERS?",
    "PARTAGE_SASL_MECHANSM": "did you mean PARTAGE_SASL_MECHANISM?",
    "PARTAGE_COMAND_CONFIG": "did you mean PARTAGE_COMMAND_CONFIG?",
    "PARTAGE_Q": "unset it: nothing reads it",
}


@pytest.mark.parametrize("name", MISSPELT)
def test_a_misspelt_variable_is_a_warning(
    run: Run, small: str, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    plain = run("plan", small)
    monkeypatch.setenv(name, "geheim")
    ended = run("plan", small)
    assert (ended.code, ended.out) == (0, plain.out)
    assert ended.err == f"! {name}: is not a variable of partage: ignored; {MISSPELT[name]}\n"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("PARTAGE_PLAN_LEADER", ""),  # as good as not set
        ("PARTAGE_APPLY_THROTTL", "5MB"),  # apply warns of it
        ("PARTAGE_APPLY_THROTTLE", "5MB"),
        ("PARTAGE_MASTER", "local"),
        ("PARTAGE_KAFKA_JARS", "libs"),
        ("PARTAGE_SSL_KEY_PASSWORD", "geheim"),
        ("PARTAGE_SERVICE_HOST", "10.0.0.1"),
        ("PARTAGE_WEB_SERVICE_PORT_HTTP", "80"),
        ("PARTAGE_PORT", "tcp://10.0.0.1:80"),
        ("PARTAGE_PORT_80_TCP_ADDR", "10.0.0.1"),
        ("PARTAGER", "1"),
    ],
)
def test_other_variables_are_none(
    run: Run, small: str, monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    monkeypatch.setenv(name, value)
    assert run("plan", small).err == ""


def test_a_command_of_a_group(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PARTAGE_SANDBOX_DR", "x")
    monkeypatch.setenv("PARTAGE_SANDBOX_UP_BROKRS", "3")
    monkeypatch.setenv("PARTAGE_SANDBOX_UP_BROKERS", "3")
    assert run("sandbox", "down").err.splitlines()[:2] == [
        "! PARTAGE_SANDBOX_DR: is not a variable of partage: ignored; "
        "did you mean PARTAGE_SANDBOX_DIR?",
        "! PARTAGE_SANDBOX_UP_BROKRS: is not a variable of partage: ignored; "
        "did you mean PARTAGE_SANDBOX_UP_BROKERS?",
    ]


def test_all_that_doctor_knows() -> None:
    known = of_options(get_command(app)) | of_all_commands()
    assert {"PARTAGE_SANDBOX_UP_DIR", "PARTAGE_SANDBOX_DIR", "PARTAGE_SETTINGS"} <= known
    assert advice("PARTAGE_APPLY_THROTTL", known) == "did you mean PARTAGE_APPLY_THROTTLE?"


def test_no_variable_imports_nothing(small: str, tmp_path: Path) -> None:
    code = (
        "import sys; sys.argv = ['partage', 'check', 'nosuch']\n"
        "from partage.cli import main\n"
        "try: main()\n"
        "except SystemExit: print('partage.cli.variables' in sys.modules)"
    )
    for more, imported in (({}, "False"), ({"PARTAGE_CHECK_JSON": "0"}, "True")):
        ended = subprocess.run(
            [sys.executable, "-c", code],
            env=os.environ | more,
            capture_output=True,
            text=True,
            check=True,
        )
        assert ended.stdout.splitlines()[-1] == imported
