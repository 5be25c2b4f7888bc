"""The kept figures in ``results/``: a file per comparison, with its runs.

A run has a date, a machine, and figures by group and item, such as job and tool, or number of
records and executors. Only the last run that measured an item keeps it, so that small jobs can be
repeated without the large ones. ``page.py`` writes the pages from these files alone.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import machine

FOLDER = Path(__file__).resolve().parent / "results"

Figures = Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True)
class Run:
    """``when``: the date, in UTC. ``machine``: ``machine.facts()``. ``options``: by name, as on the
    command line. ``note``: a remark for readers."""

    when: str
    machine: Mapping[str, Any]
    versions: Mapping[str, str]
    options: Mapping[str, Any]
    figures: Figures
    note: str = ""


def read(name: str, folder: Path = FOLDER) -> list[Run]:
    """The comparison's runs, oldest first; empty if none was kept."""
    file = folder / f"{name}.json"
    if not file.exists():
        return []
    return [Run(**run) for run in json.loads(file.read_text(encoding="utf-8"))]


def keep(
    name: str,
    figures: Figures,
    versions: Mapping[str, str],
    options: Mapping[str, Any],
    folder: Path = FOLDER,
) -> None:
    """Add a run on this machine, dated today."""
    today = datetime.now(UTC).date().isoformat()
    run = Run(today, machine.facts(), versions, options, figures)
    write(name, [*read(name, folder), run], folder)


def write(name: str, runs: Sequence[Run], folder: Path = FOLDER) -> None:
    """Write the runs, each without items of later runs.

    Runs that differ only in their figures are merged; runs without figures are dropped.
    """
    kept: list[Run] = []
    for run in reversed(runs):
        later = merged(kept)
        figures = {
            group: left
            for group, items in run.figures.items()
            if (left := {i: f for i, f in items.items() if i not in later.get(group, ())})
        }
        if kept and replace(kept[-1], figures={}) == replace(run, figures={}):
            both = [replace(run, figures=figures), kept.pop()]
            figures = merged(both)
        if figures:
            kept.append(replace(run, figures=figures))
    folder.mkdir(exist_ok=True)
    text = json.dumps(_rounded([asdict(run) for run in reversed(kept)]), indent=1)
    (folder / f"{name}.json").write_text(text + "\n", encoding="utf-8")


def merged(runs: Sequence[Run]) -> dict[str, dict[str, Any]]:
    """The figures of all runs."""
    found: dict[str, dict[str, Any]] = {}
    for run in runs:
        for group, items in run.figures.items():
            found.setdefault(group, {}).update(items)
    return found


def _rounded(value: Any) -> Any:
    """The value with floats rounded to six decimals: microseconds."""
    if isinstance(value, float):
        return round(value, 6)
    if isinstance(value, Mapping):
        return {key: _rounded(each) for key, each in value.items()}
    return [_rounded(each) for each in value] if isinstance(value, list | tuple) else value
