"""What a cluster reports about its brokers, and which processes a sandbox has."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from partage.live.sandbox import MARKER, Sandbox


def described(sandbox: Sandbox) -> dict[int, tuple[str | None, str, bool]]:
    """What the cluster reports about its brokers, by id: rack, address, fenced or not."""
    from kafka import KafkaAdminClient
    from kafka.errors import KafkaError

    deadline = time.monotonic() + 60
    while True:
        admin = KafkaAdminClient(bootstrap_servers=sandbox.bootstrap_servers.split(","))
        try:
            found = admin.describe_cluster()["brokers"]
            break
        except KafkaError:  # it may ask a broker that is down, and then does not try another
            if time.monotonic() > deadline:
                raise
        finally:
            admin.close()
    return {
        one["broker_id"]: (one["rack"], f"{one['host']}:{one['port']}", one["is_fenced"])
        for one in found
    }


def alive(sandbox: Sandbox) -> set[int]:
    return {broker for broker, (_, _, fenced) in described(sandbox).items() if not fenced}


def eventually(holds: Callable[[], bool], seconds: float = 60) -> bool:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if holds():
            return True
        time.sleep(0.2)
    return False


def pids(folder: Path) -> list[int]:
    """The ids of the processes that a sandbox's state names."""
    state = json.loads((folder / MARKER).read_text())
    return [node["pid"] for node in state["nodes"] if node["pid"] is not None]


def exists(pid: int) -> bool:
    with suppress(ChildProcessError):
        return os.waitpid(pid, os.WNOHANG) == (0, 0)
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def state(**changed: Any) -> dict[str, Any]:
    """The content of sandbox.json for a controller and a broker that are down."""
    nodes = [{"id": n, "rack": None, "port": 1, "pid": None} for n in (0, 1)]
    found = {
        "format_version": 1,
        "kafka": "4.3.0",
        "cluster_id": "x",
        "folder": "/",
        "nodes": nodes,
    }
    return found | changed
