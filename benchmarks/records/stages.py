"""What the stages of a session did, from Spark's own status: bytes shuffled, uneven tasks."""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LEAST_TASKS = 4
"""Stages of fewer tasks are not judged for skew."""

LEAST_ROWS = 10_000
"""Nor are those of fewer rows."""


def stages(spark: SparkSession) -> dict[str, Any]:
    """``shuffled_bytes``: written by all stages so far; ``skew``: the most rows of a task, as a
    multiple of the median of its stage, of the stage where it is highest."""
    context = spark.sparkContext
    store, gateway = context._jsc.sc().statusStore(), context._gateway
    quantiles = gateway.new_array(gateway.jvm.double, 0)
    every = store.stageList(None, False, False, quantiles, gateway.jvm.java.util.ArrayList())
    shuffled, skew = 0, 1.0
    for stage in (every.apply(at) for at in range(every.size())):
        shuffled += stage.shuffleWriteBytes()
        rows = [
            task.inputMetrics().recordsRead() + task.shuffleReadMetrics().recordsRead()
            for task in _tasks(store, stage)
        ]
        if len(rows) >= LEAST_TASKS and sum(rows) >= LEAST_ROWS:
            skew = max(skew, max(rows) / max(1, median(rows)))
    return {"shuffled_bytes": shuffled, "skew": skew}


def _tasks(store: Any, stage: Any) -> list[Any]:
    found = store.taskList(stage.stageId(), stage.attemptId(), 1 << 20)
    metrics = (found.apply(at).taskMetrics() for at in range(found.size()))
    return [one.get() for one in metrics if one.isDefined()]
