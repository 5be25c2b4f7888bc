"""The fewest brokers of small clusters, as integer programs solved by HiGHS.

A yes or no for every partition and every ordered list of brokers that it may have. Every choice of
brokers is tried: each set of today's, and today's with new ones in any racks. Clusters are in the
plain form with all capacities and rates; brokers differ or not, and are all alive.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import combinations, combinations_with_replacement, permutations
from typing import Any

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp

Json = dict[str, Any]
CAPACITY = {
    "disk": "disk_bytes",
    "in": "network_in_bytes_per_second",
    "out": "network_out_bytes_per_second",
}


def fewest(cluster: Json, headroom: float, survive: str, most: int) -> int:
    """The fewest brokers, ``most`` + 1 if so many do not suffice."""
    for count in range(1, most + 1):
        if any(holds(cluster, brokers, headroom, survive) for brokers in _choices(cluster, count)):
            return count
    return most + 1


def _choices(cluster: Json, count: int) -> Iterator[list[Json]]:
    today = cluster["brokers"]
    if count <= len(today):
        yield from map(list, combinations(today, count))
        return
    racks = sorted({one.get("rack") or "" for one in today})
    usual = {
        key: Counter(one[key] for one in today).most_common(1)[0][0] for key in CAPACITY.values()
    }
    for chosen in combinations_with_replacement(racks, count - len(today)):
        new = [{"id": 1000 + i, "rack": rack or None, **usual} for i, rack in enumerate(chosen)]
        yield [*today, *new]


def holds(cluster: Json, brokers: Sequence[Json], headroom: float, survive: str) -> bool:
    """Whether some placement on these brokers fits."""
    parts = cluster["partitions"]
    columns: list[tuple[int, tuple[int, ...]]] = []
    for p, part in enumerate(parts):
        lists = list(_lists(cluster, brokers, len(part["replicas"])))
        if not lists:
            return False
        columns += [(p, one) for one in lists]
    rows: list[dict[int, float]] = [{} for _ in parts]
    high = [1.0] * len(parts)
    for column, (p, _) in enumerate(columns):
        rows[p][column] = 1.0
    for terms, limit in _limits(parts, brokers, columns, survive):
        rows.append(terms)
        high.append(limit * (1 - headroom))
    matrix = np.zeros((len(rows), len(columns)))
    for i, terms in enumerate(rows):
        for column, value in terms.items():
            matrix[i, column] = value / max(high[i], 1.0)
    top = np.array([h / max(h, 1.0) for h in high])
    low = np.where(np.arange(len(rows)) < len(parts), 1.0, -np.inf)
    solved = milp(
        np.zeros(len(columns)),
        integrality=np.ones(len(columns)),
        bounds=Bounds(0, 1),
        constraints=LinearConstraint(matrix, low, top),
    )
    assert solved.status in (0, 2), solved.message
    return bool(solved.status == 0)


def _lists(cluster: Json, brokers: Sequence[Json], factor: int) -> Iterator[tuple[int, ...]]:
    """Ordered lists that keep the rack rule of today's brokers."""
    sizes = Counter(one.get("rack") for one in cluster["brokers"])
    racks = min(factor, len(sizes))
    most = next(m for m in range(1, factor + 1) if sum(min(s, m) for s in sizes.values()) >= factor)
    for chosen in permutations(range(len(brokers)), factor):
        used = Counter(brokers[b].get("rack") for b in chosen)
        if len(used) >= racks and max(used.values()) <= most:
            yield chosen


def _limits(
    parts: Sequence[Json],
    brokers: Sequence[Json],
    columns: Sequence[tuple[int, tuple[int, ...]]],
    survive: str,
) -> Iterator[tuple[dict[int, float], float]]:
    """What brokers use at normal times and after each failure, with their capacity."""
    rack = [one.get("rack") for one in brokers]
    for b, broker in enumerate(brokers):
        held = {c: parts[p] for c, (p, chosen) in enumerate(columns) if b in chosen}
        yield {c: one["size_bytes"] for c, one in held.items()}, broker[CAPACITY["disk"]]
        yield {c: one["bytes_in_per_second"] for c, one in held.items()}, broker[CAPACITY["in"]]
        failures: list[set[int]] = [set()]
        if survive != "none":
            failures += [{f} for f in range(len(brokers)) if f != b]
        if survive == "rack":
            zones = set(rack) - {rack[b]}
            failures += [{f for f, z in enumerate(rack) if z == zone} for zone in zones]
        for down in failures:
            sent = {}
            for c, (p, chosen) in enumerate(columns):
                up = [one for one in chosen if one not in down]
                if up and up[0] == b:
                    part = parts[p]
                    copies = (len(chosen) - 1) * part["bytes_in_per_second"]
                    sent[c] = part["bytes_out_per_second"] + copies
            yield sent, broker[CAPACITY["out"]]
