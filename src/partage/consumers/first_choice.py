"""A first choice of the partitions, once it is decided how many of each kind every member keeps and
gets (``exact_assignment``).

Of the partitions of a kind that a member owns, it keeps the ones of topics of which it has few.
Free ones go round robin to the members, topic by topic.

Where few partitions change their members, each is chosen by itself: a member gives one up of the
topic of which it has most, and of these one that few others gave up; a free one goes to the member
that has fewest of its topic, also to another than was decided if that is as fair and moves as
little. Most often no topic can be spread more evenly then.
"""

from __future__ import annotations

import numpy as np

from partage.arrays import Bools, Ints
from partage.flow.group_assignment import GroupProblem, GroupSolution
from partage.flow.network import FREE
from partage.flow.sorting import stable_order
from partage.group import Group
from partage.group.model import NO_MEMBER

FEW = 2_000
"""Up to this many partitions that move, and a quarter of all, are chosen one by one."""

_CELLS = 10_000_000
"""With more (topic, member) than this, they are not counted, to save memory."""


def keep(group: Group, partition: Ints, member: Ints, arc: Ints, stay: Ints, answer: Ints) -> None:
    """Each member keeps ``stay`` [A] of the partitions that it owns; ``arc``: their pairs of kind
    and member. With few to give up one by one, else first the lowest of each topic, then the second
    of each topic, and so on."""
    if len(partition) == 0:
        return
    held = np.bincount(arc, minlength=len(stay))
    all_stay = (stay >= held)[arc]
    answer[partition[all_stay]] = member[all_stay]
    some = np.flatnonzero(~all_stay & (stay > 0)[arc])
    if len(some) == 0:
        return
    partition, member, arc = partition[some], member[some], arc[some]
    if int((held - stay)[np.unique(arc)].sum()) <= FEW:
        kept = np.flatnonzero(_kept_of_few(group.topic[partition], arc, stay))
    else:
        kept = _kept_of_many(group, partition, member, arc, stay)
    answer[partition[kept]] = member[kept]


def _kept_of_few(topic: Ints, arc: Ints, stay: Ints) -> Bools:
    """Whether each partition is kept; ``topic`` is ascending."""
    kept = np.ones(len(topic), dtype=np.bool_)
    freed = np.zeros(int(topic.max()) + 1, dtype=np.int64)
    order = stable_order(arc)
    bounds = np.flatnonzero(np.diff(arc[order])) + 1
    for rows in np.split(order, bounds):
        # partitions of a topic follow each other
        topics, first, count = np.unique(topic[rows], return_index=True, return_counts=True)
        for _ in range(len(rows) - int(stay[arc[rows[0]]])):
            most = np.flatnonzero(count == count.max())
            at = most[np.argmin(freed[topics[most]])]
            count[at] -= 1
            kept[rows[first[at] + count[at]]] = False
            freed[topics[at]] += 1
    return kept


def _kept_of_many(group: Group, partition: Ints, member: Ints, arc: Ints, stay: Ints) -> Ints:
    """The positions of the partitions that are kept."""
    code = member * len(group.topics) + group.topic[partition]
    by_topic = stable_order(code)
    rank = np.empty(len(partition), dtype=np.int64)
    rank[by_topic] = _rank_within(code[by_topic])
    # so that members do not all give up the same topic
    shifted = (group.topic[partition] + member) % len(group.topics)
    order = np.lexsort((partition, shifted, rank, arc))
    return np.asarray(order[_rank_within(arc[order]) < stay[arc[order]]])


def give_free(
    group: Group, kind_of: Ints, problem: GroupProblem, found: GroupSolution, answer: Ints
) -> None:
    """Give the free partitions of each kind to the members that get new ones; ``kind_of`` [P], -1
    for partitions that are not assigned."""
    free = np.flatnonzero((answer == NO_MEMBER) & (kind_of >= 0))
    cells = len(group.topics) * len(group.members)
    if len(free) > min(FEW, len(answer) // 4) or cells > _CELLS:
        give_in_turn(kind_of, problem.group, problem.slot, found.new, answer)
        return
    held = counted_cells(group, answer)
    load = np.bincount(problem.slot, found.kept + found.new, minlength=problem.slots)
    kinds = kind_of[free]
    for kind in np.unique(kinds).tolist():
        arcs = slice(*np.searchsorted(problem.group, (kind, kind + 1)))
        members, due = problem.slot[arcs], found.new[arcs].copy()
        open_ = found.new_face[arcs] == FREE
        for partition in free[kinds == kind].tolist():
            topic = group.topic[partition]
            # a member may get one instead of another where all fairest loads with the fewest moves
            # include both
            spare = open_ & (due > 0) & (load > found.least)[members]
            instead = open_ & (load < found.most)[members] & bool(spare.any())
            has = 2 * held[topic, members] + (due == 0)
            has[~instead & (due == 0)] = np.iinfo(np.int64).max
            at = int(np.argmin(has))
            if due[at] == 0:
                other = int(np.argmax(spare * (held[topic, members] + 1)))
                due[other] -= 1
                load[members[other]] -= 1
                load[members[at]] += 1
            else:
                due[at] -= 1
            answer[partition] = members[at]
            held[topic, members[at]] += 1


def give_in_turn(label: Ints, of_arc: Ints, member: Ints, come: Ints, answer: Ints) -> None:
    """Assign free partitions round robin to the members, label by label.

    - ``label`` [P], -1 for none; ``of_arc`` [A] the label of each pair, with its ``member``
    - ``come`` [A] number of partitions for each pair
    """
    free = np.flatnonzero((answer == NO_MEMBER) & (label >= 0))
    free = free[stable_order(label[free])]
    # members that get more go first: the last, shorter round continues where the one before ended
    arcs = np.flatnonzero(come)
    arcs = arcs[np.lexsort((-come[arcs], of_arc[arcs]))]
    number = come[arcs]
    arc = np.repeat(np.arange(len(arcs)), number)
    turn = np.arange(len(arc)) - np.repeat(np.cumsum(number) - number, number)
    rounds = int(number.max(initial=0))
    # in a round, the members of a label that are still due come in the order of ``arcs``
    named, first = np.unique(of_arc[arcs], return_index=True)
    at = np.repeat(np.arange(len(named)), np.diff(np.append(first, len(arcs))))
    code = at[arc] * rounds + turn
    before = np.concatenate(([0], np.cumsum(np.bincount(code, minlength=len(named) * rounds))))
    answer[free[before[code] + (np.arange(len(arcs)) - first[at])[arc]]] = member[arcs][arc]


def counted_cells(group: Group, answer: Ints) -> Ints:
    """[T, M] number of partitions of each topic that each member gets."""
    topics, members = len(group.topics), len(group.members)
    rows = np.flatnonzero(answer != NO_MEMBER)
    code = group.topic[rows] * members + answer[rows]
    found: Ints = np.bincount(code, minlength=topics * members).reshape(topics, members)
    return found


def spread_evenly(group: Group, answer: Ints) -> bool:
    """Whether the members of each topic differ by at most one in it: no assignment of the same
    partitions has a smaller sum of squares. False also where there are too many to count."""
    if len(group.topics) * len(group.members) > _CELLS:
        return False
    held = counted_cells(group, answer)
    if group.subscribes.all():
        return bool((held.max(axis=1) - held.min(axis=1) <= 1).all())
    subscribes = group.subscribes[group.class_of].T
    least = held.min(axis=1, where=subscribes, initial=np.iinfo(np.int64).max)
    most = held.max(axis=1, where=subscribes, initial=0)
    return bool((most - least <= 1).all())


def _rank_within(ordered: Ints) -> Ints:
    """Number of each entry within its run of equal values."""
    at = np.arange(len(ordered))
    starts = np.ones(len(ordered), dtype=np.bool_)
    starts[1:] = ordered[1:] != ordered[:-1]
    return np.asarray(at - np.maximum.accumulate(np.where(starts, at, 0)))
