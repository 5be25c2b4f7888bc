"""One measurement in a process and a Spark of its own: ``measures.py '{"job": ...}'``.

The argument names the job, a key of ``JOBS``, ``executors`` (threads inside this machine) and what
the job takes; the figures go to stdout as JSON.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

import numpy as np
import pyarrow as pa
from made import folder_of, make
from memory import Peak
from pyspark.sql import functions as sf

from partage.pipeline import placements
from partage.pipeline.key_report import key_report
from partage.pipeline.measure import WINDOW_SECONDS
from partage.pipeline.profile import profile_tables
from partage.pipeline.session import session
from partage.producers.fitting import HASHES
from partage.producers.keys import Keys

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Json = dict[str, Any]

WHAT_IFS = (24, 48, 96)
"""Numbers of partitions."""

WARM_UP = 20_000
"""Records of a run before the first that counts: Java compiles while it runs."""


def generate(spark: SparkSession, folder: Path) -> Json:
    """What the folder holds."""
    files = list(folder.glob("*.parquet"))
    return {"files": len(files), "file_bytes": sum(file.stat().st_size for file in files)}


# ---------------------------------------------------------------- hashing


def murmur2(keys: pa.Array) -> pa.Array:
    return pa.array(HASHES["murmur2"].many(Keys.of(keys)).astype(np.int64))


def nothing(keys: pa.Array) -> pa.Array:
    return pa.array(np.zeros(len(keys), dtype=np.int64))


def four_nothings(keys: pa.Array) -> pa.Array:
    zeros = pa.array(np.zeros(len(keys), dtype=np.int64))
    return pa.StructArray.from_arrays([zeros] * len(HASHES), list(HASHES))


def hashing(spark: SparkSession, folder: Path, repeat: int) -> Json:
    """Rows a second of murmur2 alone, and of the pipeline's function, which gives all hashes; each
    beside a function that gives as many zeros. Rows come straight from Parquet, the key alone, and
    go nowhere; the fastest of some times counts, and the two take turns."""
    keys = spark.read.parquet(str(folder)).select("key").where("key is not null")
    struct = "struct<" + ", ".join(f"`{name}` bigint" for name in HASHES) + ">"
    pairs = {
        "murmur2": (murmur2, nothing, "bigint"),
        "all hashes": (placements.hashes_of, four_nothings, struct),
    }
    rows = keys.count()
    found: Json = {}
    for name, (hashes, zeros, kind) in pairs.items():
        seconds: dict[str, list[float]] = {"hashing": [], "nothing": []}
        for _ in range(1 + repeat):  # the first warms up
            for what, function in (("nothing", zeros), ("hashing", hashes)):
                udf = sf.arrow_udf(function, kind)
                seconds[what].append(_seconds(lambda udf=udf: _discard(keys.select(udf("key")))))
        found[name] = {what: rows / min(every[1:]) for what, every in seconds.items()}
    return {"rows": rows, "rows_per_second": found}


# ---------------------------------------------------------------- keys


def keyed(spark: SparkSession, folder: Path) -> Json:
    """How many keys ``partage keys`` hashes, counted where they are hashed; and how many are
    there."""
    counter = spark.sparkContext.accumulator(0)
    hashes_of = placements.hashes_of

    def counting(keys: pa.Array) -> pa.Array:
        counter.add(len(keys) - keys.null_count)
        return hashes_of(keys)

    placements.hashes_of = counting
    began = time.perf_counter()
    report = key_report(spark, [folder], WHAT_IFS)
    seconds = time.perf_counter() - began
    placements.hashes_of = hashes_of
    rows = spark.read.parquet(str(folder)).where("key is not null")
    return {
        "records": report.records,
        "keyed_records": rows.count(),
        "distinct_keys": rows.select("topic", "key").distinct().count(),
        "hashed_keys": counter.value,
        "what_ifs": len(WHAT_IFS),
        "topics": len(report.topics),
        "seconds": seconds,
    }


# ---------------------------------------------------------------- profile


def plain(spark: SparkSession, folder: Path) -> None:
    """A scan with the two groupings of a profile, in SQL: by window, and by key.

    The windows come home; there are too many keys for that, so of them only how many there are and
    what the largest has.
    """
    spark.read.parquet(str(folder)).createOrReplaceTempView("records")
    size = "value_bytes + coalesce(octet_length(key), 0)"
    spark.sql(
        f"""select topic, partition, unix_micros(timestamp) div {WINDOW_SECONDS * 10**6},
                count(*), sum({size}), count_if(key is null), min(timestamp), max(timestamp)
            from records group by all"""
    ).toArrow()
    spark.sql(
        f"""select count(*), max(records), max(bytes) from
            (select count(*) as records, sum({size}) as bytes
             from records group by topic, partition, key)"""
    ).toArrow()


def profile(spark: SparkSession, folder: Path, warm_up: Path, repeat: int) -> Json:
    """Seconds of a profile and of the plain scan, which take turns; the fastest of some times."""
    seconds: dict[str, list[float]] = {"plain": [], "profile": []}
    for at in range(1 + repeat):
        own = folder if at else warm_up
        seconds["plain"].append(_seconds(lambda own=own: plain(spark, own)))
        seconds["profile"].append(_seconds(lambda own=own: profile_tables(spark, [own])))
    return {f"{what}_seconds": min(every[1:]) for what, every in seconds.items()}


def both(spark: SparkSession, folder: Path) -> Json:
    """A profile and then the what-ifs, for their memory."""
    return {
        "profile_seconds": _seconds(lambda: profile_tables(spark, [folder])),
        "keys_seconds": _seconds(lambda: key_report(spark, [folder], WHAT_IFS)),
    }


JOBS: dict[str, Callable[..., Json]] = {
    "generate": generate,
    "hashing": hashing,
    "keyed": keyed,
    "profile": profile,
    "both": both,
}


def _seconds(run: Callable[[], object]) -> float:
    began = time.perf_counter()
    run()
    return time.perf_counter() - began


def _discard(rows: DataFrame) -> None:
    rows.write.format("noop").mode("overwrite").save()


def measured(
    job: str, data: str, kind: str, records: int, seed: int, executors: int = 2, **more: Any
) -> Json:
    """The job's figures, with the ``peak_bytes`` of all processes while it ran."""
    folder = folder_of(Path(data), kind, records, seed)
    with session(f"local[{executors}]") as spark:
        make(spark, folder, kind, records, seed)
        if job == "profile":
            more["warm_up"] = folder_of(Path(data), kind, WARM_UP, seed)
            make(spark, more["warm_up"], kind, WARM_UP, seed)
        with Peak() as peak:
            figures = JOBS[job](spark, folder, **more)
    return {**figures, "peak_bytes": peak.bytes}


if __name__ == "__main__":
    print(json.dumps(measured(**json.loads(sys.argv[1]))))
