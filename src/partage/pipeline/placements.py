"""Keys and their partitions: functions DataFrame → DataFrame.

    records ─ placed ─ hashed ┬ loads
                              ├ agreement, sample, scatter    (detection)
                              └ per_key ┬ spread
                                        └ hottest, candidates (candidates)

A *placement* is a key on a partition: a row of ``placed``, however many records it has. Each is
hashed once; everything else is arithmetic on the hashes. The rows of a key are in one task, so that
``per_key`` and ``scatter`` move no rows, and all aggregates are numbers, which Spark collects by
hash and never sorts. Counts and sums are integers and ties are broken, so results do not depend on
the order of the records.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from pyspark.cloudpickle import register_pickle_by_value
from pyspark.sql import Window
from pyspark.sql import functions as sf

from partage.named import load_object
from partage.pipeline.measure import record_bytes
from partage.pipeline.top import first_rows
from partage.producers.custom import Partitioner
from partage.producers.fitting import HASHES
from partage.producers.hashing import fnv1a_of
from partage.producers.keys import Keys
from partage.producers.partition import partition

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

RULES = "topic string, partitions int, rules array<struct<hash: int, partitions: int>>"
"""A row per topic: its partition count and the rules to try; ``hash`` is a position in
``HASHES``."""

WHAT_IFS = (
    "topic string, what_ifs array<struct<"
    "partitions: int, hash: int, custom: int, empty_is_null: boolean>>"
)
"""A row per topic: the partition counts to try, each with a ``hash`` or with ``custom``, a position
in the array of ``with_custom``."""

FNV1A_BITS = "fnv1a_bits"

COMPUTED = {name: HASHES[name].many for name in ("murmur2", "crc32")} | {FNV1A_BITS: fnv1a_of}
"""What is computed of each key. The other hashes of ``HASHES`` are FNV-1a without its sign, in two
ways."""

_POSITIVE = 0x7FFFFFFF
_THOUSAND = 1000
_PARTITION_BITS = 20  # more than MAX_PARTITIONS; milliseconds up to 2100 leave 21
_COUNTED = ("keys", "records", "bytes", "keys_moved", "records_moved")


def placed(records: DataFrame) -> DataFrame:
    """Records → topic, partition, key, records, bytes, first, last.

    Records without a key have a row per partition. Rejected rows, if present, share one row whose
    topic is null.
    """
    columns = {name: sf.col(name) for name in ("topic", "partition", "key")}
    size = record_bytes()
    if "valid" in records.columns:
        columns = {name: sf.when(sf.col("valid"), own) for name, own in columns.items()}
        size = sf.when(sf.col("valid"), size)
    return records.groupBy(*(own.alias(name) for name, own in columns.items())).agg(
        sf.count("*").alias("records"),
        sf.sum(size).alias("bytes"),
        sf.min("timestamp").alias("first"),
        sf.max("timestamp").alias("last"),
    )


def hashes_of(keys: pa.Array) -> pa.Array:
    """Binaries [N] → structs [N] with the 32 bits of each of ``COMPUTED``; a null key gives
    nulls."""
    there = Keys.of(keys.drop_null())
    columns = [pa.array(many(there).view(np.int32)) for many in COMPUTED.values()]
    if keys.null_count:
        row = np.cumsum(np.asarray(keys.is_valid())) - 1
        rows = pa.array(row, pa.int64(), mask=np.asarray(keys.is_null()))
        columns = [column.take(rows) for column in columns]
    return pa.StructArray.from_arrays(columns, list(COMPUTED))


def hashed(placed: DataFrame, keep: Callable[[DataFrame], DataFrame] | None = None) -> DataFrame:
    """``placed`` → the same rows with the 32 bits of each hash as an int; the rows of a key are in
    one task.

    ``keep``: what caches the rows. They have the bits of ``COMPUTED`` only, which are less.
    """
    kind = ", ".join(f"`{name}` int" for name in COMPUTED)
    hashes = sf.arrow_udf(hashes_of, f"struct<{kind}>")
    rows = (
        placed.withColumn("hashes", hashes("key"))
        .select(*placed.columns, *(sf.col("hashes")[name].alias(name) for name in COMPUTED))
        .repartition("topic", "key")
    )
    bits = sf.col(FNV1A_BITS)
    derived = {
        "fnv1a": sf.when(bits == -_POSITIVE - 1, bits).otherwise(sf.abs(bits)),
        "sarama-reference": bits.bitwiseAND(sf.lit(_POSITIVE)),
    }
    return (keep(rows) if keep else rows).withColumns(derived).drop(FNV1A_BITS)


def per_key(hashed: DataFrame) -> DataFrame:
    """``hashed`` → topic, key, records, bytes, places, latest, and the hashes.

    ``places``: the number of partitions; ``latest``: the partition of the last record, the highest
    one of a millisecond.
    """
    # One number, as Spark would sort to find the highest structure.
    last = sf.shiftleft(sf.unix_millis("last"), _PARTITION_BITS) + sf.col("partition")
    return (
        hashed.groupBy("topic", "key")
        .agg(
            sf.sum("records").alias("records"),
            sf.sum("bytes").alias("bytes"),
            sf.count("*").alias("places"),
            sf.max(last).alias("last"),
            *(sf.max(name).alias(name) for name in HASHES),
        )
        .withColumn("latest", (sf.col("last") % (1 << _PARTITION_BITS)).cast("int"))
        .drop("last")
    )


def with_custom(keys: DataFrame, tried: Sequence[tuple[str, int]]) -> DataFrame:
    """Rows with a ``key`` → the same rows with ``custom``, an array of partitions: one for each
    (``module:Class``, partition count) of ``tried``; null for a null key.

    Each worker asks a new partitioner once per distinct key.
    """
    partitioners = [(_by_value(load_object(n, "partitioner", Partitioner)), c) for n, c in tried]

    def places(keys: pa.Array) -> pa.Array:
        there = keys.drop_null()
        columns = [partition(there, count, own) for own, count in partitioners]
        flat = np.stack(columns, axis=1).ravel().astype(np.int32)
        length = np.where(np.asarray(keys.is_valid()), len(partitioners), 0)
        ends = np.concatenate(([0], np.cumsum(length))).astype(np.int32)
        offsets = pa.array(ends, mask=np.append(np.asarray(keys.is_null()), False))
        return pa.ListArray.from_arrays(offsets, pa.array(flat))

    return keys.withColumn("custom", sf.arrow_udf(places, "array<int>")("key"))


def _by_value(own: Any) -> Any:
    """A user's object that workers get with its code: its module may exist here only."""
    module = getattr(own, "__module__", None) or type(own).__module__
    if not module.startswith("partage."):
        register_pickle_by_value(sys.modules[module])
    return own


def loads(placed: DataFrame) -> DataFrame:
    """→ topic, partition, records, bytes, null_records, null_bytes, empty_records."""
    null, empty = sf.col("key").isNull(), sf.octet_length("key") == 0
    return placed.groupBy("topic", "partition").agg(
        sf.sum("records").alias("records"),
        sf.sum("bytes").alias("bytes"),
        _sum_if(null, "records").alias("null_records"),
        _sum_if(null, "bytes").alias("null_bytes"),
        _sum_if(empty, "records").alias("empty_records"),
    )


def spread(per_key: DataFrame) -> DataFrame:
    """→ topic, keys, several: distinct non-empty keys, and those of them on several partitions."""
    return (
        per_key.where(sf.octet_length("key") > 0)
        .groupBy("topic")
        .agg(sf.count("*").alias("keys"), sf.count_if(sf.col("places") > 1).alias("several"))
    )


def agreement(hashed: DataFrame, rules: DataFrame) -> DataFrame:
    """``hashed`` and ``RULES`` → placements of keys, counted by the rules that explain them.

    topic, partition, fits (a boolean per rule), placements, records, first, last.
    """
    return (
        _placements(hashed, rules)
        .withColumn("fits", sf.transform("rules", _explains))
        .groupBy("topic", "partition", "fits")
        .agg(
            sf.count("*").alias("placements"),
            sf.sum("records").alias("records"),
            sf.unix_micros(sf.min("first")).alias("first"),
            sf.unix_micros(sf.max("last")).alias("last"),
        )
    )


def sample(hashed: DataFrame, rules: DataFrame, shares: DataFrame, most: int) -> DataFrame:
    """``hashed`` and ``RULES`` → at most ``most`` placements per topic that no rule explains:
    topic, partition, and the hashes. The sample is pseudo-random but always the same.

    ``shares`` (topic, share): a part of those placements that is more than ``most``, but not much
    more: only these are sorted.
    """
    draw = sf.xxhash64("key", "partition")
    drawn = Window.partitionBy("topic").orderBy("draw", "key", "partition")
    return (
        _placements(hashed, rules)
        .where(~sf.exists("rules", _explains))
        .withColumn("draw", draw)
        .join(sf.broadcast(shares), "topic")
        .where(sf.col("draw") / sf.lit(2.0**64) + 0.5 <= sf.col("share"))
        .withColumn("drawn", sf.row_number().over(drawn))
        .where(sf.col("drawn") <= most)
        .select("topic", "partition", *HASHES)
    )


def scatter(hashed: DataFrame, rules: DataFrame) -> DataFrame:
    """``hashed`` and ``RULES`` → topic, again, excess, expected (in thousandths) of the placements
    that no rule explains; see ``partage.producers.detection.Scatter``."""
    several = sf.col("records") >= 2
    count = sf.col("partitions").cast("double")
    # the expected number of further partitions hit if the partitions were random
    hit = count * (1 - sf.pow(1 - 1 / count, sf.col("records"))) - 1
    return (
        _placements(hashed, rules)
        .where(~sf.exists("rules", _explains))
        .groupBy("topic", "key")
        .agg(
            sf.count("*").alias("places"),
            sf.sum("records").alias("records"),
            sf.max("partitions").alias("partitions"),
        )
        .groupBy("topic")
        .agg(
            sf.count_if(several).alias("again"),
            sf.sum(sf.col("places") - 1).alias("excess"),
            sf.sum(sf.round(hit * _THOUSAND).cast("bigint")).alias("expected"),
        )
    )


def hottest(per_key: DataFrame, totals: DataFrame, top: int) -> DataFrame:
    """``per_key`` and (topic, all_records, all_bytes) → topic, rank, key, records, bytes.

    The ``top`` keys of each topic by their share of its records or bytes, whichever is larger.
    """
    share = sf.greatest(
        sf.col("records") / sf.col("all_records"),
        sf.col("bytes") / sf.greatest("all_bytes", sf.lit(1)),
    )
    order = (sf.desc("share"), sf.desc("records"), sf.asc("key"))
    return (
        per_key.where(sf.col("key").isNotNull())
        .join(sf.broadcast(totals), "topic")
        .select("topic", "key", "records", "bytes", share.alias("share"))
        .transform(first_rows, "topic", "key", sf.col("share"), order, top)
        .select("topic", "rank", "key", "records", "bytes")
    )


def candidates(per_key: DataFrame, what_ifs: DataFrame) -> DataFrame:
    """``per_key`` and ``WHAT_IFS`` → the load of each partition under each candidate.

    topic, partitions, hash, custom, partition, keys, records, bytes, keys_moved, records_moved. The
    partition is null for an empty key that the hash treats as none; records without a key are left
    out.
    """
    what_if = sf.col("what_if")
    free = what_if["empty_is_null"] & (sf.octet_length("key") == 0)
    to = _hash(what_if["hash"]) % what_if["partitions"]
    if "custom" in per_key.columns:
        to = sf.coalesce(sf.get("custom", what_if["custom"]), to)
    return (
        per_key.where(sf.col("key").isNotNull())
        .join(sf.broadcast(what_ifs), "topic")
        .withColumn("what_if", sf.explode("what_ifs"))
        .withColumn("to", sf.when(~free, to))
        .withColumn("moved", sf.col("to") != sf.col("latest"))
        .groupBy("topic", "what_if", sf.col("to").alias("partition"))
        .agg(
            sf.count("*").alias("keys"),
            sf.sum("records").alias("records"),
            sf.sum("bytes").alias("bytes"),
            sf.count_if("moved").alias("keys_moved"),
            _sum_if(sf.col("moved"), "records").alias("records_moved"),
        )
        .select(
            *("topic", "what_if.partitions", "what_if.hash", "what_if.custom", "partition"),
            *_COUNTED,
        )
    )


def _placements(hashed: DataFrame, rules: DataFrame) -> DataFrame:
    """The placements of the non-empty keys of topics that have rules."""
    return hashed.where(sf.octet_length("key") > 0).join(sf.broadcast(rules), "topic")


def _explains(rule: Column) -> Column:
    return _hash(rule["hash"]) % rule["partitions"] == sf.col("partition")


def _hash(position: Column) -> Column:
    """The hash at a position of ``HASHES``."""
    bits = sf.get(sf.array(*(sf.col(name) for name in HASHES)), position)
    return sf.pmod(bits.cast("bigint"), sf.lit(1 << 32))


def _sum_if(condition: Column, column: str) -> Column:
    return sf.sum(sf.when(condition, sf.col(column)).otherwise(0))
