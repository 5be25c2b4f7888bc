"""The parts of click inside typer that typer does not export, used nowhere else.

tests/cli/test_compat.py holds what is relied on: after an upgrade of typer it fails first.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

from typer._click.core import Command, Context, ParameterSource
from typer._click.exceptions import ClickException
from typer._click.globals import get_current_context
from typer._coercion import RuntimeParam, build_runtime_param
from typer.core import TyperArgument, TyperOption

__all__ = [
    "ClickException",
    "Command",
    "Context",
    "ParameterSource",
    "get_current_context",
    "help_printer",
    "keep_values_of_their_type",
]


class _OfItsTypeAlready(RuntimeParam):
    """Keeps a value that has the type of its parameter; typer converts every other one."""

    def _coerce_value(self, value: Any, param: Any, ctx: Any) -> Any:
        kind = self.annotation
        if kind is list[str] and all(type(one) is str for one in value):
            return list(value)
        if kind is float and type(value) is int:
            return float(value)
        if type(value) is kind:
            return value
        return build_runtime_param(param.type_descriptor).coerce(value, param, ctx)


def keep_values_of_their_type(context: Context) -> None:
    """Let the parameters of a command keep values that need no conversion, such as text, flags and
    defaults: typer converts with pydantic, whose import is a third of a short command's time."""
    for one in context.command.get_params(context):
        if isinstance(one, (TyperArgument, TyperOption)):
            typers = one.type_descriptor
            one._runtime_param = _OfItsTypeAlready(typers.parameter_info, typers.annotation)


_UNUSED = {"rich.markdown": "Markdown", "rich.traceback": "Traceback"}
"""Modules of rich that typer imports to print help, with what it takes from them."""


def help_printer() -> Any:
    """The module of typer that prints help, imported without rich's Markdown and tracebacks: no
    help of partage uses them, and their import takes longer than all else in a help."""
    absent = [name for name in _UNUSED if name not in sys.modules]
    for name in absent:
        sys.modules[name] = ModuleType(name)
        setattr(sys.modules[name], _UNUSED[name], type(_UNUSED[name], (), {}))
    try:
        from typer import rich_utils
    finally:
        for name in absent:
            del sys.modules[name]
    return rich_utils
