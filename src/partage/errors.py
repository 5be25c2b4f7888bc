"""The two ways in which a command ends without doing what it was asked to; and what Python raises
where a value from outside is not what it should be."""

from __future__ import annotations

from collections.abc import Iterable


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
    """Bad input, said in one line: the file, the place in it, what was expected. Exit code 2."""

    exit_code = 2

    def __init__(self, where: str, problem: str) -> None:
        super().__init__(f"{where}: {problem}" if where else problem)


class CannotError(PartageError):
    """A strategy, or a set of rules, that has no answer for this job: the text says why."""


MISSHAPEN = (LookupError, TypeError, ValueError, AttributeError, ArithmeticError)
"""What Python raises where a value is read that has another shape than the code expects."""
