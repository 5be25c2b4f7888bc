"""One measurement in a separate process and Spark session: ``measures.py '{"job": ...}'``.

The argument has the ``job`` (a key of ``JOBS``), ``executors`` (threads on this machine) or the
``master``, ``config`` (Spark settings), if any, and the job's parameters; the figures go to stdout
as JSON.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Mapping
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from extremes import generate_extreme
from generator import folder_of, generate_records
from processes import Peak, processor_seconds
from pyspark.sql import functions as sf
from stages import stages

from partage.pipeline import placements
from partage.pipeline.key_report import key_report
from partage.pipeline.measure import WINDOW_SECONDS
from partage.pipeline.profile import profile_tables, write_profile
from partage.pipeline.session import session
from partage.producers.fitting import HASHES
from partage.producers.keys import Keys

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Json = dict[str, Any]

WHAT_IFS = (24, 48, 96)
"""Numbers of partitions."""

HASHING_TIMES = 7
"""Runs of each function; the fastest counts. Java compiles until about the fourth, so that of three
runs, the fastest of each function would be at different stages of it."""

WARM_UP, WARM_UP_KIND = 20_000, "zipf"
"""Records of a first run that does not count, so that Java has compiled its code."""


def generate(spark: SparkSession, data: Path, seed: int, wanted: list[tuple[str, int]]) -> Json:
    """Generate missing records of the kinds and numbers given, and those of the warm-up.

    Returns the bytes of each, by the name of its folder.
    """
    found = {}
    for kind, records in [*wanted, (WARM_UP_KIND, WARM_UP)]:
        folder = folder_of(data, kind, records, seed)
        print(f"  {folder.name}", file=sys.stderr, flush=True)
        generate_records(spark, folder, kind, records, seed)
        found[folder.name] = sum(file.stat().st_size for file in folder.glob("*.parquet"))
    return found


# ---------------------------------------------------------------- hashing


def murmur2(keys: pa.Array) -> pa.Array:
    return pa.array(HASHES["murmur2"].many(Keys.of(keys)).astype(np.int64))


def zero(keys: pa.Array) -> pa.Array:
    return pa.array(np.zeros(len(keys), dtype=np.int64))


def zeros_of_all(keys: pa.Array) -> pa.Array:
    zeros = pa.array(np.zeros(len(keys), dtype=np.int32))
    return pa.StructArray.from_arrays([zeros] * len(placements.COMPUTED), list(placements.COMPUTED))


def hashing(spark: SparkSession, data: Path, seed: int, kind: str, records: int) -> Json:
    """Rows per second, and per second of a processor, of murmur2 alone and of the pipeline's
    function, which computes all hashes, each with a no-op function that returns as many zeros.

    Only keys are read from Parquet, and the result is discarded. The functions take turns; the
    fastest run counts.
    """
    folder = folder_of(data, kind, records, seed)
    keys = spark.read.parquet(str(folder)).select("key").where("key is not null")
    struct = "struct<" + ", ".join(f"`{name}` int" for name in placements.COMPUTED) + ">"
    pairs = {
        "murmur2": (murmur2, zero, "bigint"),
        "all": (placements.hashes_of, zeros_of_all, struct),
    }
    rows = keys.count()
    found: Json = {}
    for name, (hashes, zeros, kind) in pairs.items():
        jobs = {
            what: partial(_discard, keys.select(sf.arrow_udf(function, kind)("key")))
            for what, function in (("nothing", zeros), ("hashing", hashes))
        }
        for measure, spent in _least(jobs, HASHING_TIMES).items():
            rates = {what: rows / least for what, least in spent.items()}
            found.setdefault(f"rows_per_{measure}", {})[name] = rates
    return {"rows": rows, **found}


# ---------------------------------------------------------------- profile


def plain(spark: SparkSession, folder: Path) -> None:
    """A scan with the two groupings of a profile, in SQL: by window, and by key.

    Windows are collected. There are too many keys for that: only their number and the largest
    counts are.
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


def profile(
    spark: SparkSession,
    data: Path,
    seed: int,
    kind: str,
    records: int,
    repeat: int,
    what: str,
) -> Json:
    """Seconds, and seconds of processors, of ``what``: a ``profile``, an ``approximate`` one or the
    ``plain`` scan, each in a process of its own, so that each has its own code to compile.

    The fastest run counts. ``placements``, of a profile: the rows of the grouping by key.
    """
    tables = {}

    def run_profile(folder: Path) -> None:
        tables.update(profile_tables(spark, [folder]))

    def run_approximate(folder: Path) -> None:
        profile_tables(spark, [folder], approximate=True)

    jobs: dict[str, Callable[[Path], None]] = {
        "profile": run_profile,
        "approximate": run_approximate,
        "plain": partial(plain, spark),
    }
    jobs[what](folder_of(data, WARM_UP_KIND, WARM_UP, seed))
    folder = folder_of(data, kind, records, seed)
    spent = _least({what: partial(jobs[what], folder)}, repeat)
    found: Json = {f"{what}_{measure}s": least[what] for measure, least in spent.items()}
    if tables:
        found["placements"] = pc.sum(tables["partitions"]["distinct_keys"]).as_py()
    return found


# ---------------------------------------------------------------- skew


def skewed(spark: SparkSession, data: Path, seed: int, kind: str, records: int) -> Json:
    """A profile and then ``partage keys``: the number of keys hashed, and of distinct keys."""
    folder = folder_of(data, kind, records, seed)
    counter = spark.sparkContext.accumulator(0)
    hashes_of = placements.hashes_of

    def counting(keys: pa.Array) -> pa.Array:
        counter.add(len(keys) - keys.null_count)
        return hashes_of(keys)

    placements.hashes_of = counting
    found = {
        "profile_seconds": _seconds(lambda: profile_tables(spark, [folder])),
        "keys_seconds": _seconds(lambda: key_report(spark, [folder], WHAT_IFS)),
    }
    placements.hashes_of = hashes_of
    rows = spark.read.parquet(str(folder)).where("key is not null")
    return {
        **found,
        "what_ifs": len(WHAT_IFS),
        "hashed_keys": counter.value,
        "distinct_keys": rows.select("topic", "key").distinct().count(),
        "keyed_records": rows.count(),
    }


# ---------------------------------------------------------------- extremes


def extreme(spark: SparkSession, data: Path, seed: int, kind: str, records: int) -> Json:
    """Seconds to write a profile of which one table is as long as the input, and its tables'
    rows."""
    folder, out = data / "records", data / "profile"
    generate_extreme(spark, folder, kind, records)
    seconds = _seconds(lambda: write_profile(spark, [folder], out))
    rows = {
        table.name: sum(pq.read_metadata(file).num_rows for file in table.glob("*.parquet"))
        for table in sorted(out.iterdir())
        if table.is_dir()
    }
    return {"profile_seconds": seconds, "rows": rows}


# ---------------------------------------------------------------- scale


def scale(
    spark: SparkSession, data: Path, seed: int, kind: str, records: int, files: int = 0
) -> Json:
    """A profile that is written: seconds, seconds of processors, what was shuffled, and skew.

    ``files``: the records are distributed to so many small files before.
    """
    folder = folder_of(data, kind, records, seed)
    warm_up = folder_of(data, WARM_UP_KIND, WARM_UP, seed)
    write_profile(spark, [warm_up], data / "warm-up", overwrite=True)
    if files:
        folder = small_files(folder, data / f"{folder.name}-in-{files}", files)
    before, warm = processor_seconds(os.getpid()), stages(spark)["shuffled_bytes"]
    seconds = _seconds(lambda: write_profile(spark, [folder], data / "profile", overwrite=True))
    after, did = processor_seconds(os.getpid()), stages(spark)
    distinct = pq.read_table(data / "profile" / "partitions", columns=["distinct_keys"])
    return {
        "profile_seconds": seconds,
        "processor_seconds": after - before if before is not None and after is not None else None,
        "shuffled_bytes": did["shuffled_bytes"] - warm,
        "skew": did["skew"],
        "placements": pc.sum(distinct["distinct_keys"]).as_py(),
    }


def small_files(folder: Path, into: Path, files: int) -> Path:
    """The same records in so many Parquet files."""
    into.mkdir()
    # Spark's own schema would say that timestamps have the type that Spark gave them
    records = pq.read_table(folder).replace_schema_metadata(None)
    ends = np.linspace(0, len(records), files + 1).astype(int)
    for at, (begin, end) in enumerate(pairwise(ends)):
        pq.write_table(records.slice(begin, end - begin), into / f"{at}.parquet")
    return into


JOBS: dict[str, Callable[..., Json]] = {
    "extreme": extreme,
    "generate": generate,
    "hashing": hashing,
    "profile": profile,
    "scale": scale,
    "skewed": skewed,
}


def _least(jobs: Mapping[str, Callable[[], object]], times: int) -> dict[str, dict[str, float]]:
    """The fewest seconds, and seconds of processors if they are known, of each job; the jobs take
    turns."""
    seconds: dict[str, list[float]] = {what: [] for what in jobs}
    processor: dict[str, list[float]] = {what: [] for what in jobs}
    for _ in range(times):
        for what, job in jobs.items():
            before = processor_seconds(os.getpid())
            seconds[what].append(_seconds(job))
            after = processor_seconds(os.getpid())
            if before is not None and after is not None:
                processor[what].append(after - before)
    measured = {"second": seconds, "processor_second": processor}
    return {
        measure: {what: min(each) for what, each in own.items()}
        for measure, own in measured.items()
        if all(own.values())
    }


def _seconds(run: Callable[[], object]) -> float:
    began = time.perf_counter()
    run()
    return time.perf_counter() - began


def _discard(rows: DataFrame) -> None:
    rows.write.format("noop").mode("overwrite").save()


def measured(spark: SparkSession, job: str, data: str, **more: Any) -> Json:
    """The job's figures, with the ``peak_bytes`` of all processes during its run."""
    with Peak() as peak:
        figures = JOBS[job](spark, Path(data), **more)
    return {**figures, "peak_bytes": peak.bytes}


def main() -> None:
    given = json.loads(sys.argv[1])
    config = given.pop("config", {})
    threads = f"local[{given.pop('executors')}]"
    with session(given.pop("master", threads), config=config) as spark:
        print(json.dumps(measured(spark, **given)))


if __name__ == "__main__":
    main()
