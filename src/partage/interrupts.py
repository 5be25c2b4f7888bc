"""What ends a command from outside: Ctrl-C, SIGTERM, and the end of its terminal (SIGHUP).

A command that must clean up handles all of them. Where SIGHUP is ignored, as nohup does it, it
stays ignored: the command should outlive its terminal.
"""

from __future__ import annotations

import math
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

_ALWAYS = (signal.SIGINT, signal.SIGTERM)

_AGAIN_SECONDS = 1.0
"""A signal that no key sends counts as the same request if it follows another one so soon: when a
terminal is closed, the kernel and the shell send SIGHUP; ``timeout`` sends SIGTERM to the process
and to its group; systemd sends both to a session."""


@contextmanager
def handled_by(handler: Callable[..., Any]) -> Iterator[None]:
    """Send each signal to the handler, each time it arrives."""
    last = -math.inf

    def handle(number: int, frame: Any) -> None:
        nonlocal last
        earlier, last = last, time.monotonic()
        if number == signal.SIGINT or last - earlier > _AGAIN_SECONDS:
            handler(number, frame)

    before = {number: signal.signal(number, handle) for number in _handled()}
    try:
        yield
    finally:
        _restore(before)


@contextmanager
def once() -> Iterator[None]:
    """Turn the first signal into a KeyboardInterrupt and ignore further ones during the cleanup."""
    signals = _handled()

    def interrupt(*_: Any) -> None:
        for number in signals:
            signal.signal(number, signal.SIG_IGN)
        raise KeyboardInterrupt

    before = {number: signal.signal(number, interrupt) for number in signals}
    try:
        yield
    finally:
        if signal.getsignal(signal.SIGINT) is interrupt:  # otherwise the process is ending
            _restore(before)


def _handled() -> list[signal.Signals]:
    hangup = getattr(signal, "SIGHUP", None)  # not on Windows
    if hangup is None or signal.getsignal(hangup) is signal.SIG_IGN:
        return [*_ALWAYS]
    return [*_ALWAYS, hangup]


def _restore(before: dict[signal.Signals, Any]) -> None:
    for number, earlier in before.items():
        signal.signal(number, earlier)
