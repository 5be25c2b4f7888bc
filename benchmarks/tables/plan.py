"""The figures of ``plan.py`` as Markdown."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tables.markdown import own_table

HEAD = [
    "cluster",
    "moves",
    "lower bound",
    "replicas",
    "leaders",
    "worst survivor/ideal",
    "topic spread",
    "optimal",
    "seconds",
    "peak MB",
]


def report(figures: Mapping[str, Mapping[str, Any]], names: Mapping[str, str]) -> str:
    """A row for each measured cluster of ``names`` (name → description)."""
    return own_table(HEAD, figures, names, _line)


def _line(description: str, figures: Mapping[str, Any]) -> list[str]:
    failure = figures["leaders_after_failure"]
    return [
        description,
        f"{figures['moves']:,}",
        f"{figures['moves_lower_bound']:,}",
        "–".join(f"{n:,}" for n in figures["replicas_per_broker"]),
        "–".join(f"{n:,}" for n in figures["leaders_per_broker"]),
        f"{failure['max']}/{failure['ideal']}",
        str(figures["topic_spread"]),
        "yes" if figures["optimal"] else "no",
        f"{figures['process_seconds']:.2f}",
        f"{figures['peak_bytes'] / 1e6:,.0f}",
    ]
