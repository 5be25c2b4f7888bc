"""Progress of Spark jobs, and what Spark's UI has of them."""

from __future__ import annotations

import threading
from typing import Any

import pytest

pytest.importorskip("pyspark")

from pyspark import StatusTracker

from partage.pipeline import progress
from partage.pipeline.progress import reported

pytestmark = pytest.mark.spark


def descriptions(spark: Any) -> list[str]:
    """Those of all jobs so far, the last one first."""
    jobs = spark.sparkContext._jsc.sc().statusStore().jobsList(None)
    found = [jobs.apply(at).description() for at in range(jobs.size())]
    return [one.get() if one.isDefined() else "" for one in found]


@pytest.mark.parametrize("watched", [True, False])
def test_jobs_have_the_step_as_description(spark: Any, watched: bool) -> None:
    calls: list[tuple[int, int, str]] = []
    spark.sparkContext.setJobDescription("mine")
    with reported(spark, (lambda *call: calls.append(call)) if watched else None, "hot keys"):
        spark.range(10).count()
    assert descriptions(spark)[0] == "partage: hot keys"
    spark.range(10).count()
    assert descriptions(spark)[0] == "mine"
    spark.sparkContext.setJobDescription(None)
    assert [call[2] for call in calls] == ["hot keys"] * len(calls)
    if watched:
        assert calls[0] == (0, 0, "hot keys")
        assert calls[-1][0] == calls[-1][1]


def test_a_thread_that_hangs_is_not_waited_for(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    asked, never = threading.Event(), threading.Event()

    def hang(*_: Any) -> list[int]:
        if threading.current_thread().name == "spark-progress":
            asked.set()
            never.wait()
        return []

    monkeypatch.setattr(StatusTracker, "getJobIdsForGroup", hang)
    monkeypatch.setattr(progress, "_PATIENCE", 0.1)
    with reported(spark, lambda *_: None, "hot keys"):
        assert asked.wait(60)
    never.set()
