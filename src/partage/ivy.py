"""Jars out of Maven Central: fetched once, with the Ivy that PySpark ships, and kept in the user's
cache.

Ivy resolves what is asked for and downloads it into a temporary folder, which then takes its final
name: a folder of that name is whole, and of several runs at once the first to finish stays. Ivy's
own cache goes with the temporary folder: nothing is left elsewhere.

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

IVY_SETTINGS = "PARTAGE_IVY_SETTINGS"

_MODULE = """\
<ivy-module version="2.0">
  <info organisation="partage" module="jars"/>
  <configurations><conf name="wanted"/></configurations>
  <dependencies defaultconf="wanted->default">
{dependencies}
  </dependencies>
</ivy-module>
"""

Tell = Callable[[str], None]


def jars(
    name: str, dependencies: str, what: str, instead: str, tell: Tell = lambda _: None
) -> Path:
    """The folder ``name`` in the cache with the jars of these dependencies, fetched if need be.

    ``dependencies`` are Ivy's elements; ``what`` they are and what can be done ``instead`` of
    fetching them is for messages. Raises InputError for settings that are not there, PartageError
    where PySpark, Java, the network or a dependency is missing.
    """
    folder = kept(name)
    if not folder.is_dir():
        try:
            _fetch(folder, dependencies, what, instead, tell)
        except OSError as error:
            raise PartageError(f"{folder.parent}: {what} cannot be kept there ({error})") from None
    return folder


def kept(name: str) -> Path:
    """The folder ``name`` in the user's cache, whether it is there or not."""
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(cache).absolute() / "partage" / name


def _fetch(folder: Path, dependencies: str, what: str, instead: str, tell: Tell) -> None:
    """Fill ``folder``, whole or not at all."""
    ivy, java = _ivy(what, instead), find_java(what) / "bin" / "java"
    settings = os.environ.get(IVY_SETTINGS)
    if settings and not Path(settings).is_file():
        raise InputError(IVY_SETTINGS, f"{settings}: no such file")
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{folder.name}.", dir=folder.parent) as temporary:
        there = Path(temporary)
        module = _MODULE.format(dependencies=dependencies)
        (there / "ivy.xml").write_text(module, encoding="utf-8")
        command = [
            *(str(java), "-jar", str(ivy)),
            *(("-settings", settings) if settings else ()),
            *("-ivy", f"{there}/ivy.xml", "-cache", f"{there}/cache"),
            *("-retrieve", f"{there}/jars/[artifact]-[revision].[ext]"),
        ]
        tell(f"fetching {what}, this once: about a minute")
        _run(command, what, instead, tell)
        try:
            (there / "jars").rename(folder)
        except OSError:
            if not folder.is_dir():  # otherwise another run was faster, with the same jars
                raise


def _run(command: list[str], what: str, instead: str, tell: Tell) -> None:
    """Run Ivy to its end, telling how many files have come."""
    printed: list[str] = []
    come = 0
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
                    come += 1
                    tell(f"fetching {what}, this once: {come} jars")
        except BaseException:
            ivy.kill()
            raise
    if ivy.returncode != 0:
        raise PartageError(_why(what, instead, printed))


def _why(what: str, instead: str, printed: list[str]) -> str:
    """Why Ivy failed, in one line."""
    start = f"{what} cannot be fetched"
    for line in printed:
        if refused := re.search(r"error at url (https?://[^/\s]+)\S* \((.*)\)$", line):
            return f"{start} from {refused[1]} ({refused[2]}): {instead}"
    missing = [line[3:] for line in printed if re.fullmatch(r":: \S+#\S+;\S+: .*", line)]
    last = [line for line in printed if line]
    why = missing[0] if missing else last[-1] if last else "Ivy said nothing"
    return f"{start}: {why}"


def _ivy(what: str, instead: str) -> Path:
    spec = find_spec("pyspark")
    for place in (spec.submodule_search_locations or ()) if spec else ():
        for jar in sorted(Path(place).glob("jars/ivy-*.jar")):
            return jar
    raise PartageError(
        f"fetching {what} needs PySpark, which ships the tool for it: pip install "
        f"'partage[spark]'; or {instead}"
    )
