"""What crosses racks, recounted partition by partition: replication, producers and consumers."""

from __future__ import annotations

import math
from typing import Any

from partage.brokers.check.plan_columns import Lists, PlanColumns
from partage.brokers.check.schema import MalformedError
from partage.brokers.directory import MARKER

_SHARE = 1_000_000
_TOPIC_KEYS = {"producers", "consumers"}


class Zones:
    """The racks of brokers and clients. Raises MalformedError where ``clients`` is not of the form
    that the planner writes."""

    def __init__(self, plan: PlanColumns) -> None:
        self.plan = plan
        value = plan.value.get("clients")
        self.known = value is not None
        try:
            self.closest = bool(self.known and value["closest_replica"])
            given = value["topics"] if self.known else {}
            self.topics = {topic: _sides(one) for topic, one in given.items()}
            if self.known and value.keys() != {"closest_replica", "topics"}:
                raise ValueError
            if not set(self.topics) <= set(plan.topics):
                raise ValueError
        except (TypeError, ValueError, KeyError, AttributeError):
            raise MalformedError(f"{MARKER}: clients: expected shares by topic and rack") from None

    def across(self, row: int, leader: int, brokers: list[int]) -> tuple[int, int, int]:
        """Millionths of a partition's rate in that followers copy across racks, and producers write
        across; of its rate out that consumers read across. Brokers are ids."""
        place, rack = self.plan.place, self.plan.rack
        home = rack[place[leader]]
        followers = sum(rack[place[b]] != home for b in brokers if b != leader)
        written, read = self._sides(row)
        near = {rack[place[b]] for b in brokers} if self.closest else {home}
        return (
            _SHARE * followers,
            sum(share for where, share in written.items() if where != home),
            sum(share for where, share in read.items() if where not in near),
        )

    def figure(self, lists: Lists) -> dict[str, float] | None:
        """``zone_bytes`` of a placement; None without rates or with fewer than two racks."""
        plan = self.plan
        if not plan.bytes_in or len(plan.rack_names) < 2:
            return None
        across = [self.across(row, brokers[0], brokers) for row, brokers in enumerate(lists)]
        found = {
            "replication": _sum(plan.bytes_in, [one[0] for one in across]),
            "replication_total": _sum(plan.bytes_in, [_SHARE * (len(one) - 1) for one in lists]),
        }
        if self.known:
            sides = [self._sides(row) for row in range(len(lists))]
            for at, name, rates in (
                (0, "producers", plan.bytes_in),
                (1, "consumers", plan.bytes_out),
            ):
                found[name] = _sum(rates, [one[at + 1] for one in across])
                found[f"{name}_total"] = _sum(rates, [sum(one[at].values()) for one in sides])
        return found

    def costs(self, row: int, brokers: list[int], scaled: list[int]) -> dict[int, int]:
        """What crosses racks by leader, in parts of all rates; ``scaled``: all rates in, then out,
        in the same parts."""
        found = {}
        for leader in brokers:
            followers, written, read = self.across(row, leader, brokers)
            bytes_in, bytes_out = scaled[row], scaled[len(self.plan.names) + row]
            found[leader] = (bytes_in * (followers + written) + bytes_out * read) // _SHARE
        return found

    def _sides(self, row: int) -> tuple[dict[str, int], dict[str, int]]:
        return self.topics.get(self.plan.topics[self.plan.topic[row]], ({}, {}))


def _sides(value: dict[str, dict[str, Any]]) -> tuple[dict[str, int], dict[str, int]]:
    if not value.keys() <= _TOPIC_KEYS:
        raise ValueError
    written, read = (_shares(value.get(side, {})) for side in ("producers", "consumers"))
    return written, read


def _shares(value: dict[str, Any]) -> dict[str, int]:
    if not all(type(share) in (int, float) and 0 < share <= 1 for share in value.values()):
        raise ValueError
    found = {rack: round(share * _SHARE) for rack, share in value.items()}
    if sum(found.values()) > _SHARE + len(found):
        raise ValueError
    return found


def _sum(rates: list[float], shares: list[int]) -> float:
    pairs = zip(rates, shares, strict=True)
    return round(math.fsum(rate * (share / _SHARE) for rate, share in pairs), 3)
