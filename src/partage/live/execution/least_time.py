"""The least time that copies take at a throttle, as the bytes of the busiest receiving broker."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from partage.live.execution.changes import Change

MONTH = 30 * 86_400
"""Seconds; a run that would take longer is most likely a throttle without its unit."""


def receiving(changes: Iterable[Change]) -> Counter[int]:
    """Bytes that each broker has to receive; a replica of unknown size counts as none."""
    found: Counter[int] = Counter()
    for change in changes:
        for broker in change.adding:
            found[broker] += change.size_bytes or 0
    return found


def least_seconds(received: Mapping[int, int], throttle: int) -> float:
    """The seconds that no run at ``throttle`` bytes per second and broker can be shorter than, if
    brokers receive these bytes."""
    return max(received.values(), default=0) / throttle
