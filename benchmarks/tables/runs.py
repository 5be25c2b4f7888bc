"""Date, machine and versions of the measurements, as Markdown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from results import Run, merged
from tables.markdown import table

HEAD = ["comparison", "date", "measured", "repeats", "time limit, s", ""]


def blocks(measured: Mapping[str, Sequence[Run]]) -> dict[str, str]:
    """Machines, versions and runs; ``measured`` has the runs of each comparison."""
    lines = [
        [name, run.when, _measured(run, runs), *_options(run), run.note]
        for name, runs in measured.items()
        for run in runs
    ]
    return {
        "machines": "\n".join(_machines(measured)),
        "versions": _versions(measured),
        "runs": table(HEAD, lines, len(HEAD)),
    }


def machine_line(machine: Mapping[str, Any]) -> str:
    """The machine in one line."""
    kind = "a virtual machine" if machine["virtual"] else "a machine"
    return (
        f"{kind} with {machine['cores']} cores ({machine['cpu']}) and "
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
    """The versions that the runs used; all of them where runs differ."""
    found: dict[str, list[str]] = {}
    for run in (run for runs in measured.values() for run in runs):
        for name, number in run.versions.items():
            numbers = found.setdefault(name, [])
            numbers += [] if number in numbers else [number]
    return ", ".join(f"{name} {' and '.join(numbers)}" for name, numbers in found.items()) + "."


def _measured(run: Run, runs: Sequence[Run]) -> str:
    """The groups that the run measured; groups measured in part are listed with their items."""
    every = merged(runs)
    whole: list[str] = []
    parts: dict[tuple[str, ...], list[str]] = {}
    for group, items in run.figures.items():
        if items.keys() == every[group].keys():
            whole.append(group)
        else:
            parts.setdefault(tuple(sorted(set(items) - {"before"})), []).append(group)
    partly = [f"{', '.join(groups)} (only {', '.join(items)})" for items, groups in parts.items()]
    return "; ".join([*([", ".join(whole)] if whole else []), *partly])


def _options(run: Run) -> list[str]:
    repeat, limit = run.options.get("repeat"), run.options.get("limit")
    return [str(repeat) if repeat else "", f"{limit:g}" if limit else ""]
