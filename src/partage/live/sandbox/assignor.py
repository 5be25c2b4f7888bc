"""partage's assignor on the brokers of a sandbox: the jar of the Java module in ``java/``, and the
setting that offers it to groups (KIP-848)."""

from __future__ import annotations

from pathlib import Path

import partage
from partage.errors import InputError

JAR = Path(partage.__file__).resolve().parents[2] / "java" / "target" / "partage-assignor.jar"
"""Where ``make jar`` puts it in a clone."""

OLDEST_KAFKA = 4

SETTINGS = {"group.consumer.assignors": "uniform,range,partage.assignor.PartageAssignor"}
"""The broker's setting; a group that asks for none gets the first."""


def assignor_jar(kafka: str) -> Path:
    """The jar for brokers of this version. Raises InputError for a Kafka without such assignors,
    and if the jar is not built."""
    if int(kafka.partition(".")[0]) < OLDEST_KAFKA:
        raise InputError(
            "assignor", f"Kafka {kafka} takes no assignors on brokers: expected 4.0 or later"
        )
    if not JAR.is_file():
        raise InputError(
            "assignor", "partage-assignor.jar is not built: run make jar in a clone of partage"
        )
    return JAR
