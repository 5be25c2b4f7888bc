"""The page of ``partage demo --live``: what happened, drawn from ``live.json`` alone.

One self-contained file without a script. A strip of what was done, the records of each second below
it, and what the new replicas fetched, on one axis of time; then the brokers before and after, the
waves, and what was compared in the end.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import count, pairwise
from typing import Any

from markupsafe import Markup

from partage.report import units
from partage.report.frame import asset, policy, template
from partage.report.page.tiles import Tile
from partage.report.view import MARKS, Verdict

WIDTH, LEFT = 1000, 70
"""Of the pictures, in units of their own: all, and where the axis of time begins."""

_STEP, _RECORDS, _BYTES = 26, 130, 90
_BARS, _BAR_LEFT = 160, 40


@dataclass(frozen=True)
class Axis:
    """Seconds from left to right."""

    until: float

    def x(self, seconds: float) -> float:
        """Where a moment is."""
        share = min(max(seconds / self.until, 0.0), 1.0) if self.until else 0.0
        return round(LEFT + (WIDTH - LEFT) * share, 1)

    @property
    def ticks(self) -> list[int]:
        """Whole seconds that are named: about ten."""
        steps = (s * 60**power for power in count() for s in (1, 2, 5, 10, 20, 30))
        step = next(s for s in steps if self.until / s <= 12)
        return list(range(0, int(self.until) + 1, step))


@dataclass(frozen=True)
class Bar:
    """A rectangle and what it stands for."""

    x: float
    y: float
    width: float
    height: float
    said: str
    label: str = ""
    kind: str = "after"


def render(told: Mapping[str, Any]) -> str:
    """The page of a ``live.json`` value, the same bytes for the same input."""
    css = asset("page.css") + asset("live.css")
    axis = Axis(float(told["until"]))
    sides = told["per_second"]
    most = max([1, *(max(counts, default=0) for counts in sides.values())])
    fetched = _fetched(told, axis)
    return template("live.html").render(
        told=told,
        units=units,
        marks=MARKS,
        css=Markup(css),
        policy=policy(css),
        headline=headline(told),
        lead=lead(told),
        tiles=_tiles(told),
        axis=axis,
        width=WIDTH,
        left=LEFT,
        heights={"step": _STEP, "records": _RECORDS, "bytes": _BYTES, "bars": _BARS},
        steps=_steps(told, axis),
        lines={side: _line(counts, axis, most) for side, counts in sides.items()},
        most=most,
        fetched=fetched[0],
        fetched_most=fetched[1],
        loads=[(title, _columns(told, key)) for title, key in _LOADS],
        checks=checks(told),
    )


_LOADS = (("Replicas per broker", "replicas"), ("Leaders per broker", "leaders"))


def headline(told: Mapping[str, Any]) -> str:
    """In one sentence."""
    added = sum(broker["added"] for broker in told["brokers"])
    before = len(told["brokers"]) - added
    return (
        f"{units.plural(before, 'broker')} became {units.count(before + added)} "
        f"while {units.count(told['records']['acknowledged'])} records went through"
    )


def lead(told: Mapping[str, Any]) -> str:
    """The figures in a few sentences."""
    records, apply = told["records"], told["apply"]
    kept = (
        "and every one of them was read"
        if records["missing"] == 0
        else f"and {units.count(records['missing'])} of them were not read"
    )
    sending, reading = (told["pauses"][side]["during"] for side in ("producing", "consuming"))
    return (
        f"{units.count(records['acknowledged'])} records were acknowledged by all in-sync "
        f"replicas, {kept}. {units.plural(told['plan']['moves'], 'replica')} moved, "
        f"{units.size(apply['bytes_copied'])} in {units.duration(apply['seconds'])} "
        f"({units.rate(copy_rate(told))}). The longest that a partition waited for an "
        f"acknowledgement was {units.duration(sending['seconds'])}, for a reader "
        f"{units.duration(reading['seconds'])}."
    )


def copy_rate(told: Mapping[str, Any]) -> float | None:
    """Bytes per second while the plan was carried out, waiting between waves included."""
    apply = told["apply"]
    return apply["bytes_copied"] / apply["seconds"] if apply["seconds"] else None


def checks(told: Mapping[str, Any]) -> list[tuple[Verdict, str]]:
    """What was compared in the end, and how it came out."""
    records, verified = told["records"], told["verified"]

    def verdict(holds: bool, good: str, bad: str) -> tuple[Verdict, str]:
        return ("good", good) if holds else ("bad", bad)

    return [
        verdict(
            records["missing"] == 0,
            f"{units.count(records['acknowledged'])} records acknowledged, "
            f"{units.count(records['acknowledged'])} of them read, "
            f"{units.count(records['again'])} read twice",
            f"{units.count(records['missing'])} acknowledged records were not read",
        ),
        verdict(
            verified["lists_as_planned"],
            "every replica list of the cluster is the plan's",
            "replica lists differ from the plan's",
        ),
        verdict(
            verified["state"] == "done",
            "every new replica is in sync, every partition led by its preferred leader",
            f"partage verify says: {verified['state']}",
        ),
        verdict(
            verified["throttles_put_back"],
            "the throttles are as they were before",
            "the throttles are not as they were before",
        ),
        verdict(
            told["plan"]["moves"] == told["plan"]["moves_lower_bound"],
            f"{units.plural(told['plan']['moves'], 'move')}, proven to be the fewest",
            f"{units.count(told['plan']['moves'])} moves, at least "
            f"{units.count(told['plan']['moves_lower_bound'])} were needed",
        ),
    ]


def _tiles(told: Mapping[str, Any]) -> list[Tile]:
    records, made, apply = told["records"], told["plan"], told["apply"]
    kept: Verdict = "good" if records["missing"] == 0 else "bad"

    def pause(label: str, side: str) -> Tile:
        quiet, during = (told["pauses"][side][when] for when in ("before", "during"))
        return Tile(
            label,
            units.duration(during["seconds"]),
            f"{during['partition']}; {units.duration(quiet['seconds'])} before anything was done",
        )

    return [
        Tile("Records acknowledged", units.count(records["acknowledged"]), "by all in sync"),
        Tile("Not read", units.count(records["missing"]), "of what was acknowledged", kept),
        pause("Longest pause of a partition, producing", "producing"),
        pause("Longest pause of a partition, consuming", "consuming"),
        Tile(
            "Replicas moved",
            units.count(made["moves"]),
            f"in {units.plural(made['waves'], 'wave')}",
        ),
        Tile("Copied", units.size(apply["bytes_copied"]), units.rate(copy_rate(told))),
        Tile(
            "Carried out in",
            units.duration(apply["seconds"]),
            f"at most {units.rate(told['throttle'])} a broker",
        ),
        Tile("All of it", units.duration(told["seconds"]), "Kafka's start and end included"),
    ]


# ---------------------------------------------------------------------- on the axis of time


def _steps(told: Mapping[str, Any], axis: Axis) -> list[Bar]:
    found = []
    for number, step in enumerate(told["steps"]):
        x, end = axis.x(step["from"]), axis.x(step["to"])
        width = round(max(end - x, 2.0), 1)
        lasted = units.duration(step["to"] - step["from"])
        label = step["what"] if width > 6.2 * len(step["what"]) else ""
        if not label and step["what"].startswith("wave ") and width > 12:
            label = step["what"].removeprefix("wave ")
        kind = "taken" if step["what"].startswith("wave ") else "before"
        said = f"{step['what']}: from {step['from']:.1f} s on, {lasted}"
        found.append(Bar(x, number % 2, width, _STEP, said, label, kind))
    return found


def _line(counts: Sequence[int], axis: Axis, most: int) -> str:
    """Points of a line through the middle of each second."""
    points = (
        f"{axis.x(second + 0.5)},{round(_RECORDS - _RECORDS * count / most, 1)}"
        for second, count in enumerate(counts)
    )
    return " ".join(points)


def _fetched(told: Mapping[str, Any], axis: Axis) -> tuple[list[Bar], float]:
    """What the new replicas got between two looks, as a rate, and the highest of all."""
    samples = [(told["apply"]["from"], 0), *((at, done) for at, done in told["copied"])]
    rates = [
        (earlier[0], later[0], (later[1] - earlier[1]) / (later[0] - earlier[0]))
        for earlier, later in pairwise(samples)
        if later[0] > earlier[0]
    ]
    most = max([1.0, *(rate for _, _, rate in rates)])
    bars = []
    for since, until, rate in rates:
        height = round(_BYTES * max(rate, 0.0) / most, 1)
        x = axis.x(since)
        said = f"{since:.1f} to {until:.1f} s: {units.rate(max(rate, 0.0))}"
        bars.append(Bar(x, _BYTES - height, round(axis.x(until) - x, 1), height, said))
    return bars, most


# ---------------------------------------------------------------------- brokers


def _columns(told: Mapping[str, Any], key: str) -> list[Bar]:
    """A pair of columns for each broker, before and after."""
    both = told[key]
    most = max([1, *both["before"], *both["after"]])
    slot = (WIDTH / 2 - _BAR_LEFT) / len(told["brokers"])
    wide = round(min(slot * 0.36, 46.0), 1)
    bars = []
    for number, broker in enumerate(told["brokers"]):
        middle = _BAR_LEFT + slot * (number + 0.5)
        for kind, x in (("before", middle - wide - 1), ("after", middle + 1)):
            count = both[kind][number]
            height = round(_BARS * count / most, 1)
            said = f"broker {broker['id']}, {kind}: {units.count(count)}"
            bars.append(
                Bar(round(x, 1), _BARS - height, wide, height, said, units.count(count), kind)
            )
    return bars
