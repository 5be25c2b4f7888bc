"""Lower bounds on the brokers that a load needs, each for any choice of brokers and any placement.

n brokers are the n of today's that have most of a resource, or today's and new ones. From this
follow, for each resource,

- *total*: together they can use at least the total;
- *large partitions*: loads that do not share a broker need brokers of their own (the bound L2 of
  bin packing, ``flow/bin_packing.py``), and of those above L / (k + 1) a broker with the limit L
  has at most k; the same for the log dirs of all brokers together;
- *racks*: a partition has at most m replicas in a rack, so each of Z racks has at least
  RF - (Z - 1) m of them, and needs the brokers for these;
- *broker down*, *rack down*: what leaders send must fit on the survivors. A partition with one
  replica per rack is taken over outside the rack of its leader. So if its n brokers of equal limits
  L send O of a total T, the others need space for T - O and for the O / n or more that one of the
  n sends: T - O (1 - 1 / n) fits into the rest. Summed over the racks, O has to be T.

What n brokers can hold, n + 1 can too: one stays empty. So what n - 1 cannot hold needs n.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from msgspec import Struct

from partage.arrays import Floats, Ints
from partage.brokers.sizing.requirement import Requirement
from partage.brokers.sizing.resources import LOG_DIR, Resource, disk_in_log_dirs
from partage.cluster import Broker, Cluster
from partage.cluster.broker import MAX_BROKERS
from partage.errors import CannotError
from partage.flow.bin_packing import fewest_bins

_MOST_CELLS = 20_000_000
"""Racks times squared brokers up to which the loads of racks after failures are bounded."""
_MOST_TOGETHER = 1000
"""The k up to which loads of more than L / (k + 1) are counted."""
_EDGE = 1e-9


class Bound(Struct, frozen=True):
    """``brokers`` or more are necessary. ``resource``: None for the replication factor.
    ``needed``, ``available``: what one broker fewer would have to hold, and can; None for rules
    that compare no sums."""

    brokers: int
    resource: str | None
    rule: str
    needed: float | None = None
    available: float | None = None


class _Pool(Struct, frozen=True, eq=False):
    """Brokers to choose from: the limits of ``today``, highest first, and of each ``new`` one."""

    today: list[int]
    new: int

    @property
    def best(self) -> int:
        return max([*self.today, self.new])

    def most(self, brokers: int, down: int = 0) -> int:
        """The highest sum of limits of so many brokers, without the ``down`` highest of them."""
        new = max(0, brokers - len(self.today))
        chosen = sorted([*self.today[:brokers], *[self.new] * new], reverse=True)
        return sum(chosen[down:])

    def fewest(self, total: int, down: int = 0) -> int:
        """The fewest brokers whose sum reaches the total. Raises CannotError."""
        low, high = 0, len(self.today) + 1
        while self.most(high, down) < total:
            if self.new == 0 or high > MAX_BROKERS:
                raise CannotError(
                    f"more than {MAX_BROKERS:,} brokers like the new ones would be necessary"
                )
            low, high = high, 2 * high
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self.most(middle, down) < total else (low, middle)
        return high if total > 0 else 0


class LowerBounds(Struct, frozen=True, eq=False):
    """Of a cluster; ``new``: a broker that may be added, ``target`` [P]: replicas."""

    cluster: Cluster
    target: Ints
    new: Broker
    resources: Sequence[Resource]
    asked: Requirement

    def all(self) -> list[Bound]:
        """The bounds, at least one per resource. Raises CannotError where no number suffices."""
        found = [Bound(int(self.target.max()), None, "replication factor")]
        for resource in self.resources:
            self._check_largest(resource)
            pool = self._pool(resource, self.live)
            found.extend(self._of_loads(resource, pool))
            found.append(self._of_racks(resource))
            if resource.led and self.asked.failures:
                found.extend(self._of_failures(resource, pool))
        disk = disk_in_log_dirs(self.cluster, self.resources)
        return found if disk is None else [*found, self._of_log_dirs(disk)]

    @property
    def live(self) -> list[Broker]:
        return [broker for broker in self.cluster.brokers if broker.alive]

    @property
    def rack_sizes_today(self) -> list[int]:
        """Live brokers per rack."""
        names = self.cluster.rack_names or (None,)
        return [sum(broker.rack == name for broker in self.live) for name in names]

    @property
    def rack_sizes(self) -> list[int]:
        """Brokers per rack, with the fewest new ones that the replication factor needs."""
        sizes = self.rack_sizes_today
        while sum(sizes) < self.target.max():
            sizes[sizes.index(min(sizes))] += 1
        return sizes

    def most_per_rack(self) -> Ints:
        """[P] replicas of a partition that a rack may have."""
        sizes = np.array(self.rack_sizes)
        most = np.zeros_like(self.target)
        for factor in np.unique(self.target).tolist():
            allowed = next(m for m in range(1, factor + 1) if np.minimum(sizes, m).sum() >= factor)
            most[self.target == factor] = allowed
        return most

    def _pool(self, resource: Resource, brokers: Sequence[Broker]) -> _Pool:
        limits = sorted(map(resource.limit, brokers), reverse=True)
        return _Pool(limits, resource.limit(self.new))

    def _copies(self, resource: Resource) -> Ints:
        return np.ones_like(self.target) if resource.led else self.target

    def _check_largest(self, resource: Resource) -> None:
        """Raise CannotError for a partition that too few brokers can hold, or lead."""
        need = self._copies(resource)
        if resource.led and self.asked.failures:
            need = np.minimum(self.target, 2)  # its leader, and the broker that takes over
        self._check_able(resource, self._pool(resource, self.live), need)

    def _check_able(
        self, resource: Resource, pool: _Pool, need: Ints, holder: str = "broker"
    ) -> None:
        able = np.searchsorted(-np.array(pool.today), -resource.each, side="right")
        wrong = np.flatnonzero((resource.each > pool.new) & (able < need))
        if len(wrong):
            row = int(wrong[resource.each[wrong].argmax()])
            load, limit = (resource.bytes(x) for x in (int(resource.each[row]), pool.new))
            unit = "bytes" if resource.name == "disk" else "bytes per second"
            raise CannotError(
                f"{self.cluster.names[row]} alone takes {load:,.0f} {unit} of {resource.name}, a "
                f"{holder} may use {limit:,.0f}: no number of brokers suffices"
            )

    def _of_loads(self, resource: Resource, pool: _Pool) -> Iterator[Bound]:
        items = np.repeat(resource.each, self._copies(resource))
        yield self._summed(resource, "total", pool, int(items.sum()))
        yield Bound(_bins(items, pool.best), resource.name, "large partitions")

    def _of_log_dirs(self, disk: Resource) -> Bound:
        """The log dirs that are necessary, each as large as the largest, and the brokers that have
        so many."""
        today, new = list(map(disk.log_dir_limits, self.live)), disk.log_dir_limits(self.new)
        largest = _Pool(sorted(map(max, today), reverse=True), max(new))
        self._check_able(disk, largest, self.target, "log dir")
        log_dirs = _bins(np.repeat(disk.each, self.target), largest.best)
        pool = _Pool(sorted(map(len, today), reverse=True), len(new))
        return Bound(pool.fewest(log_dirs), LOG_DIR, "large partitions")

    def _summed(
        self, resource: Resource, rule: str, pool: _Pool, total: int, down: int = 0
    ) -> Bound:
        brokers = pool.fewest(total, down)
        available = pool.most(max(0, brokers - 1), down)
        return Bound(brokers, resource.name, rule, resource.bytes(total), resource.bytes(available))

    def _of_racks(self, resource: Resource) -> Bound:
        """What each rack must hold, with the brokers that it has or gets."""
        names = self.cluster.rack_names or (None,)
        least = self._copies(resource) - (len(names) - 1) * self.most_per_rack()
        least = np.maximum(least, 0)
        items = np.repeat(resource.each, least)
        total = int(items.sum())
        wanted, today = [], []
        for name in names:
            members = [broker for broker in self.live if broker.rack == name]
            pool = self._pool(resource, members)
            self._check_able(resource, pool, least)
            wanted.append(max(pool.fewest(total), _bins(items, pool.best)))
            today.append(len(members))
        if any(q > t for q, t in zip(wanted, today, strict=True)):
            wanted = list(map(max, wanted, today))  # brokers are only added to all of today's
        return Bound(sum(wanted), resource.name, "racks")

    def _of_failures(self, resource: Resource, pool: _Pool) -> Iterator[Bound]:
        rows = self.target >= 2
        items = resource.each[rows]
        total = int(items.sum())
        down = self._summed(resource, "broker down", pool, total, down=1)
        yield down
        bins = _bins(items, pool.best)
        yield Bound(bins + 1 if bins else 0, resource.name, "broker down")
        sizes = self.rack_sizes_today
        alone = resource.each[rows & (self.most_per_rack() == 1)]
        if len(sizes) > 1 and len(alone):
            racks = _Racks(sizes, int(alone.sum()) / max(1, pool.best))
            yield Bound(racks.fewest(down.brokers), resource.name, "broker down")
        if self.asked.racks_fail and bins:
            outside = max(bins, -(-total // max(1, pool.best)))
            brokers = outside
            while brokers - _largest_rack(sizes, brokers) < outside:
                brokers += 1
            yield Bound(brokers, resource.name, "rack down")


def _bins(items: Ints, limit: int) -> int:
    """A lower bound on the bins that the items need."""
    if not items.any():
        return 0
    limit = min(limit, int(items.sum()))  # a higher one changes nothing, and could overflow
    size, k = np.sort(items), np.arange(1, _MOST_TOGETHER + 1)
    count = len(size) - np.searchsorted(size, limit // (k + 1), side="right")
    count = np.minimum(count, int((size > 0).sum()))
    return max(fewest_bins(items, limit), int((-(-count // k)).max()))


def _largest_rack(sizes: Sequence[int], brokers: int) -> int:
    """The least that the largest rack has, of so many brokers."""
    if brokers > sum(sizes):
        return max(max(sizes), -(-brokers // len(sizes)))
    return next(c for c in range(max(sizes) + 1) if sum(min(s, c) for s in sizes) >= brokers)


class _Racks(Struct, frozen=True):
    """Racks with ``sizes`` brokers today, and the ``total`` that leaders send, in limits of a
    broker; every partition has at most one replica in a rack."""

    sizes: Sequence[int]
    total: float

    def fewest(self, least: int) -> int:
        """The fewest brokers, from ``least``, that can survive any one's failure."""
        brokers = least
        while len(self.sizes) * brokers**2 <= _MOST_CELLS and not self._can(brokers):
            brokers += 1
        return brokers

    def _can(self, brokers: int) -> bool:
        """Whether the brokers can be in racks such that what these must send is not more than the
        total: the least sum over all ways to share them out."""
        cost = self._least(brokers)
        every = brokers > sum(self.sizes)
        best: Floats = np.where(np.arange(brokers + 1) == 0, 0.0, np.inf)
        for size in self.sizes:
            low, high = (min(size, brokers), brokers) if every else (0, min(size, brokers))
            options = [
                np.concatenate((np.full(m, np.inf), best[: brokers + 1 - m] + cost[m]))
                for m in range(low, high + 1)
            ]
            best = np.min(options, axis=0)
        return bool(best[brokers] <= self.total * (1 + _EDGE))

    def _least(self, brokers: int) -> Floats:
        """[brokers + 1] what a rack with so many brokers must send itself, as the others cannot
        take it over; infinite where it cannot send that much."""
        m = np.arange(brokers + 1, dtype=np.float64)
        rest = np.maximum(self.total * (1 - _EDGE) - (brokers - m), 0)
        share = np.divide(m - 1, m, out=np.zeros_like(m), where=m > 1)
        sent = np.divide(rest, share, out=np.full_like(m, np.inf), where=share > 0)
        sent = np.where(rest == 0, 0, sent)
        sent[0] = 0
        return np.where(sent <= m * (1 + _EDGE), sent, np.inf)


def needed(bounds: Sequence[Bound]) -> Bound:
    """The highest bound, of equal ones the first."""
    return max(bounds, key=lambda bound: bound.brokers)
