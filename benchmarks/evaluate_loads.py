"""The six loads of brokers in a placement, counted the same way for every tool.

    python benchmarks/evaluate_loads.py cluster.json [answer.json] [--tolerance 0.1]

The files are those of ``evaluate.py``; like it, this shares no code with partage. A replica adds 1,
its bytes, and the bytes per second that are written; a leader adds 1, what it sends (to consumers,
and a copy per follower), and what it receives from producers. Without rates, they are in proportion
to the sizes, and everything is read once.

``loads``: the lowest and highest load of a broker as a share of what is fair, in proportion to
``capacity``. ``outside``: how far the worst broker is outside its band, as a part of the fair
share; a band is the fair share plus or minus the tolerance, and contains the whole numbers of
replicas and of leaders next to it. ``avoidable``: the same without loads of brokers that have a
partition which by itself exceeds every band. ``survivor`` and ``survivor_out``: the most leaders,
and the highest share of bytes out, on a broker after another one failed and its first followers
lead.
"""

from __future__ import annotations

import argparse
import json
import math
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

COUNTS = ("replicas", "leaders")
LOADS = ("replicas", "leaders", "disk", "in", "out", "leader_in")
ROUNDING = 1e-6
"""How far a sum of floats may be outside, as a part of the fair share."""


def evaluate(
    cluster: dict[str, Any],
    replicas: Sequence[Sequence[int]] | None = None,
    tolerance: float = 0.1,
) -> dict[str, Any]:
    """The figures of ``replicas`` (None: the current ones)."""
    capacity = {b["id"]: b.get("capacity", 1) for b in cluster["brokers"]}
    load: dict[str, dict[int, float]] = {name: dict.fromkeys(capacity, 0) for name in LOADS}
    largest = {name: dict.fromkeys(capacity, 0.0) for name in LOADS}
    taken: dict[tuple[int, int], list[float]] = defaultdict(lambda: [0, 0])
    partitions = cluster["partitions"]
    after = [p["replicas"] for p in partitions] if replicas is None else replicas
    for partition, brokers in zip(partitions, after, strict=True):
        size = partition["size_bytes"]
        written = partition.get("bytes_in_per_second", size)
        sent = partition.get("bytes_out_per_second", size) + (len(brokers) - 1) * written
        held = {"replicas": 1, "disk": size, "in": written}
        led = {"leaders": 1, "out": sent, "leader_in": written}
        for i, broker in enumerate(brokers):
            for name, amount in (held if i else held | led).items():
                load[name][broker] += amount
                largest[name][broker] = max(largest[name][broker], amount)
        if len(brokers) > 1:
            pair = taken[brokers[0], brokers[1]]
            pair[0] += 1
            pair[1] += sent
    fair = {
        name: {b: sum(on.values()) * c / sum(capacity.values()) for b, c in capacity.items()}
        for name, on in load.items()
    }
    shares = {name: [load[name][b] / fair[name][b] for b in capacity] for name in LOADS}
    ends = {(b, i): 0.0 for b in capacity for i in range(2)}
    for (_, survivor), pair in taken.items():
        for i in range(2):
            ends[survivor, i] = max(ends[survivor, i], pair[i])
    outside = {
        (name, b): _outside(load[name][b], fair[name][b], tolerance, name in COUNTS)
        for name in LOADS
        for b in capacity
    }
    highest = {
        name: max(_band(part, tolerance, name in COUNTS)[1] for part in fair[name].values())
        for name in LOADS
    }
    return {
        "loads": {name: [min(each), max(each)] for name, each in shares.items()},
        "outside": max(outside.values()),
        "avoidable": max(
            part for (name, b), part in outside.items() if largest[name][b] <= highest[name]
        ),
        "survivor": max(load["leaders"][b] + ends[b, 0] for b in capacity),
        "survivor_out": max((load["out"][b] + ends[b, 1]) / fair["out"][b] for b in capacity),
    }


def _band(fair: float, tolerance: float, whole: bool) -> tuple[float, float]:
    low, high = fair * (1 - tolerance), fair * (1 + tolerance)
    if whole:
        low, high = min(low, math.floor(fair)), max(high, math.ceil(fair))
    return low, high


def _outside(load: float, fair: float, tolerance: float, whole: bool) -> float:
    low, high = _band(fair, tolerance, whole)
    apart = max(load - high, low - load) / fair
    return apart if apart > ROUNDING else 0.0


def main() -> None:
    parser = argparse.ArgumentParser(description="Print the loads of a placement.")
    parser.add_argument("cluster", type=Path)
    parser.add_argument("answer", type=Path, nargs="?")
    parser.add_argument("--tolerance", type=float, default=0.1)
    given = parser.parse_args()
    cluster = json.loads(given.cluster.read_text(encoding="utf-8"))
    lists = None
    if given.answer:
        lists = json.loads(given.answer.read_text(encoding="utf-8"))["replicas"]
    print(json.dumps(evaluate(cluster, lists, given.tolerance)))


if __name__ == "__main__":
    main()
