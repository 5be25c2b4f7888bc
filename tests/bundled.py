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
    return Cluster.from_json(_without(bundled("cluster-grown.json"), disks, racks))


def uneven_value() -> dict[str, Any]:
    """The JSON value of ``uneven_racks``."""
    value = bundled("cluster-grown.json")
    value["brokers"] = [broker for broker in value["brokers"] if broker["id"] != 9]
    return value


def uneven_racks(disks: bool = True, racks: bool = True) -> Cluster:
    """The grown cluster before broker 9: rack c has two of eight brokers, so its rule limits the
    plan."""
    return Cluster.from_json(_without(uneven_value(), disks, racks))


def _without(value: dict[str, Any], disks: bool, racks: bool) -> dict[str, Any]:
    for kept, key in ((disks, "disk_bytes"), (racks, "rack")):
        for entry in () if kept else value["brokers"]:
            del entry[key]
    return value
