"""What Spark raises becomes one line that says what to do."""

from __future__ import annotations

import pytest
from py4j.protocol import Py4JNetworkError
from pyspark.errors import PySparkException

from partage.errors import PartageError
from partage.pipeline import compat_pyspark
from partage.pipeline.spark_errors import spark_errors

pytestmark = pytest.mark.spark

PYTHON = """An exception was thrown from the Python worker. Please see the stack trace below.
Traceback (most recent call last):
  File "worker.py", line 1, in main
{}
"""
WAITED = """An error occurred while calling o897.getResult.
: org.apache.spark.SparkException: Exception thrown in awaitResult:
\tat org.apache.spark.util.SparkThreadUtils$.awaitResult(SparkThreadUtils.scala:70)
Caused by: org.apache.spark.SparkException: {}
\tat java.base/java.lang.ProcessBuilder.start(ProcessBuilder.java:1143)
"""
LOST = (
    "Job aborted due to stage failure: Task 0 in stage 7.0 failed 4 times, most recent failure: "
    "Lost task 0.3 in stage 7.0 (TID 9) (127.0.0.1 executor 0): "
)


OUT_OF_MEMORY = (
    "Spark: out of memory: give Java more, --conf spark.driver.memory=4g for a local Spark, "
    "spark.executor.memory for a cluster"
)


@spark_errors()
def restore_a_setting_after_an_interrupt() -> None:
    """Ctrl-C closes the connections to Java."""
    try:
        raise KeyboardInterrupt
    finally:
        raise Py4JNetworkError("Answer from Java side is empty")


def test_what_fails_after_an_interrupt_is_the_interrupt() -> None:
    with pytest.raises(KeyboardInterrupt):
        restore_a_setting_after_an_interrupt()


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (
            PYTHON.format("ModuleNotFoundError: No module named 'numpy'"),
            "Python on the workers has no numpy: install it there, or set PYSPARK_PYTHON to a "
            "Python that has it",
        ),
        (
            PYTHON.format(
                "pyspark.errors.PySparkRuntimeError: [PYTHON_VERSION_MISMATCH] Python in "
                "worker has different version: 3.9 than that in driver: 3.11."
            ),
            "Spark: Python in worker has different version: 3.9 than that in driver: 3.11.",
        ),
        (
            WAITED.format(f'{LOST}java.io.IOException: Cannot run program "/no/python3": error=2'),
            'Spark: Cannot run program "/no/python3": error=2',
        ),
        (
            f"{LOST}ExecutorLostFailure (executor 0 exited caused by one of the running tasks) "
            "Reason: Command exited with code 137",
            OUT_OF_MEMORY,
        ),
        (
            "Job aborted due to stage failure: Master removed our application: FAILED",
            "Spark: the cluster's master ended the application, or itself: its log says why",
        ),
        (
            "Job 0 cancelled because SparkContext was shut down",
            "Spark: its Java process ended: out of memory, or killed",
        ),
        (
            "<_InactiveRpcError of RPC that terminated with:\n\tstatus = StatusCode.UNAVAILABLE\n",
            "Spark: the Spark Connect server ended, or cannot be reached any more: run it again "
            "once the server answers",
        ),
        (WAITED.format("EOFException occurred"), "Spark: EOFException occurred"),
        (
            WAITED.format(f"{LOST}java.lang.OutOfMemoryError: Java heap space"),
            OUT_OF_MEMORY,
        ),
        (
            WAITED.format(
                "Job aborted due to stage failure: Total size of serialized results of 3 tasks "
                "(300.0 MiB) is bigger than spark.driver.maxResultSize (256.0 MiB)."
            ),
            "Spark: a result exceeds spark.driver.maxResultSize: share the output directory with "
            "Spark's machines, or raise the limit with --conf",
        ),
        (
            "Answer from Java side is empty",
            "Spark: its Java process ended: out of memory, or killed",
        ),
        (
            WAITED.format("java.io.IOException: No space left on device"),
            "Spark: No space left on device: free some space for its temporary files "
            "(SPARK_LOCAL_DIRS, by default /tmp) and for the output",
        ),
    ],
)
def test_errors_of_workers_are_one_line(
    monkeypatch: pytest.MonkeyPatch, text: str, line: str
) -> None:
    # the Java process of other tests does not end
    monkeypatch.setattr(compat_pyspark, "_SECONDS", 0)
    with pytest.raises(PartageError) as caught, spark_errors():
        raise PySparkException(text)
    assert str(caught.value) == line
