"""Run a command in this process, in bounded time and memory, and judge how it ended."""

from __future__ import annotations

import contextlib
import io
import resource
import signal
import sys
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from partage import cli
from partage.errors import PartageError

CPU_SECONDS, SECONDS = 20, 300
"""Of a case: a hang takes either. Ordinary ones take milliseconds."""

MEMORY = 1_500_000_000
"""Bytes that a case may take on top of what the process has."""

_LONGEST_LINE = 2000
_NETS = (
    "not enough memory",
    "nested too deep to be processed",
    "a number too large to be processed",
)
"""What the command line prints where no reader has refused the input: a hole in a reader."""


class TooLongError(BaseException):
    """Not an Exception: nothing catches it."""


@dataclass(frozen=True)
class Ended:
    """How a case ended; ``raised``: an error that left the command, as text."""

    code: int | None
    out: str
    err: str
    raised: str = ""

    def fault(self) -> str | None:
        """What is wrong with that, None if nothing is."""
        lines = self.err.splitlines()
        if self.raised:
            return f"raised: {self.raised}"
        if self.code not in (0, 1, 2):
            return f"exit code {self.code}"
        if "Traceback" in self.err + self.out:
            return "printed a traceback"
        if self.code == 2 and self.out:
            return "bad input, but something is on stdout"
        if self.code == 2 and len(lines) != 1:
            return f"bad input in {len(lines)} lines: {self.err[:500]!r}"
        if self.code and not all(line.startswith(("partage: ", "… ", "! ")) for line in lines):
            return f"not a line of partage: {self.err[:500]!r}"
        for line in lines if self.code else ():
            if len(line) > _LONGEST_LINE or not line.isprintable():
                return f"a line that is too long or not printable: {line[:500]!r}"
            if any(net in line for net in _NETS):
                return f"no reader refused it: {line}"
        return None


def command(*words: str) -> Callable[[], int]:
    """A command line as a case."""

    def run() -> int:
        sys.argv = ["partage", *words]
        try:
            cli.main()
        except SystemExit as ended:
            return ended.code if isinstance(ended.code, int) else 0
        raise AssertionError("main returned")

    return run


def function(call: Callable[[], Any]) -> Callable[[], int]:
    """A function as a case: what a command would print for its errors."""

    def run() -> int:
        try:
            call()
        except PartageError as error:
            for line in error.lines:
                cli._print_error(line)
            return error.exit_code
        return 0

    return run


def run(case: Callable[[], int]) -> Ended:
    """How the case ends."""
    out, err = io.StringIO(), io.StringIO()
    argv = sys.argv
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            with _limits():
                code = case()
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt):
                raise
            return Ended(None, out.getvalue(), err.getvalue(), _shown(error))
        finally:
            sys.argv = argv
    return Ended(code, out.getvalue(), err.getvalue())


def _shown(error: BaseException) -> str:
    """The innermost places of partage, and the error."""
    frames = [one for one in traceback.extract_tb(error.__traceback__) if "partage" in one.filename]
    places = " > ".join(f"{Path(one.filename).name}:{one.lineno} {one.name}" for one in frames[-4:])
    return f"{places}: {type(error).__name__}: {str(error)[:300]}"


@contextlib.contextmanager
def _limits() -> Iterator[None]:
    def too_long(*_: Any) -> None:
        raise TooLongError("takes too long")

    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    limit = pages * resource.getpagesize() + MEMORY
    before = [signal.signal(number, too_long) for number in (signal.SIGVTALRM, signal.SIGALRM)]
    resource.setrlimit(resource.RLIMIT_AS, (limit, hard))
    signal.setitimer(signal.ITIMER_VIRTUAL, CPU_SECONDS)
    signal.setitimer(signal.ITIMER_REAL, SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.setitimer(signal.ITIMER_REAL, 0)
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
        for number, handler in zip((signal.SIGVTALRM, signal.SIGALRM), before, strict=True):
            signal.signal(number, handler)
