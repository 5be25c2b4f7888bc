"""When fewer replicas are left than ``min.insync.replicas``."""

from __future__ import annotations

from partage.cluster.min_insync import lowered_below


def test_only_what_was_enough_is_lowered_below() -> None:
    lowered = {(b, a) for b in range(1, 5) for a in range(1, 5) if lowered_below(b, a, 3)}
    assert lowered == {(3, 1), (3, 2), (4, 1), (4, 2)}
