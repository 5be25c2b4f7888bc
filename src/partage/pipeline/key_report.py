"""``partage keys``: which partitioner wrote each topic, and the effect of other partition counts.

Records are read once, into keys with a partition and their hashes, which Spark caches. Everything
else is small: the collected tables have a row per partition or per hot key.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from pyspark.sql import functions as sf

from partage.arrays import Ints
from partage.errors import InputError
from partage.pipeline import measure, placements
from partage.pipeline.cache import Cache
from partage.pipeline.damaged import skipping_advised, without_damaged
from partage.pipeline.detect import POSITION, detect
from partage.pipeline.progress import Progress, reported
from partage.pipeline.records import RECORDS
from partage.pipeline.sources import Reading, read_rows
from partage.pipeline.spark_errors import spark_errors
from partage.producers.candidates import (
    MAX_PARTITIONS,
    MEASURES,
    Candidate,
    HotKey,
    KeyReport,
    TopicKeys,
    evenly,
    hashed_keys,
    too_hot,
)
from partage.producers.detection import TopicCounts
from partage.producers.fitting import EMPTY_IS_NULL, HASHES, hash_named, is_custom
from partage.producers.recommendation import MOVE_COST, recommended
from partage.units import plural

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

TOP_KEYS = 100
"""Hottest keys that are examined for each topic."""

DEFAULT = "murmur2"
"""The hash of the candidates if no known hash wrote the topic."""

Rows = list[dict[str, Any]]


def key_report(
    spark: SparkSession,
    paths: Sequence[str | os.PathLike[str]],
    partitions: Sequence[int],
    partitioners: Sequence[str] = (),
    *,
    known: Mapping[str, int] | None = None,
    consumers: int | None = None,
    move_cost: float = MOVE_COST,
    columns: Mapping[str, str] | None = None,
    skip_damaged: bool = False,
    progress: Progress | None = None,
) -> KeyReport:
    """Measure the records under ``paths`` and evaluate each count of ``partitions`` for every
    topic.

    ``partitioners``: the hashes to evaluate, and your own as ``module:Class``; default: the one
    that wrote the topic, or murmur2 if no known hash did. ``known``: the partition counts of
    topics. ``consumers`` and ``move_cost``: see ``producers.recommendation``. ``columns`` and
    ``skip_damaged``: see ``write_profile``. Raises InputError for input that cannot be read or has
    no valid record, PartageError if a partitioner fails.
    """
    hashes = list(dict.fromkeys(map(hash_named, partitioners)))
    with skipping_advised(), spark_errors(), Cache() as cached:
        reading = Reading(columns or {})
        if skip_damaged:
            reading = without_damaged(spark, {RECORDS: paths}, reading, progress)
        with reported(spark, progress, "reading") as note:
            noting = replace(reading, note=note)
            records = read_rows(spark, paths, RECORDS, origins=False, reading=noting)
            placed = records.transform(placements.placed).transform(placements.hashed, cached)
            keys = placed.transform(placements.per_key)
            rows = placed.transform(placements.loads).toArrow().to_pylist()
            spread = keys.transform(placements.spread).toArrow().to_pylist()
        rejected = sum(row["records"] for row in rows if row["topic"] is None)
        loads = _by_topic(row for row in rows if row["topic"] is not None)
        if not loads:
            raise InputError(os.fspath(paths[0]), _why_none(records))
        of_topic = _by_topic(spread)
        facts = {
            topic: _facts(topic, loads[topic], of_topic.get(topic, []), known or {})
            for topic in sorted(loads)
        }
        reasons: Rows = []
        if rejected:
            with reported(spark, progress, "rejected rows"):
                reasons = _reasons(read_rows(spark, paths, RECORDS, reading=reading))
        detections = detect(spark, placed, facts, progress)
        with reported(spark, progress, "hot keys"):
            hot_keys = _hot_keys(spark, keys, facts)
        with reported(spark, progress, "what if"):
            asked = {topic: hashes or [own.leading or DEFAULT] for topic, own in detections.items()}
            moved = _what_ifs(spark, keys, partitions, asked)
    topics = []
    for topic, own in facts.items():
        detection = detections[topic]
        hot = hashed_keys(hot_keys.get(topic, ()), detection.leading)
        tried = [
            _candidate(moved.get((topic, count, name), []), count, name, own, hot)
            for count in partitions
            for name in asked[topic]
        ]
        unseen = (0, detection.partitions - own.partitions)
        today = {name: np.pad(getattr(own, name), unseen) for name in MEASURES}
        topics.append(
            TopicKeys(
                name=topic,
                detection=detection,
                today=today,
                keys=own.keys,
                hot_keys=hot,
                candidates=tuple(tried),
                recommended=recommended(
                    tried,
                    today,
                    detection.partitioner,
                    hot,
                    consumers=consumers,
                    move_cost=move_cost,
                ),
            )
        )
    return KeyReport(
        topics=tuple(topics),
        records=sum(int(own.records.sum()) for own in facts.values()),
        bytes=sum(int(own.bytes.sum()) for own in facts.values()),
        rejected=rejected,
        damaged=tuple(sorted(reading.left_out)),
        reasons=tuple(reasons),
    )


def _by_topic(rows: Iterable[dict[str, Any]]) -> dict[str, Rows]:
    found: dict[str, Rows] = {}
    for row in rows:
        found.setdefault(row["topic"], []).append(row)
    return found


def _reasons(records: DataFrame) -> Rows:
    """How many rows are rejected by source and reason."""
    return [*records.transform(measure.rejected).transform(measure.reasons).toArrow().to_pylist()]


def _why_none(records: DataFrame) -> str:
    bad = records.transform(measure.rejected).agg(
        sf.count("*").alias("rows"), sf.min("reason").alias("reason")
    )
    row = bad.toArrow().to_pylist()[0]
    if not row["rows"]:
        return "no records: the input is empty"
    rows = plural(row["rows"], "row is", "rows are")
    return f"no records: {rows} rejected, one because {row['reason']}"


def _facts(topic: str, loads: Rows, spread: Rows, known: Mapping[str, int]) -> TopicCounts:
    seen = max(row["partition"] for row in loads) + 1
    count = known.get(topic, seen)
    if seen > MAX_PARTITIONS:
        raise InputError(
            f"topic {topic}",
            f"has a record on partition {seen - 1}: expected less than {MAX_PARTITIONS}",
        )
    if seen > count:
        raise InputError(
            "cluster",
            f"{topic} has {plural(count, 'partition')}, but a record is on partition {seen - 1}",
        )
    columns = ("records", "bytes", "null_records", "null_bytes", "empty_records")
    return TopicCounts(
        partitions=count,
        known=topic in known,
        **{name: _filled(loads, name, count) for name in columns},
        keys=sum(row["keys"] for row in spread),
        several=sum(row["several"] for row in spread),
    )


def _filled(rows: Iterable[Mapping[str, Any]], name: str, count: int) -> Ints:
    """[count] a column by partition, 0 for partitions without a row."""
    column = np.zeros(count, dtype=np.int64)
    for row in rows:
        column[row["partition"]] = row[name]
    return column


def _hot_keys(
    spark: SparkSession, keys: DataFrame, facts: Mapping[str, TopicCounts]
) -> dict[str, tuple[HotKey, ...]]:
    all_of = {
        topic: {name: int(getattr(own, name).sum()) for name in MEASURES}
        for topic, own in facts.items()
    }
    totals = spark.createDataFrame(
        [(topic, own["records"], own["bytes"]) for topic, own in all_of.items()],
        "topic string, all_records bigint, all_bytes bigint",
    )
    table = keys.transform(placements.hottest, totals, TOP_KEYS).toArrow()
    found: dict[str, tuple[HotKey, ...]] = {}
    for row in table.sort_by([("topic", "ascending"), ("rank", "ascending")]).to_pylist():
        share = {name: row[name] / (all_of[row["topic"]][name] or 1) for name in MEASURES}
        hot = HotKey(row["key"], row["records"], row["bytes"], share)
        found[row["topic"]] = (*found.get(row["topic"], ()), hot)
    return found


def _what_ifs(
    spark: SparkSession,
    keys: DataFrame,
    partitions: Sequence[int],
    asked: Mapping[str, Sequence[str]],
) -> dict[tuple[str, int, str], Rows]:
    """The rows of each topic, number of partitions and hash."""
    custom = {name for names in asked.values() for name in names if is_custom(name)}
    tried = [(name, count) for name in sorted(custom) for count in partitions]
    if tried:
        keys = keys.transform(placements.with_custom, tried)

    def what_if(name: str, count: int) -> tuple[int, int | None, int | None, bool]:
        if is_custom(name):
            return count, None, tried.index((name, count)), False
        return count, POSITION[name], None, name in EMPTY_IS_NULL

    what_ifs = spark.createDataFrame(
        [
            (topic, [what_if(name, count) for count in partitions for name in names])
            for topic, names in asked.items()
        ],
        placements.WHAT_IFS,
    )
    hashes = list(HASHES)
    found: dict[tuple[str, int, str], Rows] = {}
    for row in keys.transform(placements.candidates, what_ifs).toArrow().to_pylist():
        own = row["custom"]
        name = hashes[row["hash"]] if own is None else tried[own][0]
        found.setdefault((row["topic"], row["partitions"], name), []).append(row)
    return found


def _candidate(
    rows: Rows, partitions: int, name: str, facts: TopicCounts, hot_keys: Sequence[HotKey]
) -> Candidate:
    placed = [row for row in rows if row["partition"] is not None]
    # records without a key, or with an empty key that the partitioner treats as none
    free = {"records": int(facts.null_records.sum()), "bytes": int(facts.null_bytes.sum())}
    for row in rows:
        if row["partition"] is None:
            free = {measured: free[measured] + row[measured] for measured in MEASURES}
    return Candidate(
        partitions=partitions,
        partitioner=name,
        loads={
            measured: _filled(placed, measured, partitions) + evenly(free[measured], partitions)
            for measured in MEASURES
        },
        keys=sum(row["keys"] for row in placed),
        keys_moved=sum(row["keys_moved"] for row in placed),
        records_moved=sum(row["records_moved"] for row in placed),
        hot_keys=too_hot(hashed_keys(hot_keys, name), partitions),
    )
