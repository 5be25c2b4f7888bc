"""Choose the log dir of every new replica, where a broker has several and they are known.

Replicas that stay keep their log dir. New ones go, the largest first, each to the log dir that is
least full with it (Graham, Bounds on Multiprocessing Timing Anomalies, 1969, for log dirs in
proportion to their disks, which hold something already). A log dir must hold, in every wave, what
it keeps, what has come by the end of that wave, and what goes in that wave or later: new copies
arrive before old ones are deleted. Offline and cordoned log dirs take nothing.

Packing is NP-hard, so the fullest log dir is compared with a lower bound: no choice makes it less
full than what a log dir keeps, than all log dirs of its broker together, or than one new replica in
the log dir that suits it best.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from partage.brokers.figures import only_in
from partage.brokers.waves import Wave
from partage.cluster import Cluster
from partage.errors import CannotError

Ints = npt.NDArray[np.int64]


class Fullness(NamedTuple):
    """The share of its disk that the fullest log dir with a choice holds after the plan, and a
    lower bound on it for every choice."""

    fullest: Fraction
    bound: Fraction


@dataclass(frozen=True)
class _Replica:
    """A replica that comes to a broker, or goes, in a ``wave``, from 0."""

    row: int
    column: int
    size: int
    wave: int


def choose_log_dirs(
    before: Cluster, after: Cluster, waves: Sequence[Wave]
) -> tuple[Ints | None, Fullness | None]:
    """[P, R] the log dirs of ``after``, -1 where a broker chooses, and how full they get; None
    where no broker is known to have several.

    Raises CannotError for a broker none of whose log dirs takes replicas, and where a replica does
    not fit into any.
    """
    if not any(one.log_dirs for one in after.brokers):
        return None, None
    new = sorted(_by_broker(after, before, waves).items())
    for broker, coming in new:
        own = after.brokers[broker].log_dirs
        if own and not any(one.takes_replicas for one in own):
            raise CannotError(
                f"broker {after.broker_ids[broker]}: no log dir can take "
                f"{after.names[coming[0].row]}, all are cordoned or offline: uncordon one, or "
                f"empty the broker with --remove-broker {after.broker_ids[broker]}"
            )
    if before.log_dirs is None:
        return None, None
    chosen = kept_log_dirs(before, after)
    going = _by_broker(before, after, waves)
    found: list[Fullness] = []
    for broker, coming in new:
        if has_known_log_dirs(before, broker):
            one = _Choice(before, after, broker, going[broker])
            for replica in sorted(coming, key=lambda one: (-one.size, one.row)):
                chosen[replica.row, replica.column] = one.place(replica)
            if one.fullness is not None:
                found.append(one.fullness)
    if not found:
        return chosen, None
    return chosen, Fullness(max(one.fullest for one in found), max(one.bound for one in found))


def has_known_log_dirs(cluster: Cluster, broker: int) -> bool:
    """Whether a broker has several log dirs, and it is known what is in them: all its replicas, or
    all but those that an offline one hides."""
    own = cluster.brokers[broker].log_dirs
    if len(own) < 2 or cluster.log_dirs is None:
        return False
    if any(one.offline is not None for one in own):
        return True
    return not ((cluster.replicas == broker) & (cluster.log_dirs < 0)).any()


def kept_log_dirs(before: Cluster, after: Cluster) -> Ints:
    """[P, R] of ``after``: the log dirs of replicas that stay on their broker, -1 for others."""
    found = np.full(after.replicas.shape, -1, dtype=np.int64)
    if before.log_dirs is not None:
        for column in range(before.replicas.shape[1]):
            broker = before.replicas[:, column, None]
            same = (after.replicas == broker) & (broker >= 0)
            found = np.where(same, before.log_dirs[:, column, None], found)
    return found


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


class _Choice:
    """The log dirs of one broker, while its new replicas are placed.

    - ``disk``: bytes by log dir, None where unknown; ``share``: what they count for
    - ``used``: bytes that stay or have been placed; ``going``: bytes that go; ``steps``: (wave,
      bytes) that come (above 0) or go (below 0)
    """

    def __init__(
        self, before: Cluster, after: Cluster, broker: int, going: Sequence[_Replica]
    ) -> None:
        assert before.log_dirs is not None
        self.broker, self.names = before.brokers[broker], after.names
        own = self.broker.log_dirs
        self.open = [i for i, one in enumerate(own) if one.takes_replicas]
        self.disk = [one.disk_bytes for one in own]
        self.known = all(self.disk[i] for i in self.open)
        self.share = [self.disk[i] or 1 if self.known else 1 for i in range(len(own))]
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
        self.kept, self.largest = list(self.used), 0

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
        self.largest = max(self.largest, replica.size)
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

    @property
    def fullness(self) -> Fullness | None:
        """None where the size of a disk is not known."""
        if not self.known:
            return None
        fullest = max(Fraction(self.used[i], self.share[i]) for i in self.open)
        fixed = max(Fraction(self.kept[i], self.share[i]) for i in self.open)
        together = Fraction(
            sum(self.used[i] for i in self.open), sum(self.share[i] for i in self.open)
        )
        alone = min(Fraction(self.kept[i] + self.largest, self.share[i]) for i in self.open)
        return Fullness(fullest, max(fixed, together, alone))
