"""The two ways in which a command ends without doing what it was asked to; and what Python raises
where a value from outside is not what it should be."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

Value = TypeVar("Value")
_LONG = 60


class PartageError(Exception):
    """What was asked for does not hold or cannot be done: one clear line, exit code 1."""

    exit_code = 1

    @property
    def lines(self) -> list[str]:
        """What to say, a line each."""
        return [str(self)]


class SeveralError(PartageError):
    """Several reasons at once: a clear line each, exit code 1."""

    def __init__(self, reasons: Iterable[str]) -> None:
        self._reasons = list(reasons)
        super().__init__("; ".join(self._reasons))

    @property
    def lines(self) -> list[str]:
        return self._reasons


class InputError(PartageError):
    """Bad input, in one line: where it is, what was found, what is accepted. Exit code 2.

    ``where`` is a file and the place in it, or a parameter by its Python name and its value:
    ``tolerance 200%``. A text may name other parameters in backquotes; the command line shows all
    of them as its options.
    """

    exit_code = 2

    def __init__(self, where: str, problem: str) -> None:
        super().__init__(f"{where}: {problem}" if where else problem)
        self.where = where
        self.problem = problem


class CannotError(PartageError):
    """A strategy, or a set of rules, that has no answer for this job: the text says why."""


MISSHAPEN = (LookupError, TypeError, ValueError, AttributeError, ArithmeticError)
"""What Python raises where a value is read that has another shape than the code expects."""


def read_parameter(name: str, read: Callable[[Any], Value], given: Any) -> Value:
    """What a reader makes of a parameter's value; its ValueError becomes an InputError."""
    try:
        return read(given)
    except ValueError as error:
        raise InputError(f"{name} {shown(given)}", str(error)) from None


def shown(value: object) -> str:
    """A value as a message shows it: in quotes where it would not stand out as one word."""
    text = str(value)
    plain = 0 < len(text) <= _LONG and text.isprintable() and not re.search(r"[\s'\"`]", text)
    return text if plain else repr(text[:_LONG] if isinstance(value, str) else value)[: 2 * _LONG]
