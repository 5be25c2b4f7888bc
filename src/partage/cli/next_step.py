"""The next useful command: the last line of what people read, with the names of this call.

What variables and ``partage.toml`` say holds for the next command too, so it is not repeated.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Collection
from typing import Any

from rich.console import Console
from typer.core import TyperArgument

from partage.cli import output, settings
from partage.cli.compat import Command, get_current_context

_WHERE = (("--bootstrap-server", "bootstrap_server"), ("--command-config", "command_config"))

THROTTLE = "50MB"
"""An example, where nobody has said one."""


def show(console: Console, *words: str, written: str | None = None) -> None:
    """``Written: plan/   Next: partage check plan/`` below an empty line, whichever there is.

    A command is never broken: where the two do not fit beside each other, they are two lines.
    """
    said = [] if written is None else [f"Written: {written}"]
    said += [f"Next: {shlex.join(('partage', *words))}"] if words else []
    if not said:
        return
    line = "   ".join(said)
    output.say(console, "\n" + ("\n".join(said) if len(line) > console.width else line))


def again(*names: str, without: Collection[str] = (), more: Collection[str] = ()) -> list[str]:
    """This call as one of another command (``"what-if", "churn"``): what was typed of the arguments
    and options that it has too, but those in ``without``, and then ``more``."""
    context = get_current_context()
    known = {one.name for one in _command(names).params} - set(without)
    arguments: list[Any] = []
    options: list[Any] = []
    for parameter in context.command.params:
        value: Any = context.params.get(parameter.name)
        if parameter.name not in known or not settings.typed(parameter.name):
            continue
        several = value if isinstance(value, (list, tuple)) else [value]
        if isinstance(parameter, TyperArgument):
            arguments += several
        elif isinstance(value, bool):
            options += [parameter.opts[0]]
        else:
            options += [word for one in several for word in (parameter.opts[0], one)]
    return [*names, *map(str, (*arguments, *options, *more))]


def there(*names: str) -> list[str]:
    """The options by which the next command finds the cluster: those of this call, or a gap to
    fill in where nobody has said them."""
    given = get_current_context().params
    found = [
        word
        for option, name in _WHERE
        if settings.typed(name)
        for word in (option, str(given[name]))
    ]
    return found or ([] if _known(names) else ["--bootstrap-server", "HOST:PORT"])


def throttled(*names: str, rate: str | None = None) -> list[str]:
    """The throttle of the next command, unless it has one already."""
    if _set(names, "throttle"):
        return []
    return ["--throttle", rate or THROTTLE]


def _known(names: tuple[str, ...]) -> bool:
    """Whether something else than an option says where the cluster is."""
    variable = bool(os.environ.get("PARTAGE_BOOTSTRAP_SERVERS"))
    return variable or _set(names, "bootstrap-server") or _set(names, "command-config")


def _set(names: tuple[str, ...], option: str) -> bool:
    """Whether a variable or the project's file sets an option of a command."""
    defaults: Any = get_current_context().obj.defaults
    for name in names:
        defaults = defaults.get(name, {})
    said = option.replace("-", "_") in defaults
    return said or any(map(os.environ.get, settings.variables(names, option)))


def _command(names: tuple[str, ...]) -> Command:
    found: Any = get_current_context().find_root().command
    for name in names:
        found = found.commands[name]
    command: Command = found
    return command
