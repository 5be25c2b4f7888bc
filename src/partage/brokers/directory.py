"""The plan directory: plan.json, Kafka's reassignment and rollback files, and one file per wave.

plan.json has both placements, the options, the figures and the certificate: enough to verify the
plan without the cluster file. docs/plan-directory.md describes every field.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from partage.errors import InputError, shown

FORMAT_VERSION = 1
MARKER = "plan.json"
REASSIGNMENT, ROLLBACK, REPORT = "reassignment.json", "rollback.json", "report.html"
JOURNAL = "journal.jsonl"
"""What runs did to apply the plan; exists once one has begun."""

OVERRIDES = "overrides.json"
"""Settings of a run that were changed while it went on."""

COMPARE, MEASURED = "compare.json", "measured.json"
"""Optional input of the report besides the plan."""

SIZE = "size.json"
"""With a plan of ``partage size``: the number of brokers, its bounds and its figures."""


_AFTER = ("after", "log_dirs_after")
"""The columns that the plan decides."""


def fingerprint(value: dict[str, Any]) -> str:
    """SHA-256 over the cluster before the plan and the options; ``apply`` compares it."""
    part = value["partitions"]
    # plans of older versions have no ids of topics
    known = {key: value[key] for key in ("topic_ids", "clients") if key in value}
    found = known | {
        "cluster_id": value.get("cluster_id"),
        "brokers": value["brokers"],
        "topics": value["topics"],
        "options": value.get("options", {}),
        "partitions": {k: part[k] for k in sorted(part) if k not in _AFTER},
    }
    text = json.dumps(found, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def wave_name(number: int) -> str:
    """The file of wave ``number``, from 1."""
    return f"waves/{number:03d}.json"


def check_plan_directory(directory: str | os.PathLike[str]) -> None:
    """Raise InputError unless it is a plan directory."""
    path, name = Path(directory), os.fspath(directory)
    if path.is_dir():
        if not (path / MARKER).is_file():
            raise InputError(name, f"has no {MARKER}: not a plan directory")
    elif not path.exists():
        raise InputError(name, "no such directory, expected a plan directory")
    elif path.name == MARKER:
        raise InputError(name, f"is a file, expected the plan directory it is in: {path.parent}")
    else:
        problem = "is a file, expected a plan directory"
        raise InputError(name, f"{problem}: partage plan {shown(name)} -o plan/ makes one")


def check_writable(directory: str | os.PathLike[str]) -> None:
    """Raise InputError now, before long work, if ``write`` would refuse the directory."""
    if directory and os.path.lexists(Path(directory) / JOURNAL):
        raise InputError(
            os.fspath(directory),
            f"was applied, and its {JOURNAL} is needed to resume it or roll it back: "
            "name another directory",
        )
    from partage.outputs import check_directory

    check_directory(directory, MARKER)


def write(directory: str | os.PathLike[str], files: Mapping[str, str]) -> None:
    """Write the directory whole or not at all: text by file name. One with a journal is never
    replaced. Raises InputError."""
    from partage.outputs import write_directory

    check_writable(directory)
    write_directory(directory, files, MARKER)
