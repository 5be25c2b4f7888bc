"""The comparison of "Kafka reassignment 方案" (sayuan.github.io, 2022), measured.

    python benchmarks/article.py [--size medium] [--keep]

The survey compares the field's tools by six criteria, in words. Here every strategy does the same
jobs on clusters of three sizes, made by ``clusters.py``:

- *grown*: laid out evenly by Kafka's own method, then new, empty brokers are listed;
- *shrunk*: the same without them, and one of the old brokers is to be emptied;
- *scattered*: replicas at random, whatever the racks, more on some brokers than on others.

Besides: *trials*, three hundred small scattered clusters without racks, to count how often each
strategy gets where the exact one gets; and *permutation*, one broker more for ever larger clusters.

All figures but the seconds are the same on every run. The tables go to stdout, progress to stderr;
``--keep`` keeps the figures for the page. ``--size small`` measures the small clusters alone.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

import machine
import results
from clusters import cluster_json
from harness import add_arguments, within
from partage.brokers.compare import Comparison, deterministic, solve_with_each
from partage.brokers.planning import plan, problem_of
from partage.cluster import Cluster
from tables.article import FACTOR, PER_BROKER, Row, Rows, Tally, blocks


@dataclass(frozen=True)
class Size:
    """Old and new brokers, racks, partitions, topics; with which size it is measured; the jobs."""

    brokers: int
    new: int
    racks: int
    partitions: int
    topics: int
    size: str
    jobs: tuple[str, ...] = ("grown", "shrunk", "scattered")


SIZES = {
    "small": Size(brokers=4, new=2, racks=3, partitions=40, topics=4, size="small"),
    "middle": Size(brokers=24, new=6, racks=3, partitions=900, topics=20, size="medium"),
    "large": Size(
        brokers=100,
        new=10,
        racks=5,
        partitions=20_000,
        topics=500,
        size="medium",
        jobs=("grown", "scattered"),
    ),
}
SKEW = 0.6
"""Sigma of the brokers' log-normal weights in scattered clusters."""

TRIALS = 300
GROWTH = (4, 6, 9, 12, 18, 24, 30)
"""Brokers to which one is added."""


# ---------------------------------------------------------------------- clusters


def job(size: Size, name: str) -> tuple[Cluster, dict[str, Any]]:
    """The cluster and the options of a job."""
    new = 0 if name == "shrunk" else size.new
    value = cluster_json(
        brokers=size.brokers,
        new=new,
        racks=size.racks,
        partitions=size.partitions,
        topics=size.topics,
        rf=FACTOR,
    )
    if name == "scattered":
        scatter(value, seed=1)
    options = {"remove_broker": [size.brokers]} if name == "shrunk" else {}
    return Cluster.from_json(value), options


def scatter(value: dict[str, Any], seed: int) -> None:
    """In place: every partition's replicas drawn anew, by weights that differ from broker to
    broker."""
    random = np.random.default_rng(seed)
    ids = [broker["id"] for broker in value["brokers"]]
    weight = random.lognormal(0, SKEW, size=len(ids))
    for partition in value["partitions"]:
        count = len(partition["replicas"])
        drawn = random.choice(len(ids), size=count, replace=False, p=weight / weight.sum())
        partition["replicas"] = [ids[i] for i in drawn.tolist()]


def trial(seed: int) -> Cluster:
    """4 to 8 brokers without racks, 8 to 60 partitions of 2 or 3 replicas, scattered."""
    random = np.random.default_rng(seed)
    value = cluster_json(
        brokers=int(random.integers(4, 9)),
        partitions=int(random.integers(8, 61)),
        topics=3,
        rf=int(random.integers(2, 4)),
        seed=seed,
    )
    scatter(value, seed)
    return Cluster.from_json(value)


# ---------------------------------------------------------------------- measured


def measured(size: str, name: str) -> Rows:
    """Every strategy on one job."""
    cluster, options = job(SIZES[size], name)
    say(f"{size} {name}")
    problem = problem_of(cluster, **options)
    answers = solve_with_each(problem)
    found: Rows = Comparison(answers, deterministic(problem, answers)).to_json()["strategies"]
    return found


def trials() -> Mapping[str, Tally]:
    """Per strategy: replicas and leaders that differ by one at most, which moves can always reach
    without racks; fewest moves besides; leaders the fairest for the strategy's own replica sets; a
    worst survivor no worse than that of the exact plan."""
    say("trials")
    tally: dict[str, Tally] = {}
    for seed in range(TRIALS):
        rows = Comparison(solve_with_each(problem_of(trial(seed)))).to_json()["strategies"]
        best = rows["exact"]["leaders_after_failure"]["max"]
        for name, row in rows.items():
            count = tally.setdefault(name, Tally())
            if "cannot" in row:
                continue
            width = row["replicas_per_broker"][1] - row["replicas_per_broker"][0]
            low, high = row["leaders_per_broker"]
            count.answers += 1
            count.replicas += width <= 1
            count.moves += width <= 1 and row["moves"] == row["moves_lower_bound"]
            count.leaders += high - low <= 1
            count.led += "leaders" not in row["gaps"]
            count.failure += high - low <= 1 and row["leaders_after_failure"]["max"] <= best
            count.settled += row["settled"]
            count.widest = max(count.widest, width)
    return tally


def growth() -> Mapping[int, Rows]:
    """One broker more, without racks, with ever more brokers: permutation against exact."""
    found = {}
    for brokers in GROWTH:
        say(f"permutation, {brokers} brokers")
        value = cluster_json(
            brokers=brokers,
            new=1,
            partitions=PER_BROKER * brokers,
            topics=10,
            rf=FACTOR,
            seed=brokers,
        )
        answers = solve_with_each(problem_of(Cluster.from_json(value)), ("exact", "permutation"))
        found[brokers] = Comparison(answers).to_json()["strategies"]
    return found


def by_storage(size: str) -> Row:
    """Topicmappr's storage strategy on the grown cluster."""
    cluster, options = job(SIZES[size], "grown")
    found = plan(cluster, strategy="bin-packing", balance="bytes", **options)
    figures: Row = found.figures
    return figures


def say(what: str) -> None:
    print(what, file=sys.stderr, flush=True)


def measure(size: str) -> dict[str, dict[str, Any]]:
    """All figures: jobs by size and name, trials by strategy, growth by brokers, and the storage
    strategy's."""
    found: dict[str, dict[str, Any]] = {
        name: {job_name: measured(name, job_name) for job_name in what.jobs}
        for name, what in SIZES.items()
        if what.size in within(size)
    }
    if size != "small":
        found["trials"] = {name: asdict(tally) for name, tally in trials().items()}
        found["permutation"] = {str(brokers): rows for brokers, rows in growth().items()}
        found["by storage"] = {"middle": by_storage("middle")}
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description="The article's comparison, measured.")
    add_arguments(parser, seed=False)
    given = parser.parse_args()
    found = measure(given.size)
    if given.keep:
        results.keep("article", found, machine.versions(*machine.PLANNER), {})
    for name, text in blocks(found).items():
        print(f"{name}\n\n{text}\n")


if __name__ == "__main__":
    main()
