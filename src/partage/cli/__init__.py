"""The command line. Exit codes: 0 success, 1 failure or a check that does not hold, 2 bad input.

With ``plan --detailed-exitcode`` they are Terraform's instead: 0 no changes, 1 any error, bad input
included, 2 changes.
"""

from __future__ import annotations

import os
import signal
import sys
from functools import cache
from typing import Annotated

import typer
from typer.core import TyperOption
from typer.main import get_command

from partage import __version__
from partage.cli import output, settings
from partage.cli.commands import Commands, exit_code, prepare
from partage.cli.compat import ClickException, Command
from partage.errors import PartageError

_HELP = """Plan Kafka rebalances with provably the fewest replica moves, run them, undo them.

Options can also be set with variables (PARTAGE_PLAN_LEADERS is --leaders of plan) or in
partage.toml, in this directory or above. partage doctor shows which settings apply.

Examples:

    partage demo
    partage doctor
    partage plan cluster.json -o plan/
"""

app = typer.Typer(
    name="partage",
    cls=Commands,
    help=_HELP,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)

_NETS: dict[type[Exception], str] = {
    MemoryError: "not enough memory for this input",
    RecursionError: "the input is nested too deep to be processed",
    OverflowError: "the input has a number too large to be processed",
}
"""For what no reader has refused. The long tests make sure that there is none but memory."""

_LONGEST_ERROR = 1500

INTERRUPTED = 128 + signal.SIGINT
"""The exit code after Ctrl-C, as in shells."""


def _version(requested: bool) -> None:
    if requested:
        typer.echo(f"partage {__version__}")
        raise typer.Exit


@app.callback()
def _before_any_command(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None: ...


def main() -> None:
    """Run a command and exit with its code; print a user's mistake as one line, not a traceback."""
    output.replace_unencodable()
    output.redact_other_messages()
    command = _command()
    completing = "_PARTAGE_COMPLETE" in os.environ
    configured = settings.Settings() if completing else settings.Settings.read(command)
    try:
        code = command(
            standalone_mode=False,
            prog_name="partage",
            default_map=configured.defaults,
            obj=configured,
        )
        if code == INTERRUPTED:  # typer turns Ctrl-C into this code
            _print_error("interrupted")
        sys.stdout.flush()
    except PartageError as error:
        for line in error.lines:
            _print_error(line)
        code = error.exit_code
    except ClickException as error:
        code = exit_code(configured.error or error, getattr(error, "ctx", None))
        _print_error(str(configured.error or _message(error)))
    except ModuleNotFoundError as error:
        if error.name != "kafka":
            raise
        from partage.installation import not_installed

        _print_error(not_installed("kafka-python", "kafka"))
        code = 1
    except (typer.Abort, KeyboardInterrupt):
        _print_error("interrupted")
        code = INTERRUPTED
    except (BrokenPipeError, SystemExit) as error:
        # rich and typer exit by themselves on a broken pipe
        broken = error.__context__ if isinstance(error, SystemExit) else error
        if not isinstance(broken, BrokenPipeError):
            raise
        _discard_stdout()  # the reader of the pipe has closed it
        code = 1  # 0 would state that a plan is applied, or valid
    except (MemoryError, RecursionError, OverflowError) as error:
        _print_error(next(words for kind, words in _NETS.items() if isinstance(error, kind)))
        code = 1
    except OSError as error:
        # with a name: a file that could not be read; without: stdout or stderr
        if not error.filename:
            _discard_stdout()
        _print_error(f"{error.filename or 'output'}: {error.strerror or error}")
        code = 2 if error.filename else 1
    sys.exit(code if isinstance(code, int) else 0)


@cache
def _command() -> Command:
    """The program, made once per process."""
    return prepare((), get_command(app))


def _discard_stdout() -> None:
    """Discard what is buffered: otherwise Python would try to write it at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _message(error: ClickException) -> str:
    """The message of click, with the origin of a value that was not typed."""
    option, context = (getattr(error, name, None) for name in ("param", "ctx"))
    where = settings.origin(context, option) if isinstance(option, TyperOption) and context else ""
    text = error.format_message() + (f" ({where})" if where else "")
    if not context:
        return text
    from partage.cli.spelling import without_variables

    return without_variables(text, context)


def _print_error(message: str) -> None:
    if not message:  # partage without a command: its help is printed already
        return
    line = " ".join(message.split())
    if len(line) > _LONGEST_ERROR:  # the place is at the start, the advice at the end
        line = f"{line[: _LONGEST_ERROR // 2]} … {line[-_LONGEST_ERROR // 2 :]}"
    output.print_aside(f"partage: {line}")
