"""Who owned what when → when nobody did, and how often partitions moved.

A partition has no owner between two owners, and after the last one, as long as some member is
there. A gap belongs to the round that ends it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

from partage.consumers.history.events import Partition
from partage.consumers.history.model import MemberSession, RecordedSpan, seconds

Stretches = list[tuple[int, int]]


def one_owner_each(owned: Iterable[RecordedSpan]) -> tuple[list[RecordedSpan], list[str]]:
    """By partition and time, without overlaps: the later owner is the owner. And in sentences,
    where there were two."""
    ordered = sorted(owned, key=lambda o: (o.partition, o.start, o.end, o.member))
    worst: dict[tuple[str, str], int] = {}
    silent: set[tuple[str, str]] = set()
    for one, other in pairwise(ordered):
        if one.partition == other.partition and other.start < one.end:
            pair = (one.member, other.member)
            if one.member != other.member and not one.given_up:
                silent.add(pair)
            elif one.member != other.member:
                worst[pair] = max(worst.get(pair, 0), one.end - other.start)
            one.end = other.start
    notes = [
        f"{other} took partitions of {one}, whose log does not give them up: it may be gone since"
        for one, other in sorted(silent)
    ]
    notes += [
        f"{other} took partitions up to {seconds(length):.3f} s before the log of {one} gives them "
        "up: their clocks differ, or both read them"
        for (one, other), length in sorted(worst.items())
    ]
    return ordered, notes


def presence(members: Iterable[MemberSession], until: int) -> Stretches:
    """When some member was there."""
    stays = sorted((m.joins, until if m.ends is None else m.ends) for m in members)
    merged: Stretches = []
    for start, end in stays:
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


def without_owner(
    owned: Sequence[RecordedSpan], there: Stretches, until: int
) -> dict[Partition, int]:
    """How long each partition had no owner; each gap is added to its round."""
    total: dict[Partition, int] = {}

    def gap(partition: Partition, start: int, end: int) -> int:
        length = sum(max(min(end, b) - max(start, a), 0) for a, b in there)
        if length:
            total[partition] = total.get(partition, 0) + length
        return length

    for one, other in pairwise(owned):
        if one.partition != other.partition:
            gap(one.partition, one.end, until)
        elif (length := gap(one.partition, one.end, other.start)) and other.round is not None:
            unowned = other.round.unowned
            unowned[one.partition] = unowned.get(one.partition, 0) + length
    if owned:
        gap(owned[-1].partition, owned[-1].end, until)
    return total


def moves(owned: Sequence[RecordedSpan], members: Mapping[str, MemberSession]) -> int:
    """Times that a partition came to another member; a static member that comes back as another
    process is the same."""
    found = 0
    for one, other in pairwise(owned):
        if one.partition == other.partition and one.member != other.member:
            instance = members[one.member].instance_id
            found += instance is None or instance != members[other.member].instance_id
    return found
