"""The measurements: functions DataFrame → DataFrame, to be chained with ``DataFrame.transform``.

            ┌ with_uncounted ─ by_window ┬ windows
    records ┼ accepted ─────── key_places┼ partitions
            └ rejected                   └ keys

Records are grouped exactly twice: by (topic, partition, window) and by (topic, key). All tables are
built from these two groupings. The first one also counts the rows that are rejected or outside the
period, so the input is read a third time only if there are rejected rows.

The second grouping has the partitions of a key as bits of integers, so that a key is one row, and
all aggregates are numbers. ``by_key`` has a row for each partition of a key instead: for topics
with too many partitions for that, and for profiles that grow.

The *bytes* of a record are those of its value and key, without headers and Kafka's framing. Counts
and sums are integers, ties are broken by key, and windows are aligned to 1970-01-01 UTC, so the
same records give the same tables in any order, on any number of machines.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import Window
from pyspark.sql import functions as sf

from partage.kafka_names import TOPIC
from partage.period import ALWAYS, Period
from partage.pipeline.records import RECORDS
from partage.pipeline.top import first_rows

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import Column, DataFrame

WINDOW_SECONDS = 3600
"""The default length of a window: an hour is short enough to show a daily peak."""

TOP_KEYS = 100
"""The default number of hottest keys per topic."""

MOST_PLACES = 512
"""Most partitions of a topic for ``key_places``."""

_REASONS = 100
"""Most counts of rejected rows that are given, by file and reason."""

_NAMES_KEPT = 20
_MICROSECONDS = 1_000_000
_WORD = 64
_PLACES = "places_"


def accepted(records: DataFrame) -> DataFrame:
    """Rows of ``read_records`` → the valid ones, with the columns of ``RECORDS``."""
    return RECORDS.accepted(records)


def rejected(records: DataFrame) -> DataFrame:
    """Rows of ``read_records`` → the rejected ones: source, row, reason."""
    return records.where(~sf.col("valid")).select("source", "row", "reason")


def within(period: Period) -> Column:
    """Whether a row's timestamp is in the period."""
    inside = sf.lit(True)
    if period.since is not None:
        inside &= sf.col("timestamp") >= sf.timestamp_millis(sf.lit(period.since))
    if period.until is not None:
        inside &= sf.col("timestamp") < sf.timestamp_millis(sf.lit(period.until))
    return inside


def record_bytes() -> Column:
    """The bytes of each record."""
    return sf.col("value_bytes") + sf.coalesce(sf.octet_length("key"), sf.lit(0))


def with_uncounted(records: DataFrame, period: Period = ALWAYS) -> DataFrame:
    """Rows of ``read_records`` → the same rows for ``by_window``, which then counts those that are
    rejected in a row whose topic and partition are null, and those outside the period in a row
    whose topic is null and whose partition is 0, and adds the count ``in_seconds``."""
    return records.withColumn("counted", sf.col("valid") & within(period))


def by_window(
    records: DataFrame,
    seconds: int = WINDOW_SECONDS,
    aggregates: Mapping[str, Column] | None = None,
) -> DataFrame:
    """Records → topic, partition, window_start, records, bytes, null_keys, first, last, and further
    ``aggregates``."""
    micros = sf.unix_micros("timestamp")
    length = sf.lit(seconds * _MICROSECONDS)
    start = sf.timestamp_micros(micros - sf.pmod(micros, length))
    topic, partition, size = sf.col("topic"), sf.col("partition"), record_bytes()
    more = [own.alias(name) for name, own in (aggregates or {}).items()]
    if "counted" in records.columns:
        counted = sf.col("counted")
        topic, start, size = (sf.when(counted, column) for column in (topic, start, size))
        partition = sf.when(counted, partition).when(sf.col("valid"), 0)
        more.append(sf.count_if(counted & sf.col("in_seconds")).alias("in_seconds"))
    return records.groupBy(
        topic.alias("topic"), partition.alias("partition"), start.alias("window_start")
    ).agg(
        sf.count("*").alias("records"),
        sf.sum(size).alias("bytes"),
        sf.count_if(sf.col("key").isNull()).alias("null_keys"),
        sf.min("timestamp").alias("first"),
        sf.max("timestamp").alias("last"),
        *more,
    )


def by_key(records: DataFrame) -> DataFrame:
    """Records → topic, partition, key, records, bytes; the null key has its own row."""
    return records.groupBy("topic", "partition", "key").agg(
        sf.count("*").alias("records"), sf.sum(record_bytes()).alias("bytes")
    )


def key_places(records: DataFrame, partitions: int) -> DataFrame:
    """Records of partitions below ``partitions`` → topic, key, records, bytes, places_0, places_1,
    …; the null key has its own row.

    Bit b of ``places_w`` is set if partition 64·w + b has a record of the key.
    """
    number = sf.col("partition")
    one = sf.call_function("shiftleft", sf.lit(1).cast("bigint"), number % _WORD)
    bits = {
        f"{_PLACES}{at // _WORD}": sf.when(number.between(at, at + _WORD - 1), one).otherwise(0)
        for at in range(0, partitions, _WORD)
    }
    if len(bits) == 1:
        bits = dict.fromkeys(bits, one)
    words = [sf.bit_or(bit).alias(name) for name, bit in bits.items()]
    return records.groupBy("topic", "key").agg(
        sf.count("*").alias("records"), sf.sum(record_bytes()).alias("bytes"), *words
    )


def distinct_keys(by_key: DataFrame) -> DataFrame:
    """``key_places`` or ``by_key`` → topic, partition, distinct_keys, of partitions with a key.

    Rows with distinct_keys stay as they are.
    """
    if "distinct_keys" in by_key.columns:
        return by_key
    keyed = by_key.where(sf.col("key").isNotNull())
    if "partition" in by_key.columns:
        return keyed.groupBy("topic", "partition").agg(sf.count("*").alias("distinct_keys"))
    words = [name for name in by_key.columns if name.startswith(_PLACES)]
    partition = sf.explode(sf.sequence(sf.lit(0), sf.lit(_WORD * len(words) - 1)))
    word = sf.get(sf.array(*words), (sf.col("partition") / _WORD).cast("int"))
    return (
        # few groups unless most keys are on several partitions
        keyed.groupBy("topic", *words)
        .agg(sf.count("*").alias("keys"))
        .withColumn("partition", partition)
        .where(sf.bit_get(word, sf.col("partition") % _WORD) == 1)
        .groupBy("topic", "partition")
        .agg(sf.sum("keys").alias("distinct_keys"))
    )


def windows(by_window: DataFrame) -> DataFrame:
    """``by_window`` → topic, partition, window_start, records, bytes, null_keys, first, last. No
    window is empty."""
    return by_window.where(sf.col("topic").isNotNull()).select(
        *("topic", "partition", "window_start", "records", "bytes", "null_keys", "first", "last")
    )


def partitions(
    by_window: DataFrame,
    by_key: DataFrame,
    seconds: int = WINDOW_SECONDS,
    period: Period = ALWAYS,
) -> DataFrame:
    """``by_window``, and ``key_places``, ``by_key`` or ``distinct_keys`` → one row per partition
    that has records.

    topic, partition, records, bytes, bytes_per_second, peak_bytes_per_second, distinct_keys,
    null_keys, first, last. ``bytes_per_second`` is averaged over the period. An open end of
    the period is replaced by the first or last record of the topic, and the average is over at
    least one window. The peak is the rate of the fullest window.
    """
    totals = (
        by_window.where(sf.col("topic").isNotNull())
        .groupBy("topic", "partition")
        .agg(
            sf.sum("records").alias("records"),
            sf.sum("bytes").alias("bytes"),
            (sf.max("bytes") / sf.lit(float(seconds))).alias("peak_bytes_per_second"),
            sf.sum("null_keys").alias("null_keys"),
            sf.min("first").alias("first"),
            sf.max("last").alias("last"),
        )
    )
    topic = Window.partitionBy("topic")
    first, last = sf.min("first").over(topic), sf.max("last").over(topic)
    since = sf.unix_micros(first) if period.since is None else sf.lit(period.since * 1000)
    until = sf.unix_micros(last) if period.until is None else sf.lit(period.until * 1000)
    span = until - since
    span_seconds = sf.greatest(span, sf.lit(seconds * _MICROSECONDS)) / sf.lit(float(_MICROSECONDS))
    return (
        totals.join(by_key.transform(distinct_keys), ["topic", "partition"], "left")
        .withColumn("distinct_keys", sf.coalesce("distinct_keys", sf.lit(0)))
        .withColumn("bytes_per_second", sf.col("bytes") / span_seconds)
        .select(
            "topic",
            "partition",
            "records",
            "bytes",
            "bytes_per_second",
            "peak_bytes_per_second",
            "distinct_keys",
            "null_keys",
            "first",
            "last",
        )
    )


def figures(by_window: DataFrame) -> DataFrame:
    """``by_window`` → one row of totals.

    records, bytes, topics, partitions, highest (the highest partition), first, last; rejected,
    outside and in_seconds (rows, see ``with_uncounted``); outside_first, outside_last;
    invalid_topics (the first names that Kafka does not accept: of groups, because a check of every
    record would take a third of the time that grouping takes).
    """
    counted = sf.col("topic").isNotNull()
    outside = ~counted & sf.col("partition").isNotNull()
    invalid = sf.when(~sf.col("topic").rlike(rf"^(?:{TOPIC})\z"), sf.col("topic"))
    by_partition = by_window.groupBy("topic", "partition").agg(
        sf.sum("records").alias("records"),
        sf.sum("bytes").alias("bytes"),
        sf.sum("in_seconds").alias("in_seconds"),
        sf.min("first").alias("first"),
        sf.max("last").alias("last"),
    )

    def total(condition: Column, column: str) -> Column:
        return sf.coalesce(sf.sum(sf.when(condition, sf.col(column))), sf.lit(0))

    return by_partition.agg(
        total(counted, "records").alias("records"),
        total(counted, "bytes").alias("bytes"),
        sf.count_distinct("topic").alias("topics"),
        sf.count_if(counted).alias("partitions"),
        sf.max(sf.when(counted, sf.col("partition"))).alias("highest"),
        sf.unix_millis(sf.min(sf.when(counted, sf.col("first")))).alias("first"),
        sf.unix_millis(sf.max(sf.when(counted, sf.col("last")))).alias("last"),
        total(sf.col("partition").isNull(), "records").alias("rejected"),
        total(outside, "records").alias("outside"),
        total(counted, "in_seconds").alias("in_seconds"),
        sf.unix_millis(sf.min(sf.when(outside, sf.col("first")))).alias("outside_first"),
        sf.unix_millis(sf.max(sf.when(outside, sf.col("last")))).alias("outside_last"),
        sf.slice(sf.array_sort(sf.collect_set(invalid)), 1, _NAMES_KEPT).alias("invalid_topics"),
    )


def counts(rows: DataFrame, period: Period = ALWAYS) -> DataFrame:
    """Rows of any type → one row: records, rejected, outside, in_seconds, outside_first,
    outside_last, as ``figures`` has them."""
    inside, valid = within(period), sf.col("valid")
    outside = sf.when(valid & ~inside, sf.col("timestamp"))
    return rows.agg(
        sf.count_if(valid & inside).alias("records"),
        sf.count_if(~valid).alias("rejected"),
        sf.count(outside).alias("outside"),
        sf.count_if(valid & inside & sf.col("in_seconds")).alias("in_seconds"),
        sf.unix_millis(sf.min(outside)).alias("outside_first"),
        sf.unix_millis(sf.max(outside)).alias("outside_last"),
    )


def reasons(rejected: DataFrame) -> DataFrame:
    """``rejected`` → source, reason (without the value that it shows), rows: the most frequent
    ones."""
    return (
        rejected.groupBy("source", sf.substring_index("reason", ": ", 1).alias("reason"))
        .agg(sf.count("*").alias("rows"))
        .sort(sf.desc("rows"), "source", "reason")
        .limit(_REASONS)
    )


def topic_records(by_window: DataFrame) -> DataFrame:
    """``by_window`` or ``by_key`` → topic, all: its records, including those without a key."""
    counted = by_window.where(sf.col("topic").isNotNull())
    return counted.groupBy("topic").agg(sf.sum("records").alias("all"))


def hottest(by_key: DataFrame, top: int = TOP_KEYS) -> DataFrame:
    """``key_places`` or ``by_key`` → the ``top`` hottest keys of each topic: topic, key, records,
    bytes, rank.

    Keys are ranked by records, then bytes, then key; null does not count as a key.
    """
    per_topic = by_key
    if "partition" in by_key.columns:
        sums = (sf.sum(name).alias(name) for name in ("records", "bytes"))
        per_topic = by_key.groupBy("topic", "key").agg(*sums)
    # Records, then bytes: a double holds both unless a key has millions of records.
    score = sf.col("records") + sf.least(sf.col("bytes") / float(1 << 40), sf.lit(1.0))
    order = (sf.desc("records"), sf.desc("bytes"), sf.asc("key"))
    keyed = per_topic.where(sf.col("key").isNotNull())
    return keyed.transform(first_rows, "topic", "key", score, order, top)


def keys(by_key: DataFrame, top: int = TOP_KEYS, totals: DataFrame | None = None) -> DataFrame:
    """``key_places`` or ``by_key`` → ``hottest`` as topic, rank, key, records, bytes, share.

    ``share`` is a key's part of all records of the topic (``totals``; None: those of ``by_key``).
    """
    if totals is None:
        totals = by_key.transform(topic_records)
    return (
        by_key.transform(hottest, top)
        .join(sf.broadcast(totals), "topic")
        .withColumn("share", sf.col("records") / sf.col("all"))
        .select("topic", "rank", "key", "records", "bytes", "share")
    )
