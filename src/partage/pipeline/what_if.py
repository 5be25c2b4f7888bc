"""``partage keys``: who wrote each topic, and what other numbers of partitions would do to it.

Records are read once, into placements and their hashes, which Spark keeps; all that follows is
small. What comes home has a row per partition, or per hot key.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from pyspark.sql import functions as sf

from partage.errors import InputError
from partage.pipeline import measure, placements
from partage.pipeline.cache import Cache
from partage.pipeline.detect import detect
from partage.pipeline.progress import Progress, reported
from partage.pipeline.session import spark_errors
from partage.pipeline.sources import read_records
from partage.producers.candidates import (
    MEASURES,
    MOST_PARTITIONS,
    THRESHOLD,
    Candidate,
    HotKey,
    TopicKeys,
    evenly,
    limits,
    recommended,
    too_hot,
)
from partage.producers.detection import HASHES, Facts, Verdict, hash_named
from partage.producers.keys import Ints

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

TOP_KEYS = 100
"""Hottest keys looked at for each topic."""

DEFAULT = "murmur2"
"""The hash of the what-ifs where none wrote the topic."""

_POSITION = {name: at for at, name in enumerate(HASHES)}


@dataclass(frozen=True)
class KeyReport:
    """The topics by name, ascending, and totals over all of them; ``rejected``: rows that are no
    records."""

    topics: tuple[TopicKeys, ...]
    records: int
    bytes: int
    rejected: int


def key_report(
    spark: SparkSession,
    paths: Sequence[str | os.PathLike[str]],
    partitions: Sequence[int],
    partitioners: Sequence[str] = (),
    *,
    known: Mapping[str, int] | None = None,
    consumers: int | None = None,
    threshold: float = THRESHOLD,
    progress: Progress | None = None,
) -> KeyReport:
    """Measure the records under ``paths`` and work out each of ``partitions`` for every topic.

    ``partitioners``: by which; none: the one that wrote the topic, or murmur2 where no hash did.
    ``known``: topics' numbers of partitions. ``consumers`` and ``threshold`` (max/mean): what to
    recommend by. Raises InputError for input that cannot be read or holds no record.
    """
    hashes = list(dict.fromkeys(map(hash_named, partitioners)))
    with spark_errors(), Cache() as cached:
        with reported(spark, progress, "reading"):
            records = read_records(spark, paths)
            hashed = cached(records.transform(placements.placements).transform(placements.hashed))
            loads = hashed.transform(placements.loads).toArrow().to_pylist()
        rejected = sum(row["records"] for row in loads if row["topic"] is None)
        loads = [row for row in loads if row["topic"] is not None]
        if not loads:
            raise InputError(os.fspath(paths[0]), _why_none(records))
        with reported(spark, progress, "keys"):
            by_key = cached(hashed.where(sf.col("topic").isNotNull()).transform(placements.by_key))
            counted = by_key.transform(placements.key_counts).toArrow().to_pylist()
        facts = _facts(loads, {row["topic"]: row for row in counted}, known or {})
        verdicts = detect(spark, hashed, facts, progress)
        with reported(spark, progress, "hot keys"):
            hot_keys = _hot_keys(spark, by_key, facts)
        with reported(spark, progress, "what if"):
            asked = {topic: hashes or [own.leading or DEFAULT] for topic, own in verdicts.items()}
            moved = _candidates(spark, by_key, partitions, asked)
    topics = []
    for topic, own in facts.items():
        hot = hot_keys.get(topic, ())
        null_bytes = sum(row["null_bytes"] for row in loads if row["topic"] == topic)
        tried = tuple(
            _candidate(moved.get((topic, count, name), []), count, name, own, null_bytes, hot)
            for count in partitions
            for name in asked[topic]
        )
        first = [one for one in tried if one.partitioner == asked[topic][0]]
        topics.append(
            TopicKeys(
                name=topic,
                verdict=verdicts[topic],
                today=_today(own, verdicts[topic]),
                keys=own.keys,
                hot_keys=hot,
                candidates=tried,
                recommended=recommended(first, verdicts[topic], threshold, consumers),
            )
        )
    return KeyReport(
        topics=tuple(topics),
        records=sum(row["records"] for row in loads),
        bytes=sum(row["bytes"] for row in loads),
        rejected=rejected,
    )


def _why_none(records: DataFrame) -> str:
    bad = records.transform(measure.rejected).agg(
        sf.count("*").alias("rows"), sf.min("reason").alias("reason")
    )
    row = bad.toArrow().to_pylist()[0]
    if not row["rows"]:
        return "no records: the input is empty"
    return f"no records: all {row['rows']} rows are rejected, one because {row['reason']}"


def _facts(
    loads: Sequence[Mapping[str, Any]],
    counted: Mapping[str, Mapping[str, Any]],
    known: Mapping[str, int],
) -> dict[str, Facts]:
    by_topic: dict[str, list[Mapping[str, Any]]] = {}
    for row in loads:
        by_topic.setdefault(row["topic"], []).append(row)
    facts = {}
    for topic in sorted(by_topic):
        rows = by_topic[topic]
        highest = max(row["partition"] for row in rows)
        if highest >= MOST_PARTITIONS:
            raise InputError(f"topic {topic}", f"a record on partition {highest}: no topic has it")
        if highest >= known.get(topic, highest + 1):
            raise InputError(
                "--cluster", f"{topic} has {known[topic]} partitions, a record is on {highest}"
            )
        count = known.get(topic, highest + 1)
        columns = {
            name: _filled(rows, name, count)
            for name in ("records", "bytes", "null_records", "empty_records")
        }
        facts[topic] = Facts(
            partitions=count,
            from_cluster=topic in known,
            records=columns["records"],
            bytes=columns["bytes"],
            null=columns["null_records"],
            empty=columns["empty_records"],
            keys=counted.get(topic, {}).get("keys", 0),
            several=counted.get(topic, {}).get("several", 0),
        )
    return facts


def _filled(rows: Sequence[Mapping[str, Any]], name: str, count: int) -> Ints:
    """[count] a column by partition, 0 where there is no row."""
    column = np.zeros(count, dtype=np.int64)
    for row in rows:
        column[row["partition"]] = row[name]
    return column


def _today(facts: Facts, verdict: Verdict) -> dict[str, Ints]:
    unseen = (0, verdict.partitions - facts.partitions)
    return {name: np.pad(getattr(facts, name), unseen) for name in MEASURES}


def _hot_keys(
    spark: SparkSession, by_key: DataFrame, facts: Mapping[str, Facts]
) -> dict[str, tuple[HotKey, ...]]:
    all_of = {
        topic: {name: int(getattr(own, name).sum()) for name in MEASURES}
        for topic, own in facts.items()
    }
    totals = spark.createDataFrame(
        [(topic, *own.values()) for topic, own in all_of.items()],
        "topic string, all_records bigint, all_bytes bigint",
    )
    table = by_key.transform(placements.hottest, totals, TOP_KEYS).toArrow()
    found: dict[str, tuple[HotKey, ...]] = {}
    for row in table.sort_by([("topic", "ascending"), ("rank", "ascending")]).to_pylist():
        share = {name: row[name] / (all_of[row["topic"]][name] or 1) for name in MEASURES}
        hot = HotKey(bytes(row["key"]), row["records"], row["bytes"], share)
        found[row["topic"]] = (*found.get(row["topic"], ()), hot)
    return found


def _candidates(
    spark: SparkSession,
    by_key: DataFrame,
    partitions: Sequence[int],
    asked: Mapping[str, Sequence[str]],
) -> dict[tuple[str, int, str], list[dict[str, Any]]]:
    """The rows of each topic, number of partitions and hash."""
    what_ifs = spark.createDataFrame(
        [
            (topic, [(n, _POSITION[name], name == "crc32") for n in partitions for name in names])
            for topic, names in asked.items()
        ],
        placements.WHAT_IFS,
    )
    table: pa.Table = by_key.transform(placements.candidates, what_ifs).toArrow()
    names = list(HASHES)
    found: dict[tuple[str, int, str], list[dict[str, Any]]] = {}
    for row in table.to_pylist():
        found.setdefault((row["topic"], row["partitions"], names[row["hash"]]), []).append(row)
    return found


def _candidate(
    rows: Sequence[Mapping[str, Any]],
    partitions: int,
    name: str,
    facts: Facts,
    null_bytes: int,
    hot_keys: tuple[HotKey, ...],
) -> Candidate:
    placed = [row for row in rows if row["partition"] is not None]
    free = {"records": int(facts.null.sum()), "bytes": null_bytes}
    for measured in MEASURES:
        free[measured] += sum(row[measured] for row in rows if row["partition"] is None)
    return Candidate(
        partitions=partitions,
        partitioner=name,
        loads={
            measured: _filled(placed, measured, partitions) + evenly(free[measured], partitions)
            for measured in MEASURES
        },
        limit=limits(hot_keys, partitions),
        keys=sum(row["keys"] for row in placed),
        keys_moved=sum(row["keys_moved"] for row in placed),
        records_moved=sum(row["records_moved"] for row in placed),
        too_hot=too_hot(hot_keys, partitions),
    )
