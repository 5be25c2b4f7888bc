"""Build java/target/partage-assignor.jar and run its tests, unless it is newer than its sources.

Needs a JDK of Java 17 or later. Uses the Maven on the PATH; without one, downloads it once from
Maven Central into .tools, compared with its SHA-256.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from urllib.request import urlopen
from zipfile import ZipFile

from partage.errors import PartageError
from partage.jars import mirror
from partage.java import OLDEST_JAVA, java_version

ROOT = Path(__file__).resolve().parent.parent
JAVA = ROOT / "java"
JAR = JAVA / "target" / "partage-assignor.jar"
MAVEN = "3.9.9"
MAVEN_SHA256 = "4ec3f26fb1a692473aea0235c300bd20f0f9fe741947c82c1234cefd76ac3a3c"


def build() -> Path:
    """The jar, newer than its sources. Raises PartageError."""
    sources = [JAVA / "pom.xml", *(path for path in (JAVA / "src").rglob("*") if path.is_file())]
    if JAR.exists() and all(path.stat().st_mtime < JAR.stat().st_mtime for path in sources):
        return JAR
    home = jdk()
    command = [maven(), "--batch-mode", "--quiet", "-f", str(JAVA / "pom.xml"), "package"]
    environment = {**os.environ, "JAVA_HOME": str(home)}
    # Maven prints nothing but problems
    if subprocess.run(command, env=environment, stdout=sys.stderr).returncode != 0:
        raise PartageError(f"{JAVA.name}: Maven's build or a test failed")
    # newer than the sources also where nothing had to be compiled
    JAR.touch()
    return JAR


def jdk() -> Path:
    """The home of a JDK that is new enough. Raises PartageError that says what to install."""
    homes = [Path(os.environ["JAVA_HOME"])] if os.environ.get("JAVA_HOME") else []
    if compiler := shutil.which("javac"):
        homes.append(Path(compiler).resolve().parent.parent)
    homes += sorted(Path("/usr/lib/jvm").glob("*"))
    homes += sorted(Path("/Library/Java/JavaVirtualMachines").glob("*/Contents/Home"))
    for home in homes:
        if (home / "bin" / "javac").exists() and java_version(home) >= OLDEST_JAVA:
            return home
    raise PartageError(
        f"the jar needs a JDK of Java {OLDEST_JAVA} or later: install one, for example "
        f"openjdk-{OLDEST_JAVA}-jdk-headless, or set JAVA_HOME"
    )


def maven() -> str:
    """The command of Maven. Raises PartageError if it cannot be downloaded."""
    if found := shutil.which("mvn"):
        return found
    home = ROOT / ".tools" / f"apache-maven-{MAVEN}"
    if not home.exists():
        _download(home)
    return str(home / "bin" / "mvn")


def _download(home: Path) -> None:
    path = f"org/apache/maven/apache-maven/{MAVEN}/apache-maven-{MAVEN}-bin.zip"
    address = f"{mirror()}/{path}"
    home.parent.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=home.parent) as temporary:
        archive = Path(temporary) / "maven.zip"
        try:
            with urlopen(address, timeout=60) as answer:
                archive.write_bytes(answer.read())
        except (OSError, ValueError) as error:
            raise PartageError(
                f"Maven cannot be downloaded from {address} ({error}): install maven"
            ) from None
        digest = hashlib.sha256(archive.read_bytes()).hexdigest()
        if digest != MAVEN_SHA256:
            raise PartageError(f"{address}: SHA-256 is {digest}, expected {MAVEN_SHA256}: not kept")
        with ZipFile(archive) as content:
            content.extractall(temporary)
        unpacked = Path(temporary) / home.name
        (unpacked / "bin" / "mvn").chmod(0o755)
        unpacked.replace(home)


if __name__ == "__main__":
    try:
        print(build().relative_to(ROOT))
    except PartageError as problem:
        sys.exit(f"partage: {problem}")
