"""Kafka's own assignors (RunAssignors.java), compiled on first use beside the other peers."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

import environments  # noqa: E402

Json = dict[str, Any]


def command() -> list[str]:
    """The runner's command. Raises environments.UnavailableError where it cannot be had."""
    source = HERE / "RunAssignors.java"

    def make(folder: Path) -> None:
        for path, digest in environments.JARS.items():
            environments._download(environments.MAVEN + path, folder / Path(path).name, digest)
        compiler = environments._tool("javac")
        environments._call([compiler, "-cp", f"{folder}/*", "-d", str(folder), str(source)])

    made_of = source.read_text(encoding="utf-8") + "".join(environments.JARS.values())
    digest = hashlib.sha256(made_of.encode()).hexdigest()[:8]
    folder = environments._made(f"assignors-{environments.KAFKA}-{digest}", make)
    classes = f"{folder}{os.pathsep}{folder}/*"
    return [environments._tool("java"), "-cp", classes, "RunAssignors"]


def answers(groups: Iterable[tuple[str, Json]], seconds: float = 600) -> list[Json]:
    """What Kafka's assignor of each name says to each group."""
    lines = [json.dumps({"assignor": name, **group}) for name, group in groups]
    done = subprocess.run(
        command(),
        input="\n".join(lines) + "\n",
        capture_output=True,
        text=True,
        timeout=seconds,
        check=True,
    )
    return [json.loads(line) for line in done.stdout.splitlines()]
