"""The jars of a Kafka: fetched once, with the Ivy that PySpark ships, and kept in the user's cache.

Ivy resolves what a broker needs at Maven Central and downloads it into a temporary folder, which
then takes its final name: a folder of that name is whole, and of several runs at once the first to
finish stays. Ivy's own cache goes with the temporary folder: nothing is left elsewhere.

``PARTAGE_KAFKA_JARS`` names a folder of jars to use instead, such as ``libs`` of Kafka's archive;
``PARTAGE_IVY_SETTINGS`` names a file of Ivy settings, for a mirror. Java reads what it needs for a
proxy from ``JAVA_TOOL_OPTIONS`` by itself.
"""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

from partage.errors import InputError, PartageError
from partage.java import find_java

KAFKA = "4.3.0"
"""The Kafka that a sandbox runs unless another is asked for."""

OWN_JARS = "PARTAGE_KAFKA_JARS"
IVY_SETTINGS = "PARTAGE_IVY_SETTINGS"

_CORE = "kafka_2.13-"

# Connect is most of what kafka-tools depends on, and nothing of it that we start needs it.
# log4j-slf4j-impl is in Kafka's archive, not among its dependencies: without it there is no log.
_IVY_FILE = """\
<ivy-module version="2.0">
  <info organisation="partage" module="sandbox"/>
  <configurations><conf name="broker"/></configurations>
  <dependencies defaultconf="broker->default">
    <dependency org="org.apache.kafka" name="kafka_2.13" rev="{version}"/>
    <dependency org="org.apache.kafka" name="kafka-tools" rev="{version}">
      <exclude org="org.apache.kafka" module="connect-runtime"/>
    </dependency>
    <dependency org="org.apache.logging.log4j" name="log4j-slf4j-impl" rev="2.25.4"/>
  </dependencies>
</ivy-module>
"""


def kafka_jars(version: str | None = None, tell: Callable[[str], None] = lambda _: None) -> Path:
    """The folder of the jars that run a broker of this version, fetched if need be.

    Raises InputError for a version that cannot be or a folder without a Kafka, PartageError where
    PySpark, Java or the network is missing.
    """
    if version is not None and not re.fullmatch(r"([4-9]|[1-9]\d)\.\d{1,3}\.\d{1,3}", version):
        raise InputError("--kafka", f"{version!r}: expected a version from 4.0.0 on, as {KAFKA}")
    if own := os.environ.get(OWN_JARS):
        folder = Path(own).expanduser().absolute()
        found = kafka_version(folder)
        if version not in (None, found):
            raise InputError("--kafka", f"{version}: the jars in {own} ({OWN_JARS}) are {found}")
        return folder
    version = version or KAFKA
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache").absolute() / "partage"
    folder = cache / f"kafka-{version}"
    if not folder.is_dir():
        try:
            _fetch(version, folder, tell)
        except OSError as error:
            raise PartageError(f"{cache}: Kafka's jars cannot be kept there ({error})") from None
    return folder


def kafka_version(folder: Path) -> str:
    """The version of the Kafka whose jars a folder holds. Raises InputError if there is none."""
    for jar in sorted(folder.glob(f"{_CORE}*.jar")):
        if found := re.fullmatch(rf"{re.escape(_CORE)}(\d+(?:\.\d+)+)\.jar", jar.name):
            return found[1]
    raise InputError(str(folder), f"holds no Kafka (no {_CORE}VERSION.jar)")


def _fetch(version: str, folder: Path, tell: Callable[[str], None]) -> None:
    """Fill ``folder``, whole or not at all."""
    ivy, java = _ivy(), find_java("Kafka") / "bin" / "java"
    settings = os.environ.get(IVY_SETTINGS)
    if settings and not Path(settings).is_file():
        raise InputError(IVY_SETTINGS, f"{settings}: no such file")
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{folder.name}.", dir=folder.parent) as temporary:
        there = Path(temporary)
        (there / "ivy.xml").write_text(_IVY_FILE.format(version=version), encoding="utf-8")
        command = [
            *(str(java), "-jar", str(ivy)),
            *(("-settings", settings) if settings else ()),
            *("-ivy", f"{there}/ivy.xml", "-cache", f"{there}/cache"),
            *("-retrieve", f"{there}/jars/[artifact]-[revision].[ext]"),
        ]
        tell(f"fetching Kafka {version}, this once: about a minute")
        _run(command, version, tell)
        try:
            (there / "jars").rename(folder)
        except OSError:
            if not folder.is_dir():  # otherwise another run was faster, with the same jars
                raise


def _run(command: list[str], version: str, tell: Callable[[str], None]) -> None:
    """Run Ivy to its end, telling how many files have come."""
    printed: list[str] = []
    jars = 0
    with subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    ) as ivy:
        try:
            for line in ivy.stdout or ():
                printed.append(line.strip())
                if line.startswith("downloading "):
                    jars += 1
                    tell(f"fetching Kafka {version}, this once: {jars} jars")
        except BaseException:
            ivy.kill()
            raise
    if ivy.returncode != 0:
        raise PartageError(_why(version, printed))


def _why(version: str, printed: list[str]) -> str:
    """Why Ivy failed, in one line."""
    start, own = f"Kafka {version} cannot be fetched", f"{OWN_JARS} can name a folder of its jars"
    for line in printed:
        if refused := re.search(r"error at url (https?://[^/\s]+)\S* \((.*)\)$", line):
            return f"{start} from {refused[1]} ({refused[2]}): {own}"
    missing = [line[3:] for line in printed if re.fullmatch(r":: \S+#\S+;\S+: .*", line)]
    last = [line for line in printed if line]
    return f"{start}: {missing[0] if missing else last[-1] if last else 'Ivy said nothing'}"


def _ivy() -> Path:
    spec = find_spec("pyspark")
    for place in (spec.submodule_search_locations or ()) if spec else ():
        for jar in sorted(Path(place).glob("jars/ivy-*.jar")):
            return jar
    raise PartageError(
        "fetching Kafka needs PySpark, which ships the tool for it: pip install 'partage[spark]', "
        f"or name a folder of Kafka's jars in {OWN_JARS}"
    )
