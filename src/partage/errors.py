"""The errors of partage: bad input (exit code 2) and requests that fail (exit code 1)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from partage.printable import is_printable, printable
from partage.redaction import redacted

Value = TypeVar("Value")
_LONG = 60


class PartageError(Exception):
    """The request failed or does not hold: one clear line, exit code 1."""

    exit_code = 1

    def __str__(self) -> str:
        return printable(redacted(super().__str__()))

    @property
    def lines(self) -> list[str]:
        """The message, one item per line."""
        return [str(self)]


class SeveralError(PartageError):
    """Several reasons at once: one clear line each, exit code 1."""

    def __init__(self, reasons: Iterable[str]) -> None:
        self._reasons = list(reasons)
        super().__init__("; ".join(self._reasons))

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._reasons,)

    @property
    def lines(self) -> list[str]:
        return [printable(redacted(reason)) for reason in self._reasons]


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

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.where, self.problem)


class CannotError(PartageError):
    """A strategy or a set of rules has no solution for this problem; the message explains why."""


MISSHAPEN = (LookupError, TypeError, ValueError, AttributeError, ArithmeticError)
"""What Python raises when the code reads a value of an unexpected shape."""


def read_parameter(name: str, read: Callable[[Any], Value], given: Any) -> Value:
    """What a reader makes of a parameter's value; its ValueError becomes an InputError."""
    try:
        return read(given)
    except ValueError as error:
        raise InputError(f"{name} {shown(given)}", str(error)) from None


def shown(value: object) -> str:
    """A value as a message shows it: in quotes where it would not stand out as one word."""
    text = redacted(str(value))  # before it is cut: half of a secret is not recognised
    plain = 0 < len(text) <= _LONG and is_printable(text) and not re.search(r"[\s'\"`]", text)
    if plain:
        return text
    quoted = repr(text[:_LONG]) if isinstance(value, str) else redacted(repr(value))
    return printable(quoted[: 2 * _LONG])
