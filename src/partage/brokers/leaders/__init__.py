"""Leaders and first followers: the order of each replica list, for given replica sets.

By count, one flow (partition -> leader) finds the fairest leader counts that the sets allow, with
the fewest leader changes. A second flow (partition -> pair -> leader) then chooses leader and first
follower together, as an ordered pair, with fixed leader counts. When broker b fails, broker f ends
with its own leaders plus the pairs (b, f). So the cost of a pair is the square of that sum, and a
cap T on the sum limits the worst survivor. T starts at a lower bound found by counting; if no flow
exists, a search finds the least T for which one does. Among the optima, the fewest leader changes
and then the fewest changed orders decide.

By rate, which is not a flow problem, ``rates`` chooses the leaders, and this module only the first
followers.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from partage.brokers.figures import next_live, one_width
from partage.brokers.leaders.choices import Choices
from partage.brokers.leaders.rates import RateProof, lead_by_rate
from partage.brokers.problem import Problem
from partage.flow.certificate import overflow_bound, picking_bound, takeover_bound
from partage.flow.selection import least_level, overflow_prices, pick_pairs, pick_slots

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class LeaderProof:
    """Leaders by count: sum of squares ``value``, its ``bound`` and the prices [E] that give it."""

    value: int
    bound: int
    price: Ints


@dataclass(frozen=True, eq=False)
class FailureProof:
    """Leaders after any failure.

    - ``worst``: leaders of the worst survivor; ``ideal``: a lower bound on it
    - ``value``: sum of squares over (failed, survivor); ``bound``: a lower bound on it among all
      orders with the same ``worst``, from ``pair_price`` (per ordered pair that some partition can
      choose, ascending) and ``slot_price``
    - ``floor``: prices (pairs, brokers) which prove that ``worst - 1`` is impossible, where
      counting does not
    """

    worst: int
    ideal: int
    value: int
    bound: int
    pair_price: Ints
    slot_price: Ints
    floor: tuple[Ints, Ints] | None = None


@dataclass(frozen=True, eq=False)
class Led:
    """Ordered replica lists [P, R] and the proofs."""

    replicas: Ints
    leaders: LeaderProof | RateProof
    failure: FailureProof


def lead(problem: Problem, replicas: Ints) -> Led:
    """Order the replica sets [P, R]; rows that are not chosen keep their order."""
    lists = _kept_order(problem, replicas)
    choices = Choices.of(problem, replicas, lists)
    today = problem.broker_slot[problem.cluster.replicas[:, 0]]
    chosen = choices.open
    proof_of_leaders: LeaderProof | RateProof
    if problem.options.leaders == "rate":
        leader, proof_of_leaders = lead_by_rate(problem, choices, lists, today[chosen])
    else:
        leader, proof_of_leaders = _lead_by_count(choices, today[chosen])
    pair, failure = _pair(problem, choices, lists, leader)
    return Led(_ordered(problem, lists, chosen, pair), proof_of_leaders, failure)


def _kept_order(problem: Problem, replicas: Ints) -> Ints:
    """The sets as lists: current replicas in their order, then new ones by broker id. If only one
    replica is usable, it comes first, since no other can lead."""
    before = problem.cluster.replicas
    width = max(replicas.shape[1], before.shape[1])
    brokers = len(problem.usable)
    rank = np.full(replicas.shape, width)
    for column in range(before.shape[1]):
        rank[replicas == before[:, [column]]] = column
    rank[replicas < 0] = width + 1
    key = rank * (brokers + 1) + np.where(replicas < 0, brokers, replicas)
    lists = np.take_along_axis(replicas, np.argsort(key, axis=1, kind="stable"), axis=1)
    on = problem.broker_slot[lists] >= 0
    lone = np.flatnonzero(problem.chosen & (on.sum(axis=1) == 1) & ~on[:, 0])
    for row in lone.tolist():
        place = int(on[row].argmax())
        lists[row, : place + 1] = np.roll(lists[row, : place + 1], 1)
    return np.asarray(lists, dtype=np.int64)


def _lead_by_count(choices: Choices, today: Ints) -> tuple[Ints, LeaderProof]:
    change = (choices.slot != today[choices.item]).astype(np.int64)
    count = len(choices.open)
    picked, price = pick_slots(choices.item, choices.slot, count, choices.base, change)
    leader = choices.slot[picked]
    load = choices.base + np.bincount(leader, minlength=len(choices.base))
    bound = picking_bound(
        item=choices.item,
        option=choices.slot,
        items=count,
        option_base=choices.base,
        option_cap=np.full(len(choices.base), count),
        option_price=price,
    )
    return leader, LeaderProof(int((load * load).sum()), bound, price)


def _pair(
    problem: Problem, choices: Choices, lists: Ints, leader: Ints
) -> tuple[Ints, FailureProof]:
    """First followers and, when balancing by count, the leader of each partition. Returns [I] pairs
    (leader slot * E + follower slot)."""
    slots = len(choices.base)
    count = len(choices.open)
    item, first, second = choices.pairs(lists.shape[1])
    if problem.options.leaders == "rate":
        allowed = leader[item] == first
        item, first, second = item[allowed], first[allowed], second[allowed]
    quota = np.bincount(leader, minlength=slots).astype(np.int64)
    load = choices.base + quota
    codes, option = np.unique(first * slots + second, return_inverse=True)
    offered = np.zeros(slots * slots, dtype=np.int64)
    offered[codes] = np.bincount(option, minlength=len(codes))
    ideal = takeover_bound(quota, load, choices.pair_base, offered.reshape(slots, slots))
    option_slot, taker = codes // slots, codes % slots
    option_base = load[taker] + choices.pair_base[option_slot, taker]
    before = problem.cluster.replicas
    same_set = _same_sets(before, lists)[choices.open]
    today = problem.broker_slot[before[choices.open, 0]]
    next_today = problem.broker_slot[next_live(before[choices.open], problem.usable)]
    leader_change = (first != today[item]).astype(np.int64)
    order_change = leader_change | (second != next_today[item])
    order_change = np.where(same_set[item], order_change, 0)
    offers = (item, option.astype(np.int64), count, option_slot)
    changes = (leader_change, order_change)
    worst = ideal
    answer = pick_pairs(*offers, option_base, worst - option_base, quota, changes)
    if answer is None:
        worst = least_level(*offers, option_base, quota, infeasible=ideal)
        answer = pick_pairs(*offers, option_base, worst - option_base, quota, changes)
        assert answer is not None, "an order with this worst survivor exists"
    picked, pair_price, slot_price = answer
    pair = np.zeros((slots, slots), dtype=np.int64)
    np.add.at(pair, (first[picked], second[picked]), 1)
    value, rest = failure_squares(load, choices.pair_base, pair, codes)
    bound = rest + picking_bound(
        item=item,
        option=option.astype(np.int64),
        items=count,
        option_base=option_base,
        option_cap=np.minimum(worst - option_base, np.bincount(option, minlength=len(codes))),
        option_price=pair_price,
        option_slot=option_slot,
        slot_price=slot_price,
        quota=quota,
    )
    floor = None
    if worst > ideal:
        caps = worst - 1 - option_base
        floor = overflow_prices(*offers, caps, quota)
        if (
            overflow_bound(
                item=item,
                option=option.astype(np.int64),
                items=count,
                option_cap=caps,
                option_price=floor[0],
                option_slot=option_slot,
                slot_price=floor[1],
                quota=quota,
            )
            >= 1
        ):
            ideal = worst
    chosen = first[picked] * slots + second[picked]
    proof = FailureProof(worst, ideal, value, bound, pair_price, slot_price, floor)
    return chosen, proof


def failure_squares(load: Ints, pair_base: Ints, pair: Ints, codes: Ints) -> tuple[int, int]:
    """Sum over (failed b, survivor f) of (leaders(f) + pairs(b, f)) squared, and the part of it for
    pairs that no partition can choose."""
    level = load[None, :] + pair_base + pair
    squares = level * level
    np.fill_diagonal(squares, 0)
    value = int(squares.sum())
    return value, value - int(squares.ravel()[codes].sum())


def _same_sets(before: Ints, after: Ints) -> Bools:
    one, other = (np.sort(lists, axis=1) for lists in one_width(before, after))
    return np.asarray((one == other).all(axis=1))


def _ordered(problem: Problem, lists: Ints, rows: Ints, pair: Ints) -> Ints:
    """Lists that start with the chosen pair, the rest in order. A list that already has this leader
    and next live replica is unchanged."""
    slots = len(problem.slot_brokers)
    first = problem.slot_brokers[pair // slots]
    second = problem.slot_brokers[pair % slots]
    ordered = lists.copy()
    part = lists[rows]
    follower = next_live(part, problem.usable)
    change = (part[:, 0] != first) | (follower != second)
    rank = np.tile(np.arange(lists.shape[1]) + 2, (len(rows), 1))
    rank[part == first[:, None]] = 0
    rank[part == second[:, None]] = 1
    new = np.take_along_axis(part, np.argsort(rank, axis=1, kind="stable"), axis=1)
    ordered[rows[change]] = new[change]
    return ordered
