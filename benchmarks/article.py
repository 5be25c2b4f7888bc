"""The comparison of "Kafka reassignment 方案" (sayuan.github.io, 2022), measured.

    python benchmarks/article.py                                      all figures, to stdout
    python benchmarks/article.py --write docs/the-article-tested.md   into the page's marked blocks
    python benchmarks/article.py --only small                         blocks whose name begins so

The survey compares the field's tools by six criteria, in words. Here every strategy does the same
jobs on clusters of three sizes, made by ``clusters.py``:

- *grown*: laid out evenly by Kafka's own method, then new, empty brokers are listed;
- *shrunk*: the same without them, and one of the old brokers is to be emptied;
- *scattered*: replicas at random, whatever the racks, more on some brokers than on others.

Besides: *trials*, three hundred small scattered clusters without racks, to count how often each
strategy gets where the exact one gets; and *permutation*, one broker more for ever larger clusters.

A block of the page stands between ``<!-- measured: NAME -->`` and ``<!-- end -->``. All figures but
the seconds are the same on every run; the claims are judged from all of them, so that ``--only``
leaves that block alone.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from article_claims import Figures, claims_block
from clusters import cluster_json
from partage.brokers.compare import compare, comparison, deterministic
from partage.brokers.plan import plan, task_of
from partage.brokers.strategies import STRATEGIES
from partage.cluster import Cluster
from partage.report import units
from partage.report.comparison import COLUMNS

Row = Mapping[str, Any]
Rows = Mapping[str, Row]
"""What ``compare --json`` says of each strategy."""


@dataclass(frozen=True)
class Size:
    """Old and new brokers, racks, partitions, topics; which jobs are done."""

    brokers: int
    new: int
    racks: int
    partitions: int
    topics: int
    jobs: tuple[str, ...] = ("grown", "shrunk", "scattered")


SIZES = {
    "small": Size(brokers=4, new=2, racks=3, partitions=40, topics=4),
    "middle": Size(brokers=24, new=6, racks=3, partitions=900, topics=20),
    "large": Size(
        brokers=100, new=10, racks=5, partitions=20_000, topics=500, jobs=("grown", "scattered")
    ),
}
FACTOR = 3
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


@cache
def measured(size: str, name: str) -> Rows:
    """Every strategy on one job."""
    cluster, options = job(SIZES[size], name)
    say(f"{size} {name}")
    task = task_of(cluster, **options)
    answers = compare(task)
    found: Rows = comparison(answers, deterministic(task, answers))["strategies"]
    return found


@dataclass
class Tally:
    """In how many trials a strategy had an answer, and how often it was as good as can be."""

    answers: int = 0
    replicas: int = 0
    moves: int = 0
    leaders: int = 0
    led: int = 0
    failure: int = 0
    settled: int = 0
    widest: int = 0


@cache
def trials() -> Mapping[str, Tally]:
    """Per strategy: replicas and leaders that differ by one at most, which moves can always reach
    without racks; fewest moves besides; leaders the fairest for the strategy's own replica sets; a
    worst survivor no worse than that of the exact plan."""
    say("trials")
    tally = {name: Tally() for name in STRATEGIES}
    for seed in range(TRIALS):
        rows = comparison(compare(task_of(trial(seed))))["strategies"]
        best = rows["exact"]["leaders_after_failure"]["max"]
        for name, row in rows.items():
            if "cannot" in row:
                continue
            count = tally[name]
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


@cache
def growth() -> Mapping[int, Rows]:
    """One broker more, without racks, with ever more brokers: permutation against exact."""
    found = {}
    for brokers in GROWTH:
        say(f"permutation, {brokers} brokers")
        value = cluster_json(
            brokers=brokers, new=1, partitions=30 * brokers, topics=10, rf=FACTOR, seed=brokers
        )
        answers = compare(task_of(Cluster.from_json(value)), ("exact", "permutation"))
        found[brokers] = comparison(answers)["strategies"]
    return found


@cache
def by_storage(size: str) -> Row:
    """Topicmappr's storage strategy on the grown cluster."""
    cluster, options = job(SIZES[size], "grown")
    found = plan(cluster, strategy="bin-packing", balance="bytes", **options)
    figures: Row = found.figures
    return figures


def say(what: str) -> None:
    print(what, file=sys.stderr, flush=True)


# ---------------------------------------------------------------------- told


def table(heads: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """Markdown: the first column to the left, the others to the right."""
    names = list(heads)
    lines = [names, ["---", *["---:"] * (len(names) - 1)], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def criteria(rows: Rows) -> str:
    """The table of one job, and below it who cannot do it."""
    able = {name: row for name, row in rows.items() if "cannot" not in row}
    text = table(
        ["strategy", *(column.name for column in COLUMNS)],
        [[f"`{name}`", *(column.text(row) for column in COLUMNS)] for name, row in able.items()],
    )
    cannot = [
        f"- `{name}` cannot: {row['cannot']}" for name, row in rows.items() if "cannot" in row
    ]
    return "\n\n".join([text, *(["\n".join(cannot)] if cannot else [])])


def job_table(size: str, name: str) -> str:
    return criteria(measured(size, name))


def trials_table() -> str:
    return table(
        (
            *("strategy", "answers", "replicas even", "and fewest moves", "leaders even"),
            *("as even as its sets allow", "even, and failure as `exact`", "settled"),
            "widest difference of replicas",
        ),
        [
            [
                f"`{name}`",
                *map(str, (t.answers, t.replicas, t.moves, t.leaders, t.led, t.failure)),
                *map(str, (t.settled, t.widest)),
            ]
            for name, t in trials().items()
        ],
    )


def growth_table() -> str:
    return table(
        ("brokers", "replicas", "lower bound", "`exact` moves", "`permutation` moves", "ratio"),
        [
            [
                f"{brokers} + 1",
                units.count(30 * brokers * FACTOR),
                units.count(rows["exact"]["moves_lower_bound"]),
                units.count(rows["exact"]["moves"]),
                units.count(rows["permutation"]["moves"]),
                f"{rows['permutation']['moves'] / rows['exact']['moves']:.1f}",
            ]
            for brokers, rows in growth().items()
        ],
    )


def claims() -> str:
    figures = Figures(
        {(size, name): measured(size, name) for size in SIZES for name in SIZES[size].jobs},
        trials(),
        growth(),
        by_storage("middle"),
    )
    return claims_block(figures)


def blocks() -> dict[str, Callable[[], str]]:
    """The page's blocks by name, in order of their cost."""
    found: dict[str, Callable[[], str]] = {}
    for size, what in SIZES.items():
        for name in what.jobs:
            found[f"{size}, {name}"] = partial(job_table, size, name)
    return {**found, "trials": trials_table, "permutation": growth_table, "claims": claims}


def block_of(page: str, name: str) -> str:
    """What stands in a page's block. KeyError where there is no such block."""
    begin, end = _between(page, name)
    return page[begin:end].strip("\n")


def with_block(page: str, name: str, text: str) -> str:
    """The page with another text in the block."""
    begin, end = _between(page, name)
    return f"{page[:begin]}\n\n{text}\n\n{page[end:]}"


def _between(page: str, name: str) -> tuple[int, int]:
    """From behind the mark at the block's beginning to the one at its end."""
    mark = f"<!-- measured: {name} -->"
    if mark not in page:
        raise KeyError(f"the page has no block {mark}")
    begin = page.index(mark) + len(mark)
    return begin, page.index("<!-- end -->", begin)


def main() -> None:
    parser = argparse.ArgumentParser(description="The article's comparison, measured.")
    parser.add_argument("--only", default="", metavar="NAME", help="blocks that begin so")
    parser.add_argument("--write", type=Path, metavar="PAGE", help="fill the page's blocks")
    arguments = parser.parse_args()
    chosen = {name: make for name, make in blocks().items() if name.startswith(arguments.only)}
    if not chosen:
        parser.error(f"--only: expected the beginning of one of {', '.join(blocks())}")
    for name, make in chosen.items():
        text = make()
        if arguments.write:
            page = arguments.write.read_text(encoding="utf-8")
            arguments.write.write_text(with_block(page, name, text), encoding="utf-8")
        else:
            print(f"{name}\n\n{text}\n")


if __name__ == "__main__":
    main()
