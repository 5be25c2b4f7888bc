"""When partitions had no owner, and how often they moved, from the spans of ownership.

A partition is unowned between two owners, and after the last one, while the group has members. An
unowned time belongs to the round that ends it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

from partage.consumers.history.events import Partition
from partage.consumers.history.model import MemberSession, RecordedSpan, seconds

Intervals = list[tuple[int, int]]
"""(start, end) in microseconds."""


def without_overlaps(spans: Iterable[RecordedSpan]) -> tuple[list[RecordedSpan], list[str]]:
    """The spans by partition and time, shortened so that a partition has one owner at a time: the
    later owner. And a sentence for each pair of members whose spans overlapped."""
    ordered = sorted(spans, key=lambda o: (o.partition, o.start, o.end, o.member))
    longest: dict[tuple[str, str], int] = {}
    silent: set[tuple[str, str]] = set()
    for one, other in pairwise(ordered):
        if one.partition == other.partition and other.start < one.end:
            pair = (one.member, other.member)
            if one.member != other.member and not one.revoked:
                silent.add(pair)
            elif one.member != other.member:
                longest[pair] = max(longest.get(pair, 0), one.end - other.start)
            one.end = other.start
    notes = [
        f"{other} took partitions of {one}, whose log does not revoke them: {one} may have ended"
        for one, other in sorted(silent)
    ]
    notes += [
        f"{other} took partitions up to {seconds(length):.3f} s before the log of {one} revokes "
        "them: their clocks differ, or both read them"
        for (one, other), length in sorted(longest.items())
    ]
    return ordered, notes


def presence(members: Iterable[MemberSession], until: int) -> Intervals:
    """When the group had members."""
    stays = sorted((m.joins, until if m.ends is None else m.ends) for m in members)
    merged: Intervals = []
    for start, end in stays:
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


def unowned_times(
    spans: Sequence[RecordedSpan], present: Intervals, until: int
) -> dict[Partition, int]:
    """For how long each partition had no owner. Each time is also added to its round."""
    total: dict[Partition, int] = {}

    def count(partition: Partition, start: int, end: int) -> int:
        length = sum(max(min(end, b) - max(start, a), 0) for a, b in present)
        if length:
            total[partition] = total.get(partition, 0) + length
        return length

    for one, other in pairwise(spans):
        if one.partition != other.partition:
            count(one.partition, one.end, until)
        elif (length := count(one.partition, one.end, other.start)) and other.round is not None:
            unowned = other.round.unowned
            unowned[one.partition] = unowned.get(one.partition, 0) + length
    if spans:
        count(spans[-1].partition, spans[-1].end, until)
    return total


def count_moves(spans: Sequence[RecordedSpan], members: Mapping[str, MemberSession]) -> int:
    """How often a partition moved to another member. A static member that returns as another
    process is the same member."""
    found = 0
    for one, other in pairwise(spans):
        if one.partition == other.partition and one.member != other.member:
            instance = members[one.member].instance_id
            found += instance is None or instance != members[other.member].instance_id
    return found
