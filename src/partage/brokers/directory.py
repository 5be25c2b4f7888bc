"""The plan directory: plan.json, Kafka's reassignment and rollback files, and one file per wave.

plan.json has both placements, the options, the figures and the certificate: enough to verify the
plan without the cluster file. docs/plan-directory.md describes every field.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from partage.errors import InputError, shown
from partage.printable import printable_json

FORMAT_VERSION = 1
MARKER = "plan.json"
NO_VERSION = "has no format_version: expected a file that partage plan wrote"
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

_OF_INTEGERS = {
    *("topic", "partition", "size_bytes", "copy_bytes", "chosen", "replication_factor"),
    *("before", "log_dirs_before", *_AFTER),
}
"""The columns of integers, lists of them, and of true, false and null."""


def fingerprint(value: dict[str, Any]) -> str:
    """SHA-256 over the cluster before the plan and the options; ``apply`` compares it."""
    from hashlib import sha256

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
    return sha256(_text(found, ascii_only=True).encode()).hexdigest()


def plan_text(value: dict[str, Any]) -> str:
    """The text of plan.json with this value."""
    return printable_json(_text(value, ascii_only=False)) + "\n"


def _text(value: dict[str, Any], *, ascii_only: bool) -> str:
    """Compact JSON of a plan, as ``json.dumps`` writes it. ``ascii_only``: with sorted keys, too.

    Columns of integers, most of the text, are the same from msgspec, which takes a tenth of the
    time; numbers with decimals and text may differ.
    """

    def dumped(part: Any) -> str:
        return json.dumps(
            part,
            separators=(",", ":"),
            allow_nan=False,
            ensure_ascii=ascii_only,
            sort_keys=ascii_only,
        )

    def joined(texts: dict[str, str]) -> str:
        keys = sorted(texts) if ascii_only else list(texts)
        return "{" + ",".join(f"{dumped(key)}:{texts[key]}" for key in keys) + "}"

    columns = {
        name: msgspec.json.encode(column).decode() if name in _OF_INTEGERS else dumped(column)
        for name, column in value["partitions"].items()
    }
    parts = {key: joined(columns) if key == "partitions" else dumped(value[key]) for key in value}
    return joined(parts)


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
