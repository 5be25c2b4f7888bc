"""Move replicas between the log dirs of a broker: ``balance_disks`` and ``remove_log_dir``.

Brokers do not interact here, so each is a separate problem. Its items are the replicas that may
change their log dir: those of partitions that keep their brokers, outside cordoned log dirs; none
where a log dir of the broker is offline. Its slots are the log dirs that take replicas. What else
is in them stays: it is the base. For ``balance_disks`` every log dir has a band around its fair
share of the bytes, in proportion to the disks where their sizes are known
(``flow/size_balancing``); for ``remove_log_dir`` alone the only limit is the disk.

Packing is NP-hard. The bytes moved are compared with a lower bound from prices; the fullest log dir
with another: no choice makes it less full than what stays in it, than all log dirs of its broker
together, or than the largest free replica in the log dir that suits it best.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from functools import cached_property
from typing import NamedTuple

import numpy as np
from msgspec import Struct

from partage.arrays import Bools, Ints
from partage.brokers.figures import changed_sets, kept_log_dirs
from partage.brokers.placement.integer_program import NothingFitsError
from partage.brokers.placement.log_dir_program import (
    MAX_VARIABLES,
    evenest,
    fewest_bytes_within,
    in_log_dirs,
)
from partage.brokers.problem import Problem
from partage.brokers.proofs import Stage
from partage.brokers.stages import StageName
from partage.cluster import Cluster
from partage.errors import CannotError
from partage.flow.assignment import AssignmentProblem
from partage.flow.packing import pack
from partage.flow.size_balancing import (
    BalancedSizes,
    Bands,
    balance_sizes,
    fewest_bytes,
    slot_prices,
)

_NO_DISK = 2**62

_NEARLY = 1.001
"""The search is not improved on where it is as near as this to its bound."""

_SAME = 1e-9


class Fullness(NamedTuple):
    """The share of its disk that the fullest log dir with a choice holds after the plan, and a
    lower bound on it for every choice."""

    fullest: Fraction
    bound: Fraction


class BrokerDisks(Struct, frozen=True, eq=False, dict=True):
    """The n replicas of a broker after the plan whose log dirs are known, and its open log dirs.

    - ``row``, ``column``, ``size``: of each replica; ``was``: its log dir before, -1 if it is new;
      ``now``: its log dir after
    - ``item``: may change its log dir; ``removed``: is in a log dir to empty
    - ``open``: positions of the log dirs that may take replicas; ``disk``: their bytes, or None
    - ``balanced``: whether they should be even
    """

    broker: int
    row: Ints
    column: Ints
    size: Ints
    was: Ints
    now: Ints
    item: Bools
    removed: Bools
    open: list[int]
    disk: list[int | None]
    balanced: bool

    @property
    def share(self) -> list[int]:
        """What each open log dir counts for: its disk, or 1 where not all are known."""
        return [disk or 1 if all(self.disk) else 1 for disk in self.disk]

    @property
    def free(self) -> Bools:
        """The replicas whose log dir the plan chooses."""
        chosen = (self.was < 0) | self.removed
        return np.asarray(chosen | self.item if self.balanced else chosen)

    def bytes_in(self, some: Bools) -> Ints:
        """Bytes of these replicas in each open log dir, after the plan."""
        found = np.zeros(len(self.open), dtype=np.int64)
        for slot, log_dir in enumerate(self.open):
            found[slot] = self.size[some & (self.now == log_dir)].sum()
        return found

    @cached_property
    def sharing(self) -> AssignmentProblem:
        """The items as a problem of the kernel."""
        slot_of = {log_dir: slot for slot, log_dir in enumerate(self.open)}
        own = [slot_of.get(log_dir, -1) for log_dir in self.was[self.item].tolist()]
        size, base_size = self.size[self.item], self.bytes_in(~self.item)
        return in_log_dirs(size, np.array(own, dtype=np.int64), base_size)

    @cached_property
    def bands(self) -> Bands:
        """The bytes that each open log dir should hold."""
        ceiling = np.array([_NO_DISK if disk is None else disk for disk in self.disk])
        if not self.balanced:
            return Bands(ceiling, None)
        base, share = self.sharing.base_size.tolist(), self.share
        level = _level(base, share, int(self.sharing.size.sum()))
        fair = [max(Fraction(b), level * s) for b, s in zip(base, share, strict=True)]
        return Bands(ceiling, np.array([float(one) for one in fair]))

    @property
    def fullness(self) -> Fullness:
        """Of the fullest open log dir, in units of ``share``, and its bound over all choices."""
        kept, used = self.bytes_in(~self.free).tolist(), self.bytes_in(self.free).tolist()
        share = self.share
        largest = int(self.size[self.free].max(initial=0))
        fullest = max(Fraction(k + u, s) for k, u, s in zip(kept, used, share, strict=True))
        fixed = max(Fraction(k, s) for k, s in zip(kept, share, strict=True))
        alone = min(Fraction(k + largest, s) for k, s in zip(kept, share, strict=True))
        together = Fraction(sum(kept) + sum(used), sum(share))
        return Fullness(fullest, max(fixed, together, alone))


def _level(base: list[int], share: list[int], amount: int) -> Fraction:
    """How high ``amount`` fills vessels of these widths that hold ``base`` already."""
    below = sorted(range(len(base)), key=lambda slot: Fraction(base[slot], share[slot]))
    while True:
        level = Fraction(amount + sum(base[s] for s in below), sum(share[s] for s in below))
        if base[below[-1]] <= level * share[below[-1]]:
            return level
        below.pop()


def disks_of(problem: Problem, after: Cluster) -> Iterator[BrokerDisks]:
    """The brokers with several log dirs of known contents, of which one can take replicas."""
    before = problem.cluster
    if after.log_dirs is None or before.log_dirs is None:
        return
    row, column = np.nonzero((after.replicas >= 0) & (after.log_dirs >= 0))
    order = np.argsort(after.replicas[row, column], kind="stable")
    row, column = row[order], column[order]
    broker = after.replicas[row, column]
    was = kept_log_dirs(before, after)[row, column]
    may_move = problem.chosen & ~changed_sets(before.replicas, after.replicas)
    size = np.maximum(before.size_bytes, 0)[row]
    for number, one in enumerate(after.brokers):
        slots = problem.open_log_dirs(number)
        if not slots or not one.alive or not before.has_known_log_dirs(number):
            continue
        here = slice(*np.searchsorted(broker, (number, number + 1)).tolist())
        emptied = [d for b, d in problem.removed_log_dirs if b == number]
        removed = np.isin(was[here], emptied)
        movable = one.offline_log_dir is None
        yield BrokerDisks(
            broker=number,
            row=row[here],
            column=column[here],
            size=size[here],
            was=was[here],
            now=after.log_dirs[row[here], column[here]],
            item=may_move[row[here]] & movable & (np.isin(was[here], slots) | removed),
            removed=removed,
            open=slots,
            disk=[one.log_dirs[slot].disk_bytes for slot in slots],
            balanced=problem.options.balance_disks,
        )


def balance_log_dirs(problem: Problem, after: Cluster) -> Cluster:
    """``after`` with its replicas in the log dirs that the options ask for. Raises CannotError."""
    if after.log_dirs is None:
        return after
    log_dirs = after.log_dirs.copy()
    for disks in disks_of(problem, after):
        if disks.item.any() and (disks.balanced or disks.removed.any()):
            slots = _slots(problem, disks)
            chosen = np.array(disks.open)[slots]
            log_dirs[disks.row[disks.item], disks.column[disks.item]] = chosen
    _check_emptied(problem, after, log_dirs)
    return replace(after, log_dirs=log_dirs)


def _slots(problem: Problem, disks: BrokerDisks) -> Ints:
    """[I] the slot of each item. Raises CannotError where they do not fit."""
    sharing, bands = disks.sharing, disks.bands
    if not disks.balanced and (simple := _like_new_ones(disks)) is not None:
        return simple
    tolerance = float(problem.options.load_tolerance("disk"))
    found, why = balance_sizes(sharing, bands, tolerance), "no way was found"
    if sharing.items * sharing.slots <= MAX_VARIABLES:
        try:
            found = _improved(sharing, bands, tolerance, found)
        except NothingFitsError:
            why = "proven"
    if found.tolerance is None:
        raise _cannot(problem, disks, why)
    return found.slots[:, 0]


def _like_new_ones(disks: BrokerDisks) -> Ints | None:
    """Only what must go, the largest first, each to the log dir that is least full with it; None
    where that does not fit."""
    sharing, slots = disks.sharing, disks.sharing.own[:, 0].copy()
    load = sharing.size_on(slots[:, None])
    room = disks.bands.ceiling
    for item in np.argsort(-sharing.size, kind="stable").tolist():
        if slots[item] >= 0:
            continue
        size = int(sharing.size[item])
        fitting = [slot for slot in range(sharing.slots) if load[slot] + size <= room[slot]]
        if size and not fitting:
            return None
        share = disks.share
        slots[item] = min(
            fitting or range(sharing.slots),
            key=lambda slot: (Fraction(int(load[slot]) + size, share[slot]), slot),
        )
        load[slots[item]] += size
    return slots


def _improved(
    sharing: AssignmentProblem, bands: Bands, tolerance: float, found: BalancedSizes
) -> BalancedSizes:
    """The integer program's answer where it is better: within the tolerance, or in narrower bands;
    then with fewer bytes. Raises NothingFitsError."""
    if found.tolerance is not None and found.tolerance <= tolerance:
        low, high = bands.at(tolerance)
        price = slot_prices(sharing, low, high)
        if sharing.size_moved(found.slots) <= fewest_bytes(sharing, low, high, price) * _NEARLY:
            return found
        return _fewest_bytes(sharing, bands, tolerance, found)
    with suppress(NothingFitsError):
        slots = fewest_bytes_within(sharing, *bands.at(tolerance))
        if slots is not None:
            return BalancedSizes(slots, bands.holding(sharing.size_on(slots)))
    if bands.share is not None:
        slots = evenest(sharing, bands.share, bands.ceiling)
        if slots is not None:
            narrowest = bands.holding(sharing.size_on(slots))
            now = found.tolerance
            if narrowest is not None and (now is None or narrowest < now * (1 - _SAME) - _SAME):
                found = BalancedSizes(slots, narrowest)
    elif found.tolerance is None:
        raise NothingFitsError
    if found.tolerance is None or not sharing.size_moved(found.slots):
        return found
    return _fewest_bytes(sharing, bands, found.tolerance, found)


def _fewest_bytes(
    sharing: AssignmentProblem, bands: Bands, width: float, found: BalancedSizes
) -> BalancedSizes:
    """An assignment in the bands of this width, of which ``found`` is one, that moves no more."""
    low, high = bands.at(width)
    load = sharing.size_on(found.slots)
    slots = fewest_bytes_within(sharing, np.minimum(low, load), np.maximum(high, load))
    if slots is None or sharing.size_moved(slots) >= sharing.size_moved(found.slots):
        return found
    return BalancedSizes(slots, bands.holding(sharing.size_on(slots)))


def _cannot(problem: Problem, disks: BrokerDisks, why: str) -> CannotError:
    """What does not fit: all replicas together, or the largest that has no space."""
    sharing, broker = disks.sharing, problem.cluster.brokers[disks.broker]
    rows, size = disks.row[disks.item], sharing.size
    free = disks.bands.ceiling - sharing.base_size
    paths = ", ".join(broker.log_dirs[slot].path for slot in disks.open)
    at = f"broker {broker.id}: {paths}"
    if int(size.sum()) > int(free.sum()):
        lacking = int(size.sum()) - int(free.sum())
        return CannotError(
            f"{at} must hold {disks.size.sum()} bytes, {lacking} more than fit: add disk, or move "
            "replicas to other brokers first"
        )
    largest = int(size.argmax())
    if size[largest] > free.max():
        why = f"proven: the largest space is {free.max()} bytes"
    elif disks.removed.any():
        inside = np.where(disks.removed[disks.item], size, -1)
        largest = int(inside.argmax())
    name = problem.cluster.names[int(rows[largest])]
    return CannotError(
        f"{at} have no space for {name} ({size[largest]} bytes) and the rest ({why}): add disk, or "
        "move replicas to other brokers first"
    )


def _check_emptied(problem: Problem, after: Cluster, log_dirs: Ints) -> None:
    """Raise CannotError for a log dir to empty that keeps a replica, because no other log dir of
    its broker takes any."""
    for broker, log_dir in sorted(problem.removed_log_dirs):
        left = (after.replicas == broker) & (log_dirs == log_dir)
        if left.any():
            name = after.names[int(left.any(axis=1).argmax())]
            identity = after.broker_ids[broker]
            raise CannotError(
                f"broker {identity}: no other log dir can take {name}, all are cordoned or to be "
                f"emptied: uncordon one, or use --remove-broker {identity}"
            )


def prove_log_dirs(problem: Problem, after: Cluster) -> list[Stage]:
    """The bytes that move between log dirs, and their bound, where the options ask for moves
    between log dirs."""
    value = bound = 0
    prices = []
    for disks in disks_of(problem, after):
        moved = (disks.was >= 0) & (disks.was != disks.now)
        value += int(disks.size[moved].sum())
        bound += int(disks.size[disks.removed & ~disks.item].sum())
        load = disks.bytes_in(np.ones_like(disks.item))
        if not (moved & disks.item).any():
            continue
        least, most = disks.bands.at(float(problem.options.load_tolerance("disk")))
        low, high = np.minimum(least, load), np.maximum(most, load)
        price = slot_prices(disks.sharing, low, high)
        bound += fewest_bytes(disks.sharing, low, high, price)
        identity = int(after.broker_ids[disks.broker])
        prices.append(
            {"broker": identity, "prices": pack(price), "low": pack(low), "high": pack(high)}
        )
    return [Stage(StageName.LOG_DIRS, value, bound, {"log_dirs": prices}, exact=False)]


def fullness_of(problem: Problem, after: Cluster) -> Fullness | None:
    """Of all brokers where the plan chooses log dirs whose disks are known; None if there are
    none."""
    found = [
        disks.fullness for disks in disks_of(problem, after) if disks.free.any() and all(disks.disk)
    ]
    if not found:
        return None
    return Fullness(max(one.fullest for one in found), max(one.bound for one in found))


def uneven_brokers(problem: Problem, after: Cluster) -> list[int]:
    """Brokers whose fullest log dir is further above its bound than the tolerance; a byte more or
    less is rounding."""
    if not problem.options.balance_disks:
        return []
    limit = 1 + problem.options.load_tolerance("disk")
    return [
        disks.broker
        for disks in disks_of(problem, after)
        if disks.fullness.fullest > disks.fullness.bound * limit + Fraction(1, min(disks.share))
    ]
