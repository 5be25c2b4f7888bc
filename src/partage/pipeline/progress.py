"""How far a Spark job is, for whoever draws it: a callback ``(done, total, label)`` in tasks.

A session in this process is asked through its status tracker, from a thread of ours, about the jobs
of the current step; a Connect session tells by itself. Neither knows the tasks of stages to come,
so ``total`` may grow. The callback may come from another thread.
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


@contextmanager
def reported(spark: SparkSession, progress: Progress | None, label: str) -> Iterator[None]:
    """Report the Spark jobs that are started inside under ``label``, until all are done.

    The first call is ``(0, 0, label)``; at a clean end there is one with ``done == total``.
    """
    if progress is None:
        yield
        return
    progress(0, 0, label)
    watch = _watch_connect if is_connect(spark) else _watch_context
    with watch(spark, lambda done, total: progress(done, total, label)) as tasks:
        yield
    progress(tasks[0], tasks[0], label)


@contextmanager
def _watch_context(spark: SparkSession, tell: Callable[[int, int], None]) -> Iterator[list[int]]:
    context = spark.sparkContext
    tracker = context.statusTracker()
    group = f"partage-{threading.get_ident()}"
    earlier = set(tracker.getJobIdsForGroup(group))
    over = threading.Event()
    last = [0]

    def poll() -> None:
        while not over.wait(_SECONDS):
            done = total = 0
            for job in set(tracker.getJobIdsForGroup(group)) - earlier:
                info = tracker.getJobInfo(job)
                for stage in info.stageIds if info else ():
                    tasks = tracker.getStageInfo(stage)
                    if tasks is not None:
                        done += tasks.numCompletedTasks
                        total += tasks.numTasks
            last[0] = total
            if total and not over.is_set():
                tell(done, total)

    thread = threading.Thread(target=poll, name="spark-progress", daemon=True)
    context.setJobGroup(group, "partage")
    thread.start()
    try:
        yield last
    finally:
        over.set()
        thread.join()
        context.setLocalProperty("spark.jobGroup.id", None)


@contextmanager
def _watch_connect(spark: SparkSession, tell: Callable[[int, int], None]) -> Iterator[list[int]]:
    tasks: dict[str, tuple[int, int]] = {}
    last = [0]

    def handler(**news: Any) -> None:
        stages = news.get("stages") or ()
        tasks[str(news.get("operation_id"))] = (
            sum(stage.num_completed_tasks for stage in stages),
            sum(stage.num_tasks for stage in stages),
        )
        last[0] = sum(total for _, total in tasks.values())
        tell(sum(done for done, _ in tasks.values()), last[0])

    spark.registerProgressHandler(handler)
    try:
        yield last
    finally:
        spark.removeProgressHandler(handler)
