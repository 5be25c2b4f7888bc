"""Realistic clusters generated from a seed: the same arguments give the same bytes.

    python benchmarks/clusters.py --brokers 30 --new 6 --racks 3 --partitions 5002 --topics 60 \
        --rf 3 --seed 1 -o cluster.json.gz

A few topics have most of the partitions (a log-normal share each, at least one partition). A topic
has a typical partition size, also log-normal, around which its partitions vary. Each topic is
placed on the old brokers as Kafka places a new topic: striped over the racks, from a random start.
New brokers are listed and empty. Racks are assigned round robin to old and new brokers.

``--misplaced SHARE`` then breaks the rack rule: a random share of the partitions gets its last
replica on another broker of its leader's rack.

``--rates SIGMA`` adds bytes per second, unlike the sizes: log-normal with this sigma by partition;
none to three times as much is read. From 2 on, a few partitions exceed a fair share by themselves.

``--uneven-racks``: in every round fewer racks get a broker, so that of 5 racks the first has a
third of the brokers and the last a fifteenth. ``--unequal-brokers``: every fourth broker has twice
the capacity. Kafka's placement regards neither.
"""

from __future__ import annotations

import argparse
import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np

from partage.brokers.strategies.generate import layout

TOPIC_SKEW = 1.2
"""Sigma of the topics' shares of the partitions: the largest of 60 has about a tenth."""

TOPIC_SIZE, PARTITION_SIZE = 1.5, 0.4
"""Sigma of a topic's typical partition size, and of a partition's size around it."""

MEDIAN_BYTES = 2 * 10**9
MEDIAN_RATE, MOST_READERS = 20_000, 3

LARGE = 4
"""One broker in this many has twice the capacity, if brokers are unequal."""


def cluster_json(
    *,
    brokers: int,
    new: int = 0,
    racks: int = 0,
    partitions: int,
    topics: int,
    rf: int = 3,
    seed: int = 1,
    misplaced: float = 0.0,
    rates: float | None = None,
    uneven_racks: bool = False,
    unequal_brokers: bool = False,
) -> dict[str, Any]:
    """The cluster in the plain CLUSTER form. ``racks`` 0: no racks.

    Raises ValueError if the numbers do not fit together.
    """
    if not 1 <= topics <= partitions:
        raise ValueError(f"{topics} topics need at least as many partitions, not {partitions}")
    if not 1 <= rf <= brokers:
        raise ValueError(f"{rf} replicas need at least as many old brokers, not {brokers}")
    if racks > brokers:
        raise ValueError(f"{racks} racks need at least as many old brokers, not {brokers}")
    if uneven_racks and not racks:
        raise ValueError("uneven racks: expected racks")
    if misplaced and not (0 < misplaced <= 1 and 2 <= rf <= racks and brokers >= racks * rf):
        raise ValueError(
            f"misplaced {misplaced}: expected a share from 0 to 1, at least 2 replicas, at least "
            "as many racks as replicas, and at least as many old brokers per rack"
        )
    random = np.random.default_rng(seed)
    turns = list(range(racks)) or [0]
    if uneven_racks:
        turns = [rack for left in range(racks, 0, -1) for rack in range(left)]
    rack_of = [turns[i % len(turns)] for i in range(brokers + new)]
    placed = [[b for b in range(brokers) if rack_of[b] == rack] for rack in range(max(racks, 1))]

    digits = len(str(topics - 1))
    rack_digits = len(str(racks))
    entries: list[dict[str, Any]] = []
    for topic, count in enumerate(_partition_counts(random, partitions, topics)):
        typical = MEDIAN_BYTES * random.lognormal(0, TOPIC_SIZE)
        sizes = (typical * random.lognormal(0, PARTITION_SIZE, size=count)).astype(np.int64)
        lists = layout(placed, count, rf, lambda below: int(random.integers(below)))
        entries += [
            {
                "topic": f"topic-{topic:0{digits}}",
                "partition": number,
                "replicas": [b + 1 for b in row],
                "size_bytes": size,
            }
            for number, (row, size) in enumerate(zip(lists, sizes.tolist(), strict=True))
        ]
    if misplaced:
        _misplace(entries, round(misplaced * len(entries)), rack_of, placed, seed)
    if rates is not None:
        _add_rates(entries, rates, seed)
    listed: list[dict[str, Any]] = [
        {"id": b + 1, "rack": f"rack-{rack_of[b] + 1:0{rack_digits}}" if racks else None}
        for b in range(brokers + new)
    ]
    if unequal_brokers:
        for broker in listed:
            broker["capacity"] = 1 if broker["id"] % LARGE else 2
    return {"brokers": listed, "partitions": entries}


def _misplace(
    entries: list[dict[str, Any]],
    count: int,
    rack_of: list[int],
    placed: list[list[int]],
    seed: int,
) -> None:
    """Break the rack rule of ``count`` partitions. A separate random sequence keeps the rest of the
    cluster the same as without."""
    random = np.random.default_rng([seed, 1])
    for entry in random.choice(len(entries), count, replace=False).tolist():
        replicas = entries[entry]["replicas"]
        rack = placed[rack_of[replicas[0] - 1]]
        others = [b + 1 for b in rack if b + 1 not in replicas]
        replicas[-1] = others[int(random.integers(len(others)))]


def _add_rates(entries: list[dict[str, Any]], sigma: float, seed: int) -> None:
    random = np.random.default_rng([seed, 2])
    written = (MEDIAN_RATE * random.lognormal(0, sigma, len(entries))).round(3)
    read = (written * random.integers(0, MOST_READERS + 1, len(entries))).round(3)
    for entry, rate_in, rate_out in zip(entries, written.tolist(), read.tolist(), strict=True):
        entry["bytes_in_per_second"], entry["bytes_out_per_second"] = rate_in, rate_out


def _partition_counts(random: np.random.Generator, partitions: int, topics: int) -> list[int]:
    """One partition per topic, the others in log-normal shares, rounded by largest remainder."""
    share = random.lognormal(0, TOPIC_SKEW, size=topics)
    exact = share / share.sum() * (partitions - topics)
    count = np.floor(exact).astype(np.int64)
    order = np.argsort(count - exact, kind="stable")
    count[order[: partitions - topics - count.sum()]] += 1
    return [int(n) + 1 for n in count]


def main() -> None:
    parser = argparse.ArgumentParser(description="Write a generated cluster as CLUSTER JSON.")
    parser.add_argument(
        "--brokers", type=int, required=True, help="old brokers, which hold all replicas"
    )
    parser.add_argument("--new", type=int, default=0, help="empty brokers")
    parser.add_argument("--racks", type=int, default=0, help="0: no racks")
    parser.add_argument("--partitions", type=int, required=True)
    parser.add_argument("--topics", type=int, required=True)
    parser.add_argument("--rf", type=int, default=3)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--misplaced", type=float, default=0.0, help="share of partitions that break the rack rule"
    )
    parser.add_argument("--rates", type=float, metavar="SIGMA", help="add rates unlike the sizes")
    parser.add_argument("--uneven-racks", action="store_true", help="fewer brokers in each next")
    parser.add_argument("--unequal-brokers", action="store_true", help="some of twice the capacity")
    parser.add_argument(
        "-o", "--output", type=Path, required=True, help="a name with .gz is compressed"
    )
    arguments = vars(parser.parse_args())
    output: Path = arguments.pop("output")
    try:
        value = cluster_json(**arguments)
    except ValueError as error:
        parser.error(str(error))
    text = json.dumps(value, separators=(",", ":")).encode() + b"\n"
    output.write_bytes(gzip.compress(text, mtime=0) if output.suffix == ".gz" else text)


if __name__ == "__main__":
    main()
