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
from typing import Any

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


def prove_order(problem: Problem, lists: Ints) -> Led:
    """The lists [P, R] as they are, and how far their order is from the best one for these sets."""
    kept = _kept_order(problem, lists)
    choices = Choices.of(problem, lists, kept)
    leader = problem.broker_slot[lists[choices.open, 0]]
    proof_of_leaders: LeaderProof | RateProof
    if problem.options.leaders == "rate":
        _, proof_of_leaders = lead_by_rate(problem, choices, kept, leader)
    else:
        _, proof_of_leaders = _lead_by_count(choices, leader)
    # takeovers are from the preferred leaders as they are, usable or not
    takeovers = _Takeovers.of(problem, Choices.of(problem, lists, lists), lists.shape[1], leader)
    slots = len(choices.base)
    follower = problem.broker_slot[next_live(lists[choices.open], problem.usable)]
    pair = np.zeros((slots, slots), dtype=np.int64)
    np.add.at(pair, (leader[takeovers.rows], follower[takeovers.rows]), 1)
    worst = takeovers.worst(pair)
    answer = takeovers.pick(worst)
    assert answer is not None, "this order has this worst survivor"
    _, pair_price, slot_price = answer
    return Led(lists, proof_of_leaders, takeovers.proof(worst, pair, pair_price, slot_price))


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


@dataclass(frozen=True, eq=False)
class _Takeovers:
    """The ordered pairs (leader, first follower) that open rows can choose, for fixed leaders per
    broker.

    - ``rows``: positions in ``choices.open``; ``item`` (position in ``rows``), ``first``,
      ``second`` [A]: the pairs of each row, as slots; ``option`` [A]: position in ``codes`` [O]
    - ``quota``, ``load`` [E]: leaders of these rows, and of all
    - ``option_base`` [O]: leaders of the follower, without the picks; ``offered`` [O]
    - ``ideal``: a lower bound on the worst survivor's leaders, by counting
    """

    pair_base: Ints
    rows: Ints
    item: Ints
    first: Ints
    second: Ints
    codes: Ints
    option: Ints
    quota: Ints
    load: Ints
    option_base: Ints
    offered: Ints
    ideal: int

    @classmethod
    def of(cls, problem: Problem, choices: Choices, width: int, leader: Ints) -> _Takeovers:
        """``leader``: the slot that leads each open row; -1: none, so nothing is taken over."""
        slots = len(choices.base)
        item, first, second = choices.pairs(width)
        allowed = leader[item] >= 0
        if problem.options.leaders == "rate":
            allowed = leader[item] == first
        rows = np.flatnonzero(leader >= 0)
        item, first, second = item[allowed], first[allowed], second[allowed]
        quota = np.bincount(leader[rows], minlength=slots).astype(np.int64)
        load = choices.base + quota
        codes, option = np.unique(first * slots + second, return_inverse=True)
        offered = np.zeros(slots * slots, dtype=np.int64)
        offered[codes] = np.bincount(option, minlength=len(codes))
        follower_load = load[None, :] + choices.pair_base
        return cls(
            pair_base=choices.pair_base,
            rows=rows,
            item=np.searchsorted(rows, item),
            first=first,
            second=second,
            codes=codes,
            option=option.astype(np.int64),
            quota=quota,
            load=load,
            option_base=follower_load.ravel()[codes],
            offered=offered[codes],
            ideal=takeover_bound(quota, load, choices.pair_base, offered.reshape(slots, slots)),
        )

    @property
    def option_slot(self) -> Ints:
        """[O] the slot that fails."""
        return np.asarray(self.codes // len(self.load))

    def worst(self, pair: Ints) -> int:
        """Leaders of the worst survivor, with ``pair`` [E, E] takeovers."""
        level = self.load[None, :] + self.pair_base + pair
        np.fill_diagonal(level, 0)
        return int(level.max(initial=0))

    def pick(self, worst: int, changes: tuple[Ints, ...] = ()) -> tuple[Ints, Ints, Ints] | None:
        """The picks with the least squares, no survivor above ``worst``, and their prices."""
        caps = worst - self.option_base
        offers = (self.item, self.option, len(self.rows), self.option_slot)
        return pick_pairs(*offers, self.option_base, caps, self.quota, changes)

    def least_worst(self) -> int:
        """The least worst survivor that any picks reach, where it is above ``ideal``."""
        offers = (self.item, self.option, len(self.rows), self.option_slot)
        return least_level(*offers, self.option_base, self.quota, infeasible=self.ideal)

    def proof(
        self, worst: int, pair: Ints, pair_price: Ints, slot_price: Ints, *, floored: bool = False
    ) -> FailureProof:
        """The proof for ``pair`` [E, E] takeovers; ``floored``: prove that ``worst`` is the least,
        where counting does not."""
        value, rest = failure_squares(self.load, self.pair_base, pair, self.codes)
        offers: dict[str, Any] = {
            "item": self.item,
            "option": self.option,
            "items": len(self.rows),
            "option_slot": self.option_slot,
            "quota": self.quota,
        }
        bound = rest + picking_bound(
            **offers,
            option_base=self.option_base,
            option_cap=np.minimum(worst - self.option_base, self.offered),
            option_price=pair_price,
            slot_price=slot_price,
        )
        ideal, floor = self.ideal, None
        if floored and worst > ideal:
            caps = worst - 1 - self.option_base
            floor = overflow_prices(
                self.item, self.option, len(self.rows), self.option_slot, caps, self.quota
            )
            pair_floor, slot_floor = floor
            over = overflow_bound(
                **offers, option_cap=caps, option_price=pair_floor, slot_price=slot_floor
            )
            ideal = worst if over >= 1 else ideal
        return FailureProof(worst, ideal, value, bound, pair_price, slot_price, floor)


def _pair(
    problem: Problem, choices: Choices, lists: Ints, leader: Ints
) -> tuple[Ints, FailureProof]:
    """First followers and, when balancing by count, the leader of each partition. Returns [I] pairs
    (leader slot * E + follower slot)."""
    slots = len(choices.base)
    takeovers = _Takeovers.of(problem, choices, lists.shape[1], leader)
    item, first, second = takeovers.item, takeovers.first, takeovers.second
    before = problem.cluster.replicas
    same_set = _same_sets(before, lists)[choices.open]
    today = problem.broker_slot[before[choices.open, 0]]
    next_today = problem.broker_slot[next_live(before[choices.open], problem.usable)]
    leader_change = (first != today[item]).astype(np.int64)
    order_change = leader_change | (second != next_today[item])
    changes = (leader_change, np.where(same_set[item], order_change, 0))
    worst = takeovers.ideal
    answer = takeovers.pick(worst, changes)
    if answer is None:
        worst = takeovers.least_worst()
        answer = takeovers.pick(worst, changes)
        assert answer is not None, "an order with this worst survivor exists"
    picked, pair_price, slot_price = answer
    pair = np.zeros((slots, slots), dtype=np.int64)
    np.add.at(pair, (first[picked], second[picked]), 1)
    proof = takeovers.proof(worst, pair, pair_price, slot_price, floored=True)
    return first[picked] * slots + second[picked], proof


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
