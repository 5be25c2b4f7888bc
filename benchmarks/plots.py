"""The plots of ``docs/benchmarks.md``: bars by group and series, as SVG.

``charts`` collects the figures; ``draw`` draws them and needs matplotlib. The description of an SVG
file contains a digest of its figures and of this module: a file is redrawn if the digest has
changed. The same version of matplotlib writes the same bytes.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

Json = dict[str, Any]
Bar = tuple[float, bool] | None
"""A value and whether the bar is hatched; None: no bar."""

COLOURS = ("#0b6e4f", "#4c78a8", "#9ecae9", "#f58518", "#b279a2")
"""Colours of the series in order; partage is the first."""


@dataclass(frozen=True)
class Chart:
    """Bars on a logarithmic scale.

    Each of the ``series`` has a bar for each of the ``groups``. Bars begin at ``start``, or at the
    bottom if it is None. ``hatched``: the legend of hatched bars.
    """

    title: str
    groups: Sequence[str]
    series: Mapping[str, Sequence[Bar]]
    start: float | None = None
    hatched: str = ""

    @property
    def digest(self) -> str:
        """SHA-256 of the figures and of the code that draws them."""
        text = json.dumps(asdict(self)) + Path(__file__).read_text(encoding="utf-8")
        return hashlib.sha256(text.encode()).hexdigest()


def charts(
    plans: Mapping[str, Json], joins: Mapping[str, Json], profile: Sequence[Json]
) -> dict[str, Chart]:
    """Charts by file name: moves and seconds of planners, seconds of assignors and of profiles."""
    return {
        "benchmark-moves.svg": _moves(plans),
        "benchmark-planners.svg": _planners(plans),
        "benchmark-assignors.svg": _joins(joins),
        "benchmark-profile.svg": _profile(profile),
    }


def is_of(file: Path, chart: Chart) -> bool:
    """Whether the file shows the chart."""
    return file.exists() and chart.digest in file.read_text(encoding="utf-8")


def _tools(by_group: Mapping[str, Json]) -> list[str]:
    """All tools: partage first, the others in order of appearance."""
    every = [tool for tools in by_group.values() for tool in tools if tool != "before"]
    return sorted(dict.fromkeys(every), key=lambda tool: tool != "partage")


def _moves(plans: Mapping[str, Json]) -> Chart:
    def bar(tools: Json, tool: str) -> Bar:
        figures = tools.get(tool, {})
        if "moves" not in figures:
            return None
        return figures["moves"] / tools["partage"]["moves"], figures["rack_violations"] > 0

    return Chart(
        "Replica moves, as a multiple of partage's",
        [_lines(job) for job in plans],
        {tool: [bar(found, tool) for found in plans.values()] for tool in _tools(plans)},
        start=1,
        hatched="rack violations remain",
    )


def _planners(plans: Mapping[str, Json]) -> Chart:
    def bar(figures: Json) -> Bar:
        if "limit" in figures:
            return figures["limit"], True
        return (figures["planner_seconds"], False) if "moves" in figures else None

    return Chart(
        "Planner seconds",
        [_lines(job) for job in plans],
        {tool: [bar(found.get(tool, {})) for found in plans.values()] for tool in _tools(plans)},
        hatched="stopped at the time limit",
    )


def _joins(joins: Mapping[str, Json]) -> Chart:
    def bar(jobs: Json) -> Bar:
        limits = [figures["limit"] for figures in jobs.values() if "limit" in figures]
        if limits:
            return max(limits), True
        seconds = [figures["seconds"] for figures in jobs.values() if "seconds" in figures]
        return (max(seconds), False) if seconds else None

    return Chart(
        "Slowest of three joins, in seconds",
        [name.replace("-", "\n") for name in joins],
        {tool: [bar(found.get(tool, {})) for found in joins.values()] for tool in _tools(joins)},
        hatched="stopped at the time limit",
    )


def _profile(profile: Sequence[Json]) -> Chart:
    counts = sorted({run["records"] for run in profile})
    most = max(run["executors"] for run in profile)

    def bars(executors: int, key: str) -> list[Bar]:
        seconds = {run["records"]: run.get(key) for run in profile if run["executors"] == executors}
        return [(seconds[count], False) if seconds.get(count) else None for count in counts]

    series = {
        f"profile, {executors} executor{'s'[: executors - 1]}": bars(executors, "profile_seconds")
        for executors in sorted({run["executors"] for run in profile}, reverse=True)
    }
    return Chart(
        "Seconds by number of records",
        [f"{count:,}" for count in counts],
        {**series, f"plain scan, {most} executors": bars(most, "plain_seconds")},
    )


def _lines(job: str) -> str:
    kind, _, size = job.rpartition("-")
    return f"{kind}\n{size}"


def draw(chart: Chart, file: Path) -> None:
    """Write the SVG file unless it shows the chart already."""
    if is_of(file, chart):
        return
    try:
        import matplotlib as mpl
        from matplotlib.figure import Figure
    except ImportError:
        raise SystemExit(
            f"{file.name}: matplotlib is needed to redraw it; run `make bench-page`"
        ) from None

    look = {
        "svg.hashsalt": "partage",  # otherwise its ids are random
        "svg.fonttype": "none",
        "font.size": 9,
        "hatch.linewidth": 0.6,
        "axes.spines.top": False,
        "axes.spines.right": False,
    }
    with mpl.rc_context(look):
        figure = Figure(figsize=(9, 3.4), facecolor="white", layout="constrained")
        axes = figure.subplots()
        axes.set_yscale("log")
        axes.yaxis.set_major_formatter("{x:g}")
        axes.yaxis.set_minor_formatter("")
        axes.set_axisbelow(True)
        axes.grid(axis="y", linewidth=0.3)
        axes.set_title(chart.title, loc="left", fontsize=10, fontweight="bold")
        _bars(axes, chart)
        if chart.start:
            axes.axhline(chart.start, color="black", linewidth=0.8)
        axes.margins(x=0.01, y=0.12)
        axes.set_xticks(range(len(chart.groups)), chart.groups)
        axes.tick_params(axis="x", length=0)
        key = _key(chart)
        figure.legend(
            handles=key, loc="outside lower center", ncols=len(key), frameon=False, fontsize=8
        )
        metadata = {"Date": None, "Creator": None, "Description": chart.digest}
        figure.savefig(file, format="svg", metadata=metadata)


def _bars(axes: Any, chart: Chart) -> None:
    """Draw the bars, each with its value above it."""
    width = 0.84 / len(chart.series)
    bottom = chart.start or 0
    for number, bars in enumerate(chart.series.values()):
        offset = (number - (len(chart.series) - 1) / 2) * width
        for group, bar in enumerate(bars):
            if bar is None:
                continue
            value, hatched = bar
            at = group + offset
            axes.bar(
                at,
                value - bottom,
                width * 0.92,
                bottom,
                color=COLOURS[number],
                hatch="////" if hatched else None,
                edgecolor="white",
                linewidth=0,
            )
            axes.annotate(
                f"{value:.3g}",
                (at, max(value, bottom)),
                (0, 2),
                textcoords="offset points",
                ha="center",
                va="bottom",
                fontsize=6.5,
                rotation=90,
            )


def _key(chart: Chart) -> list[Any]:
    from matplotlib.patches import Patch

    colours = zip(chart.series, COLOURS, strict=False)
    key = [Patch(facecolor=colour, label=name) for name, colour in colours]
    if any(bar and bar[1] for bars in chart.series.values() for bar in bars):
        key.append(Patch(facecolor="#999999", hatch="////", edgecolor="white", label=chart.hatched))
    return key
