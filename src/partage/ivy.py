"""Jars from Maven Central, downloaded once with PySpark's Ivy into the user's cache.

Ivy resolves the dependencies and downloads them into a temporary folder, which is then renamed: a
folder with the final name is complete, and of several runs at once the first to finish wins. Ivy's
own cache is in the temporary folder too, so nothing is left elsewhere.

``PARTAGE_IVY_SETTINGS`` names a file of Ivy settings, for a mirror. For a proxy, Java reads
``JAVA_TOOL_OPTIONS``.
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

Progress = Callable[[str], None]


def fetched_jars(
    name: str, dependencies: str, what: str, instead: str, progress: Progress = lambda _: None
) -> Path:
    """The folder ``name`` in the cache with the jars of these dependencies, downloaded if
    necessary.

    ``dependencies``: Ivy's XML elements; ``what`` they are, and what to do ``instead`` of
    downloading them, is for messages. Raises InputError if the Ivy settings are missing,
    PartageError if PySpark, Java, the network or a dependency is.
    """
    folder = cache_folder(name)
    if not folder.is_dir():
        try:
            _fetch(folder, dependencies, what, instead, progress)
        except OSError as error:
            raise PartageError(
                f"{folder.parent}: {what} cannot be written there ({error})"
            ) from None
    return folder


def cache_folder(name: str) -> Path:
    """The folder ``name`` in the user's cache; it may not exist yet."""
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(cache).absolute() / "partage" / name


def _fetch(folder: Path, dependencies: str, what: str, instead: str, progress: Progress) -> None:
    """Fill ``folder`` completely or not at all."""
    ivy, java = _ivy(what, instead), find_java(what) / "bin" / "java"
    settings = os.environ.get(IVY_SETTINGS)
    if settings and not Path(settings).is_file():
        raise InputError(IVY_SETTINGS, f"{settings}: no such file")
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{folder.name}.", dir=folder.parent) as temporary:
        work = Path(temporary)
        module = _MODULE.format(dependencies=dependencies)
        (work / "ivy.xml").write_text(module, encoding="utf-8")
        command = [
            *(str(java), "-jar", str(ivy)),
            *(("-settings", settings) if settings else ()),
            *("-ivy", f"{work}/ivy.xml", "-cache", f"{work}/cache"),
            *("-retrieve", f"{work}/jars/[artifact]-[revision].[ext]"),
        ]
        progress(f"downloading {what}, once: about a minute")
        _run(command, what, instead, progress)
        try:
            (work / "jars").rename(folder)
        except OSError:
            if not folder.is_dir():  # otherwise another run has just renamed the same jars
                raise


def _run(command: list[str], what: str, instead: str, progress: Progress) -> None:
    """Run Ivy to its end, reporting how many files it has downloaded."""
    printed: list[str] = []
    downloaded = 0
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
                    downloaded += 1
                    progress(f"downloading {what}, once: {downloaded} jars")
        except BaseException:
            ivy.kill()
            raise
    if ivy.returncode != 0:
        raise PartageError(_failure(what, instead, printed))


def _failure(what: str, instead: str, printed: list[str]) -> str:
    """Why Ivy failed, in one line."""
    start = f"{what} cannot be downloaded"
    for line in printed:
        if refused := re.search(r"error at url (https?://[^/\s]+)\S* \((.*)\)$", line):
            return f"{start} from {refused[1]} ({refused[2]}): {instead}"
    missing = [line[3:] for line in printed if re.fullmatch(r":: \S+#\S+;\S+: .*", line)]
    last = [line for line in printed if line]
    why = missing[0] if missing else last[-1] if last else "Ivy printed nothing"
    return f"{start}: {why}"


def _ivy(what: str, instead: str) -> Path:
    spec = find_spec("pyspark")
    for place in (spec.submodule_search_locations or ()) if spec else ():
        for jar in sorted(Path(place).glob("jars/ivy-*.jar")):
            return jar
    raise PartageError(
        f"downloading {what} needs PySpark, which contains Ivy: pip install 'partage[spark]'; or "
        f"{instead}"
    )
