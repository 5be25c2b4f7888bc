"""The command line: parse, call, print. Exit codes: 0 done, 1 it does not hold, 2 bad input."""

from __future__ import annotations

import os
import sys
from io import TextIOWrapper

import typer
from typer._click.exceptions import ClickException

from partage.cli import (
    cluster_commands,
    demo_command,
    execution_commands,
    group_commands,
    history_command,
    live_commands,
    record_commands,
    sandbox_commands,
    watch_command,
    what_if_command,
)
from partage.errors import PartageError

app = typer.Typer(
    name="partage",
    help="Decides who gets which partition of an Apache Kafka cluster: exactly, with proof.",
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
demo_command.register(app)


def main() -> None:
    """Run a command and end the process with its exit code; no traceback for a user's mistake."""
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # a terminal without a ✓ gets a ?
    try:
        code = app(standalone_mode=False)
        sys.stdout.flush()
    except PartageError as error:
        _say(str(error))
        code = error.exit_code
    except ClickException as error:
        _say(error.format_message())
        code = error.exit_code
    except (typer.Abort, KeyboardInterrupt):
        _say("interrupted")
        code = 130
    except BrokenPipeError:
        # whoever read our output has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 0
    sys.exit(code if isinstance(code, int) else 0)


def _say(message: str) -> None:
    if not message:  # partage alone: its help is out already
        return
    print(f"partage: {' '.join(message.split())}", file=sys.stderr)
