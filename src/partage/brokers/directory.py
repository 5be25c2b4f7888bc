"""The plan directory: plan.json, Kafka's reassignment and rollback files, and one file per wave.

plan.json holds both placements, what was asked, the figures and the certificate: enough to judge
the plan without the cluster file it came from. See docs/plan-directory.md for every field.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from partage.errors import InputError
from partage.files import check_writable_directory, write_directory

FORMAT_VERSION = 1
MARKER = "plan.json"
REASSIGNMENT, ROLLBACK, REPORT = "reassignment.json", "rollback.json", "report.html"
JOURNAL = "journal.jsonl"
"""What runs did to apply the plan; exists once one has begun."""

OVERRIDES = "overrides.json"
"""Settings of a run that were changed while it went on."""

COMPARE, MEASURED = "compare.json", "measured.json"
"""What the report shows besides the plan, where it is known."""

NAMES = (
    *(MARKER, REASSIGNMENT, ROLLBACK, "waves", REPORT, COMPARE, MEASURED),
    *(JOURNAL, OVERRIDES, "replan-*.json"),
)
"""All that partage ever puts into a plan directory."""


def fingerprint(value: dict[str, Any]) -> str:
    """SHA-256 over the cluster as it was and what was asked: what ``apply`` must find again."""
    part = value["partitions"]
    found = {
        "cluster_id": value.get("cluster_id"),
        "brokers": value["brokers"],
        "topics": value["topics"],
        "options": value["options"],
        "partitions": {k: part[k] for k in sorted(part) if k != "after"},
    }
    text = json.dumps(found, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def wave_name(number: int) -> str:
    """File of the wave ``number``, from 1."""
    return f"waves/{number:03d}.json"


def check_writable(directory: str | os.PathLike[str]) -> None:
    """Say now, before long work, that ``write`` would refuse this directory. Raises InputError."""
    check_writable_directory(directory, MARKER, names=NAMES)
    if (Path(directory) / JOURNAL).exists():
        raise InputError(
            os.fspath(directory),
            f"was applied, and its {JOURNAL} is needed to resume it or roll it back: "
            "name another directory",
        )


def write(directory: str | os.PathLike[str], files: Mapping[str, str]) -> None:
    """Write the files whole or not at all, name to text. A directory with a journal is never
    replaced. Raises InputError."""
    check_writable(directory)
    write_directory(directory, files, MARKER, NAMES)
