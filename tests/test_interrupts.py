"""Ctrl-C, SIGTERM and a closed terminal during commands that must clean up."""

from __future__ import annotations

import os
import signal

import pytest

from partage import interrupts

pytestmark = pytest.mark.usefixtures("in_a_terminal")

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@pytest.mark.parametrize("sent", SIGNALS)
def test_a_handler_gets_every_signal(sent: signal.Signals, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interrupts, "_AGAIN_SECONDS", -1)
    before = [signal.getsignal(one) for one in SIGNALS]
    received: list[int] = []
    with interrupts.handled_by(lambda number, _: received.append(number)):
        os.kill(os.getpid(), sent)
        os.kill(os.getpid(), sent)
    assert received == [sent, sent]
    assert [signal.getsignal(one) for one in SIGNALS] == before


def test_a_closed_terminal_is_one_request_and_two_of_ctrl_c_are_two() -> None:
    """The kernel and the shell each send SIGHUP: the second one must not cancel what the first one
    lets finish."""
    received: list[int] = []
    with interrupts.handled_by(lambda number, _: received.append(number)):
        for sent in (signal.SIGHUP, signal.SIGHUP, signal.SIGTERM, signal.SIGINT, signal.SIGINT):
            os.kill(os.getpid(), sent)
    assert received == [signal.SIGHUP, signal.SIGINT, signal.SIGINT]


@interrupts.once()
def interrupted(sent: signal.Signals) -> None:
    """Interrupted again during the cleanup."""
    try:
        os.kill(os.getpid(), sent)
    finally:
        for one in SIGNALS:
            os.kill(os.getpid(), one)


@pytest.mark.parametrize("sent", SIGNALS)
def test_only_the_first_one_interrupts(sent: signal.Signals) -> None:
    before = [signal.getsignal(one) for one in SIGNALS]
    try:
        with pytest.raises(KeyboardInterrupt):
            interrupted(sent)
        assert [signal.getsignal(one) for one in SIGNALS] == [signal.SIG_IGN] * len(SIGNALS)
    finally:
        for one, earlier in zip(SIGNALS, before, strict=True):
            signal.signal(one, earlier)


def test_the_handlers_are_restored() -> None:
    before = [signal.getsignal(one) for one in SIGNALS]
    with interrupts.once():
        assert [signal.getsignal(one) for one in SIGNALS] != before
    assert [signal.getsignal(one) for one in SIGNALS] == before


def test_a_command_started_with_nohup_outlives_its_terminal() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    received: list[int] = []
    try:
        with interrupts.handled_by(lambda number, _: received.append(number)):
            os.kill(os.getpid(), signal.SIGHUP)
            os.kill(os.getpid(), signal.SIGTERM)
        assert received == [signal.SIGTERM]
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)
