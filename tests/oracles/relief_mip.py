"""The oracle of relieved loads: the fewest bytes that keep limits, as an integer program (HiGHS).

A yes or no for every partition and broker that holds it, and for every one that leads it. Clusters
are in the plain form, all brokers alive, every partition with a size and rates.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp

Json = dict[str, Any]
OF_REPLICAS = ("replicas", "disk", "in")
OF_LEADERS = ("leaders", "out", "leader_in")


def adds(part: Json, resource: str) -> int:
    """What a replica of a partition, or its leader, adds to a load."""
    came, copies = part["bytes_in_per_second"], len(part["replicas"])
    of = {
        "disk": part["size_bytes"],
        "in": came,
        "leader_in": came,
        "out": part["bytes_out_per_second"] + (copies - 1) * came,
    }
    return int(of.get(resource, 1))


def loads(cluster: Json, lists: Sequence[Sequence[int]]) -> dict[str, list[int]]:
    """By resource, the loads of the brokers where the replicas are on ``lists``."""
    ids = [broker["id"] for broker in cluster["brokers"]]
    found = {name: [0] * len(ids) for name in (*OF_REPLICAS, *OF_LEADERS)}
    for part, replicas in zip(cluster["partitions"], lists, strict=True):
        for name, held in found.items():
            for broker in replicas if name in OF_REPLICAS else replicas[:1]:
                held[ids.index(broker)] += adds(part, name)
    return found


def fewest_bytes(cluster: Json, most: Mapping[str, Sequence[float]]) -> int | None:
    """The fewest bytes moved by any placement whose loads are at most ``most`` on each broker;
    None where there is no such placement. Partitions that break the rack rule stay."""
    parts, brokers = cluster["partitions"], cluster["brokers"]
    count, cells = len(brokers), len(parts) * len(brokers)
    rows: list[tuple[dict[int, float], float, float]] = []
    cost = np.zeros(2 * cells)
    for i, part in enumerate(parts):
        holds = range(i * count, (i + 1) * count)
        rows.append((dict.fromkeys(holds, 1.0), len(part["replicas"]), len(part["replicas"])))
        rows.append(({cells + one: 1.0 for one in holds}, 1, 1))
        rows += [({one: 1.0, cells + one: -1.0}, 0, 1) for one in holds]
        for one, broker in zip(holds, brokers, strict=True):
            if broker["id"] not in part["replicas"]:
                cost[one] = part["size_bytes"]
        rows += _rack_rows(cluster, part, list(holds))
    for name, limits in most.items():
        start = cells if name in OF_LEADERS else 0
        for b, limit in enumerate(limits):
            row = {start + i * count + b: float(adds(p, name)) for i, p in enumerate(parts)}
            rows.append((row, -np.inf, limit))
    matrix = np.zeros((len(rows), 2 * cells))
    for number, (terms, _, _) in enumerate(rows):
        for column, value in terms.items():
            matrix[number, column] += value
    low, high = ([row[end] for row in rows] for end in (1, 2))
    found = milp(
        cost,
        integrality=np.ones(2 * cells),
        bounds=Bounds(0, 1),
        constraints=LinearConstraint(matrix, low, high),
        options={"mip_rel_gap": 0.0, "time_limit": 60.0},
    )
    if found.status == 2:
        return None
    if found.status != 0:
        raise ArithmeticError(f"HiGHS: {found.message}")
    return round(found.fun)


def _rack_rows(
    cluster: Json, part: Json, holds: list[int]
) -> list[tuple[dict[int, float], float, float]]:
    """On as many racks as possible, as evenly as their sizes allow; a partition that is not stays
    where it is."""
    brokers = cluster["brokers"]
    racks: dict[Any, list[int]] = {}
    for one, broker in zip(holds, brokers, strict=True):
        racks.setdefault(broker.get("rack"), []).append(one)
    if len(racks) == 1:
        return []
    factor = len(part["replicas"])
    most = next(
        m for m in range(1, factor + 1) if sum(min(m, len(r)) for r in racks.values()) >= factor
    )
    least = int(factor > len(racks))
    both = zip(holds, brokers, strict=True)
    on = {one for one, broker in both if broker["id"] in part["replicas"]}
    if all(least <= len(on.intersection(rack)) <= most for rack in racks.values()):
        return [(dict.fromkeys(rack, 1.0), least, most) for rack in racks.values()]
    return [({one: 1.0}, int(one in on), int(one in on)) for one in holds]
