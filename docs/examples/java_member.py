"""Run JavaMember.java with the sandbox's jars, for ``live_groups.py --client java``.

It is compiled once, into a folder of the system's temporary files. Needs a JDK.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from partage.java import find_java
from partage.live.sandbox.jars import kafka_jars

SOURCE = Path(__file__).with_name("JavaMember.java")


def compiled(java: Path, jars: Path) -> Path:
    """The folder of the class."""
    version = hashlib.sha256(SOURCE.read_bytes() + str(jars).encode()).hexdigest()[:12]
    folder = Path(tempfile.gettempdir()) / f"partage-java-member-{os.getuid()}-{version}"
    if not folder.exists():
        made = Path(tempfile.mkdtemp(prefix="partage-java-member-"))
        subprocess.run([java / "bin" / "javac", "-cp", f"{jars}/*", "-d", made, SOURCE], check=True)
        try:
            made.rename(folder)
        except OSError:  # another member was faster
            return made
    return folder


if __name__ == "__main__":
    java, jars = find_java("a Java member"), kafka_jars()
    words = ["-cp", f"{compiled(java, jars)}:{jars}/*", "-Xmx128m", "-XX:TieredStopAtLevel=1"]
    os.execv(java / "bin" / "java", ["java", *words, SOURCE.stem, sys.argv[1]])
