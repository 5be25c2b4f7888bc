"""Schedule a plan in waves, so that no broker receives or sends too much at a time.

A new replica is fetched from the partition's leader (the first of its list on a live broker). In a
wave no broker receives more than ``concurrency`` new replicas, nor sends more than that as leader.
A partition with more new replicas than that has its leader to itself; a partition without a live
leader has no source, and no limit on that side. Each partition is reassigned in one wave.

This is edge colouring: a partition is an edge from its leader to the brokers that fetch it, and a
wave is a colour (``flow/edge_colouring.py``). The number of waves meets its lower bound wherever
each partition has one new replica. Large partitions choose first, each the first wave that is free,
so that they come early and the waves hold partitions of similar size.

Old and new copies coexist until a wave ends. Where a disk would overflow, the waves are reordered,
and partitions move to later ones (``disk_order.py``). Partitions that move no data (a new order, or
fewer replicas) form the last waves of those; partitions that only change log dirs come after them
(``between_log_dirs.py``). ``batch`` limits the partitions of every wave.
"""

from __future__ import annotations

from functools import cached_property
from itertools import pairwise

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from partage.arrays import Ints, first_where, sums_on
from partage.brokers.figures import changed_rows, new_replicas
from partage.brokers.waves.between_log_dirs import BetweenLogDirs
from partage.brokers.waves.changes import UNLIMITED, Changes
from partage.brokers.waves.disk_order import WaveLimits, order_waves
from partage.brokers.waves.safe_order import DeadEndError
from partage.cluster import Cluster
from partage.errors import CannotError
from partage.flow.edge_colouring import Edges, colour_classes, fewest_colours
from partage.flow.sorting import distinct


class Wave(Struct, frozen=True, eq=False):
    """``rows`` of the partitions reassigned together, and the load of the wave.

    - ``moves``: new replicas
    - ``brokers`` [b]: positions of the brokers that receive or send, ascending
    - ``replicas_in``, ``replicas_out`` [b]: new replicas that each receives, and sends as leader
    - ``bytes_in``, ``bytes_out`` [b]: their bytes; None if no size is known
    - ``seconds``: of its busiest broker at the throttle; None without a throttle or sizes
    - ``log_dir_moves``, ``log_dir_bytes``: replicas that change their log dir, and their bytes
    """

    rows: Ints
    moves: int
    brokers: Ints
    replicas_in: Ints
    replicas_out: Ints
    bytes_in: Ints | None
    bytes_out: Ints | None
    seconds: int | None
    log_dir_moves: int = 0
    log_dir_bytes: int = 0

    @property
    def bytes(self) -> int | None:
        """Bytes of all new replicas, those without a live leader included."""
        return None if self.bytes_in is None else int(self.bytes_in.sum())


class WaveSchedule(Struct, frozen=True, eq=False):
    """The waves in the order of execution.

    - ``bound``: no schedule within the limits has fewer waves
    - ``short``: ids of the brokers whose disks cost waves; ``without_disks``: waves otherwise
    """

    waves: tuple[Wave, ...]
    bound: int
    short: tuple[int, ...]
    without_disks: int

    @property
    def gap(self) -> float:
        """Waves above the bound, as a share of the bound."""
        return round(len(self.waves) / self.bound - 1, 6) if self.bound else 0.0

    @property
    def limiting_constraints(self) -> tuple[str, ...]:
        """What the disks cost, in a sentence, if anything."""
        if not self.short:
            return ()
        some = ", ".join(map(str, self.short[:5])) + (" …" if len(self.short) > 5 else "")
        disks = f"disks of brokers {some}" if len(self.short) > 1 else f"disk of broker {some}"
        return (
            f"{disks}: old and new copies must fit until a wave ends; the plan takes "
            f"{len(self.waves)} waves, without this limit {self.without_disks}",
        )


def schedule_waves(
    before: Cluster,
    after: Cluster,
    concurrency: int,
    throttle: int | None = None,
    batch: int | None = None,
) -> WaveSchedule:
    """The waves from one placement to another; none if nothing changes.

    ``throttle`` is in bytes per second. Raises CannotError, with the broker and its disk, if no
    order of waves fits the disks.
    """
    moves, between = _Moves(before, after), BetweenLogDirs(before, after)
    rest = np.zeros(before.partitions, dtype=np.bool_)
    rest[changed_rows(before, after)] = True
    rest[moves.rows] = rest[between.rows] = False
    without_data = np.flatnonzero(rest)
    rows = np.concatenate((moves.rows, without_data))
    changes = moves.changes(without_data)
    limits = WaveLimits(concurrency, batch)
    coloured = colour_classes(moves.edges, moves.weight, concurrency, batch)
    try:
        ordered = order_waves(changes, coloured, limits)
    except DeadEndError as dead_end:
        raise _cannot(before, rows, dead_end) from None
    members = [np.sort(rows[wave]) for wave in ordered]
    for member in members:
        rest[member] = False
    members += _batches(np.flatnonzero(rest), batch)
    last = len(_batches(without_data, batch))
    slower = len(members) > len(coloured) + last
    own = between.waves(limits)
    return WaveSchedule(
        waves=tuple(
            _with_log_dirs(wave, between, throttle)
            for wave in moves.waves([*members, *own], throttle)
        ),
        bound=fewest_colours(moves.edges, concurrency, batch) + last + between.fewest_waves(limits),
        short=tuple(before.broker_ids[changes.short].tolist()) if slower else (),
        without_disks=len(coloured) + last + len(own),
    )


def _with_log_dirs(wave: Wave, between: BetweenLogDirs, throttle: int | None) -> Wave:
    """The wave with what it moves between log dirs, of which each broker copies at the throttle."""
    if not len(between.row):
        return wave
    inside = np.isin(between.row, wave.rows)
    if not inside.any():
        return wave
    size, broker = between.size[inside], between.broker[inside]
    seconds = wave.seconds
    if seconds is not None and throttle:
        copied = np.zeros(len(between.after.brokers), dtype=np.int64)
        np.add.at(copied, broker, size)
        seconds = max(seconds, -(-int(copied.max()) // throttle))
    return replace(wave, log_dir_moves=len(size), log_dir_bytes=int(size.sum()), seconds=seconds)


def _batches(rows: Ints, batch: int | None) -> list[Ints]:
    """The rows in parts of at most ``batch``."""
    step = batch or max(len(rows), 1)
    return [rows[i : i + step] for i in range(0, len(rows), step)]


class _Moves:
    """The partitions that fetch replicas: ``rows`` [n], ``size`` [n] bytes that a new replica
    copies (0 where unknown), and ``edges`` from their leaders to the brokers that fetch them."""

    def __init__(self, before: Cluster, after: Cluster) -> None:
        self.before = before
        row, target = new_replicas(before, after)
        self.rows, first = np.unique(row, return_index=True)
        self.size = before.copied[self.rows]
        self.known = bool((before.size_bytes >= 0).any())
        alive = np.append(before.alive, False)[before.replicas[self.rows]]
        self.edges = Edges(
            vertices=len(before.brokers),
            tail=first_where(before.replicas[self.rows], alive),
            start=np.append(first, len(row)),
            head=target,
        )
        self.dropped = new_replicas(after, before)

    @cached_property
    def partition(self) -> Ints:
        """[moves] the partition of each new replica, as a position in ``rows``."""
        return np.repeat(np.arange(len(self.rows)), self.edges.heads)

    @property
    def weight(self) -> Ints:
        """[n] bytes that each partition copies."""
        return self.size * self.edges.heads

    def changes(self, without_data: Ints) -> Changes:
        """The partitions, and then those ``without_data`` to move."""
        before = self.before
        size = np.maximum(before.size_bytes, 0)
        used = sums_on(before.replicas, size, len(before.brokers))
        change = np.full(before.partitions, -1, dtype=np.int64)
        change[self.rows] = np.arange(len(self.rows))
        change[without_data] = len(self.rows) + np.arange(len(without_data))
        dropping = change[self.dropped[0]]
        by_change = np.argsort(dropping, kind="stable")
        return Changes(
            free=np.where(before.disk_bytes >= 0, before.disk_bytes - used, UNLIMITED),
            size=np.concatenate((size[self.rows], size[without_data])),
            leader=np.concatenate((self.edges.tail, np.full(len(without_data), -1))),
            fetching=self.partition,
            target=self.edges.head,
            dropping=dropping[by_change],
            freed=self.dropped[1][by_change],
        )

    def waves(self, members: list[Ints], throttle: int | None) -> list[Wave]:
        """The waves of these rows each, which ascend."""
        brokers, count = self.edges.vertices, len(members)
        rows = np.concatenate([*members, self.rows[:0]])
        wave = np.repeat(np.arange(count), [len(part) for part in members])
        place = np.searchsorted(self.rows, rows)
        moving = np.append(self.rows, -1)[place] == rows  # without those that move no data
        place, wave = place[moving], wave[moving]
        heads = self.edges.heads[place]
        first = np.cumsum(heads) - heads
        each = np.arange(heads.sum()) + np.repeat(self.edges.start[place] - first, heads)
        # a place for each broker of each wave
        wave, place = np.repeat(wave, heads), np.repeat(place, heads)
        leader, size = self.edges.tail[place], self.size[place]
        led = leader >= 0
        target, source = wave * brokers + self.edges.head[each], (wave * brokers + leader)[led]
        places = distinct(np.concatenate((target, source)))
        to, by = np.searchsorted(places, target), np.searchsorted(places, source)
        load = np.zeros((4, len(places)), dtype=np.int64)
        for line, at, amount in ((0, to, 1), (1, by, 1), (2, to, size), (3, by, size[led])):
            np.add.at(load[line], at, amount)
        parts = pairwise(np.searchsorted(places, np.arange(count + 1) * brokers).tolist())
        moves = np.bincount(wave, minlength=count).tolist()
        timed = throttle if self.known else None
        return [
            Wave(
                rows=members[n],
                moves=moves[n],
                brokers=places[i:j] - n * brokers,
                replicas_in=load[0, i:j],
                replicas_out=load[1, i:j],
                bytes_in=load[2, i:j] if self.known else None,
                bytes_out=load[3, i:j] if self.known else None,
                seconds=-(-int(load[2:, i:j].max(initial=0)) // timed) if timed else None,
            )
            for n, (i, j) in enumerate(parts)
        ]


def _cannot(before: Cluster, rows: Ints, dead_end: DeadEndError) -> CannotError:
    """The error names the broker, its disk and the partition that does not fit."""
    row = int(rows[dead_end.change])
    why = "no order of the waves works" if dead_end.proven else "no order of the waves was found"
    return CannotError(
        f"broker {before.broker_ids[dead_end.broker]}: its disk of "
        f"{before.disk_bytes[dead_end.broker]} bytes lacks {dead_end.lacking} for "
        f"{before.names[row]} ({before.size_bytes[row]} bytes) while old copies are still there: "
        f"{why}; add disk or brokers"
    )
