"""Records that are delivered twice because a member crashed.

A consumer with automatic commits commits its positions every ``auto.commit.interval.ms``, counted
from the last rebalance that it took part in, and whenever it rejoins or closes. One that crashes
does not: the next owner of its partitions starts from the last commit, and reads again what was
read between this commit and the crash. A commit that is due at the moment of the crash is not made.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Collection, Mapping, Sequence

from partage.consumers.protocol.messages import Partition
from partage.consumers.record_flow import LagCurve, OwnershipSpan
from partage.consumers.scenario import ScenarioMember

COMMIT_INTERVALS = (1.0, 5.0, 30.0)
"""Seconds between commits that are compared; Kafka's default is 5."""

_TOLERANCE = 1e-9


def read_again(
    spans: Sequence[OwnershipSpan],
    rounds: Sequence[tuple[float, Collection[str]]],
    curves: Mapping[Partition, LagCurve],
    produce: Mapping[Partition, float],
    members: Mapping[str, ScenarioMember],
    interval: float,
) -> dict[Partition, float]:
    """Records by partition that a later owner reads again, where there are any.

    - ``rounds``: (seconds, ids of the members that got an assignment), ascending
    - ``curves``: the lag; ``produce``: records per second
    - ``interval``: seconds between two commits
    """
    found: dict[Partition, float] = {}
    last_start = {span.partition: span.start for span in spans}  # spans are sorted by start
    for span in spans:
        crash = members[span.member].crashes_at
        if crash is None or span.end != crash or last_start[span.partition] <= span.start:
            continue
        commit = max(span.start, _last_commit(span, rounds, interval))
        lag = curves[span.partition]
        read = produce[span.partition] * (crash - commit) - _at(lag, crash) + _at(lag, commit)
        if read > _TOLERANCE:
            found[span.partition] = found.get(span.partition, 0.0) + read
    return found


def _last_commit(
    span: OwnershipSpan, rounds: Sequence[tuple[float, Collection[str]]], interval: float
) -> float:
    """The last commit of the span's member before the span's end."""
    begin = max(
        (at for at, there in rounds if at < span.end and span.member in there), default=span.start
    )
    return begin + max(math.ceil((span.end - begin) / interval - _TOLERANCE) - 1, 0) * interval


def _at(curve: LagCurve, time: float) -> float:
    """The lag at a time; where it jumps, that before the jump."""
    at = bisect_left(curve, time, key=lambda point: point[0])
    if at == len(curve):
        return curve[-1][1]
    (after, high) = curve[at]
    if after <= time or at == 0:
        return high
    before, low = curve[at - 1]
    return low + (high - low) * (time - before) / (after - before)
