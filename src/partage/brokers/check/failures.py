"""Leaders per broker after a broker or a rack fails, recounted from the broker lists."""

from __future__ import annotations

from collections import Counter

import numpy as np

from partage.brokers.check.plan_columns import Ints, Lists, PlanColumns
from partage.flow.certificate import fill_level, takeover_bound


def leaders_after_failures(plan: PlanColumns, lists: Lists) -> Ints:
    """[E, E] leaders of survivor f after the failure of b; 0 on the diagonal."""
    slots = len(plan.slots)
    leader = plan.leaders(lists)
    follower = plan.slot_of[plan.first_followers(lists)]
    both = (leader >= 0) & (follower >= 0)
    taken = np.zeros((slots, slots), dtype=np.int64)
    np.add.at(taken, (leader[both], follower[both]), 1)
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
    for brokers in lists:
        on = [int(slot) for b in brokers if (slot := plan.slot_of[plan.place[b]]) >= 0]
        for one in on:
            for other in on:
                together[one, other] += one != other
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
    led, lost, apart = int(counts.sum()), int(counts.sum()), bool(plan.rack_sizes)
    for ids in lists:
        places = [plan.place[b] for b in ids]
        live = [place for place in places if plan.alive[place]]
        usable = [place for place in live if plan.usable[place]]
        lost -= bool(plan.usable[places[0]]) and usable == live and len(usable) > 1
        apart = apart and len({plan.rack[place] for place in usable}) == len(usable)
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
    led = dependent = 0
    for ids in lists:
        leader, *rest = [plan.place[b] for b in ids]
        if not plan.usable[leader]:
            continue
        led += 1
        live = [place for place in rest if plan.alive[place]]
        elsewhere = any(plan.rack[place] != plan.rack[leader] for place in live)
        dependent += not (elsewhere and all(plan.usable[place] for place in live))
    level = 0
    while True:
        left = (led - level * (len(plan.slots) - count) for count in inside.values())
        if sum(max(0, rest) for rest in left) <= dependent:
            return level
        level += 1


def leaders_after_rack_failure(plan: PlanColumns, lists: Lists) -> dict[str, int] | None:
    """The figure ``leaders_after_rack_failure``: the worst survivor's leaders, a lower bound on
    them, and the partitions offline, over the racks that may fail. None with fewer than two."""
    racks = {plan.rack[s] for s in plan.slots.tolist()}
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
    """What happens to each partition when a rack fails; brokers by position.

    - ``led``: partitions by leader; ``taken``, ``offered``: by failed rack and broker, those that
      it takes over, and those of which it has a replica
    - ``only``: partitions by the one rack of their live replicas; ``dead``: those without any
    """

    def __init__(self, plan: PlanColumns, lists: Lists) -> None:
        self.plan = plan
        self.led = Counter[int]()
        self.taken = Counter[tuple[str | None, int]]()
        self.offered = Counter[tuple[str | None, int]]()
        self.only = Counter[str | None]()
        self.dead = 0
        for brokers in lists:
            self._add([plan.place[b] for b in brokers])

    def _add(self, brokers: list[int]) -> None:
        plan, leader = self.plan, brokers[0]
        self.led[leader] += 1
        live = [b for b in brokers if plan.alive[b]]
        racks = {plan.rack[b] for b in live}
        self.dead += not racks
        if len(racks) == 1:
            self.only.update(racks)
        for rack in racks:
            others = [b for b in live if plan.rack[b] != rack]
            self.offered.update((rack, b) for b in others)
            if others and plan.alive[leader] and rack == plan.rack[leader]:
                self.taken[rack, others[0]] += 1

    def offline(self, rack: str | None) -> int:
        """Partitions without a live replica when the rack has failed."""
        return self.dead + self.only[rack]

    def worst_and_ideal(self, rack: str | None) -> tuple[int, int]:
        """Leaders of the worst survivor when the rack has failed, and a lower bound on them."""
        survivors = [s for s in self.plan.slots.tolist() if self.plan.rack[s] != rack]
        level = np.array([self.led[s] for s in survivors])
        taken = np.array([self.taken[rack, s] for s in survivors])
        offered = np.array([self.offered[rack, s] for s in survivors])
        ideal = fill_level(level, offered, int(taken.sum()))
        return int((level + taken).max()), ideal
