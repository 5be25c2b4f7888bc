"""Output of all commands: tables on stdout and progress on stderr, or one JSON object on stdout.

Colours are printed on a terminal, and into a pipe with ``FORCE_COLOR``. With ``NO_COLOR`` or
``TERM=dumb`` no escape code is printed, and progress is printed line by line, as without a
terminal. Without a terminal, tables are 100 columns wide whatever ``COLUMNS`` is: logs are read
elsewhere. Characters that the encoding lacks are replaced with ASCII.
"""

from __future__ import annotations

import codecs
import inspect
import json
import logging
import os
import shutil
import sys
import textwrap
import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from io import TextIOWrapper
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

import typer
from typer.core import TyperOption

from partage.cli.arguments import assignor_names, strategy_names
from partage.cli.compat import help_printer, keep_values_of_their_type
from partage.errors import InputError, shown
from partage.printable import printable
from partage.redaction import redacted

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

    from partage.report.printing import PrintableConsole

WIDTH = 100

_ASCII = {
    **dict(zip("→–…✓✗•·×≤≥─━│┌┬└┴├┘▶▲◆", ">-~+x*.x<>-=|++++++>^*", strict=True)),
    **dict(zip("▁▂▃▄▅▆▇█", "12345678", strict=True)),
}


_OTHER_PICTURES = (".bmp", ".gif", ".jpeg", ".jpg", ".pdf", ".png", ".tif", ".tiff", ".webp")
"""What names of pictures end in that are not SVG."""

_NAMES: dict[str, Callable[[], list[str]]] = {
    "--strategy": strategy_names,
    "--assignor": assignor_names,
}
"""Options that take a name, by the names that are registered."""


def console() -> PrintableConsole:
    """The console for tables, on stdout."""
    from partage.report.printing import PrintableConsole

    width = None if sys.stdout.isatty() else WIDTH
    return PrintableConsole(width=width, color_system="auto" if _coloured() else None)


def write_page(path: str | None, command: str, show: Callable[[Console], None]) -> None:
    """Write what ``show`` prints as a page, if a file is asked for."""
    if path is None:
        return
    from partage.outputs import write_file
    from partage.report.result_page import page

    write_file(path, page(command, show))


def write_picture(path: str | None, draw: Callable[[], str]) -> None:
    """Write what ``draw`` returns, an SVG, if a file is asked for."""
    if path is None:
        return
    from partage.outputs import write_file

    write_file(path, draw())


def check_files(*, picture: str | None = None, report: str | None = None) -> None:
    """Raise InputError early, before long work, if ``write_picture`` or ``write_page`` would, or if
    a picture has the name of another kind of picture."""
    if picture is not None and Path(picture).suffix.lower() in _OTHER_PICTURES:
        raise InputError(f"picture {shown(picture)}", "is drawn as SVG: give a name with .svg")
    for path, what in ((picture, "picture"), (report, "report")):
        if path is not None:
            from partage.outputs import check_file

            check_file(path, what)


def _coloured() -> bool:
    return not _plain() and (sys.stdout.isatty() or bool(os.environ.get("FORCE_COLOR")))


def _plain() -> bool:
    return bool(os.environ.get("NO_COLOR")) or os.environ.get("TERM") in ("dumb", "unknown")


def _animated() -> bool:
    """Whether progress may redraw its line."""
    return sys.stderr.isatty() and not _plain()


class Context(typer.Context):
    """The context of a command; prints its help with the same width and colours as tables."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        keep_values_of_their_type(self)

    def get_help(self) -> str:
        printer = help_printer()
        printer.COLOR_SYSTEM = "auto" if _coloured() else None
        printer.FORCE_TERMINAL = _coloured()
        printer.MAX_WIDTH = min(WIDTH, shutil.get_terminal_size((WIDTH, 25)).columns)
        self.command.help = _reflowed(self.command.help or "")
        for option in self.command.get_params(self):
            if isinstance(option, TyperOption):
                _describe(option)
        return super().get_help()


def _describe(option: TyperOption) -> None:
    """No type for a flag, and the known names for an option that takes one."""
    if option.is_flag:
        option.metavar = ""
    known = _NAMES.get(option.opts[0])
    if known is None or option.metavar != "NAME":
        return
    names = f"Known: {', '.join(known())}."
    if names not in (option.help or ""):
        option.help = f"{option.help} {names}"


def _reflowed(text: str) -> str:
    """A docstring as help: each paragraph in one line for the terminal to wrap, examples as is."""
    paragraphs = inspect.cleandoc(text).split("\n\n")
    return "\n\n".join(
        textwrap.dedent(one) if one.startswith(" ") else " ".join(one.split()) for one in paragraphs
    )


def replace_unencodable() -> None:
    """Let stdout and stderr replace characters that they cannot encode: with a similar ASCII
    character, or with an escape sequence. A closed stream is replaced with the null device."""
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


def print_line(console: PrintableConsole, line: str) -> None:
    """Print a line without wrapping it, so that it can be copied."""
    console.print(line, highlight=False, soft_wrap=True)


def print_plain(line: str) -> None:
    """Print a line on stdout at once, so that the reader of a pipe gets it."""
    print(printable(redacted(line)), flush=True)


def print_log(text: str) -> None:
    """Print whole lines, with tabs, of which every name is printable already."""
    print(redacted(text), end="", flush=True)


def print_aside(line: str) -> None:
    """Print a line that is not the result on stderr: progress, a warning, an error."""
    print(printable(redacted(line)), file=sys.stderr, flush=True)


def ask(question: str) -> None:
    """Ask before something is changed; a no exits with 1. Raises InputError without a terminal."""
    if not sys.stdin.isatty():
        raise InputError(
            "--yes",
            "is needed here, because there is no terminal to ask on: nothing was changed",
        )
    if not typer.confirm(question, err=True):
        raise typer.Exit(1)


def redact_other_messages() -> None:
    """Print tracebacks, and what libraries log, printable and without secrets."""

    class Formatter(logging.Formatter):
        def format(self, record: logging.LogRecord) -> str:
            return printable(redacted(super().format(record)), lines=True)

    def show(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        text = "".join(traceback.format_exception(kind, error, trace))
        sys.stderr.write(printable(redacted(text), lines=True))

    sys.excepthook = show
    if logging.lastResort is not None:
        logging.lastResort.setFormatter(Formatter())


def print_json(value: Any) -> None:
    """Print one JSON object on stdout, in ASCII, so that every encoding can represent it."""
    sys.stdout.write(json.dumps(value, separators=(",", ":"), allow_nan=False) + "\n")
    sys.stdout.flush()


@contextmanager
def progress(quiet: bool = False) -> Iterator[Callable[[str], None]]:
    """A spinner on stderr with the current step; silent without a terminal."""
    if quiet or not _animated():
        yield lambda _: None
        return
    from rich.text import Text

    from partage.report.printing import PrintableConsole

    with PrintableConsole(stderr=True).status("starting") as status:
        yield lambda step: status.update(Text(step))


_LINE_SECONDS = 5.0
"""Without a terminal, a running line is printed so often."""


@contextmanager
def running_line(line: Callable[[], str], quiet: bool = False) -> Iterator[None]:
    """What ``line`` returns, on stderr while the block runs: on a terminal in one line that is
    drawn again twice a second, otherwise as a new line every five seconds."""
    if quiet:
        yield
        return
    ended = threading.Event()

    def repeat(show: Callable[[str], None], seconds: float) -> None:
        while not ended.wait(seconds):
            show(line())

    with ExitStack() as stack:
        if _animated():
            from rich.live import Live

            from partage.report.printing import PrintableConsole

            err = PrintableConsole(stderr=True)
            drawn = stack.enter_context(
                Live(_one_line(line()), console=err, transient=True, auto_refresh=False)
            )
            what = (lambda text: drawn.update(_one_line(text), refresh=True), 0.5)
        else:
            what = (print_aside, _LINE_SECONDS)
        thread = threading.Thread(target=repeat, args=what, daemon=True)
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()


def _one_line(text: str) -> Text:
    from rich.text import Text

    return Text(text, no_wrap=True, overflow="ellipsis")


@contextmanager
def bar(quiet: bool = False) -> Iterator[Callable[[int, int, str], None]]:
    """A progress bar on stderr for (done, total, label); one line per step without a terminal.

    A label may have a note in parentheses, which comes and goes. ``quiet``: only notes, in a line.
    """
    if quiet or not _animated():
        seen: set[str] = set()

        def line(_done: int, _total: int, label: str) -> None:
            if label not in seen and (not quiet or label.endswith(")")):
                seen.add(label)
                print_aside(f"… {label}")

        yield line
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    from partage.report.printing import PrintableConsole

    columns = (TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn())
    err = PrintableConsole(stderr=True)
    with Progress(*columns, TimeElapsedColumn(), console=err, transient=True) as drawn:
        tasks: dict[str, Any] = {}

        def update(done: int, total: int, label: str) -> None:
            step = label.partition(" (")[0]
            if step not in tasks:
                tasks[step] = drawn.add_task(label, total=None)
            drawn.update(tasks[step], description=label, completed=done, total=total or None)

        yield update
