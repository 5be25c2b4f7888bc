"""``watch --alert-command``: a command of the user's, run for each alert, once it is over, and
before and after each plan of ``--apply``.

It gets the event as one JSON object on its input, as ``--json`` prints it, and no shell reads it.
A command that fails, or takes too long, does not end the watch.
"""

from __future__ import annotations

import shlex
import shutil
import subprocess
from collections.abc import Callable, Mapping
from typing import Any

from partage.errors import InputError

EVENTS = ("alert", "fair", "apply")

_SECONDS = 60
"""The next batch waits for the command no longer."""


def alert_command(text: str) -> Callable[[Mapping[str, Any]], str]:
    """The function that runs the command for an event, and returns what went wrong, or nothing.

    ``text``: the command and its arguments, quoted as for a shell. Raises InputError.
    """
    option = "--alert-command"
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise InputError(option, f"{text}: {error}") from None
    if not words or shutil.which(words[0]) is None:
        found = words[0] if words else "nothing"
        raise InputError(option, f"{found}: is not a command: name a program and its arguments")

    def run(event: Mapping[str, Any]) -> str:
        problem = _run(words, event)
        return f"{option}: {words[0]}: {problem}" if problem else ""

    return run


def _run(words: list[str], event: Mapping[str, Any]) -> str:
    from partage.files import to_json

    try:
        ended = subprocess.run(
            words,
            input=to_json(event).encode(),
            capture_output=True,
            timeout=_SECONDS,
            start_new_session=True,  # Ctrl-C ends the watch after the batch, not the command
        )
    except subprocess.TimeoutExpired:
        return f"did not end within {_SECONDS} seconds"
    except OSError as error:
        return str(error.strerror)
    if not ended.returncode:
        return ""
    last = ended.stderr.decode(errors="replace").strip().splitlines()[-1:]
    return ": ".join([f"ended with exit code {ended.returncode}", *last])
