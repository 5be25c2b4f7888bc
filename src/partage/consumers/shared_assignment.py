"""The assignment of a share group: several members may have the same partition (KIP-932)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from partage.arrays import Bools, Ints
from partage.consumers.assignment import Assignment, loads_of
from partage.consumers.rack_reads import RackReads
from partage.group import Group
from partage.group.model import NO_MEMBER


@dataclass(frozen=True, eq=False, repr=False)
class SharedAssignment(Assignment):
    """An assignment in which ``owner`` and ``target`` are ``NO_MEMBER`` throughout.

    ``shares``: (member, partition) of every share, ascending.
    """

    shares: tuple[Ints, Ints] = (np.empty(0, np.int64), np.empty(0, np.int64))

    @classmethod
    def of_pairs(cls, group: Group, member: Ints, partition: Ints) -> SharedAssignment:
        """The assignment of these pairs, ascending."""
        nobody = np.full(group.partitions, NO_MEMBER, dtype=np.int64)
        return cls(group, nobody, nobody, shares=(member, partition))

    @cached_property
    def loads(self) -> Ints:
        """[M] number of partitions of each member."""
        return np.bincount(self.shares[0], minlength=len(self.group.members)).astype(np.int64)

    @property
    def target_loads(self) -> Ints:
        """The same: a share group has no partitions to revoke first."""
        return self.loads

    def target_rows(self, member: int) -> Ints:
        """The same as ``rows``."""
        return self.rows(member)

    @property
    def unassigned(self) -> Ints:
        """Positions of the partitions that no member shares."""
        return np.flatnonzero(self.sharers == 0)

    @property
    def reads(self) -> tuple[RackReads | None, RackReads | None]:
        """Not known: members share the records of a partition in any proportion."""
        return None, None

    @cached_property
    def sharers(self) -> Ints:
        """[P] number of members that share each partition."""
        return np.bincount(self.shares[1], minlength=self.group.partitions).astype(np.int64)

    @property
    def moves(self) -> int:
        """Number of shares that are new."""
        return int((~self._claimed).sum())

    @cached_property
    def _claimed(self) -> Bools:
        """Whether the member claims the partition, by share."""
        member, row = self.group.claims
        claimed = member * self.group.partitions + row
        mine = self.shares[0] * self.group.partitions + self.shares[1]
        return np.isin(mine, claimed)

    def to_json(self) -> dict[str, Any]:
        """The JSON object that ``assign --json`` prints."""
        return {**super().to_json(), "sharers": self.sharers_span}

    @property
    def sharers_span(self) -> list[int]:
        """The fewest and the most members that share a partition which some member subscribes
        to."""
        wanted = np.asarray(self.group.subscribes.any(axis=0))[self.group.topic]
        found = self.sharers[wanted]
        return [int(found.min(initial=found.max(initial=0))), int(found.max(initial=0))]

    # -- in a notebook

    @property
    def _kept(self) -> Ints:
        return loads_of(self.shares[0][self._claimed], len(self.group.members))

    def _columns(self) -> dict[str, list[Any]]:
        member, row = self.shares
        ids = np.array([member.id for member in self.group.members], dtype=object)
        topic = self.group.topic[row]
        return {
            "topic": np.array(self.group.names, dtype=object)[topic].tolist(),
            "partition": (row - self.group.offset[topic]).tolist(),
            "member": ids[member].tolist(),
        }

    def rows(self, member: int) -> Ints:
        """Positions of the partitions of the member at a position."""
        return np.asarray(self.shares[1][self.shares[0] == member])
