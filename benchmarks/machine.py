"""The machine of a benchmark, and the versions of the software measured."""

from __future__ import annotations

import os
import platform
import re
import subprocess
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import environments
from environments import UnavailableError

PLANNER = ("Python", "partage", "numpy", "ortools", "scipy")
"""The software that partage's plans and assignments depend on."""

_PINNED = {
    "Kafka": environments.KAFKA,
    "bubuku": environments.BUBUKU,
    "kafka-utils": environments.KAFKA_UTILS,
    "rebalancer": environments.REBALANCER,
}
"""Versions of peers with separate environments."""


def facts() -> dict[str, Any]:
    """``cpu`` (its model), ``virtual``, ``cores``, ``memory_bytes``, ``os`` and ``kernel``; None
    if unknown."""
    return {
        "cpu": _found(r"^model name\s*:\s*(.+)$", "/proc/cpuinfo") or platform.processor() or None,
        "virtual": _found(r"^flags\s*:.*\b(hypervisor)\b", "/proc/cpuinfo") is not None,
        "cores": os.cpu_count(),
        "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        "os": _found(r'^PRETTY_NAME="?([^"\n]+)', "/etc/os-release") or platform.platform(),
        # without the suffix of a distribution
        "kernel": f"{platform.system()} {platform.release().partition('-')[0]}",
    }


def versions(*names: str) -> dict[str, str]:
    """Versions by name: Python, Java, a peer, or a package of this environment. Missing ones are
    left out."""
    found = {name: _version(name) for name in names}
    return {name: number for name, number in found.items() if number}


def _version(name: str) -> str | None:
    if name == "Python":
        return platform.python_version()
    if name == "Java":
        return _java()
    if name in _PINNED:
        return _PINNED[name]
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _java() -> str | None:
    try:
        done = subprocess.run(
            [environments.tool("java"), "-version"], capture_output=True, text=True, timeout=60
        )
    except (UnavailableError, OSError, subprocess.TimeoutExpired):
        return None
    found = re.search(r'version "([^"]+)"', done.stderr)
    return found[1] if found else None


def _found(pattern: str, file: str) -> str | None:
    try:
        text = Path(file).read_text(encoding="utf-8")
    except OSError:
        return None
    found = re.search(pattern, text, re.MULTILINE)
    return found[1].strip() if found else None
