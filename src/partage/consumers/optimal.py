"""The exact assignment: fairest loads, then near racks, then most partitions kept.

Partitions that the same members may have, with replicas in the same racks, are alike; the kernel
(``flow.allotting``) decides how many of each kind every member keeps and gets anew, which is a few
thousand numbers even for a million partitions. Which ones is then dealt out so that each member
gets about as much of every topic: of the partitions of one kind that a member owns, it keeps those
of the topics of which it has few; what is free goes round the members, topic by topic. That last is
a search, and gives up nothing of the rest.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from partage.flow.allotting import Allotting, allot
from partage.group import Group
from partage.group.model import NOBODY

Ints = npt.NDArray[np.int64]


def balanced(
    group: Group, rest: Ints | None = None, among: npt.NDArray[np.bool_] | None = None
) -> Ints:
    """[P] the member that gets each partition, ``NOBODY`` where none subscribes.

    - ``rest`` [P]: what is decided already and counts as load, ``NOBODY`` where it is not
    - ``among`` [P]: the partitions that it is about, all unless given
    """
    owner = group.owner
    open_ = np.ones(group.partitions, dtype=np.bool_) if rest is None else rest == NOBODY
    if among is not None:
        open_ &= among
    kinds = _Kinds.of(group, open_)
    answer = np.full(group.partitions, NOBODY, dtype=np.int64) if rest is None else rest.copy()
    if len(kinds.count) == 0:
        return answer
    members = len(group.members)
    has = (owner != NOBODY) & (kinds.of_partition >= 0)
    code = kinds.of_partition[has] * members + owner[has]
    arc_code = kinds.kind * members + kinds.member
    held = np.bincount(np.searchsorted(arc_code, code), minlength=len(arc_code))
    found = allot(
        Allotting(
            count=kinds.count,
            slots=members,
            group=kinds.kind,
            slot=kinds.member,
            sits=held.astype(np.int64),
            far=kinds.far,
            base=None if rest is None else _loads(rest, members),
        )
    )
    _keep(group, kinds, owner, has, found.stay, arc_code, answer)
    _deal(kinds, found.come, answer)
    return answer


def _loads(owner: Ints, members: int) -> Ints:
    return np.bincount(owner[owner != NOBODY], minlength=members).astype(np.int64)


@dataclass(frozen=True, eq=False)
class _Kinds:
    """Kinds of partitions, K, and who may have them, A pairs ascending.

    - ``of_partition`` [P] (-1: nobody subscribes); ``count`` [K]
    - ``kind``, ``member`` [A]; ``far`` [A]: 1 where no replica lies in the member's rack
    """

    of_partition: Ints
    count: Ints
    kind: Ints
    member: Ints
    far: Ints

    @classmethod
    def of(cls, group: Group, open_: npt.NDArray[np.bool_]) -> _Kinds:
        _, of_topic = np.unique(group.subscribes.T, axis=0, return_inverse=True)
        label = of_topic.ravel().astype(np.int64)[group.topic]
        subscribed = np.asarray(group.subscribes.any(axis=0))[group.topic] & open_
        racks: npt.NDArray[np.bool_] | None = None
        if group.racks and (group.member_rack >= 0).any():
            patterns, pattern = np.unique(group.in_rack, axis=0, return_inverse=True)
            label = label * len(patterns) + pattern.ravel()
            racks = patterns
        named, first, of = np.unique(label[subscribed], return_index=True, return_inverse=True)
        of_partition = np.full(group.partitions, NOBODY, dtype=np.int64)
        of_partition[subscribed] = of.ravel()
        count = np.bincount(of.ravel(), minlength=len(named)).astype(np.int64)
        sample = np.flatnonzero(subscribed)[first]
        open_to = group.subscribes[:, group.topic[sample]][group.class_of]  # [M, K]
        kind, member = np.nonzero(open_to.T)
        far = np.zeros(len(kind), dtype=np.int64)
        if racks is not None:
            pattern_of = named % len(racks)
            rack = group.member_rack[member]
            near = racks[pattern_of[kind], np.maximum(rack, 0)] & (rack >= 0)
            # a partition without known racks, or a member without one, is near to nobody in
            # particular
            known = racks[pattern_of[kind]].any(axis=1) & (rack >= 0)
            far[known & ~near] = 1
        return cls(of_partition, count, kind.astype(np.int64), member.astype(np.int64), far)


def _keep(
    group: Group,
    kinds: _Kinds,
    owner: Ints,
    has: npt.NDArray[np.bool_],
    stay: Ints,
    arc_code: Ints,
    answer: Ints,
) -> None:
    """Each member keeps its partitions of a kind, rank by rank of their topics."""
    partition = np.flatnonzero(has)
    if len(partition) == 0:
        return
    member, topic = owner[partition], group.topic[partition]
    by_topic = np.lexsort((partition, topic, member))
    rank = np.empty(len(partition), dtype=np.int64)
    rank[by_topic] = _rank_within(member[by_topic] * len(group.topics) + topic[by_topic])
    arc = np.searchsorted(arc_code, kinds.of_partition[partition] * len(group.members) + member)
    order = np.lexsort((partition, rank, arc))
    kept = order[_rank_within(arc[order]) < stay[arc[order]]]
    answer[partition[kept]] = member[kept]


def _deal(kinds: _Kinds, come: Ints, answer: Ints) -> None:
    """What is free goes round the members, kind by kind, partitions in order."""
    free = np.flatnonzero((answer == NOBODY) & (kinds.of_partition >= 0))
    free = free[np.argsort(kinds.of_partition[free], kind="stable")]
    arc = np.repeat(np.arange(len(come)), come)
    turn = _rank_within(arc)
    order = np.lexsort((turn, kinds.kind[arc]))
    answer[free] = kinds.member[arc[order]]


def _rank_within(ordered: Ints) -> Ints:
    """Number of each entry within its run of equals."""
    at = np.arange(len(ordered))
    starts = np.ones(len(ordered), dtype=np.bool_)
    starts[1:] = ordered[1:] != ordered[:-1]
    return np.asarray(at - np.maximum.accumulate(np.where(starts, at, 0)))
