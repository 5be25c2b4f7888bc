"""One self-contained HTML file: open it from a disk, mail it, print it; it never asks the network.

The tables are in the HTML itself, so the page can be read without JavaScript; the charts, the
toggles and the search are drawn by ``page/page.js`` from one compact block of JSON. Three layers
keep names what they are, text: Jinja escapes everything that it prints, the JSON block has no
``<``, ``>`` or ``&`` in it, and the script only ever sets ``textContent``. The content security
policy allows exactly the one style sheet and the one script of the page, by their hashes.

What grows with the cluster is folded, never cut silently: the heat map to the largest topics and
the brokers that change most, the movement matrix to the largest senders and receivers, the table of
changes to those that copy most. Each says so, and plan.json has it all.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import jinja2
import numpy as np
from markupsafe import Markup

from partage.report import units
from partage.report.comparison import Column, columns, legend
from partage.report.view import MARKS, Load, Verdict, View, view
from partage.report.wave_load import wave_load

HEAT_TOPICS = 40
HEAT_BROKERS = 100
MOVEMENT_BROKERS = 40
LOAD_WAVES, LOAD_BROKERS = 60, 24
CHANGES = 20_000
CHANGES_PER_PAGE = 25
TAKEOVERS = 40_000
NARROW_BROKERS = 12
NARROW_TARGETS = 6
"""Limits of what the page holds: topics and brokers of the heat map, senders and receivers of the
movement matrix, columns and brokers of the load per wave, rows of the table of changes (in the
page, and per screen), and (failed, survivor) pairs; beyond the last, each failed broker keeps only
the survivors that lead most. Up to the narrow sizes two tables share a row."""


def render(
    document: Mapping[str, Any],
    compare: Mapping[str, Any] | None = None,
    measured: Mapping[str, Any] | None = None,
) -> str:
    """The page of a plan.json document, the same bytes for the same input.

    ``compare`` is what ``partage compare --json`` prints; ``measured`` has ``records``, ``bytes``,
    ``topics``, ``partitions``, ``rejected`` and ``hot_keys`` (dicts of ``topic``, ``rank``,
    ``key``, ``share``, ``records``). Each adds a section. Raises InputError for another format.
    """
    plan = view(document)
    css, script = _asset("page.css"), _asset("page.js")
    changes = _changes(plan)
    heat = _heat(plan)
    movement = _movement(plan)
    load = wave_load(plan, LOAD_WAVES, LOAD_BROKERS)
    data = {
        "brokers": {
            "id": [broker.id for broker in plan.brokers],
            "mark": [broker.mark for broker in plan.brokers],
        },
        "loads": [_load_data(load) for load in plan.loads],
        "failure": _failure_data(plan),
        "heat": {"before": heat.before, "after": heat.after, "fair": heat.fair},
        "movement": movement.data() if movement else None,
        "changes": changes,
    }
    return _template().render(
        plan=plan,
        units=units,
        marks=MARKS,
        css=Markup(css),
        script=Markup(script),
        policy=_policy(css, script),
        data=Markup(_script_json(data)),
        tiles=_tiles(plan),
        heat=heat,
        heat_level=_level,
        movement=movement,
        layout=_layout(plan, heat, movement) + ([[["load"]]] if load else []),
        load=load,
        first_changes=[_change_row(plan, changes, i) for i in range(_first(changes))],
        changes_held=len(changes["topic"]),
        per_page=CHANGES_PER_PAGE,
        compared=_compared(compare),
        measured=measured,
    )


@cache
def _template() -> jinja2.Template:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("partage.report", "page"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["tight"] = _tight
    return environment.get_template("page.html")


@cache
def _asset(name: str) -> str:
    return files("partage.report").joinpath("page", name).read_text(encoding="utf-8")


def _tight(text: str) -> str:
    """The same text with no line break between a number and its unit."""
    return re.sub(r"(?<=\d) (?=[kMGTPE]?B\b|s\b|min\b|h\b|d\b|waves?\b)", "\u00a0", text)


def _policy(css: str, script: str) -> str:
    def digest(text: str) -> str:
        return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()

    return (
        f"default-src 'none'; script-src 'sha256-{digest(script)}'; "
        f"style-src 'sha256-{digest(css)}'; img-src data:; base-uri 'none'; form-action 'none'"
    )


def _script_json(value: Any) -> str:
    """JSON that may stand inside a script element, whatever its strings say."""
    text = json.dumps(value, separators=(",", ":"), allow_nan=False)  # ASCII: no U+2028 either
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


# ---------------------------------------------------------------------- headline


@dataclass(frozen=True)
class Tile:
    """One key figure: what it is, its value after, what it was, and whether that is good."""

    label: str
    value: str
    note: str
    verdict: Verdict


def _tiles(plan: View) -> tuple[Tile, ...]:
    old, new = plan.figures_before, plan.figures
    verdicts = {criterion.key: criterion.verdict for criterion in plan.criteria}

    def was(text: str, now: str) -> str:
        if text == units.MISSING:
            return ""
        return "as before" if text == now else f"before: {text}"

    def span(label: str, key: str, criterion: str) -> Tile:
        now = units.span(new.get(key))
        return Tile(label, now, was(units.span(old.get(key)), now), verdicts[criterion])

    def figure(label: str, key: str, verdict: Verdict, ratio: bool = False) -> Tile:
        text = units.decimal if ratio else units.count
        now = text(new.get(key))
        return Tile(label, now, was(text(old.get(key)), now), verdict)

    bound = f"at least {units.count(plan.lower_bound)} needed"
    if plan.bytes_bound is not None:
        bound = f"at least {units.size(plan.bytes_bound)} to copy"
    elif plan.short:
        bound = f"the fairest share needs {plan.fair_moves}"
    if plan.fewest:
        bound = "proven minimum" if plan.moves else "none needed"
    waves = units.plural(len(plan.waves), "wave") if plan.waves else "no waves"
    if plan.seconds is not None:
        waves += f", about {units.duration(plan.seconds)}"
    failure = new.get("leaders_after_failure") or {}
    failed_before = (old.get("leaders_after_failure") or {}).get("max")
    ideal = "" if plan.ideal is None else f"ideal {units.count(plan.ideal)}"
    before = was(units.count(failed_before), units.count(failure.get("max")))
    tiles = [
        Tile("Moves", units.count(plan.moves), bound, verdicts["moves"]),
        Tile("To copy", units.size(plan.bytes_moved), waves, "none"),
        span("Replicas per broker", "replicas_per_broker", "storage"),
        span("Leaders per broker", "leaders_per_broker", "leaders"),
        Tile(
            "Most leaders after a failure",
            units.count(failure.get("max")),
            ", ".join(filter(None, (ideal, before))),
            verdicts["failure"],
        ),
        figure("Rack violations", "rack_violations", verdicts["racks"]),
        figure("Topic spread", "topic_spread", "none"),
        figure("Bytes, fullest / mean broker", "bytes_max_over_mean", "none", ratio=True),
    ]
    if not plan.moves:
        tiles[1] = Tile("To copy", units.size(0), "nothing", "none")
    if not plan.racks:
        tiles[5] = Tile("Rack violations", units.MISSING, "no racks are named", "none")
    if not plan.load("bytes"):
        if plan.moves:
            tiles[1] = Tile("To copy", units.MISSING, "sizes unknown", "none")
        tiles[-1] = figure("Leader changes", "leader_changes", "none")
    return tuple(tiles)


# ---------------------------------------------------------------------- what the script draws


def _load_data(load: Load) -> dict[str, Any]:
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


def _failure_data(plan: View) -> dict[str, Any]:
    """``pairs[f]`` = [survivor, taken over, survivor, taken over, ...], broker positions."""
    leaders = plan.loads[1].after.astype(np.int64)
    row, column = np.nonzero(plan.takeover)
    pairs: list[list[int]] = [[] for _ in plan.brokers]
    limit = max(1, TAKEOVERS // len(plan.brokers)) if len(row) > TAKEOVERS else len(plan.brokers)
    total = leaders[column] + plan.takeover[row, column]
    for place in np.lexsort((column, -total, row)).tolist():
        kept = pairs[int(row[place])]
        if len(kept) < 2 * limit:
            kept += [int(column[place]), int(plan.takeover[row[place], column[place]])]
    return {
        "leaders": leaders.tolist(),
        "before": plan.worst_before.tolist(),
        "after": plan.worst_after.tolist(),
        "ideal": plan.ideal,
        "lost": plan.lost.tolist(),
        "there": plan.usable.astype(int).tolist(),
        "pairs": pairs,
    }


@dataclass(frozen=True)
class Heat:
    """Topics × brokers, folded: names, [rows][columns] counts before and after, [rows] fair share.

    ``folded`` topics are summed in the last row; ``hidden`` brokers are left out.
    """

    topics: list[str]
    brokers: list[int]
    before: list[list[int]]
    after: list[list[int]]
    fair: list[float]
    folded: int
    hidden: int


def _heat(plan: View) -> Heat:
    weight = np.maximum(plan.topic_before.sum(axis=1), plan.topic_after.sum(axis=1))
    order = np.argsort(-weight, kind="stable")
    shown, folded = order[:HEAT_TOPICS], order[HEAT_TOPICS:]
    replicas = plan.loads[0]
    change = np.abs(replicas.after - replicas.before)
    columns = np.sort(np.argsort(-change, kind="stable")[:HEAT_BROKERS])

    def rows(counts: Any) -> Any:
        table = counts[shown]
        if len(folded):
            table = np.vstack([table, counts[folded].sum(axis=0)])
        return table

    before, after = rows(plan.topic_before), rows(plan.topic_after)
    names = [plan.topics[i] for i in shown]
    if len(folded):
        names.append(f"{units.plural(len(folded), 'smaller topic')}")
    usable = max(1, int(plan.usable.sum()))
    return Heat(
        topics=names,
        brokers=columns.tolist(),
        before=before[:, columns].tolist(),
        after=after[:, columns].tolist(),
        fair=[round(v, 3) for v in (after.sum(axis=1) / usable).tolist()],
        folded=len(folded),
        hidden=len(plan.brokers) - len(columns),
    )


def _level(count: float, fair: float) -> int:
    """Shade 0 to 8: 0 none, 4 the fair share, 8 twice the fair share or more.

    A share below one replica counts as one: no broker can hold half a replica, so that a topic too
    small for every broker does not look skewed.
    """
    if count == 0:
        return 0
    return int(min(8, max(1, np.floor(4 * count / max(fair, 1.0) + 0.5))))


@dataclass(frozen=True)
class Movement:
    """Leader × target, folded: headings and [rows][columns] bytes and replicas.

    ``unknown``: some sizes are, so that 0 bytes are shown as not known.
    """

    sources: list[str]
    targets: list[str]
    bytes: list[list[int]]
    replicas: list[list[int]]
    unknown: bool

    @property
    def by_bytes(self) -> bool:
        return any(map(any, self.bytes))

    def data(self) -> dict[str, Any]:
        return {"bytes": self.bytes, "replicas": self.replicas, "unknown": self.unknown}

    def cell(self, row: int, column: int) -> str:
        if not self.replicas[row][column]:
            return "·"
        if self.by_bytes:
            copied = self.bytes[row][column]
            return units.size(copied) if copied or not self.unknown else units.MISSING
        return units.count(self.replicas[row][column])

    def level(self, row: int, column: int) -> int:
        table: Sequence[Sequence[float]] = self.bytes if self.by_bytes else self.replicas
        highest = max(map(max, table))
        return int(np.ceil(6 * table[row][column] / highest)) if highest else 0


def _movement(plan: View) -> Movement | None:
    if not plan.moves:
        return None
    names = [*(str(broker.id) for broker in plan.brokers), "no live source"]
    copied, replicas = plan.move_bytes, plan.move_replicas

    def heaviest(axis: int) -> tuple[Any, Any]:
        weight, number = copied.sum(axis=axis), replicas.sum(axis=axis)
        order = np.lexsort((-number, -weight))
        order = order[number[order] > 0]
        return np.sort(order[:MOVEMENT_BROKERS]), order[MOVEMENT_BROKERS:]

    rows, other_rows = heaviest(1)
    columns, other_columns = heaviest(0)

    def folded(table: Any) -> Any:
        if len(other_rows):
            table = np.vstack([table[rows], table[other_rows].sum(axis=0)])
        else:
            table = table[rows]
        if len(other_columns):
            rest = table[:, other_columns].sum(axis=1)
            return np.column_stack([table[:, columns], rest]).tolist()
        return table[:, columns].tolist()

    def headings(chosen: Any, others: Any) -> list[str]:
        rest = [units.plural(len(others), "other")] if len(others) else []
        return [names[i] for i in chosen] + rest

    return Movement(
        sources=headings(rows, other_rows),
        targets=headings(columns, other_columns),
        bytes=[[int(v) for v in row] for row in folded(copied)],
        replicas=folded(replicas),
        unknown=plan.unknown_sizes > 0,
    )


def _layout(plan: View, heat: Heat, movement: Movement | None) -> list[list[list[str]]]:
    """Rows of columns of cards: narrow tables share a row, wide ones have it to themselves."""
    moving = ["movement"] if movement else []
    waves = ["waves"] if plan.waves else []
    if len(heat.brokers) <= NARROW_BROKERS and len(moving + waves) > 0:
        if not movement or len(movement.targets) <= NARROW_TARGETS:
            return [[["topics", "rules"], moving + waves]]
        return [[["topics"], ["rules", *waves]], [moving]]
    if movement and len(movement.targets) <= NARROW_TARGETS:
        return [[["topics"]], [moving, ["rules", *waves]]]
    rest = [["rules"], waves] if waves else [["rules"]]
    return [[["topics"]], *([[moving]] if moving else []), rest]


# ---------------------------------------------------------------------- what changes


def _changes(plan: View) -> dict[str, Any]:
    """Columns of the changed partitions, in order; the heaviest ones where there are too many."""
    rows = plan.changed
    if len(rows) > CHANGES:
        copied = plan.row_moves[rows] * np.nan_to_num(plan.size[rows])
        rows = np.sort(rows[np.lexsort((-plan.row_moves[rows], -copied))[:CHANGES]])
    used, topic = np.unique(plan.topic[rows], return_inverse=True)
    columns = plan.document["partitions"]
    return {
        "topics": [plan.topics[i] for i in used],
        "topic": topic.tolist(),
        "partition": plan.number[rows].tolist(),
        "size": [columns["size_bytes"][i] for i in rows.tolist()],
        "before": [columns["before"][i] for i in rows.tolist()],
        "after": [columns["after"][i] for i in rows.tolist()],
        "total": len(plan.changed),
        "per_page": CHANGES_PER_PAGE,
    }


def _first(changes: Mapping[str, Any]) -> int:
    return min(CHANGES_PER_PAGE, len(changes["topic"]))


def _change_row(plan: View, changes: Mapping[str, Any], i: int) -> dict[str, Any]:
    before, after = changes["before"][i], changes["after"][i]
    moves = len(set(after) - set(before))
    size = changes["size"][i]
    return {
        "name": f"{changes['topics'][changes['topic'][i]]}-{changes['partition'][i]}",
        "before": [(broker, broker not in after) for broker in before],
        "after": [(broker, broker not in before) for broker in after],
        "moves": moves,
        "to_copy": units.MISSING if size is None else units.size(moves * size),
    }


# ---------------------------------------------------------------------- the comparison


@dataclass(frozen=True)
class Compared:
    """The strategies against each group of criteria.

    ``groups``: a title, the columns, and per strategy that has an answer its name, whether it is
    optimal, and (text, stands out) per column. ``cannot``: name and reason of the others.
    """

    groups: list[tuple[str, list[Column], list[tuple[str, bool, list[tuple[str, bool]]]]]]
    cannot: list[tuple[str, str]]
    legend: str


def _compared(compare: Mapping[str, Any] | None) -> Compared | None:
    if compare is None:
        return None
    strategies: Mapping[str, Mapping[str, Any]] = compare["strategies"]
    able = {name: row for name, row in strategies.items() if "cannot" not in row}
    groups = columns(able.values())
    tables = []
    for title, shown in groups:
        best = [column.best(able.values()) for column in shown]
        rows = [
            (
                name,
                bool(row.get("optimal")),
                [
                    (column.text(row), least is not None and column.value(row) == least)
                    for column, least in zip(shown, best, strict=True)
                ],
            )
            for name, row in able.items()
        ]
        tables.append((title[:1].upper() + title[1:], shown, rows))
    cannot = [(n, units.plain(row["cannot"])) for n, row in strategies.items() if "cannot" in row]
    return Compared(tables, cannot, legend(groups))
