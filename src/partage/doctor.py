"""Check what partage needs on this machine: Python, extras, Java, jars, a reachable Kafka.

Something that is not found is *missing* if an installed extra or an option requires it. Otherwise
it is *absent*, which is not an error: most of partage works without. Either way the finding has
advice. Versions are read from package metadata, without importing the packages.
"""

from __future__ import annotations

import os
import platform
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import partage
from partage.errors import InputError, PartageError
from partage.installation import PACKAGE, adding, installed_version, requirements
from partage.jars import MIRROR, mirror
from partage.java import OLDEST_JAVA, find_java, java_version

State = Literal["ok", "missing", "absent"]

EXTRAS = {
    "spark": "profile, keys, history, what-if, watch, demo",
    "connect": "--master sc://HOST",
    "kafka": "a running Kafka, and kafka-python's consumers and producers",
    "aiokafka": "aiokafka's consumers and producers",
}
"""What needs each extra."""


@dataclass(frozen=True)
class Finding:
    """One check: its name, state, what was found, and what to do about it."""

    name: str
    state: State
    found: str
    advice: str = ""


def examine(servers: str | None = None, config: str | None = None) -> list[Finding]:
    """All checks except those of the command line itself. ``servers`` and ``config`` name a Kafka
    as ``Connection.of`` takes them; without them none is contacted."""
    release = f"{partage.__version__}, Python {platform.python_version()}"
    installed = list(extras())
    spark = any(one.name == "spark" and one.state == "ok" for one in installed)
    return [
        Finding("partage", "ok", release),
        *installed,
        java(needed=spark),
        *jars(spark),
        *kafka(servers, config),
    ]


def extras() -> Iterator[Finding]:
    """Each extra, by its packages."""
    for extra, use in EXTRAS.items():
        wanted = requirements(PACKAGE, extra)
        found = [(name, installed_version(name)) for name, _ in wanted]
        wrong = [
            f"{name} {version}, expected {limits}"
            for (name, version), (_, limits) in zip(found, wanted, strict=True)
            if version is not None and not within(version, limits)
        ]
        absent = [name for name, version in found if version is None]
        if absent:
            missing = f"without {', '.join(absent)}: needed for {use}"
            yield Finding(extra, "absent", missing, adding(extra))
        elif wrong:
            yield Finding(extra, "missing", "; ".join(wrong), adding(extra))
        else:
            yield Finding(extra, "ok", ", ".join(f"{name} {version}" for name, version in found))


def java(needed: bool) -> Finding:
    """A Java that is new enough for Spark 4 and Kafka 4."""
    try:
        home = find_java("Spark")
    except PartageError:
        return Finding(
            "Java",
            "missing" if needed else "absent",
            f"none of version {OLDEST_JAVA} or later",
            "install a JDK, for example openjdk-17-jre-headless, or set JAVA_HOME: Spark and the "
            "sandbox need it",
        )
    return Finding("Java", "ok", f"{java_version(home)}, {home}")


def jars(spark: bool) -> Iterator[Finding]:
    """Jars that are downloaded when first needed: Spark's Kafka connector, Kafka itself."""
    try:
        mirror()
    except InputError as error:
        yield Finding(MIRROR, "missing", error.problem, "correct the variable, or unset it")
    if spark:
        from partage.pipeline.sources.kafka import connector_at_hand

        yield _jars("connector", connector_at_hand, "when a kafka:// URL is first read")
    from partage.live.sandbox.jars import kafka_at_hand

    yield _jars("sandbox", kafka_at_hand, "by the first partage sandbox up")


def _jars(name: str, look: Callable[[], Path | None], when: str) -> Finding:
    try:
        folder = look()
    except PartageError as error:
        variable = isinstance(error, InputError)
        advice = (
            "name another folder, or unset the variable" if variable else "then run doctor again"
        )
        return Finding(name, "missing", str(error), advice)
    if folder is None:
        return Finding(name, "absent", f"no jars yet: downloaded {when}")
    return Finding(name, "ok", f"jars in {folder}")


def kafka(servers: str | None, config: str | None) -> Iterator[Finding]:
    """The cluster that the arguments or the environment name, if any, and what it allows."""
    if not (servers or config or os.environ.get("PARTAGE_BOOTSTRAP_SERVERS")):
        yield Finding("Kafka", "absent", "none was named", "--bootstrap-server HOST:PORT")
        return
    if installed_version("kafka-python") is None:
        yield Finding("Kafka", "missing", "kafka-python is not installed", adding("kafka"))
        return
    from partage.live.admin.cluster_info import read_cluster_info
    from partage.live.admin.connection import Connection
    from partage.live.execution.capabilities import read_capabilities

    try:
        with Connection.of(servers, config).admin() as admin:
            found = read_cluster_info(admin)
            allowed = list(read_capabilities(admin))
    except PartageError as error:
        advice = "correct --bootstrap-server or --command-config: see the listeners"
        yield Finding("Kafka", "missing", str(error), advice)
        return
    dead = found.brokers - found.alive
    yield Finding(
        "Kafka",
        "ok",
        f"{'/'.join(found.releases) or 'unknown release'}, cluster {found.cluster_id}, "
        f"{found.alive} of {found.brokers} brokers alive",
        f"{dead} of them do not reach the controller: check these first" if dead else "",
    )
    for one in allowed:
        if one.problem is None:
            yield Finding(one.name, "ok", "allowed")
        else:
            yield Finding(one.name, "absent", one.problem, one.without)


def within(version: str, limits: str) -> bool:
    """Whether ``4.2.0`` is within ``<5,>=4.1``; compares release numbers only."""

    def numbers(text: str) -> list[int]:
        return [int(part) for part in re.findall(r"\d+", re.split(r"[^\d.]", text)[0])]

    for sign, limit in re.findall(r"(>=|<)\s*([\d.]+)", limits):
        if (numbers(version) >= numbers(limit)) is (sign == "<"):
            return False
    return True
