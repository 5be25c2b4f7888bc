"""What if the load grows? Every topic by a factor of its own, at random, under each placement.

A run draws for each topic a factor out of a log-normal distribution: its median is ``factor``, and
``sigma`` the standard deviation of its logarithm (at 0.5, two thirds of the topics grow by between
0.6 and 1.6 times the median). Measured rates, and sizes where known, grow alike, the partitions of
a topic all by the same factor. Per placement, of the busiest broker over the mean of all:

- ``leader_rate``: bytes per second that it leads
- ``rate``: bytes per second that it writes, as leader or follower
- ``bytes``: bytes on its disks

and ``disk``, how full the fullest disk is, of those whose size is known. A run counts as above a
threshold where the first three exceed ``above``, the last ``full``.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from partage.errors import InputError
from partage.pipeline.what_ifs.placements import Floats, Placement, Placements, loads, over_mean

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
    """``name``: the cluster as the user calls it; the rest is at the head of the file."""

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
    measures = tuple(_SCHEMA.names[3:])

    def checked(self) -> Growth:
        """Self, or InputError where a number is no good."""
        if self.runs < 1:
            raise InputError("--runs", f"{self.runs}: expected a number from 1")
        if self.seed < 0:
            raise InputError("--seed", f"{self.seed}: expected a number from 0")
        for option, value, least in (
            ("--factor", self.factor, 1e-3),
            ("--sigma", self.sigma, 0.0),
            ("--above", self.above, 1.0),
        ):
            if not (math.isfinite(value) and least <= value <= 1e3):
                raise InputError(option, f"{value:g}: expected a number from {least:g} to 1000")
        rates = self.placements.bytes_per_second
        if rates is None or not rates.any():
            raise InputError("--profile", "no rate of a partition of the cluster is measured")
        return self

    @property
    def thresholds(self) -> Mapping[str, float]:
        """What the runs are counted above."""
        return {name: self.full if name == "disk" else self.above for name in self.measures}

    @property
    def rows(self) -> int:
        """A row per run."""
        return self.runs

    def of_row(self, row: int) -> list[dict[str, Any]]:
        """What the growth of one run does to each placement."""
        random = np.random.default_rng([self.seed, row])
        drawn = random.lognormal(math.log(self.factor), self.sigma, self.placements.topics)
        return [
            {"run": row, "placement": placement.name, **self.after(placement, drawn)}
            for placement in self.placements.each
        ]

    def after(self, placement: Placement, drawn: Floats) -> dict[str, Any]:
        """The figures when topics grow by these factors."""
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

    def about(self, runs: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        """What was asked."""
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
