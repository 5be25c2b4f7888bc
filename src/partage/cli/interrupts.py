"""Ctrl-C and SIGTERM while a command carries something out that has to end in good order."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def told_to(handler: Callable[..., Any]) -> Iterator[None]:
    """Both go to the handler inside, as often as they come."""
    before = {number: signal.signal(number, handler) for number in _SIGNALS}
    try:
        yield
    finally:
        _restore(before)


@contextmanager
def once() -> Iterator[None]:
    """The first one is a KeyboardInterrupt; more of them meanwhile would only disturb its end."""

    def end(*_: Any) -> None:
        for number in _SIGNALS:
            signal.signal(number, signal.SIG_IGN)
        raise KeyboardInterrupt

    before = {number: signal.signal(number, end) for number in _SIGNALS}
    try:
        yield
    finally:
        if signal.getsignal(signal.SIGINT) is end:  # otherwise the process is about to end
            _restore(before)


def _restore(before: dict[signal.Signals, Any]) -> None:
    for number, earlier in before.items():
        signal.signal(number, earlier)
