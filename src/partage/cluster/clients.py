"""In which racks the clients of topics are: shares of the bytes written and read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from partage.errors import InputError

SHARE = 1_000_000
"""Shares are whole millionths, so that their sums are exact."""

Shares = Mapping[str, int]


@dataclass(frozen=True)
class TopicClients:
    """Millionths by rack of what producers write to a topic and consumers read from it; what is
    missing up to ``SHARE`` is not known."""

    producers: Shares = field(default_factory=dict)
    consumers: Shares = field(default_factory=dict)


@dataclass(frozen=True)
class Clients:
    """The clients of topics, by topic; ``closest_replica``: consumers read from a replica in their
    own rack where there is one (KIP-392)."""

    topics: Mapping[str, TopicClients]
    closest_replica: bool = False

    @classmethod
    def of(
        cls,
        topics: Mapping[str, tuple[Mapping[str, float], Mapping[str, float]]],
        closest_replica: bool,
        known: Iterable[str],
        where: str,
    ) -> Clients:
        """From shares between 0 and 1 of (producers, consumers) by topic; ``known``: the topics of
        the cluster. Raises InputError."""
        if unknown := sorted(set(topics) - set(known)):
            raise InputError(where, f"clients.topics: topic {unknown[0]!r} is not in the cluster")
        found = {}
        for topic in sorted(topics):
            sides = {}
            for side, given in zip(("producers", "consumers"), topics[topic], strict=True):
                shares = {rack: round(given[rack] * SHARE) for rack in sorted(given)}
                if sum(shares.values()) > SHARE + len(shares):
                    total = f"{sum(given.values()):.6g}"
                    raise InputError(
                        f"{where}: clients.topics.{topic}.{side}",
                        f"the shares add up to {total}, expected at most 1",
                    )
                sides[side] = {rack: share for rack, share in shares.items() if share}
            found[topic] = TopicClients(**sides)
        return cls(found, closest_replica)

    def to_json(self) -> dict[str, Any]:
        """The form of cluster files and of plan.json."""
        return {
            "closest_replica": self.closest_replica,
            "topics": {
                topic: {
                    side: {rack: share / SHARE for rack, share in shares.items()}
                    for side, shares in (("producers", one.producers), ("consumers", one.consumers))
                    if shares
                }
                for topic, one in self.topics.items()
            },
        }
