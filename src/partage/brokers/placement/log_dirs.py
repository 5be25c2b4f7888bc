"""Choose the log dir of every new replica, where a broker has several and they are known.

New replicas go, the largest first, each to the log dir that is least full with it (Graham, Bounds
on Multiprocessing Timing Anomalies, 1969, for log dirs in proportion to their disks, which hold
something already). A log dir must hold, in every wave, what it keeps, what has come by the end of
that wave, and what goes in that wave or later: new copies arrive before old ones are deleted.
Offline and cordoned log dirs, and those that are to be emptied, take nothing. How full the log dirs
get is compared with a bound in ``log_dir_balance.py``, which also moves replicas that stay.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from msgspec import Struct

from partage.arrays import Ints
from partage.brokers.figures import changed_sets, kept_log_dirs, only_in
from partage.brokers.problem import Problem
from partage.brokers.waves import Wave
from partage.cluster import Cluster
from partage.errors import CannotError


class _Replica(Struct, frozen=True):
    """A replica that comes to a log dir, or goes, in a ``wave``, from 0; ``column`` in the
    placement after, or before."""

    row: int
    column: int
    size: int
    wave: int


def choose_log_dirs(problem: Problem, after: Cluster, waves: Sequence[Wave]) -> Ints | None:
    """[P, R] the log dirs of ``after``, -1 where a broker chooses; None where no broker is known to
    have several.

    Raises CannotError for a broker none of whose log dirs takes replicas, and where a replica does
    not fit into any.
    """
    before = problem.cluster
    if not any(one.log_dirs for one in after.brokers):
        return None
    coming, going = _by_broker(after, before, waves), _by_broker(before, after, waves)
    for broker, new in sorted(coming.items()):
        if after.brokers[broker].log_dirs and not problem.open_log_dirs(broker):
            raise CannotError(
                f"broker {after.broker_ids[broker]}: no log dir can take "
                f"{after.names[new[0].row]}, all are cordoned or offline: uncordon one, or "
                f"empty the broker with --remove-broker {after.broker_ids[broker]}"
            )
    if before.log_dirs is None:
        return None
    chosen = kept_log_dirs(before, after)
    _empty_with_moves(problem, after, waves, coming, going)
    for broker, new in sorted(coming.items()):
        if before.has_known_log_dirs(broker):
            choice = _Choice(problem, broker, going[broker])
            for replica in sorted(new, key=lambda one: (-one.size, one.row)):
                chosen[replica.row, replica.column] = choice.place(replica)
    return chosen


def _wave_of(cluster: Cluster, waves: Sequence[Wave]) -> Ints:
    wave = np.zeros(cluster.partitions, dtype=np.int64)
    for number, one in enumerate(waves):
        wave[one.rows] = number
    return wave


def _by_broker(
    cluster: Cluster, other: Cluster, waves: Sequence[Wave]
) -> defaultdict[int, list[_Replica]]:
    """By broker: replicas of ``cluster`` that ``other`` does not have."""
    row, column = only_in(cluster, other)
    wave, size = _wave_of(cluster, waves)[row], np.maximum(cluster.size_bytes, 0)[row]
    columns = (cluster.replicas[row, column], row, column, size, wave)
    found: defaultdict[int, list[_Replica]] = defaultdict(list)
    for broker, *replica in zip(*(part.tolist() for part in columns), strict=True):
        found[broker].append(_Replica(*replica))
    return found


def _empty_with_moves(
    problem: Problem,
    after: Cluster,
    waves: Sequence[Wave],
    coming: defaultdict[int, list[_Replica]],
    going: defaultdict[int, list[_Replica]],
) -> None:
    """Replicas that leave a log dir to empty, stay on their broker, and belong to a partition that
    is reassigned: they change their log dir in its wave."""
    before, wave = problem.cluster, _wave_of(after, waves)
    assert before.log_dirs is not None
    changed = changed_sets(before.replicas, after.replicas)[:, None]
    size = np.maximum(before.size_bytes, 0)
    for broker, log_dir in sorted(problem.removed_log_dirs):
        inside = changed & (before.replicas == broker) & (before.log_dirs == log_dir)
        for row, column in np.argwhere(inside).tolist():
            there = np.flatnonzero(after.replicas[row] == broker).tolist()
            for place in there:
                own = int(size[row]), int(wave[row])
                coming[broker].append(_Replica(row, place, *own))
                going[broker].append(_Replica(row, column, *own))


class _Choice:
    """The log dirs of one broker, while its new replicas are placed.

    - ``disk``: bytes by log dir, None where unknown; ``share``: what they count for
    - ``used``: bytes that stay or have been placed; ``going``: bytes that go; ``steps``: (wave,
      bytes) that come (above 0) or go (below 0)
    """

    def __init__(self, problem: Problem, broker: int, going: Sequence[_Replica]) -> None:
        before = problem.cluster
        assert before.log_dirs is not None
        self.broker, self.names = before.brokers[broker], before.names
        own = self.broker.log_dirs
        self.open = problem.open_log_dirs(broker)
        self.disk = [one.disk_bytes for one in own]
        known = all(self.disk[i] for i in self.open)
        self.share = [self.disk[i] or 1 if known else 1 for i in range(len(own))]
        self.used, self.count, self.going = [0] * len(own), [0] * len(own), [0] * len(own)
        self.steps: list[list[tuple[int, int]]] = [[] for _ in own]
        row, column = np.nonzero(before.replicas == broker)
        size, at = np.maximum(before.size_bytes, 0)[row], before.log_dirs[row, column]
        for log_dir, held in zip(at.tolist(), size.tolist(), strict=True):
            if log_dir >= 0:
                self.used[log_dir] += held
                self.count[log_dir] += 1
        for one in going:
            log_dir = int(before.log_dirs[one.row, one.column])
            if log_dir >= 0:
                self.used[log_dir] -= one.size
                self.count[log_dir] -= 1
                self.going[log_dir] += one.size
                self.steps[log_dir].append((one.wave, -one.size))

    def place(self, replica: _Replica) -> int:
        """The log dir of a new replica. Raises CannotError if it fits into none."""
        fitting = [i for i in self.open if self._fits(i, replica)]
        if not fitting:
            raise self._cannot(replica)
        best = min(
            fitting,
            key=lambda i: (Fraction(self.used[i] + replica.size, self.share[i]), self.count[i], i),
        )
        self.used[best] += replica.size
        self.count[best] += 1
        self.steps[best].append((replica.wave, replica.size))
        return best

    def _fits(self, log_dir: int, replica: _Replica) -> bool:
        disk = self.disk[log_dir]
        if disk is None or not replica.size:
            return True
        if self.used[log_dir] + self.going[log_dir] + replica.size <= disk:
            return True  # even if nothing went
        return self._peak_from(log_dir, replica.wave) + replica.size <= disk

    def _peak_from(self, log_dir: int, wave: int) -> int:
        """The most bytes that the log dir holds in this wave or a later one."""
        steps = self.steps[log_dir]
        most = 0
        for now in sorted({wave, *(one for one, _ in steps if one > wave)}):
            late = sum(size for one, size in steps if size > 0 and one > now)
            there = sum(-size for one, size in steps if size < 0 and one >= now)
            most = max(most, self.used[log_dir] - late + there)
        return most

    def _cannot(self, replica: _Replica) -> CannotError:
        roomy = max(self.open, key=lambda i: (self.disk[i] or 0) - self._peak_from(i, replica.wave))
        free = max((self.disk[roomy] or 0) - self._peak_from(roomy, replica.wave), 0)
        return CannotError(
            f"broker {self.broker.id}: no log dir was found with space for "
            f"{self.names[replica.row]} ({replica.size} bytes): {self.broker.log_dirs[roomy].path} "
            f"has most, {free} bytes free while old copies are still there: add disk or brokers"
        )
