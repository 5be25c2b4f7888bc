"""Options from ``PARTAGE_*`` variables and from a project's ``partage.toml``.

An option that is not on the command line is read from its variable, then from the settings file
(``settings_file``). click implements this order (``envvar`` and ``default_map``). This module gives
click the names of the variables, and the values of the file once every name in it is known.

Names follow the commands. ``--leaders`` of ``plan`` is ``PARTAGE_PLAN_LEADERS``, or ``leaders``
below ``[plan]``. A command of a group has two forms of each: ``--dir`` of ``sandbox up`` is
``PARTAGE_SANDBOX_UP_DIR`` or ``PARTAGE_SANDBOX_DIR``, and ``dir`` below ``[sandbox.up]`` or
``[sandbox]``. Options that mean the same in all commands (``SHARED``) can be set once:
``PARTAGE_MASTER``, or ``master`` at the top of the file.

Values of the file become the text that the command line would have, so that they are parsed in one
way. A relative path is relative to the file. Secrets are rejected: the file is part of the project,
and often in version control.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping
from datetime import date, time
from difflib import get_close_matches
from typing import Any, NamedTuple, TypeAlias

from typer.core import TyperOption

from partage.cli.compat import Command, Context, ParameterSource, get_current_context
from partage.cli.settings_file import VARIABLE, Ignored, refusal, settings_file
from partage.errors import InputError

PREFIX = "PARTAGE"

SHARED = ("bootstrap-server", "command-config", "master")
"""Options that can be set once for all commands."""

PATH = re.compile(r"(DIR|FILES?|FOLDER)(\.\w+)?")
"""The metavars of options whose values are paths."""

_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
_SECRET = re.compile(r"passw|secret|jaas|credential|token|^(sasl|ssl|security)\b", re.IGNORECASE)

CommandPath: TypeAlias = tuple[str, ...]
"""The words of a command: ``("sandbox", "up")``."""

Given: TypeAlias = Mapping[str, tuple[str, Any]]
"""By option: its place in the file, and its value."""


class Settings(NamedTuple):
    """The settings file: its path, its values as click's ``default_map``, the error in it, and
    files that were ignored."""

    file: str | None = None
    defaults: Mapping[str, Any] = {}
    error: InputError | None = None
    ignored: tuple[Ignored, ...] = ()

    @classmethod
    def read(cls, command: Command) -> Settings:
        """The settings in the file that counts, for this group of commands."""
        try:
            file, ignored = settings_file()
        except InputError as error:
            return cls(error.where, error=error)
        if file is None:
            return cls(ignored=ignored)
        import tomllib

        try:
            table = tomllib.loads(file.text)
            values = _Reader(file.name, os.path.dirname(file.name), file.found)  # noqa: PTH120
            return cls(file.name, values.defaults(command, table, (), {}), ignored=ignored)
        except InputError as error:
            return cls(file.name, error=error, ignored=ignored)
        except (ValueError, RecursionError) as error:  # also a number with too many digits
            problem = InputError(file.name, f"not valid TOML ({error})")
            return cls(file.name, error=problem, ignored=ignored)


def options(command: Command) -> dict[str, TyperOption]:
    """The options of a command by their long names: ``add-broker``."""
    return {
        next(word for word in one.opts if word.startswith("--"))[2:]: one
        for one in command.params
        if isinstance(one, TyperOption) and one.expose_value
    }


def commands(command: Command, path: CommandPath = ()) -> Iterator[tuple[CommandPath, Command]]:
    """A command and all commands below it, with their words."""
    yield path, command
    for name, below in getattr(command, "commands", {}).items():
        yield from commands(below, (*path, name))


def variables(path: CommandPath, option: str) -> list[str]:
    """The variables of an option, the most specific first."""
    prefixes = [path[:length] for length in range(len(path), 0, -1)]
    if option in SHARED:
        prefixes.append(())
    return ["_".join((PREFIX, *words, option)).upper().replace("-", "_") for words in prefixes]


def bind(path: CommandPath, command: Command) -> None:
    """Set the variables of every option of a command for click."""
    for name, option in options(command).items():
        option.envvar = variables(path, name)
        option.show_envvar = False  # they would be a third of every help
        if name == "command-config":
            option.is_eager = True  # read before bootstrap-server: see _unless_client_settings_do
        if name == "bootstrap-server":
            option.show_default = False  # it depends on that file


def typed(name: str) -> bool:
    """Whether a parameter of the running command was on the command line."""
    return get_current_context().get_parameter_source(name) is ParameterSource.COMMANDLINE


def origin(context: Context, option: TyperOption) -> str:
    """The variable or file that a value came from; empty if it was typed or is the default."""
    match context.get_parameter_source(option.name):
        case ParameterSource.ENVIRONMENT:
            return next(name for name in option.envvar or () if os.environ.get(name))
        case ParameterSource.DEFAULT_MAP:
            return str(context.obj.file)
        case _:
            return ""


def origin_in_variables(context: Context, option: TyperOption) -> str:
    """The variable that a value came from; empty if it came from elsewhere."""
    from_one = context.get_parameter_source(option.name) is ParameterSource.ENVIRONMENT
    return origin(context, option) if from_one else ""


def is_public(option: TyperOption) -> bool:
    """Whether the value has a form that a secret has not: a flag, a path, an address."""
    path = PATH.fullmatch(option.metavar or "")
    return bool(option.is_flag or path or "--bootstrap-server" in option.opts)


class _Reader(NamedTuple):
    """Turns the tables of a file in a folder into click's ``default_map``."""

    file: str
    folder: str
    found: bool

    def defaults(
        self, command: Command, table: Mapping[str, Any], path: CommandPath, inherited: Given
    ) -> dict[str, Any]:
        """The values for a command or group; ``inherited`` are those of the enclosing tables."""
        below: Mapping[str, Command] = getattr(command, "commands", {})
        known = set(SHARED)
        if path:
            known = set(options(command)).union(*map(options, below.values()))
        given = dict(inherited)
        for key, value in table.items():
            place = f"[{'.'.join(path)}] {key}" if path else key
            if key in below:
                if not isinstance(value, dict):
                    raise InputError(
                        self.file, f"{place}: is a command: expected a section [{key}]"
                    )
            elif key in known and self.found and (what := refusal(key, value, self.folder)):
                raise InputError(
                    self.file,
                    f"{place}: {what} from a file that was found: use the option, its "
                    f"variable, or {VARIABLE}=FILE",
                )
            elif key in known:
                given[key] = (place, value)
            else:
                raise self._unknown(key, value, place, sorted({*known, *below}))
        if below:
            return {
                name: self.defaults(below[name], table.get(name, {}), (*path, name), given)
                for name in below
                if given or name in table  # the others need not be imported
            }
        return {
            option.name: self._value(name, option, *given[name])
            for name, option in options(command).items()
            if name in given
        }

    def _unknown(self, key: str, value: Any, place: str, known: list[str]) -> InputError:
        words, inner = [place], value
        while isinstance(inner, dict) and len(inner) == 1:  # sasl.jaas.config = "…" is three tables
            [(word, inner)] = inner.items()
            words.append(word)
        if any(map(_SECRET.search, (key, *words[1:]))):
            return InputError(
                self.file,
                f"{'.'.join(words)}: does not belong in a project's file: put it into a client "
                "properties file outside of the project and use --command-config FILE",
            )
        what = "section" if isinstance(value, dict) else "option"
        near = get_close_matches(key, known, 1)
        hint = f"did you mean {near[0]}?" if near else f"expected one of {', '.join(known)}"
        return InputError(self.file, f"{place}: no such {what}, {hint}")

    def _value(self, name: str, option: TyperOption, place: str, value: Any) -> Any:
        """The value as on the command line: a text, a list of texts, or a flag."""
        if option.is_flag:
            if not isinstance(value, bool):
                raise InputError(self.file, f"{place}: expected true or false")
            return value
        if option.multiple:
            several = value if isinstance(value, list) else [value]
            return [self._text(option, place, one) for one in several]
        text = self._text(option, place, value)
        return _unless_client_settings_do(text) if name == "bootstrap-server" else text

    def _text(self, option: TyperOption, place: str, value: Any) -> str:
        if isinstance(value, (date, time)):
            return value.isoformat()
        if isinstance(value, bool) or not isinstance(value, (str, int, float)):
            many = " or a list" if option.multiple else ""
            raise InputError(self.file, f"{place}: expected text or a number{many}")
        text = str(value)
        if PATH.fullmatch(option.metavar or "") and text and not _URL.match(text):
            return os.path.join(self.folder, os.path.expanduser(text))  # noqa: PTH118, PTH111
        return text


def _unless_client_settings_do(address: str) -> Callable[[], str | None]:
    """A default that gives the address of the project's file, unless the client settings (a file or
    variables) have ``bootstrap.servers``: these take precedence."""

    def default() -> str | None:
        from partage.properties import read_settings

        file = get_current_context().params.get("command_config")
        try:
            return None if "bootstrap.servers" in read_settings(file) else address
        except InputError:  # reported when connecting: not every command connects
            return address

    return default
