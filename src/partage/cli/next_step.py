"""The suggested next command, printed last, with the arguments of this call.

Options from variables and ``partage.toml`` apply to the next command too, so they are left out.
"""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Collection
from pathlib import Path
from shutil import which
from typing import TYPE_CHECKING, Any

from typer.core import TyperArgument

from partage.cli import output, settings
from partage.cli.compat import Command, get_current_context
from partage.redaction import redacted

if TYPE_CHECKING:
    from partage.report.printing import PrintableConsole

_CLUSTER_OPTIONS = (
    ("--bootstrap-server", "bootstrap_server"),
    ("--command-config", "command_config"),
)

THROTTLE = "50MB"
"""The example shown where no throttle is known."""


def show(console: PrintableConsole, *words: str, written: str | None = None) -> None:
    """Print an empty line, then ``Written: plan/   Next: partage check plan/``, or one of the two.

    A command is never wrapped: if both do not fit into one line, they are printed in two.
    """
    parts = [] if written is None else [f"Written: {written}"]
    parts += [f"Next: {shlex.join((*program(), *words))}"] if words else []
    if not parts:
        return
    parts = [redacted(part) for part in parts]
    line = "   ".join(parts)
    output.print_line(console, "\n" + ("\n".join(parts) if len(line) > console.width else line))


def program() -> list[str]:
    """The words that call this program in the shell that called it: ``uv run partage`` where uv
    found it, its path where the shell would not find it by its name."""
    called = sys.argv[0]
    if not called.endswith("/partage"):
        return ["partage"]
    if os.environ.get("UV_RUN_RECURSION_DEPTH"):
        return [_uv(), "run", "partage"]
    found = which("partage")
    if found is not None and Path(found).samefile(called):
        return ["partage"]
    return [called]


def _uv() -> str:
    """uv by its name, or by its path where the shell would not find it."""
    path = os.environ.get("UV")
    if path is None or which("uv") is not None:
        return "uv"
    return os.path.relpath(path) if Path(path).is_relative_to(Path.cwd()) else path


_OUTPUTS = ("picture", "report")


def same_call(*names: str, without: Collection[str] = (), more: Collection[str] = ()) -> list[str]:
    """The words of another command (``"what-if", "churn"``) with the arguments of this call.

    Contains what was typed for arguments and options that the other command also has, except those
    in ``without`` and files that this call writes, followed by ``more``.
    """
    context = get_current_context()
    known = {one.name for one in _command(names).params} - {*_OUTPUTS, *without}
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


def cluster_options(*names: str) -> list[str]:
    """The options that connect the next command to the cluster: those of this call, or a
    placeholder if the cluster is not configured anywhere."""
    given = get_current_context().params
    found = [
        word
        for option, name in _CLUSTER_OPTIONS
        if settings.typed(name)
        for word in (option, str(given[name]))
    ]
    return found or ([] if _cluster_configured(names) else ["--bootstrap-server", "HOST:PORT"])


def throttle_options(*names: str, rate: str | None = None) -> list[str]:
    """The throttle of the next command, unless a variable or ``partage.toml`` sets it."""
    if _configured(names, "throttle"):
        return []
    return ["--throttle", rate or THROTTLE]


def _cluster_configured(names: tuple[str, ...]) -> bool:
    """Whether a variable or the project's file names the cluster."""
    variable = bool(os.environ.get("PARTAGE_BOOTSTRAP_SERVERS"))
    return variable or any(_configured(names, o) for o in ("bootstrap-server", "command-config"))


def _configured(names: tuple[str, ...], option: str) -> bool:
    """Whether a variable or the project's file sets an option of a command."""
    defaults: Any = get_current_context().obj.defaults
    for name in names:
        defaults = defaults.get(name, {})
    in_file = option.replace("-", "_") in defaults
    return in_file or any(map(os.environ.get, settings.variables(names, option)))


def _command(names: tuple[str, ...]) -> Command:
    found: Any = get_current_context().find_root().command
    for name in names:
        found = found.commands[name]
    command: Command = found
    return command
