"""The report page of a plan: one self-contained HTML file that loads nothing from the network.

The tables are in the HTML, so the page can be read without JavaScript; ``page/scripts/`` draw the
charts and controls from one block of JSON with packed columns. Three layers keep names text: Jinja
escapes everything it prints, the JSON block contains no ``<``, ``>`` or ``&``, and the scripts only
set ``textContent``. The content security policy allows only the style sheet and the script of the
page, by their hashes.

What grows with the cluster is folded in the tables and unfolded by the script: brokers by rack or
neighbouring ids, topics by pages, copies to the largest senders and receivers. The page states
everything that it leaves out; plan.json has all of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePath
from typing import Any

from markupsafe import Markup

from partage.brokers.directory import COMPARE, MARKER, MEASURED
from partage.outputs import markup_with_checksum
from partage.report import units
from partage.report.frame import asset, policy, script_json, template
from partage.report.page.changes import changes, first_rows, included_rows
from partage.report.page.compared import compared
from partage.report.page.failures import failures
from partage.report.page.heat import BROKERS, heat
from partage.report.page.measured import measured_load
from partage.report.page.movement import movement
from partage.report.page.tiles import tiles
from partage.report.page.waves import shown_waves, waves
from partage.report.view import MARKS, Load, View, view
from partage.report.view.checking import steps
from partage.report.view.resources import (
    HIGHEST_NOTE,
    band_text,
    highest_loads,
    resource_rows,
    zones_note,
)
from partage.report.view.stages import meaning, shown
from partage.report.wave_load import busiest, wave_load
from partage.units import Rate

SCRIPTS = (
    "numbers",
    "theme",
    "brokers",
    "columns",
    "loads",
    "failures",
    "heat",
    "movement",
    "waves",
    "explanation",
    "changes",
    "scroll",
    "start",
)
"""Parts of the page's script; each uses those before it."""

LOAD_WAVES, LOAD_BROKERS = 60, 24
"""Columns and rows of the load per wave."""


def render(
    document: Mapping[str, Any],
    compare: Mapping[str, Any] | None = None,
    measured: Mapping[str, Any] | None = None,
    directory: str = "plan",
) -> str:
    """The page of a plan.json document, the same bytes for the same input.

    ``compare`` is the output of ``partage compare --json``; ``measured`` has ``records``,
    ``bytes``, ``topics``, ``partitions``, ``rejected`` and ``hot_keys`` (dicts of ``topic``,
    ``rank``, ``key``, ``share``, ``records``). Each adds a section. ``directory``: the plan's, for
    the commands that the page shows. Raises InputError for a damaged document.
    """

    def place(name: str) -> str:
        return str(PurePath(directory) / name)

    plan = view(document, place(MARKER))
    css, script = asset("page.css"), _script()
    heated, moved, timing = heat(plan), movement(plan), waves(plan)
    load = wave_load(plan, LOAD_WAVES, LOAD_BROKERS)
    changed = changes(plan)
    data = {
        "brokers": {
            "id": [broker.id for broker in plan.brokers],
            "status": [broker.status for broker in plan.brokers],
            "rack": plan.rack.tolist(),
            "excluded": [int(broker.excluded) for broker in plan.brokers],
        },
        "racks": [rack.name for rack in plan.racks],
        "rack_labels": [rack.label for rack in plan.racks],
        "topics": plan.topics,
        "loads": [_load(load) for load in plan.loads],
        "failure": failures(plan),
        "heat": heated.data,
        "movement": moved.data() if moved else None,
        "waves": timing,
        "changes": changed,
    }
    page = template("page.html").render(
        plan=plan,
        units=units,
        marks=MARKS,
        css=Markup(css),
        script=Markup(script),
        policy=policy(css, script),
        data=Markup(script_json(data)),
        tiles=tiles(plan),
        resources=resource_rows(plan.figures_before, plan.figures),
        crossing=zones_note(plan.figures_before, plan.figures),
        banded=any(load.banded for load in plan.loads),
        highest=highest_loads(plan.figures),
        highest_note=HIGHEST_NOTE,
        band_text=band_text,
        group_beyond=BROKERS,
        failing_racks=_failing_racks(plan),
        heat=heated,
        movement=moved,
        load=load,
        busiest=busiest,
        stage_meaning=meaning,
        stage_shown=shown,
        timing=timing,
        waves=shown_waves(plan),
        throttle=_throttle(plan),
        first_rows=first_rows(plan),
        included=len(included_rows(plan)),
        explained=changed["instead"] is not None,
        compared=compared(compare, place(COMPARE)),
        measured=measured_load(measured, place(MEASURED)),
        steps=steps(plan, directory),
    )
    return markup_with_checksum(page)


def _script() -> str:
    """All parts in one function, so that they share no name with anything else in the page."""
    parts = "\n".join(asset(f"scripts/{name}.js") for name in SCRIPTS)
    return f'"use strict";\n(async () => {{\n{parts}}})();\n'


def _load(load: Load) -> dict[str, Any]:
    return {
        "key": load.key,
        "title": load.title,
        "unit": load.unit,
        "before": _numbers(load.before),
        "after": _numbers(load.after),
        "fair": _numbers(load.fair),
        "band": [list(row.band or ()) or None for row in load.rows] if load.banded else None,
    }


def _numbers(values: Any) -> list[float]:
    """Whole numbers unchanged, others with six significant digits: no chart shows more."""
    return [int(v) if v == round(v) else float(f"{v:.6g}") for v in values.tolist()]


def _failing_racks(plan: View) -> list[tuple[int, str]]:
    """(position, label) of the racks that can fail and leave survivors."""
    racks = [(k, rack.label) for k, rack in enumerate(plan.racks) if rack.brokers]
    return racks if len(racks) > 1 else []


def _throttle(plan: View) -> str:
    """The plan's throttle in MB/s, as a number field shows it."""
    throttle = plan.options.get("throttle")
    return "" if throttle is None else f"{Rate.of(str(throttle)) / 1e6:.12g}"
