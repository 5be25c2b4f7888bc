"""The least time of copies at a throttle, and the refusal of one at which a run hardly ends."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from partage.cli.execution_commands import RunOptions, _confirm
from partage.errors import InputError
from partage.live.execution.changes import Change, MoveStatus
from partage.live.execution.least_time import least_seconds, receiving

CHANGES = [
    Change("t", 0, (1, 2), (1, 3), 4_000_000),
    Change("t", 1, (2, 1), (3, 4), 6_000_000),
    Change("t", 2, (2, 1), (1, 2), 9_000_000),  # order only
    Change("t", 3, (1, 2), (1, 4), None),
]


def test_the_busiest_receiver_decides() -> None:
    assert receiving(CHANGES) == {3: 10_000_000, 4: 6_000_000}
    assert least_seconds(receiving(CHANGES), 1_000_000) == 10
    assert least_seconds({}, 1) == 0


@pytest.mark.parametrize(
    ("throttle", "force", "refused"),
    [(1, False, True), (1, True, False), (1_000_000, False, False), ("auto", False, False)],
)
def test_a_throttle_at_which_a_run_takes_over_a_month(
    throttle: int | str, force: bool, refused: bool
) -> None:
    waiting = {(one.topic, one.partition): MoveStatus.WAITING for one in CHANGES}
    plan = SimpleNamespace(
        changes={(one.topic, one.partition): one for one in CHANGES},
        statuses=lambda _: waiting,
    )
    ready: Any = SimpleNamespace(plan=plan, cluster=SimpleNamespace(partitions=()))
    options = RunOptions(str(throttle), None, "cancel", True, force, True)
    if not refused:
        _confirm(ready, throttle, options, "h:1")
        return
    with pytest.raises(InputError, match="the run would take 116 days or more: a bare number is"):
        _confirm(ready, throttle, options, "h:1")
