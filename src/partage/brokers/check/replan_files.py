"""The files ``replan-1.json`` and so on: what a run replanned while it applied the plan.

They cannot be verified in full, because the cluster that they were planned for is not stored. What
can be verified is that a run may have written them.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sized
from pathlib import Path
from typing import Any

from partage.brokers.check.schema import COUNT, IDS, ONE, TEXT, Schema, mismatch

REPLAN: Schema = {
    "version": ONE,
    "without": [COUNT],
    "partitions": [{"topic": TEXT, "partition": COUNT, "replicas": IDS, "wave": COUNT}],
}

_NAME = re.compile(r"replan-([1-9]\d{0,8})\.json")


def replans(directory: str | os.PathLike[str]) -> list[Path]:
    """The replan files of a plan directory, in the order of their numbers."""
    found = [path for path in Path(directory).glob("replan-*.json") if _NAME.fullmatch(path.name)]
    return sorted(found, key=replan_number)


def replan_number(file: Path) -> int:
    """The number in the name of a replan file."""
    match = _NAME.fullmatch(file.name)
    assert match is not None
    return int(match[1])


def replan_problem(
    value: Any, changing: Mapping[tuple[str, int], Sized], excluded: Iterable[int]
) -> str | None:
    """Why no run can have written this value; None if one can.

    ``changing``: the replicas that partitions (topic, partition) were to get that had still to
    change, of which a run keeps the number; ``excluded``: brokers that must not get any.
    """
    problem = mismatch(value, REPLAN)
    if problem is not None:
        return problem
    forbidden = {*excluded, *value["without"]}
    seen = set()
    for entry in value["partitions"]:
        key, replicas = (entry["topic"], entry["partition"]), entry["replicas"]
        name = f"{key[0]}-{key[1]}"
        if key not in changing:
            return f"the plan does not change {name}"
        if key in seen:
            return f"{name} is listed twice"
        if len(replicas) != len(changing[key]):
            return f"{name} has {len(replicas)} replicas, expected {len(changing[key])}"
        if unusable := sorted(forbidden.intersection(replicas)):
            return f"{name} has a replica on broker {unusable[0]}, which is dead or excluded"
        seen.add(key)
    return None
