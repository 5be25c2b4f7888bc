"""Groups of options: a command takes each as one parameter.

``options: Annotated[PlanOptions, PLAN]`` stands for the plan options that the command ``plan`` has,
a parameter that is another dataclass for the options that its fields are annotated with.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from functools import wraps
from typing import Annotated, Any, NamedTuple, get_args, get_origin, get_type_hints

import typer

from partage.brokers.declaration import Option
from partage.brokers.options import PlanOptions, declared
from partage.cli.arguments import completion_from, strategy_names

_NAMES: Mapping[str, Callable[[], Iterable[str]]] = {"strategy": strategy_names}
"""Options that take a registered name: what a shell lists."""


class _Group(NamedTuple):
    """A parameter of a command, and the options it stands for."""

    name: str
    make: Callable[..., Any]
    options: list[inspect.Parameter]


def expanded(function: Callable[..., None]) -> Callable[..., None]:
    """The command with the options of its groups in their place."""
    hints = get_type_hints(function, include_extras=True)
    parameters: list[inspect.Parameter] = []
    groups: list[_Group] = []
    for one in inspect.signature(function).parameters.values():
        group = _group(one.name, hints[one.name])
        if group is None:
            parameters.append(_keyword(one.name, hints[one.name], one.default))
        else:
            groups.append(group)
            parameters += group.options

    @wraps(function)
    def call(**given: Any) -> None:
        for group in groups:
            values = {one.name: given.pop(one.name) for one in group.options}
            given[group.name] = group.make(**values)
        function(**given)

    vars(call)["__signature__"] = inspect.Signature(parameters)
    call.__annotations__ = {one.name: one.annotation for one in parameters}
    return call


def _group(name: str, hint: Any) -> _Group | None:
    kind, *details = get_args(hint) if get_origin(hint) is Annotated else (hint,)
    if kind is PlanOptions:
        return _Group(name, PlanOptions, [_plan_option(one) for one in declared(details[0])])
    if is_dataclass(kind) and isinstance(kind, type):
        return _Group(name, kind, list(_fields(kind)))
    return None


def _fields(kind: type) -> Iterator[inspect.Parameter]:
    hints = get_type_hints(kind, include_extras=True)
    for one in fields(kind):
        yield _keyword(one.name, hints[one.name], one.default)


def _plan_option(one: Option[Any, Any]) -> inspect.Parameter:
    """An option of the command line, which takes its text as it is: ``Option`` reads it."""
    kind: Any = str
    default: Any = None
    show: bool | str = True
    if one.default is False:
        kind, default = bool, False
    elif one.multiple:
        kind = list[str] | None
    elif one.usual is None:
        kind = str | None
    elif one.usual == one.default:
        default = str(one.default)
    else:
        kind, show = str | None, str(one.usual)
    choices = one.choices or _NAMES.get(one.name)
    option = typer.Option(
        f"--{one.name.replace('_', '-')}",
        metavar=one.metavar,
        help=one.help,
        show_default=show,
        rich_help_panel=one.panel,
        autocompletion=None if choices is None else completion_from(choices),
    )
    return _keyword(one.name, Annotated[kind, option], default)


def _keyword(name: str, annotation: Any, default: Any) -> inspect.Parameter:
    return inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation
    )
