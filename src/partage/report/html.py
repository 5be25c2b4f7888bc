"""One self-contained HTML file: open it from a disk, mail it, print it; it never asks the network.

The tables are in the HTML itself, so the page can be read without JavaScript; the charts, the
toggles and the searches are drawn by ``page/scripts/`` from one compact block of JSON, whose long
columns are packed. Three layers keep names what they are, text: Jinja escapes everything that it
prints, the JSON block has no ``<``, ``>`` or ``&`` in it, and the script only ever sets
``textContent``. The content security policy allows exactly the one style sheet and the one script
of the page, by their hashes.

What grows with the cluster is folded in the tables and opened by the script: brokers by rack or by
neighbours, topics by pages, the movement to the largest senders and receivers. Nothing is cut
silently, and plan.json has it all.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from markupsafe import Markup

from partage.brokers.options import parse_bytes
from partage.report import units
from partage.report.frame import asset, policy, script_json, template
from partage.report.page.changes import changes, first_rows, held
from partage.report.page.compared import compared
from partage.report.page.failures import failures
from partage.report.page.heat import BROKERS, Heat, heat
from partage.report.page.movement import Movement, movement
from partage.report.page.tiles import tiles
from partage.report.page.waves import SHOWN, waves
from partage.report.view import MARKS, Load, View, view
from partage.report.view.checking import steps
from partage.report.wave_load import busiest, wave_load

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
    "start",
)
"""Parts of the page's script in their order; each uses what is above it."""

LOAD_WAVES, LOAD_BROKERS = 60, 24
NARROW_BROKERS = 12
NARROW_TARGETS = 6
"""Columns and brokers of the load per wave; up to the narrow sizes two tables share a row."""


def render(
    document: Mapping[str, Any],
    compare: Mapping[str, Any] | None = None,
    measured: Mapping[str, Any] | None = None,
    directory: str = "plan",
) -> str:
    """The page of a plan.json document, the same bytes for the same input.

    ``compare`` is what ``partage compare --json`` prints; ``measured`` has ``records``, ``bytes``,
    ``topics``, ``partitions``, ``rejected`` and ``hot_keys`` (dicts of ``topic``, ``rank``,
    ``key``, ``share``, ``records``). Each adds a section. ``directory``: where the plan is written,
    for the commands that the page names. Raises InputError for another format.
    """
    plan = view(document)
    css, script = asset("page.css"), _script()
    heated, moved, timing = heat(plan), movement(plan), waves(plan)
    load = wave_load(plan, LOAD_WAVES, LOAD_BROKERS)
    changed = changes(plan)
    data = {
        "brokers": {
            "id": [broker.id for broker in plan.brokers],
            "mark": [broker.mark for broker in plan.brokers],
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
    return template("page.html").render(
        plan=plan,
        units=units,
        marks=MARKS,
        css=Markup(css),
        script=Markup(script),
        policy=policy(css, script),
        data=Markup(script_json(data)),
        tiles=tiles(plan),
        group_beyond=BROKERS,
        failing_racks=_failing_racks(plan),
        heat=heated,
        movement=moved,
        layout=_layout(plan, heated, moved) + ([[["load"]]] if load else []),
        load=load,
        busiest=busiest,
        timing=timing,
        waves_shown=SHOWN,
        throttle=_throttle(plan),
        first_rows=first_rows(plan),
        held=len(held(plan)),
        explained=changed["instead"] is not None,
        compared=compared(compare),
        measured=measured,
        steps=steps(plan, directory),
    )


def _script() -> str:
    """The parts as one, which shares no name with anything else in the page."""
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
    }


def _numbers(values: Any) -> list[float]:
    """Whole numbers as such, others with six significant digits: shorter, and nobody sees more."""
    return [int(v) if v == round(v) else float(f"{v:.6g}") for v in values.tolist()]


def _failing_racks(plan: View) -> list[tuple[int, str]]:
    """(position, label) of the racks that can fail and leave somebody."""
    racks = [(k, rack.label) for k, rack in enumerate(plan.racks) if rack.brokers]
    return racks if len(racks) > 1 else []


def _throttle(plan: View) -> str:
    """The throttle asked for in MB/s, as a field of numbers shows it."""
    asked = plan.asked.get("throttle")
    return "" if asked is None else f"{parse_bytes(str(asked), '--throttle') / 1e6:.12g}"


def _layout(plan: View, heated: Heat, moved: Movement | None) -> list[list[list[str]]]:
    """Rows of columns of cards: narrow tables share a row, wide ones have it to themselves."""
    moving = ["movement"] if moved else []
    narrow = moved is None or len(moved.brokers.targets) <= NARROW_TARGETS
    timed = [[["waves"]]] if plan.waves else []
    if len(heated.columns) <= NARROW_BROKERS and not heated.grouped:
        if narrow:
            return [[["topics"], [*moving, "rules"]], *timed]
        return [[["topics"], ["rules"]], [moving], *timed]
    if moved and narrow:
        return [[["topics"]], [moving, ["rules"]], *timed]
    return [[["topics"]], *([[moving]] if moving else []), [["rules"]], *timed]
