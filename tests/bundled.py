"""The clusters that the package ships."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any

from partage.cluster import Cluster


def bundled(name: str) -> dict[str, Any]:
    """The JSON value of a file in ``partage/data``."""
    value: dict[str, Any] = json.loads(files("partage.data").joinpath(name).read_bytes())
    return value


def grown(disks: bool = True, racks: bool = True) -> Cluster:
    """The grown cluster, with its disks and racks or without."""
    value = bundled("cluster-grown.json")
    for kept, key in ((disks, "disk_bytes"), (racks, "rack")):
        for entry in () if kept else value["brokers"]:
            del entry[key]
    return Cluster.from_json(value)
