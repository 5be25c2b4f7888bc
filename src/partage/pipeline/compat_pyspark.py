"""Every private part of pyspark that partage uses.

No other module may. ``tests/pipeline/test_compat_pyspark.py`` checks each part against the release
in use, so that an upgrade which changes one fails there first. pyspark has no public way to start
its Java process with its output elsewhere than in the terminal, nor to the files of a store.
"""

from __future__ import annotations

import subprocess
import sys
import warnings
from contextlib import suppress
from typing import IO, TYPE_CHECKING, Any

from pyspark.errors import PySparkException
from pyspark.util import is_remote_only

if TYPE_CHECKING:
    from pyspark import SparkConf
    from pyspark.sql import SparkSession


_SECONDS = 5


def only_connects() -> bool:
    """Whether the client of Spark Connect is installed (``pyspark-client``), but not Spark."""
    return bool(is_remote_only())


def errors(*others: type[Exception]) -> tuple[type[Exception], ...]:
    """What Spark raises: here, in its Java process, and from a Spark Connect server; and others."""
    found: list[type[Exception]] = [PySparkException, ConnectionError, *others]
    if not only_connects():
        from py4j.protocol import Py4JError

        found.append(Py4JError)
    if "grpc" in sys.modules:
        # some calls of the client raise it as it is
        found.append(sys.modules["grpc"].RpcError)
    return tuple(found)


def java_exception(error: Any) -> Any:
    """The exception of Java in one of py4j, or in one that pyspark made of that."""
    return error._origin if hasattr(error, "_origin") else error.java_exception


def active_session() -> SparkSession | None:
    """The session that this process already has."""
    if only_connects():
        from pyspark.sql.connect.session import SparkSession as Connected

        active: Any = Connected.getActiveSession()
        return active
    from pyspark.sql import SparkSession

    return SparkSession.getActiveSession()


def bridge_outages(spark: SparkSession) -> None:
    """Let a Spark Connect session retry for seconds, where it would for ten minutes a call, and
    silently."""
    from partage.pipeline.outages import Outages

    spark.client.set_retry_policies([Outages()])
    warnings.filterwarnings("ignore", r"\[RETRIES_EXCEEDED\]")


def java_runs() -> bool:
    """Whether this process has a Java process for Spark."""
    from pyspark import SparkContext

    return SparkContext._gateway is not None


def start_java(conf: SparkConf | None, log: IO[bytes]) -> None:
    """Start the Java process with its output in ``log``, for all sessions of this process, in
    another process group: a closed terminal and ``timeout`` send their signal to all of a group,
    and this process needs Java until it has cleaned up. Java ends with it in any case. Raises
    PySparkException if it does not start."""
    from pyspark.java_gateway import launch_gateway

    use_java(launch_gateway(conf, {"stdout": log, "stderr": log, "process_group": 0}))


def use_java(gateway: Any = None) -> None:
    """Connect to a Java process by its gateway; None: the one that ``spark-submit`` started."""
    from pyspark import SparkContext

    SparkContext._ensure_initialized(gateway=gateway)


def java_exit() -> int | None:
    """The exit code of the Java process that was started here, if it ends within seconds."""
    if only_connects():
        return None
    from pyspark import SparkContext

    process = getattr(SparkContext._gateway, "proc", None)
    if process is None:
        return None
    with suppress(subprocess.TimeoutExpired):
        process.wait(_SECONDS)
    code: int | None = process.returncode
    return code


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
