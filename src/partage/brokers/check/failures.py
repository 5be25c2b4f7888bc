"""Leaders per broker after a broker or a rack fails, recounted from the broker lists."""

from __future__ import annotations

from collections import Counter
from itertools import combinations

import numpy as np

from partage.arrays import Ints
from partage.brokers.check.plan_columns import Lists, PlanColumns, pair_counts
from partage.flow.certificate import fill_level, takeover_bound


def leaders_after_failures(plan: PlanColumns, lists: Lists) -> Ints:
    """[E, E] leaders of survivor f after the failure of b; 0 on the diagonal."""
    slots = len(plan.slots)
    leader = plan.leaders(lists)
    follower = plan.slot_of[plan.first_followers(lists)]
    both = (leader >= 0) & (follower >= 0)
    taken = pair_counts(leader[both], follower[both], slots, slots)
    level = _leader_counts(plan, lists)[None, :] + taken
    np.fill_diagonal(level, 0)
    return level


def _leader_counts(plan: PlanColumns, lists: Lists) -> Ints:
    """[E] partitions that each usable broker leads."""
    leader = plan.leaders(lists)
    return np.bincount(leader[leader >= 0], minlength=len(plan.slots))


def loose_failure_bound(plan: PlanColumns, lists: Lists) -> int:
    """A lower bound on the worst survivor's leaders for the leaders of ``lists``, if every replica
    of a partition could take it over: for orders that the planner did not choose."""
    slots = len(plan.slots)
    level = leaders_after_failures(plan, lists)
    counts = _leader_counts(plan, lists)
    together = np.zeros((slots, slots), dtype=np.int64)
    on = plan.slot_of[plan.positions(lists)].T
    for one, other in combinations(on, 2):
        both = (one >= 0) & (other >= 0) & (one != other)
        together += pair_counts(one[both], other[both], slots, slots)
    together += together.T.copy()
    pairs = level - counts[None, :]
    np.fill_diagonal(pairs, 0)
    return takeover_bound(pairs.sum(axis=1), counts, np.zeros_like(pairs), together)


def least_worst_survivor(plan: PlanColumns, lists: Lists) -> int:
    """A lower bound on the worst survivor's leaders for all placements that keep the rules, with
    leaders as fair: what survivors have to lead, divided by their number. Where all replicas of a
    partition are in different racks, the survivors are those outside the failed broker's rack."""
    brokers = len(plan.slots)
    if brokers < 2:
        return 0
    counts = _leader_counts(plan, lists)
    usable = plan.on_usable(lists)
    safe = usable[:, 0] & (usable == plan.live(lists)).all(axis=1) & (usable.sum(axis=1) > 1)
    led = int(counts.sum())
    lost = led - int(safe.sum())
    rack = np.sort(np.where(usable, plan.racks_of(lists), -1), axis=1)
    twice = (rack[:, 1:] == rack[:, :-1]) & (rack[:, 1:] >= 0)
    apart = bool(plan.rack_sizes) and not twice.any()
    # some broker leads at most the average of those that no broker takes over
    bounds = [_rounded_up(led - lost // brokers, brokers - 1)]
    if apart and not lost and np.ptp(counts) <= 1:
        bounds += [_least_outside(led, brokers, size) for size in plan.rack_sizes.values()]
    return max(bounds)


def _least_outside(led: int, brokers: int, inside: int) -> int:
    """The same for one rack of ``inside`` brokers, when its broker with most leaders fails."""
    if inside == brokers:
        return 0
    least, more = divmod(led, brokers)
    # however many of the brokers that lead one more are in the rack
    own = [inside * least + k for k in range(min(inside, more) + 1)]
    failed = [least + (k > 0) for k in range(len(own))]
    taken = min(led - x + y for x, y in zip(own, failed, strict=True))
    return _rounded_up(taken, brokers - inside)


def _rounded_up(whole: int, parts: int) -> int:
    return -(-whole // parts)


def least_rack_survivor(plan: PlanColumns, lists: Lists) -> int | None:
    """A lower bound on the worst survivor's leaders after the failure of any one rack, for all
    placements in which usable brokers lead as many partitions and no more of these have no other
    replica that is sure to take over. None with fewer than two racks.

    At a level of T, the brokers outside a rack lead at most T each; what is left of all partitions
    must depend on the rack. So T is impossible where more is left, over all racks, than depends.
    """
    inside = Counter(plan.rack[s] for s in plan.slots.tolist())
    if len(inside) < 2:
        return None
    live, rack, usable = plan.live(lists), plan.racks_of(lists), plan.on_usable(lists)
    elsewhere = (live & (rack != rack[:, :1])).any(axis=1)
    sure = elsewhere & (usable == live)[:, 1:].all(axis=1)
    led, dependent = int(usable[:, 0].sum()), int((usable[:, 0] & ~sure).sum())
    level = 0
    while True:
        left = (led - level * (len(plan.slots) - count) for count in inside.values())
        if sum(max(0, rest) for rest in left) <= dependent:
            return level
        level += 1


def leaders_after_rack_failure(plan: PlanColumns, lists: Lists) -> dict[str, int] | None:
    """The figure ``leaders_after_rack_failure``: the worst survivor's leaders, a lower bound on
    them, and the partitions offline, over the racks that may fail. None with fewer than two."""
    racks = sorted(set(plan.rack_of[plan.slots].tolist()))
    if len(racks) < 2:
        return None
    takeovers = _RackTakeovers(plan, lists)
    levels = [takeovers.worst_and_ideal(rack) for rack in racks]
    return {
        "max": max(0, *(worst for worst, _ in levels)),
        "ideal": max(0, *(ideal for _, ideal in levels)),
        "offline": max(takeovers.offline(rack) for rack in racks),
    }


class _RackTakeovers:
    """What happens to each partition when a rack fails; brokers and racks by position.

    - ``led`` [B]: partitions by leader; ``taken``, ``offered`` [racks, B]: by failed rack and
      broker, those that it takes over, and those of which it has a replica
    - ``only`` [racks]: partitions by the one rack of their live replicas; ``dead``: those without
      any
    """

    def __init__(self, plan: PlanColumns, lists: Lists) -> None:
        self.plan = plan
        place, live, rack = plan.positions(lists), plan.live(lists), plan.racks_of(lists)
        brokers, racks = len(plan.ids), len(plan.rack_names)
        self.led = np.bincount(place[:, 0], minlength=brokers)
        self.dead = int((~live.any(axis=1)).sum())
        self.only = np.zeros(racks, dtype=np.int64)
        self.taken = np.zeros((racks, brokers), dtype=np.int64)
        self.offered = np.zeros((racks, brokers), dtype=np.int64)
        for i in range(place.shape[1]):
            # each rack of a partition once
            first = live[:, i] & ~(live[:, :i] & (rack[:, :i] == rack[:, i : i + 1])).any(axis=1)
            others = live & (rack != rack[:, i : i + 1]) & first[:, None]
            self.only += np.bincount(rack[first & ~others.any(axis=1), i], minlength=racks)
            row, column = np.nonzero(others)
            self.offered += pair_counts(rack[row, i], place[row, column], racks, brokers)
        others = live & (rack != rack[:, :1])
        taken = live[:, 0] & others.any(axis=1)
        taker = place[taken, others[taken].argmax(axis=1)]
        self.taken += pair_counts(rack[taken, 0], taker, racks, brokers)

    def offline(self, rack: int) -> int:
        """Partitions without a live replica when the rack has failed."""
        return self.dead + int(self.only[rack])

    def worst_and_ideal(self, rack: int) -> tuple[int, int]:
        """Leaders of the worst survivor when the rack has failed, and a lower bound on them."""
        survivors = self.plan.slots[self.plan.rack_of[self.plan.slots] != rack]
        level, taken = self.led[survivors], self.taken[rack, survivors]
        ideal = fill_level(level, self.offered[rack, survivors], int(taken.sum()))
        return int((level + taken).max()), ideal
