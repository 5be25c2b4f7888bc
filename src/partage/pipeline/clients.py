"""Clients of stores that Spark lacks: their jars must be there when its Java process starts.

Hadoop's client of S3 must be of the same version as the rest of Hadoop, which Spark has.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from partage.errors import PartageError
from partage.jars import fetched_jars, locked_versions

S3A = "s3a://"
CLIENT = "hadoop-aws"
JARS = "spark.jars"


def settings(urls: Iterable[str], config: Mapping[str, str]) -> dict[str, str]:
    """Settings of a Spark session that is about to start, so that it reaches these URLs (paths do
    not matter); its jars include those of the user's ``config``. Raises PartageError if the client
    cannot be fetched."""
    if not any(url.startswith(S3A) for url in urls):
        return {}
    found = {}
    if os.environ.get("AWS_ENDPOINT_URL") or "spark.hadoop.fs.s3a.endpoint" in config:
        # Endpoints other than Amazon's seldom have a host name for each bucket.
        found["spark.hadoop.fs.s3a.path.style.access"] = "true"
    found[JARS] = config.get(JARS, "")
    packages = config.get("spark.jars.packages", "")
    if CLIENT not in packages + found[JARS] and not any(_jars_of_spark().glob(f"{CLIENT}-*.jar")):
        number = client_version()
        instead = f"or name it with --conf spark.jars.packages=org.apache.hadoop:{CLIENT}:{number}"
        folder = fetched_jars(f"{CLIENT}-{number}", f"Hadoop's client of S3 {number}", instead)
        own = [found[JARS]] if found[JARS] else []
        found[JARS] = ",".join([*own, *map(str, sorted(folder.glob("*.jar")))])
    return {name: value for name, value in found.items() if value}


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


def _jars_of_spark() -> Path:
    import pyspark

    home = os.environ.get("SPARK_HOME") or Path(pyspark.__file__).parent
    return Path(home) / "jars"
