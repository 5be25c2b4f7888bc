"""What if the load grows? Each topic by a random factor, for each placement.

A run draws a factor for each topic from a log-normal distribution with median ``factor``; ``sigma``
is the standard deviation of its logarithm (at 0.5, two thirds of the topics grow by between 0.6 and
1.6 times the median). Rates, measured or of the cluster's file, and known sizes, of all partitions
of a topic grow by its factor. Per placement, the busiest broker relative to the mean of all:

- ``leader_rate``: bytes per second of the partitions that it leads
- ``rate``: bytes per second that it writes, as leader or follower
- ``bytes``: bytes on its disks

and ``disk``: the used share of the fullest disk, of those with a known size. A run is above its
threshold if one of the first three exceeds the skew threshold, or ``disk`` the disk threshold.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from partage.arrays import Floats
from partage.errors import InputError
from partage.pipeline.what_ifs.placements import Placement, Placements, loads, over_mean
from partage.units import MAX_COUNT

_SCHEMA = pa.schema(
    [
        ("run", pa.int64()),
        ("placement", pa.string()),
        ("growth", pa.float64()),
        ("leader_rate", pa.float64()),
        ("rate", pa.float64()),
        ("bytes", pa.float64()),
        ("disk", pa.float64()),
    ]
)


@dataclass(frozen=True)
class Growth:
    """``name``: the user's name for the cluster; see the head of the module for the rest."""

    placements: Placements
    runs: int
    factor: float = 2.0
    sigma: float = 0.5
    above: float = 1.5
    full: float = 0.85
    seed: int = 0
    name: str = "cluster"

    schema = _SCHEMA
    worth = 100
    by = ("placement",)
    counted = ()
    worst_by = ()
    measures = tuple(_SCHEMA.names[3:])

    def checked(self) -> Growth:
        """Self, or InputError for a number out of range."""
        if not 1 <= self.runs <= MAX_COUNT:
            raise InputError("runs", f"{self.runs}: expected a number from 1 to {MAX_COUNT:,}")
        if self.seed < 0:
            raise InputError("seed", f"{self.seed}: expected a number from 0")
        for option, value, least in (
            ("factor", self.factor, 1e-3),
            ("sigma", self.sigma, 0.0),
            ("skew_threshold", self.above, 1.0),
        ):
            if not (math.isfinite(value) and least <= value <= 1e3):
                raise InputError(option, f"{value:g}: expected a number from {least:g} to 1000")
        rates = self.placements.bytes_per_second
        if rates is None or not rates.any():
            raise InputError("profile", "no rate of a partition of the cluster is known")
        return self

    @property
    def thresholds(self) -> Mapping[str, float]:
        """The values above which runs are counted."""
        return {name: self.full if name == "disk" else self.above for name in self.measures}

    @property
    def rows(self) -> int:
        """A row per run."""
        return self.runs

    def of_row(self, row: int) -> list[dict[str, Any]]:
        """The results of one run for each placement."""
        random = np.random.default_rng([self.seed, row])
        drawn = random.lognormal(math.log(self.factor), self.sigma, self.placements.topics)
        return [
            {"run": row, "placement": placement.name, **self.after(placement, drawn)}
            for placement in self.placements.each
        ]

    def after(self, placement: Placement, drawn: Floats) -> dict[str, Any]:
        """The figures after topics grow by these factors [T]."""
        rates, topic = self.placements.bytes_per_second, self.placements.topic
        assert rates is not None
        rate = rates * drawn[topic]
        row, holder = placement.holders
        live = placement.live
        found: dict[str, Any] = {
            "growth": round(float(rate.sum() / rates.sum()), 4),
            "leader_rate": over_mean(loads(placement.leader, rate, live)),
            "rate": over_mean(loads(holder, rate[row], live)),
        }
        size = self.placements.size_bytes
        if (size >= 0).any():
            filled = loads(holder, (np.maximum(size, 0) * drawn[topic])[row], live)
            found["bytes"] = over_mean(filled)
            disk = self.placements.disk_bytes[live]
            if (disk > 0).any():
                found["disk"] = round(float((filled[disk > 0] / disk[disk > 0]).max()), 4)
        return found

    def about(self, counts: Mapping[str, int]) -> dict[str, Any]:
        """The input."""
        return {
            "what_if": "growth",
            "cluster": self.name,
            "runs": self.runs,
            "seed": self.seed,
            "factor": self.factor,
            "sigma": self.sigma,
            "above": self.above,
            "full": self.full,
            "placements": [placement.name for placement in self.placements.each],
            "cannot": dict(self.placements.cannot),
        }
