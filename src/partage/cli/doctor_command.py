"""doctor: check what is installed and which settings apply."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING

import typer

from partage.cli import next_step, output, settings
from partage.cli.arguments import Json, Running
from partage.cli.settings_file import NAME
from partage.cli.variables import advice, of_all_commands, of_options

if TYPE_CHECKING:
    from partage.doctor import Finding

_MARKS = {"ok": ("✓", "green"), "missing": ("✗", "red"), "absent": ("–", "dim")}


def doctor(
    context: typer.Context,
    running: Running,
    json: Json = False,
) -> None:
    """Check what is installed, what a cluster allows, and what to do about it.

    Exits 1 if an installed extra or a named Kafka cannot be used.

    Examples:

        partage doctor
        partage doctor --bootstrap-server localhost:9092 --command-config me.properties
    """
    from partage.doctor import examine

    with output.progress(quiet=json) as report:
        report("checking")
        found = [
            *examine(running.bootstrap_server, running.command_config),
            *_settings(context),
            _terminal(),
        ]
    sound = all(one.state != "missing" for one in found)
    if json:
        output.print_json({"sound": sound, "findings": [asdict(one) for one in found]})
    else:
        _show(found)
    raise typer.Exit(0 if sound else 1)


def _settings(context: typer.Context) -> Iterator[Finding]:
    """The project's settings file, and the names of the variables: their values may be secret."""
    from partage.doctor import Finding

    file, error = context.obj.file, context.obj.error
    if error is not None:
        yield Finding(NAME, "missing", str(error), "correct it: no other command runs until then")
    elif file is None:
        counts = " counts" if context.obj.ignored else ""
        yield Finding(NAME, "absent", f"none{counts} in this folder or above")
    else:
        yield Finding(NAME, "ok", file)
    for one in context.obj.ignored:
        yield Finding("ignored", "absent", f"{one.name}: {one.reason}", one.advice)
    known = of_all_commands() | of_options(context.find_root().command)
    names = sorted(name for name in os.environ if name.startswith(f"{settings.PREFIX}_"))
    used = [name for name in names if name in known]
    yield Finding("variables", "ok" if used else "absent", ", ".join(used) or "none is set")
    for name in names:
        if name not in known:
            yield Finding(name, "absent", "is not a variable of partage", advice(name, known))


def _terminal() -> Finding:
    from partage.doctor import Finding

    console = output.console()
    kind = "a terminal" if sys.stdout.isatty() else "none"
    colours = "no colours" if console.color_system is None else "colours"
    found = f"{kind}, {console.width} columns, {colours}, {console.encoding}"
    return Finding("terminal", "ok", found)


def _show(found: list[Finding]) -> None:
    from rich.table import Table
    from rich.text import Text

    console = output.console()
    width = max(len(one.name) for one in found)
    for one in found:
        mark, style = _MARKS[one.state]
        row = Table.grid(padding=(0, 1, 0, 0))
        row.add_column()
        row.add_column(no_wrap=True, min_width=width)
        row.add_row(Text(mark, style), Text(one.name), Text(one.found, overflow="fold"))
        console.print(row)
        if one.advice:
            advice = Text(" " * (width + 3) + one.advice, "dim" if one.state == "absent" else "")
            console.print(advice, soft_wrap=True)
    states = {one.name: one.state for one in found}
    if states["Kafka"] == "ok":
        cluster = next_step.cluster_options("snapshot")
        next_step.show(console, "snapshot", *cluster, "-o", "cluster.json")
    elif states["spark"] == "ok":
        next_step.show(console, "demo")
    else:
        next_step.show(console, "plan", "CLUSTER", "-o", "plan/")
