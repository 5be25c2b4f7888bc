"""The program lists its commands without importing them, and imports the one that is called."""

from __future__ import annotations

from typing import Any

import pytest
from typer.core import TyperGroup
from typer.main import get_command

from partage.cli import app, output
from partage.cli.command_list import SECTION_OF, SECTIONS
from partage.cli.compat import ClickException


@pytest.fixture
def program() -> Any:
    return get_command(app)


@pytest.mark.parametrize("name", SECTION_OF)
def test_the_list_says_what_the_help_of_a_command_says(program: Any, name: str) -> None:
    listed, command = program.get_command(None, name), program.commands[name]
    assert listed.name == command.name == name
    assert listed.rich_help_panel == command.rich_help_panel == SECTION_OF[name]
    assert listed.help == " ".join(command.help.split("\n\n")[0].split())
    assert listed.help == SECTIONS[SECTION_OF[name]][name].summary


def test_every_command_has_its_context_and_variables(program: Any) -> None:
    for name, command in program.commands.items():
        below = command.commands if isinstance(command, TyperGroup) else {name: command}
        assert len(below) != 1 or not isinstance(command, TyperGroup)
        for one in below.values():
            [json] = [option for option in one.params if option.name == "json"]
            assert json.envvar[0].startswith(f"PARTAGE_{name}".upper().replace("-", "_"))
            assert one.context_class is output.Context


def test_only_the_command_that_is_called_is_imported(program: Any) -> None:
    context = program.make_context("partage", ["size"])
    assert program.list_commands(context) == list(program.commands) == list(SECTION_OF)
    assert len(program.commands) == len(SECTION_OF)
    completed = [one.value for one in program.shell_complete(context, "s")]
    assert completed == [name for name in SECTION_OF if name.startswith("s")] != []
    assert not program.commands.data
    name, command, rest = program.resolve_command(context, ["size", "group.json"])
    assert (name, rest) == ("size", ["group.json"])
    assert program.commands.data == {"size": command}


def test_a_command_that_does_not_exist(program: Any) -> None:
    context = program.make_context("partage", ["plan"])
    assert program.get_command(context, "pln") is None
    assert "pln" not in program.commands
    with pytest.raises(KeyError):
        program.commands["pln"]
    with pytest.raises(ClickException, match="Did you mean 'plan'"):
        program.resolve_command(context, ["pln"])
