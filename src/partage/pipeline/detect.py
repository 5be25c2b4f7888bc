"""Detect the partitioner of each topic: Spark counts, ``producers.detection`` decides.

A *placement* is a key on a partition. First all placements are compared with the four hashes. For
topics with unexplained placements, the driver searches a sample of them for other partition counts;
the rules that it finds are counted against all placements. What is still unexplained is examined
for keys that occur on several partitions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from partage.pipeline import placements
from partage.pipeline.progress import Progress, reported
from partage.producers.detection import Facts, Scatter, Verdict, judge
from partage.producers.fitting import HASHES, Rule, Tally, choose, counts_to_try, search

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SAMPLE = 5000
"""Unexplained placements of a topic that the search takes."""

POSITION = {name: at for at, name in enumerate(HASHES)}
"""The position by which Spark's columns refer to a hash."""

_THOUSAND = 1000

Rules = Mapping[str, Sequence[Rule]]


def detect(
    spark: SparkSession,
    hashed: DataFrame,
    facts: Mapping[str, Facts],
    progress: Progress | None = None,
) -> dict[str, Verdict]:
    """A verdict for each topic of ``facts``; ``hashed``: that of ``placements``, cached."""
    basic: Rules = {
        topic: [Rule(name, own.partitions) for name in HASHES] for topic, own in facts.items()
    }
    with reported(spark, progress, "agreement"):
        tallies = _tallies(spark, hashed, facts, basic)
    if left := _unexplained(tallies):
        with reported(spark, progress, "other counts"):
            if found := _search(spark, hashed, facts, left):
                more = {t: list(dict.fromkeys([*basic[t], *own])) for t, own in found.items()}
                tallies |= _tallies(spark, hashed, facts, more)
    scatters: dict[str, Scatter] = {}
    if left := _unexplained(tallies):
        with reported(spark, progress, "scatter"):
            rules = _frame(spark, facts, left)
            for row in hashed.transform(placements.scatter, rules).toArrow().to_pylist():
                scatters[row["topic"]] = Scatter(
                    row["again"], row["excess"], row["expected"] / _THOUSAND
                )
    return {
        topic: judge(own, tallies[topic], scatters.get(topic, Scatter()))
        for topic, own in facts.items()
    }


def _unexplained(tallies: Mapping[str, Tally]) -> dict[str, list[Rule]]:
    """The chosen rules of the topics in which they do not explain every placement."""
    chosen = {topic: choose(tally) for topic, tally in tallies.items()}
    return {
        topic: [tallies[topic].rules[at] for at in own]
        for topic, own in chosen.items()
        if tallies[topic].unexplained(own).any()
    }


def _frame(spark: SparkSession, facts: Mapping[str, Facts], rules: Rules) -> DataFrame:
    rows = [
        (topic, facts[topic].partitions, [(POSITION[r.hash], r.partitions) for r in own])
        for topic, own in rules.items()
    ]
    return spark.createDataFrame(rows, placements.RULES)


def _tallies(
    spark: SparkSession, hashed: DataFrame, facts: Mapping[str, Facts], rules: Rules
) -> dict[str, Tally]:
    counted = hashed.transform(placements.agreement, _frame(spark, facts, rules)).toArrow()
    groups = _by_topic(counted)
    none = counted.slice(0, 0)
    return {topic: _tally(groups.get(topic, none), tuple(own)) for topic, own in rules.items()}


def _tally(groups: pa.Table, rules: tuple[Rule, ...]) -> Tally:
    fits = np.array(groups["fits"].to_pylist(), dtype=np.bool_).reshape(-1, len(rules))
    names = ("partition", "placements", "records", "first", "last")
    return Tally(rules, fits, *(groups[name].to_numpy().astype(np.int64) for name in names))


def _search(
    spark: SparkSession, hashed: DataFrame, facts: Mapping[str, Facts], rules: Rules
) -> dict[str, list[Rule]]:
    """Rules that explain what ``rules`` leave, for topics that have any."""
    drawn = hashed.transform(placements.sample, _frame(spark, facts, rules), SAMPLE).toArrow()
    found = {}
    for topic, table in _by_topic(drawn).items():
        own = facts[topic]
        counts = counts_to_try(own.partitions, own.keys, own.known)
        hashes = {name: table[name].to_numpy() for name in HASHES}
        if more := search(hashes, table["partition"].to_numpy(), counts):
            found[topic] = more
    return found


def _by_topic(table: pa.Table) -> dict[str, pa.Table]:
    table = table.sort_by("topic").combine_chunks()
    names = table["topic"].to_pylist()
    if not names:  # no record has a key
        return {}
    starts = [row for row, name in enumerate(names) if row == 0 or name != names[row - 1]]
    ends = [*starts[1:], len(names)]
    return {
        names[start]: table.slice(start, end - start)
        for start, end in zip(starts, ends, strict=True)
    }
