"""Random clusters with rates, in the plain form."""

from __future__ import annotations

import random
from typing import Any

Json = dict[str, Any]


def a_cluster(
    seed: int, brokers: int = 5, partitions: int = 8, new: int = 1, racks: str = ""
) -> Json:
    """Brokers alike; the last ``new`` are empty. ``racks``: a letter for each broker, none with
    more than half of them; without it, racks of one size or none."""
    rng = random.Random(seed)
    factor = min(rng.randint(1, 3), brokers - new)
    if racks:
        factor = min(factor, 2)
    racked = brokers % 2 == 0 and factor <= 2 and rng.random() < 0.5
    old = brokers - new
    rows: list[Json] = []
    for number in range(partitions):
        replicas = rng.sample(range(old), factor)
        rows.append(
            {
                "topic": rng.choice("tu"),
                "partition": number,
                "replicas": replicas,
                "size_bytes": rng.randint(1, 100) * 10**6,
                "bytes_in_per_second": rng.randint(1, 1000),
                "bytes_out_per_second": rng.randint(0, 3000),
            }
        )
    rows.sort(key=lambda row: (row["topic"], row["partition"]))
    rack = (
        {"rack": racks[b]} if racks else {"rack": "ab"[b % 2]} if racked else {}
        for b in range(brokers)
    )
    return {"brokers": [{"id": b} | r for b, r in enumerate(rack)], "partitions": rows}
