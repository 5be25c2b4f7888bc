"""The command line: parse, call, print. Exit codes: 0 done, 1 it does not hold, 2 bad input.

``plan --detailed-exitcode`` has Terraform's instead: 0 nothing to do, 1 it failed, bad input too,
2 there is something to do.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from functools import wraps
from typing import Annotated, Any

import typer
from typer.core import TyperOption
from typer.main import get_command

from partage import __version__
from partage.cli import (
    cluster_commands,
    demo_command,
    doctor_command,
    execution_commands,
    group_commands,
    history_command,
    live_commands,
    output,
    record_commands,
    sandbox_commands,
    settings,
    watch_command,
    what_if_command,
)
from partage.cli.compat import ClickException, Context, get_current_context
from partage.cli.spelling import respell
from partage.errors import PartageError

_HELP = """Decides who gets which partition of an Apache Kafka cluster: exactly, with proof.

What is not typed is looked for in variables (PARTAGE_PLAN_LEADERS is --leaders of plan) and in
partage.toml, here or above. partage doctor says what holds.

Examples:

    partage demo
    partage doctor
    partage plan cluster.json -o plan/
"""

app = typer.Typer(
    name="partage",
    help=_HELP,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)
cluster_commands.register(app)
group_commands.register(app)
record_commands.register(app)
history_command.register(app)
what_if_command.register(app)
live_commands.register(app)
execution_commands.register(app)
watch_command.register(app)
sandbox_commands.register(app)
doctor_command.register(app)
demo_command.register(app)

INTERRUPTED = 128 + signal.SIGINT
"""The exit code after Ctrl-C, as shells have it."""


def _version(asked: bool) -> None:
    if asked:
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
    """Run a command and end the process with its exit code; no traceback for a user's mistake."""
    output.use_what_the_encoding_has()
    command = get_command(app)
    settings.bind(command)
    for path, one in settings.commands(command):
        one.context_class = output.Context
        if path and one.callback is not None:
            one.callback = _checked(one.callback)
    completing = "_PARTAGE_COMPLETE" in os.environ
    said = settings.Settings() if completing else settings.Settings.read(command)
    try:
        code = command(
            standalone_mode=False, prog_name="partage", default_map=said.defaults, obj=said
        )
        if code == INTERRUPTED:  # typer makes it of Ctrl-C
            _say("interrupted")
        sys.stdout.flush()
    except PartageError as error:
        for line in error.lines:
            _say(line)
        code = error.exit_code
    except ClickException as error:
        code = _code(said.error or error, getattr(error, "ctx", None))
        _say(str(said.error) if said.error else _told(error))
    except ModuleNotFoundError as error:
        if error.name != "kafka":
            raise
        _say("kafka-python is not installed: pip install 'partage[kafka]'")
        code = 1
    except (typer.Abort, KeyboardInterrupt):
        _say("interrupted")
        code = INTERRUPTED
    except (BrokenPipeError, SystemExit) as error:
        # rich and typer end the process themselves where nobody reads on
        broken = error.__context__ if isinstance(error, SystemExit) else error
        if not isinstance(broken, BrokenPipeError):
            raise
        _discard_stdout()  # whoever read our output has seen enough
        code = 0
    except OSError as error:
        # with a name it is a file that could not be read, without one our own output
        _discard_stdout()
        _say(f"{error.filename or 'output'}: {error.strerror or error}")
        code = 2 if error.filename else 1
    sys.exit(code if isinstance(code, int) else 0)


def _discard_stdout() -> None:
    """What is left in its buffer goes nowhere: at the end Python would try again."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _checked(callback: Callable[..., Any]) -> Callable[..., Any]:
    """A command that rejects a partage.toml with a mistake, and names options as they are typed."""

    @wraps(callback)
    def call(*arguments: Any, **named: Any) -> Any:
        context = get_current_context()
        try:
            if context.obj.error is not None and context.command.name != "doctor":
                raise context.obj.error
            return callback(*arguments, **named)
        except PartageError as error:
            respell(error, context)
            error.exit_code = _code(error, context)
            raise

    return call


def _told(error: ClickException) -> str:
    """What click says, and where it was said if not on the command line."""
    option, context = (getattr(error, name, None) for name in ("param", "ctx"))
    where = settings.origin(context, option) if isinstance(option, TyperOption) and context else ""
    return error.format_message() + (f" ({where})" if where else "")


def _code(error: PartageError | ClickException, context: Context | None) -> int:
    """The exit code: with ``--detailed-exitcode`` 2 means something else than bad input."""
    flag = None if context is None else settings.options(context.command).get("detailed-exitcode")
    if context is None or flag is None:
        return error.exit_code
    asked: Any = "--detailed-exitcode" in sys.argv or flag.consume_value(context, {})[0]
    try:
        return 1 if flag.process_value(context, asked) else error.exit_code
    except ClickException:  # a variable that is neither yes nor no
        return error.exit_code


def _say(message: str) -> None:
    if not message:  # partage alone: its help is out already
        return
    print(f"partage: {' '.join(message.split())}", file=sys.stderr)
