"""The figures of ``limits.py`` as Markdown."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tables.markdown import table

HEAD = ["records", "of them", "longest table", "rows", "s", "peak MB"]
SAID = {
    "windows": "the only one of its partition and hour",
    "rejected": "half rejected",
    "keys": "each with its own key",
}


def blocks(runs: Mapping[str, Any]) -> dict[str, str]:
    """The block ``limits``; ``runs`` by kind and number of records."""
    ordered = sorted(runs.values(), key=lambda run: (list(SAID).index(run["kind"]), run["records"]))
    return {"limits": table(HEAD, [_line(run) for run in ordered], 0)}


def _line(run: Mapping[str, Any]) -> list[str]:
    longest = max(run["rows"], key=lambda name: run["rows"][name])
    return [
        f"{run['records']:,}",
        SAID[run["kind"]],
        longest,
        f"{run['rows'][longest]:,}",
        f"{run['profile_seconds']:,.0f}",
        f"{run['peak_bytes'] / 1e6:,.0f}",
    ]
