"""Which partitions are out of sync."""

from __future__ import annotations

from dataclasses import replace

import pytest

pytest.importorskip("kafka")

from partage.live.admin.states import PartitionState
from partage.live.execution.health import Health, out_of_sync


def test_new_replicas_and_ignored_brokers_do_not_count() -> None:
    moving = PartitionState("t", 0, (1, 3), 1, (1, 2), adding=(3,), removing=(2,))
    lagging = replace(moving, isr=(1,))
    assert out_of_sync([moving]) == []
    assert out_of_sync([lagging]) == [lagging]
    assert out_of_sync([lagging], ignored=[2]) == []
    assert out_of_sync([lagging], ignored=[1, 3]) == [lagging]


@pytest.mark.parametrize(
    ("health", "text"),
    [
        (Health(), "all partitions are in sync"),
        (Health(("t-0",)), "1 partition is out of sync (t-0)"),
        (
            Health(("t-0", "u-1"), ("u-1",)),
            "2 partitions are out of sync (t-0, …); 1 below min.insync.replicas (u-1)",
        ),
    ],
)
def test_in_words(health: Health, text: str) -> None:
    assert str(health) == text
