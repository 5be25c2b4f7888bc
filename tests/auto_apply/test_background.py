"""An applier in a thread: one thing at a time, and its errors."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

pytest.importorskip("pyspark")

from partage.auto_apply.background import Background
from partage.errors import PartageError
from partage.pipeline.watch import Judgement
from tests.auto_apply.conftest import profile

JUDGEMENT = Judgement(0, 0, True, None, profile([1.0]))


class Slow:
    """``act`` is what a judgement leads to; ``calls`` so far."""

    def __init__(self, act: Callable[[], object]) -> None:
        self.calls: list[str] = []
        self._act = act

    def begin(self) -> None:
        self.calls.append("begin")

    def judged(self, judgement: Judgement) -> None:
        assert judgement is JUDGEMENT
        self.calls.append("judged")
        self._act()

    def end(self) -> None:
        self.calls.append("end")


def test_a_judgement_while_it_is_busy_is_left_out_and_the_end_waits() -> None:
    stop = threading.Event()
    slow = Slow(lambda: stop.wait(60))
    background = Background(slow, stop)
    background.judged(JUDGEMENT)
    background.judged(JUDGEMENT)
    background.end()
    assert stop.is_set()
    assert slow.calls == ["judged", "end"]


def test_what_goes_wrong_ends_the_watch() -> None:
    def fail() -> None:
        raise PartageError("no disk")

    background = Background(Slow(fail), threading.Event())
    background.judged(JUDGEMENT)
    with pytest.raises(PartageError, match="no disk"):
        background.end()
