"""Every private part of pyspark that partage uses.

No other module may. ``tests/pipeline/test_compat_pyspark.py`` checks each part against the release
in use, so that an upgrade which changes one fails there first. pyspark has no public way to start
its Java process with its output elsewhere than in the terminal.
"""

from __future__ import annotations

from typing import IO, Any

from pyspark import SparkConf, SparkContext
from pyspark.java_gateway import launch_gateway


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
