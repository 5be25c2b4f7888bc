"""Expensive requests take at most a tenth of the time."""

from __future__ import annotations

import pytest

pytest.importorskip("kafka")

from partage.live.execution.cooldown import Cooldown
from tests.live.execution.builders import Clock


def test_nine_times_as_long_as_the_request() -> None:
    clock = Clock()
    cooldown = Cooldown(clock)
    assert cooldown.is_over
    clock.sleep(2.0)
    cooldown.restart(0.0)
    assert not cooldown.is_over
    clock.sleep(17.9)
    assert not cooldown.is_over
    clock.sleep(0.1)
    assert cooldown.is_over
