"""The exact assignment: the fairest loads, then the most partitions in the racks of their members,
then the fewest moves, then each topic spread as evenly as possible over the members. With
``racks_first``, racks come before loads, and ``max_skew`` limits the highest load.

1. Partitions with the same subscribers and the same replica racks form a *kind*. The kernel
   (``flow.group_assignment``) decides how many partitions of each kind every member keeps and gets:
   a few thousand numbers even for a million partitions.
2. A first choice of the partitions (``consumers.first_choice``).
3. Unless that spread every topic evenly, the counts per topic and member are balanced without
   changing loads, racks or moves (``flow.even_spread``). The sum of their squares is minimal,
   unless the group is so large that this would take too long.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from partage.arrays import Bools, Ints
from partage.consumers.assignment import loads_of
from partage.consumers.first_choice import give_free, give_in_turn, keep, spread_evenly
from partage.errors import InputError
from partage.flow.even_spread import SpreadProblem, minimise_spread
from partage.flow.group_assignment import (
    GroupProblem,
    GroupSolution,
    assign_groups,
    assign_nearest,
)
from partage.flow.network import EMPTY, FULL
from partage.flow.sorting import numbered
from partage.group import Group
from partage.group.model import NO_MEMBER

_MAX_PAIRS = 10_000_000
"""With more pairs of topic and member than this, step 3 is skipped to save memory. With more pairs
of kind and member, weights of partitions far from some members are rounded."""

_COST_BITS, _TOTAL_BITS = 40, 60
"""The largest weight of a partition, and their largest sum, as costs of the network."""

_ROUNDED_BITS = 3


def check_max_skew(max_skew: float) -> None:
    """Raise InputError for a negative or infinite one."""
    if not (isinstance(max_skew, (int, float)) and 0 <= max_skew < float("inf")):
        raise InputError(f"max_skew {max_skew!r}", "expected a fraction from 0, such as 0.05")


def assign_exactly(
    group: Group,
    decided: Ints | None = None,
    among: Bools | None = None,
    *,
    racks_first: bool = False,
    max_skew: float | None = None,
) -> Ints:
    """[P] the member that gets each partition, ``NO_MEMBER`` where no member subscribes.

    - ``decided`` [P]: owners that are fixed and count as load, ``NO_MEMBER`` where there is none
    - ``among`` [P]: the partitions to assign, by default all
    - ``racks_first``: the fewest partitions across racks, by weight where the group has weights,
      come before the fairest loads. A member without a rack reads across racks.
    - ``max_skew``: with ``racks_first``, how far the highest load may be above the highest one of
      the fairest loads, as a fraction of it; None: any
    """
    owner = group.owner
    open_ = np.ones(group.partitions, dtype=np.bool_) if decided is None else decided == NO_MEMBER
    if among is not None:
        open_ &= among
    kinds = _Kinds.of_traffic(group, open_) if racks_first else _Kinds.of(group, open_)
    answer = (
        np.full(group.partitions, NO_MEMBER, dtype=np.int64) if decided is None else decided.copy()
    )
    if len(kinds.count) == 0:
        return answer
    members = len(group.members)
    has = np.flatnonzero((owner != NO_MEMBER) & (kinds.of_partition >= 0))
    arc = kinds.arc_of(kinds.of_partition[has], owner[has])
    problem = GroupProblem(
        count=kinds.count,
        slots=members,
        group=kinds.kind,
        slot=kinds.member,
        current=np.bincount(arc, minlength=len(kinds.kind)).astype(np.int64),
        far=kinds.far,
        base=None if decided is None else loads_of(decided, members),
    )
    found = assign_nearest(problem, max_skew) if racks_first else assign_groups(problem)
    keep(group, has, owner[has], arc, found.kept, answer)
    give_free(group, kinds.of_partition, problem, found, answer)
    if not spread_evenly(group, answer):
        _spread(group, kinds, found, has[found.kept_face[arc] == FULL], decided, answer)
    return answer


@dataclass(frozen=True, eq=False)
class _Kinds:
    """K kinds of partitions and the members that may have them: A pairs, ascending.

    - ``of_partition`` [P] kind of each partition, -1 where none is assigned; ``count`` [K]
    - ``kind``, ``member`` [A]; ``far`` [A]: 1 where no replica is in the member's rack, with
      traffic the weight of a partition
    """

    of_partition: Ints
    count: Ints
    kind: Ints
    member: Ints
    far: Ints
    members: int

    @cached_property
    def _arc(self) -> Ints:
        table = np.full(len(self.count) * self.members, -1, dtype=np.int64)
        table[self.kind * self.members + self.member] = np.arange(len(self.kind))
        return table

    def arc_of(self, kind: Ints, member: Ints) -> Ints:
        """Position of (kind, member) among the pairs."""
        return np.asarray(self._arc[kind * self.members + member])

    @cached_property
    def first(self) -> Ints:
        """[K + 1] the first pair of each kind."""
        return np.searchsorted(self.kind, np.arange(len(self.count) + 1)).astype(np.int64)

    @classmethod
    def of(cls, group: Group, open_: Bools) -> _Kinds:
        """By subscribers and racks. Without known racks of the partition or the member, no rack is
        preferred."""
        return cls._labelled(group, open_, _labels(group), without_rack=0)

    @classmethod
    def of_traffic(cls, group: Group, open_: Bools) -> _Kinds:
        """By subscribers, racks and, where a partition is near some members and far from others,
        weight. A partition without weight counts as one of weight 1, so that racks count for it,
        too."""
        kinds = cls._labelled(group, open_, _labels(group), without_rack=1)
        if group.weights is None or len(kinds.count) == 0:
            return kinds
        weight = np.maximum(_cost(group.weight), 1)
        low: Ints = np.minimum.reduceat(kinds.far, kinds.first[:-1])
        high: Ints = np.maximum.reduceat(kinds.far, kinds.first[:-1])
        of = kinds.of_partition
        differs = (of >= 0) & (low < high).take(of, mode="clip")
        levels = weight[differs]
        if len(np.unique(levels)) * kinds.members * len(kinds.count) > _MAX_PAIRS:
            weight = _rounded(weight)
        weight = np.where(differs, weight, 1)
        named, level = np.unique(weight, return_inverse=True)
        label = of * len(named) + level.ravel()
        finer = cls._labelled(group, open_, label, without_rack=1)
        rows = np.flatnonzero(finer.of_partition >= 0)
        weight_of = np.zeros(len(finer.count), dtype=np.int64)
        weight_of[finer.of_partition[rows]] = weight[rows]
        return replace(finer, far=finer.far * weight_of[finer.kind])

    @classmethod
    def _labelled(cls, group: Group, open_: Bools, label: Ints, without_rack: int) -> _Kinds:
        """A kind for each ``label`` [P]; ``without_rack``: far of members without a rack."""
        subscribed = np.asarray(group.subscribes.any(axis=0))[group.topic] & open_
        named, first, of = numbered(label[subscribed])
        of_partition = np.full(group.partitions, NO_MEMBER, dtype=np.int64)
        of_partition[subscribed] = of
        count = np.bincount(of, minlength=len(named)).astype(np.int64)
        sample = np.flatnonzero(subscribed)[first]
        open_to = group.subscribes[:, group.topic[sample]][group.class_of]  # [M, K]
        kind, member = np.nonzero(open_to.T)
        far = np.zeros(len(kind), dtype=np.int64)
        if group.has_racks:
            racks = group.in_rack[sample]
            rack = group.member_rack[member]
            near = racks[kind, np.maximum(rack, 0)]
            far = np.where(rack < 0, without_rack, ~near).astype(np.int64)
            far[~np.asarray(racks.any(axis=1))[kind]] = 0
        kind, member = kind.astype(np.int64), member.astype(np.int64)
        return cls(of_partition, count, kind, member, far, len(group.members))


def _labels(group: Group) -> Ints:
    """[P] one number for all partitions with the same subscribers and racks."""
    _, of_topic = np.unique(group.subscribes.T, axis=0, return_inverse=True)
    label = of_topic.ravel().astype(np.int64)[group.topic]
    if not group.has_racks:
        return label
    patterns, pattern = np.unique(group.in_rack, axis=0, return_inverse=True)
    return np.asarray(label * len(patterns) + pattern.ravel())


def _cost(weight: Ints) -> Ints:
    """[P] the weights, all divided by the same power of two where they are too large as costs."""
    largest = int(weight.max(initial=0)).bit_length() - _COST_BITS
    total = sum(weight.tolist()).bit_length() - _TOTAL_BITS
    return np.asarray(weight >> max(largest, total, 0))


def _rounded(weight: Ints) -> Ints:
    """[P] the weights with their first bits only."""
    _, exponent = np.frexp(weight.astype(np.float64))
    drop = np.maximum(exponent - _ROUNDED_BITS, 0)
    return np.asarray((weight >> drop) << drop)


def _spread(
    group: Group,
    kinds: _Kinds,
    found: GroupSolution,
    stays: Ints,
    decided: Ints | None,
    answer: Ints,
) -> None:
    """Balance the counts per topic and member at no other cost. ``stays``: the partitions that keep
    their owner in every optimum."""
    # a topic whose partitions all stay needs no decision
    open_ = kinds.of_partition >= 0
    open_[stays] = False
    topics = np.zeros(len(group.topics), dtype=np.bool_)
    topics[group.topic[open_]] = True
    if not topics.any():
        return
    listed = (kinds.of_partition >= 0) & topics[group.topic]
    aside = loads_of(answer[(kinds.of_partition >= 0) & ~listed], len(group.members))
    rows = _Rows.of(group, kinds, np.flatnonzero(listed))
    if rows is None:
        return
    arc, pair_row, member = rows.arc, rows.row, kinds.member[rows.arc]
    has = rows.listed[group.owner[rows.listed] != NO_MEMBER]
    sits = rows.counted(rows.pair(has, group.owner[has]))
    low = np.where(found.kept_face[arc] == FULL, sits, 0)
    high = np.where(found.new_face[arc] == EMPTY, sits, rows.count[pair_row])
    problem = SpreadProblem(
        count=rows.count,
        family=rows.topic,
        row=pair_row,
        slot=member,
        low=np.where(found.new_face[arc] == FULL, high, low),
        high=np.where(found.kept_face[arc] == EMPTY, 0, high),
        base=_elsewhere(group, decided, rows.topic[pair_row], member),
        least=found.least - aside,
        most=found.most - aside,
    )
    given = rows.counted(rows.pair(rows.listed, answer[rows.listed]))
    counts = minimise_spread(problem, given)
    changed = np.zeros(len(rows.count), dtype=np.bool_)
    changed[pair_row[counts != given]] = True
    if not changed.any():
        return
    again = rows.listed[changed[rows.of_partition[rows.listed]]]
    answer[again] = NO_MEMBER
    has = again[group.owner[again] != NO_MEMBER]
    stay = np.minimum(counts, sits)
    keep(group, has, group.owner[has], rows.pair(has, group.owner[has]), stay, answer)
    come = np.where(changed[pair_row], counts - stay, 0)
    give_in_turn(rows.of_partition, pair_row, member, come, answer)


@dataclass(frozen=True, eq=False)
class _Rows:
    """R rows, the partitions of one kind and topic, and the members that may have them: A pairs.

    - ``listed``: the partitions of the rows; ``of_partition`` [P] the row of each
    - ``topic``, ``kind``, ``count`` [R]; ``row``, ``arc`` [A]: the pair of the row's kind
    - ``shift`` [R]: from the position of a pair of the kind to that of the row
    """

    kinds: _Kinds
    listed: Ints
    of_partition: Ints
    topic: Ints
    kind: Ints
    count: Ints
    row: Ints
    arc: Ints
    shift: Ints

    @classmethod
    def of(cls, group: Group, kinds: _Kinds, listed: Ints) -> _Rows | None:
        """The rows, None for more than ``_MAX_PAIRS`` pairs."""
        code = group.topic[listed] * len(kinds.count) + kinds.of_partition[listed]
        named, _, of = numbered(code)
        of_partition = np.full(group.partitions, NO_MEMBER, dtype=np.int64)
        of_partition[listed] = of
        topic, kind = np.divmod(named, len(kinds.count))
        width = np.diff(kinds.first)[kind]
        if int(width.sum()) > _MAX_PAIRS:
            return None
        shift = np.cumsum(width) - width - kinds.first[kind]
        row = np.repeat(np.arange(len(named)), width)
        count = np.bincount(of, minlength=len(named)).astype(np.int64)
        arc = np.arange(len(row)) - np.repeat(shift, width)
        return cls(kinds, listed, of_partition, topic, kind, count, row, arc, shift)

    def pair(self, partition: Ints, member: Ints) -> Ints:
        """The pair of each partition's row and its member."""
        row = self.of_partition[partition]
        return self.kinds.arc_of(self.kind[row], member) + self.shift[row]

    def counted(self, pair: Ints) -> Ints:
        """[A] how often each pair occurs."""
        return np.bincount(pair, minlength=len(self.row)).astype(np.int64)


def _elsewhere(group: Group, decided: Ints | None, topic: Ints, member: Ints) -> Ints:
    """[A] number of partitions of the topic that are already decided for the member."""
    if decided is None:
        return np.zeros(len(topic), dtype=np.int64)
    rows = np.flatnonzero(decided != NO_MEMBER)
    code = group.topic[rows] * len(group.members) + decided[rows]
    held = np.bincount(code, minlength=len(group.topics) * len(group.members))
    return np.asarray(held[topic * len(group.members) + member], dtype=np.int64)
