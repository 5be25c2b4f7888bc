"""The third oracle: every load of a broker balanced, as an integer program, solved by HiGHS.

A yes or no for every partition and broker that holds it, and for every one that leads it. Clusters
are in the plain form, all brokers alike and alive, racks of one size, every partition with rates:
then a fair share is the total divided by the brokers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil, floor
from typing import Any

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp

Json = dict[str, Any]
RESOURCES = ("replicas", "disk", "in", "leaders", "out", "leader_in")


@dataclass(frozen=True)
class Load:
    """``fair`` share and band of a resource, and what each partition adds; ``led``: to its leader
    alone."""

    fair: float
    low: float
    high: float
    each: list[int]
    led: bool

    @property
    def unit(self) -> float:
        """What distances are measured in: the fair share, of replicas and leaders rounded."""
        return max(1, round(self.fair)) if max(self.each) == 1 else max(self.fair, 1.0)


def loads(cluster: Json, tolerance: float) -> dict[str, Load]:
    """The resources of a cluster."""
    parts, brokers = cluster["partitions"], len(cluster["brokers"])
    copies = [len(part["replicas"]) for part in parts]
    rate_in = [part["bytes_in_per_second"] for part in parts]
    rate_out = [part["bytes_out_per_second"] for part in parts]
    sent = [o + (n - 1) * i for o, n, i in zip(rate_out, copies, rate_in, strict=True)]
    columns = {
        "replicas": [1] * len(parts),
        "disk": [part["size_bytes"] for part in parts],
        "in": rate_in,
        "leaders": [1] * len(parts),
        "out": sent,
        "leader_in": rate_in,
    }
    found = {}
    for name, each in columns.items():
        led = name in RESOURCES[3:]
        total = sum(each) if led else sum(x * n for x, n in zip(each, copies, strict=True))
        fair = total / brokers
        low, high = fair * (1 - tolerance), fair * (1 + tolerance)
        if name in ("replicas", "disk", "leaders"):  # whole numbers
            low = min(ceil(low - 1e-6), floor(fair + 1e-6))
            high = max(floor(high + 1e-6), ceil(fair - 1e-6))
        found[name] = Load(fair, low, high, each, led)
    return found


def worst_excess(cluster: Json, lists: list[list[int]], tolerance: float) -> dict[str, float]:
    """How far the worst broker is outside the band of each load, in fair shares."""
    found = {}
    for name, load in loads(cluster, tolerance).items():
        worst = 0.0
        held = dict.fromkeys((broker["id"] for broker in cluster["brokers"]), 0)
        for replicas, each in zip(lists, load.each, strict=True):
            for broker in replicas[:1] if load.led else replicas:
                held[broker] += each
        for value in held.values():
            worst = max(worst, (max(value - load.high, load.low - value)) / load.unit)
        found[name] = worst
    return found


class _Program:
    """Columns: holds [P, B], leads [P, B], the worst excess."""

    def __init__(
        self, cluster: Json, tolerance: float, wider: Mapping[str, float] | None = None
    ) -> None:
        self.parts, self.brokers = cluster["partitions"], cluster["brokers"]
        self.cells = len(self.parts) * len(self.brokers)
        self.rows: list[tuple[Mapping[int, float], float, float]] = []
        for i, part in enumerate(self.parts):
            self._place(i, len(part["replicas"]))
        for name, load in loads(cluster, tolerance).items():
            start, unit = load.led * self.cells, load.unit
            by = (wider or {}).get(name, 0.0)
            for b in range(len(self.brokers)):
                terms = {
                    start + i * len(self.brokers) + b: each / unit
                    for i, each in enumerate(load.each)
                }
                excess = {2 * self.cells: -1.0}
                self.rows.append((terms | excess, -np.inf, load.high / unit + by))
                self.rows.append((terms | {2 * self.cells: 1.0}, load.low / unit - by, np.inf))

    def _place(self, i: int, factor: int) -> None:
        start, count = i * len(self.brokers), len(self.brokers)
        racks: dict[Any, list[int]] = {}
        for b, broker in enumerate(self.brokers):
            racks.setdefault(broker.get("rack"), []).append(start + b)
        self.rows.append(({start + b: 1.0 for b in range(count)}, factor, factor))
        self.rows.append(({self.cells + start + b: 1.0 for b in range(count)}, 1, 1))
        for b in range(count):
            self.rows.append(({start + b: 1.0, self.cells + start + b: -1.0}, 0, np.inf))
        if len(racks) > 1:
            each, more = divmod(factor, len(racks))
            for members in racks.values():
                self.rows.append((dict.fromkeys(members, 1.0), min(each, 1), each + bool(more)))

    def minimise(self, cost: Mapping[int, float], excess: float) -> float:
        matrix = np.zeros((len(self.rows), 2 * self.cells + 1))
        for row, (terms, _, _) in enumerate(self.rows):
            for column, value in terms.items():
                matrix[row, column] += value
        weights = np.zeros(matrix.shape[1])
        for column, value in cost.items():
            weights[column] = value
        found = milp(
            weights,
            integrality=np.append(np.ones(2 * self.cells), 0),
            bounds=Bounds(0, np.append(np.ones(2 * self.cells), excess)),
            constraints=LinearConstraint(
                matrix, [low for _, low, _ in self.rows], [high for _, _, high in self.rows]
            ),
            options={"mip_rel_gap": 0.0, "time_limit": 30.0},
        )
        if found.status != 0:
            raise ArithmeticError(f"HiGHS: {found.message}")
        return float(found.fun)


def least_excess(cluster: Json, tolerance: float) -> float:
    """The least worst excess of any placement, in fair shares."""
    program = _Program(cluster, tolerance)
    return program.minimise({2 * program.cells: 1.0}, np.inf)


def fewest_bytes(cluster: Json, tolerance: float, excess: Mapping[str, float]) -> float:
    """The fewest bytes moved by any placement with each load at most ``excess`` outside its
    band."""
    program = _Program(cluster, tolerance, excess)
    cost = {
        i * len(program.brokers) + b: float(part["size_bytes"])
        for i, part in enumerate(program.parts)
        for b, broker in enumerate(program.brokers)
        if broker["id"] not in part["replicas"]
    }
    return program.minimise(cost, 1e-6)
