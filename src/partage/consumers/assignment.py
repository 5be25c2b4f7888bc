"""Who gets which partition, as an assignor decided it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from partage.group import Group
from partage.group.model import NOBODY

Ints = npt.NDArray[np.int64]


def loads_of(owner: Ints, members: int) -> Ints:
    """[members] partitions of each one; ``owner`` [P], ``NOBODY`` counts for none."""
    return np.bincount(owner[owner != NOBODY], minlength=members).astype(np.int64)


@dataclass(frozen=True, eq=False)
class Warmups:
    """What is not where it belongs, because its place has not caught up (KIP-441).

    - ``member``, ``partition``: the warm-up replicas, ascending
    - ``waiting``: tasks and standbys that wait; ``probing_ms``: after how long to ask again, None
      where nothing waits
    """

    member: Ints
    partition: Ints
    waiting: int
    probing_ms: int | None


@dataclass(frozen=True, eq=False)
class Assignment:
    """The answer for one round.

    - ``owner`` [P]: position of the member that gets each partition, ``NOBODY`` where no member
      subscribes or where it is withheld this round
    - ``target`` [P]: who gets it in the end; other than ``owner`` only where a cooperative member
      must give a partition up before another may have it
    - ``bound``: of an assignor that goes by weights, a lower bound on the highest load by weight
      that any assignment has
    - ``standbys``: (member, partition) of the standby copies, ascending; ``warming``: where lags
      were told
    - ``cross_rack``: where racks count, partitions of which no replica is in the rack of their
      member in ``target``
    - ``delay_ms``: how long what waits for departed members still waits
    - ``notes``: what else the assignor has to say, in sentences
    """

    group: Group
    owner: Ints
    target: Ints
    bound: int | None = None
    standbys: tuple[Ints, Ints] | None = None
    warming: Warmups | None = None
    cross_rack: int | None = None
    delay_ms: int | None = None
    notes: tuple[str, ...] = ()

    def of(self, member_id: str) -> list[tuple[str, int]]:
        """The member's partitions of this round, in order; KeyError where there is no such one."""
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
        return loads_of(self.owner, len(self.group.members))

    @property
    def idle(self) -> list[str]:
        """Members that get nothing in the end, by id."""
        held = loads_of(self.target, len(self.group.members))
        return [m.id for m, load in zip(self.group.members, held.tolist(), strict=True) if not load]

    @cached_property
    def weights(self) -> Ints:
        """[M] weight of each member's partitions this round."""
        held = self.owner >= 0
        weight = np.zeros(len(self.group.members), dtype=np.int64)
        np.add.at(weight, self.owner[held], self.group.weight[held])
        return weight

    @property
    def gap(self) -> float | None:
        """How far the highest load by weight is above ``bound``, as a part of it."""
        if self.bound is None:
            return None
        return int(self.weights.max()) / self.bound - 1 if self.bound else 0.0

    @cached_property
    def standbys_by_id(self) -> dict[str, list[tuple[str, int]]]:
        """Every member's standby copies by its id."""
        return self._by_id(*(self.standbys or ((), ())))

    @cached_property
    def warmups_by_id(self) -> dict[str, list[tuple[str, int]]]:
        """Every member's warm-up replicas by its id."""
        return self._by_id(
            *((self.warming.member, self.warming.partition) if self.warming else ((), ()))
        )

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
        value: dict[str, Any] = {
            "assignment": {k: [list(p) for p in v] for k, v in self.as_dict().items()},
            "loads": {m.id: loads[i] for i, m in enumerate(self.group.members)},
            "moves": self.moves,
            "idle": self.idle,
            "revoke_first": [list(entry) for entry in self.revoke_first],
            "warnings": [*self.group.warnings, *self.notes],
        }
        if self.bound is not None:
            weights = self.weights.tolist()
            value["weights"] = {m.id: weights[i] for i, m in enumerate(self.group.members)}
            value["bound"], value["gap"] = self.bound, self.gap
        if self.standbys is not None:
            value["standbys"] = {
                k: [list(p) for p in pairs] for k, pairs in self.standbys_by_id.items()
            }
        if self.warming is not None:
            value["warmups"] = {
                k: [list(p) for p in pairs] for k, pairs in self.warmups_by_id.items()
            }
            value["waiting"] = self.warming.waiting
            value["probing_rebalance_ms"] = self.warming.probing_ms
        if self.cross_rack is not None:
            value["cross_rack"] = self.cross_rack
        if self.delay_ms is not None:
            value["delay_ms"] = self.delay_ms
        return value

    @cached_property
    def _by_member(self) -> tuple[Ints, Ints]:
        order = np.argsort(self.owner, kind="stable")
        start = np.searchsorted(self.owner[order], np.arange(len(self.group.members) + 1))
        return order, start

    def _by_id(
        self, member: Iterable[int], partition: Iterable[int]
    ) -> dict[str, list[tuple[str, int]]]:
        found: dict[str, list[tuple[str, int]]] = {m.id: [] for m in self.group.members}
        for at, row in zip(member, partition, strict=True):
            found[self.group.members[int(at)].id].append(self.group.named(int(row)))
        return found

    def _rows(self, member: int) -> Ints:
        order, start = self._by_member
        return order[start[member] : start[member + 1]]

    def _pairs(self, rows: Ints) -> list[tuple[str, int]]:
        topic = self.group.topic[rows]
        numbers = (rows - self.group.offset[topic]).tolist()
        return [(self.group.names[t], n) for t, n in zip(topic.tolist(), numbers, strict=True)]
