"""A plan cut into waves, so that no broker receives or sends too much at a time.

A new replica is fetched from the partition's leader (the first of its list on a live broker). In a
wave no broker receives more than ``concurrency`` new replicas, nor sends more than that as leader,
except that a partition which alone asks for more has its leader to itself; a partition without a
live leader has no source, and no limit on that side. Each partition is reassigned whole, all its
new replicas in one wave.

That is edge colouring: a partition is an edge from its leader to the brokers that receive it, and a
wave is a colour (``flow/edge_colouring.py``). As few waves as there are by that bound, which is met
wherever each partition has one new replica. The partitions choose by falling bytes, each the first
wave that is free, so that large ones come early and the waves hold partitions of similar size.

Old and new copies coexist until a wave ends. Where a disk would overflow, the waves are put into
another order, and partitions moved to later ones (``disk_order.py``). What moves no data (order
only, or fewer replicas) forms the last waves. ``batch`` bounds the partitions of every wave.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from partage.brokers.figures import changed_rows, new_replicas
from partage.brokers.waves.disk_order import UNLIMITED, DeadEndError, Jobs, order_waves
from partage.cluster import Cluster
from partage.errors import CannotError
from partage.flow.edge_colouring import Edges, colour, fewest_colours

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Wave:
    """``rows`` of the partitions reassigned together, and the load of it.

    - ``brokers`` [b] positions of those that receive or send, ascending
    - ``replicas_in``, ``replicas_out`` [b] new replicas that each receives, and sends as leader
    - ``bytes_in``, ``bytes_out`` [b] their bytes; None where no size is known
    - ``seconds`` at the throttle: its busiest broker's (None without a throttle or without sizes)
    """

    rows: Ints
    moves: int
    brokers: Ints
    replicas_in: Ints
    replicas_out: Ints
    bytes_in: Ints | None
    bytes_out: Ints | None
    seconds: int | None

    @property
    def bytes(self) -> int | None:
        """Bytes that are copied, from dead leaders too."""
        return None if self.bytes_in is None else int(self.bytes_in.sum())


@dataclass(frozen=True, eq=False)
class WaveSchedule:
    """The waves in the order of execution; no plan within the limits has fewer than ``bound``.
    ``short``: ids of the brokers whose disks cost waves beyond those that the limits ask for;
    ``without_disks``: how many there would be otherwise."""

    waves: tuple[Wave, ...]
    bound: int
    short: tuple[int, ...]
    without_disks: int

    @property
    def gap(self) -> float:
        """Waves over the bound, less 1."""
        return round(len(self.waves) / self.bound - 1, 6) if self.bound else 0.0

    @property
    def binding(self) -> tuple[str, ...]:
        """What the disks cost, in a sentence, if anything."""
        if not self.short:
            return ()
        some = ", ".join(map(str, self.short[:5])) + (" …" if len(self.short) > 5 else "")
        disks = f"disks of brokers {some}" if len(self.short) > 1 else f"disk of broker {some}"
        return (
            f"{disks}: old and new copies must fit until a wave ends, so that the plan takes "
            f"{len(self.waves)} waves, where the limits alone would ask for {self.without_disks}",
        )


def schedule_waves(
    before: Cluster,
    after: Cluster,
    concurrency: int,
    throttle: int | None = None,
    batch: int | None = None,
) -> WaveSchedule:
    """The plan's waves; none when nothing changes. ``throttle``: bytes per second.

    Raises CannotError, naming the broker and its disk, where no order of waves fits the disks.
    """
    moves = _Moves(before, after)
    order = np.lexsort((moves.rows, -moves.weight))
    bound = fewest_colours(moves.edges, concurrency, batch)
    colours = colour(moves.edges, moves.weight, concurrency, batch)[order]
    # the members of a colour in the order in which they chose
    by_colour = order[np.argsort(colours, kind="stable")]
    steps = np.searchsorted(np.sort(colours), np.arange(1, colours.max(initial=-1) + 1))
    classes = np.split(by_colour, steps) if len(order) else []
    rest = np.setdiff1d(changed_rows(before, after), moves.rows)
    jobs = moves.jobs(rest)
    try:
        ordered = order_waves(jobs, classes, concurrency, batch)
    except DeadEndError as dead_end:
        raise _cannot(before, np.concatenate((moves.rows, rest)), dead_end) from None
    rows = np.concatenate((moves.rows, rest))
    members = [np.sort(rows[wave]) for wave in ordered]
    left = np.setdiff1d(rest, np.concatenate([*members, rest[:0]]))
    step = batch or max(len(left), 1)
    members += [left[i : i + step] for i in range(0, len(left), step)]
    last = -(-len(rest) // (batch or max(len(rest), 1)))
    waves = tuple(moves.wave(wave, throttle) for wave in members)
    slower = len(waves) > len(classes) + last
    return WaveSchedule(
        waves=waves,
        bound=bound + last,
        short=tuple(before.broker_ids[jobs.short].tolist()) if slower else (),
        without_disks=len(classes) + last,
    )


class _Moves:
    """The partitions that fetch replicas: ``rows`` [n], ``size`` [n] bytes of a replica (0 where
    unknown), and who sends to whom as ``edges``."""

    def __init__(self, before: Cluster, after: Cluster) -> None:
        self.before = before
        row, target = new_replicas(before, after)
        self.rows, first = np.unique(row, return_index=True)
        self.size = np.maximum(before.size_bytes, 0)[self.rows]
        self.known = bool((before.size_bytes >= 0).any())
        alive = np.append(before.alive, False)[before.replicas[self.rows]]
        source = before.replicas[self.rows, alive.argmax(axis=1)]
        self.edges = Edges(
            vertices=len(before.brokers),
            tail=np.where(alive.any(axis=1), source, -1),
            start=np.append(first, len(row)),
            head=target,
        )
        self.dropped = new_replicas(after, before)

    @cached_property
    def of(self) -> Ints:
        """[moves] the partition of each new replica, counted as in ``rows``."""
        return np.repeat(np.arange(len(self.rows)), self.edges.heads)

    @property
    def weight(self) -> Ints:
        """[n] bytes that each partition copies."""
        return self.size * self.edges.heads

    def jobs(self, rest: Ints) -> Jobs:
        """The partitions and then the ``rest``, which move no data, as jobs for the disks."""
        before = self.before
        size = np.maximum(before.size_bytes, 0)
        row, column = np.nonzero(before.replicas >= 0)
        used = np.zeros(len(before.brokers), dtype=np.int64)
        np.add.at(used, before.replicas[row, column], size[row])
        job = np.full(before.partitions, -1, dtype=np.int64)
        job[self.rows] = np.arange(len(self.rows))
        job[rest] = len(self.rows) + np.arange(len(rest))
        off = job[self.dropped[0]]
        by_job = np.argsort(off, kind="stable")
        return Jobs(
            room=np.where(before.disk_bytes >= 0, before.disk_bytes - used, UNLIMITED),
            size=np.concatenate((self.size, size[rest])),
            leader=np.concatenate((self.edges.tail, np.full(len(rest), -1))),
            to=self.of,
            target=self.edges.head,
            off=off[by_job],
            freed=self.dropped[1][by_job],
        )

    def wave(self, rows: Ints, throttle: int | None) -> Wave:
        """The wave of these rows, ascending."""
        place = np.searchsorted(self.rows, rows)
        place = place[np.append(self.rows, -1)[place] == rows]  # without those that move no data
        heads = self.edges.heads[place]
        first = np.cumsum(heads) - heads
        each = np.arange(heads.sum()) + np.repeat(self.edges.start[place] - first, heads)
        target, leader = self.edges.head[each], np.repeat(self.edges.tail[place], heads)
        size, led = np.repeat(self.size[place], heads), leader >= 0
        brokers = np.unique(np.concatenate((target, leader[led])))
        to, by = np.searchsorted(brokers, target), np.searchsorted(brokers, leader[led])
        load = np.zeros((4, len(brokers)), dtype=np.int64)
        for line, at, amount in ((0, to, 1), (1, by, 1), (2, to, size), (3, by, size[led])):
            np.add.at(load[line], at, amount)
        timed = self.known and throttle is not None
        return Wave(
            rows=rows,
            moves=len(each),
            brokers=brokers,
            replicas_in=load[0],
            replicas_out=load[1],
            bytes_in=load[2] if self.known else None,
            bytes_out=load[3] if self.known else None,
            seconds=-(-int(load[2:].max(initial=0)) // throttle) if timed and throttle else None,
        )


def _cannot(before: Cluster, rows: Ints, dead_end: DeadEndError) -> CannotError:
    """Names the broker, its disk and the partition that it has no room for."""
    row = int(rows[dead_end.job])
    why = "no order of the waves works" if dead_end.proven else "no order of the waves was found"
    return CannotError(
        f"broker {before.broker_ids[dead_end.broker]}: its disk of "
        f"{before.disk_bytes[dead_end.broker]} bytes lacks {dead_end.lacking} for "
        f"{before.names[row]} ({before.size_bytes[row]} bytes) while old copies are still there: "
        f"{why}; add disk or brokers"
    )
