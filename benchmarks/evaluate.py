"""Figures of a placement, counted the same way for every tool.

    python benchmarks/evaluate.py cluster.json answer.json [--removed 8,9]

``cluster.json`` is CLUSTER JSON as ``clusters.py`` writes it, ``answer.json`` has ``replicas``: the
lists of broker ids afterwards, in the order of the cluster's partitions. Without an answer the
current placement is counted. This shares no code with partage: plain lists and dictionaries.

The rack rule: a partition has replicas in min(replicas, racks) racks, and at most
ceil(replicas / racks) in each. Only racks of remaining brokers count.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter, defaultdict
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any


def evaluate(
    cluster: dict[str, Any],
    replicas: Sequence[Sequence[int]] | None = None,
    removed: Collection[int] = (),
) -> dict[str, Any]:
    """The figures of ``replicas`` (None: the current ones); ranges cover the remaining brokers.

    ``faults`` counts invalid partitions: another replication factor, a broker twice, a broker that
    is removed or unknown. Raises ValueError if the number of lists is wrong.
    """
    partitions = cluster["partitions"]
    rack_of = {b["id"]: b["rack"] for b in cluster["brokers"] if b["id"] not in removed}
    racks = len(set(rack_of.values()) - {None})
    after = [p["replicas"] for p in partitions] if replicas is None else replicas
    if len(after) != len(partitions):
        raise ValueError(f"{len(after)} lists for {len(partitions)} partitions")

    moves = bytes_moved = leader_changes = violations = faults = 0
    held: Counter[int] = Counter()
    led: Counter[int] = Counter()
    of_topic: dict[str, Counter[int]] = defaultdict(Counter)
    for partition, brokers in zip(partitions, after, strict=True):
        before = partition["replicas"]
        new = len(set(brokers) - set(before))
        moves += new
        bytes_moved += new * partition["size_bytes"]
        leader_changes += brokers[:1] != before[:1]
        held.update(brokers)
        led[brokers[0]] += 1
        of_topic[partition["topic"]].update(brokers)
        faults += (
            len(brokers) != len(before)
            or len(set(brokers)) != len(brokers)
            or any(broker not in rack_of for broker in brokers)
        )
        if racks:
            in_rack = Counter(rack_of.get(broker) for broker in brokers)
            most = -(-len(brokers) // racks)
            spread_out = len(in_rack) >= min(len(brokers), racks)
            violations += not spread_out or max(in_rack.values()) > most

    loads = [held[broker] for broker in rack_of]
    leads = [led[broker] for broker in rack_of]
    spread = 0
    for count in of_topic.values():
        on_each = [count[broker] for broker in rack_of]
        spread = max(spread, max(on_each) - min(on_each))
    return {
        "moves": moves,
        "bytes_moved": bytes_moved,
        "leader_changes": leader_changes,
        "replicas_per_broker": [min(loads), max(loads)],
        "leaders_per_broker": [min(leads), max(leads)],
        "rack_violations": violations,
        "topic_spread": spread,
        "faults": faults,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description="Print the figures of a placement.")
    parser.add_argument("cluster", type=Path)
    parser.add_argument("answer", type=Path, nargs="?")
    parser.add_argument("--removed", default="", help="ids of brokers to empty, such as 8,9")
    given = parser.parse_args()
    cluster = json.loads(given.cluster.read_text(encoding="utf-8"))
    lists = None
    if given.answer:
        lists = json.loads(given.answer.read_text(encoding="utf-8"))["replicas"]
    removed = {int(word) for word in given.removed.split(",") if word}
    print(json.dumps(evaluate(cluster, lists, removed)))


if __name__ == "__main__":
    main()
