"""The waves of a plan: what each copies, and the load of the brokers in each."""

from __future__ import annotations

from collections.abc import Sequence

from rich.table import Table
from rich.text import Text

from partage.report import printing, units
from partage.report.view import View
from partage.report.wave_load import busiest, wave_load

_WAVES = 8
_LOAD_WAVES, _LOAD_BROKERS = 30, 8


def wave_table(plan: View) -> tuple[str, Table]:
    """Title and table of the waves; all after the first ones in one row. Where the plan deletes
    replicas, a column has how many, and the columns are closer together for it."""
    title = units.plural(len(plan.waves), "wave")
    if plan.seconds is not None:
        title += f", about {units.duration(plan.seconds)}"
    deletes = plan.deleted > 0
    table = printing.closer(printing.table()) if deletes else printing.table()
    deleted = ["deleted"] if deletes else []
    for heading in ("wave", "partitions", "moves", *deleted, "to copy", "busiest broker", "time"):
        table.add_column(heading, justify="left" if heading == "wave" else "right")
    shown = plan.waves if len(plan.waves) <= _WAVES else plan.waves[: _WAVES - 1]
    for wave in shown:
        table.add_row(
            Text(wave.file),
            units.count(wave.partitions),
            units.count(wave.moves),
            *([units.count(wave.replicas_deleted)] if deletes else []),
            units.size(wave.to_copy),
            Text(busiest(plan, wave)),
            units.duration(wave.seconds),
        )
    rest = plan.waves[len(shown) :]
    if rest:
        table.add_row(
            f"{len(rest)} more",
            units.count(sum(wave.partitions for wave in rest)),
            units.count(sum(wave.moves for wave in rest)),
            *([units.count(_total([wave.replicas_deleted for wave in rest]))] if deletes else []),
            units.size(_total([wave.to_copy for wave in rest])),
            "",
            units.duration(_total([wave.seconds for wave in rest])),
            style="dim",
        )
    return title, table


def _total(values: Sequence[float | None]) -> float | None:
    """The sum; None where a value is unknown."""
    known = [value for value in values if value is not None]
    return sum(known) if len(known) == len(values) else None


def wave_load_table(plan: View) -> tuple[str, Table] | None:
    """Bars, a column per wave: what the brokers with the most copies receive and send."""
    load = wave_load(plan, _LOAD_WAVES, _LOAD_BROKERS)
    if load is None:
        return None
    title = f"Load per wave, {'bytes' if load.by_bytes else 'replicas'}"
    if load.first[0] != load.last[0]:
        title += f", {load.last[0] - load.first[0] + 1} waves per bar"
    if load.hidden:
        title += f", the {len(load.brokers)} brokers that copy most"
    table = printing.table(("broker", "receives", "sends as leader"))
    for row, position in enumerate(load.brokers.tolist()):
        broker = plan.brokers[position]
        name = Text(str(broker.id))
        if broker.status:
            name.append(f" {broker.status}", style="cyan")
        table.add_row(name, load.blocks(load.received, row), load.blocks(load.sent, row))
    return title, table
