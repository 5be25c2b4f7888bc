"""Kafka's jars, from Maven Central or from your own folder.

``PARTAGE_KAFKA_JARS`` names a folder of jars to use instead of downloading them, such as ``libs``
in Kafka's release archive.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path

from partage import ivy
from partage.errors import InputError

KAFKA = "4.3.0"
"""The version that a sandbox runs by default."""

OWN_JARS = "PARTAGE_KAFKA_JARS"

_CORE = "kafka_2.13-"

# Most dependencies of kafka-tools belong to Connect, which nothing here starts.
# log4j-slf4j-impl is in Kafka's archive but not among its dependencies; nodes log through it.
_DEPENDENCIES = """\
    <dependency org="org.apache.kafka" name="kafka_2.13" rev="{version}"/>
    <dependency org="org.apache.kafka" name="kafka-tools" rev="{version}">
      <exclude org="org.apache.kafka" module="connect-runtime"/>
    </dependency>
    <dependency org="org.apache.logging.log4j" name="log4j-slf4j-impl" rev="2.25.4"/>"""


def kafka_jars(
    version: str | None = None, progress: Callable[[str], None] = lambda _: None
) -> Path:
    """The folder of the jars that run a broker of this version, downloaded if necessary.

    Raises InputError for a version that is not supported or a folder without Kafka's jars,
    PartageError if PySpark, Java or the network is missing.
    """
    if version is not None and not re.fullmatch(r"([4-9]|[1-9]\d)\.\d{1,3}\.\d{1,3}", version):
        raise InputError("kafka", f"{version!r}: expected 4.0.0 or later, such as {KAFKA}")
    if own := own_jars():
        found = kafka_version(own)
        if version not in (None, found):
            raise InputError("kafka", f"{version}: the jars in {own} ({OWN_JARS}) are {found}")
        return own
    version = version or KAFKA
    return ivy.fetched_jars(
        _name(version),
        _DEPENDENCIES.format(version=version),
        f"Kafka {version}",
        f"{OWN_JARS} can name a folder of its jars",
        progress,
    )


def jars_at_hand() -> Path | None:
    """The folder of the default version's jars, None if they are not downloaded yet. Raises
    InputError if ``PARTAGE_KAFKA_JARS`` names a folder without Kafka's jars."""
    if own := own_jars():
        kafka_version(own)
        return own
    folder = ivy.cache_folder(_name(KAFKA))
    return folder if folder.is_dir() else None


def own_jars() -> Path | None:
    """The folder that ``PARTAGE_KAFKA_JARS`` names."""
    named = os.environ.get(OWN_JARS)
    return Path(named).expanduser().absolute() if named else None


def _name(version: str) -> str:
    return f"kafka-{version}"


def kafka_version(folder: Path) -> str:
    """The version of the Kafka jars in a folder. Raises InputError if it has none."""
    for jar in sorted(folder.glob(f"{_CORE}*.jar")):
        if found := re.fullmatch(rf"{re.escape(_CORE)}(\d+(?:\.\d+)+)\.jar", jar.name):
            return found[1]
    raise InputError(str(folder), f"has no Kafka jars (no {_CORE}VERSION.jar)")
