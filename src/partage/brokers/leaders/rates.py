"""Leaders balanced by measured incoming bytes per second.

Partitions have different rates, so this is not a flow problem: a search finds an answer, and a
lower bound shows how far it may be from the optimum. The bound considers a set of brokers: they
must lead all partitions whose replicas are all on the set, so one of them leads at least the total
rate of these partitions divided by the size of the set. Maximum flow finds the set with the highest
bound (``flow/bottleneck.py``). The search starts from the rounded flow and from the current
leaders. From both it changes single leaders, and swaps leaders between two brokers, while the sum
of squares falls. The better result wins; on a tie the current leaders, so that a balanced cluster
stays unchanged. Partitions without a measured rate are then distributed by count, exactly.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from partage.arrays import Bools, Floats, Ints
from partage.brokers.leaders.choices import Choices
from partage.brokers.problem import Problem
from partage.brokers.stages import RATE_SCALE
from partage.cluster import Cluster
from partage.flow.bottleneck import Bottleneck, find_bottleneck
from partage.flow.selection import pick_slots

_SWEEPS = 50


class RateProof(Struct, frozen=True, eq=False):
    """The highest leader rate of a broker, ``value``, is at least ``bound`` (both in
    ``RATE_SCALE``-ths of the total), because of the partitions whose replicas are all on the slots
    ``confined`` [bool, E], or because of the single partition with the highest rate."""

    value: int
    bound: int
    confined: Bools


def scaled(rates: Floats) -> Ints:
    """[P] rates in ``RATE_SCALE``-ths of their sum, as integers."""
    largest = float(rates.max(initial=0))
    if largest <= 0:
        return np.zeros(len(rates), dtype=np.int64)
    # scaling by a power of two first is exact, and avoids overflow and underflow
    part = np.ldexp(rates, -int(np.frexp(largest)[1]))
    return np.floor(part * (RATE_SCALE / float(part.sum()))).astype(np.int64)


def busiest_leader(rates: Floats, cluster: Cluster) -> float:
    """The highest rate that a broker of the cluster leads. ``rates``: [P], in any unit."""
    return float(np.bincount(cluster.replicas[:, 0], rates).max(initial=0))


def lead_by_rate(
    problem: Problem, choices: Choices, lists: Ints, today: Ints
) -> tuple[Ints, RateProof]:
    """[I] leader slot of each open row, and the proof of how far from optimal they may be."""
    of_item, base = _rates(problem, choices, lists)
    found = find_bottleneck(choices.item, choices.slot, of_item, base)
    split = _near_even(choices, found.flow)
    measured = of_item > 0
    stays_possible = np.zeros(len(of_item), dtype=np.bool_)
    stays_possible[choices.item[choices.slot == today[choices.item]]] = True
    start = np.where(stays_possible, today, split)
    leader = min(
        (_improve(choices, of_item, base, begin) for begin in (start, split)),
        key=lambda end: _squares(end, of_item, base),
    )
    # partitions without a rate have no weight: distribute them by count
    rest = np.flatnonzero(~measured)
    if len(rest):
        position = np.full(len(of_item), -1, dtype=np.int64)
        position[rest] = np.arange(len(rest))
        arcs = position[choices.item] >= 0
        item, slot = position[choices.item[arcs]], choices.slot[arcs]
        counts = choices.base + np.bincount(leader[measured], minlength=len(base))
        change = (slot != today[rest][item]).astype(np.int64)
        picked, _ = pick_slots(item, slot, len(rest), counts, change)
        leader[rest] = slot[picked]
    return leader, _proof(found, of_item, base, leader)


def prove_by_rate(problem: Problem, choices: Choices, lists: Ints, leader: Ints) -> RateProof:
    """How far from optimal these leaders of the open rows may be: slots [I], -1 where a leader is
    not usable."""
    rate, base = _rates(problem, choices, lists)
    found = find_bottleneck(choices.item, choices.slot, rate, base)
    return _proof(found, rate, base, leader)


def _rates(problem: Problem, choices: Choices, lists: Ints) -> tuple[Ints, Ints]:
    """[I] scaled rate of each open row, and [E] what each slot leads of the other rows."""
    assert problem.bytes_per_second is not None
    rate = scaled(problem.bytes_per_second)
    fixed = np.ones(len(rate), dtype=np.bool_)
    fixed[choices.open] = False
    led = problem.broker_slot[lists[:, 0]]
    stays = fixed & (led >= 0)
    base = np.zeros(len(choices.base), dtype=np.int64)
    np.add.at(base, led[stays], rate[stays])
    return rate[choices.open], base


def _proof(found: Bottleneck, rate: Ints, base: Ints, leader: Ints) -> RateProof:
    load = base.copy()
    np.add.at(load, leader[leader >= 0], rate[leader >= 0])
    # some broker leads the partition with the highest rate, too
    alone = max(int(rate.max(initial=0)), int(base.max(initial=0)))
    return RateProof(int(load.max()), max(found.level, alone), found.slots)


def _near_even(choices: Choices, flow: Ints) -> Ints:
    """[I] the slot that gets most of each open row's rate in the flow [A] of the bottleneck."""
    order = np.lexsort((choices.slot, -flow, choices.item))
    first = np.searchsorted(choices.item[order], np.arange(len(choices.open)))
    return choices.slot[order][first]


def _squares(leader: Ints, rate: Ints, base: Ints) -> int:
    load = base.copy()
    np.add.at(load, leader, rate)
    return sum(int(x) ** 2 for x in load.tolist())


def _improve(choices: Choices, rate: Ints, base: Ints, start: Ints) -> Ints:
    """Change one leader, or swap two, while the sum of squares of the loads falls."""
    leader = start.copy()
    load = base.copy()
    np.add.at(load, leader, rate)
    for _ in range(_SWEEPS):
        moved = _move(choices, rate, load, leader)
        swapped = _swap(choices, rate, load, leader)
        if not (moved or swapped):
            break
    return leader


def _move(choices: Choices, rate: Ints, load: Ints, leader: Ints) -> bool:
    """Change single leaders, best first, while this helps; each broker takes part once per
    round."""
    ever = False
    while True:
        r = rate[choices.item]
        gain = load[leader[choices.item]] - load[choices.slot] - r
        gain = np.where((leader[choices.item] != choices.slot) & (r > 0), gain * r, 0)
        best = np.argsort(-gain, kind="stable")[:64]
        best = best[gain[best] > 0]
        if len(best) == 0:
            return ever
        used: set[int] = set()
        for arc in best.tolist():
            item, to = int(choices.item[arc]), int(choices.slot[arc])
            of = int(leader[item])
            if of in used or to in used:
                continue
            used |= {of, to}
            leader[item] = to
            load[of] -= rate[item]
            load[to] += rate[item]
            ever = True


def _swap(choices: Choices, rate: Ints, load: Ints, leader: Ints) -> bool:
    """For every two brokers, swap the two leaders that bring their loads closest together."""
    slots = len(load)
    arc_leader = leader[choices.item]
    real = arc_leader != choices.slot
    code = arc_leader[real] * slots + choices.slot[real]
    item = choices.item[real]
    order = np.lexsort((item, rate[item], code))
    code, item = code[order], item[order]
    edge = np.searchsorted(code, np.arange(slots * slots + 1))
    ever = False
    for high in np.argsort(-load, kind="stable").tolist():
        for low in np.argsort(load, kind="stable").tolist():
            gap = int(load[high] - load[low])
            if gap <= 1:
                break
            down = item[edge[high * slots + low] : edge[high * slots + low + 1]]
            up = item[edge[low * slots + high] : edge[low * slots + high + 1]]
            down, up = down[leader[down] == high], up[leader[up] == low]
            if len(down) == 0 or len(up) == 0:
                continue
            # for each partition that moves down, the one whose rate evens out the gap best
            wanted = rate[down] - gap // 2
            place = np.searchsorted(rate[up], wanted)
            best, pair = gap * gap, (-1, -1)
            for near in (np.maximum(place - 1, 0), np.minimum(place, len(up) - 1)):
                shift = rate[down] - rate[up[near]]
                left = np.abs(gap - 2 * shift)
                k = int(left.argmin())
                if int(shift[k]) > 0 and int(left[k]) < gap and int(left[k]) ** 2 < best:
                    best, pair = int(left[k]) ** 2, (int(down[k]), int(up[near[k]]))
            if pair[0] >= 0:
                one, other = pair
                shift_by = int(rate[one] - rate[other])
                leader[one], leader[other] = low, high
                load[high] -= shift_by
                load[low] += shift_by
                ever = True
    return ever
