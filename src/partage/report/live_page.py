"""The page of ``partage demo --live``, rendered from ``live.json`` alone.

One self-contained file without a script: on one time axis the steps, the records per second and the
bytes that new replicas fetched; then the brokers before and after, the waves, and the final checks.
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
from partage.report.view import MARKS, Rating

WIDTH, LEFT = 1000, 70
"""Width of the pictures in SVG units, and the x of the start of the time axis."""

_STEP, _RECORDS, _BYTES = 26, 130, 90
_BARS, _BAR_LEFT = 160, 40


@dataclass(frozen=True)
class Axis:
    """A time axis from 0 to ``until`` seconds."""

    until: float

    def x(self, seconds: float) -> float:
        """The x of a moment."""
        share = min(max(seconds / self.until, 0.0), 1.0) if self.until else 0.0
        return round(LEFT + (WIDTH - LEFT) * share, 1)

    @property
    def ticks(self) -> list[int]:
        """About ten labelled seconds."""
        steps = (s * 60**power for power in count() for s in (1, 2, 5, 10, 20, 30))
        step = next(s for s in steps if self.until / s <= 12)
        return list(range(0, int(self.until) + 1, step))


@dataclass(frozen=True)
class Bar:
    """A rectangle with its tooltip."""

    x: float
    y: float
    width: float
    height: float
    tooltip: str
    label: str = ""
    kind: str = "after"


def render(result: Mapping[str, Any]) -> str:
    """The page of a ``live.json`` value, the same bytes for the same input."""
    css = asset("page.css") + asset("live.css")
    axis = Axis(float(result["until"]))
    sides = result["per_second"]
    most = max([1, *(max(counts, default=0) for counts in sides.values())])
    fetched = _fetched(result, axis)
    return template("live.html").render(
        result=result,
        units=units,
        marks=MARKS,
        css=Markup(css),
        policy=policy(css),
        headline=headline(result),
        lead=lead(result),
        tiles=_tiles(result),
        axis=axis,
        width=WIDTH,
        left=LEFT,
        heights={"step": _STEP, "records": _RECORDS, "bytes": _BYTES, "bars": _BARS},
        steps=_steps(result, axis),
        lines={side: _line(counts, axis, most) for side, counts in sides.items()},
        most=most,
        fetched=fetched[0],
        fetched_most=fetched[1],
        loads=[(title, _columns(result, key)) for title, key in _LOADS],
        checks=checks(result),
    )


_LOADS = (("Replicas per broker", "replicas"), ("Leaders per broker", "leaders"))


def headline(result: Mapping[str, Any]) -> str:
    """The result in one sentence."""
    added = sum(broker["added"] for broker in result["brokers"])
    before = len(result["brokers"]) - added
    return (
        f"{units.plural(before, 'broker')} became {units.count(before + added)} "
        f"while {units.count(result['records']['acknowledged'])} records went through"
    )


def lead(result: Mapping[str, Any]) -> str:
    """The key figures in a few sentences."""
    records, apply = result["records"], result["apply"]
    kept = (
        "and every one of them was read"
        if records["missing"] == 0
        else f"and {units.count(records['missing'])} of them were not read"
    )
    sending, reading = (result["pauses"][side]["during"] for side in ("producing", "consuming"))
    return (
        f"{units.count(records['acknowledged'])} records were acknowledged by all in-sync "
        f"replicas, {kept}. {units.plural(result['plan']['moves'], 'replica')} moved, "
        f"{units.size(apply['bytes_copied'])} in {units.duration(apply['seconds'])} "
        f"({units.rate(copy_rate(result))}). The longest pause of a partition was "
        f"{units.duration(sending['seconds'])} while producing and "
        f"{units.duration(reading['seconds'])} while consuming."
    )


def copy_rate(result: Mapping[str, Any]) -> float | None:
    """Bytes per second while the plan was applied, including waits between waves."""
    apply = result["apply"]
    return apply["bytes_copied"] / apply["seconds"] if apply["seconds"] else None


def checks(result: Mapping[str, Any]) -> list[tuple[Rating, str]]:
    """The final checks and their results."""
    records, verified = result["records"], result["verified"]

    def check(holds: bool, good: str, bad: str) -> tuple[Rating, str]:
        return ("good", good) if holds else ("bad", bad)

    return [
        check(
            records["missing"] == 0,
            f"{units.count(records['acknowledged'])} records acknowledged, "
            f"{units.count(records['acknowledged'])} of them read, "
            f"{units.count(records['again'])} read twice",
            f"{units.count(records['missing'])} acknowledged records were not read",
        ),
        check(
            verified["lists_as_planned"],
            "every replica list in the cluster is as planned",
            "replica lists differ from the plan",
        ),
        check(
            verified["state"] == "done",
            "every new replica is in sync, every partition led by its preferred leader",
            f"partage verify reports: {verified['state']}",
        ),
        check(
            verified["throttles_put_back"],
            "the throttles are restored",
            "the throttles are not restored",
        ),
        check(
            result["plan"]["moves"] == result["plan"]["moves_lower_bound"],
            f"{units.plural(result['plan']['moves'], 'move')}: proven minimum",
            f"{units.count(result['plan']['moves'])} moves: not proven minimal, at "
            f"least {units.count(result['plan']['moves_lower_bound'])} needed",
        ),
    ]


def _tiles(result: Mapping[str, Any]) -> list[Tile]:
    records, made, apply = result["records"], result["plan"], result["apply"]
    kept: Rating = "good" if records["missing"] == 0 else "bad"

    def pause(label: str, side: str) -> Tile:
        quiet, during = (result["pauses"][side][when] for when in ("before", "during"))
        return Tile(
            label,
            units.duration(during["seconds"]),
            f"{during['partition']}; {units.duration(quiet['seconds'])} before the first step",
        )

    return [
        Tile(
            "Records acknowledged", units.count(records["acknowledged"]), "by all in-sync replicas"
        ),
        Tile("Not read", units.count(records["missing"]), "of the acknowledged records", kept),
        pause("Longest pause of a partition, producing", "producing"),
        pause("Longest pause of a partition, consuming", "consuming"),
        Tile(
            "Replicas moved",
            units.count(made["moves"]),
            f"in {units.plural(made['waves'], 'wave')}",
        ),
        Tile("Copied", units.size(apply["bytes_copied"]), units.rate(copy_rate(result))),
        Tile(
            "Applied in",
            units.duration(apply["seconds"]),
            f"at most {units.rate(result['throttle'])} per broker",
        ),
        Tile("Total", units.duration(result["seconds"]), "including start and stop of Kafka"),
    ]


# ---------------------------------------------------------------------- on the time axis


def _steps(result: Mapping[str, Any], axis: Axis) -> list[Bar]:
    found = []
    for number, step in enumerate(result["steps"]):
        x, end = axis.x(step["from"]), axis.x(step["to"])
        width = round(max(end - x, 2.0), 1)
        lasted = units.duration(step["to"] - step["from"])
        label = step["what"] if width > 6.2 * len(step["what"]) else ""
        if not label and step["what"].startswith("wave ") and width > 12:
            label = step["what"].removeprefix("wave ")
        kind = "taken" if step["what"].startswith("wave ") else "before"
        tooltip = f"{step['what']}: from {step['from']:.1f} s for {lasted}"
        found.append(Bar(x, number % 2, width, _STEP, tooltip, label, kind))
    return found


def _line(counts: Sequence[int], axis: Axis, most: int) -> str:
    """Points of a line through the middle of each second."""
    points = (
        f"{axis.x(second + 0.5)},{round(_RECORDS - _RECORDS * count / most, 1)}"
        for second, count in enumerate(counts)
    )
    return " ".join(points)


def _fetched(result: Mapping[str, Any], axis: Axis) -> tuple[list[Bar], float]:
    """Bytes per second that new replicas fetched between two samples, and the highest."""
    samples = [(result["apply"]["from"], 0), *((at, done) for at, done in result["copied"])]
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
        tooltip = f"{since:.1f} to {until:.1f} s: {units.rate(max(rate, 0.0))}"
        bars.append(Bar(x, _BYTES - height, round(axis.x(until) - x, 1), height, tooltip))
    return bars, most


# ---------------------------------------------------------------------- brokers


def _columns(result: Mapping[str, Any], key: str) -> list[Bar]:
    """A pair of columns per broker, before and after."""
    both = result[key]
    most = max([1, *both["before"], *both["after"]])
    slot = (WIDTH / 2 - _BAR_LEFT) / len(result["brokers"])
    wide = round(min(slot * 0.36, 46.0), 1)
    bars = []
    for number, broker in enumerate(result["brokers"]):
        middle = _BAR_LEFT + slot * (number + 0.5)
        for kind, x in (("before", middle - wide - 1), ("after", middle + 1)):
            count = both[kind][number]
            height = round(_BARS * count / most, 1)
            tooltip = f"broker {broker['id']}, {kind}: {units.count(count)}"
            bars.append(
                Bar(round(x, 1), _BARS - height, wide, height, tooltip, units.count(count), kind)
            )
    return bars
