"""What every command prints with: tables on stdout, progress on stderr, or one JSON object.

Colours are for a terminal, or for a pipe with ``FORCE_COLOR``. With ``NO_COLOR`` or ``TERM=dumb``
no escape code is printed at all, and progress comes as lines, as it does without a terminal.
Without one, tables are a hundred columns wide, whatever ``COLUMNS`` says: a log is read later,
elsewhere. What an encoding does not have is written in ASCII.
"""

from __future__ import annotations

import codecs
import inspect
import json
import os
import shutil
import sys
import textwrap
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import TextIOWrapper
from pathlib import Path
from typing import Any

import typer
from rich.console import Console

WIDTH = 100

_ASCII = {
    **dict(zip("→–…✓✗•·×≤≥─│┌┬└┴├┘▶▲◆", ">-~+x*.x<>-|++++++>^*", strict=True)),
    **dict(zip("▁▂▃▄▅▆▇█", "12345678", strict=True)),
}


def console() -> Console:
    """Where tables go."""
    width = None if sys.stdout.isatty() else WIDTH
    return Console(width=width, color_system="auto" if _coloured() else None)


def _coloured() -> bool:
    return not _plain() and (sys.stdout.isatty() or bool(os.environ.get("FORCE_COLOR")))


def _plain() -> bool:
    return bool(os.environ.get("NO_COLOR")) or os.environ.get("TERM") in ("dumb", "unknown")


def _draws() -> bool:
    """Whether progress may be drawn over itself."""
    return sys.stderr.isatty() and not _plain()


class Context(typer.Context):
    """A command being parsed; its help is printed as everything else is."""

    def get_help(self) -> str:
        from typer import rich_utils

        rich_utils.COLOR_SYSTEM = "auto" if _coloured() else None
        rich_utils.FORCE_TERMINAL = _coloured()
        rich_utils.MAX_WIDTH = min(WIDTH, shutil.get_terminal_size((WIDTH, 25)).columns)
        self.command.help = _flowing(self.command.help or "")
        return super().get_help()


def _flowing(text: str) -> str:
    """A docstring as help: prose in paragraphs as wide as the terminal, examples line by line."""
    paragraphs = inspect.cleandoc(text).split("\n\n")
    return "\n\n".join(
        textwrap.dedent(one) if one.startswith(" ") else " ".join(one.split()) for one in paragraphs
    )


def use_what_the_encoding_has() -> None:
    """What stdout and stderr cannot encode becomes ASCII: a sign that is like it, or its number.
    One that is closed takes everything and keeps nothing."""
    sys.stdout = sys.stdout or Path(os.devnull).open("w")  # noqa: SIM115
    sys.stderr = sys.stderr or Path(os.devnull).open("w")  # noqa: SIM115
    codecs.register_error("partage", _in_ascii)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="partage")


def _in_ascii(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeEncodeError)
    missing = error.object[error.start : error.end]
    return "".join(
        _ASCII.get(one, one.encode("ascii", "backslashreplace").decode()) for one in missing
    ), error.end


def say(console: Console, line: str) -> None:
    """A line as it is, however long: people copy from it."""
    console.print(line, highlight=False, markup=False, soft_wrap=True)


def print_json(value: Any) -> None:
    """One JSON object on stdout and nothing else; in ASCII, which every terminal and pipe takes."""
    sys.stdout.write(json.dumps(value, separators=(",", ":"), allow_nan=False) + "\n")


@contextmanager
def progress(quiet: bool = False) -> Iterator[Callable[[str], None]]:
    """A spinner on stderr that says what is being done; silent without a terminal."""
    if quiet or not _draws():
        yield lambda _: None
        return
    with Console(stderr=True).status("starting") as status:
        yield lambda step: status.update(step)


@contextmanager
def bar(quiet: bool = False) -> Iterator[Callable[[int, int, str], None]]:
    """A progress bar on stderr for (done, total, label); one line per step without a terminal."""
    if quiet:
        yield lambda _done, _total, _label: None
        return
    if not _draws():
        seen: set[str] = set()

        def line(_done: int, _total: int, label: str) -> None:
            if label not in seen:
                seen.add(label)
                print(f"… {label}", file=sys.stderr, flush=True)

        yield line
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    err = Console(stderr=True)
    with Progress(*columns, TimeElapsedColumn(), console=err, transient=True) as drawn:
        tasks: dict[str, Any] = {}

        def update(done: int, total: int, label: str) -> None:
            if label not in tasks:
                tasks[label] = drawn.add_task(label, total=None)
            drawn.update(tasks[label], completed=done, total=total or None)

        yield update
