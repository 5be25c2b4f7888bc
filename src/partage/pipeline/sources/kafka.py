"""Records of a cluster through Spark's Kafka connector: a bounded batch, or a stream.

``kafka://HOST:PORT[,HOST:PORT]/TOPIC[,TOPIC]``; ``*`` in a topic matches anything. Parameters after
``?``, joined by ``&``:

- ``from``, ``to``: times, ISO 8601 (UTC without a zone) or milliseconds since 1970; default: the
  beginning and the end of every partition
- ``config``: a properties file of a client, as Kafka's tools take it (``security.protocol`` and
  related settings); ``PARTAGE_*`` variables complete it (``partage.properties``)

Only the length of a value is kept, although the connector fetches the values. The session's
connector is used if it has one. Otherwise jars are added to the session: those that
``PARTAGE_SPARK_KAFKA`` names (a folder of jars, or a version), or the newest connector that is not
newer than PySpark, from Maven Central.
"""

from __future__ import annotations

import json
import os
import re
import socket
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote

from pyspark.errors import AnalysisException
from pyspark.sql import functions as sf

from partage.errors import InputError, PartageError
from partage.files import check_not_empty
from partage.jars import fetched_jars, jars_at_hand, locked_versions
from partage.kafka_names import TOPIC_LENGTH
from partage.period import ALWAYS, Period
from partage.pipeline.compat_pyspark import errors
from partage.pipeline.records import canonical
from partage.pipeline.session import is_connect
from partage.pipeline.sources import added_jars
from partage.properties import NAME, Settings, addresses, read_settings
from partage.redaction import without_login

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SCHEME = "kafka://"
CONNECTOR = "PARTAGE_SPARK_KAFKA"

RECORDS_PER_TASK = 500_000
"""Most offsets that a task reads, so that several tasks share a partition that has most records."""

_COLUMNS = (
    "topic string, partition int, offset bigint, timestamp timestamp, key binary, value binary"
)
"""Those of the connector that are read."""

_PARAMETERS = ("from", "to", "config")
_TOPIC = re.compile(rf"[\w.*-]{{1,{TOPIC_LENGTH}}}", re.ASCII)
_NAME = "spark-sql-kafka-0-10_2.13"

# Spark gives no details of an error whose class only the workers know. The driver has listed the
# topics by then, so it is reading that fails.
_FORBIDDEN = re.compile(r"TopicAuthorizationException|Not authorized to access|\bUnknownReason\b")

# Spark sets these itself and refuses them.
_NOT_OURS = ("auto.offset.reset", "bootstrap.servers", "enable.auto.commit", "interceptor.classes")


@dataclass(frozen=True)
class KafkaUrl:
    """A parsed ``kafka://`` URL."""

    url: str
    servers: str
    topics: tuple[str, ...]
    period: Period = ALWAYS
    config: Settings = field(default_factory=dict)


def parse_url(url: str) -> KafkaUrl:
    """Parse a URL; InputError names the faulty part."""
    shown = without_login(url)
    found = re.fullmatch(rf"{SCHEME}([^/?]+)/([^?]+)(?:\?(.*))?", url)
    if found is None:
        raise InputError(shown, f"expected {SCHEME}HOST:PORT/TOPIC[,TOPIC][?from=TIME&to=TIME]")
    servers, listed, query = found.groups()
    try:
        addresses(servers)
    except ValueError as error:
        raise InputError(shown, str(error)) from None
    topics = tuple(listed.split(","))
    for topic in topics:
        if not _TOPIC.fullmatch(topic):
            raise InputError(
                shown,
                f"expected topics: 1 to {TOPIC_LENGTH} letters, digits, '.', '_', '-' or '*' each",
            )
    given: dict[str, str] = {}
    for part in (query or "").split("&") if query else ():
        name, equals, value = part.partition("=")
        if name not in _PARAMETERS or not equals or name in given:
            raise InputError(
                shown, f"expected each of {', '.join(_PARAMETERS)} at most once after the ?"
            )
        given[name] = unquote(value, errors="surrogateescape")
    period = Period.of(given.get("from"), given.get("to"), (f"{url}: from", f"{url}: to"))
    return KafkaUrl(url, servers, topics, period, read_settings(given.get("config")))


def configured(paths: Sequence[str], command_config: str | None) -> list[str]:
    """The same paths; URLs among them without ``config`` get this properties file. Raises
    InputError for an empty name of it."""
    if command_config is None:
        return list(paths)
    check_not_empty(command_config)
    parameter = f"config={quote(os.fsencode(command_config))}"
    return [
        f"{path}{'&' if '?' in path else '?'}{parameter}"
        if path.startswith(SCHEME) and not re.search(r"[?&]config=", path)
        else path
        for path in paths
    ]


def read(spark: SparkSession, url: str) -> DataFrame:
    """The records of a URL, see ``partage.pipeline.records``. Raises InputError."""
    parsed = parse_url(url)
    _check_listening(parsed)
    frame = _load(spark, _options(parsed))
    try:
        frame.select("partition").take(1)  # so that an error names the URL
    except errors() as error:
        if "UnknownTopicOrPartition" in str(error):
            raise InputError(url, "a topic does not exist, or must not be read") from None
        if _FORBIDDEN.search(str(error)):
            topics = " or ".join(parsed.topics)
            problem = f"probably not authorized: missing ACL: Read on topic {topics}"
            raise PartageError(f"{url}: {problem}") from None
        raise
    if not is_connect(spark):
        frame = _load(spark, {**_options(parsed), **_shared(frame.rdd.getNumPartitions())})
    return _rows(frame, parsed)


def read_between(
    spark: SparkSession, url: KafkaUrl, offsets: Mapping[tuple[str, int], tuple[int, int]]
) -> DataFrame:
    """The records of partitions from the first of two offsets up to the second, which is not read.
    Raises InputError."""
    if not offsets:
        return _rows(spark.createDataFrame([], _COLUMNS), url)
    _check_listening(url)
    numbers: dict[str, list[int]] = {}
    begins: dict[str, dict[str, int]] = {}
    ends: dict[str, dict[str, int]] = {}
    for (topic, number), (begin, end) in offsets.items():
        numbers.setdefault(topic, []).append(number)
        begins.setdefault(topic, {})[str(number)] = begin
        ends.setdefault(topic, {})[str(number)] = end
    options = {
        **_client_options(url),
        "assign": json.dumps(numbers),
        "startingOffsets": json.dumps(begins),
        "endingOffsets": json.dumps(ends),
        **_shared(len(offsets)),
    }
    return _rows(_load(spark, options), url)


def stream(spark: SparkSession, url: str, max_offsets: int | None = None) -> DataFrame:
    """The records as a streaming DataFrame, from the beginning or from ``from`` on; a batch has
    about ``max_offsets`` of them.

    Raises InputError.
    """
    read(spark, url)  # loads the connector and checks the URL
    parsed = parse_url(url)
    options = {"startingOffsets": "earliest", **_options(parsed)}
    if max_offsets is not None:
        options["maxOffsetsPerTrigger"] = str(max_offsets)
    return _rows(spark.readStream.format("kafka").options(**options).load(), parsed)


def _rows(frame: DataFrame, url: KafkaUrl) -> DataFrame:
    rows = frame.select(
        "topic",
        "partition",
        "offset",
        "timestamp",
        "key",
        sf.coalesce(sf.octet_length("value"), sf.lit(0)).alias("value_bytes"),
        sf.lit(f"{SCHEME}{url.servers}").alias("source"),
        sf.lit(None).cast("string").alias("broken"),
    )
    row = sf.concat_ws("-", "topic", "partition", "offset")
    return canonical(rows, row, url.url)


def _load(spark: SparkSession, options: Mapping[str, str]) -> DataFrame:
    reader = spark.read.format("kafka").options(**options)
    try:
        return reader.load()
    except AnalysisException as error:
        if not added_jars.is_missing(error):
            raise
    added_jars.add_jars(spark, connector())
    return reader.load()


def _client_options(url: KafkaUrl) -> dict[str, str]:
    options = {
        f"kafka.{name}": setting.value
        for name, setting in url.config.items()
        if name not in _NOT_OURS and NAME.fullmatch(name)
    }
    return {**options, "kafka.bootstrap.servers": url.servers}


def _shared(partitions: int) -> dict[str, str]:
    """Let several tasks read a partition. The connector does so only if asked for more tasks
    than partitions."""
    return {
        "minPartitions": str(partitions + 1),
        "maxRecordsPerPartition": str(RECORDS_PER_TASK),
    }


def _options(url: KafkaUrl) -> dict[str, str]:
    options = _client_options(url)
    if any("*" in topic for topic in url.topics):
        patterns = (re.escape(topic).replace(r"\*", ".*") for topic in url.topics)
        options["subscribePattern"] = "|".join(patterns)
    else:
        options["subscribe"] = ",".join(url.topics)
    if url.period.since is not None:
        options["startingTimestamp"] = str(url.period.since)
        # a partition without newer records gives no rows instead of an error
        options["startingOffsetsByTimestampStrategy"] = "latest"
    if url.period.until is not None:
        options["endingTimestamp"] = str(url.period.until)
    return options


def connector() -> Path:
    """The folder of the connector's jars, fetched if necessary. Raises InputError, PartageError."""
    wanted = _wanted()
    if isinstance(wanted, Path):
        return wanted
    instead = f"{CONNECTOR} can name a folder of its jars"
    return fetched_jars(f"{_NAME}-{wanted}", _described(wanted), instead)


def connector_at_hand() -> Path | None:
    """The folder of the connector's jars if they are there, without fetching. Raises InputError,
    PartageError."""
    wanted = _wanted()
    if isinstance(wanted, Path):
        return wanted
    return jars_at_hand(f"{_NAME}-{wanted}", _described(wanted))


def _described(number: str) -> str:
    return f"Spark's Kafka connector {number}"


def _wanted() -> Path | str:
    """The configured folder of jars, or the connector's version."""
    configured = os.environ.get(CONNECTOR, "")
    if configured and (folder := Path(configured).expanduser()).is_dir():
        if not any(folder.glob("spark-sql-kafka-*.jar")):
            raise InputError(CONNECTOR, f"{configured}: has no spark-sql-kafka-….jar")
        return folder.absolute()
    known = locked_versions(_NAME)
    if configured and configured not in known:
        raise InputError(
            CONNECTOR, f"{configured!r}: expected a folder of jars, or one of {', '.join(known)}"
        )
    return configured or added_jars.fitting(known)


def _check_listening(url: KafkaUrl) -> None:
    """Raise InputError at once if no broker listens: Kafka's client retries for a minute."""
    why = ""
    for server in url.servers.split(","):
        host, _, port = server.rpartition(":")
        try:
            socket.create_connection((host.strip("[]"), int(port)), timeout=5).close()
        except (OSError, OverflowError) as error:
            why = why or f"{server}: {getattr(error, 'strerror', None) or error}"
        else:
            return
    raise InputError(url.url, f"no broker reachable ({why})")
