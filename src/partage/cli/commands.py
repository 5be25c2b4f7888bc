"""The program: it imports and builds a command when it is called.

Lists of commands, such as the help and shell completion, need only ``command_list``.
"""

from __future__ import annotations

import os
import sys
from collections import UserDict
from collections.abc import Callable, Iterator, Mapping
from functools import wraps
from importlib import import_module
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

from partage.cli import output, settings
from partage.cli.command_list import SECTION_OF, SECTIONS
from partage.cli.compat import ClickException, Command, Context, get_current_context
from partage.errors import InputError, PartageError, shown


class Commands(TyperGroup):
    """A group of all commands."""

    def __init__(self, **named: Any) -> None:
        super().__init__(**named)
        self.commands = _Imported()

    def list_commands(self, ctx: Context) -> list[str]:
        """Their names."""
        return list(SECTION_OF)

    def get_command(self, ctx: Context, cmd_name: str) -> Command | None:
        """A command as lists show it: without its options."""
        section = SECTION_OF.get(cmd_name)
        if section is None:
            return None
        summary = SECTIONS[section][cmd_name].summary
        return TyperCommand(cmd_name, help=summary, rich_help_panel=section)

    def resolve_command(
        self, ctx: Context, args: list[str]
    ) -> tuple[str | None, Command | None, list[str]]:
        """The command that is called, and its arguments."""
        name, listed, rest = super().resolve_command(ctx, args)
        return name, self.commands[name] if name and listed else None, rest


class _Imported(UserDict[str, Command]):
    """The commands by their names, each imported when it is first asked for."""

    def __missing__(self, name: str) -> Command:
        self.data[name] = _built(name)
        return self.data[name]

    def __contains__(self, name: object) -> bool:
        return name in SECTION_OF

    def __iter__(self) -> Iterator[str]:
        return iter(SECTION_OF)

    def __len__(self) -> int:
        return len(SECTION_OF)


def _built(name: str) -> Command:
    """The command of this name, or the group. Raises KeyError."""
    from partage.cli.parameters import expanded

    section = SECTION_OF[name]
    module, summary = SECTIONS[section][name]
    found = getattr(import_module(f"partage.cli.{module}"), name.replace("-", "_"))
    app = typer.Typer(name=name, help=summary, no_args_is_help=True, add_completion=False)
    for function in found if isinstance(found, tuple) else (found,):
        app.command()(expanded(function))
    command = get_command(app)
    assert isinstance(command, (TyperCommand, TyperGroup))
    command.rich_help_panel = section
    for path, one in settings.commands(command, (name,)):
        prepare(path, one)
    return command


def prepare(path: settings.CommandPath, command: Command) -> Command:
    """The command with its variables and the form of its errors."""
    settings.bind(path, command)
    command.context_class = output.Context
    if path and command.callback is not None:
        command.callback = _checked(command.callback, path)
    return command


def _checked(callback: Callable[..., Any], path: settings.CommandPath) -> Callable[..., Any]:
    """A command that reports a mistake in partage.toml, warns of misspelt variables, and names
    options as they are typed."""

    @wraps(callback)
    def call(*arguments: Any, **named: Any) -> Any:
        context = get_current_context()
        if context.command.name != "doctor":
            for file in context.obj.ignored:
                output.print_aside(f"! {file.name}: {file.reason}: ignored; {file.advice}")
            _warn_of_variables(context, path)
        try:
            if context.obj.error is not None and context.command.name != "doctor":
                raise context.obj.error
            _refuse_unusable(context.params)
            return callback(*arguments, **named)
        except PartageError as error:
            from partage.cli.spelling import respell

            respell(error, context)
            error.exit_code = exit_code(error, context)
            raise

    return call


def _warn_of_variables(context: Context, path: settings.CommandPath) -> None:
    """Print a line for each variable that is likely meant for this command and is not read."""
    if not any(name.startswith(f"{settings.PREFIX}_") for name in os.environ):
        return
    from partage.cli.variables import misspelt

    commands: Any = context.find_root().command
    for name, advice in misspelt(commands.commands[path[0]], path):
        output.print_aside(f"! {name}: is not a variable of partage: ignored; {advice}")


def _refuse_unusable(parameters: Mapping[str, Any]) -> None:
    """Raise InputError for a text that cannot be a name of a file: with NUL, or half of a surrogate
    pair. A settings file may contain these."""
    for name, value in parameters.items():
        for text in value if isinstance(value, (list, tuple)) else [value]:
            if isinstance(text, str) and ("\0" in text or not _is_encodable(text)):
                raise InputError(f"{name} {shown(text)}", "contains NUL or half of a character")


def _is_encodable(text: str) -> bool:
    try:
        os.fsencode(text)
    except UnicodeEncodeError:
        return False
    return True


def exit_code(error: PartageError | ClickException, context: Context | None) -> int:
    """The exit code: with ``--detailed-exitcode``, 2 means changes, not bad input."""
    flag = None if context is None else settings.options(context.command).get("detailed-exitcode")
    if context is None or flag is None:
        return error.exit_code
    given: Any = "--detailed-exitcode" in sys.argv or flag.consume_value(context, {})[0]
    try:
        return 1 if flag.process_value(context, given) else error.exit_code
    except ClickException:  # the variable is not a boolean
        return error.exit_code
