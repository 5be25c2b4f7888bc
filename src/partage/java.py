"""Find a Java on this machine, or report what to install."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

from partage.errors import PartageError

OLDEST_JAVA = 17
"""Spark 4 and Kafka 4 need Java 17 or later."""


def find_java(needed_by: str) -> Path:
    """The home of a Java that is new enough: from JAVA_HOME, PATH or the usual folders.

    Raises PartageError that names what to install.
    """
    homes = [Path(os.environ["JAVA_HOME"])] if os.environ.get("JAVA_HOME") else []
    if on_path := shutil.which("java"):
        homes.append(Path(on_path).resolve().parent.parent)
    homes += sorted(Path("/usr/lib/jvm").glob("*"))
    homes += sorted(Path("/Library/Java/JavaVirtualMachines").glob("*/Contents/Home"))
    found = ""
    for home in homes:
        version = java_version(home)
        if version >= OLDEST_JAVA:
            return home
        if version and not found:
            found = f" ({home} is Java {version})"
    raise PartageError(
        f"{needed_by} needs Java {OLDEST_JAVA} or later, and none was found{found}: install a JDK, "
        "for example openjdk-17-jre-headless, or set JAVA_HOME"
    )


def java_version(home: Path) -> int:
    """The feature release of the Java at ``home``; 0 if there is none."""
    java = home / "bin" / "java"
    if not os.access(java, os.X_OK):
        return 0
    try:
        text = (home / "release").read_text(encoding="utf-8", errors="replace")
    except OSError:
        try:
            run = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=20)
        except (OSError, subprocess.SubprocessError):
            return 0
        text = run.stderr
    found = re.search(r'(?:JAVA_VERSION=|version )"(?:1\.)?(\d+)', text)
    return int(found[1]) if found else 0
