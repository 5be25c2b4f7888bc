"""What a watch hands to whatever acts on its measurements, such as ``partage.auto_apply``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from partage.cluster import Cluster
from partage.measured_loads import Profile
from partage.pipeline.watch.fairness import Fairness


@dataclass(frozen=True)
class Judgement:
    """The load when windows closed, measured from ``begin`` to ``end``, in microseconds since 1970.
    ``unfair``: whether it is uneven, and there is enough traffic to judge; ``profile``: the
    measured rates."""

    begin: int
    end: int
    unfair: bool
    fairness: Fairness | None
    profile: Profile


class Applier(Protocol):
    """Acts on judgements. All calls come while this process has the directory of the watch."""

    def begin(self) -> None:
        """Before the first batch: finish what an earlier run left."""

    def judged(self, judgement: Judgement) -> None:
        """After the batch whose windows were judged is committed."""

    def end(self) -> None:
        """The watch has ended: return when nothing is being done any more."""


class ClusterSource(Protocol):
    """Where a watch gets the cluster from."""

    def now(self) -> tuple[Cluster, str | None]:
        """The cluster, and a new problem with reading it, if there is one; then it is the cluster
        as read before."""
