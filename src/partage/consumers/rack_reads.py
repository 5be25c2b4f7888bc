"""What a group reads within the racks of its members, and across racks.

A member reads a partition within its rack where a replica is there, as consumers do that fetch from
the closest replica (KIP-392). A partition whose racks are not known, or whose member has none, is
unknown.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from partage.arrays import Ints
from partage.group import Group
from partage.group.model import BYTE_RATE, NO_MEMBER

_PLACES = ("within_rack", "across_racks", "unknown")


@dataclass(frozen=True)
class RackReads:
    """Partitions that some member has, and their weights, by where it reads them. ``byte_rates``:
    the weights are bytes per 1,000 seconds. ``weight`` is None where the group has no weights."""

    partitions: tuple[int, int, int]
    weight: tuple[int, int, int] | None
    byte_rates: bool

    @property
    def bytes_per_second(self) -> tuple[float, float, float] | None:
        """The weights as bytes per second, None where they are something else."""
        if self.weight is None or not self.byte_rates:
            return None
        within, across, unknown = (weight / BYTE_RATE for weight in self.weight)
        return within, across, unknown

    def to_json(self) -> dict[str, Any]:
        """The counts by name, and bytes per second or weights where they are known."""
        value: dict[str, Any] = dict(zip(_PLACES, self.partitions, strict=True))
        rates = self.bytes_per_second
        if rates is not None:
            value["bytes_per_second"] = dict(zip(_PLACES, rates, strict=True))
        elif self.weight is not None:
            value["weight"] = dict(zip(_PLACES, self.weight, strict=True))
        return value


def rack_reads(group: Group, owner: Ints) -> RackReads | None:
    """The reads if ``owner`` [P] has the partitions. None without racks of members and
    partitions."""
    if not group.has_racks:
        return None
    rows = np.flatnonzero(owner != NO_MEMBER)
    rack = group.member_rack[owner[rows]]
    known = group.in_rack[rows].any(axis=1) & (rack >= 0)
    near = group.in_rack[rows, np.maximum(rack, 0)]
    places = (known & near, known & ~near, ~known)
    weight = group.weight[rows]
    within, across, unknown = (int(place.sum()) for place in places)
    sums = None
    if group.weights is not None:
        sums = tuple(sum(weight[place].tolist()) for place in places)
    return RackReads(
        (within, across, unknown),
        None if sums is None else (sums[0], sums[1], sums[2]),
        group.byte_rates,
    )
