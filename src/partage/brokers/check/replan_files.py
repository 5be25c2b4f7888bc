"""The files ``replan-1.json`` and so on: what a run replanned while it applied the plan.

They cannot be verified in full, because the cluster that they were planned for is not stored. What
can be verified is that a run may have written them.
"""

from __future__ import annotations

import os
import re
from collections.abc import Container
from pathlib import Path
from typing import Any

from partage.brokers.check.schema import COUNT, IDS, ONE, TEXT, Schema, mismatch

_REPLAN: Schema = {
    "version": ONE,
    "without": [COUNT],
    "partitions": [{"topic": TEXT, "partition": COUNT, "replicas": IDS, "wave": COUNT}],
}


def replans(directory: str | os.PathLike[str]) -> list[Path]:
    """The replan files of a plan directory, in the order of their numbers."""
    found = {
        int(match[1]): path
        for path in Path(directory).glob("replan-*.json")
        if (match := re.fullmatch(r"replan-(\d{1,9})\.json", path.name))
    }
    return [found[number] for number in sorted(found)]


def replan_problem(value: Any, changing: Container[tuple[str, int]]) -> str | None:
    """Why no run can have written this value, while the partitions ``changing`` (topic, partition)
    were still to change; None if a run can."""
    problem = mismatch(value, _REPLAN)
    if problem is not None:
        return problem
    seen = set()
    for entry in value["partitions"]:
        key = entry["topic"], entry["partition"]
        if key not in changing:
            return f"the plan does not change {key[0]}-{key[1]}"
        if key in seen:
            return f"{key[0]}-{key[1]} is listed twice"
        seen.add(key)
    return None
