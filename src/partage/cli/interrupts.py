"""Ctrl-C and SIGTERM during commands that must clean up before they end."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def handled_by(handler: Callable[..., Any]) -> Iterator[None]:
    """Send both signals to the handler, each time they arrive."""
    before = {number: signal.signal(number, handler) for number in _SIGNALS}
    try:
        yield
    finally:
        _restore(before)


@contextmanager
def once() -> Iterator[None]:
    """Turn the first signal into a KeyboardInterrupt and ignore further ones during the cleanup."""

    def interrupt(*_: Any) -> None:
        for number in _SIGNALS:
            signal.signal(number, signal.SIG_IGN)
        raise KeyboardInterrupt

    before = {number: signal.signal(number, interrupt) for number in _SIGNALS}
    try:
        yield
    finally:
        if signal.getsignal(signal.SIGINT) is interrupt:  # otherwise the process is ending
            _restore(before)


def _restore(before: dict[signal.Signals, Any]) -> None:
    for number, earlier in before.items():
        signal.signal(number, earlier)
