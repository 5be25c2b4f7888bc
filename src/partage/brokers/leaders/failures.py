"""Leaders and first followers together, so that a failure leaves the survivors low and even.

A flow (partition -> pair -> leader) chooses leader and first follower as an ordered pair, for given
leader counts. When broker b fails, broker f ends with its own leaders plus the pairs (b, f). So the
cost of a pair is the square of that sum, and a cap on the sum limits the worst survivor. Among the
optima, the fewest leader changes and then the fewest changed orders decide.

Of all equally fair leader counts, those with the fewest leader changes are tried first, or others
if these leave a partition no pair within the cap (``flow.open_picks``). If a bound does not prove
them best of all, searches look for counts with a lower worst survivor (``flow.counts_below_cap``),
then with a lower sum of squares (``flow.takeover_counts``). They continue until they find nothing
better, so a second run changes nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from partage.arrays import Bools, Ints
from partage.brokers.figures import changed_sets, next_live
from partage.brokers.leaders.choices import Choices
from partage.brokers.problem import Problem
from partage.flow.certificate import Prices, Takeovers, fairest_range, proven_bound
from partage.flow.selection import least_level, pick_pairs

Proof = Sequence[Prices | int]

_MOST_STUCK = 1 / 8
"""The part of the partitions without a pair above which no other counts are tried."""


class FailureProof(Struct, frozen=True, eq=False):
    """Leaders after any failure.

    - ``worst``: leaders of the worst survivor; ``ideal``: a lower bound on it over all equally fair
      leader counts, from ``floor``, a proof that ``ideal - 1`` is impossible, or from counting
    - ``value``: sum of squares over (failed, survivor); ``bound``: a lower bound on it among all
      orders with the same ``worst`` and the same leader counts, from ``prices``
    - ``joint``: a lower bound on it for all equally fair leader counts, from ``cases``, or from
      ``prices`` if there are none
    """

    worst: int
    ideal: int
    value: int
    bound: int
    prices: Prices
    joint: int
    cases: Proof = ()
    floor: Proof = ()


def prepare_for_failures(
    problem: Problem,
    choices: Choices,
    lists: Ints,
    leader: Ints,
    price: Ints | None,
    *,
    evenly: bool = True,
) -> tuple[Ints, FailureProof]:
    """[I] pairs (leader slot * E + follower slot) of the open rows, and the proof.

    ``leader`` [I]: leader slots, the fairest at the prices ``price`` [E]; None: by rate.
    ``evenly``: whether other leader counts are searched for a lower sum of squares, too.
    """
    orders = Orders(problem, choices, lists, leader, price)
    chosen: _Chosen | None = _Chosen(orders, orders.first_counts())
    while chosen is not None:
        best = chosen
        chosen = best.with_lower_worst() or (best.with_lower_squares() if evenly else None)
    return orders.pairs(best.picked), best.proof


def prove_failures(
    problem: Problem, choices: Choices, lists: Ints, leader: Ints, price: Ints | None
) -> FailureProof:
    """The proof for the order of the lists, as they are.

    ``leader`` [I]: their leader slots, -1 where unusable; the fairest at the prices ``price`` [E],
    or, if that is None, by rate or less fair.
    """
    orders = Orders(problem, choices, lists, leader, price)
    follower = problem.broker_slot[next_live(lists[choices.open], problem.cluster.alive)]
    level = orders.levels(orders.counts, leader[orders.rows], follower[orders.rows])
    worst = int(level.max(initial=0))
    answer = orders.best(orders.counts, worst)
    assert answer is not None, "this order has this worst survivor"
    ideal = orders.takeovers.counting_bound
    proof = orders.proof(orders.counts, worst, ideal, level, answer[1])
    ideal, floor = orders.least_proven(orders.counts, ideal, worst)
    return replace(proof, ideal=ideal, floor=floor)


class Orders:
    """The pairs that each open partition may choose, with ranges of fair leader counts.

    ``rows``: positions in ``choices.open``, those with a leader. ``reverse`` [O]: the option with
    holder and taker exchanged, -1 where there is none.
    """

    def __init__(
        self, problem: Problem, choices: Choices, lists: Ints, leader: Ints, price: Ints | None
    ) -> None:
        slots = len(choices.base)
        self.searches = problem.searches
        self.rows = np.flatnonzero(leader >= 0)
        item, first, second = choices.pairs()
        self.counts = choices.base + np.bincount(leader[self.rows], minlength=slots)
        low, high = self.counts, self.counts
        allowed = leader[item] >= 0
        if problem.options.leaders_by_search:
            allowed = leader[item] == first
        elif price is not None:
            low, high = fairest_range(choices.base, price, len(self.rows))
            cheapest = np.full(len(leader), np.iinfo(np.int64).max)
            np.minimum.at(cheapest, item, price[first])
            allowed = price[first] == cheapest[item]
        row, self.first, self.second = item[allowed], first[allowed], second[allowed]
        self.item = np.searchsorted(self.rows, row)
        code = self.first * slots + self.second
        codes = np.flatnonzero(np.bincount(code, minlength=slots**2))
        number = np.full(slots**2, -1, dtype=np.int64)
        number[codes] = np.arange(len(codes))
        self.reverse = number[codes % slots * slots + codes // slots]
        self.takeovers = Takeovers(
            item=self.item,
            option=number[code],
            items=len(self.rows),
            holder=codes // slots,
            taker=codes % slots,
            base=choices.base,
            fixed=choices.pair_base,
            low=low,
            high=high,
            total=int(self.counts.sum()),
        )
        before = problem.cluster.replicas
        other_set = changed_sets(before, lists)[choices.open]
        today = problem.broker_slot[before[choices.open, 0]]
        next_today = problem.broker_slot[next_live(before[choices.open], problem.usable)]
        leader_change = (self.first != today[row]).astype(np.int64)
        order_change = leader_change | (self.second != next_today[row])
        self.picked: dict[tuple[bytes, int], tuple[Ints, Prices] | None] = {}
        self.changes = (leader_change, np.where(other_set[row], 0, order_change))

    @cached_property
    def open(self) -> bool:
        """Whether other leader counts are as fair."""
        return bool((self.takeovers.high > self.takeovers.low).any())

    @cached_property
    def offers(self) -> tuple[Ints, Ints, int, Ints]:
        """The arguments of ``flow.selection`` that all counts share."""
        return (self.item, self.takeovers.option, self.takeovers.items, self.takeovers.holder)

    def option_base(self, counts: Ints) -> Ints:
        """[O] the taker's leaders after the failure without the pairs that are chosen."""
        return np.asarray(counts[self.takeovers.taker] + self.takeovers.fixed_of)

    def fixed_level(self, counts: Ints) -> int:
        """The worst survivor's leaders without the pairs that are chosen."""
        level = counts[None, :] + self.takeovers.fixed
        np.fill_diagonal(level, 0)
        return int(level.max())

    def best(self, counts: Ints, cap: int) -> tuple[Ints, Prices] | None:
        """The picks [I] for these counts, and their prices; None if the cap cannot be kept."""
        key = (counts.tobytes(), cap)
        if key not in self.picked:
            self.picked[key] = self._pick(counts, cap)
        return self.picked[key]

    def _pick(self, counts: Ints, cap: int) -> tuple[Ints, Prices] | None:
        if self.fixed_level(counts) > cap:
            return None
        base = self.option_base(counts)
        quota = counts - self.takeovers.base
        answer = pick_pairs(*self.offers, base, cap - base, quota, self.changes, self.reverse)
        return None if answer is None else (answer[0], Prices(answer[1], answer[2]))

    def least_cap(self, counts: Ints, infeasible: int) -> int:
        """The least cap that can be kept with these counts."""
        quota = counts - self.takeovers.base
        least = least_level(*self.offers, self.option_base(counts), quota, infeasible=infeasible)
        return max(least, self.fixed_level(counts))

    def first_counts(self) -> Ints:
        """Those of the leaders or, where these leave some items no pair that keeps the least cap,
        others near them that keep it, if a search finds some."""
        if not self.open:
            return self.counts
        items, cap = self.takeovers.items, self.takeovers.counting_bound
        stuck = items - np.count_nonzero(self._able(self.option_base(self.counts) >= cap))
        if not 0 < stuck <= _MOST_STUCK * items:
            return self.counts
        from partage.flow.open_picks import counts_with_picks

        others = counts_with_picks(self.takeovers, self.counts, cap)
        return self.counts if self.best(others, cap) is None else others

    def _able(self, full: Bools) -> Ints:
        """[I] how many of its options each item may pick, if those that are ``full`` [O] are not
        among them."""
        return np.bincount(self.item[~full[self.takeovers.option]], minlength=self.takeovers.items)

    def lower_worst(self, counts: Ints, cap: int) -> tuple[Ints | None, Proof]:
        """Fair counts that keep the cap; otherwise None, and a proof that there are none or, if the
        search reached its limit, nothing."""
        searched = self.searches.find(self.takeovers, counts, cap)
        proven = searched.counts is None and (
            proven_bound(self.takeovers, cap, searched.proof) is None
        )
        return searched.counts, searched.proof if proven else ()

    def least_proven(self, counts: Ints, low: int, high: int) -> tuple[int, Proof]:
        """The highest level from ``low`` to ``high`` that the worst survivor of no fair counts is
        proven to be below, and the proof."""
        proof: Proof = ()
        end = high
        while low < end:
            cap = (low + end) // 2
            floor = self.searches.relaxed(self.takeovers, cap)
            low, end, proof = (cap + 1, end, floor) if floor else (low, cap, proof)
        # the search proves more, but takes longer
        while low < high:
            _, floor = self.lower_worst(counts, low)
            if not floor:
                break
            low, proof = low + 1, floor
        return low, proof

    def levels(self, counts: Ints, first: Ints, second: Ints) -> Ints:
        """[E, E] leaders of f after the failure of b: leaders(f) + pairs(b, f)."""
        level = counts[None, :] + self.takeovers.fixed
        np.add.at(level, (first, second), 1)
        np.fill_diagonal(level, 0)
        return level

    def picked_levels(self, counts: Ints, picked: Ints) -> Ints:
        """The same for the arcs picked."""
        return self.levels(counts, self.first[picked], self.second[picked])

    def proof(
        self, counts: Ints, worst: int, ideal: int, level: Ints, prices: Prices
    ) -> FailureProof:
        """The proof of the levels [E, E] by the prices of the best picks for these counts."""
        bound = self.takeovers.within(counts, counts).bound(worst, 1, prices.option, prices.slot)
        joint = proven_bound(self.takeovers, worst, [prices])
        assert bound is not None, "the picks are within the cap"
        assert joint is not None, "the picks are within the cap"
        return FailureProof(worst, ideal, int((level * level).sum()), bound, prices, joint)

    def pairs(self, picked: Ints) -> Ints:
        """[I] leader slot * E + follower slot."""
        return np.asarray(self.first[picked] * self.takeovers.slots + self.second[picked])

    def evaluate(self, counts: Ints, cap: int) -> int | None:
        """The least sum of squares for these counts; None if the cap cannot be kept."""
        answer = self.best(counts, cap)
        if answer is None:
            return None
        level = self.picked_levels(counts, answer[0])
        return int((level * level).sum())


class _Chosen:
    """The best picks for leader counts [E], and how far they may be from the best of all counts;
    ``cases`` may prove a higher bound on these than the prices of the flow."""

    def __init__(self, orders: Orders, counts: Ints, cases: Proof = ()) -> None:
        self.orders, self.counts = orders, counts
        worst = ideal = orders.takeovers.counting_bound
        answer = orders.best(counts, worst)
        if answer is None:
            # mostly one more suffices
            worst += 1
            answer = orders.best(counts, worst)
        if answer is None:
            worst = orders.least_cap(counts, infeasible=worst)
            answer = orders.best(counts, worst)
            assert answer is not None, "an order with this worst survivor exists"
        self.picked, prices = answer
        level = orders.picked_levels(counts, self.picked)
        self.proof = orders.proof(counts, worst, ideal, level, prices)
        self._raise_joint(cases)

    def with_lower_worst(self) -> _Chosen | None:
        """Counts with a lower worst survivor, if the search finds some; otherwise perhaps a proof
        that there are none."""
        proof = self.proof
        if proof.worst == proof.ideal:
            return None
        counts, floor = self.orders.lower_worst(self.counts, proof.worst - 1)
        if counts is not None:
            return _Chosen(self.orders, counts)
        ideal = proof.worst
        if not floor:
            ideal, floor = self.orders.least_proven(self.counts, proof.ideal, ideal - 1)
        self.proof = replace(proof, ideal=ideal, floor=floor)
        return None

    def with_lower_squares(self) -> _Chosen | None:
        """Counts with the same worst survivor and a lower sum of squares, if the search finds
        some; otherwise perhaps a higher bound."""
        proof = self.proof
        if not self.orders.open or proof.value == proof.joint:
            return None
        orders = self.orders
        searched = orders.searches.improve(
            orders.takeovers, proof.worst, orders.evaluate, proof.value
        )
        if searched.counts is not None:
            return _Chosen(self.orders, searched.counts, searched.proof)
        self._raise_joint(searched.proof)
        return None

    def _raise_joint(self, cases: Proof) -> None:
        joint = proven_bound(self.orders.takeovers, self.proof.worst, cases) if cases else None
        if joint is not None and joint > self.proof.joint:
            self.proof = replace(self.proof, joint=joint, cases=cases)


def prices_of_pairs(problem: Problem, lists: Ints, cap: int) -> tuple[Ints, int]:
    """[E, E] what a partition pays for its leader and next replica where no order of these sets,
    with these leader counts, keeps the cap; and by how many takeovers the best order exceeds it.
    With another placement it may be fewer, by as much as its partitions pay less."""
    from partage.flow.counts_below_cap import CappedPicks

    choices = Choices.of(problem, lists, lists)
    leader = problem.broker_slot[lists[choices.open, 0]]
    orders = Orders(problem, choices, lists, leader, None)
    pairs = orders.takeovers
    excess, cuts = CappedPicks(pairs, cap).cuts(np.zeros_like(pairs.low))
    if not cuts:
        return np.zeros_like(pairs.fixed), 0
    full = cap - orders.counts[None, :] - pairs.fixed <= 0
    pays = cuts[0].slot[:, None] | full
    pays[pairs.holder, pairs.taker] = cuts[0].option
    return pays.astype(np.int64), excess
