"""Who wrote each topic: Spark counts hashed placements, ``producers.detection`` judges.

All placements are counted against the four hashes. Only for topics where these leave something
unexplained comes more: a sample of what is left is searched here for other numbers of partitions,
the models found are counted against all placements in turn, and what is still left is looked at for
keys that come again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from partage.pipeline import placements
from partage.pipeline.progress import Progress, reported
from partage.producers.detection import (
    HASHES,
    SAMPLE,
    Facts,
    Model,
    Scatter,
    Tally,
    Verdict,
    choose,
    counts_to_try,
    judge,
    search,
    unexplained,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_POSITION = {name: at for at, name in enumerate(HASHES)}
_THOUSAND = 1000

Models = Mapping[str, Sequence[Model]]


def detect(
    spark: SparkSession,
    hashed: DataFrame,
    facts: Mapping[str, Facts],
    progress: Progress | None = None,
) -> dict[str, Verdict]:
    """A verdict for each topic of ``facts``."""
    basic: Models = {
        topic: [Model(name, own.partitions) for name in HASHES] for topic, own in facts.items()
    }
    with reported(spark, progress, "agreement"):
        tallies = _tallies(spark, hashed, facts, basic)
    left = [topic for topic, tally in tallies.items() if _left(tally)]
    if left:
        with reported(spark, progress, "other counts"):
            found = _search(spark, hashed, facts, {topic: basic[topic] for topic in left})
            if found:
                more = {t: list(dict.fromkeys([*basic[t], *own])) for t, own in found.items()}
                tallies |= _tallies(spark, hashed, facts, more)
    chosen = {t: [tally.models[at] for at in choose(tally)] for t, tally in tallies.items()}
    scatters: dict[str, Scatter] = {}
    left = [topic for topic, tally in tallies.items() if _left(tally)]
    if left:
        with reported(spark, progress, "scatter"):
            frame = _frame(spark, facts, {topic: chosen[topic] for topic in left})
            for row in hashed.transform(placements.scatter, frame).toArrow().to_pylist():
                scatters[row["topic"]] = Scatter(
                    row["again"], row["excess"], row["expected"] / _THOUSAND
                )
    return {
        topic: judge(own, tallies[topic], scatters.get(topic, Scatter()))
        for topic, own in facts.items()
    }


def _left(tally: Tally) -> bool:
    return bool(unexplained(tally, choose(tally)).any())


def _frame(spark: SparkSession, facts: Mapping[str, Facts], models: Models) -> DataFrame:
    rows = [
        (topic, facts[topic].partitions, [(_POSITION[m.hash], m.partitions) for m in own])
        for topic, own in models.items()
    ]
    return spark.createDataFrame(rows, placements.MODELS)


def _tallies(
    spark: SparkSession, hashed: DataFrame, facts: Mapping[str, Facts], models: Models
) -> dict[str, Tally]:
    frame = hashed.transform(placements.agreement, _frame(spark, facts, models))
    by_topic = _by_topic(frame.toArrow())
    return {topic: _tally(by_topic.get(topic), tuple(own)) for topic, own in models.items()}


def _tally(groups: pa.Table | None, models: tuple[Model, ...]) -> Tally:
    if groups is None:  # no keys
        nothing = np.zeros(0, dtype=np.int64)
        return Tally(models, np.zeros((0, len(models)), dtype=np.bool_), *[nothing] * 5)
    fits = np.array(groups["fits"].to_pylist(), dtype=np.bool_)
    names = ("partition", "placements", "records", "first", "last")
    return Tally(models, fits, *(groups[name].to_numpy().astype(np.int64) for name in names))


def _search(
    spark: SparkSession, hashed: DataFrame, facts: Mapping[str, Facts], models: Models
) -> dict[str, list[Model]]:
    """Models with other numbers of partitions, for the topics that have any."""
    frame = hashed.transform(placements.sample, _frame(spark, facts, models), SAMPLE)
    found = {}
    for topic, table in _by_topic(frame.toArrow()).items():
        own = facts[topic]
        counts = counts_to_try(own.partitions, own.keys, own.from_cluster)
        hashes = {name: table[name].to_numpy() for name in HASHES}
        if more := search(hashes, table["partition"].to_numpy().astype(np.int64), counts):
            found[topic] = more
    return found


def _by_topic(table: pa.Table) -> dict[str, pa.Table]:
    table = table.sort_by("topic").combine_chunks()
    names = table["topic"].to_pylist()
    starts = [row for row, name in enumerate(names) if row == 0 or name != names[row - 1]]
    ends = [*starts[1:], len(names)]
    return {
        names[start]: table.slice(start, end - start)
        for start, end in zip(starts, ends, strict=True)
    }
