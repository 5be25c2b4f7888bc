"""Records straight from a cluster, through Spark's Kafka connector: a bounded batch, or a stream.

``kafka://HOST:PORT[,HOST:PORT]/TOPIC[,TOPIC]`` names them; ``*`` in a topic stands for anything.
After ``?``, joined by ``&``:

- ``from``, ``to``: times, ISO 8601 (UTC where no zone is said) or milliseconds since 1970; from the
  beginning to the end of every partition where they are left out
- ``config``: a properties file of a client, as Kafka's own tools take it (``security.protocol`` and
  what belongs to it); what it does not say ``PARTAGE_*`` variables may (``partage.properties``)

Only the length of a value is kept, though the connector fetches the values too. The connector is
the one that the session has. Where it has none, the jars are added to the session: those that
``PARTAGE_SPARK_KAFKA`` names (a folder of jars, or Maven coordinates), or else the connector of
PySpark's own version, out of Maven Central.
"""

from __future__ import annotations

import os
import re
import socket
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote

from py4j.protocol import Py4JError
from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import functions as sf

from partage import ivy
from partage.errors import InputError, PartageError
from partage.period import ALWAYS, Period
from partage.pipeline.records import canonical
from partage.pipeline.session import is_connect
from partage.properties import read_settings

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SCHEME = "kafka://"
CONNECTOR = "PARTAGE_SPARK_KAFKA"

_PARAMETERS = ("from", "to", "config")
_TOPIC = re.compile(r"[\w.*-]{1,249}", re.ASCII)
_COORDINATES = re.compile(r"([\w.-]+):([\w.-]+):([\w.-]+)", re.ASCII)

# Of an error whose class only its workers know Spark hands on nothing. The driver has listed the
# topics by then, so what fails is to read them.
_FORBIDDEN = re.compile(r"TopicAuthorizationException|Not authorized to access|\bUnknownReason\b")

# Spark sets these itself and refuses them.
_NOT_OURS = ("auto.offset.reset", "bootstrap.servers", "enable.auto.commit", "interceptor.classes")

# What Spark brings must not come twice; Hadoop's client is Spark's too.
_DEPENDENCY = """\
    <dependency org="{organisation}" name="{name}" rev="{version}">
      <exclude org="org.apache.hadoop"/>
      <exclude org="org.scala-lang" module="scala-library"/>
    </dependency>"""


@dataclass(frozen=True)
class Place:
    """What a URL says."""

    url: str
    servers: str
    topics: tuple[str, ...]
    period: Period = ALWAYS
    config: Mapping[str, str] = field(default_factory=dict, repr=False)


def place(url: str) -> Place:
    """Read a URL; InputError names what is wrong in it."""
    found = re.fullmatch(rf"{SCHEME}([^/?]+)/([^?]+)(?:\?(.*))?", url)
    if found is None:
        raise InputError(url, f"expected {SCHEME}HOST:PORT/TOPIC[,TOPIC][?from=TIME&to=TIME]")
    servers, listed, query = found.groups()
    for server in servers.split(","):
        if not re.fullmatch(r"(\[[0-9A-Fa-f:]+\]|[\w.-]+):\d{1,5}", server):
            raise InputError(url, f"{server!r}: expected HOST:PORT")
    topics = tuple(listed.split(","))
    for topic in topics:
        if not _TOPIC.fullmatch(topic):
            raise InputError(url, f"{topic!r}: no topic has such a name")
    said: dict[str, str] = {}
    for part in (query or "").split("&") if query else ():
        name, equals, value = part.partition("=")
        if name not in _PARAMETERS or not equals or name in said:
            raise InputError(url, f"{part!r}: expected one each of {', '.join(_PARAMETERS)}")
        said[name] = unquote(value)
    period = Period.of(said.get("from"), said.get("to"), (url, url))
    return Place(url, servers, topics, period, read_settings(said.get("config")))


def configured(paths: Sequence[str], command_config: str | None) -> list[str]:
    """The same paths, and a client's properties file for the URLs among them that name none."""
    if command_config is None:
        return list(paths)
    said = f"config={quote(command_config)}"
    return [
        f"{path}{'&' if '?' in path else '?'}{said}"
        if path.startswith(SCHEME) and not re.search(r"[?&]config=", path)
        else path
        for path in paths
    ]


def read(spark: SparkSession, url: str) -> DataFrame:
    """The records as ``partage.pipeline.records`` has them. Raises InputError."""
    said = place(url)
    _check_listening(said)
    frame = _load(spark, said)
    try:
        frame.select("partition").take(1)  # so that what is wrong with the URL is told with it
    except (PySparkException, Py4JError) as error:
        if "UnknownTopicOrPartition" in str(error):
            raise InputError(url, "a topic is not there, or may not be read") from None
        if _FORBIDDEN.search(str(error)):
            topics = " or ".join(said.topics)
            said_so = f"not allowed, it seems: missing ACL: Read on topic {topics}"
            raise PartageError(f"{url}: {said_so}") from None
        raise
    return _rows(frame, said)


def stream(spark: SparkSession, url: str) -> DataFrame:
    """The same as a streaming DataFrame, from the beginning or from ``from`` on, without an end.

    Raises InputError.
    """
    read(spark, url)  # brings the connector, and tells what is wrong with the URL
    said = place(url)
    options = {"startingOffsets": "earliest", **_options(said)}
    return _rows(spark.readStream.format("kafka").options(**options).load(), said)


def _rows(frame: DataFrame, said: Place) -> DataFrame:
    rows = frame.select(
        "topic",
        "partition",
        "offset",
        "timestamp",
        "key",
        sf.coalesce(sf.octet_length("value"), sf.lit(0)).alias("value_bytes"),
        sf.lit(f"{SCHEME}{said.servers}").alias("source"),
        sf.lit(None).cast("string").alias("broken"),
    )
    row = sf.concat_ws("-", "topic", "partition", "offset")
    return canonical(rows, row, said.url)


def _load(spark: SparkSession, said: Place) -> DataFrame:
    reader = spark.read.format("kafka").options(**_options(said))
    try:
        return reader.load()
    except AnalysisException as error:
        if "Failed to find data source" not in str(error) and "DATA_SOURCE_NOT" not in str(error):
            raise
    for jar in sorted(connector().glob("*.jar")):
        if is_connect(spark):
            spark.addArtifact(str(jar))
        else:
            escaped = str(jar).replace("'", "\\'")
            spark.sql(f"ADD JAR '{escaped}'")
    return reader.load()


def _options(said: Place) -> dict[str, str]:
    options = {f"kafka.{k}": v for k, v in said.config.items() if k not in _NOT_OURS}
    options["kafka.bootstrap.servers"] = said.servers
    if any("*" in topic for topic in said.topics):
        patterns = (re.escape(topic).replace(r"\*", ".*") for topic in said.topics)
        options["subscribePattern"] = "|".join(patterns)
    else:
        options["subscribe"] = ",".join(said.topics)
    if said.period.since is not None:
        options["startingTimestamp"] = str(said.period.since)
        # a partition with nothing since then has nothing to read, rather than an error
        options["startingOffsetsByTimestampStrategy"] = "latest"
    if said.period.until is not None:
        options["endingTimestamp"] = str(said.period.until)
    return options


def connector() -> Path:
    """The folder of the connector's jars, fetched if need be. Raises InputError, PartageError."""
    wanted = _wanted()
    if isinstance(wanted, Path):
        return wanted
    organisation, name, number = wanted
    return ivy.fetched_jars(
        f"{name}-{number}",
        _DEPENDENCY.format(organisation=organisation, name=name, version=number),
        f"Spark's Kafka connector {number}",
        f"{CONNECTOR} can name a folder of its jars, or other coordinates",
    )


def connector_at_hand() -> Path | None:
    """Where the connector's jars are already, without fetching any. Raises InputError."""
    wanted = _wanted()
    folder = wanted if isinstance(wanted, Path) else ivy.cache_folder(f"{wanted[1]}-{wanted[2]}")
    return folder if folder.is_dir() else None


def _wanted() -> Path | tuple[str, ...]:
    """The folder of jars that is named, or the coordinates: organisation, name, version."""
    said = os.environ.get(CONNECTOR, "")
    if said and (folder := Path(said).expanduser()).is_dir():
        if not any(folder.glob("spark-sql-kafka-*.jar")):
            raise InputError(CONNECTOR, f"{said}: holds no spark-sql-kafka-….jar")
        return folder.absolute()
    default = f"org.apache.spark:spark-sql-kafka-0-10_2.13:{version('pyspark')}"
    found = _COORDINATES.fullmatch(said or default)
    if found is None:
        raise InputError(CONNECTOR, f"{said!r}: expected a folder, or coordinates as {default}")
    return found.groups()


def _check_listening(said: Place) -> None:
    """Say at once that nobody listens: Kafka's client tries again for a minute."""
    why = ""
    for server in said.servers.split(","):
        host, _, port = server.rpartition(":")
        try:
            socket.create_connection((host.strip("[]"), int(port)), timeout=5).close()
        except (OSError, OverflowError) as error:
            why = why or f"{server}: {getattr(error, 'strerror', None) or error}"
        else:
            return
    raise InputError(said.url, f"no broker answers ({why})")
