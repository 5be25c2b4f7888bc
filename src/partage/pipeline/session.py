"""The Spark session: opened once, by the caller, and passed to everything else.

The URL selects one of three kinds: local (``local[2]``, by default ``local[*]``), a cluster
(``spark://...``, ``yarn``), or Spark Connect (``sc://...``, or the value of ``SPARK_REMOTE``). For
the first two, pyspark starts a Java process, which writes warnings to the terminal before any log
level can be set. So that process is started here with its output in a temporary file: standard
output stays clean for ``--json``, and if the start fails, the file has the reason. Under
``spark-submit`` the process already runs and knows the master.

Unless the session is local, the package is sent to the workers (``shipping``). The user's own
settings (``config``, PYSPARK_SUBMIT_ARGS, spark-defaults.conf) override the ones here, but for
``SQL_SETTINGS``, which only ``config`` overrides.
"""

from __future__ import annotations

import logging
import os
import re
import shlex
import signal
import socket
import string
import sys
import tempfile
import threading
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from partage.errors import InputError, PartageError
from partage.java import find_java
from partage.pipeline import clients
from partage.pipeline.compat_pyspark import (
    active_session,
    bridge_outages,
    errors,
    java_runs,
    only_connects,
    start_java,
    use_java,
)
from partage.pipeline.shipping import ship
from partage.pipeline.spark_errors import one_line
from partage.redaction import redacted, split_login, without_login

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SQL_SETTINGS: Mapping[str, str] = {
    # A timestamp without a zone is UTC: results must not depend on the session's location.
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.ansi.enabled": "true",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    # pandas writes timestamps in nanoseconds, which Spark otherwise rejects.
    "spark.sql.legacy.parquet.nanosAsLong": "true",
    # However many top rows of each topic are wanted, tasks drop the others before one sorts them.
    "spark.sql.optimizer.windowGroupLimitThreshold": "2147483647",
}
"""Settings of every session, also of one on an existing server."""

_APP_NAME: Mapping[str, str] = {"spark.app.name": "partage"}

_JAVA_SETTINGS: Mapping[str, str] = {
    **_APP_NAME,
    "spark.log.level": "ERROR",
    "spark.sql.catalogImplementation": "in-memory",
    "spark.ui.showConsoleProgress": "false",
    # A profile generates 80 to 140 classes; with Spark's 100, each run compiles them again.
    "spark.sql.codegen.cache.maxEntries": "1000",
}

_SHUFFLES = "spark.sql.shuffle.partitions"
_DEFAULT_SHUFFLES = "200"
"""Spark's default. A server reports the number only, not whether somebody set it."""

_LOCAL: Mapping[str, str] = {
    "spark.ui.enabled": "false",
    # Spark keeps what its web page would show of the last 1,000 queries: in a watch, 150 MB.
    "spark.sql.ui.retainedExecutions": "10",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.connect.grpc.binding.address": "127.0.0.1",
    "spark.driver.memory": "2g",
    _SHUFFLES: "4",
}

_CLUSTER: Mapping[str, str] = {
    # Cached results keep this number: with Spark's 200, two cores spend a minute on empty tasks.
    _SHUFFLES: "64",
}

_SECRET = re.compile("(?i)secret|pass|token|key(?!tab)|credential|jaas|auth|login|signature|[.]sas")
"""Settings that must not be in the command line of a Java process, which every user can read: those
that Spark itself hides (``spark.redaction.regex``), and keys and signatures of cloud storage."""

_OPTIONS_OF_JAVA = ("spark.driver.defaultJavaOptions", "spark.driver.extraJavaOptions")

_PLAIN = frozenset(string.ascii_letters + string.digits + ".-_/")
"""Characters that mean themselves in a file of Java properties."""


_FAST_START = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""Only Java's first compiler: a third faster for runs of seconds, slower for runs of minutes."""

_ENVIRONMENT = (
    "JAVA_HOME",
    "PYSPARK_PYTHON",
    "PYSPARK_SUBMIT_ARGS",
    "SPARK_CONNECT_MODE_ENABLED",
    "SPARK_LAUNCHER_OPTS",
    "SPARK_LOCAL_IP",
    "SPARK_LOCAL_REMOTE",
    "SPARK_REMOTE",
)
"""Variables that pyspark reads or sets: restored when the session ends."""

_SUBMITTED = "PYSPARK_GATEWAY_PORT"
"""Set by ``spark-submit`` for the program that it runs: the port of its Java process."""

_PORTS = {"spark": 7077, "sc": 15002}


@contextmanager
def session(
    master: str | None = None,
    *,
    short: bool = False,
    config: Mapping[str, str] | None = None,
    paths: Iterable[str | os.PathLike[str]] = (),
    formats: Iterable[str] = (),
) -> Iterator[SparkSession]:
    """The Spark session of one command, stopped on exit.

    ``master``: a master URL or ``sc://...``; None: that of ``spark-submit``, or else
    ``SPARK_REMOTE``, or else all cores of this machine. ``short`` tunes a local Java process for a
    run of seconds. ``config``: Spark settings that override all others. ``paths``: what will be
    read and written, for which clients of stores are added; ``formats`` likewise. If the process
    already has a session, that one is used unchanged and left running. Raises PartageError if Java,
    the cluster or the packages of Spark Connect are missing, InputError for a format that has no
    release for this Spark.
    """
    with _environment_restored():
        url, connect = _where(master)
        split_login(url)  # hides it
        if not connect:
            # pyspark prefers SPARK_REMOTE, but this master was requested explicitly.
            os.environ.pop("SPARK_REMOTE", None)
        with _opening(url), _own_interrupts():
            running = active_session()
            given = [os.fspath(path) for path in paths]
            spark = running or _open(url, connect, short, config or {}, given, list(formats))
        try:
            yield spark
        finally:
            if running is None:
                with suppress(Exception):
                    spark.stop()


def is_connect(spark: SparkSession) -> bool:
    """Whether the session is on a Spark Connect server: then it has no SparkContext."""
    return type(spark).__module__.startswith("pyspark.sql.connect")


# ---------------------------------------------------------------------- opening


def _open(
    url: str,
    connect: bool,
    short: bool,
    config: Mapping[str, str],
    paths: Sequence[str],
    formats: Sequence[str],
) -> SparkSession:
    from pyspark.sql import SparkSession

    # These log a JSON line with a stack trace for every error that is reported as one line here.
    for name in ("SQLQueryContextLogger", "DataFrameQueryContextLogger", "pyspark", "py4j"):
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)
    logging.getLogger().addFilter(_NO_TRACEBACKS)  # twice is once
    if only_connects() and not connect:
        from partage.installation import adding

        raise PartageError(
            f"Spark at {url} needs Spark itself, and only pyspark-client is installed: use a Spark "
            f"Connect server (--master sc://HOST:15002), or {adding('spark')}"
        )
    local = url.startswith("local")
    starts_java = not connect or (local and not _reuses_local_server())
    settings = dict(SQL_SETTINGS)
    if starts_java:
        settings |= {**_JAVA_SETTINGS, **(_LOCAL if local else _CLUSTER)}
    if starts_java and local:
        # Without it, Spark writes its files as with the umask 022.
        settings["spark.hadoop.fs.permissions.umask-mode"] = f"{_umask():03o}"
        os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
        # Another Python, from PATH or of a cluster's workers, may lack the packages.
        os.environ["PYSPARK_PYTHON"] = sys.executable
        if short:
            settings["spark.driver.extraJavaOptions"] = _FAST_START
    if not local:
        _check_listening(url)
    if starts_java:
        # Only what Java must know when it starts: it would override the settings of a cluster.
        ours = settings if local else {**_APP_NAME, "spark.master": url}
        runs = java_runs() or _SUBMITTED in os.environ
        added = {} if runs else clients.settings(paths, config, formats)
        settings |= added
        config = {
            name: value for name, value in config.items() if name != clients.JARS or not added
        }
        defaults = _users_defaults()
        ours = {name: value for name, value in {**ours, **added}.items() if name not in defaults}
        given = {**ours, **config}
        secrets = {key: value for key, value in given.items() if is_secret(key, value)}
        public = [one for one in given.items() if one[0] not in secrets]
        from pyspark import SparkConf

        with _properties_file(secrets):
            _start_java(SparkConf(loadDefaults=False).setAll(public))
    if not connect:
        from pyspark import SparkConf, SparkContext

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
            # The client sets options again that its server already has, and warns about it.
            warnings.simplefilter("ignore")
            spark = builder.getOrCreate()
        bridge_outages(spark)
        if (
            not starts_java
            and _SHUFFLES not in config
            and spark.conf.get(_SHUFFLES) == _DEFAULT_SHUFFLES
        ):
            spark.conf.set(_SHUFFLES, _CLUSTER[_SHUFFLES])
    if not local:
        ship(spark)
    return spark


def is_secret(key: str, value: str) -> bool:
    """Whether a setting of Spark must not be on a command line."""
    return _SECRET.search(key) is not None or redacted(value) != value


@contextmanager
def _properties_file(secrets: Mapping[str, str]) -> Iterator[None]:
    """Have Java, when it starts, read these settings from a file that only this user can read. A
    file of properties that the user names in PYSPARK_SUBMIT_ARGS takes its place; then they are set
    when Java runs."""
    if not secrets:
        yield
        return
    for name in _OPTIONS_OF_JAVA:
        if name in secrets:
            raise InputError(
                name,
                "has a secret, and every user of this machine can read the options of a Java "
                "process: put them into a file that only you can read, and set it to @FILE",
            )
    with tempfile.NamedTemporaryFile("w", encoding="ascii", suffix=".properties") as file:
        file.writelines(f"{_in_properties(k)}={_in_properties(v)}\n" for k, v in secrets.items())
        file.flush()
        others = os.environ.get("PYSPARK_SUBMIT_ARGS", "pyspark-shell")
        own = f"--load-spark-defaults --properties-file {shlex.quote(file.name)}"
        os.environ["PYSPARK_SUBMIT_ARGS"] = f"{own} {others}"
        yield


def _in_properties(text: str) -> str:
    """The text as the name or value of a Java property, every special character escaped."""
    units = memoryview(text.encode("utf-16-be", "surrogatepass")).cast("B")
    codes = (units[at] << 8 | units[at + 1] for at in range(0, len(units), 2))
    return "".join(chr(c) if chr(c) in _PLAIN else f"\\u{c:04x}" for c in codes)


def _users_defaults() -> set[str]:
    """The names of the settings in the user's ``spark-defaults.conf``, which Spark itself reads,
    but which the command line of its Java process overrides."""
    import pyspark

    home = os.environ.get("SPARK_HOME") or Path(pyspark.__file__).parent
    file = Path(os.environ.get("SPARK_CONF_DIR") or Path(home) / "conf") / "spark-defaults.conf"
    try:
        text = file.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return set()
    return set(re.findall(r"^[ \t]*([^#!\s=:][^\s=:]*)", text, re.MULTILINE)) - set(SQL_SETTINGS)


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def _where(master: str | None) -> tuple[str, bool]:
    """The URL of Spark, and whether it is Spark Connect."""
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
    """Start pyspark's Java process like pyspark, but without output; it serves every session."""
    from pyspark.errors import PySparkException

    if java_runs():
        return
    if _SUBMITTED in os.environ:
        use_java()
        return
    with tempfile.TemporaryFile() as log, _environment_restored():
        os.environ["JAVA_HOME"] = os.fspath(find_java("Spark"))
        # This Java process only builds the command line of the other one.
        os.environ.setdefault("SPARK_LAUNCHER_OPTS", _FAST_START)
        # With it, the process would start without the classes of a Connect server.
        os.environ.pop("SPARK_REMOTE", None)
        try:
            start_java(conf, log)
        except PySparkException:
            log.seek(0)
            lines = [line.strip() for line in log.read().decode(errors="replace").splitlines()]
            lines = [line for line in lines if " WARN " not in line]
            reasons = [line for line in lines if re.search("(?i)error|exception|not", line)]
            why = (reasons or lines or ["no message"])[0]
            raise PartageError(f"Spark's Java process did not start: {why}") from None


@contextmanager
def _opening(url: str) -> Iterator[None]:
    """Turn the errors of a start into errors of one line."""
    try:
        yield
    except ImportError as error:
        from partage.installation import adding

        raise PartageError(
            f"Spark Connect needs {error.name or 'more packages'}: {adding('connect')}"
        ) from None
    except errors(ValueError) as error:
        raise PartageError(f"Spark at {url} cannot be opened: {one_line(str(error))}") from None


@contextmanager
def _own_interrupts() -> Iterator[None]:
    """Keep the handler of Ctrl-C that was there: pyspark's would talk to Java in the midst of
    another call to it, which fails and logs tracebacks. Closing the session cancels its jobs.

    A Ctrl-C that comes while Python forks, to start Java, is ignored by Python, which prints a
    traceback; here it counts.
    """
    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread can set handlers
        return
    before, shown = signal.getsignal(signal.SIGINT), sys.unraisablehook
    interrupted = False

    def ignored(error: sys.UnraisableHookArgs) -> None:
        nonlocal interrupted
        if issubclass(error.exc_type, KeyboardInterrupt):
            interrupted = True
        else:
            shown(error)

    sys.unraisablehook = ignored
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        sys.unraisablehook = shown
    if interrupted:
        raise KeyboardInterrupt


class _NoTracebacks(logging.Filter):
    """Drops what py4j logs, with a traceback, about a call that Ctrl-C or the end of Java
    interrupts, which raises an error, too."""

    def filter(self, record: logging.LogRecord) -> bool:
        return "while sending command" not in str(record.msg)


_NO_TRACEBACKS = _NoTracebacks()


def _check_listening(url: str) -> None:
    """Fail at once if no server listens: Spark itself would retry for minutes."""
    try:
        parts = urlsplit(url)
        if parts.scheme not in _PORTS or "," in parts.netloc:
            return
        address = (parts.hostname or "", parts.port or _PORTS[parts.scheme])
    except ValueError:  # which quotes a part of the URL, perhaps of a password
        raise PartageError(f"Spark at {without_login(url)}: not a valid URL") from None
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
