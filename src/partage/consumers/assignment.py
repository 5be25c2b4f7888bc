"""Who gets which partition, as an assignor decided it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from partage.group import Group
from partage.group.model import NOBODY

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Assignment:
    """The answer for one round.

    - ``owner`` [P]: position of the member that gets each partition, ``NOBODY`` where no member
      subscribes or where it is withheld this round
    - ``target`` [P]: who gets it in the end; other than ``owner`` only where a cooperative member
      must give a partition up before another may have it
    """

    group: Group
    owner: Ints
    target: Ints

    def of(self, member_id: str) -> list[tuple[str, int]]:
        """The member's partitions of this round, in order. KeyError where there is no such member."""
        at = next((i for i, m in enumerate(self.group.members) if m.id == member_id), None)
        if at is None:
            raise KeyError(member_id)
        return self._pairs(self._rows(at))

    def partitions_of(self, member: int) -> dict[str, Ints]:
        """Partition numbers by topic of the member at a position, as arrays."""
        rows = self._rows(member)
        topic = self.group.topic[rows]
        number = rows - self.group.offset[topic]
        return {self.group.names[t]: number[topic == t] for t in np.unique(topic).tolist()}

    def as_dict(self) -> dict[str, list[tuple[str, int]]]:
        """Every member's partitions by its id."""
        return {m.id: self._pairs(self._rows(i)) for i, m in enumerate(self.group.members)}

    @cached_property
    def loads(self) -> Ints:
        """[M] partitions of each member this round."""
        members = len(self.group.members)
        return np.bincount(self.owner[self.owner >= 0], minlength=members).astype(np.int64)

    @property
    def moves(self) -> int:
        """Partitions that a member must newly own to reach ``target``."""
        new = (self.target != NOBODY) & (self.target != self.group.owner)
        return int(new.sum())

    @property
    def revoke_first(self) -> list[tuple[str, int, str]]:
        """(topic, partition, member) withheld this round: that member must give it up first."""
        member, partition = self.group.claims
        withheld = (self.owner == NOBODY) & (self.target != NOBODY)
        rows = np.flatnonzero(withheld[partition] & (member != self.target[partition]))
        rows = rows[np.lexsort((member[rows], partition[rows]))]
        return [
            (*self.group.named(int(partition[row])), self.group.members[int(member[row])].id)
            for row in rows.tolist()
        ]

    def to_json(self) -> dict[str, Any]:
        """The value that ``assign --json`` prints."""
        loads = self.loads.tolist()
        return {
            "assignment": {k: [list(p) for p in v] for k, v in self.as_dict().items()},
            "loads": {m.id: loads[i] for i, m in enumerate(self.group.members)},
            "moves": self.moves,
            "revoke_first": [list(entry) for entry in self.revoke_first],
            "warnings": list(self.group.warnings),
        }

    @cached_property
    def _by_member(self) -> tuple[Ints, Ints]:
        order = np.argsort(self.owner, kind="stable")
        start = np.searchsorted(self.owner[order], np.arange(len(self.group.members) + 1))
        return order, start

    def _rows(self, member: int) -> Ints:
        order, start = self._by_member
        return order[start[member] : start[member + 1]]

    def _pairs(self, rows: Ints) -> list[tuple[str, int]]:
        topic = self.group.topic[rows]
        numbers = (rows - self.group.offset[topic]).tolist()
        return [(self.group.names[t], n) for t, n in zip(topic.tolist(), numbers, strict=True)]
