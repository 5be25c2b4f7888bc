"""A snapshot as text."""

from __future__ import annotations

from datetime import UTC, datetime

from partage.live.admin.states import Snapshot, Throttles


def test_repr() -> None:
    snapshot = Snapshot("abc", datetime(2026, 1, 2, tzinfo=UTC), 1, (), (), Throttles({}, {}))
    assert repr(snapshot) == (
        "<Snapshot of cluster abc at 2026-01-02T00:00:00Z: "
        "0 brokers, 0 partitions, 0 being reassigned, 0 warnings>"
    )
