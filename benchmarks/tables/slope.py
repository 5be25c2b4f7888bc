"""The figures of ``slope.py`` as Markdown."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tables.markdown import own_table

HEAD = [
    "job",
    "partitions",
    "moves",
    "above bound",
    "read",
    "plan",
    "µs per partition",
    "write",
    "check",
    "report",
    "peak GB",
    "of check",
    "files, MB",
    "page, MB",
]


def report(figures: Mapping[str, Mapping[str, Any]], names: Mapping[str, str]) -> str:
    """A row for each measured job of ``names`` (name → description)."""
    return own_table(HEAD, figures, names, _line)


def _line(description: str, figures: Mapping[str, Any]) -> list[str]:
    seconds = {
        name: figures[f"{name}_seconds"] for name in ("read", "plan", "write", "check", "report")
    }
    return [
        description,
        f"{figures['partitions']:,}",
        f"{figures['moves']:,}",
        "optimal" if figures["optimal"] else f"{100 * figures['gap']:.2g} %",
        f"{seconds['read']:.1f}",
        f"{seconds['plan']:.1f}",
        f"{1e6 * seconds['plan'] / figures['partitions']:.0f}",
        f"{seconds['write']:.1f}",
        f"{seconds['check']:.1f}",
        f"{seconds['report']:.1f}",
        f"{figures['peak_bytes'] / 1e9:.1f}",
        f"{figures['check_bytes'] / 1e9:.1f}",
        f"{figures['file_bytes'] / 1e6:,.0f}",
        f"{figures['page_bytes'] / 1e6:,.1f}",
    ]
