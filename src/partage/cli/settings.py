"""What nobody typed: options out of ``PARTAGE_*`` variables, and of a project's ``partage.toml``.

An option that is not on the command line is looked for in its variable, then in the nearest
``partage.toml``: that of the working directory or of one above it, no further up than the home
directory. To look in this order is click's business (``envvar`` and ``default_map``). Here it is
told what the variables are called, and given the file, once nothing in it is unknown.

Names follow the commands. ``--leaders`` of ``plan`` is ``PARTAGE_PLAN_LEADERS``, and ``leaders``
below ``[plan]``. For a command of a group both forms exist twice: ``--dir`` of ``sandbox up`` is
``PARTAGE_SANDBOX_UP_DIR`` or ``PARTAGE_SANDBOX_DIR``, ``dir`` below ``[sandbox.up]`` or
``[sandbox]``. A few options mean the same in all commands (``SHARED``): ``PARTAGE_MASTER``, and
``master`` at the head of the file.

Values of the file are turned into the words that the command line would have, so that there is one
way to read them. A relative path is relative to the file. Secrets are refused: the file is a
project's, and goes where the project goes.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date, time
from difflib import get_close_matches
from pathlib import Path
from typing import Any, TypeAlias

from typer.core import TyperOption

from partage.cli.compat import Command, Context, ParameterSource, get_current_context
from partage.errors import InputError
from partage.files import read_text

NAME = "partage.toml"
PREFIX = "PARTAGE"

SHARED = ("bootstrap-server", "command-config", "master")
"""Options that may be set for all commands at once."""

PATH = re.compile(r"(DIR|FILES?|FOLDER)(\.\w+)?")
"""The metavars of options that are paths."""

_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
_SECRET = re.compile(r"passw|secret|jaas|credential|token|^(sasl|ssl|security)\b", re.IGNORECASE)

Words: TypeAlias = tuple[str, ...]
"""How a command is called: ``("sandbox", "up")``."""

Said: TypeAlias = Mapping[str, tuple[str, Any]]
"""By option: where in the file it stands, and the value."""


@dataclass(frozen=True)
class Settings:
    """The project's file: which one it is, its values as click's ``default_map``, or what is wrong
    with it."""

    file: str | None = None
    defaults: dict[str, Any] = field(default_factory=dict)
    error: InputError | None = None

    @classmethod
    def read(cls, command: Command) -> Settings:
        """Those of the nearest file, for this group of commands."""
        path = find()
        if path is None:
            return cls()
        name = str(path)
        try:
            table = tomllib.loads(read_text(name))
            return cls(
                name, _Reader(name, name.removesuffix(NAME)).defaults(command, table, (), {})
            )
        except InputError as error:
            return cls(name, error=error)
        except (ValueError, RecursionError) as error:  # also a number that is too long
            return cls(name, error=InputError(name, f"not valid TOML ({error})"))


def find() -> Path | None:
    """The nearest file: a bare name in the working directory, absolute above it."""
    try:
        here, home = Path.cwd(), Path("~").expanduser()
        for folder in (here, *here.parents):
            if (folder / NAME).is_file():
                return Path(NAME) if folder == here else folder / NAME
            if folder == home:
                break
    except (OSError, RuntimeError):  # a directory that is gone or closed: no project's
        pass
    return None


def options(command: Command) -> dict[str, TyperOption]:
    """The options of a command by their long names: ``add-broker``."""
    return {
        next(word for word in one.opts if word.startswith("--"))[2:]: one
        for one in command.params
        if isinstance(one, TyperOption) and one.expose_value
    }


def commands(command: Command, path: Words = ()) -> Iterator[tuple[Words, Command]]:
    """A command and every one below it, and how they are called."""
    yield path, command
    for name, below in getattr(command, "commands", {}).items():
        yield from commands(below, (*path, name))


def variables(path: Words, option: str) -> list[str]:
    """The variables of an option, the one of this command alone first."""
    reach = [path[:length] for length in range(len(path), 0, -1)]
    if option in SHARED:
        reach.append(())
    return ["_".join((PREFIX, *words, option)).upper().replace("-", "_") for words in reach]


def bind(command: Command) -> None:
    """Tell click the variables of every option."""
    for path, one in commands(command):
        for name, option in options(one).items():
            option.envvar = variables(path, name)
            option.show_envvar = False  # a third of every help otherwise
            if name == "command-config":
                option.is_eager = True  # read before the other: see _unless_the_client_says
            if name == "bootstrap-server":
                option.show_default = False  # which depends on that file


def typed(name: str) -> bool:
    """Whether a parameter of the command that runs was on its command line."""
    return get_current_context().get_parameter_source(name) is ParameterSource.COMMANDLINE


def origin(context: Context, option: TyperOption) -> str:
    """Where the value of an option came from that was not typed; empty if it was, or has none."""
    match context.get_parameter_source(option.name):
        case ParameterSource.ENVIRONMENT:
            return next(name for name in option.envvar or () if os.environ.get(name))
        case ParameterSource.DEFAULT_MAP:
            return str(context.obj.file)
        case _:
            return ""


@dataclass(frozen=True)
class _Reader:
    """Makes click's ``default_map`` out of the tables of a file in a folder."""

    file: str
    folder: str

    def defaults(
        self, command: Command, table: Mapping[str, Any], path: Words, above: Said
    ) -> dict[str, Any]:
        """Of a command or a group; ``above`` is what the tables around say for all of theirs."""
        below: Mapping[str, Command] = getattr(command, "commands", {})
        known = set(SHARED) if not path else set(options(command))
        known.update(*(options(one) for one in below.values() if path))
        said = dict(above)
        for key, value in table.items():
            place = f"[{'.'.join(path)}] {key}" if path else key
            if key in below:
                if not isinstance(value, dict):
                    raise InputError(self.file, f"{place}: is a command, expected [{key}]")
            elif key in known:
                said[key] = (place, value)
            else:
                raise self._unknown(key, value, place, sorted({*known, *below}))
        if below:
            return {
                name: self.defaults(one, table.get(name, {}), (*path, name), said)
                for name, one in below.items()
            }
        return {
            option.name: self._value(name, option, *said[name])
            for name, option in options(command).items()
            if name in said
        }

    def _unknown(self, key: str, value: Any, place: str, known: list[str]) -> InputError:
        words, inner = [place], value
        while isinstance(inner, dict) and len(inner) == 1:  # sasl.jaas.config = "…" is three tables
            [(word, inner)] = inner.items()
            words.append(word)
        if any(map(_SECRET.search, (key, *words[1:]))):
            return InputError(
                self.file,
                f"{'.'.join(words)}: keep it out of the project, in a file of client properties of "
                "your own, and name that: --command-config FILE",
            )
        what = "section" if isinstance(value, dict) else "option"
        near = get_close_matches(key, known, 1)
        hint = f"did you mean {near[0]}?" if near else f"expected one of {', '.join(known)}"
        return InputError(self.file, f"{place}: no such {what}, {hint}")

    def _value(self, name: str, option: TyperOption, place: str, value: Any) -> Any:
        """As the command line has it: words, lists of words, or a flag."""
        if option.is_flag:
            if not isinstance(value, bool):
                raise InputError(self.file, f"{place}: expected true or false")
            return value
        if option.multiple:
            several = value if isinstance(value, list) else [value]
            return [self._word(option, place, one) for one in several]
        word = self._word(option, place, value)
        return _unless_the_client_says(word) if name == "bootstrap-server" else word

    def _word(self, option: TyperOption, place: str, value: Any) -> str:
        if isinstance(value, (date, time)):
            return value.isoformat()
        if isinstance(value, bool) or not isinstance(value, (str, int, float)):
            many = " or a list" if option.multiple else ""
            raise InputError(self.file, f"{place}: expected text or a number{many}")
        word = str(value)
        if PATH.fullmatch(option.metavar or "") and word and not _URL.match(word):
            return os.path.join(self.folder, os.path.expanduser(word))  # noqa: PTH118, PTH111
        return word


def _unless_the_client_says(address: str) -> Callable[[], str | None]:
    """The address in the project's file comes last: a client's settings, a file or variables, that
    say ``bootstrap.servers`` go before."""

    def ask() -> str | None:
        from partage.properties import read_settings

        file = get_current_context().params.get("command_config")
        try:
            return None if "bootstrap.servers" in read_settings(file) else address
        except InputError:  # for whoever connects to say: the command may have no use for it
            return address

    return ask
