"""Progress of Spark jobs: a callback ``(done, total, label)``, counted in tasks.

For a session in this process a thread polls the status tracker about the jobs of the current step;
a Connect session reports by itself. Neither knows the tasks of future stages, so ``total`` may
grow. The callback may be called from another thread.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from partage.pipeline.session import is_connect

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Progress = Callable[[int, int, str], None]

_SECONDS = 0.2
_PATIENCE = 5
"""Seconds to wait for the thread that polls. After Ctrl-C inside of ``logging``, the main thread
may keep its lock for ever, which the other one waits for to log what it asks of Java."""

_GROUP, _DESCRIPTION = "spark.jobGroup.id", "spark.job.description"


@contextmanager
def reported(spark: SparkSession, progress: Progress | None, label: str) -> Iterator[None]:
    """Report the Spark jobs started inside under ``label`` until all are done; Spark's UI has it as
    their description.

    The first call is ``(0, 0, label)``; after success the last one has ``done == total``.
    """
    with _described(spark, f"partage: {label}"):
        if progress is None:
            yield
            return
        progress(0, 0, label)
        watch = _watch_connect if is_connect(spark) else _watch_context
        with watch(spark, lambda done, total: progress(done, total, label)) as tasks:
            yield
        progress(tasks[0], tasks[0], label)


@contextmanager
def _described(spark: SparkSession, description: str) -> Iterator[None]:
    """Connect has no descriptions."""
    if is_connect(spark):
        yield
        return
    context = spark.sparkContext
    before = context.getLocalProperty(_DESCRIPTION)
    context.setJobDescription(description)
    try:
        yield
    finally:
        context.setLocalProperty(_DESCRIPTION, before)


@contextmanager
def _watch_context(spark: SparkSession, report: Callable[[int, int], None]) -> Iterator[list[int]]:
    context = spark.sparkContext
    tracker = context.statusTracker()
    group = f"partage-{threading.get_ident()}"
    earlier = set(tracker.getJobIdsForGroup(group))
    finished = threading.Event()
    last = [0]

    def poll() -> None:
        while not finished.wait(_SECONDS):
            done = total = 0
            for job in set(tracker.getJobIdsForGroup(group)) - earlier:
                info = tracker.getJobInfo(job)
                for stage in info.stageIds if info else ():
                    tasks = tracker.getStageInfo(stage)
                    if tasks is not None:
                        done += tasks.numCompletedTasks
                        total += tasks.numTasks
            last[0] = total
            if total and not finished.is_set():
                report(done, total)

    thread = threading.Thread(target=poll, name="spark-progress", daemon=True)
    context.setLocalProperty(_GROUP, group)
    thread.start()
    try:
        yield last
    finally:
        finished.set()
        thread.join(_PATIENCE)
        context.setLocalProperty(_GROUP, None)


@contextmanager
def _watch_connect(spark: SparkSession, report: Callable[[int, int], None]) -> Iterator[list[int]]:
    tasks: dict[str, tuple[int, int]] = {}
    last = [0]

    def handler(**event: Any) -> None:
        stages = event.get("stages") or ()
        tasks[str(event.get("operation_id"))] = (
            sum(stage.num_completed_tasks for stage in stages),
            sum(stage.num_tasks for stage in stages),
        )
        last[0] = sum(total for _, total in tasks.values())
        report(sum(done for done, _ in tasks.values()), last[0])

    spark.registerProgressHandler(handler)
    try:
        yield last
    finally:
        spark.removeProgressHandler(handler)
