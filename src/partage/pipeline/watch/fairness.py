"""How evenly the leaders share the incoming bytes, and a new plan for when they do not.

A partition's records go to its leader: the first live broker of the replica list. The *fairness* is
the busiest broker's bytes per second over the mean of all live brokers; 1 is perfect.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from partage.arrays import Floats, Ints, first_where
from partage.brokers.plan import Plan
from partage.brokers.planning import plan
from partage.cluster import Cluster
from partage.errors import CannotError, PartageError
from partage.measured_loads import Profile

HEAVIEST = 3
"""The number of partitions that an alert names."""

_ROUNDING = 1e-9


@dataclass(frozen=True)
class Fairness:
    """``value`` is the busiest ``broker``'s rate over the ``mean``; rates are in bytes per second.
    ``heaviest``: its partitions with the highest rates."""

    value: float
    broker: int
    rate: float
    mean: float
    heaviest: tuple[tuple[str, float], ...]


def fairness(cluster: Cluster, rates: Floats | None) -> Fairness | None:
    """The fairness of the leaders, by each partition's rate [P]; None if no bytes come in."""
    if rates is None:
        return None
    led_by = _leaders(cluster)
    led = np.bincount(
        led_by[led_by >= 0], rates[led_by >= 0], minlength=len(cluster.brokers)
    ).astype(np.float64)
    live = np.flatnonzero(cluster.alive)
    mean = float(led[live].mean()) if len(live) else 0.0
    if mean <= 0:
        return None
    busiest = int(live[led[live].argmax()])
    own = np.flatnonzero((led_by == busiest) & (rates > 0))
    heaviest = own[np.argsort(-rates[own], kind="stable")][:HEAVIEST].tolist()
    return Fairness(
        value=float(led[busiest]) / mean,
        broker=int(cluster.broker_ids[busiest]),
        rate=float(led[busiest]),
        mean=mean,
        heaviest=tuple((cluster.names[row], float(rates[row])) for row in heaviest),
    )


def new_plan(
    cluster: Cluster, profile: Profile, now: Fairness, moves: bool
) -> tuple[Plan, Fairness]:
    """A plan for the measured rates, and the fairness that it leads to; without ``moves`` only
    leaders change. Raises PartageError if no plan is fairer than ``now``."""
    found = plan(cluster, profile=profile, leaders="rate", no_moves=not moves)
    after = fairness(found.after, profile.aligned(cluster).bytes_per_second)
    if after is None or now.value - after.value < _ROUNDING:
        more = "" if moves else " without moving data (--plan moves)"
        raise CannotError(f"no fairer plan was found{more}")
    return found, after


class ClusterFile:
    """A cluster file that is read again whenever it changes."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        """Raises InputError if the file is not a cluster."""
        self._path = path
        self._seen = self._stamp()
        self._cluster = Cluster.read(path)

    def now(self) -> tuple[Cluster, str | None]:
        """The cluster, and once per change the error in the new file; then the old cluster
        stays."""
        stamp = self._stamp()
        if stamp == self._seen:
            return self._cluster, None
        self._seen = stamp
        try:
            self._cluster = Cluster.read(self._path)
        except PartageError as error:
            return self._cluster, f"{error}; the cluster as read before is used"
        return self._cluster, None

    def _stamp(self) -> tuple[int, int, int] | None:
        try:
            stat = Path(self._path).stat()
        except OSError:
            return None
        return stat.st_mtime_ns, stat.st_size, stat.st_ino


def _leaders(cluster: Cluster) -> Ints:
    """[P] position of each partition's first live broker, -1 where all are dead."""
    live = np.append(cluster.alive, False)[cluster.replicas]  # index -1 is padding
    return first_where(cluster.replicas, live)
