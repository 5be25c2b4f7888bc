"""The Spark session: opened once, by the caller, and handed to everything else.

Three ways to Spark, told apart by the URL: inside this machine (``local[2]``, the default
``local[*]``), a cluster (``spark://...``, ``yarn``), and Spark Connect (``sc://...``, or whatever
``SPARK_REMOTE`` says). In all but the last, pyspark starts a Java process that writes warnings to
the terminal long before any log level can be set. So that process is started here, with its output
in a temporary file: standard output stays clean for ``--json``, and when the start fails the file
says why. Under ``spark-submit`` that process is there already, and knows the master.

Anywhere but on this machine the package goes along (``shipping``), and what the user's own settings
say goes before ours.
"""

from __future__ import annotations

import logging
import os
import re
import socket
import sys
import tempfile
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from partage.errors import InputError, PartageError
from partage.java import find_java
from partage.pipeline.shipping import ship

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SQL_SETTINGS: Mapping[str, str] = {
    # A timestamp without a zone is UTC: results must not depend on where the session runs.
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.ansi.enabled": "true",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    # pandas writes timestamps in nanoseconds, which Spark refuses otherwise.
    "spark.sql.legacy.parquet.nanosAsLong": "true",
}
"""What every session needs, also one on a server that is not ours."""

_NAMED: Mapping[str, str] = {"spark.app.name": "partage"}

_OUR_JAVA: Mapping[str, str] = {
    **_NAMED,
    "spark.log.level": "ERROR",
    "spark.sql.catalogImplementation": "in-memory",
    "spark.ui.showConsoleProgress": "false",
    # Whole tables come home through Arrow; the default of 1g is for accidents.
    "spark.driver.maxResultSize": "4g",
}

_SHUFFLES = "spark.sql.shuffle.partitions"
_NOBODYS = "200"
"""How many there are where nobody has said: a server tells no more than the number."""

_LOCAL: Mapping[str, str] = {
    "spark.ui.enabled": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.connect.grpc.binding.address": "127.0.0.1",
    "spark.driver.memory": "2g",
    _SHUFFLES: "4",
}

_CLUSTER: Mapping[str, str] = {
    # Cached results keep their number: with Spark's 200, two cores spend a minute on empty tasks.
    _SHUFFLES: "64",
}

_FAST_START = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""Java's first compiler only: a third off a run of seconds, a loss on one of many minutes."""

_ENVIRONMENT = (
    "JAVA_HOME",
    "PYSPARK_PYTHON",
    "SPARK_CONNECT_MODE_ENABLED",
    "SPARK_LAUNCHER_OPTS",
    "SPARK_LOCAL_IP",
    "SPARK_LOCAL_REMOTE",
    "SPARK_REMOTE",
)
"""The variables that pyspark reads or leaves behind: put back when the session ends."""

_SUBMITTED = "PYSPARK_GATEWAY_PORT"
"""Set by ``spark-submit`` for the program that it runs: where its Java listens."""

_PORTS = {"spark": 7077, "sc": 15002}


@contextmanager
def session(
    master: str | None = None,
    *,
    short: bool = False,
    config: Mapping[str, str] | None = None,
) -> Iterator[SparkSession]:
    """The Spark session of one command, stopped on the way out.

    ``master`` is a master URL or ``sc://...``; None means that of ``spark-submit`` under it, or
    ``SPARK_REMOTE`` where that is set, and otherwise all cores of this machine. ``short`` tunes a
    local Java for a run of seconds. ``config`` adds Spark settings or overrides all others. Where
    the process already has a session, that one is used, as it is, and left running. Raises
    PartageError, in one line, when Java or the cluster is missing, or the packages of Spark
    Connect.
    """
    from pyspark.sql import SparkSession

    with _environment_restored():
        url, connect = _where(master)
        if not connect:
            # pyspark lets SPARK_REMOTE win, but this master was asked for by name.
            os.environ.pop("SPARK_REMOTE", None)
        with _opening(url):
            running = SparkSession.getActiveSession()
            spark = running or _open(url, connect, short, config or {})
        try:
            yield spark
        finally:
            if running is None:
                with suppress(Exception):
                    spark.stop()


def is_connect(spark: SparkSession) -> bool:
    """Whether the session talks to a Spark Connect server: then it has no SparkContext."""
    return type(spark).__module__.startswith("pyspark.sql.connect")


@contextmanager
def spark_errors(where: str = "") -> Iterator[None]:
    """Whatever Spark raises inside, as one line.

    InputError for a file that is missing or cannot be read (``where``, or the file that Spark
    names) and for anything else when ``where`` is given; PartageError otherwise.
    """
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    try:
        yield
    except (PySparkException, Py4JError, ConnectionError) as error:
        text = str(error)
        named = re.search(r"(?:reading file|does not exist:) (?:file:)?(\S+?)\.?(?:\s|$)", text)
        file = where or (named[1] if named else "")
        if "PATH_NOT_FOUND" in text:
            raise InputError(file, "no such file or directory") from None
        if "FAILED_READ_FILE" in text and ":" in file.rpartition("/")[2]:
            problem = "cannot be read: Spark takes no colon in a file's name"
            raise InputError(file, problem) from None
        if re.search("FAILED_READ_FILE|UNABLE_TO_INFER_SCHEMA|is not a Parquet file", text):
            raise InputError(file, "cannot be read: broken, or not what its name says") from None
        if lacking := re.search(r"ModuleNotFoundError: No module named '(\w+)", text):
            raise PartageError(
                f"Python on the workers has no {lacking[1]}: install it there, or let "
                "PYSPARK_PYTHON name a Python that has it"
            ) from None
        if where:
            raise InputError(where, _one_line(text)) from None
        raise PartageError(f"Spark: {_one_line(text)}") from None


# ---------------------------------------------------------------------- opening


def _open(url: str, connect: bool, short: bool, config: Mapping[str, str]) -> SparkSession:
    from pyspark import SparkConf, SparkContext
    from pyspark.sql import SparkSession

    # These log a JSON line with a stack trace for every error that we turn into one plain line.
    for name in ("SQLQueryContextLogger", "DataFrameQueryContextLogger", "pyspark"):
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)
    local = url.startswith("local")
    ours = not connect or (local and not _reuses_local_server())
    settings = dict(SQL_SETTINGS)
    if ours:
        settings |= {**_OUR_JAVA, **(_LOCAL if local else _CLUSTER)}
    if ours and local:
        os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
        # Another Python, that of the path or of a cluster's workers, may lack our packages.
        os.environ["PYSPARK_PYTHON"] = sys.executable
        if short:
            settings["spark.driver.extraJavaOptions"] = _FAST_START
    if not local:
        _check_listening(url)
    if ours:
        # A cluster's user has settings of his own, which these would override.
        given = {**settings, **config} if local else {**_NAMED, "spark.master": url}
        _start_java(SparkConf(loadDefaults=False).setAll(list(given.items())))
    if not connect:
        conf = SparkConf()
        for key, value in settings.items():
            if key in SQL_SETTINGS or not conf.contains(key):
                conf.set(key, value)
        conf.setAll(list({**config, "spark.master": url}.items()))
        spark = SparkSession(SparkContext(conf=conf))
    else:
        builder = SparkSession.builder.remote(url)
        for key, value in {**settings, **config}.items():
            builder = builder.config(key, value)
        with warnings.catch_warnings():
            # The client sets again what the server it started already has, and may not.
            warnings.simplefilter("ignore")
            spark = builder.getOrCreate()
        if not ours and _SHUFFLES not in config and spark.conf.get(_SHUFFLES) == _NOBODYS:
            spark.conf.set(_SHUFFLES, _CLUSTER[_SHUFFLES])
    if not local:
        ship(spark)
    return spark


def _where(master: str | None) -> tuple[str, bool]:
    """The URL of Spark, and whether that is Spark Connect."""
    if master:
        return master, master.startswith("sc://")
    if _SUBMITTED in os.environ:
        from pyspark import SparkConf

        _start_java(None)
        return SparkConf().get("spark.master", "local[*]"), False
    if os.environ.get("SPARK_REMOTE"):
        return os.environ["SPARK_REMOTE"], True
    return "local[*]", False


def _start_java(conf: Any) -> None:
    """Start pyspark's Java process as pyspark would, but quietly; one serves every session."""
    from pyspark import SparkContext
    from pyspark.errors import PySparkException
    from pyspark.java_gateway import launch_gateway

    if SparkContext._gateway is not None:
        return
    if _SUBMITTED in os.environ:
        SparkContext._ensure_initialized()
        return
    with tempfile.TemporaryFile() as log, _environment_restored():
        os.environ["JAVA_HOME"] = os.fspath(find_java("Spark"))
        # This Java only assembles the other's command line.
        os.environ.setdefault("SPARK_LAUNCHER_OPTS", _FAST_START)
        # With it, the process would be made without the classes of a Connect server.
        os.environ.pop("SPARK_REMOTE", None)
        try:
            gateway = launch_gateway(conf, {"stdout": log, "stderr": log})
        except PySparkException:
            log.seek(0)
            lines = [line.strip() for line in log.read().decode(errors="replace").splitlines()]
            telling = [line for line in lines if re.search("(?i)error|exception|not", line)]
            why = (telling or lines or ["no message"])[0]
            raise PartageError(f"Spark's Java process did not start: {why}") from None
    SparkContext._ensure_initialized(gateway=gateway)


@contextmanager
def _opening(url: str) -> Iterator[None]:
    """The ways in which a start fails, each in one line."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    try:
        yield
    except ImportError as error:
        raise PartageError(
            f"Spark Connect needs {error.name or 'more packages'}: pip install 'partage[connect]'"
        ) from None
    except (PySparkException, Py4JError, ConnectionError, ValueError) as error:
        raise PartageError(f"Spark at {url} cannot be opened: {_one_line(str(error))}") from None


def _check_listening(url: str) -> None:
    """Say at once that nobody listens: Spark itself tries again for minutes."""
    parts = urlsplit(url)
    if parts.scheme not in _PORTS or "," in parts.netloc:
        return
    address = (parts.hostname or "", parts.port or _PORTS[parts.scheme])
    try:
        socket.create_connection(address, timeout=5).close()
    except TimeoutError:
        return
    except OSError as error:
        raise PartageError(f"Spark at {url} cannot be opened: {error.strerror or error}") from None


def _reuses_local_server() -> bool:
    return os.environ.get("SPARK_LOCAL_CONNECT_REUSE", "").lower() in ("1", "true")


@contextmanager
def _environment_restored() -> Iterator[None]:
    before = {name: os.environ.get(name) for name in _ENVIRONMENT}
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def _one_line(text: str) -> str:
    """The sentence that matters in one of Spark's messages, without class names and codes."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if len(lines) > 1 and lines[0].startswith("An error occurred while calling"):
        lines = lines[1:]
    line = lines[0] if lines else "no message"
    if "Traceback (most recent call last)" in text:  # of Python on a worker
        raised = [line for line in lines if re.match(r"[\w.]+(Error|Exception): ", line)]
        line = next(iter(raised), line)
    elif "Exception thrown in awaitResult" in line:  # of who only waited for the job
        causes = [line for line in lines if line.startswith("Caused by: ")]
        line = next(iter(causes), line).removeprefix("Caused by: ")
        line = re.sub(r".*Job aborted due to stage failure: .*? executor \w+\): ", "", line)
    line = re.sub(r"^:?\s*(?:[\w$]+\.)+[\w$]+:\s*", "", line)
    line = re.sub(r"^\[[A-Z_.0-9]+\]\s*", "", line)
    line = re.sub(r"\s*SQLSTATE: \w+;?$", "", line)
    return line[:300]
