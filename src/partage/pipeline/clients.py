"""What Spark lacks: clients of stores, and formats of tables (``table_formats``).

Their jars must be there when its Java process starts.

Hadoop's client of S3 must be of the same version as the rest of Hadoop, which Spark has.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path

from partage.errors import PartageError
from partage.jars import fetched_jars, locked_versions
from partage.pipeline.table_formats import FORMATS, WRITTEN

S3A = "s3a://"
CLIENT = "hadoop-aws"
JARS = "spark.jars"


def settings(
    urls: Iterable[str], config: Mapping[str, str], formats: Iterable[str] = ()
) -> dict[str, str]:
    """Settings of a Spark session that is about to start, so that it reaches these URLs (paths do
    not matter) and has these formats; its jars include those of the user's ``config``. Raises
    PartageError if a client cannot be fetched, InputError if there is none for this Spark."""
    urls = list(urls)
    given = [config[JARS]] if config.get(JARS) else []
    named = ",".join([config.get("spark.jars.packages", ""), *given])
    found: dict[str, str] = {}
    jars = list(given)
    needed = False

    def add(artifact: str, fetched: Callable[[], Iterable[Path]]) -> None:
        if artifact not in named and not any(_jars_of_spark().glob(f"{artifact}*.jar")):
            jars.extend(map(str, fetched()))

    if any(url.startswith(S3A) for url in urls):
        needed = True
        if os.environ.get("AWS_ENDPOINT_URL") or "spark.hadoop.fs.s3a.endpoint" in config:
            # Endpoints other than Amazon's seldom have a host name for each bucket.
            found["spark.hadoop.fs.s3a.path.style.access"] = "true"
        add(CLIENT, _client)
    written = {name.lower() for name in formats} & WRITTEN
    for name, format in FORMATS.items():
        if name in written or format.wanted(urls, config):
            needed = True
            found |= format.settings
            add(format.artifact, partial(format.jars, spark_version()))
    if needed and jars:
        found[JARS] = ",".join(jars)
    return found


def _client() -> list[Path]:
    number = client_version()
    instead = f"or name it with --conf spark.jars.packages=org.apache.hadoop:{CLIENT}:{number}"
    folder = fetched_jars(f"{CLIENT}-{number}", f"Hadoop's client of S3 {number}", instead)
    return sorted(folder.glob("*.jar"))


def client_version() -> str:
    """The version of Hadoop's client of S3 for the installed Spark. Raises PartageError if none is
    locked."""
    known = locked_versions(CLIENT)
    for jar in _jars_of_spark().glob("hadoop-client-api-*.jar"):
        if (number := jar.stem.removeprefix("hadoop-client-api-")) in known:
            return number
        raise PartageError(
            f"Spark's Hadoop is {number}: expected {' or '.join(known)} for s3a://; add the client "
            f"with --conf spark.jars.packages=org.apache.hadoop:{CLIENT}:{number}"
        )
    return known[-1]


def spark_version() -> str:
    """The version of the Spark that is about to start."""
    import pyspark

    for jar in _jars_of_spark().glob("spark-core_*.jar"):
        return jar.stem.rpartition("-")[2]
    return str(pyspark.__version__)


def _jars_of_spark() -> Path:
    import pyspark

    home = os.environ.get("SPARK_HOME") or Path(pyspark.__file__).parent
    return Path(home) / "jars"
