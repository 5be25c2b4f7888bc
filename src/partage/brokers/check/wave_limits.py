"""Does every wave keep its limits, and is the lower bound on their number correct?

The waves are replayed one after the other from their files: which broker fetches what from which
leader, what each disk holds meanwhile, and how long the wave takes at the throttle.

The bound: a broker receives at most ``concurrency`` new replicas in a wave; a leader's partitions,
each counting min(its new replicas, concurrency), are packed into waves of ``concurrency`` (Martello
and Toth's bound L2); a wave has at most ``batch`` partitions. Partitions that move no data have
waves of their own; so have those that only change log dirs, after all others, where a log dir takes
at most ``concurrency`` replicas in a wave.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import numpy as np
from msgspec import Struct

from partage.arrays import Bools, Ints
from partage.brokers.check.files import read_listed
from partage.brokers.check.plan_columns import MAX_DEFECTS, PlanColumns, pair_counts
from partage.brokers.check.schema import identical
from partage.brokers.directory import MARKER, wave_name

_UNLIMITED = 2**62
"""More than ``MAX_BYTES``."""


def check_wave_limits(plan: PlanColumns) -> list[str]:
    """Defects of the waves, of their stated loads, and of ``waves_lower_bound``."""
    limits = _Limits.of(plan)
    changes = _Changes(plan)
    replay = _Replay(changes, limits)
    found: list[str] = []
    for number, wave in enumerate(plan.value["waves"], start=1):
        name = wave_name(number)
        rows = read_listed(plan, name).rows
        rows = rows[plan.changes[rows]]
        found += [f"{name}: {problem}" for problem in replay.run(name, wave, rows)]
    stated, fewest = plan.value["figures"]["after"]["waves_lower_bound"], limits.fewest(changes)
    if not identical(stated, fewest):
        found.append(f"{MARKER}: figures.after.waves_lower_bound is {stated}, expected {fewest}")
    return found[:MAX_DEFECTS]


class _Changes:
    """What changes, by row [P].

    - ``arrivals``, ``departures``: broker positions of new and of dropped replicas, [P, R] each, -1
      for others; ``new``, ``gone``: how many
    - ``leader``: position of the first live replica before the plan, -1 without one
    - ``copies``: by row, broker position and log dir of replicas that stay and change it
    - ``only_copies``: replicas change their log dirs, and none its broker
    """

    def __init__(self, plan: PlanColumns) -> None:
        self.plan = plan
        before, after = plan.positions(plan.before), plan.positions(plan.after)
        self.arrivals = np.where(plan.is_new, after, -1)
        self.departures = np.where(plan.is_gone, before, -1)
        self.new, self.gone = plan.new_replicas, plan.is_gone.sum(axis=1)
        live = plan.live(plan.before)
        first = before[np.arange(len(before)), live.argmax(axis=1)]
        self.leader = np.where(live.any(axis=1), first, -1)
        self.copies = {
            row: [(plan.place[b], log_dir) for b, (_, log_dir) in moved.items()]
            for row, moved in plan.between_log_dirs.items()
        }
        self.only_copies: Bools = np.zeros(len(before), dtype=np.bool_)
        self.only_copies[list(self.copies)] = True
        self.only_copies &= (self.new == 0) & (self.gone == 0)


class _Load:
    """The load of the wave with these rows, by broker position [B]: replicas and bytes received,
    and sent as leader; ``kept``: bytes of the replicas received, once they have all that stays on a
    broker; ``dropped``: bytes of the replicas that go; ``senders``: partitions that each leader
    sends; ``copies``: replicas that each log dir takes in a wave of partitions that only change log
    dirs; ``copied``: bytes between the log dirs of each broker."""

    def __init__(self, changes: _Changes, rows: Ints) -> None:
        plan = changes.plan
        size, copied = plan.size[rows], plan.copied[rows]
        self.partitions = len(rows)
        self.moving = int((changes.new[rows] > 0).sum())
        came, at = _pairs(changes.arrivals[rows])
        self.replicas_in = _sums(plan, at, np.ones_like(at))
        self.bytes_in, self.kept = _sums(plan, at, copied[came]), _sums(plan, at, size[came])
        went, left = _pairs(changes.departures[rows])
        self.dropped = _sums(plan, left, size[went])
        sends = (changes.new[rows] > 0) & (changes.leader[rows] >= 0)
        leader, sent = changes.leader[rows[sends]], changes.new[rows[sends]]
        self.senders = _sums(plan, leader, np.ones_like(leader))
        self.replicas_out = _sums(plan, leader, sent)
        self.bytes_out = _sums(plan, leader, sent * copied[sends])
        self.copies = Counter[tuple[int, int]]()
        self.copied = np.zeros_like(self.kept)
        self.log_dir_moves = 0
        for row in rows.tolist() if changes.copies else ():
            copies = changes.copies.get(row, [])
            if changes.only_copies[row]:
                self.copies.update(copies)
            for broker, _ in copies:
                self.copied[broker] += plan.size[row]
            self.log_dir_moves += len(copies)


def _pairs(brokers: Ints) -> tuple[Ints, Ints]:
    """(row, broker position) of the entries [n, R] that are not -1."""
    row, column = np.nonzero(brokers >= 0)
    return row, brokers[row, column]


def _sums(plan: PlanColumns, broker: Ints, amount: Ints) -> Ints:
    """[B] the sum of the amounts of each broker position."""
    total = np.zeros(len(plan.ids), dtype=np.int64)
    np.add.at(total, broker, amount)
    return total


class _Replay:
    """The plan's waves, run one after the other; ``held``: bytes on each broker by position."""

    def __init__(self, changes: _Changes, limits: _Limits) -> None:
        plan = self.plan = changes.plan
        self.changes, self.limits = changes, limits
        self.disk = np.array([_UNLIMITED if disk is None else disk for disk in plan.disk])
        row, broker = plan.pairs(plan.before)
        self.held = _sums(plan, broker, plan.size[row])
        self.idle = ""
        """The last wave that moves no data and frees no disk."""
        self.copied = ""
        """The last wave of partitions that only change log dirs."""

    def run(self, name: str, wave: dict[str, object], rows: Ints) -> list[str]:
        """What is wrong with the wave; afterwards its new replicas are there, and the old gone."""
        load = _Load(self.changes, rows)
        problems = [
            *self.limits.broken(load, self.plan.ids),
            *self._overfull_disks(load),
            *self._misplaced(name, rows, load),
            *self._misstated(wave, load),
        ]
        self.held += load.kept - load.dropped
        return problems

    def _overfull_disks(self, load: _Load) -> list[str]:
        """Disks that overflow while the wave runs, when old copies are still there."""
        over = np.flatnonzero((load.kept > 0) & (self.held + load.kept > self.disk)).tolist()
        return [
            f"broker {self.plan.ids[b]} holds {self.held[b]} bytes and receives {load.kept[b]}, on "
            f"a disk of {self.disk[b]}"
            for b in over
        ]

    def _misplaced(self, name: str, rows: Ints, load: _Load) -> list[str]:
        """Partitions that move no data must come last, in waves of their own, unless they free a
        disk."""
        copying = int(self.changes.only_copies[rows].sum())
        if copying:
            self.copied = name
            mixed = copying < len(rows)
            return ["mixes partitions that only change log dirs with others"] if mixed else []
        problems = []
        if self.copied:
            problems.append(f"comes after {self.copied}, which only changes log dirs")
        if 0 < load.moving < len(rows):
            problems.append("mixes partitions that move data with partitions that move none")
        if load.moving and self.idle:
            problems.append(f"moves data after {self.idle}, which moves none and frees none")
        if len(rows) and not load.moving and not (self.changes.gone[rows] > 0).all():
            self.idle = name
        return problems

    def _misstated(self, wave: dict[str, object], load: _Load) -> list[str]:
        """Fields of the wave in plan.json that differ from its load and duration."""
        sized, throttle = self.plan.sized, self.limits.throttle
        busy = np.flatnonzero(load.replicas_in + load.replicas_out).tolist()
        counted: dict[str, object] = {"brokers": [self.plan.ids[b] for b in busy]}
        for name in ("replicas_in", "replicas_out", "bytes_in", "bytes_out"):
            amount: Ints = getattr(load, name)
            known = sized or name.startswith("replicas")
            counted[name] = amount[busy].tolist() if known else None
        counted["seconds"] = None
        if sized and throttle is not None:
            loads = (load.bytes_in, load.bytes_out, load.copied)
            counted["seconds"] = -(-max(int(one.max()) for one in loads) // throttle)
        if self.plan.between_log_dirs:
            counted["log_dir_moves"] = load.log_dir_moves
            counted["log_dir_bytes"] = int(load.copied.sum())
        elif "log_dir_moves" in wave or "log_dir_bytes" in wave:
            return ["log_dir_moves and log_dir_bytes go with moves between log dirs"]
        return [
            f"{name} in plan.json is not what the wave moves"
            for name, value in counted.items()
            if not identical(wave.get(name), value)
        ]


class _Limits(Struct, frozen=True):
    """The options that limit a wave; ``throttle`` in bytes per second."""

    concurrency: int
    batch: int | None
    throttle: int | None

    @classmethod
    def of(cls, plan: PlanColumns) -> _Limits:
        return cls(plan.asked.concurrency, plan.asked.batch, plan.asked.throttle)

    def broken(self, load: _Load, ids: list[int]) -> list[str]:
        """The limits that a wave breaks; ``ids`` of the brokers."""
        receives = np.flatnonzero(load.replicas_in > self.concurrency).tolist()
        sends = (load.replicas_out > self.concurrency) & (load.senders > 1)
        found = [
            f"broker {ids[b]} receives {load.replicas_in[b]} replicas, at most {self.concurrency} "
            "are allowed"
            for b in receives
        ]
        found += [
            f"broker {ids[b]} sends {load.replicas_out[b]} replicas, at most {self.concurrency} "
            "are allowed"
            for b in np.flatnonzero(sends).tolist()
        ]
        found += [
            f"log dir {log_dir} of broker {ids[b]} takes {n} replicas, at most {self.concurrency} "
            "are allowed"
            for (b, log_dir), n in sorted(load.copies.items())
            if n > self.concurrency
        ]
        if self.batch is not None and load.partitions > self.batch:
            found.append(f"has {load.partitions} partitions, at most {self.batch} are allowed")
        return found

    def fewest(self, changes: _Changes) -> int:
        """A lower bound on the waves of any schedule of these changes."""
        plan, only = changes.plan, changes.only_copies
        copying = int(only.sum())
        moving = int((changes.new > 0).sum())
        idle = int(plan.changes.sum()) - copying - moving
        _, at = _pairs(changes.arrivals)
        received = int(np.bincount(at, minlength=1).max())
        sends = (changes.new > 0) & (changes.leader >= 0)
        size = np.minimum(changes.new[sends], self.concurrency)
        of_size = pair_counts(
            changes.leader[sends], size, len(plan.ids), int(size.max(initial=0)) + 1
        )
        bounds = [self._batches(moving), -(-received // self.concurrency)]
        bounds += [_bins(sizes, self.concurrency) for sizes in np.unique(of_size, axis=0).tolist()]
        copies = Counter(at for row in np.flatnonzero(only).tolist() for at in changes.copies[row])
        most = -(-max(copies.values(), default=0) // self.concurrency)
        last = max(most, self._batches(copying)) if copying else 0
        return max(bounds) + self._batches(idle) + last

    def _batches(self, partitions: int) -> int:
        return -(-partitions // (self.batch or max(partitions, 1)))


def _bins(of_size: Iterable[int], capacity: int) -> int:
    """A lower bound on the bins that so many of each size fill: Martello and Toth's L2."""
    count = Counter({size: n for size, n in enumerate(of_size) if n})
    thresholds = {0, *(size for size in count if 2 * size <= capacity)}
    return max(_bins_at(count, capacity, threshold) for threshold in thresholds)


def _bins_at(count: Counter[int], capacity: int, threshold: int) -> int:
    """L2 at one threshold: sizes above capacity - threshold get a bin alone, sizes above a half one
    each, and the rest from the threshold fills what those leave free."""
    alone = halves = free = small = 0
    for size, n in count.items():
        if size > capacity - threshold:
            alone += n
        elif 2 * size > capacity:
            halves += n
            free += (capacity - size) * n
        elif size >= threshold:
            small += size * n
    return alone + halves + max(0, -(-(small - free) // capacity))
