"""Cluster files as they are after a plan was executed."""

from __future__ import annotations

import json
from pathlib import Path


def after_plan(cluster: Path, directory: Path) -> str:
    """The text of the cluster file with the replicas of a plan directory's reassignment.json."""
    value = json.loads(cluster.read_text(encoding="utf-8"))
    moved = json.loads((directory / "reassignment.json").read_text(encoding="utf-8"))
    lists = {(one["topic"], one["partition"]): one["replicas"] for one in moved["partitions"]}
    for one in value["partitions"]:
        one["replicas"] = lists.get((one["topic"], one["partition"]), one["replicas"])
    return json.dumps(value)
