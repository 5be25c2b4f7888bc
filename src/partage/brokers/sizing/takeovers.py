"""Which broker takes over each leader, so that no survivor of a failure sends too much.

Replica sets and leaders stay. Partitions choose their next replica one after the other, those that
send most first: the follower whose broker then uses the smallest share of its limit after the
failure (the rule of longest processing time first, for each broker that may fail).
"""

from __future__ import annotations

from collections import Counter

import numpy as np

from partage.brokers.sizing.requirement import Requirement
from partage.brokers.sizing.resources import Resource
from partage.cluster import Cluster


def order_followers(after: Cluster, out: Resource, asked: Requirement) -> Cluster:
    """The placement with followers in another order; all brokers with replicas are alive."""
    lists = after.replicas.tolist()
    limit = [max(1, out.limit(broker)) for broker in after.brokers]
    rack, each = after.rack.tolist(), out.each.tolist()
    load = np.zeros(len(limit), dtype=np.int64)
    np.add.at(load, after.replicas[:, 0], out.each)
    sent = load.tolist()
    taken: Counter[tuple[bool, int, int]] = Counter()
    """By (whether a rack fails, what fails, who takes over)."""

    def takers(order: list[int]) -> list[tuple[bool, int, int]]:
        found = [(False, order[0], order[1])]
        if asked.racks_fail:
            home = rack[order[0]]
            found += [(True, home, b) for b in order[1:] if rack[b] != home][:1]
        return found

    for row in np.lexsort((np.arange(len(lists)), -out.each)).tolist():
        leader, *followers = (b for b in lists[row] if b >= 0)
        if not followers:
            continue
        orders = [[leader, b, *(c for c in followers if c != b)] for b in followers]
        worst = [
            max(
                (sent[b] + taken[fails, what, b] + each[row]) / limit[b]
                for fails, what, b in takers(order)
            )
            for order in orders
        ]
        best = orders[worst.index(min(worst))]
        for one in takers(best):
            taken[one] += each[row]
        lists[row][: len(best)] = best
    return after.with_replicas(np.array(lists, dtype=np.int64))
