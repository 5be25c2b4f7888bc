"""Kafka's jars, from Maven Central or from your own folder.

``PARTAGE_KAFKA_JARS`` names a folder of jars to use instead of downloading them, such as ``libs``
in Kafka's release archive.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path

from partage.errors import InputError
from partage.jars import fetched_jars, jars_at_hand, locked_versions

KAFKA = "4.3.0"
"""The version that a sandbox runs by default."""

OWN_JARS = "PARTAGE_KAFKA_JARS"

_CORE = "kafka_2.13-"


def kafka_jars(
    version: str | None = None, progress: Callable[[str], None] = lambda _: None
) -> Path:
    """The folder of the jars that run a broker of this version, downloaded if necessary.

    Raises InputError for a version without a lock file or a folder without Kafka's jars,
    PartageError if the jars cannot be downloaded or are not the locked ones.
    """
    if own := own_jars():
        found = kafka_version(own)
        if version not in (None, found):
            raise InputError("kafka", f"{version}: the jars in {own} ({OWN_JARS}) are {found}")
        return own
    version = KAFKA if version is None else version
    if version not in (known := locked_versions("kafka")):
        raise InputError(
            "kafka",
            f"{version!r}: expected one of {', '.join(known)}; {OWN_JARS} can name a folder with "
            "the jars of another version",
        )
    what, instead = f"Kafka {version}", f"{OWN_JARS} can name a folder of its jars"
    return fetched_jars(_name(version), what, instead, progress)


def kafka_at_hand() -> Path | None:
    """The folder of the default version's jars, None if they are not downloaded yet. Raises
    InputError if ``PARTAGE_KAFKA_JARS`` names a folder without Kafka's jars, PartageError if jars
    are not the locked ones."""
    if own := own_jars():
        kafka_version(own)
        return own
    return jars_at_hand(_name(KAFKA), f"Kafka {KAFKA}")


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
