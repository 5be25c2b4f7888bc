"""Ctrl-C and SIGTERM during commands that must clean up."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from partage.brokers import check
from partage.cli import interrupts

BOTH = (signal.SIGINT, signal.SIGTERM)


@pytest.mark.parametrize("sent", BOTH)
def test_a_handler_gets_every_signal(sent: signal.Signals) -> None:
    before = [signal.getsignal(one) for one in BOTH]
    received: list[int] = []
    with interrupts.handled_by(lambda number, _: received.append(number)):
        os.kill(os.getpid(), sent)
        os.kill(os.getpid(), sent)
    assert received == [sent, sent]
    assert [signal.getsignal(one) for one in BOTH] == before


@interrupts.once()
def interrupted(sent: signal.Signals) -> None:
    """Interrupted again during the cleanup."""
    try:
        os.kill(os.getpid(), sent)
    finally:
        for one in BOTH:
            os.kill(os.getpid(), one)


@pytest.mark.parametrize("sent", BOTH)
def test_only_the_first_one_interrupts(sent: signal.Signals) -> None:
    before = [signal.getsignal(one) for one in BOTH]
    try:
        with pytest.raises(KeyboardInterrupt):
            interrupted(sent)
        assert [signal.getsignal(one) for one in BOTH] == [signal.SIG_IGN] * 2
    finally:
        for one, earlier in zip(BOTH, before, strict=True):
            signal.signal(one, earlier)


def test_the_handlers_are_restored() -> None:
    before = [signal.getsignal(one) for one in BOTH]
    with interrupts.once():
        assert [signal.getsignal(one) for one in BOTH] != before
    assert [signal.getsignal(one) for one in BOTH] == before


def test_an_interrupt_prints_one_line(
    run: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(_: str) -> None:
        os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(check, "check", interrupted)
    # a shell lets background jobs ignore the signal
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        ended = run("check", "plan")
    finally:
        signal.signal(signal.SIGINT, before)
    assert (ended.code, ended.out, ended.err) == (130, "", "partage: interrupted\n")


@pytest.mark.long
@pytest.mark.spark
@pytest.mark.xdist_group("interrupts of spark")
@pytest.mark.parametrize("step", ["starting Spark", "reading", "windows"])
def test_an_interrupt_of_spark_is_one_line(step: str, tmp_path: Path, change_events: str) -> None:
    """As a terminal sends it: to Java and Python on the workers, too."""
    words = [sys.executable, "-m", "partage", "profile", change_events, "-o", "out"]
    with subprocess.Popen(
        words,
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        # a shell lets background jobs ignore the signal
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    ) as process:
        assert process.stderr is not None
        late = threading.Timer(300, process.kill)
        late.start()
        for line in process.stderr:
            if line == f"… {step}\n":
                break
        os.killpg(process.pid, signal.SIGINT)
        rest = [line for line in process.stderr if not line.startswith("… ")]
        late.cancel()
    assert (process.returncode, rest) == (130, ["partage: interrupted\n"])
    assert list(tmp_path.iterdir()) == [], "nothing is left"
