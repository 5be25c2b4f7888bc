"""What partage has to work with here: Python, the extras, Java, jars, a Kafka that answers.

What is not there is *missing* where something that is there, or was asked for, needs it; otherwise
it is *absent*, which is no fault: most of partage needs none of it. Either way the finding says
what to do. Versions are read from what is installed, without importing it.
"""

from __future__ import annotations

import os
import platform
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Literal

import partage
from partage.errors import PartageError
from partage.ivy import IVY_SETTINGS
from partage.java import OLDEST_JAVA, find_java, java_version

State = Literal["ok", "missing", "absent"]

EXTRAS = {
    "spark": "profile, keys, history, what-if, watch, demo",
    "connect": "--master sc://HOST",
    "kafka": "a running Kafka, and kafka-python's consumers and producers",
    "aiokafka": "aiokafka's consumers and producers",
}
"""The extras, and what needs them."""

_EXTRA = re.compile(
    r"""(?P<name>[\w.-]+)(\[(?P<inner>\w+)\])?(?P<limits>[^;]*); extra == ['"](?P<extra>\w+)['"]"""
)


@dataclass(frozen=True)
class Finding:
    """One thing that was looked for: its state, what was found, and what to do about it."""

    name: str
    state: State
    found: str
    advice: str = ""


def examine(servers: str | None = None, config: str | None = None) -> list[Finding]:
    """Everything but what only the command line knows. A Kafka is asked for where one is named, as
    ``Connection.of`` takes it."""
    release = f"{partage.__version__}, Python {platform.python_version()}"
    installed = list(extras())
    spark = any(one.name == "spark" and one.state == "ok" for one in installed)
    return [
        Finding("partage", "ok", release),
        *installed,
        java(needed=spark),
        *jars(spark),
        kafka(servers, config),
    ]


def extras() -> Iterator[Finding]:
    """Each extra, by the packages that it is made of."""
    for extra, use in EXTRAS.items():
        wanted = list(requirements("partage", extra))
        there = [(name, _installed(name)) for name, _ in wanted]
        wrong = [
            f"{name} {version}, needed is {limits}"
            for (name, version), (_, limits) in zip(there, wanted, strict=True)
            if version is not None and not within(version, limits)
        ]
        lacking = [name for name, version in there if version is None]
        install = f"pip install 'partage[{extra}]'"
        if wrong:
            yield Finding(extra, "missing", "; ".join(wrong), install)
        elif lacking:
            yield Finding(extra, "absent", f"without {', '.join(lacking)}", f"{install}, for {use}")
        else:
            yield Finding(extra, "ok", ", ".join(f"{name} {version}" for name, version in there))


def java(needed: bool) -> Finding:
    """A Java that is new enough for Spark 4 and Kafka 4."""
    try:
        home = find_java("Spark")
    except PartageError:
        return Finding(
            "Java",
            "missing" if needed else "absent",
            f"none of version {OLDEST_JAVA} or newer",
            "install a JDK, for example openjdk-17-jre-headless, or set JAVA_HOME: Spark and the "
            "sandbox need it",
        )
    return Finding("Java", "ok", f"{java_version(home)}, {home}")


def jars(spark: bool) -> Iterator[Finding]:
    """Those that are fetched when they are first needed: Spark's Kafka connector, Kafka itself."""
    settings = os.environ.get(IVY_SETTINGS)
    if settings and not Path(settings).is_file():
        yield Finding(IVY_SETTINGS, "missing", f"{settings}: no such file", "correct it")
    if spark:
        from partage.pipeline.sources.kafka import connector_at_hand

        yield _jars("connector", connector_at_hand, "by the first kafka:// that is read")
    from partage.live.sandbox.jars import jars_at_hand

    yield _jars("sandbox", jars_at_hand, "by the first partage sandbox up")


def _jars(name: str, look: Callable[[], Path | None], when: str) -> Finding:
    try:
        folder = look()
    except PartageError as error:
        return Finding(name, "missing", str(error), "name another folder, or none")
    if folder is None:
        return Finding(name, "absent", f"no jars yet: fetched {when}")
    return Finding(name, "ok", f"jars in {folder}")


def kafka(servers: str | None, config: str | None) -> Finding:
    """The cluster that is asked for, if one is."""
    asked = servers or config or os.environ.get("PARTAGE_BOOTSTRAP_SERVERS")
    if not asked:
        return Finding("Kafka", "absent", "none was named", "--bootstrap-server HOST:PORT")
    if _installed("kafka-python") is None:
        return Finding(
            "Kafka", "missing", "no client to ask it with", "pip install 'partage[kafka]'"
        )
    from partage.live.admin.connection import Connection
    from partage.live.admin.reach import reach

    try:
        with Connection.of(servers, config).admin() as admin:
            found = reach(admin)
    except PartageError as error:
        advice = "compare --bootstrap-server and --command-config with the brokers' listeners"
        return Finding("Kafka", "missing", str(error), advice)
    dead = found.brokers - found.alive
    return Finding(
        "Kafka",
        "ok",
        f"{'/'.join(found.releases) or 'unknown release'}, cluster {found.cluster_id}, "
        f"{found.alive} of {found.brokers} brokers alive",
        f"{dead} of them do not answer the controller: look there first" if dead else "",
    )


def requirements(package: str, extra: str) -> Iterator[tuple[str, str]]:
    """(package, limits of its version) of an extra, those of extras that it asks for included."""
    try:
        lines: Sequence[str] = metadata.requires(package) or ()
    except metadata.PackageNotFoundError:
        return
    for line in lines:
        said = _EXTRA.fullmatch(line.strip())
        if said is not None and said["extra"] == extra:
            yield said["name"], said["limits"].strip()
            if said["inner"]:
                yield from requirements(said["name"], said["inner"])


def within(version: str, limits: str) -> bool:
    """Whether ``4.2.0`` keeps ``<5,>=4.1``: releases by their numbers, nothing else is judged."""

    def numbers(text: str) -> list[int]:
        return [int(part) for part in re.findall(r"\d+", re.split(r"[^\d.]", text)[0])]

    for sign, limit in re.findall(r"(>=|<)\s*([\d.]+)", limits):
        if (numbers(version) >= numbers(limit)) is (sign == "<"):
            return False
    return True


def _installed(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None
