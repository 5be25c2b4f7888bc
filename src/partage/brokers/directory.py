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
from typing import TYPE_CHECKING, Any

import numpy as np

from partage.brokers.figures import Placement
from partage.errors import InputError
from partage.files import check_writable_directory, to_json, write_directory

if TYPE_CHECKING:
    from partage.brokers.plan import Plan
    from partage.brokers.waves import Wave

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


def document(plan: Plan) -> dict[str, Any]:
    """plan.json as a value."""
    from partage import __version__

    problem, before, after = plan.problem, plan.before, plan.after
    rates = problem.bytes_per_second
    brokers = [
        broker | {"excluded": bool(problem.excluded[i]), "added": bool(problem.added[i])}
        for i, broker in enumerate(before.to_json()["brokers"])
    ]
    partitions = {
        "topic": before.topic.tolist(),
        "partition": before.partition.tolist(),
        "size_bytes": [None if s < 0 else s for s in before.size_bytes.tolist()],
        "bytes_per_second": None if rates is None else rates.tolist(),
        "chosen": problem.chosen.tolist(),
        "replication_factor": (
            before.replication_factor if problem.options.no_moves else problem.target
        ).tolist(),
        "before": before.replica_lists(),
        "after": after.replica_lists(),
    }
    value: dict[str, Any] = {
        "format_version": FORMAT_VERSION,
        "partage": __version__,
        "strategy": problem.options.strategy,
        "cluster_id": before.cluster_id,
        "changes": len(plan.changed) > 0,
        "options": problem.options.given(),
        "brokers": brokers,
        "topics": list(before.topics),
        "partitions": partitions,
        "figures": {
            "before": Placement(before, problem.usable).figures(),
            # how long it took is no property of the plan: the same input, the same bytes
            "after": {k: v for k, v in plan.figures.items() if k != "seconds"},
        },
        "binding": list(plan.binding),
        "gaps": plan.gaps,
        "loads": list(problem.loads),
        "warnings": list(plan.warnings),
        "certificate": {"stages": [stage.to_json() for stage in plan.stages]},
        "waves": [_wave(plan, i, wave) for i, wave in enumerate(plan.waves, start=1)],
    }
    value["fingerprint"] = fingerprint(value)
    return value


def _wave(plan: Plan, number: int, wave: Wave) -> dict[str, Any]:
    """A wave and its load, broker by broker."""
    return {
        "file": wave_name(number),
        "partitions": len(wave.rows),
        "moves": wave.moves,
        "bytes": wave.bytes,
        "seconds": wave.seconds,
        "brokers": plan.before.broker_ids[wave.brokers].tolist(),
        "replicas_in": wave.replicas_in.tolist(),
        "replicas_out": wave.replicas_out.tolist(),
        "bytes_in": None if wave.bytes_in is None else wave.bytes_in.tolist(),
        "bytes_out": None if wave.bytes_out is None else wave.bytes_out.tolist(),
    }


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


def contents(plan: Plan) -> dict[str, str]:
    """Every file of the directory but the report, by name."""
    changed = plan.changed
    reassignment = plan.after.to_reassignment(changed)
    files = {
        MARKER: to_json(plan.document()),
        REASSIGNMENT: to_json(reassignment),
        ROLLBACK: to_json(plan.before.to_reassignment(changed)),
    }
    # the changed partitions once, each wave a part of them: lists of all P would be made per wave
    entries = dict(zip(changed.tolist(), reassignment["partitions"], strict=True))
    for i, wave in enumerate(plan.waves, start=1):
        part = [entries[row] for row in np.sort(wave.rows).tolist()]
        files[wave_name(i)] = to_json({"version": 1, "partitions": part})
    return files


def check_writable(directory: str | os.PathLike[str]) -> None:
    """Say now, before long work, that ``write`` would refuse this directory. Raises InputError."""
    check_writable_directory(directory, MARKER, names=NAMES)
    if (Path(directory) / JOURNAL).exists():
        raise InputError(
            os.fspath(directory),
            f"was applied, and its {JOURNAL} is needed to resume it or roll it back: "
            "name another directory",
        )


def write(plan: Plan, directory: str | os.PathLike[str], beside: Mapping[str, str]) -> None:
    """Write the directory whole or not at all, with the files ``beside`` the plan's own. One with a
    journal is never replaced."""
    check_writable(directory)
    write_directory(directory, {**beside, **contents(plan)}, MARKER, NAMES)
