"""What a run planned anew: ``replan-1.json`` and so on beside the plan.

Such a file cannot be proven again: the cluster that it was planned for is not kept. Whether a run
may have written it is all that can be told.
"""

from __future__ import annotations

import os
import re
from collections.abc import Container
from pathlib import Path
from typing import Any

from partage.brokers.check.shape import COUNT, IDS, ONE, TEXT, Shape, misfit

_REPLAN: Shape = {
    "version": ONE,
    "without": [COUNT],
    "partitions": [{"topic": TEXT, "partition": COUNT, "replicas": IDS, "wave": COUNT}],
}


def replans(directory: str | os.PathLike[str]) -> list[Path]:
    """The files of what was planned anew, in the order of their numbers."""
    found = {
        int(match[1]): path
        for path in Path(directory).glob("replan-*.json")
        if (match := re.fullmatch(r"replan-(\d{1,9})\.json", path.name))
    }
    return [found[number] for number in sorted(found)]


def replan_problem(value: Any, changing: Container[tuple[str, int]]) -> str | None:
    """Why no run has written this, where the partitions ``changing`` were still to change."""
    problem = misfit(value, _REPLAN)
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
