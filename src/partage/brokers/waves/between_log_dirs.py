"""Waves of partitions that only change log dirs: made as others are, with log dirs for brokers.

A wave puts at most ``concurrency`` replicas into each log dir. It holds its old replicas until the
wave has ended. These waves come after those that reassign partitions: what a log dir holds when
they begin is what it holds after the plan, but for the replicas that only change their log dir.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from partage.arrays import Ints
from partage.brokers.figures import changed_sets, kept_log_dirs, moved_log_dirs
from partage.brokers.waves.changes import UNLIMITED, Changes
from partage.brokers.waves.disk_order import WaveLimits, order_waves
from partage.brokers.waves.safe_order import DeadEndError
from partage.cluster import Cluster
from partage.errors import CannotError
from partage.flow.edge_colouring import Edges, colour_classes, fewest_colours


class BetweenLogDirs:
    """The replicas that stay on their broker and change their log dir: ``row``, ``broker``,
    ``size``, ``source`` and ``target`` of each, ascending by row; ``rows``: partitions of which
    nothing else moves."""

    def __init__(self, before: Cluster, after: Cluster) -> None:
        self.after = after
        self.row, column = moved_log_dirs(before, after)
        self.broker = after.replicas[self.row, column]
        self.size = np.maximum(before.size_bytes, 0)[self.row]
        self._was = kept_log_dirs(before, after)
        counts = [len(broker.log_dirs) for broker in after.brokers]
        self._first = np.concatenate(([0], np.cumsum(counts)))
        self.source = self._first[self.broker] + self._was[self.row, column]
        self.target = self.source[:0]
        if after.log_dirs is not None:
            self.target = self._first[self.broker] + after.log_dirs[self.row, column]
        self._alone = ~changed_sets(before.replicas, after.replicas)[self.row]
        self.rows, self._start = np.unique(self.row[self._alone], return_index=True)

    @cached_property
    def _edges(self) -> Edges:
        start = np.append(self._start, int(self._alone.sum()))
        none = np.full(len(self.rows), -1, dtype=np.int64)
        return Edges(int(self._first[-1]), none, start, self.target[self._alone])

    def fewest_waves(self, limits: WaveLimits) -> int:
        """A lower bound on the waves."""
        return fewest_colours(self._edges, limits.concurrency, limits.batch)

    def waves(self, limits: WaveLimits) -> list[Ints]:
        """The rows of each wave, ascending. Raises CannotError, with the log dir and its disk, if
        no order of waves fits."""
        if not len(self.rows):
            return []
        edges, size = self._edges, self.size[self._alone][self._start]
        coloured = colour_classes(edges, size * edges.heads, limits.concurrency, limits.batch)
        change = np.repeat(np.arange(len(self.rows)), edges.heads)
        changes = Changes(
            free=self._free(),
            size=size,
            leader=edges.tail,
            fetching=change,
            target=edges.head,
            dropping=change,
            freed=self.source[self._alone],
        )
        try:
            ordered = order_waves(changes, coloured, limits)
        except DeadEndError as dead_end:
            raise self._cannot(dead_end) from None
        return [np.sort(self.rows[wave]) for wave in ordered]

    def _free(self) -> Ints:
        """Free bytes of each log dir before the first of these waves."""
        after, size = self.after, np.maximum(self.after.size_bytes, 0)
        assert after.log_dirs is not None
        at = after.log_dirs.copy()
        at[self.rows] = np.where(self._was[self.rows] >= 0, self._was[self.rows], at[self.rows])
        row, column = np.nonzero((after.replicas >= 0) & (at >= 0))
        used = np.zeros(int(self._first[-1]), dtype=np.int64)
        np.add.at(used, self._first[after.replicas[row, column]] + at[row, column], size[row])
        disk = [one.disk_bytes for broker in after.brokers for one in broker.log_dirs]
        known = np.array([UNLIMITED if one is None else one for one in disk], dtype=np.int64)
        return np.where(known == UNLIMITED, UNLIMITED, known - used)

    def _cannot(self, dead_end: DeadEndError) -> CannotError:
        """The error names the log dir, its disk and the partition that does not fit."""
        row = int(self.rows[dead_end.change])
        place = int(np.searchsorted(self._first, dead_end.broker, side="right")) - 1
        broker = self.after.brokers[place]
        log_dir = broker.log_dirs[dead_end.broker - int(self._first[place])]
        why = "no order of the waves works" if dead_end.proven else "no order was found"
        return CannotError(
            f"broker {broker.id}: {log_dir.path} with a disk of {log_dir.disk_bytes} bytes lacks "
            f"{dead_end.lacking} for {self.after.names[row]} ({self.after.size_bytes[row]} bytes) "
            f"while old copies are still there: {why}; add disk, or move replicas to other brokers"
        )
