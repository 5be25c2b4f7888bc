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
from partage.producers.detection import Detection, Scatter, TopicCounts, detect_partitioner
from partage.producers.fitting import HASHES, PlacementGroups, Rule, choose, counts_to_try, search

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
    counts: Mapping[str, TopicCounts],
    progress: Progress | None = None,
) -> dict[str, Detection]:
    """The partitioner of each topic of ``counts``; ``hashed``: that of ``placements``, cached."""
    basic: Rules = {
        topic: [Rule(name, own.partitions) for name in HASHES] for topic, own in counts.items()
    }
    with reported(spark, progress, "agreement"):
        groups = _counted_groups(spark, hashed, counts, basic)
    if left := _unexplained(groups):
        with reported(spark, progress, "other counts"):
            if found := _search(spark, hashed, counts, left, groups):
                more = {t: list(dict.fromkeys([*basic[t], *own])) for t, own in found.items()}
                groups |= _counted_groups(spark, hashed, counts, more)
    scatters: dict[str, Scatter] = {}
    if left := _unexplained(groups):
        with reported(spark, progress, "scatter"):
            rules = _frame(spark, counts, left)
            for row in hashed.transform(placements.scatter, rules).toArrow().to_pylist():
                scatters[row["topic"]] = Scatter(
                    row["again"], row["excess"], row["expected"] / _THOUSAND
                )
    return {
        topic: detect_partitioner(own, groups[topic], scatters.get(topic, Scatter()))
        for topic, own in counts.items()
    }


def _unexplained(groups: Mapping[str, PlacementGroups]) -> dict[str, list[Rule]]:
    """The chosen rules of the topics in which they do not explain every placement."""
    chosen = {topic: choose(own) for topic, own in groups.items()}
    return {
        topic: [groups[topic].rules[at] for at in own]
        for topic, own in chosen.items()
        if groups[topic].unexplained(own).any()
    }


def _frame(spark: SparkSession, counts: Mapping[str, TopicCounts], rules: Rules) -> DataFrame:
    rows = [
        (topic, counts[topic].partitions, [(POSITION[r.hash], r.partitions) for r in own])
        for topic, own in rules.items()
    ]
    return spark.createDataFrame(rows, placements.RULES)


def _counted_groups(
    spark: SparkSession, hashed: DataFrame, counts: Mapping[str, TopicCounts], rules: Rules
) -> dict[str, PlacementGroups]:
    counted = hashed.transform(placements.agreement, _frame(spark, counts, rules)).toArrow()
    tables = _by_topic(counted)
    none = counted.slice(0, 0)
    return {topic: _of_table(tables.get(topic, none), tuple(own)) for topic, own in rules.items()}


def _of_table(table: pa.Table, rules: tuple[Rule, ...]) -> PlacementGroups:
    fits = np.array(table["fits"].to_pylist(), dtype=np.bool_).reshape(-1, len(rules))
    names = ("partition", "placements", "records", "first", "last")
    columns = (table[name].to_numpy().astype(np.int64) for name in names)
    return PlacementGroups(rules, fits, *columns)


def _search(
    spark: SparkSession,
    hashed: DataFrame,
    counts: Mapping[str, TopicCounts],
    rules: Rules,
    groups: Mapping[str, PlacementGroups],
) -> dict[str, list[Rule]]:
    """Rules that explain what ``rules`` leave of the ``groups``, for topics that have any."""
    shares = []
    for topic, chosen in rules.items():
        group = groups[topic]
        left = group.unexplained([group.rules.index(rule) for rule in chosen])
        shares.append((topic, 2 * SAMPLE / int(group.placements[left].sum())))
    drawn = hashed.transform(
        placements.sample,
        _frame(spark, counts, rules),
        spark.createDataFrame(shares, "topic string, share double"),
        SAMPLE,
    ).toArrow()
    found = {}
    for topic, table in _by_topic(drawn).items():
        own = counts[topic]
        to_try = counts_to_try(own.partitions, own.keys, own.known)
        hashes = {name: table[name].to_numpy().astype(np.uint32) for name in HASHES}
        if more := search(hashes, table["partition"].to_numpy(), to_try):
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
