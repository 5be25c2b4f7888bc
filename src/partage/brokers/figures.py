"""The figures of a placement, counted from the replica lists alone.

Leader means preferred leader: the first of the list. Counts run over the usable brokers.
"""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from partage.arrays import Bools, Ints, first_where, sums_on
from partage.cluster import Cluster
from partage.flow.certificate import fill_level, takeover_bound
from partage.flow.sorting import distinct


class Placement(Struct, frozen=True, eq=False):
    """Replica lists, and which brokers are usable."""

    cluster: Cluster
    usable: Bools

    @property
    def brokers(self) -> int:
        return len(self.usable)

    def replica_counts(self) -> Ints:
        """[B] replicas per broker."""
        held = self.cluster.replicas
        return np.bincount(held[held >= 0], minlength=self.brokers).astype(np.int64)

    def byte_counts(self) -> Ints:
        """[B] bytes per broker; unknown sizes count as 0."""
        size = np.maximum(self.cluster.size_bytes, 0)
        return sums_on(self.cluster.replicas, size, self.brokers)

    def leaders(self) -> Ints:
        """[P] preferred leader."""
        return self.cluster.replicas[:, 0]

    def leader_counts(self) -> Ints:
        """[B] preferred leaders per broker."""
        return np.bincount(self.leaders(), minlength=self.brokers).astype(np.int64)

    def first_followers(self) -> Ints:
        """[P] the broker that takes over when the leader fails: the next live replica, or -1."""
        return next_live(self.cluster.replicas, self.cluster.alive)

    def takeovers(self) -> Ints:
        """[B, B] partitions per pair (failed leader, broker that takes over)."""
        leader, follower = self.leaders(), self.first_followers()
        some = follower >= 0
        return pair_counts(leader[some], follower[some], self.brokers, self.brokers)

    def after_failure(self) -> dict[str, int]:
        """``max``: leaders of the worst survivor after the failure of any one usable broker.
        ``ideal``: a lower bound on it for these replica sets and leader counts."""
        place = np.flatnonzero(self.usable)
        if len(place) < 2:
            return {"max": 0, "ideal": 0}
        leaders = self.leader_counts()[place]
        pairs = self.takeovers()[np.ix_(place, place)]
        level = leaders[None, :] + pairs
        np.fill_diagonal(level, 0)
        offered = co_held(self.cluster.replicas, place, self.brokers)
        ideal = takeover_bound(pairs.sum(axis=1), leaders, np.zeros_like(pairs), offered)
        return {"max": int(level.max()), "ideal": ideal}

    def least_worst_survivor(self) -> int:
        """A lower bound on ``max`` for all placements that keep the rules, with leaders as fair,
        from counting: when a broker fails, the survivors lead what it led, too; where no partition
        has two replicas in a rack, those in other racks.

        Partitions that no usable broker takes over go offline, at most the average with one of the
        brokers.
        """
        place = np.flatnonzero(self.usable)
        brokers = len(place)
        if brokers < 2:
            return 0
        leaders = self.leader_counts()[place]
        led = int(leaders.sum())
        on = np.append(self.usable, False)[self.cluster.replicas]
        live = np.append(self.cluster.alive, False)[self.cluster.replicas]
        safe = on[:, 0] & (on.sum(axis=1) >= 2) & (on == live).all(axis=1)
        lost = led - int(safe.sum())
        bound = -(-(led - lost // brokers) // (brokers - 1))
        fair = int(leaders.max() - leaders.min()) <= 1
        if lost or not fair or not self._one_replica_per_rack(on):
            return bound
        least, more = divmod(led, brokers)
        for inside in np.bincount(self.cluster.rack[place]).tolist():
            if 0 < inside < brokers:
                # of the brokers that lead one more, as many as possible are in the rack
                above = min(inside, more)
                taken = led - (inside - 1) * least - above + (above > 0)
                bound = max(bound, -(-taken // (brokers - inside)))
        return bound

    def _one_replica_per_rack(self, on: Bools) -> bool:
        """Whether racks are known, and every partition has its usable replicas in different
        ones."""
        if not self.cluster.rack_names:
            return False
        rack = np.sort(np.where(on, np.append(self.cluster.rack, -1)[self.cluster.replicas], -1))
        return not ((rack[:, 1:] >= 0) & (rack[:, 1:] == rack[:, :-1])).any()

    def after_rack_failure(self) -> dict[str, int] | None:
        """The same for the failure of any one rack; None if the usable brokers have no racks, or
        only one.

        ``max``: leaders of the worst survivor, when each partition led in the rack is taken over by
        the next live replica of its list outside the rack. ``offline``: partitions without a live
        replica outside the worst rack. ``ideal``: a lower bound on ``max`` for these replica sets
        and leader counts. In any order of the lists, survivors take over all partitions that the
        rack led and that have other live replicas, and each at most those that it shares with the
        rack. The bound adds these to the survivors' own leaders as evenly as possible.
        """
        cluster, brokers, racks = self.cluster, self.brokers, len(self.cluster.rack_names)
        failing = self.failing_racks()
        if not failing:
            return None
        replicas = cluster.replicas
        live = np.append(cluster.alive, False)[replicas]
        rack = np.append(cluster.rack, -1)[replicas]
        pairs = self.rack_takeovers()
        shared = np.zeros_like(pairs)
        dependent = np.zeros(racks, dtype=np.int64)  # all live replicas are in the rack
        for i in range(replicas.shape[1]):
            # count each rack of a partition once
            seen = (live[:, :i] & (rack[:, :i] == rack[:, i : i + 1])).any(axis=1)
            first = live[:, i] & ~seen
            others = live & (rack != rack[:, i : i + 1])
            row, column = np.nonzero(others & first[:, None])
            shared += pair_counts(rack[row, i], replicas[row, column], racks, brokers)
            dependent += np.bincount(rack[first & ~others.any(axis=1), i], minlength=racks)
        leaders = self.leader_counts()
        worst = ideal = 0
        for z in failing:
            survivors = self.usable & (cluster.rack != z)
            level, taken_over = leaders[survivors], pairs[z, survivors]
            worst = max(worst, int((level + taken_over).max()))
            ideal = max(ideal, fill_level(level, shared[z, survivors], int(taken_over.sum())))
        dead = int((~live.any(axis=1)).sum())
        return {"max": worst, "ideal": ideal, "offline": dead + int(dependent[failing].max())}

    def failing_racks(self) -> list[int]:
        """The racks of the usable brokers; none if they have no racks, or only one."""
        named = self.cluster.rack_names
        racks: list[int] = distinct(self.cluster.rack[self.usable]).tolist() if named else []
        return racks if len(racks) > 1 else []

    def rack_takeovers(self) -> Ints:
        """[Z, B] partitions led in a rack that a broker takes over when it fails: the next live
        replica outside the rack."""
        cluster, taker = self.cluster, self.rack_takers()
        leader = cluster.replicas[:, 0]
        taken = cluster.alive[leader] & (taker >= 0)
        racks = len(cluster.rack_names)
        return pair_counts(cluster.rack[leader[taken]], taker[taken], racks, self.brokers)

    def rack_takers(self) -> Ints:
        """[P] the broker that takes over when the leader's rack fails, -1 for none: the next live
        replica outside the rack."""
        cluster, replicas = self.cluster, self.cluster.replicas
        live = np.append(cluster.alive, False)[replicas]
        rack = np.append(cluster.rack, -1)[replicas]
        return first_where(replicas, live & (rack != rack[:, :1]))

    def least_rack_survivor(self) -> int | None:
        """A lower bound on the worst survivor's leaders after the failure of any one rack, for all
        placements in which usable brokers lead as many partitions and no more partitions depend on
        one rack; None as for ``after_rack_failure``.

        The E - n brokers outside a rack of n lead all partitions that do not depend on it, so one
        of them leads the average or more. Partitions that depend on a rack, however they are
        shared among the racks, lower the sums of the racks by their number.
        """
        failing, cluster = self.failing_racks(), self.cluster
        if not failing:
            return None
        place = np.flatnonzero(self.usable)
        led = int(self.leader_counts()[place].sum())
        on = np.append(self.usable, False)[cluster.replicas]
        live = np.append(cluster.alive, False)[cluster.replicas]
        rack = np.append(cluster.rack, -1)[cluster.replicas]
        safe = on[:, 0] & (on == live).all(axis=1) & (on & (rack != rack[:, :1])).any(axis=1)
        lost = led - int(safe.sum())
        outside = [len(place) - n for n in np.bincount(cluster.rack[place])[failing].tolist()]
        return least_level_outside(led, outside, lost)

    def rack_violations(self) -> int:
        """Partitions with replicas in fewer racks than possible, or too many in one rack."""
        return int(rack_violations(self.cluster, self.usable).sum())

    def topic_spread(self) -> int:
        """The largest difference, over topics, of replicas between two usable brokers."""
        row, column = np.nonzero(np.append(self.usable, False)[self.cluster.replicas])
        holder = self.cluster.replicas[row, column]
        pair, count = np.unique(self.cluster.topic[row] * self.brokers + holder, return_counts=True)
        first = np.flatnonzero(np.diff(pair // self.brokers, prepend=-1))  # of each topic
        if not len(first):
            return 0
        holders = np.diff(first, append=len(pair))
        least = np.where(
            holders < np.count_nonzero(self.usable), 0, np.minimum.reduceat(count, first)
        )
        return int((np.maximum.reduceat(count, first) - least).max())

    def bytes_max_over_mean(self) -> float | None:
        """Bytes of the fullest usable broker divided by the mean; None if no size is known."""
        if (self.cluster.size_bytes < 0).all():
            return None
        held = self.byte_counts()[self.usable].tolist()
        # integers until the last step: rounding the mean could change the rounded ratio
        return round(max(held) * len(held) / sum(held), 4) if any(held) else 1.0

    def figures(self) -> dict[str, Any]:
        """The figures under their JSON keys."""
        replicas = self.replica_counts()[self.usable]
        leaders = self.leader_counts()[self.usable]
        return {
            "replicas_per_broker": [int(replicas.min()), int(replicas.max())],
            "leaders_per_broker": [int(leaders.min()), int(leaders.max())],
            "leaders_after_failure": self.after_failure(),
            "worst_survivor_lower_bound": self.least_worst_survivor(),
            "leaders_after_rack_failure": self.after_rack_failure(),
            "rack_survivor_lower_bound": self.least_rack_survivor(),
            "rack_violations": self.rack_violations(),
            "topic_spread": self.topic_spread(),
            "bytes_max_over_mean": self.bytes_max_over_mean(),
        }


def next_live(replicas: Ints, alive: Bools) -> Ints:
    """[P] the first live replica after the leader in each list [P, R], or -1."""
    live = np.append(alive, False)[replicas]
    live[:, 0] = False
    return first_where(replicas, live)


def least_level_outside(led: int, outside: list[int], lost: int) -> int:
    """The least level T at which ``lost`` pays for what the brokers ``outside`` each rack cannot
    lead, at T each, of ``led``."""
    low, high = 0, led
    while low < high:
        level = (low + high) // 2
        if sum(max(0, led - level * brokers) for brokers in outside) <= lost:
            high = level
        else:
            low = level + 1
    return low


def pair_counts(row: Ints, column: Ints, rows: int, columns: int) -> Ints:
    """[rows, columns] how often each (row, column) occurs."""
    flat = np.bincount(row * columns + column, minlength=rows * columns)
    return flat.reshape(rows, columns).astype(np.int64, copy=False)


def co_held(replicas: Ints, place: Ints, brokers: int) -> Ints:
    """[E, E] partitions that both of two brokers hold; ``place`` [E]: their positions."""
    slot = np.full(brokers + 1, -1, dtype=np.int64)
    slot[place] = np.arange(len(place))
    on = slot[replicas]
    together = np.zeros(len(place) ** 2, dtype=np.int64)
    for i, j in combinations(range(on.shape[1]), 2):
        both = (on[:, i] >= 0) & (on[:, j] >= 0)
        together += np.bincount(on[both, i] * len(place) + on[both, j], minlength=len(together))
    one_way = together.reshape(len(place), len(place))
    return one_way + one_way.T


def rack_violations(cluster: Cluster, usable: Bools) -> Bools:
    """[P] whether a partition breaks the rack rule: as many racks as possible, evenly used."""
    if not cluster.rack_names:
        return np.zeros(cluster.partitions, dtype=np.bool_)
    sizes = np.bincount(cluster.rack[usable], minlength=len(cluster.rack_names))
    row, column = np.nonzero(cluster.replicas >= 0)
    rack = cluster.rack[cluster.replicas[row, column]]
    held = pair_counts(row, rack, cluster.partitions, len(sizes))
    used, most = (held > 0).sum(axis=1), held.max(axis=1)
    broken = np.zeros(cluster.partitions, dtype=np.bool_)
    for factor in distinct(cluster.replication_factor).tolist():
        rows = cluster.replication_factor == factor
        racks = min(factor, int((sizes > 0).sum()))
        allowed = next(
            (m for m in range(1, factor + 1) if np.minimum(sizes, m).sum() >= factor), factor
        )
        broken[rows] = (used[rows] < racks) | (most[rows] > allowed)
    return broken


def not_in(lists: Ints, others: Ints) -> Bools:
    """[P, R] which replicas of the lists [P, R], -1 padded, are on a broker that the others
    [P, any] lack."""
    lacking = lists >= 0
    for brokers in others.T:
        lacking &= lists != brokers[:, None]
    return lacking


def only_in(cluster: Cluster, other: Cluster) -> tuple[Ints, Ints]:
    """(row, column) of each replica of ``cluster`` whose broker has none in ``other``."""
    row, column = np.nonzero(not_in(cluster.replicas, other.replicas))
    return row, column


def new_replicas(before: Cluster, after: Cluster) -> tuple[Ints, Ints]:
    """(row, broker) of each replica that a broker must newly fetch."""
    row, column = only_in(after, before)
    return row, after.replicas[row, column]


def deleted_replicas(before: npt.ArrayLike, after: npt.ArrayLike) -> Ints:
    """[P] replicas that a plan deletes: by how many each replica list gets shorter.

    ``before``, ``after`` [P]: lengths of the lists. A replica that a new one replaces moves and is
    not counted, also where its broker is dead or removed. A list that gets longer deletes nothing
    and makes up for no other one. Of a list that gets shorter, replicas on dead brokers count, too:
    Kafka deletes them when the broker is back.
    """
    return np.asarray(np.maximum(np.asarray(before) - np.asarray(after), 0), dtype=np.int64)


def kept_log_dirs(before: Cluster, after: Cluster) -> Ints:
    """[P, R] of ``after``: the log dirs in ``before`` of replicas that are on their broker in both,
    -1 for others."""
    found = np.full(after.replicas.shape, -1, dtype=np.int64)
    if before.log_dirs is not None:
        for column in range(before.replicas.shape[1]):
            broker = before.replicas[:, column, None]
            same = (after.replicas == broker) & (broker >= 0)
            found = np.where(same, before.log_dirs[:, column, None], found)
    return found


def moved_log_dirs(before: Cluster, after: Cluster) -> tuple[Ints, Ints]:
    """(row, column in ``after``) of each replica that stays on its broker and changes its log
    dir."""
    if after.log_dirs is None:
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
    was = kept_log_dirs(before, after)
    row, column = np.nonzero((was >= 0) & (was != after.log_dirs))
    return row, column


def changed_sets(before: Ints, after: Ints) -> Bools:
    """[P] whether replica lists [P, R], padded with -1, have other brokers than before."""
    old, new = one_width(before, after)
    return np.asarray((np.sort(old, axis=1) != np.sort(new, axis=1)).any(axis=1))


def changed_rows(before: Cluster, after: Cluster) -> Ints:
    """Rows whose replica list differs, order included, or of which a replica changes its log
    dir."""
    old, new = one_width(before.replicas, after.replicas)
    changed = (old != new).any(axis=1)
    changed[moved_log_dirs(before, after)[0]] = True
    return np.flatnonzero(changed)


def one_width(*lists: Ints) -> list[Ints]:
    """Replica lists [P, any width each] padded with -1 to the widest."""
    width = max(part.shape[1] for part in lists)
    return [
        np.pad(part, ((0, 0), (0, width - part.shape[1])), constant_values=-1) for part in lists
    ]
