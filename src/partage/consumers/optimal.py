"""The exact assignment: fairest loads, then near racks, then most partitions kept, then each topic
spread most evenly over the members.

Partitions that the same members may have, with replicas in the same racks, are alike; the kernel
(``flow.allotting``) decides how many of each kind every member keeps and gets anew, which is a few
thousand numbers even for a million partitions. Which ones is first dealt out: of the partitions of
one kind that a member owns, it keeps those of the topics of which it has few; what is free goes
round the members, topic by topic. Then the counts per topic and member are evened out as far as
loads, racks and kept partitions stay as they are (``flow.spreading``): the sum of their squares is
the least there is, unless the group is so large that this would take too long.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from partage.flow.allotting import Allotted, Allotting, allot
from partage.flow.network import EMPTY, FULL
from partage.flow.spreading import Spreading, spread
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
    has = np.flatnonzero((owner != NOBODY) & (kinds.of_partition >= 0))
    arc = kinds.arc_of(kinds.of_partition[has], owner[has])
    found = allot(
        Allotting(
            count=kinds.count,
            slots=members,
            group=kinds.kind,
            slot=kinds.member,
            sits=np.bincount(arc, minlength=len(kinds.kind)).astype(np.int64),
            far=kinds.far,
            base=None if rest is None else _loads(rest, members),
        )
    )
    _keep(group, has, owner[has], arc, found.stay, answer)
    _deal(kinds.of_partition, kinds.kind, kinds.member, found.come, answer)
    _spread(group, kinds, found, rest, answer)
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
    members: int

    @cached_property
    def _arc(self) -> Ints:
        table = np.full(len(self.count) * self.members, -1, dtype=np.int64)
        table[self.kind * self.members + self.member] = np.arange(len(self.kind))
        return table

    def arc_of(self, kind: Ints, member: Ints) -> Ints:
        """The position of (kind, member) among the pairs."""
        return self._arc[kind * self.members + member]

    @cached_property
    def first(self) -> Ints:
        """[K + 1] the first pair of each kind."""
        return np.searchsorted(self.kind, np.arange(len(self.count) + 1)).astype(np.int64)

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
        kind, member = kind.astype(np.int64), member.astype(np.int64)
        return cls(of_partition, count, kind, member, far, len(group.members))


def _keep(group: Group, partition: Ints, member: Ints, arc: Ints, stay: Ints, answer: Ints) -> None:
    """Each member keeps its partitions of a kind, rank by rank of their topics."""
    if len(partition) == 0:
        return
    all_stay = stay[arc] >= np.bincount(arc, minlength=len(stay))[arc]
    answer[partition[all_stay]] = member[all_stay]
    some = ~all_stay & (stay[arc] > 0)
    partition, member, arc = partition[some], member[some], arc[some]
    code = member * len(group.topics) + group.topic[partition]
    by_topic = np.argsort(code, kind="stable")
    rank = np.empty(len(partition), dtype=np.int64)
    rank[by_topic] = _rank_within(code[by_topic])
    # not everyone gives up the same topic
    shifted = (group.topic[partition] + member) % len(group.topics)
    order = np.lexsort((partition, shifted, rank, arc))
    kept = order[_rank_within(arc[order]) < stay[arc[order]]]
    answer[partition[kept]] = member[kept]


def _deal(label: Ints, of_arc: Ints, member: Ints, come: Ints, answer: Ints) -> None:
    """What is free goes round the members, label by label ([P], -1: none), partitions in order;
    ``come`` to each ``member`` of each label, ``of_arc``."""
    free = np.flatnonzero((answer == NOBODY) & (label >= 0))
    free = free[np.argsort(label[free], kind="stable")]
    arc = np.repeat(np.arange(len(come)), come)
    turn = _rank_within(arc)
    # those that get more go first: the last, shorter round goes on where the one before it ended
    order = np.lexsort((-come[arc], turn, of_arc[arc]))
    answer[free] = member[arc[order]]


def _spread(group: Group, kinds: _Kinds, found: Allotted, rest: Ints | None, answer: Ints) -> None:
    """Even the counts per topic and member out, at no other cost."""
    members, listed = len(group.members), np.flatnonzero(kinds.of_partition >= 0)
    # rows: the partitions of a kind within each topic
    code = group.topic[listed] * len(kinds.count) + kinds.of_partition[listed]
    named, first, of = np.unique(code, return_index=True, return_inverse=True)
    row = np.full(group.partitions, -1, dtype=np.int64)
    row[listed] = of.ravel()
    topic, kind = np.divmod(named, len(kinds.count))
    count = np.bincount(of.ravel(), minlength=len(named)).astype(np.int64)
    width = np.diff(kinds.first)[kind]
    start = np.cumsum(width) - width
    row_of = np.repeat(np.arange(len(named)), width)
    arc = np.arange(len(row_of)) + np.repeat(kinds.first[kind] - start, width)

    def pairs(partition: Ints, member: Ints) -> Ints:
        """Counts [A] per row and member."""
        at = row[partition]
        pair = start[at] + kinds.arc_of(kind[at], member) - kinds.first[kind[at]]
        return np.bincount(pair, minlength=len(arc)).astype(np.int64)

    has = listed[group.owner[listed] != NOBODY]
    sits = pairs(has, group.owner[has])
    most = np.where(found.coming[arc] == EMPTY, sits, count[row_of])
    problem = Spreading(
        count=count,
        family=topic,
        row=row_of,
        slot=kinds.member[arc],
        low=np.where(
            found.coming[arc] == FULL,
            count[row_of],
            np.where(found.staying[arc] == FULL, sits, 0),
        ),
        high=np.where(found.staying[arc] == EMPTY, 0, most),
        base=_elsewhere(group, rest, topic[row_of], kinds.member[arc]),
        least=found.least,
        most=found.most,
    )
    given = pairs(listed, answer[listed])
    counts = spread(problem, given)
    changed = np.zeros(len(named), dtype=np.bool_)
    changed[row_of[counts != given]] = True
    if not changed.any():
        return
    again = listed[changed[row[listed]]]
    answer[again] = NOBODY
    has = again[group.owner[again] != NOBODY]
    at = row[has]
    pair = start[at] + kinds.arc_of(kind[at], group.owner[has]) - kinds.first[kind[at]]
    stay = np.minimum(counts, sits)
    _keep(group, has, group.owner[has], pair, stay, answer)
    _deal(
        np.where(answer == NOBODY, row, -1),
        row_of,
        problem.slot,
        np.where(changed[row_of], counts - stay, 0),
        answer,
    )


def _elsewhere(group: Group, rest: Ints | None, topic: Ints, member: Ints) -> Ints:
    """[A] partitions of the topic that the member has anyway."""
    if rest is None:
        return np.zeros(len(topic), dtype=np.int64)
    decided = np.flatnonzero(rest != NOBODY)
    code = group.topic[decided] * len(group.members) + rest[decided]
    held = np.bincount(code, minlength=len(group.topics) * len(group.members))
    return np.asarray(held[topic * len(group.members) + member], dtype=np.int64)


def _rank_within(ordered: Ints) -> Ints:
    """Number of each entry within its run of equals."""
    at = np.arange(len(ordered))
    starts = np.ones(len(ordered), dtype=np.bool_)
    starts[1:] = ordered[1:] != ordered[:-1]
    return np.asarray(at - np.maximum.accumulate(np.where(starts, at, 0)))
