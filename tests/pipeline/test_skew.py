"""Half of the records on one key, one partition or in one file: no task has much more to do."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any

import pytest

pytest.importorskip("pyspark")

import pyarrow as pa
import pyarrow.parquet as pq

from partage.pipeline import key_report, profile_tables
from tests.pipeline.spark_configuration import configured

pytestmark = [pytest.mark.spark, pytest.mark.long]

RECORDS = 80_000
MOST = 2
"""Most rows of a task, as a multiple of the median of its stage."""
LEAST = 20_000
"""Stages of fewer rows are not judged: a sample of at most 5,000 placements, of twice as many
drawn, is ranked in one task, whatever the number of records."""


def write(folder: Path, hot: str) -> str:
    """Keys that occur twice, on 16 partitions, in four files; one key, partition or file has half
    of the records."""
    folder.mkdir()
    half = RECORDS // 2
    numbers = [n if n < half else n // 2 for n in range(RECORDS)]
    if hot == "key":
        numbers = [0 if n % 2 else number for n, number in enumerate(numbers)]
    on = [3 if hot == "partition" and n % 2 else number % 16 for n, number in enumerate(numbers)]
    table = pa.table(
        {
            "topic": ["t"] * RECORDS,
            "partition": on,
            "offset": range(RECORDS),
            "timestamp": [1_700_000_000_000 + n for n in range(RECORDS)],
            "key": [f"key-{number}".encode() for number in numbers],
            "value_bytes": [10] * RECORDS,
        }
    )
    ends = [0, half, half * 4 // 3, half * 5 // 3, RECORDS] if hot == "file" else None
    ends = ends or [RECORDS * n // 4 for n in range(5)]
    for begin, end in pairwise(ends):
        part = table.slice(begin, end - begin)
        pq.write_table(part, folder / f"{begin}.parquet", row_group_size=5000)
    return str(folder)


def skews(spark: Any, since: int) -> tuple[int, list[float]]:
    """The highest stage, and for each stage after ``since`` with four tasks or more and ``LEAST``
    rows the most rows of a task over the median."""
    context = spark.sparkContext
    store, gateway = context._jsc.sc().statusStore(), context._gateway
    quantiles = gateway.new_array(gateway.jvm.double, 0)
    every = store.stageList(None, False, False, quantiles, gateway.jvm.java.util.ArrayList())
    found, last = [], since
    for stage in (every.apply(at) for at in range(every.size())):
        last = max(last, stage.stageId())
        tasks = store.taskList(stage.stageId(), stage.attemptId(), 1000)
        metrics = (tasks.apply(at).taskMetrics() for at in range(tasks.size()))
        rows = [
            one.get().inputMetrics().recordsRead() + one.get().shuffleReadMetrics().recordsRead()
            for one in metrics
            if one.isDefined()
        ]
        if stage.stageId() > since and len(rows) >= 4 and sum(rows) >= LEAST:
            found.append(max(rows) / max(1, median(rows)))
    return last, found


@pytest.mark.parametrize("hot", ["key", "partition", "file"])
@pytest.mark.parametrize("command", ["profile", "keys"])
def test_no_task_has_much_more_rows_than_others(
    spark: Any, tmp_path: Path, hot: str, command: str
) -> None:
    path = write(tmp_path / "records", hot)
    settings = {
        "spark.sql.adaptive.coalescePartitions.enabled": "false",  # of few rows it makes one task
        "spark.sql.shuffle.partitions": "4",
        # as large files are: several tasks for each
        "spark.sql.files.maxPartitionBytes": "60000",
        "spark.sql.files.openCostInBytes": "0",
    }
    since, _ = skews(spark, -1)
    with configured(spark, settings):
        if command == "profile":
            profile_tables(spark, [path])
        else:
            key_report(spark, [path], [24])
    _, found = skews(spark, since)
    assert len(found) >= 2  # the scan, and the exchange of keys
    assert max(found) <= MOST, found
