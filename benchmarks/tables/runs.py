"""When and where the figures of the pages were measured, and with what, as Markdown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from results import Run, merged
from tables.markdown import table

HEAD = ["comparison", "day", "what", "how often", "seconds at most", ""]


def blocks(measured: Mapping[str, Sequence[Run]]) -> dict[str, str]:
    """``measured``: the runs of each comparison."""
    lines = [
        [name, run.when, _what(run, runs), *_options(run), run.note]
        for name, runs in measured.items()
        for run in runs
    ]
    return {
        "machines": "\n".join(_machines(measured)),
        "versions": _versions(measured),
        "runs": table(HEAD, lines, len(HEAD)),
    }


def machine_line(machine: Mapping[str, Any]) -> str:
    """A machine in a line."""
    what = "a virtual machine" if machine["virtual"] else "a machine"
    return (
        f"{what} with {machine['cores']} cores ({machine['cpu']}) and "
        f"{machine['memory_bytes'] / 1e9:.0f} GB of memory; {machine['os']}, {machine['kernel']}"
    )


def _machines(measured: Mapping[str, Sequence[Run]]) -> list[str]:
    on: dict[str, list[str]] = {}
    for name, runs in measured.items():
        for run in runs:
            names = on.setdefault(machine_line(run.machine), [])
            names += [] if name in names else [name]
    return [f"- {', '.join(names)}: {machine}" for machine, names in on.items()]


def _versions(measured: Mapping[str, Sequence[Run]]) -> str:
    """Of everything that some run used; where runs differ, all of them."""
    found: dict[str, list[str]] = {}
    for run in (run for runs in measured.values() for run in runs):
        for name, number in run.versions.items():
            numbers = found.setdefault(name, [])
            numbers += [] if number in numbers else [number]
    return ", ".join(f"{name} {' and '.join(numbers)}" for name, numbers in found.items()) + "."


def _what(run: Run, runs: Sequence[Run]) -> str:
    """The groups of the run's figures; those that it has in part, with the items that it has."""
    every = merged(runs)
    whole: list[str] = []
    parts: dict[tuple[str, ...], list[str]] = {}
    for group, items in run.figures.items():
        if items.keys() == every[group].keys():
            whole.append(group)
        else:
            parts.setdefault(tuple(sorted(set(items) - {"before"})), []).append(group)
    told = [f"{', '.join(groups)} (only {', '.join(items)})" for items, groups in parts.items()]
    return "; ".join([*([", ".join(whole)] if whole else []), *told])


def _options(run: Run) -> list[str]:
    repeat, limit = run.options.get("repeat"), run.options.get("limit")
    return [str(repeat) if repeat else "", f"{limit:g}" if limit else ""]
