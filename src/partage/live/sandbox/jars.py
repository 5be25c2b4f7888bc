"""The jars of a Kafka, from Maven Central or a folder of one's own.

``PARTAGE_KAFKA_JARS`` names a folder of jars to use instead of fetching them, such as ``libs`` of
Kafka's archive.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path

from partage import ivy
from partage.errors import InputError

KAFKA = "4.3.0"
"""The Kafka that a sandbox runs unless another is asked for."""

OWN_JARS = "PARTAGE_KAFKA_JARS"

_CORE = "kafka_2.13-"

# Connect is most of what kafka-tools depends on, and nothing of it that we start needs it.
# log4j-slf4j-impl is in Kafka's archive, not among its dependencies: without it there is no log.
_DEPENDENCIES = """\
    <dependency org="org.apache.kafka" name="kafka_2.13" rev="{version}"/>
    <dependency org="org.apache.kafka" name="kafka-tools" rev="{version}">
      <exclude org="org.apache.kafka" module="connect-runtime"/>
    </dependency>
    <dependency org="org.apache.logging.log4j" name="log4j-slf4j-impl" rev="2.25.4"/>"""


def kafka_jars(version: str | None = None, tell: Callable[[str], None] = lambda _: None) -> Path:
    """The folder of the jars that run a broker of this version, fetched if need be.

    Raises InputError for a version that cannot be or a folder without a Kafka, PartageError where
    PySpark, Java or the network is missing.
    """
    if version is not None and not re.fullmatch(r"([4-9]|[1-9]\d)\.\d{1,3}\.\d{1,3}", version):
        raise InputError("--kafka", f"{version!r}: expected a version from 4.0.0 on, as {KAFKA}")
    if own := own_jars():
        found = kafka_version(own)
        if version not in (None, found):
            raise InputError("--kafka", f"{version}: the jars in {own} ({OWN_JARS}) are {found}")
        return own
    version = version or KAFKA
    return ivy.jars(
        _name(version),
        _DEPENDENCIES.format(version=version),
        f"Kafka {version}",
        f"{OWN_JARS} can name a folder of its jars",
        tell,
    )


def jars_at_hand() -> Path | None:
    """Where the jars of the usual version are already, without fetching any. Raises InputError for
    a folder of one's own without a Kafka."""
    if own := own_jars():
        kafka_version(own)
        return own
    folder = ivy.kept(_name(KAFKA))
    return folder if folder.is_dir() else None


def own_jars() -> Path | None:
    """The folder that ``PARTAGE_KAFKA_JARS`` names."""
    said = os.environ.get(OWN_JARS)
    return Path(said).expanduser().absolute() if said else None


def _name(version: str) -> str:
    return f"kafka-{version}"


def kafka_version(folder: Path) -> str:
    """The version of the Kafka whose jars a folder holds. Raises InputError if there is none."""
    for jar in sorted(folder.glob(f"{_CORE}*.jar")):
        if found := re.fullmatch(rf"{re.escape(_CORE)}(\d+(?:\.\d+)+)\.jar", jar.name):
            return found[1]
    raise InputError(str(folder), f"holds no Kafka (no {_CORE}VERSION.jar)")
