"""How an option is declared: once, for the command line, the settings, Python and plan.json."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from numbers import Integral
from typing import Any, Generic, Self, TypeVar, overload

from partage.errors import InputError, shown
from partage.patterns import compile_pattern

Given = TypeVar("Given")
Value = TypeVar("Value")
One = TypeVar("One")

WHAT_CHANGES = "What changes"
LOADS = "Loads"
FAIRNESS = "What is fair"
LIMITS = "How much moves"
WAVES = "Waves"
"""The panels of a long help."""

PLAN, COMPARE, WHAT_IF = "plan", "compare", "what-if"
EVERYWHERE = (PLAN, COMPARE, WHAT_IF)
"""The commands that may have an option."""


class Option(Generic[Given, Value]):
    """The declaration of an option: a descriptor that reads what is assigned to it.

    - ``read``: makes the value, or raises ``ValueError`` with what is accepted
    - ``default``: the value where nothing, or None, is given; an option with False is a flag.
      ``usual``: what a default stands for that depends on other options
    - ``help``, ``panel``, ``metavar``: as the command line's help shows it
    - ``choices``: the words it takes, listed when a shell asks; ``multiple``: it may be repeated
    - ``commands``: those that have it
    """

    name = ""

    def __init__(
        self,
        read: Callable[[Any], Value],
        default: Value,
        *,
        help: str,
        panel: str,
        usual: Value | None = None,
        metavar: str | None = None,
        choices: Callable[[], Iterable[str]] | None = None,
        multiple: bool = False,
        commands: tuple[str, ...] = EVERYWHERE,
    ) -> None:
        self.read, self.default = read, default
        self.usual = default if usual is None else usual
        self.help, self.panel, self.commands = help, panel, commands
        self.metavar, self.choices, self.multiple = metavar, choices, multiple

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    @overload
    def __get__(self, instance: None, owner: type) -> Self: ...

    @overload
    def __get__(self, instance: object, owner: type) -> Value: ...

    def __get__(self, instance: object | None, owner: type) -> Self | Value:
        if instance is None:
            return self
        value: Value = vars(instance)[self.name]
        return value

    def __set__(self, instance: object, given: Given | None) -> None:
        left_out = given is None or given is self  # self: the default that the dataclass sees
        vars(instance)[self.name] = self.default if left_out else self._value(given)

    def _value(self, given: Any) -> Value:
        try:
            return self.read(given)
        except _OneOfSeveralError as error:
            given, problem = error.args
        except ValueError as error:
            problem = str(error)
        raise InputError(f"{self.name} {shown(given)}", problem)

    def __repr__(self) -> str:
        """The default: what a signature shows."""
        return repr(None if self.usual == () else self.usual)


class _OneOfSeveralError(ValueError):
    """One of several that cannot be read, and what is accepted."""


def several(
    read: Callable[[Any], One], pair: tuple[type, ...] = (), *, commas: bool = False
) -> Callable[[Any], tuple[One, ...]]:
    """Reads one value or a sequence of them. A tuple of the types ``pair`` is one, and a mapping
    stands for its items. ``commas``: they separate values within a word."""

    def words(given: Iterable[Any]) -> Iterable[Any]:
        for one in given:
            yield from one.split(",") if commas and isinstance(one, str) else [one]

    def read_all(given: Any) -> tuple[One, ...]:
        if isinstance(given, Mapping) and pair:
            given = list(given.items())
        alone = isinstance(given, (str, Integral)) or _is_pair(given, pair)
        if not alone and (isinstance(given, Mapping) or not isinstance(given, Iterable)):
            raise ValueError("expected one value or a sequence of them")
        values = []
        for one in words([given] if alone else given):
            try:
                values.append(read(one))
            except ValueError as error:
                raise _OneOfSeveralError(one, str(error)) from None
        return tuple(values)

    return read_all


def _is_pair(given: Any, types: tuple[type, ...]) -> bool:
    alike = isinstance(given, tuple) and len(given) == len(types) > 0
    return alike and all(map(isinstance, given, types))


class Choice(Option[Given, str]):
    """An option that takes one of some words; the first is the default."""

    def __init__(
        self, *words: str, help: str, panel: str, commands: tuple[str, ...] = EVERYWHERE
    ) -> None:
        def read(given: Any) -> str:
            if given not in words:
                raise ValueError(f"expected {' or '.join(words)}")
            return str(given)

        super().__init__(
            read,
            words[0],
            help=help,
            panel=panel,
            metavar="|".join(words),
            choices=lambda: words,
            commands=commands,
        )


def text_of(given: Any) -> str:
    """Text that is not empty."""
    if not isinstance(given, str) or not given:
        raise ValueError("expected text")
    return given


def flag_of(given: Any) -> bool:
    """True or false."""
    if type(given) is not bool:
        raise ValueError("expected true or false")
    return given


def pattern_of(given: str | re.Pattern[str]) -> re.Pattern[str]:
    """A regular expression."""
    text = given.pattern if isinstance(given, re.Pattern) else given
    if not isinstance(text, str):
        raise ValueError("expected a regular expression as text")
    return compile_pattern(given)
