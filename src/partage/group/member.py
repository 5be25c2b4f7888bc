"""A member of a consumer group."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from partage.arrays import Ints
from partage.group.owned import OwnedPartitions
from partage.printable import printable
from partage.units import plural

NO_GENERATION = -1


@dataclass(frozen=True, repr=False)
class Member:
    """One member as it joins: its subscription and the partitions it claims to own.

    - ``owned``: (topic, partition) pairs, or partition numbers by topic
    - ``generation``: of the claim, -1 for a new member; ``instance_id``: of a static member
    - ``priority``: for failover, the highest number first
    - ``process``, ``tags``: for streams, the client whose thread the member is, and its location;
      ``standbys``: the partitions of which it has standby replicas, including warm-ups
    - ``config``: its consumer's configuration, for custom assignors and failover
    - ``user_data``: sent with the subscription, whatever its assignor would send
    - ``left_at_ms``: for connect, when the worker left; None: it has not left
    """

    id: str
    topics: Sequence[str]
    owned: Sequence[tuple[str, int]] | Mapping[str, Sequence[int] | Ints] = ()
    generation: int = NO_GENERATION
    rack: str | None = None
    instance_id: str | None = None
    priority: int | None = None
    process: str | None = None
    tags: Mapping[str, str] = field(default_factory=dict)
    standbys: Sequence[tuple[str, int]] = ()
    config: Mapping[str, Any] = field(default_factory=dict)
    user_data: bytes | None = None
    left_at_ms: int | None = None

    @property
    def owned_count(self) -> int:
        """Number of partitions in ``owned``."""
        if isinstance(self.owned, OwnedPartitions):
            return len(self.owned.number)
        if isinstance(self.owned, Mapping):
            return sum(map(len, self.owned.values()))
        return len(self.owned)

    def __repr__(self) -> str:
        rack = f", rack {printable(self.rack)}" if self.rack else ""
        return (
            f"<Member {printable(self.id)}: {plural(len(self.topics), 'topic')}, "
            f"{plural(self.owned_count, 'partition')} owned{rack}>"
        )
