"""Every private part of pyspark that partage uses.

No other module may. ``tests/pipeline/test_compat_pyspark.py`` checks each part against the release
in use, so that an upgrade which changes one fails there first. pyspark has no public way to start
its Java process with its output elsewhere than in the terminal, nor to the files of a store.
"""

from __future__ import annotations

from typing import IO, Any

from pyspark import SparkConf, SparkContext
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession


def java_runs() -> bool:
    """Whether this process has a Java process for Spark."""
    return SparkContext._gateway is not None


def start_java(conf: SparkConf | None, log: IO[bytes]) -> None:
    """Start the Java process with its output in ``log``, for all sessions of this process. Raises
    PySparkException if it does not start."""
    use_java(launch_gateway(conf, {"stdout": log, "stderr": log}))


def use_java(gateway: Any = None) -> None:
    """Connect to a Java process by its gateway; None: the one that ``spark-submit`` started."""
    SparkContext._ensure_initialized(gateway=gateway)


def java(spark: SparkSession) -> Any:
    """The classes of a session's Java process, by package."""
    return spark._jvm


def java_array(spark: SparkSession, kind: Any, one: Any) -> Any:
    """An array of a class of Java with this value."""
    gateway = spark.sparkContext._gateway
    assert gateway is not None
    array = gateway.new_array(kind, 1)
    array[0] = one
    return array


def hadoop_settings(spark: SparkSession) -> Any:
    """A session's settings for Hadoop's clients."""
    return spark._jsparkSession.sessionState().newHadoopConf()
