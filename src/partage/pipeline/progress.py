"""Progress of Spark jobs: a callback ``(done, total, label)``, counted in tasks.

For a session in this process a thread polls the status tracker about the jobs of the current step;
a Connect session reports by itself. Neither knows the tasks of future stages, so ``total`` may
grow. The callback may be called from another thread. The label is followed by a note in parentheses
while no executor takes the tasks, and about input that is slow to read.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

from partage.pipeline.compat_pyspark import errors
from partage.pipeline.session import is_connect

if TYPE_CHECKING:
    from pyspark import StatusTracker
    from pyspark.sql import SparkSession

Progress = Callable[[int, int, str], None]
Note = Callable[[str], None]
"""Adds a note to the label of a step."""

_Report = Callable[[int, int, str], None]
"""Tasks that are done, all tasks, and a note to the label."""

_SECONDS = 0.2
_PATIENCE = 5
"""Seconds to wait for the thread that polls. After Ctrl-C inside of ``logging``, the main thread
may keep its lock for ever, which the other one waits for to log what it asks of Java."""

_IDLE_SECONDS = 30
"""After so long without a task that runs or ends, the label names it: Spark itself waits for ever
for executors, and only logs a warning."""

_NO_EXECUTOR = (
    "no executor: the cluster is busy, has no worker with enough memory and cores, or its workers "
    "cannot reach this machine"
)

_SERVED: WeakSet[Any] = WeakSet()
"""Sessions of Spark Connect for which executors have run a task."""

_GROUP, _DESCRIPTION = "spark.jobGroup.id", "spark.job.description"


@contextmanager
def reported(spark: SparkSession, progress: Progress | None, label: str) -> Iterator[Note]:
    """Report the Spark jobs started inside under ``label`` until all are done; Spark's UI has it as
    their description. Gives the block a function that adds a note to the label.

    The first call is ``(0, 0, label)``; after success the last one has ``done == total``.
    """
    with _described(spark, f"partage: {label}"):
        if progress is None:
            yield lambda _: None
            return
        named = [label]

        def add(note: str) -> None:
            named[0] = f"{label} ({note})"
            progress(0, 0, named[0])

        def report(done: int, total: int, note: str) -> None:
            progress(done, total, label + note if note else named[0])

        progress(0, 0, label)
        watch = _watch_connect if is_connect(spark) else _watch_context
        with watch(spark, report) as tasks:
            yield add
        progress(tasks[0], tasks[0], named[0])


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
def _watch_context(spark: SparkSession, report: _Report) -> Iterator[list[int]]:
    context = spark.sparkContext
    tracker = context.statusTracker()
    group = f"partage-{threading.get_ident()}"
    earlier = set(tracker.getJobIdsForGroup(group))
    finished = threading.Event()
    last = [0]

    def look() -> None:
        ran = time.monotonic()
        while not finished.wait(_SECONDS):
            done = total = 0
            for job in set(tracker.getJobIdsForGroup(group)) - earlier:
                info = tracker.getJobInfo(job)
                for stage in info.stageIds if info else ():
                    tasks = tracker.getStageInfo(stage)
                    if tasks is not None:
                        done += tasks.numCompletedTasks
                        total += tasks.numTasks
            if not _waits(tracker):
                ran = time.monotonic()
            last[0] = total
            if total and not finished.is_set():
                report(done, total, _idle_since(ran))

    def poll() -> None:
        with suppress(*errors()):  # if Spark's Java process is gone, the query reports it
            look()

    thread = threading.Thread(target=poll, name="spark-progress", daemon=True)
    context.setLocalProperty(_GROUP, group)
    thread.start()
    try:
        yield last
    finally:
        finished.set()
        thread.join(_PATIENCE)
        context.setLocalProperty(_GROUP, None)


def _idle_since(ran: float) -> str:
    """The note to the label, if no task has run or ended since then."""
    return f" ({_NO_EXECUTOR})" if time.monotonic() - ran > _IDLE_SECONDS else ""


def _waits(tracker: StatusTracker) -> bool:
    """Whether there are stages to run, and none of their tasks runs."""
    stages = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
    return bool(stages) and not any(stage.numActiveTasks for stage in stages if stage is not None)


@contextmanager
def _watch_connect(spark: SparkSession, report: _Report) -> Iterator[list[int]]:
    """The server reports every two seconds about jobs, but not while it looks at files, for which
    it needs executors, too. So the first step of a session begins with a job of one task."""
    tasks: dict[str, tuple[int, int]] = {}
    last, ran = [0], [time.monotonic()]

    def handler(**event: Any) -> None:
        stages, operation = event.get("stages") or (), str(event.get("operation_id"))
        done = sum(stage.num_completed_tasks for stage in stages)
        found = done, sum(stage.num_tasks for stage in stages)
        if event.get("inflight_tasks") or found != tasks.get(operation):
            ran[0] = time.monotonic()
        tasks[operation] = found
        last[0] = sum(total for _, total in tasks.values())
        report(sum(done for done, _ in tasks.values()), last[0], _idle_since(ran[0]))

    spark.registerProgressHandler(handler)
    try:
        if spark not in _SERVED:
            spark.range(0, 1, 1, 1).groupBy().max().collect()
            _SERVED.add(spark)
        yield last
    finally:
        spark.removeProgressHandler(handler)
