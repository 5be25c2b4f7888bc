"""The result of an assignor: which member gets which partition."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from partage.arrays import Bools, Ints
from partage.consumers.rack_reads import RackReads, rack_reads
from partage.frames import arrow_table, data_frame, html_table
from partage.group import Group
from partage.group.model import NO_MEMBER
from partage.group.owned import OwnedPartitions
from partage.units import listed, plural


def loads_of(owner: Ints, members: int) -> Ints:
    """[members] number of partitions of each member; ``owner`` [P], ``NO_MEMBER`` not counted."""
    return np.bincount(owner[owner != NO_MEMBER], minlength=members).astype(np.int64)


@dataclass(frozen=True, eq=False)
class Warmups:
    """Tasks whose target has not caught up with their state yet (KIP-441).

    - ``member``, ``partition``: the warm-up replicas, ascending
    - ``waiting``: number of tasks and standbys that wait for their target
    - ``probing_ms``: milliseconds until the next probing rebalance, None where nothing waits
    """

    member: Ints
    partition: Ints
    waiting: int
    probing_ms: int | None


@dataclass(frozen=True, eq=False, repr=False)
class Assignment:
    """The assignment of one round.

    - ``owner`` [P]: position of the member that gets each partition, ``NO_MEMBER`` where no member
      subscribes to the topic or the partition is withheld this round
    - ``target`` [P]: the member that gets it in the end; it differs from ``owner`` only where a
      cooperative member must revoke the partition first
    - ``bound``: weighted only, a lower bound on the highest load by weight of any assignment
    - ``standbys``: streams only, (member, partition) of the standby replicas, ascending
    - ``warming``: streams only, the warm-up replicas where lags are known
    - ``cross_rack``: where racks count, number of partitions without a replica in the rack of their
      member in ``target``
    - ``delay_ms``: connect only, how long the lost tasks still wait for their workers to return
    - ``notes``: further remarks of the assignor, in sentences
    - ``withheld`` [P]: what the assignor itself withholds in a cooperative round; None: what
      another member must revoke first
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
    withheld: Bools | None = None

    def of(self, member_id: str) -> list[tuple[str, int]]:
        """The member's partitions of this round, in order. Raises KeyError for an unknown id."""
        at = next((i for i, m in enumerate(self.group.members) if m.id == member_id), None)
        if at is None:
            raise KeyError(member_id)
        return self._pairs(self.rows(at))

    def partitions_of(self, member: int) -> OwnedPartitions:
        """Arrays of partition numbers by topic, of the member at a position."""
        rows = self.rows(member)
        topic = self.group.topic[rows]
        return OwnedPartitions(self.group.names, topic, rows - self.group.offset[topic])

    def as_dict(self) -> dict[str, list[tuple[str, int]]]:
        """Partitions by member id."""
        return {m.id: self._pairs(self.rows(i)) for i, m in enumerate(self.group.members)}

    @cached_property
    def loads(self) -> Ints:
        """[M] number of partitions of each member this round."""
        return loads_of(self.owner, len(self.group.members))

    @cached_property
    def target_loads(self) -> Ints:
        """[M] number of partitions of each member in ``target``."""
        return loads_of(self.target, len(self.group.members))

    def target_rows(self, member: int) -> Ints:
        """Positions of the partitions in ``target``, of the member at a position."""
        return np.flatnonzero(self.target == member)

    @property
    def unassigned(self) -> Ints:
        """Positions of the partitions that no member gets in ``target``."""
        return np.flatnonzero(self.target == NO_MEMBER)

    @property
    def warnings(self) -> tuple[str, ...]:
        """Warnings about the group, remarks of the assignor, and which partitions have no owner.
        Tasks of Streams and Connect that wait are in the notes."""
        found = [*self.group.warnings, *self.notes]
        waits = self.standbys is not None or self.delay_ms is not None
        rows = self.unassigned
        is_subscribed = self.group.is_subscribed[self.group.topic[rows]]
        left = rows[is_subscribed & (not waits)]
        for some, why in (
            (rows[~is_subscribed], "no member subscribes to the topic"),
            (left, "the assignor gives them to no member"),
        ):
            if len(some):
                names = [f"{topic}-{n}" for topic, n in map(self.group.named, some[:3].tolist())]
                count = plural(len(some), "partition")
                found.append(f"{count} without an owner, {why}: {listed(names, 3, len(some))}")
        return tuple(found)

    @property
    def idle(self) -> list[str]:
        """Ids of the members without a partition in ``target``."""
        held = self.target_loads.tolist()
        return [m.id for m, load in zip(self.group.members, held, strict=True) if not load]

    @cached_property
    def weights(self) -> Ints:
        """[M] total weight of each member's partitions this round."""
        held = self.owner >= 0
        weight = np.zeros(len(self.group.members), dtype=np.int64)
        np.add.at(weight, self.owner[held], self.group.weight[held])
        return weight

    @property
    def gap(self) -> float | None:
        """How far the highest load by weight is above ``bound``, as a fraction of ``bound``."""
        if self.bound is None:
            return None
        return int(self.weights.max()) / self.bound - 1 if self.bound else 0.0

    @cached_property
    def standbys_by_id(self) -> dict[str, list[tuple[str, int]]]:
        """Standby replicas by member id."""
        return self._by_id(*(self.standbys or ((), ())))

    @cached_property
    def warmups_by_id(self) -> dict[str, list[tuple[str, int]]]:
        """Warm-up replicas by member id."""
        return self._by_id(
            *((self.warming.member, self.warming.partition) if self.warming else ((), ()))
        )

    @property
    def moves(self) -> int:
        """Number of partitions that get a new owner in ``target``."""
        new = (self.target != NO_MEMBER) & (self.target != self.group.owner)
        return int(new.sum())

    @cached_property
    def reads(self) -> tuple[RackReads | None, RackReads | None]:
        """What members read within their racks and across: the present owners, and in ``target``.
        None without racks of members and partitions."""
        return rack_reads(self.group, self.group.owner), rack_reads(self.group, self.target)

    @property
    def revoke_first(self) -> list[tuple[str, int, str]]:
        """(topic, partition, member): withheld this round until that member has revoked it."""
        member, partition = self.group.claims
        withheld = (self.owner == NO_MEMBER) & (self.target != NO_MEMBER)
        rows = np.flatnonzero(withheld[partition] & (member != self.target[partition]))
        rows = rows[np.lexsort((member[rows], partition[rows]))]
        return [
            (*self.group.named(int(partition[row])), self.group.members[int(member[row])].id)
            for row in rows.tolist()
        ]

    def to_json(self) -> dict[str, Any]:
        """The JSON object that ``assign --json`` prints."""
        value: dict[str, Any] = {
            "assignment": _as_lists(self.as_dict()),
            "loads": self._by_member_id(self.loads),
            "moves": self.moves,
            "idle": self.idle,
            "revoke_first": [list(entry) for entry in self.revoke_first],
            "warnings": list(self.warnings),
        }
        if self.bound is not None:
            value["weights"] = self._by_member_id(self.weights)
            value["bound"], value["gap"] = self.bound, self.gap
        if self.standbys is not None:
            value["standbys"] = _as_lists(self.standbys_by_id)
        if self.warming is not None:
            value["warmups"] = _as_lists(self.warmups_by_id)
            value["waiting"] = self.warming.waiting
            value["probing_rebalance_ms"] = self.warming.probing_ms
        if self.cross_rack is not None:
            value["cross_rack"] = self.cross_rack
        if self.delay_ms is not None:
            value["delay_ms"] = self.delay_ms
        before, after = self.reads
        if before is not None and after is not None:
            value["reads"] = {"before": before.to_json(), "after": after.to_json()}
        return value

    # -- in a notebook

    def __repr__(self) -> str:
        return f"<Assignment: {self._summary()}>"

    def _repr_html_(self) -> str:
        claims = np.bincount(self.group.claims[0], minlength=len(self.group.members))
        counts = (count.tolist() for count in (self.loads, self._kept, claims))
        rows = [
            [member.id, load, keep, load - keep, claimed - keep]
            for member, load, keep, claimed in zip(self.group.members, *counts, strict=True)
        ]
        header = ("member", "partitions", "kept", "gained", "given up")
        return html_table(self._summary(), header, rows)

    @property
    def _kept(self) -> Ints:
        """[M] partitions that each member has had before."""
        kept = np.where(self.group.owner == self.owner, self.owner, NO_MEMBER)
        return loads_of(kept, len(self.group.members))

    def to_pandas(self) -> Any:
        """A ``pandas.DataFrame`` with a row per partition: ``topic``, ``partition``, ``member``
        (owner this round), ``previous_member`` and ``target_member``; None for no member. Raises
        PartageError where pandas is not installed."""
        return data_frame(self._columns())

    def to_arrow(self) -> Any:
        """The same table as ``to_pandas`` as a ``pyarrow.Table``. Raises PartageError where pyarrow
        is not installed."""
        return arrow_table(self._columns())

    def _columns(self) -> dict[str, list[Any]]:
        # NO_MEMBER is -1: the last entry
        ids = np.array([*(member.id for member in self.group.members), None], dtype=object)
        topic = self.group.topic
        return {
            "topic": np.array(self.group.names, dtype=object)[topic].tolist(),
            "partition": (np.arange(self.group.partitions) - self.group.offset[topic]).tolist(),
            "member": ids[self.owner].tolist(),
            "previous_member": ids[self.group.owner].tolist(),
            "target_member": ids[self.target].tolist(),
        }

    def _summary(self) -> str:
        return (
            f"{plural(self.group.partitions, 'partition')}, "
            f"{plural(len(self.group.members), 'member')}, {plural(self.moves, 'move')}"
        )

    # -- helpers

    def _by_member_id(self, column: Ints) -> dict[str, int]:
        numbers = column.tolist()
        return {member.id: numbers[at] for at, member in enumerate(self.group.members)}

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

    def rows(self, member: int) -> Ints:
        """Positions of the partitions of this round, of the member at a position."""
        order, start = self._by_member
        return order[start[member] : start[member + 1]]

    def _pairs(self, rows: Ints) -> list[tuple[str, int]]:
        topic = self.group.topic[rows]
        numbers = (rows - self.group.offset[topic]).tolist()
        return [(self.group.names[t], n) for t, n in zip(topic.tolist(), numbers, strict=True)]


def _as_lists(held: Mapping[str, Iterable[tuple[str, int]]]) -> dict[str, list[list[Any]]]:
    """Partitions by member id, as JSON has them."""
    return {member: [list(pair) for pair in pairs] for member, pairs in held.items()}
