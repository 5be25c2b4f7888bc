"""Errors as the command line spells them: ``max_moves`` is ``--max-moves`` there.

What a variable gives an option is not quoted: in CI, secrets are in variables, and one may have the
name of another. The name of the variable is enough. Paths, addresses and the words that an option
lists are quoted.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

from typer.core import TyperArgument, TyperOption

from partage.cli import settings
from partage.cli.compat import Context
from partage.errors import InputError, PartageError, shown
from partage.redaction import HIDDEN

_QUOTED = re.compile(r"`(\w+)`")


def respell(error: PartageError, context: Context) -> None:
    """Name the parameters in an error's text as options of the command that runs; where the value
    of the first one was not typed, add where it comes from."""
    text = spelled(str(error), context)
    if isinstance(error, InputError):
        word, _, value = error.where.partition(" ")
        option = _parameters(context).get(word) or settings.options(context.command).get(word[2:])
        if option is not None and error.where not in map(str, context.params.values()):
            value = f" {value}" if value else ""
            where = settings.origin(context, option) if isinstance(option, TyperOption) else ""
            text = f"{_spelled(option)}{value}: {spelled(error.problem, context)}"
            text += f" ({where})" if where else ""
    error.args = (without_variables(text, context),)


def without_variables(text: str, context: Context) -> str:
    """The text without what variables give the options of the command."""
    for option in settings.options(context.command).values():
        name = settings.origin_in_variables(context, option)
        if name and not settings.is_public(option):
            accepted = (option.metavar or "").split("|")
            for value in sorted(_quotes(os.environ[name]), key=len, reverse=True):
                if value not in accepted:
                    text = re.sub(rf"(?<![\w-]){re.escape(value)}(?!\w)", HIDDEN, text)
    return text


def _quotes(value: str) -> Iterator[str]:
    """A value as a message may quote it, whole or in part; parts of two letters are everywhere."""
    parts = {value, *value.split(), *re.split(r"[\s,;:=|]+", value)}
    for part in parts:
        if len(part) > 2:
            yield from {part, shown(part), shown(part).strip("'\"")}


def spelled(text: str, context: Context) -> str:
    """The text with parameters that are named in backquotes as options."""
    parameters = _parameters(context)

    def option(match: re.Match[str]) -> str:
        found = parameters.get(match[1])
        return f"--{match[1].replace('_', '-')}" if found is None else _spelled(found)

    return _QUOTED.sub(option, text)


def _parameters(context: Context) -> dict[str, TyperOption | TyperArgument]:
    """By Python name, and options also by their long name: ``--strategy`` may be repeated and then
    be called ``strategies``."""
    known = [one for one in context.command.params if isinstance(one, (TyperOption, TyperArgument))]
    by_option = {
        name.replace("-", "_"): one for name, one in settings.options(context.command).items()
    }
    return {**by_option, **{str(one.name): one for one in known}}


def _spelled(parameter: TyperOption | TyperArgument) -> str:
    if isinstance(parameter, TyperArgument):
        return str(parameter.metavar or parameter.name)
    return next(word for word in parameter.opts if word.startswith("--"))
